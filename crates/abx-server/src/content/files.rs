//! Files below a directory: finding the file that a target names, and sending it in pieces.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use abx_sys::FilePart;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fcntl_setfl, fstat, openat2, sendfile};
use rustix::io::{Errno, pread};

use crate::config::SendMethod;

/// An open directory, and how its files are sent.
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
    /// The whole file as a part to send.
    pub(crate) fn part(self) -> FilePart {
        FilePart {
            file: self.file,
            offset: 0,
            left: self.bytes,
        }
    }
}

impl Folder {
    /// Opens a directory, and checks that the kernel can confine paths to it.
    pub(crate) fn open(root: &Path, sending: SendMethod) -> Result<Folder, Errno> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(root, flags, Mode::empty())?;
        // A trial, so that a kernel without this call is detected now.
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
            // SUBTLE: With NONBLOCK, io_uring returns EAGAIN if a read would wait for the disk.
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

/// Appends the next piece of a file to `out`.
pub(crate) fn read_piece(part: &mut FilePart, out: &mut Vec<u8>) -> io::Result<()> {
    let wanted = part.left.min(READ_BYTES_MAX as u64);
    out.reserve_exact(usize::try_from(wanted).expect("it was capped"));
    let start = out.len();
    // The buffer may have more room, which is used, too.
    let spare = rustix::buffer::spare_capacity(out);
    let read = whole_or_ended(pread(&part.file, spare, part.offset)?)?.min(part.left);
    // A file that has grown must not be longer than its head announced.
    out.truncate(start + usize::try_from(read).expect("it is in memory"));
    part.offset += read;
    part.left -= read;
    Ok(())
}

/// Fills `room` with the next bytes of a file.
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

/// An error if the file has become shorter than the head announced: then the connection must close.
fn whole_or_ended(bytes: usize) -> io::Result<u64> {
    match bytes {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        bytes => Ok(bytes as u64),
    }
}

/// Opens a file for reading; the kernel refuses every path out of `root`, including links.
fn open_below(root: &OwnedFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    // Without NONBLOCK, opening a named pipe would wait for its writer.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    openat2(root, path, flags, Mode::empty(), resolve)
}

/// The path below the root that a target names, with `index.html` for a directory.
///
/// `None` for paths that are never served: with `..`, a zero byte, a broken escape, or too long.
fn decode_path<'a>(target: &str, room: &'a mut [u8; PATH_BYTES_MAX]) -> Option<&'a [u8]> {
    // The target may be a complete URL.
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
    let has_parent = path.split(|byte| *byte == b'/').any(|name| name == b"..");
    (!has_parent && !path.contains(&0)).then_some(path)
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

/// The longest path that the kernel accepts.
const PATH_BYTES_MAX: usize = 4096;

/// The most bytes per sendfile call, so that one fast reader does not delay others.
const SENDFILE_BYTES_MAX: usize = 256 * 1024;

/// The most bytes of a file per read: as many as in the ring.
pub(crate) const READ_BYTES_MAX: usize = abx_sys::FILE_PIECE_BYTES_MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_only_names_paths_below_the_root() {
        // Method: plain and escaped paths, URLs and directories; then all ways out of the root.
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
