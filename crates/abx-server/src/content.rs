//! What is served: one page from memory, or files below a directory.
//!
//! An answer is made in two steps: a [`Plan`] when the request's head is read,
//! then bytes when it is due. Both models share them.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

use abx_wire::http1::{AnswerHead, Method, RequestHead, Version, answer_head};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2, sendfile};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::config::{Content, ServeError, ServerConfig};
use crate::fault::Twist;

/// All that is served.
#[derive(Debug)]
pub(crate) enum Site {
    Page(Page),
    /// The directory, open.
    Files(OwnedFd),
}

/// The page, right and wrong.
#[derive(Debug)]
pub(crate) struct Page {
    bytes: Vec<u8>,
    /// The same with one byte changed; empty when never asked for.
    changed: Vec<u8>,
    content_type: &'static str,
}

/// What a request is to be answered with.
#[derive(Debug)]
pub(crate) struct Plan {
    found: Found,
    version: Version,
    keep_alive: bool,
    is_head_only: bool,
}

#[derive(Debug)]
enum Found {
    Page,
    File {
        file: OwnedFd,
        bytes: u64,
        content_type: &'static str,
    },
    /// Nothing: an error with this status.
    Refused(u16),
}

/// What is still to be sent behind the bytes of an answer that were written out.
#[derive(Debug)]
pub(crate) enum Tail {
    None,
    Page {
        is_changed: bool,
        range: Range<usize>,
    },
    File {
        file: OwnedFd,
        offset: u64,
        left: u64,
    },
}

/// An answer, but for the bytes that were written out.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) tail: Tail,
    /// Close the connection behind it.
    pub(crate) close: bool,
}

impl Site {
    /// Makes the page or opens the directory.
    pub(crate) fn open(config: &ServerConfig) -> Result<Site, ServeError> {
        match &config.content {
            Content::Page { bytes } => {
                let needs_changed = config.faults.wrong_body_percent > 0.0;
                Ok(Site::Page(Page::new(*bytes, needs_changed)))
            }
            Content::Files { root } => {
                let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
                let directory = rustix::fs::open(root, flags, Mode::empty());
                // One trial, so that a kernel without this call is found out now.
                let usable = directory.and_then(|directory| {
                    open_below(&directory, b".")?;
                    Ok(directory)
                });
                usable.map(Site::Files).map_err(|error| ServeError::Root {
                    root: root.clone(),
                    source: error.into(),
                })
            }
        }
    }

    /// Decides what a request is answered with.
    pub(crate) fn plan(&self, head: &RequestHead<'_>) -> Plan {
        let found = match self {
            Site::Page(_) => Found::Page,
            Site::Files(_) if head.method == Method::Other => Found::Refused(405),
            Site::Files(root) => match find_file(root, head.target) {
                Ok(found) => found,
                // Trouble of ours that passes; all else means that the file cannot be had.
                Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN) => {
                    Found::Refused(503)
                }
                Err(_) => Found::Refused(404),
            },
        };
        Plan {
            found,
            version: head.version,
            keep_alive: head.keep_alive,
            is_head_only: head.method == Method::Head,
        }
    }

    /// Writes the answer to the end of `out`, all of it or all but a tail.
    pub(crate) fn answer(&self, plan: Plan, twist: Twist, out: &mut Vec<u8>) -> Answer {
        let close = !plan.keep_alive || twist == Twist::CloseEarly;
        let mut head = AnswerHead {
            status: 200,
            content_length: 0,
            content_type: "text/plain",
            version: plan.version,
            keep_alive: plan.keep_alive,
        };
        let found = match twist {
            Twist::Fail => Found::Refused(503),
            _ => plan.found,
        };
        let tail = match found {
            Found::Refused(status) => {
                let body = refusal(status);
                head.status = status;
                head.content_length = body.len() as u64;
                answer_head(&head, out);
                if !plan.is_head_only {
                    out.extend_from_slice(body);
                }
                Tail::None
            }
            Found::File {
                file,
                bytes,
                content_type,
            } => {
                head.content_length = bytes;
                head.content_type = content_type;
                answer_head(&head, out);
                match plan.is_head_only || bytes == 0 {
                    true => Tail::None,
                    false => Tail::File {
                        file,
                        offset: 0,
                        left: bytes,
                    },
                }
            }
            Found::Page => {
                let page = self.page();
                let (announced, sent) = page.lengths(twist);
                head.content_length = announced as u64;
                head.content_type = page.content_type;
                answer_head(&head, out);
                match plan.is_head_only {
                    true => Tail::None,
                    false => page.write(twist == Twist::WrongBody, sent, out),
                }
            }
        };
        Answer { tail, close }
    }

    /// Sends one piece of the tail; done when the tail is [`Tail::None`].
    pub(crate) fn send_piece(&self, socket: impl AsFd, tail: &mut Tail) -> io::Result<()> {
        match tail {
            Tail::None => {}
            Tail::Page { is_changed, range } => {
                let end = range.end.min(range.start + PIECE_BYTES_MAX);
                let bytes = &self.page().copy(*is_changed)[range.start..end];
                range.start += send(socket, bytes, SendFlags::NOSIGNAL)?;
                if range.start == range.end {
                    *tail = Tail::None;
                }
            }
            Tail::File { file, offset, left } => {
                let piece = usize::try_from(*left).unwrap_or(usize::MAX);
                let sent = sendfile(socket, file, Some(offset), piece.min(PIECE_BYTES_MAX))?;
                if sent == 0 {
                    // The file became shorter than its head says: only a close is honest.
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                *left -= sent as u64;
                if *left == 0 {
                    *tail = Tail::None;
                }
            }
        }
        Ok(())
    }

    fn page(&self) -> &Page {
        match self {
            Site::Page(page) => page,
            Site::Files(_) => unreachable!("a page is planned only where there is one"),
        }
    }

    /// The answer that the null model gives to everything.
    pub(crate) fn canned_answer(&self) -> Vec<u8> {
        let plan = Plan {
            found: Found::Page,
            version: Version::Http11,
            keep_alive: true,
            is_head_only: false,
        };
        let mut out = Vec::new();
        if let Tail::Page { range, .. } = self.answer(plan, Twist::Honest, &mut out).tail {
            out.extend_from_slice(&self.page().bytes[range]);
        }
        out
    }
}

impl Page {
    fn new(bytes: Option<u64>, needs_changed: bool) -> Page {
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
        Page {
            bytes,
            changed,
            content_type,
        }
    }

    fn copy(&self, is_changed: bool) -> &[u8] {
        match is_changed {
            true => &self.changed,
            false => &self.bytes,
        }
    }

    /// The length that the head announces, and the length that is sent.
    fn lengths(&self, twist: Twist) -> (usize, usize) {
        let length = self.bytes.len();
        match twist {
            Twist::CloseEarly => (length, length / 2),
            Twist::WrongLength => (length - 1, length - 1),
            Twist::Honest | Twist::Fail | Twist::WrongBody => (length, length),
        }
    }

    /// Writes what belongs into one segment with the head, and gives the rest as a tail.
    fn write(&self, is_changed: bool, length: usize, out: &mut Vec<u8>) -> Tail {
        let start = length.min(INLINE_BYTES_MAX);
        out.extend_from_slice(&self.copy(is_changed)[..start]);
        match start == length {
            true => Tail::None,
            false => Tail::Page {
                is_changed,
                range: start..length,
            },
        }
    }
}

/// Writes the answer to a request that makes no sense.
pub(crate) fn answer_malformed(out: &mut Vec<u8>) {
    let body = refusal(400);
    let head = AnswerHead {
        status: 400,
        content_length: body.len() as u64,
        content_type: "text/plain",
        version: Version::Http11,
        keep_alive: false,
    };
    answer_head(&head, out);
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

fn find_file(root: &OwnedFd, target: &str) -> Result<Found, Errno> {
    let mut room = [0; PATH_BYTES_MAX];
    let path = decode_path(target, &mut room).ok_or(Errno::NOENT)?;
    let file = open_below(root, path)?;
    let status = fstat(&file)?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return Err(Errno::NOENT);
    }
    Ok(Found::File {
        file,
        bytes: u64::try_from(status.st_size).expect("a file's size is never negative"),
        content_type: content_type(path),
    })
}

/// Opens for reading; the kernel itself refuses every way out of `root`, links included.
fn open_below(root: &OwnedFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    // Without NONBLOCK, opening a named pipe would wait for its writer.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    openat2(root, path, flags, Mode::empty(), resolve)
}

/// The path below the root that a target names, with `index.html` for a directory.
///
/// `None` for what no file can have: `..`, a zero byte, a broken escape, too long a name.
fn decode_path<'a>(target: &str, room: &'a mut [u8; PATH_BYTES_MAX]) -> Option<&'a [u8]> {
    // The target may be a whole URL.
    let target = match target.split_once("://") {
        Some((scheme, rest)) if !scheme.starts_with('/') => &rest[rest.find('/')?..],
        _ => target,
    };
    let path = target.split('?').next()?.strip_prefix('/')?;
    let mut length = 0;
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        let decoded = match byte {
            b'%' => hex_digit(bytes.next()?)? << 4 | hex_digit(bytes.next()?)?,
            byte => byte,
        };
        *room.get_mut(length)? = decoded;
        length += 1;
    }
    if length == 0 || room[length - 1] == b'/' {
        let end = length + INDEX.len();
        room.get_mut(length..end)?.copy_from_slice(INDEX);
        length = end;
    }
    let path = &room[..length];
    let has_way_up = path.split(|byte| *byte == b'/').any(|name| name == b"..");
    (!has_way_up && !path.contains(&0)).then_some(path)
}

fn hex_digit(byte: u8) -> Option<u8> {
    let value = char::from(byte).to_digit(16)?;
    u8::try_from(value).ok()
}

fn content_type(path: &[u8]) -> &'static str {
    let extension = path.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    match extension {
        b"html" | b"htm" => "text/html",
        b"css" => "text/css",
        b"js" | b"mjs" => "text/javascript",
        b"txt" => "text/plain",
        b"xml" => "text/xml",
        b"json" => "application/json",
        b"pdf" => "application/pdf",
        b"wasm" => "application/wasm",
        b"svg" => "image/svg+xml",
        b"png" => "image/png",
        b"jpg" | b"jpeg" => "image/jpeg",
        b"gif" => "image/gif",
        b"webp" => "image/webp",
        b"ico" => "image/x-icon",
        b"woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

const INDEX: &[u8] = b"index.html";

/// The longest path that the kernel takes.
const PATH_BYTES_MAX: usize = 4096;

/// The usual page: small, so that a load measures the server and not the copying.
const USUAL_PAGE: &[u8; 87] =
    b"<!doctype html><title>abx</title><p>A page to be measured: always the same, never big.\n";

/// What a page of a chosen length repeats.
const PATTERN: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-\n";

/// How much of a page goes into the buffer of the head.
const INLINE_BYTES_MAX: usize = 16 * 1024;

/// The most that is sent at once, so that one fast reader does not hold up the others.
const PIECE_BYTES_MAX: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_names_a_path_below_the_root_or_nothing() {
        // Method: plain, escaped, whole URLs and indexes; then every way up or out.
        let cases = [
            ("/a/b.txt?c=d", "a/b.txt"),
            ("/%61%2F%2e%62", "a/.b"),
            ("/", "index.html"),
            ("/a/?b", "a/index.html"),
            ("http://host:1/a", "a"),
            ("/a..b/...", "a..b/..."),
            ("/a://b", "a://b"),
        ];
        let mut room = [0; PATH_BYTES_MAX];
        for (target, path) in cases {
            assert_eq!(decode_path(target, &mut room), Some(path.as_bytes()));
        }
        let long = format!("/{}", "a".repeat(PATH_BYTES_MAX + 1));
        for target in [
            "*",
            "",
            "a",
            "/..",
            "/../a",
            "/a/..",
            "/%2e%2E/a",
            "/a/%2e./b",
            "/..%2fa",
            "/a%00",
            "/%",
            "/%4",
            "/%zz",
            "http://host",
            &long,
        ] {
            assert_eq!(decode_path(target, &mut room), None, "{target}");
        }
    }
}
