//! The first keys of JSON that abx prints and that is not the record of a measured server.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The schema that this version writes.
pub const OUTPUT_SCHEMA: &str = "abx.output/1";

/// The schema, and the kind of output that follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputHead {
    schema: Cow<'static, str>,
    pub kind: OutputKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputKind {
    Audit,
    Bisect,
    Check,
    Doctor,
    History,
    Pooled,
    Timer,
    Trend,
}

impl From<OutputKind> for OutputHead {
    fn from(kind: OutputKind) -> OutputHead {
        let schema = Cow::Borrowed(OUTPUT_SCHEMA);
        OutputHead { schema, kind }
    }
}
