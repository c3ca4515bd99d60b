//! Flags that say what is asked: paths, headers, method and body.

use std::fs;
use std::path::{Path, PathBuf};

use abx_lab::{REQUESTS_MAX, RequestSpec, Target, listed_paths, usual_method};
use clap::Args;

use super::units;
use crate::end::Failure;

/// What is asked.
#[derive(Debug, Clone, Args)]
pub struct RequestFlags {
    /// Path and query; may be repeated for several requests, drawn at random [default: from the
    /// URL, else /].
    #[arg(long = "path", value_name = "PATH", value_parser = units::path, conflicts_with = "urls")]
    paths: Vec<String>,
    /// Request what this file lists, a path or URL on each line, drawn at random.
    #[arg(long, value_name = "FILE")]
    urls: Option<PathBuf>,
    /// Make N requests of each one, where {n} in path, headers and body is a number from 0.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(REQUESTS_MAX)))]
    count: Option<u32>,
    /// Add a header, such as 'Accept: text/html'; may be repeated.
    #[arg(short = 'H', long = "header", value_parser = units::header, value_name = "NAME: VALUE")]
    headers: Vec<(String, String)>,
    /// Request method [default: GET, and POST with a body].
    #[arg(short, long, visible_short_alias = 'X', value_parser = units::method)]
    method: Option<String>,
    /// Request body; @FILE sends what the file contains.
    #[arg(short, long, value_name = "TEXT|@FILE")]
    body: Option<String>,
}

impl RequestFlags {
    /// The requests of a load. URLs of a list have to be those of the server, where
    /// there is but one.
    ///
    /// # Errors
    /// A usage failure for files that cannot be read, and for what does not fit together.
    pub fn requests(&self, server: Option<&Target>) -> Result<Vec<RequestSpec>, Failure> {
        let like = RequestSpec {
            method: match &self.method {
                Some(method) => method.clone(),
                None => usual_method(self.body.is_some()).to_owned(),
            },
            path: None,
            headers: self.headers.clone(),
            body: self.body.as_deref().map_or(Ok(Vec::new()), read_body)?,
            weight: 1,
        };
        let listed = match (&self.urls, &self.paths[..]) {
            (Some(file), _) => read_list(file, server)?,
            (None, []) => vec![(server.map(|server| server.path.clone()), 1)],
            (None, paths) => { paths.iter() }
                .map(|path| (Some(path.clone()), 1))
                .collect(),
        };
        let all = listed.len() * self.count.unwrap_or(1) as usize;
        if all > REQUESTS_MAX as usize {
            return Err(Failure::usage(format!(
                "{all} requests are more than a load may have: ask for at most {REQUESTS_MAX}"
            )));
        }
        let mut requests = Vec::with_capacity(all);
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

    /// Each flag: whether it was given, its name, and the key of a study file that
    /// says the same.
    pub fn given(&self) -> [(bool, &'static str, &'static str); 6] {
        [
            (!self.paths.is_empty(), "--path", "requests.path"),
            (self.urls.is_some(), "--urls", "requests.urls"),
            (self.count.is_some(), "--count", "requests.count"),
            (!self.headers.is_empty(), "--header", "requests.headers"),
            (self.method.is_some(), "--method", "requests.method"),
            (self.body.is_some(), "--body", "requests.body"),
        ]
    }
}

/// What a body's word means: itself, or by `@` what a file holds, as for curl.
fn read_body(word: &str) -> Result<Vec<u8>, Failure> {
    let Some(file) = word.strip_prefix('@') else {
        return Ok(word.as_bytes().to_vec());
    };
    if file.starts_with('@') {
        return Ok(file.as_bytes().to_vec());
    }
    let path = match file {
        "-" => "/dev/stdin",
        file => file,
    };
    fs::read(path).map_err(|error| {
        Failure::usage(format!(
            "--body: cannot read `{file}`: {error}. Give a file that can be read, or write `@@` \
             for a body that begins with @"
        ))
    })
}

/// The paths that a file lists, with how often.
fn read_list(file: &Path, server: Option<&Target>) -> Result<Vec<(Option<String>, u32)>, Failure> {
    let shown = file.display();
    let text = fs::read_to_string(file).map_err(|error| {
        Failure::usage(format!(
            "--urls: cannot read {shown}: {error}. Give a text file with a path or URL on each line"
        ))
    })?;
    let listed = listed_paths(&text, server)
        .map_err(|error| Failure::usage(format!("--urls: {shown}: {error}")))?;
    Ok({ listed.into_iter() }
        .map(|(path, weight)| (Some(path), weight))
        .collect())
}
