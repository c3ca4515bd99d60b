//! Words with units and other texts that mean more than their letters.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use abx_evidence::stats::Margin;

use super::error::Wrong;
use crate::study::ExpectBody;

/// Reads a time above zero, such as `30s`.
pub fn time(key: &str, text: &str) -> Result<Duration, Wrong> {
    match humantime::parse_duration(text) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err(Wrong::Time {
            key: key.to_owned(),
            text: text.to_owned(),
        }),
    }
}

/// Reads a share such as `3%`.
pub fn margin(key: &str, text: &str) -> Result<Margin, Wrong> {
    let percent: Option<f64> = text
        .strip_suffix('%')
        .and_then(|number| number.trim().parse().ok());
    percent
        .and_then(|percent| Margin::new(percent / 100.0).ok())
        .ok_or_else(|| Wrong::Share {
            key: key.to_owned(),
            text: text.to_owned(),
        })
}

/// Refuses a name that would not fit into tables, files and scripts.
pub fn check_name(text: &str) -> Result<(), Wrong> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if text.is_empty() || text.len() > 40 || !text.bytes().all(fits) {
        return Err(Wrong::Name(text.to_owned()));
    }
    Ok(())
}

/// Reads a path below a folder that is known later.
pub fn path_below(key: &str, text: &str) -> Result<PathBuf, Wrong> {
    let path = Path::new(text);
    let is_below = path
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    // A NUL is no part of any file's name.
    if !is_below || path.file_name().is_none() || text.contains('\0') {
        return Err(Wrong::PathAbove {
            key: key.to_owned(),
            text: text.to_owned(),
        });
    }
    // One way to write each path, so that two can be told apart.
    let is_named = |part: &Component| matches!(part, Component::Normal(_));
    Ok(path.components().filter(is_named).collect())
}

/// Reads path and query of a request.
pub fn url_path(key: &str, text: &str) -> Result<String, Wrong> {
    let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
    if !text.starts_with('/') || !is_visible || text.contains('#') {
        return Err(Wrong::UrlPath {
            key: key.to_owned(),
            text: text.to_owned(),
        });
    }
    Ok(text.to_owned())
}

/// Reads `same`, `any` or a SHA-256.
pub fn expect_body(text: &str) -> Result<ExpectBody, Wrong> {
    match text {
        "same" => Ok(ExpectBody::Same),
        "any" => Ok(ExpectBody::Any),
        hash if hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            Ok(ExpectBody::Sha256(hash.to_ascii_lowercase()))
        }
        _ => Err(Wrong::Body(text.to_owned())),
    }
}

/// Whether a text may be a method or a header's name.
pub fn is_token(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(fits)
}
