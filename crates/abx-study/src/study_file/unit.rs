//! Words with units and other texts that mean more than their letters.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use abx_evidence::{ExpectedStatus, Objective, ObjectiveError};
use abx_stats::Margin;

use super::mistake::Mistake;
use super::raw_request::RawStatus;
use crate::loads::load::ExpectBody;
use crate::units;

/// Reads a time above zero, such as `30s`.
pub fn time(key: &str, text: &str) -> Result<Duration, Mistake> {
    units::time(text).ok_or_else(|| Mistake::RawTime {
        key: key.to_owned(),
        text: text.to_owned(),
    })
}

/// Reads a share such as `3%`.
pub fn margin(key: &str, text: &str) -> Result<Margin, Mistake> {
    let share = units::share(text).and_then(|share| Margin::new(share).ok());
    share.ok_or_else(|| Mistake::Share {
        key: key.to_owned(),
        text: text.to_owned(),
    })
}

/// Refuses a name that would not fit into tables, files and scripts.
pub fn check_name(text: &str) -> Result<(), Mistake> {
    if !units::is_name(text) {
        return Err(Mistake::Name(text.to_owned()));
    }
    Ok(())
}

/// Reads a path below a folder that is known later.
pub fn path_below(key: &str, text: &str) -> Result<PathBuf, Mistake> {
    let path = Path::new(text);
    let is_below = path
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    // A NUL is no part of any file's name.
    if !is_below || path.file_name().is_none() || text.contains('\0') {
        return Err(Mistake::PathAbove {
            key: key.to_owned(),
            text: text.to_owned(),
        });
    }
    // One way to write each path, so that two can be told apart.
    let is_named = |part: &Component| matches!(part, Component::Normal(_));
    Ok(path.components().filter(is_named).collect())
}

/// A path, or as many as `count` says, with their numbers for `{n}`.
pub fn numbered(key: &str, text: &str, count: Option<u32>) -> Result<Vec<String>, Mistake> {
    match count {
        None => Ok(vec![text.to_owned()]),
        Some(_) if !text.contains(NUMBER) => Err(Mistake::NoNumber {
            key: key.to_owned(),
            text: text.to_owned(),
        }),
        Some(count) => {
            let each = |number: u32| text.replace(NUMBER, &number.to_string());
            Ok((0..count).map(each).collect())
        }
    }
}

/// What stands for the number in a path of many.
const NUMBER: &str = "{n}";

/// Reads path and query of a request.
pub fn url_path(key: &str, text: &str) -> Result<String, Mistake> {
    if !units::is_url_path(text) {
        return Err(Mistake::UrlPath {
            key: key.to_owned(),
            text: text.to_owned(),
        });
    }
    Ok(text.to_owned())
}

/// Reads what subjects are to keep to.
pub fn objective(text: &str) -> Result<Objective, Mistake> {
    text.parse()
        .map_err(|error: ObjectiveError| Mistake::Objective(error.to_string()))
}

/// Reads a status, or a class of them such as `2xx`.
pub fn status(key: &str, raw: &RawStatus) -> Result<ExpectedStatus, Mistake> {
    match raw {
        RawStatus::One(status) => Ok((*status).into()),
        RawStatus::Class(text) => text.parse().map_err(|_| Mistake::Status {
            key: key.to_owned(),
            text: text.clone(),
        }),
    }
}

/// Reads `same`, `any` or a SHA-256.
pub fn expect_body(text: &str) -> Result<ExpectBody, Mistake> {
    ExpectBody::parse(text).ok_or_else(|| Mistake::Body(text.to_owned()))
}
