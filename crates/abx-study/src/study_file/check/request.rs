//! What is asked: the requests of a load.

use std::collections::BTreeMap;
use std::io;

use crate::requests::credentials::{self, CredentialError, Header};
use crate::requests::form::Form;
use crate::requests::numbered::{NumberError, RequestPart};
use crate::requests::request_file::requests_in;
use crate::requests::request_placeholder::{LineFiles, RequestPlaceholderError};
use crate::requests::request_spec::{RequestSpec, usual_method};
use crate::requests::url_list::{ListedPath, listed_paths};
use crate::study_file::input::Templates;
use crate::study_file::key_position::KeyPosition;
use crate::study_file::mistake::{Diagnostic, Mistake};
use crate::study_file::raw_request::RawRequest;
use crate::study_file::unit;
use crate::units;

/// The request of a table, or as many as its `count`, its `urls` and its `file` say. `files`
/// gives the text of a file beside the study file. Placeholders are refused where none
/// `may_vary`.
///
/// # Errors
/// The first fault.
pub fn requested(
    raw: RawRequest,
    may_vary: bool,
    here: &KeyPosition,
    files: Templates,
) -> Result<Vec<RequestSpec>, Diagnostic> {
    let read = |file: &str| read_below("line", file, files);
    let mut lines = LineFiles::read_by(&read);
    let requests = as_written(raw, here, files)?.into_iter();
    let requests = requests.map(|request| request.with_placeholders(&mut lines));
    let requests = requests.collect::<Result<Vec<RequestSpec>, _>>();
    let is_refused = |requests: &Vec<RequestSpec>| {
        !may_vary && requests.iter().any(RequestSpec::has_placeholders)
    };
    match requests {
        Ok(requests) if is_refused(&requests) => Err(here.fault(Mistake::RequestPlaceholder(
            RequestPlaceholderError::WebSocket,
        ))),
        requests => requests.map_err(|wrong| here.fault(Mistake::RequestPlaceholder(wrong))),
    }
}

fn as_written(
    mut raw: RawRequest,
    here: &KeyPosition,
    files: Templates,
) -> Result<Vec<RequestSpec>, Diagnostic> {
    let mut more = added_headers(&mut raw, here, files)?;
    if let Some(file) = &raw.file {
        return from_file(file, &raw, &more, here, files);
    }
    let paths = paths(&raw, here, files)?;
    let has_templates = raw.template.unwrap_or(false);
    let is_file = raw.body.as_deref().is_some_and(is_file);
    let (body, is_form) = match form(&raw, here, files)? {
        Some(form) => {
            more.push(("Content-Type".to_owned(), form.content_type));
            (Some(form.body), true)
        }
        None => {
            let body = raw.body.take();
            let body = body.map(|text| self::body(text, &here.key("body"), files));
            (body.transpose()?.map(String::into_bytes), false)
        }
    };
    let method = raw
        .method
        .unwrap_or_else(|| usual_method(body.is_some()).to_owned());
    if !units::is_token(&method) {
        return Err(here.key("method").fault(Mistake::Method(method)));
    }
    let like = RequestSpec {
        method,
        headers: more,
        body: body.unwrap_or_default(),
        is_verbatim: is_file && !has_templates,
        is_form,
        ..RequestSpec::default()
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

/// The headers that a request is given, and those that say who asks.
///
/// # Errors
/// The first fault.
pub fn added_headers(
    raw: &mut RawRequest,
    here: &KeyPosition,
    files: Templates,
) -> Result<Vec<Header>, Diagnostic> {
    let mut more = headers(std::mem::take(&mut raw.headers), &here.key("headers"))?;
    more.extend(credentials(raw, here, files)?);
    Ok(more)
}

/// The requests of a file, each with further headers.
fn from_file(
    file: &str,
    raw: &RawRequest,
    more: &[Header],
    here: &KeyPosition,
    files: Templates,
) -> Result<Vec<RequestSpec>, Diagnostic> {
    for (is_given, key) in [
        (raw.path.is_some(), "path"),
        (raw.urls.is_some(), "urls"),
        (raw.count.is_some(), "count"),
        (raw.method.is_some(), "method"),
        (raw.body.is_some(), "body"),
        (raw.form.is_some(), "form"),
        (raw.template.is_some(), "template"),
    ] {
        if is_given {
            return Err(here.key(key).fault(Mistake::InRequestFile(key)));
        }
    }
    let here = here.key("file");
    let path = here.read(|key| unit::path_below(key, file))?;
    let named = || file.to_owned();
    let text = files(&path).map_err(|error| {
        let (file, why) = (named(), error.to_string());
        here.fault(Mistake::RequestFile { file, why })
    })?;
    let requests = requests_in(&text, None);
    let mut requests = requests.map_err(|wrong| {
        let file = named();
        here.fault(Mistake::Requests { file, wrong })
    })?;
    for request in &mut requests {
        request.add_headers(more);
        request.weight = request.weight.saturating_mul(raw.weight.unwrap_or(1));
    }
    Ok(requests)
}

/// The headers that say who asks.
fn credentials(
    raw: &RawRequest,
    here: &KeyPosition,
    files: Templates,
) -> Result<Vec<Header>, Diagnostic> {
    if raw.user.is_some() && raw.bearer.is_some() {
        return Err(here.key("bearer").fault(Mistake::Either("user", "bearer")));
    }
    let read = |key: &str, header: Result<Header, CredentialError>| {
        let here = here.key(key);
        let key = here.name();
        header.map_err(|wrong| here.fault(Mistake::Credential { key, wrong }))
    };
    let mut headers = Vec::new();
    if let Some(user) = &raw.user {
        headers.push(read("user", credentials::basic(user))?);
    }
    if let Some(text) = &raw.bearer {
        let token = match text.strip_prefix('@') {
            None => text.clone(),
            Some(file) => {
                let here = here.key("bearer");
                let path = here.read(|key| unit::path_below(key, file))?;
                files(&path).map_err(|error| {
                    let (file, why) = (file.to_owned(), error.to_string());
                    here.fault(Mistake::TokenFile { file, why })
                })?
            }
        };
        headers.push(read("bearer", credentials::bearer(&token))?);
    }
    if let Some(cookies) = &raw.cookie {
        headers.push(read("cookie", credentials::cookies([cookies.as_str()]))?);
    }
    Ok(headers)
}

/// The form of a request that has one.
fn form(
    raw: &RawRequest,
    here: &KeyPosition,
    files: Templates,
) -> Result<Option<Form>, Diagnostic> {
    let Some(fields) = &raw.form else {
        return Ok(None);
    };
    let here = here.key("form");
    if raw.body.is_some() {
        return Err(here.fault(Mistake::Either("body", "form")));
    }
    let read = |file: &str| read_below("form", file, files).map(String::into_bytes);
    let fields = fields.iter().map(String::as_str);
    let form = Form::of(fields, read, raw.template.unwrap_or(false));
    form.map(Some).map_err(|wrong| {
        let why = wrong.to_string().replace(char::is_control, " ");
        let key = here.name();
        here.fault(Mistake::Form { key, why })
    })
}

/// The text of a file beside the study file, which a part of a key names.
fn read_below(key: &str, file: &str, files: Templates) -> io::Result<String> {
    let path = unit::path_below(key, file);
    files(&path.map_err(|wrong| io::Error::other(wrong.to_string()))?)
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

/// Whether a body's text names a file.
fn is_file(text: &str) -> bool {
    text.starts_with('@') && !text.starts_with("@@")
}

/// What a body's text means: itself, or by `@` what a file beside the study file holds.
///
/// # Errors
/// A file that cannot be read.
pub fn body(text: String, here: &KeyPosition, files: Templates) -> Result<String, Diagnostic> {
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

/// The headers of a table, each with a name and a value that can be sent.
///
/// # Errors
/// The first that has none.
pub fn headers(
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
