//! What a load's table says of TLS.

use std::path::Path;

use abx_engine::{TlsTrust, TlsVersion};

use crate::loads::tls::TlsSpec;
use crate::study_file::input::Templates;
use crate::study_file::key_position::KeyPosition;
use crate::study_file::mistake::{Diagnostic, Mistake};
use crate::study_file::raw::{RawTls, RawTlsVersion};

/// What the table means; `files` gives texts beside the study file.
///
/// # Errors
/// The first fault.
pub fn tls(
    raw: Option<RawTls>,
    here: &KeyPosition,
    files: Templates,
) -> Result<TlsSpec, Diagnostic> {
    let raw = raw.unwrap_or_default();
    let trust = match (&raw.ca, raw.insecure) {
        (Some(_), Some(true)) => return Err(here.key("insecure").fault(Mistake::TlsTrustTwice)),
        (Some(path), _) => given(path, &here.key("ca"), files)?,
        (None, Some(true)) => TlsTrust::Anyone,
        (None, _) => TlsTrust::System,
    };
    Ok(TlsSpec {
        trust,
        version: raw.version.map(|version| match version {
            RawTlsVersion::Tls12 => TlsVersion::Tls12,
            RawTlsVersion::Tls13 => TlsVersion::Tls13,
        }),
        resumption: raw.resume.unwrap_or_default(),
        identity: None,
    })
}

fn given(path: &str, here: &KeyPosition, files: Templates) -> Result<TlsTrust, Diagnostic> {
    let text = files(Path::new(path)).map_err(|error| {
        here.fault(Mistake::TlsFile {
            path: path.to_owned(),
            why: error.to_string(),
        })
    })?;
    TlsTrust::parse(&text).ok_or_else(|| {
        here.fault(Mistake::TlsFile {
            path: path.to_owned(),
            why: "it has no certificate in PEM".to_owned(),
        })
    })
}
