//! The description of a complete build, in a file of its folder.

use serde::{Deserialize, Serialize};

/// The description of a complete build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildStamp {
    pub commit: String,
    /// As the revision was called when it was built.
    pub name: String,
    pub title: String,
    pub author_date: String,
    /// The hash of a working tree's changes over the commit.
    pub changes: Option<String>,
    pub commands: Vec<String>,
    pub tools: Vec<String>,
    /// Which of several builds of the same revision it is, from 0.
    pub copy: u32,
}
