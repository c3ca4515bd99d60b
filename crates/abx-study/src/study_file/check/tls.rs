//! Checks the TLS keys of a load's table.

use std::path::Path;

use abx_engine::TlsTrust;

use crate::loads::tls::TlsSpec;
use crate::study_file::input::Templates;
use crate::study_file::key_position::KeyPosition;
use crate::study_file::mistake::Diagnostic;
use crate::study_file::raw::RawTls;

/// The TLS settings of a table; `files` returns the text of a file next to the study file.
pub fn tls(
    raw: Option<RawTls>,
    here: &KeyPosition,
    files: Templates,
) -> Result<TlsSpec, Diagnostic> {
    let raw = raw.unwrap_or_default();
    let trust = match (&raw.ca, raw.insecure) {
        (Some(_), Some(true)) => {
            let wrong = "`insecure` accepts any certificate, so `ca` has no effect: omit one";
            return Err(here.key("insecure").fault(wrong));
        }
        (Some(path), _) => authorities(path, &here.key("ca"), files)?,
        (None, Some(true)) => TlsTrust::Anyone,
        (None, _) => TlsTrust::System,
    };
    Ok(TlsSpec {
        trust,
        version: raw.version,
        resumption: raw.resume.unwrap_or_default(),
        identity: None,
    })
}

fn authorities(path: &str, here: &KeyPosition, files: Templates) -> Result<TlsTrust, Diagnostic> {
    let wrong = |why: String| {
        here.fault(format!(
            "`ca`: {path} cannot be used ({why}): give a PEM file next to the study file"
        ))
    };
    let text = files(Path::new(path)).map_err(|error| wrong(error.to_string()))?;
    TlsTrust::parse(&text).ok_or_else(|| wrong("it has no certificate in PEM".to_owned()))
}
