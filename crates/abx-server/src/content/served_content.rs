//! Decides for each request what is served, and sends it.

use std::io;
use std::time::Duration;

use abx_sys::Socket;
use abx_sys::process::die_of_crashes;
use abx_wire::http1::{Http1ResponseHead, Method, RequestHead, Version, response_head};
use abx_wire::http2::StreamRequest;
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};

use super::blog::Blog;
use super::files::{Folder, send_piece};
use super::page::PageResponses;
use super::plan::{FoundContent, Plan};
use super::response::{PlannedResponse, PreparedResponse, ResponseBody, refusal};
use super::tail::Tail;
use crate::config::{Content, ServeError, ServerConfig};
use crate::faults::InjectedFault;
use crate::tls::{self, TlsStream};

#[derive(Debug)]
pub(crate) struct ServedContent {
    main: MainContent,
    blog: Option<Blog>,
    allows_crash: bool,
}

/// The content of all paths except special ones.
#[derive(Debug)]
enum MainContent {
    Page(PageResponses),
    Files(Folder),
}

impl ServedContent {
    /// Creates the page or opens the directory.
    pub(crate) fn open(config: &ServerConfig) -> Result<ServedContent, ServeError> {
        let main = match &config.content {
            Content::Page { bytes } => {
                let needs_changed = config.faults.wrong_body_percent > 0.0;
                MainContent::Page(PageResponses::new(*bytes, needs_changed))
            }
            Content::Files { root, sending } => {
                let folder = Folder::open(root, *sending);
                MainContent::Files(folder.map_err(|error| ServeError::Root {
                    root: root.clone(),
                    source: error.into(),
                })?)
            }
        };
        Ok(ServedContent {
            main,
            blog: config.blog_rows.map(Blog::open).transpose()?,
            allows_crash: config.allows_crash,
        })
    }

    /// Plans the response to a request.
    pub(crate) fn plan(&self, head: &RequestHead<'_>) -> Plan {
        Plan {
            found: self.find(head.method, head.target),
            version: head.version,
            keep_alive: head.keep_alive,
            is_head_only: head.method == Method::Head,
        }
    }

    /// Plans the response to an HTTP/2 request.
    pub(crate) fn plan_stream(&self, head: &StreamRequest<'_>) -> Plan {
        Plan {
            found: self.find(head.method, head.target),
            version: Version::Http11,
            keep_alive: true,
            is_head_only: head.method == Method::Head,
        }
    }

    fn find(&self, method: Method, target: &str) -> FoundContent {
        match &self.main {
            _ if self.has_blog_at(target) => FoundContent::Blog,
            _ if self.allows_crash && is_path(target, CRASH) => FoundContent::Crash,
            MainContent::Page(_) => FoundContent::Page,
            MainContent::Files(_) if method == Method::Other => FoundContent::Refused(405),
            MainContent::Files(folder) => match folder.find(target) {
                Ok(file) => FoundContent::File(file),
                // A temporary failure of this server; all other errors concern the file.
                Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN) => {
                    FoundContent::Refused(503)
                }
                Err(_) => FoundContent::Refused(404),
            },
        }
    }

    /// Appends the response to `out`, except for its tail.
    pub(crate) fn write_response(
        &self,
        plan: Plan,
        injected: InjectedFault,
        out: &mut Vec<u8>,
    ) -> PreparedResponse {
        let (version, keep_alive) = (plan.version, plan.keep_alive);
        let response = self.respond(plan, injected);
        let head = Http1ResponseHead {
            status: response.status,
            content_length: response.content_length,
            content_type: response.content_type,
            version,
            keep_alive,
        };
        response_head(&head, out);
        let tail = match response.body {
            ResponseBody::None => Tail::None,
            ResponseBody::Fixed(bytes) => {
                out.extend_from_slice(bytes);
                Tail::None
            }
            ResponseBody::Rendered(page) => {
                out.extend_from_slice(page.as_bytes());
                Tail::None
            }
            ResponseBody::Page { is_changed, bytes } => self.page().write(is_changed, bytes, out),
            ResponseBody::File(file) => Tail::of(file),
        };
        PreparedResponse {
            tail,
            close: !keep_alive || response.is_cut,
        }
    }

    /// Sends one piece of a page, or by sendfile; all is sent when the tail is [`Tail::None`].
    pub(crate) fn send_piece(
        &self,
        socket: &Socket,
        stream: Option<&mut TlsStream>,
        tail: &mut Tail,
    ) -> io::Result<()> {
        match tail {
            Tail::None | Tail::Read(_) | Tail::Uring(_) => {}
            Tail::PageResponses { is_changed, range } => {
                let end = range.end.min(range.start + PIECE_BYTES_MAX);
                let bytes = &self.page().copy(*is_changed)[range.start..end];
                range.start += tls::send(socket, stream, bytes)?;
                if range.start == range.end {
                    *tail = Tail::None;
                }
            }
            Tail::Sendfile(part) => {
                send_piece(part, socket)?;
                if part.left == 0 {
                    *tail = Tail::None;
                }
            }
        }
        Ok(())
    }

    fn has_blog_at(&self, target: &str) -> bool {
        self.blog.is_some() && [BLOG, BLOG_FOLDER].iter().any(|path| is_path(target, path))
    }

    /// Renders the blog's page; `None` on errors.
    fn render_blog(&self) -> Option<String> {
        self.blog.as_ref()?.page().ok()
    }

    /// The page's bytes, correct or changed.
    pub(crate) fn page_bytes(&self, is_changed: bool) -> &[u8] {
        self.page().copy(is_changed)
    }

    fn page(&self) -> &PageResponses {
        match &self.main {
            MainContent::Page(page) => page,
            MainContent::Files(_) => unreachable!("a page is only planned if there is one"),
        }
    }

    /// The response of the null model to every request, as bytes.
    pub(crate) fn canned_response_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if let Tail::PageResponses { range, .. } = self
            .write_response(Plan::of_the_page(), InjectedFault::None, &mut out)
            .tail
        {
            out.extend_from_slice(&self.page().bytes[range]);
        }
        out
    }

    /// The response of the null model, before it is written.
    pub(crate) fn canned_response(&self) -> PlannedResponse {
        self.respond(Plan::of_the_page(), InjectedFault::None)
    }

    /// Creates the response to a request.
    pub(crate) fn respond(&self, plan: Plan, injected: InjectedFault) -> PlannedResponse {
        let content = match injected {
            InjectedFault::Fail => FoundContent::Refused(503),
            _ => plan.found,
        };
        let mut response = self.response(content, injected);
        if plan.is_head_only {
            response.body = ResponseBody::None;
        }
        response
    }

    fn response(&self, content: FoundContent, injected: InjectedFault) -> PlannedResponse {
        let is_cut = injected == InjectedFault::CloseEarly;
        let of = |status, content_length, content_type, body| PlannedResponse {
            status,
            content_length,
            content_type,
            body,
            is_cut,
        };
        match content {
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
            FoundContent::File(file) => {
                let (length, content_type) = (file.bytes, file.content_type);
                let body = match length {
                    0 => ResponseBody::None,
                    _ => ResponseBody::File(file),
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

/// Whether a target names this path, with or without a query.
fn is_path(target: &str, path: &str) -> bool {
    let rest = target.strip_prefix(path);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('?'))
}

/// Dies from SIGSEGV, as a process does after an invalid memory access.
fn crash() -> ! {
    die_of_crashes();
    loop {
        let _ = kill_process(getpid(), Signal::SEGV);
        // Another thread may have got the signal; this one continues until the process ends.
        std::thread::sleep(Duration::from_millis(10));
    }
}

const BLOG: &str = "/blog/index";
const BLOG_FOLDER: &str = "/blog/index/";
const CRASH: &str = "/crash";

/// The most bytes per send, so that one fast reader does not delay others.
const PIECE_BYTES_MAX: usize = 256 * 1024;
