//! Files that a user names as input: regular files, or descriptors opened by a shell.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// The most bytes of a body or a form's file.
pub const INPUT_BYTES_MAX: u64 = 1 << 30;

/// Opens a regular file, or a descriptor that a shell has opened. Another FIFO may never have a
/// writer, and a device may never end.
///
/// # Errors
/// The system's error; [`io::ErrorKind::InvalidInput`] for a file that is not regular.
pub fn open_input(path: &Path) -> io::Result<File> {
    let is_descriptor = ["/dev/stdin", "/dev/fd", "/proc/self/fd"]
        .iter()
        .any(|place| path.starts_with(place));
    if !is_descriptor && !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file: give one, or /dev/stdin",
        ));
    }
    File::open(path)
}

/// Reads all of an input.
///
/// # Errors
/// As [`open_input`]; [`io::ErrorKind::FileTooLarge`] for more than 1 GiB.
pub fn read_input(path: &Path) -> io::Result<Vec<u8>> {
    read_up_to(path, INPUT_BYTES_MAX)
}

/// Reads all of an input of at most `bytes_max` bytes.
///
/// # Errors
/// As [`open_input`]; [`io::ErrorKind::FileTooLarge`].
pub fn read_up_to(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut input = open_input(path)?.take(bytes_max + 1);
    input.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!(
                "it has more than {} MiB: give a smaller file",
                bytes_max >> 20
            ),
        ));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_not_regular_or_too_long_are_refused() {
        // Method: a FIFO without a writer, devices and a folder; a descriptor; a file at the
        // limit and a file beyond it.
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        for path in [
            fifo.as_path(),
            Path::new("/dev/zero"),
            Path::new("/dev/null"),
            folder.path(),
        ] {
            let error = read_input(path).unwrap_err();
            assert_eq!(
                error.kind(),
                io::ErrorKind::InvalidInput,
                "{}",
                path.display()
            );
        }
        let file = folder.path().join("file");
        fs::write(&file, "abc").unwrap();
        assert_eq!(read_up_to(&file, 3).unwrap(), b"abc");
        let error = read_up_to(&file, 2).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        let opened = File::open(&file).unwrap();
        let descriptor = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&opened));
        assert_eq!(read_input(Path::new(&descriptor)).unwrap(), b"abc");
    }
}
