//! Reads values with units and other texts of a study file, with messages that name their key.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use abx_evidence::{ExpectedStatus, Objective, ObjectiveError};
use abx_stats::Margin;

use super::mistake::short;
use super::raw_request::RawStatus;
use crate::loads::load::ExpectBody;
use crate::requests::numbered::NUMBER;
use crate::requests::request_spec::usual_method;
use crate::units;

/// Reads a time above zero, such as `30s`.
pub fn time(key: &str, text: &str) -> Result<Duration, String> {
    units::time(text).ok_or_else(|| {
        let text = short(text);
        if units::lacks_unit(&text) {
            format!("`{key}` is `{text}`, which has no unit: write {text}s or {text}m")
        } else {
            format!(
                "`{key}` is `{text}`, which is not a time above zero: write a number and its unit, \
                 such as 30s, 100ms or 2m"
            )
        }
    })
}

/// Reads a share such as `3%`.
pub fn margin(key: &str, text: &str) -> Result<Margin, String> {
    let share = units::share(text).and_then(|share| Margin::new(share).ok());
    share.ok_or_else(|| {
        format!(
            "`{key}` is `{}`, which is not a percentage above 0% and up to 100%: write a number \
             and %, such as 3%",
            short(text)
        )
    })
}

/// Reads a path below a folder that is known later.
pub fn path_below(key: &str, text: &str) -> Result<PathBuf, String> {
    let path = Path::new(text);
    let is_below = path
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    // No file's name contains NUL.
    if !is_below || path.file_name().is_none() || text.contains('\0') {
        return Err(format!(
            "`{key}` is `{}`: write a file's path below the folder, without a leading `/` and \
             without `..`",
            short(text)
        ));
    }
    // Normalised, so that equal paths compare equal.
    let is_named = |part: &Component| matches!(part, Component::Normal(_));
    Ok(path.components().filter(is_named).collect())
}

/// A path, or `count` paths with their numbers in place of `{n}`.
pub fn numbered(key: &str, text: &str, count: Option<u32>) -> Result<Vec<String>, String> {
    match count {
        None => Ok(vec![text.to_owned()]),
        Some(_) if !text.contains(NUMBER) => Err(format!(
            "`{key}` is `{}` for each of `count`: write `{NUMBER}` in it for the number",
            short(text)
        )),
        Some(count) => {
            let path = |number: u32| text.replace(NUMBER, &number.to_string());
            Ok((0..count).map(path).collect())
        }
    }
}

/// Reads a method; the default depends on whether the request has a body.
pub fn method(text: Option<String>, has_body: bool) -> Result<String, String> {
    let method = text.unwrap_or_else(|| usual_method(has_body).to_owned());
    if units::is_token(&method) {
        Ok(method)
    } else {
        let method = short(&method);
        Err(format!("`{method}` is not a method: write one such as GET"))
    }
}

/// Refuses a text that cannot be a header's name.
pub fn check_header_name(name: &str) -> Result<(), String> {
    if units::is_token(name) {
        return Ok(());
    }
    let name = short(name);
    Err(format!(
        "`{name}` is not a header name: use letters, digits and `-`"
    ))
}

/// Reads path and query of a request.
pub fn url_path(key: &str, text: &str) -> Result<String, String> {
    if !units::is_url_path(text) {
        return Err(format!(
            "`{key}` is `{}`: begin with `/`, write all but visible ASCII as %XX, and leave out \
             `#`",
            short(text)
        ));
    }
    Ok(text.to_owned())
}

/// Reads the objective of subjects.
pub fn objective(text: &str) -> Result<Objective, String> {
    text.parse()
        .map_err(|error: ObjectiveError| format!("`slo`: {error}"))
}

/// Reads a status, or a class of them such as `2xx`.
pub fn status(key: &str, raw: &RawStatus) -> Result<ExpectedStatus, String> {
    match raw {
        RawStatus::One(status) => Ok((*status).into()),
        RawStatus::Class(text) => text.parse().map_err(|_| {
            let text = short(text);
            format!("`{key}` is `{text}`: write a number such as 200, or a class such as \"2xx\"")
        }),
    }
}

/// Reads `same`, `any` or a SHA-256.
pub fn expect_body(text: &str) -> Result<ExpectBody, String> {
    ExpectBody::parse(text).ok_or_else(|| {
        format!(
            "`expect.body` is `{}`: write `same`, `any`, or a SHA-256 of 64 hexadecimal digits (as \
             `sha256sum` prints it)",
            short(text)
        )
    })
}
