//! What is served: one page from memory, or files below a directory; and beside it a blog, and
//! a place where the process dies.
//!
//! A response is made in two steps: a [`Plan`] when the request's head is read,
//! then bytes when it is due. All models share them.

mod blog;
mod files;
mod response;

use std::io;
use std::ops::Range;
use std::time::Duration;

use abx_sys::process::die_of_crashes;
use abx_sys::{FilePart, Socket};
use abx_wire::http1::{Http1ResponseHead, Method, RequestHead, Version, response_head};
use abx_wire::http2::StreamRequest;
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{Signal, getpid, kill_process};

use crate::config::{Content, SendMethod, ServeError, ServerConfig};
use crate::content::blog::Blog;
use crate::content::files::{Folder, FoundFile, READ_BYTES_MAX, read_piece, send_piece};
use crate::faults::InjectedFault;
use crate::tls::{self, TlsStream};

pub(crate) use files::read_part;
pub(crate) use response::{PlannedResponse, ResponseBody};

#[derive(Debug)]
pub(crate) struct ServedContent {
    main: MainContent,
    blog: Option<Blog>,
    allows_crash: bool,
}

/// What is served wherever nothing else is.
#[derive(Debug)]
enum MainContent {
    Page(PageResponses),
    Files(Folder),
}

/// The page, right and wrong.
#[derive(Debug)]
pub(crate) struct PageResponses {
    bytes: Vec<u8>,
    /// The same with one byte changed; empty when never asked for.
    changed: Vec<u8>,
    content_type: &'static str,
}

/// What a request is to be answered with.
#[derive(Debug)]
pub(crate) struct Plan {
    found: FoundContent,
    version: Version,
    keep_alive: bool,
    is_head_only: bool,
}

#[derive(Debug)]
enum FoundContent {
    Page,
    File(FoundFile),
    Blog,
    Crash,
    /// Nothing: an error with this status.
    Refused(u16),
}

/// What is still to be sent behind the bytes of a response that were written out.
#[derive(Debug)]
pub(crate) enum Tail {
    None,
    PageResponses {
        is_changed: bool,
        range: Range<usize>,
    },
    /// A file that sendfile sends.
    Sendfile(FilePart),
    /// A file that is read into the buffer of the bytes that are written out.
    Read(FilePart),
    /// A file that a ring reads and sends, with these bytes before it.
    Uring(FilePart),
}

/// A response, but for the bytes that were written out.
#[derive(Debug)]
pub(crate) struct PreparedResponse {
    pub(crate) tail: Tail,
    /// Close the connection behind it.
    pub(crate) close: bool,
}

impl ServedContent {
    /// Makes the page or opens the directory.
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

    /// Decides what a request is answered with.
    pub(crate) fn plan(&self, head: &RequestHead<'_>) -> Plan {
        Plan {
            found: self.find(head.method, head.target),
            version: head.version,
            keep_alive: head.keep_alive,
            is_head_only: head.method == Method::Head,
        }
    }

    /// Decides what a request of HTTP/2 is answered with.
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
                Ok(found_file) => FoundContent::File(found_file),
                // Trouble of ours that passes; all else means that the file cannot be had.
                Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN) => {
                    FoundContent::Refused(503)
                }
                Err(_) => FoundContent::Refused(404),
            },
        }
    }

    /// Writes the response to the end of `out`, all of it or all but a tail.
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
            ResponseBody::File(found_file) => Tail::of(found_file),
        };
        PreparedResponse {
            tail,
            close: !keep_alive || response.is_cut,
        }
    }

    /// Sends one piece of a page or by sendfile; done when the tail is [`Tail::None`].
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

    /// Makes the blog's page; `None` when it cannot be had.
    fn render_blog(&self) -> Option<String> {
        self.blog.as_ref()?.page().ok()
    }

    /// The page's bytes, right or changed.
    pub(crate) fn page_bytes(&self, is_changed: bool) -> &[u8] {
        self.page().copy(is_changed)
    }

    fn page(&self) -> &PageResponses {
        match &self.main {
            MainContent::Page(page) => page,
            MainContent::Files(_) => unreachable!("a page is planned only where there is one"),
        }
    }

    /// The response that the null model gives to everything.
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

    /// The same before it is written.
    pub(crate) fn canned_response(&self) -> PlannedResponse {
        self.respond(Plan::of_the_page(), InjectedFault::None)
    }
}

impl Plan {
    fn of_the_page() -> Plan {
        Plan {
            found: FoundContent::Page,
            version: Version::Http11,
            keep_alive: true,
            is_head_only: false,
        }
    }
}

impl Tail {
    fn of(found_file: FoundFile) -> Tail {
        let sending = found_file.sending;
        let part = found_file.part();
        match sending {
            SendMethod::Sendfile => Tail::Sendfile(part),
            SendMethod::Read => Tail::Read(part),
            SendMethod::Uring => Tail::Uring(part),
        }
    }

    /// Brings the next piece of a file that is read behind the bytes to send, as
    /// long as they are few.
    pub(crate) fn fill(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        if let Tail::Read(part) = self
            && out.len() < READ_BYTES_MAX
        {
            read_piece(part, out)?;
            if part.left == 0 {
                *self = Tail::None;
            }
        }
        Ok(())
    }

    pub(crate) fn is_none(&self) -> bool {
        matches!(self, Tail::None)
    }

    /// How the bytes before it are sent: a head without its file would go out as
    /// a segment of its own.
    pub(crate) fn flags(&self) -> SendFlags {
        match self {
            Tail::None => SendFlags::NOSIGNAL,
            _ => SendFlags::NOSIGNAL | SendFlags::MORE,
        }
    }
}

impl PageResponses {
    fn new(bytes: Option<u64>, needs_changed: bool) -> PageResponses {
        let (bytes, content_type) = match bytes {
            None => (USUAL_PAGE.to_vec(), "text/html"),
            Some(length) => {
                let length = usize::try_from(length).expect("the page's length was checked");
                let bytes = PATTERN.iter().copied().cycle().take(length).collect();
                (bytes, "text/plain")
            }
        };
        let mut changed = Vec::new();
        if needs_changed {
            changed.clone_from(&bytes);
            let middle = changed.len() / 2;
            changed[middle] ^= 1;
        }
        PageResponses {
            bytes,
            changed,
            content_type,
        }
    }

    fn copy(&self, is_changed: bool) -> &[u8] {
        if is_changed {
            &self.changed
        } else {
            &self.bytes
        }
    }

    /// The length that the head announces, and the length that is sent.
    fn lengths(&self, injected: InjectedFault) -> (usize, usize) {
        let length = self.bytes.len();
        match injected {
            InjectedFault::CloseEarly => (length, length / 2),
            InjectedFault::WrongLength => (length - 1, length - 1),
            InjectedFault::None | InjectedFault::Fail | InjectedFault::WrongBody => {
                (length, length)
            }
        }
    }

    /// Writes what belongs into one segment with the head, and gives the rest as a tail.
    fn write(&self, is_changed: bool, length: usize, out: &mut Vec<u8>) -> Tail {
        let start = length.min(INLINE_BYTES_MAX);
        out.extend_from_slice(&self.copy(is_changed)[..start]);
        if start == length {
            Tail::None
        } else {
            Tail::PageResponses {
                is_changed,
                range: start..length,
            }
        }
    }
}

/// Whether a target names this path, with or without a query.
fn is_path(target: &str, path: &str) -> bool {
    let rest = target.strip_prefix(path);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('?'))
}

/// Dies as a process does that has written where it must not.
fn crash() -> ! {
    die_of_crashes();
    loop {
        let _ = kill_process(getpid(), Signal::SEGV);
        // Another thread may have got the signal, and this one goes on until all are gone.
        std::thread::sleep(Duration::from_millis(10));
    }
}

const BLOG: &str = "/blog/index";
const BLOG_FOLDER: &str = "/blog/index/";
const CRASH: &str = "/crash";

/// Writes the response to a request that makes no sense.
pub(crate) fn response_malformed(out: &mut Vec<u8>) {
    let body = refusal(400);
    let head = Http1ResponseHead {
        status: 400,
        content_length: body.len() as u64,
        content_type: "text/plain",
        version: Version::Http11,
        keep_alive: false,
    };
    response_head(&head, out);
    out.extend_from_slice(body);
}

/// Leave for a client that holds its body back.
pub(crate) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

fn refusal(status: u16) -> &'static [u8] {
    match status {
        400 => b"This is no request that can be read.\n",
        405 => b"Only GET, HEAD and POST are answered here.\n",
        503 => b"This request is refused for now.\n",
        _ => b"There is no such file here.\n",
    }
}

/// The usual page: small, so that a load measures the server and not the copying.
const USUAL_PAGE: &[u8; 87] =
    b"<!doctype html><title>abx</title><p>A page to be measured: always the same, never big.\n";

/// What a page of a chosen length repeats.
const PATTERN: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-\n";

/// How much of a page goes into the buffer of the head.
const INLINE_BYTES_MAX: usize = 16 * 1024;

/// The most that is sent at once, so that one fast reader does not hold up the others.
const PIECE_BYTES_MAX: usize = 256 * 1024;
