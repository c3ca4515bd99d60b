//! Files below a directory: which one a target names, and what is still to be
//! sent of it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use abx_sys::FilePart;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fcntl_setfl, fstat, openat2, sendfile};
use rustix::io::{Errno, pread};

use crate::config::SendMethod;

/// A directory, open, and how its files are sent.
#[derive(Debug)]
pub(crate) struct Folder {
    directory: OwnedFd,
    sending: SendMethod,
}

#[derive(Debug)]
pub(crate) struct FoundFile {
    pub(crate) file: OwnedFd,
    pub(crate) bytes: u64,
    pub(crate) content_type: &'static str,
    pub(crate) sending: SendMethod,
}

impl FoundFile {
    /// All of it, to be sent.
    pub(crate) fn part(self) -> FilePart {
        FilePart {
            file: self.file,
            offset: 0,
            left: self.bytes,
        }
    }
}

impl Folder {
    /// Opens a directory, and tries that the kernel keeps us below it.
    pub(crate) fn open(root: &Path, sending: SendMethod) -> Result<Folder, Errno> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(root, flags, Mode::empty())?;
        // One trial, so that a kernel without this call is found out now.
        open_below(&directory, b".")?;
        Ok(Folder { directory, sending })
    }

    /// Opens the file that a target names.
    pub(crate) fn find(&self, target: &str) -> Result<FoundFile, Errno> {
        let mut room = [0; PATH_BYTES_MAX];
        let path = decode_path(target, &mut room).ok_or(Errno::NOENT)?;
        let file = open_below(&self.directory, path)?;
        let status = fstat(&file)?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return Err(Errno::NOENT);
        }
        if self.sending == SendMethod::Uring {
            // SUBTLE: With NONBLOCK, io_uring returns EAGAIN if a read would have to
            // wait for the disk.
            fcntl_setfl(&file, OFlags::empty())?;
        }
        Ok(FoundFile {
            file,
            bytes: u64::try_from(status.st_size).expect("a file's size is never negative"),
            content_type: content_type(path),
            sending: self.sending,
        })
    }
}

/// Sends the next piece of a file by sendfile(2).
pub(crate) fn send_piece(part: &mut FilePart, socket: impl AsFd) -> io::Result<()> {
    let piece = usize::try_from(part.left).unwrap_or(usize::MAX);
    let piece = piece.min(SENDFILE_BYTES_MAX);
    let sent = sendfile(socket, &part.file, Some(&mut part.offset), piece)?;
    part.left -= whole_or_ended(sent)?;
    Ok(())
}

/// Reads the next piece of a file behind the bytes in `out`.
pub(crate) fn read_piece(part: &mut FilePart, out: &mut Vec<u8>) -> io::Result<()> {
    let wanted = part.left.min(READ_BYTES_MAX as u64);
    out.reserve_exact(usize::try_from(wanted).expect("it was capped"));
    let start = out.len();
    // What the buffer has room for beyond that is taken along.
    let spare = rustix::buffer::spare_capacity(out);
    let read = whole_or_ended(pread(&part.file, spare, part.offset)?)?.min(part.left);
    // A file that has grown must not be longer than its head announced.
    out.truncate(start + usize::try_from(read).expect("it is in memory"));
    part.offset += read;
    part.left -= read;
    Ok(())
}

/// Reads the next bytes of a file, as many as there is room for.
pub(crate) fn read_part(part: &mut FilePart, room: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < room.len() {
        let read = pread(&part.file, &mut room[filled..], part.offset)?;
        let read = whole_or_ended(read)?;
        part.offset += read;
        part.left = part.left.saturating_sub(read);
        filled += usize::try_from(read).expect("it is in memory");
    }
    Ok(())
}

/// A file that became shorter than its head announced: only a close is honest.
fn whole_or_ended(bytes: usize) -> io::Result<u64> {
    match bytes {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        bytes => Ok(bytes as u64),
    }
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

/// The most that sendfile sends at once, so that one fast reader does not hold up the others.
const SENDFILE_BYTES_MAX: usize = 256 * 1024;

/// Room for what is read of a file at once, in bytes: as much as the ring has.
pub(crate) const READ_BYTES_MAX: usize = abx_sys::FILE_PIECE_BYTES_MAX;

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
