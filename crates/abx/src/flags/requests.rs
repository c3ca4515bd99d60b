//! Flags for requests: paths, headers, method and body, credentials, and files of requests.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use abx_lab::credentials::{self, CredentialError, Header};
use abx_lab::{
    Form, LINES_BYTES_MAX, LineFiles, REQUEST_FILE_BYTES_MAX, REQUESTS_MAX,
    RequestPlaceholderError, RequestSpec, Target, listed_paths, open_input, read_input,
    requests_in, usual_method,
};
use clap::Args;

use crate::flags::units;
use crate::ui::end::Failure;

/// The requests to send.
#[derive(Debug, Clone, Args)]
pub struct RequestFlags {
    /// Path and query [default: from the URL, or /].
    ///
    /// May be repeated: each request draws one at random. {seq}, {rand:1..1000}, {uuid} and
    /// {line:FILE} in it, in headers and in the body are filled in per request.
    #[arg(long = "path", value_name = "PATH", value_parser = units::path, conflicts_with = "urls")]
    paths: Vec<String>,
    /// Request the paths or URLs in this file, one per line, drawn at random.
    #[arg(long, value_name = "FILE")]
    urls: Option<PathBuf>,
    /// Send the requests in this file, drawn at random. Each line is a JSON object with path,
    /// method, headers, body or body_base64, weight and expect_status; - is standard input.
    #[arg(
        long, value_name = "FILE",
        conflicts_with_all = ["paths", "urls", "count", "method", "body", "form", "template"]
    )]
    request_file: Option<PathBuf>,
    // SUBTLE: clap breaks the line at the four letters of this placeholder, so the help has an
    // invisible reset of the terminal's style between them.
    #[arg(
        long, value_name = "N",
        help = "Make N variants of each request: {\u{1b}[0mn} in path, headers and body is 0 to N-1",
        value_parser = units::whole_number::<u32>(1..=u64::from(REQUESTS_MAX), 100),
    )]
    count: Option<u32>,
    /// Add a header, such as 'Accept: text/html'.
    ///
    /// May be repeated.
    #[arg(short = 'H', long = "header", value_parser = units::header, value_name = "NAME: VALUE")]
    headers: Vec<(String, String)>,
    /// Request method [default: GET, and POST with a body].
    #[arg(short, long, visible_short_alias = 'X', value_parser = units::method)]
    method: Option<String>,
    /// Request body; @FILE sends the content of the file, byte for byte.
    #[arg(short, long, value_name = "TEXT|@FILE")]
    body: Option<String>,
    /// Also fill in placeholders such as {seq} in the files of -b @FILE and -F NAME=@FILE.
    #[arg(long)]
    template: bool,
    /// Send a form (multipart/form-data) with this field; may be repeated. @FILE sends a file,
    /// <FILE its text; ;type=TYPE and ;filename=NAME may follow.
    #[arg(
        short = 'F',
        long,
        value_name = "NAME=VALUE|NAME=@FILE",
        conflicts_with = "body"
    )]
    form: Vec<String>,
    /// Authenticate with a name and a password (basic).
    #[arg(short, long, value_name = "NAME:PASSWORD", conflicts_with = "bearer")]
    user: Option<String>,
    /// Authenticate with a token; @FILE reads it from a file.
    #[arg(long, value_name = "TOKEN|@FILE")]
    bearer: Option<String>,
    /// Send a cookie; may be repeated.
    #[arg(long = "cookie", value_name = "NAME=VALUE")]
    cookies: Vec<String>,
}

impl RequestFlags {
    /// The requests of a load. If there is only one server, listed URLs must be on it. Placeholders
    /// are refused unless requests `may_vary`.
    ///
    /// # Errors
    /// A usage failure for files that cannot be read, and for flags that contradict each other.
    pub fn requests(
        &self,
        server: Option<&Target>,
        may_vary: bool,
    ) -> Result<Vec<RequestSpec>, Failure> {
        // A file of requests may come from elsewhere, so it must not choose which files of this
        // machine are read and sent.
        let read: fn(&str) -> io::Result<String> = match self.request_file {
            Some(_) => read_lines_here,
            None => read_lines,
        };
        let mut files = LineFiles::read_by(&read);
        let requests: Vec<RequestSpec> = self
            .as_written(server)?
            .into_iter()
            .map(|request| request.with_placeholders(&mut files))
            .collect::<Result<_, _>>()
            .map_err(Failure::usage)?;
        if !may_vary && requests.iter().any(RequestSpec::has_placeholders) {
            Err(Failure::usage(RequestPlaceholderError::WebSocket))
        } else {
            Ok(requests)
        }
    }

    fn as_written(&self, server: Option<&Target>) -> Result<Vec<RequestSpec>, Failure> {
        if let Some(file) = &self.request_file {
            let mut requests = read_requests(file, server)?;
            self.add_headers(&mut requests)?;
            return Ok(requests);
        }
        let like = self.like(self.all_headers()?)?;
        let listed = match (&self.urls, &self.paths[..]) {
            (Some(file), _) => read_list(file, server)?,
            (None, []) => vec![(server.map(|server| server.path.clone()), 1)],
            (None, paths) => paths.iter().map(|path| (Some(path.clone()), 1)).collect(),
        };
        let total = listed.len() * self.count.unwrap_or(1) as usize;
        if total > REQUESTS_MAX as usize {
            return Err(Failure::usage(format!(
                "{total} requests are more than a load may have: use at most {REQUESTS_MAX}"
            )));
        }
        let mut requests = Vec::with_capacity(total);
        for (path, weight) in listed {
            let request = RequestSpec {
                path,
                weight,
                ..like.clone()
            };
            requests.extend(request.numbered(self.count).map_err(Failure::usage)?);
        }
        Ok(requests)
    }

    /// A request without its path.
    fn like(&self, mut headers: Vec<Header>) -> Result<RequestSpec, Failure> {
        let body = match &self.form[..] {
            [] => self
                .body
                .as_deref()
                .map(|body| read_file_or("--body", body))
                .transpose()?,
            fields => {
                if is_among("content-type", &headers) {
                    return Err(Failure::usage(
                        "-F sets the Content-Type, which names the boundary between its parts: \
                         leave that header out",
                    ));
                }
                let fields = fields.iter().map(String::as_str);
                let form = Form::of(
                    fields,
                    |file| read_input(Path::new(input(file))),
                    self.template,
                );
                let form = form.map_err(|wrong| Failure::usage(format!("--form: {wrong}")))?;
                headers.push(("Content-Type".to_owned(), form.content_type));
                Some(form.body)
            }
        };
        let usual = usual_method(body.is_some());
        let is_from_file = self.body.as_deref().and_then(file_in).is_some();
        Ok(RequestSpec {
            method: self.method.clone().unwrap_or_else(|| usual.to_owned()),
            headers,
            body: body.unwrap_or_default(),
            is_verbatim: is_from_file && !self.template,
            is_form: !self.form.is_empty(),
            ..RequestSpec::default()
        })
    }

    /// The headers, including those with credentials.
    fn all_headers(&self) -> Result<Vec<Header>, Failure> {
        let mut headers = self.headers.clone();
        let mut add = |flag: &str, header: Result<Header, CredentialError>| {
            let header = header.map_err(|wrong| Failure::usage(format!("{flag}: {wrong}")))?;
            if is_among(&header.0, &headers) {
                return Err(Failure::usage(format!(
                    "{flag} sets the header {}, and so does -H: leave one of them out",
                    header.0
                )));
            }
            headers.push(header);
            Ok(())
        };
        if let Some(user) = &self.user {
            add("--user", credentials::basic(user))?;
        }
        if let Some(token) = &self.bearer {
            let token = read_file_or("--bearer", token)?;
            // Bytes that are not text are not a token.
            let token = String::from_utf8(token).unwrap_or_default();
            add("--bearer", credentials::bearer(&token))?;
        }
        if !self.cookies.is_empty() {
            let cookies = self.cookies.iter().map(String::as_str);
            add("--cookie", credentials::cookies(cookies))?;
        }
        Ok(headers)
    }

    /// Adds the headers, including those with credentials, to requests that come from elsewhere.
    ///
    /// # Errors
    /// A usage failure for headers that contradict each other.
    pub fn add_headers(&self, requests: &mut [RequestSpec]) -> Result<(), Failure> {
        let headers = self.all_headers()?;
        for request in requests {
            request.add_headers(&headers);
        }
        Ok(())
    }

    /// Each flag: whether it was given, its name, and its key in a study file.
    pub fn given(&self) -> [(bool, &'static str, &'static str); 12] {
        [
            (!self.paths.is_empty(), "--path", "requests.path"),
            (self.urls.is_some(), "--urls", "requests.urls"),
            (
                self.request_file.is_some(),
                "--request-file",
                "requests.file",
            ),
            (self.count.is_some(), "--count", "requests.count"),
            (!self.headers.is_empty(), "--header", "requests.headers"),
            (self.method.is_some(), "--method", "requests.method"),
            (self.body.is_some(), "--body", "requests.body"),
            (!self.form.is_empty(), "--form", "requests.form"),
            (self.template, "--template", "requests.template"),
            (self.user.is_some(), "--user", "requests.user"),
            (self.bearer.is_some(), "--bearer", "requests.bearer"),
            (!self.cookies.is_empty(), "--cookie", "requests.cookie"),
        ]
    }
}

fn is_among(name: &str, headers: &[Header]) -> bool {
    headers
        .iter()
        .any(|(other, _)| other.eq_ignore_ascii_case(name))
}

/// The path of a file on the command line: `-` is standard input.
pub fn input(file: &str) -> &str {
    match file {
        "-" => "/dev/stdin",
        file => file,
    }
}

/// The file that a flag's value names by `@`; `@@` stands for the character itself.
fn file_in(word: &str) -> Option<&str> {
    let file = word.strip_prefix('@')?;
    (!file.starts_with('@')).then_some(file)
}

/// The value of a flag, or after `@` the content of a file, as in curl.
fn read_file_or(flag: &str, word: &str) -> Result<Vec<u8>, Failure> {
    let Some(file) = file_in(word) else {
        let text = word.strip_prefix('@').unwrap_or(word);
        return Ok(text.as_bytes().to_vec());
    };
    read_input(Path::new(input(file))).map_err(|error| {
        Failure::usage(format!(
            "{flag}: cannot read `{file}`: {error}. Give a file that can be read, or write `@@` \
             for a text that begins with @"
        ))
    })
}

/// The text from which `{line:FILE}` takes its lines.
fn read_lines(file: &str) -> io::Result<String> {
    let text = read_text(Path::new(input(file)), LINES_BYTES_MAX)?;
    if text.len() > LINES_BYTES_MAX {
        Err(io::Error::other(format!(
            "it is longer than {} MiB",
            LINES_BYTES_MAX >> 20
        )))
    } else {
        Ok(text)
    }
}

/// Like [`read_lines`], but only for files in the current folder or below it.
fn read_lines_here(file: &str) -> io::Result<String> {
    let here = std::env::current_dir()?.canonicalize()?;
    if Path::new(file).canonicalize()?.starts_with(here) {
        return read_lines(file);
    }
    Err(io::Error::other(
        "a file of requests may only name files in the current folder: copy it there, or give the \
         request by --path, -H and -b, which may name any file",
    ))
}

/// The text of a file, cut off one byte after `bytes_max`.
fn read_text(path: &Path, bytes_max: usize) -> io::Result<String> {
    let mut text = String::new();
    let file = open_input(path)?;
    file.take(bytes_max as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

fn read_requests(file: &Path, server: Option<&Target>) -> Result<Vec<RequestSpec>, Failure> {
    let shown = file.display();
    let unread = |error: io::Error| {
        Failure::usage(format!(
            "--request-file: cannot read {shown}: {error}. Give a text file with a JSON object on \
             each line"
        ))
    };
    let path = file.to_str().map_or(file, |file| Path::new(input(file)));
    let text = read_text(path, REQUEST_FILE_BYTES_MAX).map_err(unread)?;
    if text.len() > REQUEST_FILE_BYTES_MAX {
        return Err(Failure::usage(format!(
            "--request-file: {shown} is longer than {} MiB: leave requests out",
            REQUEST_FILE_BYTES_MAX >> 20
        )));
    }
    requests_in(&text, server)
        .map_err(|error| Failure::usage(format!("--request-file: {shown}: {error}")))
}

fn as_text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// The paths that a file lists, and how often it lists each.
fn read_list(file: &Path, server: Option<&Target>) -> Result<Vec<(Option<String>, u32)>, Failure> {
    let shown = file.display();
    let text = read_input(file).and_then(as_text).map_err(|error| {
        Failure::usage(format!(
            "--urls: cannot read {shown}: {error}. Give a text file with a path or URL on each line"
        ))
    })?;
    let listed = listed_paths(&text, server)
        .map_err(|error| Failure::usage(format!("--urls: {shown}: {error}")))?;
    Ok(listed
        .into_iter()
        .map(|(path, weight)| (Some(path), weight))
        .collect())
}
