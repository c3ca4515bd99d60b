//! The requests of a load.

use std::collections::BTreeMap;
use std::io;

use crate::requests::credentials::{self, CredentialError, Header};
use crate::requests::form::Form;
use crate::requests::numbered::{NumberError, RequestPart};
use crate::requests::request_file::requests_in;
use crate::requests::request_placeholder::{LineFiles, RequestPlaceholderError};
use crate::requests::request_spec::RequestSpec;
use crate::requests::url_list::{ListedPath, listed_paths};
use crate::study_file::input::Templates;
use crate::study_file::key_position::KeyPosition;
use crate::study_file::mistake::{Diagnostic, short};
use crate::study_file::raw_request::RawRequest;
use crate::study_file::unit;

/// The request of a table, or the requests that its `count`, `urls` or `file` make of it. `files`
/// returns the text of a file next to the study file. Placeholders are refused unless the request
/// `may_vary`.
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
    let requests = match requests {
        Ok(requests) if is_refused(&requests) => Err(RequestPlaceholderError::WebSocket),
        requests => requests,
    };
    requests.map_err(|wrong| here.fault(wrong.to_string()))
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
    let method = raw.method;
    let method = here
        .key("method")
        .read(|_| unit::method(method, body.is_some()))?;
    let like = RequestSpec {
        method,
        headers: more,
        body: body.unwrap_or_default(),
        is_verbatim: is_file && !has_templates,
        is_form,
        ..RequestSpec::default()
    };
    let requests = paths.into_iter().map(|(path, times)| {
        let request = RequestSpec {
            path: Some(path),
            weight: raw.weight.unwrap_or(1).saturating_mul(times),
            ..like.clone()
        };
        request
            .numbered(raw.count)
            .map_err(|wrong| unnumbered(wrong, here))
    });
    Ok(requests.collect::<Result<Vec<_>, _>>()?.concat())
}

/// The headers of a request, including those with credentials.
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
    let of_requests = [
        "path", "urls", "count", "method", "body", "form", "template",
    ];
    here.refuse(&of_requests, |key| {
        format!("a request file sets `{key}` itself: leave out `file` or `{key}`")
    })?;
    let here = here.key("file");
    let text = here.text(file, files, |file, why| {
        format!("the request file `{file}` cannot be read ({why}): put it next to the study file")
    })?;
    let wrong = |wrong| here.fault(format!("the file `{}`: {wrong}", short(file)));
    let mut requests = requests_in(&text, None).map_err(wrong)?;
    for request in &mut requests {
        request.add_headers(more);
        request.weight = request.weight.saturating_mul(raw.weight.unwrap_or(1));
    }
    Ok(requests)
}

/// The headers with credentials.
fn credentials(
    raw: &RawRequest,
    here: &KeyPosition,
    files: Templates,
) -> Result<Vec<Header>, Diagnostic> {
    if raw.user.is_some() && raw.bearer.is_some() {
        return Err(either("user", "bearer", &here.key("bearer")));
    }
    let read = |key: &str, header: Result<Header, CredentialError>| {
        let here = here.key(key);
        header.map_err(|wrong| here.fault(format!("`{}`: {wrong}", here.name())))
    };
    let mut headers = Vec::new();
    if let Some(user) = &raw.user {
        headers.push(read("user", credentials::basic(user))?);
    }
    if let Some(text) = &raw.bearer {
        let token = match text.strip_prefix('@') {
            None => text.clone(),
            Some(file) => here.key("bearer").text(file, files, |file, why| {
                format!(
                    "the token file `{file}` cannot be read ({why}): put it next to the study file"
                )
            })?,
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
        return Err(either("body", "form", &here));
    }
    let read = |file: &str| read_below("form", file, files).map(String::into_bytes);
    let fields = fields.iter().map(String::as_str);
    let form = Form::of(fields, read, raw.template.unwrap_or(false));
    form.map(Some).map_err(|wrong| {
        let why = wrong.to_string().replace(char::is_control, " ");
        here.fault(format!("`{}`: {why}", here.name()))
    })
}

/// The fault of a request that has both of two exclusive keys.
fn either(first: &str, second: &str, here: &KeyPosition) -> Diagnostic {
    here.fault(format!(
        "a request has either `{first}` or `{second}`: leave one of them out"
    ))
}

/// The text of a file next to the study file, which a part of a key's value names.
fn read_below(key: &str, file: &str, files: Templates) -> io::Result<String> {
    let path = unit::path_below(key, file);
    files(&path.map_err(io::Error::other)?)
}

/// The paths, and the weight of each.
fn paths(
    raw: &RawRequest,
    here: &KeyPosition,
    files: Templates,
) -> Result<Vec<ListedPath>, Diagnostic> {
    let file = match (&raw.path, &raw.urls) {
        (None, None) => {
            return Err(here.fault(
                "`path` is missing: add it, for example path = \"/small.bin\", or name a list of \
                 paths in `urls`",
            ));
        }
        (Some(_), Some(_)) => return Err(either("path", "urls", &here.key("urls"))),
        (Some(path), None) => {
            let path = here.key("path").read(|key| unit::url_path(key, path))?;
            return Ok(vec![(path, 1)]);
        }
        (None, Some(file)) => file,
    };
    let here = here.key("urls");
    let text = here.text(file, files, |file, why| {
        format!("the list `{file}` cannot be read ({why}): put it next to the study file")
    })?;
    listed_paths(&text, None)
        .map_err(|wrong| here.fault(format!("the list `{}`: {wrong}", short(file))))
}

/// The fault of a request that cannot be numbered, at the key that is the reason.
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
    here.fault(format!("`{}`: {wrong}", here.name()))
}

/// Whether a body's text names a file.
fn is_file(text: &str) -> bool {
    text.starts_with('@') && !text.starts_with("@@")
}

/// The body that a text stands for: the text itself, or after `@` the content of a file.
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
    here.text(file, files, |file, why| {
        format!(
            "the body file `{file}` cannot be read ({why}): put it next to the file that names \
             it, or write `@@` for a body that begins with @"
        )
    })
}

/// The headers of a table, all of which can be sent.
///
/// # Errors
/// The first header whose name or value cannot be sent.
pub fn headers(
    headers: BTreeMap<String, String>,
    table: &KeyPosition,
) -> Result<Vec<(String, String)>, Diagnostic> {
    for (name, value) in &headers {
        let here = table.key(name);
        here.read(|_| unit::check_header_name(name))?;
        let is_forbidden = |letter: char| letter.is_control() && letter != '\t';
        if value.contains(is_forbidden) {
            return Err(here.fault(format!(
                "the header `{}` has a control character in its value: remove it",
                short(name)
            )));
        }
    }
    Ok(headers.into_iter().collect())
}
