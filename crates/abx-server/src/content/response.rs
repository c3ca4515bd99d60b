//! What a request is answered with, whatever version of HTTP carries it.

use super::{FoundContent, FoundFile, Plan, ServedContent, crash, refusal};
use crate::faults::InjectedFault;

/// A response before it is written.
#[derive(Debug)]
pub(crate) struct PlannedResponse {
    pub(crate) status: u16,
    /// The length that its head announces.
    pub(crate) content_length: u64,
    pub(crate) content_type: &'static str,
    pub(crate) body: ResponseBody,
    /// The body ends before its announced length.
    pub(crate) is_cut: bool,
}

/// Where the bytes of a body are.
#[derive(Debug)]
pub(crate) enum ResponseBody {
    None,
    Fixed(&'static [u8]),
    Rendered(String),
    /// So many bytes of the page, right or changed.
    Page {
        is_changed: bool,
        bytes: usize,
    },
    /// A file of at least one byte.
    File(FoundFile),
}

impl ServedContent {
    /// Makes the response to a request.
    pub(crate) fn respond(&self, plan: Plan, injected: InjectedFault) -> PlannedResponse {
        let found_content = match injected {
            InjectedFault::Fail => FoundContent::Refused(503),
            _ => plan.found,
        };
        let mut response = self.response(found_content, injected);
        if plan.is_head_only {
            response.body = ResponseBody::None;
        }
        response
    }

    fn response(&self, found_content: FoundContent, injected: InjectedFault) -> PlannedResponse {
        let is_cut = injected == InjectedFault::CloseEarly;
        let of = |status, content_length, content_type, body| PlannedResponse {
            status,
            content_length,
            content_type,
            body,
            is_cut,
        };
        match found_content {
            FoundContent::Refused(status) => {
                let body = refusal(status);
                let length = body.len() as u64;
                of(status, length, "text/plain", ResponseBody::Fixed(body))
            }
            FoundContent::Crash => crash(),
            FoundContent::Blog => match self.render_blog() {
                Some(page) => {
                    let length = page.len() as u64;
                    of(200, length, "text/html", ResponseBody::Rendered(page))
                }
                None => self.response(FoundContent::Refused(503), injected),
            },
            FoundContent::File(found_file) => {
                let (length, content_type) = (found_file.bytes, found_file.content_type);
                let body = match length {
                    0 => ResponseBody::None,
                    _ => ResponseBody::File(found_file),
                };
                of(200, length, content_type, body)
            }
            FoundContent::Page => {
                let page = self.page();
                let (announced, bytes) = page.lengths(injected);
                let is_changed = injected == InjectedFault::WrongBody;
                let body = ResponseBody::Page { is_changed, bytes };
                of(200, announced as u64, page.content_type, body)
            }
        }
    }
}
