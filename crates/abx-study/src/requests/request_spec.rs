//! A request, before its server is known.

use abx_engine::{HttpVersion, RequestPlaceholder, RequestPlan};
use abx_evidence::ExpectedStatus;
use abx_evidence::record::{RequestBody, RequestSettings};
use sha2::{Digest, Sha256};

/// A request, before its server is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestSpec {
    pub method: String,
    /// Path and query; `None` takes that of a subject's URL, or `/`.
    pub path: Option<String>,
    pub headers: Vec<(String, String)>,
    /// The body, mostly empty.
    pub body: Vec<u8>,
    /// Whether the body is sent as it is, so that nothing in it is a placeholder.
    pub is_verbatim: bool,
    /// Whether the body is a form, whose text stays out of the record: a password may be in it.
    pub is_form: bool,
    /// How often it is sent, compared with the weights of the others.
    pub weight: u32,
    /// The correct status; `None` for that of the load.
    pub status: Option<ExpectedStatus>,
    /// The parts that are filled in for each request; the text there names them.
    pub placeholders: Vec<RequestPlaceholder>,
    /// Whether it comes from an access log: a server's response to it is counted, correct or not,
    /// and does not keep the load from beginning.
    pub is_logged: bool,
}

impl Default for RequestSpec {
    /// `GET` of a subject's own path, without a body.
    fn default() -> RequestSpec {
        RequestSpec {
            method: usual_method(false).to_owned(),
            path: None,
            headers: Vec::new(),
            body: Vec::new(),
            is_verbatim: false,
            is_form: false,
            weight: 1,
            status: None,
            placeholders: Vec::new(),
            is_logged: false,
        }
    }
}

/// The method of a request that names none.
#[must_use]
pub fn usual_method(has_body: bool) -> &'static str {
    if has_body { "POST" } else { "GET" }
}

impl RequestSpec {
    /// The request to one server: `own_path` is that of its URL.
    #[must_use]
    pub fn plan(&self, version: HttpVersion, host: &str, own_path: Option<&str>) -> RequestPlan {
        RequestPlan {
            version,
            method: self.method.clone(),
            path: self.path_for(own_path),
            host: host.to_owned(),
            headers: self.headers.clone(),
            body: self.body.clone(),
            placeholders: self.placeholders.clone(),
        }
    }

    /// Adds headers, except those that the request sets itself.
    pub fn add_headers(&mut self, more: &[(String, String)]) {
        let names: Vec<String> = self.headers.iter().map(|(name, _)| name.clone()).collect();
        let is_new = |(name, _): &&(String, String)| {
            !names.iter().any(|known| known.eq_ignore_ascii_case(name))
        };
        self.headers.extend(more.iter().filter(is_new).cloned());
    }

    pub(crate) fn settings(&self) -> RequestSettings {
        let body = (!self.body.is_empty()).then(|| RequestBody {
            bytes: self.body.len() as u64,
            sha256: abx_model::hex(&Sha256::digest(&self.body)),
            text: std::str::from_utf8(&self.body)
                .ok()
                .filter(|text| text.len() <= BODY_TEXT_BYTES_MAX && !self.is_form)
                .map(str::to_owned),
        });
        RequestSettings {
            method: self.method.clone(),
            path: self.path_for(None),
            weight: self.weight,
            body,
            status: self.status,
        }
    }

    fn path_for(&self, own_path: Option<&str>) -> String {
        let path = self.path.as_deref().or(own_path);
        path.unwrap_or("/").to_owned()
    }
}

/// The longest body that a record has as text, in bytes. It has length and hash of every body.
const BODY_TEXT_BYTES_MAX: usize = 1_024;
