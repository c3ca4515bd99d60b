//! What is asked: the requests of a load.

use std::collections::BTreeMap;

use super::key_position::KeyPosition;
use super::mistake::{Diagnostic, Mistake};
use super::raw::RawRequest;
use super::{Templates, unit};
use crate::study::numbered::{NumberError, RequestPart};
use crate::study::units;
use crate::study::url_list::{ListedPath, listed_paths};
use crate::study::{RequestSpec, usual_method};

/// The request of a table, or as many as its `count` and its `urls` say. `files` gives the
/// text of a file beside the study file.
///
/// # Errors
/// The first fault.
pub fn requested(
    raw: RawRequest,
    here: &KeyPosition,
    files: Templates,
) -> Result<Vec<RequestSpec>, Diagnostic> {
    let paths = paths(&raw, here, files)?;
    let has_body = raw.body.is_some();
    let method = { raw.method }.unwrap_or_else(|| usual_method(has_body).to_owned());
    if !units::is_token(&method) {
        return Err(here.key("method").fault(Mistake::Method(method)));
    }
    let body = raw.body.map(|text| body(text, &here.key("body"), files));
    let like = RequestSpec {
        path: None,
        weight: 1,
        method,
        headers: headers(raw.headers, &here.key("headers"))?,
        body: body.transpose()?.unwrap_or_default().into_bytes(),
    };
    let each = paths.into_iter().map(|(path, times)| {
        let request = RequestSpec {
            path: Some(path),
            weight: raw.weight.unwrap_or(1).saturating_mul(times),
            ..like.clone()
        };
        request
            .numbered(raw.count)
            .map_err(|wrong| unnumbered(wrong, here))
    });
    Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
}

/// What is asked for, and how often for each beside the others.
fn paths(
    raw: &RawRequest,
    here: &KeyPosition,
    files: Templates,
) -> Result<Vec<ListedPath>, Diagnostic> {
    let file = match (&raw.path, &raw.urls) {
        (None, None) => return Err(here.fault(Mistake::NoPath)),
        (Some(_), Some(_)) => return Err(here.key("urls").fault(Mistake::PathAndUrls)),
        (Some(path), None) => {
            let path = here.key("path").read(|key| unit::url_path(key, path))?;
            return Ok(vec![(path, 1)]);
        }
        (None, Some(file)) => file,
    };
    let here = here.key("urls");
    let path = here.read(|key| unit::path_below(key, file))?;
    let text = files(&path).map_err(|error| {
        here.fault(Mistake::UrlsFile {
            file: file.clone(),
            why: error.to_string(),
        })
    })?;
    listed_paths(&text, None).map_err(|wrong| {
        here.fault(Mistake::Urls {
            file: file.clone(),
            wrong,
        })
    })
}

/// Where a request stands that cannot be numbered.
fn unnumbered(wrong: NumberError, here: &KeyPosition) -> Diagnostic {
    let here = here.key(match wrong {
        NumberError::NoCount {
            part: RequestPart::Headers,
        } => "headers",
        NumberError::NoCount {
            part: RequestPart::Body,
        }
        | NumberError::TooLarge { .. } => "body",
        _ => "path",
    });
    here.fault(Mistake::Number {
        key: here.name(),
        wrong,
    })
}

/// What a body's text means: itself, or by `@` what a file beside the study file holds.
fn body(text: String, here: &KeyPosition, files: Templates) -> Result<String, Diagnostic> {
    let Some(file) = text.strip_prefix('@') else {
        return Ok(text);
    };
    if file.starts_with('@') {
        return Ok(file.to_owned());
    }
    let path = here.read(|key| unit::path_below(key, file))?;
    files(&path).map_err(|error| {
        here.fault(Mistake::BodyFile {
            file: file.to_owned(),
            why: error.to_string(),
        })
    })
}

fn headers(
    headers: BTreeMap<String, String>,
    table: &KeyPosition,
) -> Result<Vec<(String, String)>, Diagnostic> {
    for (name, value) in &headers {
        let here = table.key(name);
        if !units::is_token(name) {
            return Err(here.fault(Mistake::HeaderName(name.clone())));
        }
        if value
            .chars()
            .any(|letter| letter.is_control() && letter != '\t')
        {
            return Err(here.fault(Mistake::HeaderValue(name.clone())));
        }
    }
    Ok(headers.into_iter().collect())
}
