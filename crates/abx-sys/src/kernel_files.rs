//! Files of /proc and /sys, read once, or kept open and read again and again:
//! opening one costs several times what reading it costs.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Reads a file of /proc or /sys; names in there may hold any bytes.
pub(crate) fn read_lossy(path: impl AsRef<Path>) -> io::Result<String> {
    let bytes = std::fs::read(path)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The result of a read; `None` if its process has ended.
pub(crate) fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                || error.raw_os_error() == Some(libc::ESRCH) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A file that stays open, with room for its text.
#[derive(Debug)]
pub(crate) struct KeptFile {
    /// `None` if it cannot be opened.
    file: Option<File>,
    buffer: Vec<u8>,
}

impl KeptFile {
    /// Opens a file; a missing one never has a text.
    pub(crate) fn open(path: impl AsRef<Path>) -> KeptFile {
        KeptFile {
            file: File::open(path).ok(),
            buffer: Vec::new(),
        }
    }

    /// Its present text; `None` if it cannot be read.
    pub(crate) fn read(&mut self) -> Option<Cow<'_, str>> {
        let file = self.file.as_ref()?;
        let mut filled = 0;
        loop {
            if filled == self.buffer.len() {
                self.buffer.resize((2 * filled).max(FIRST_BYTES), 0);
            }
            match file.read_at(&mut self.buffer[filled..], filled as u64) {
                Ok(0) => return Some(String::from_utf8_lossy(&self.buffer[..filled])),
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
    }
}

const FIRST_BYTES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_read_returns_the_present_text() {
        // Method: a file that grows past the first buffer and shrinks again, and
        // one that is not there.
        let path = std::env::temp_dir().join(format!("abx-kept-file-{}", std::process::id()));
        std::fs::write(&path, "first").unwrap();
        let mut kept = KeptFile::open(&path);
        assert_eq!(kept.read().unwrap(), "first");
        let long = "x".repeat(2 * FIRST_BYTES);
        std::fs::write(&path, &long).unwrap();
        assert_eq!(kept.read().unwrap(), long);
        std::fs::write(&path, "last").unwrap();
        assert_eq!(kept.read().unwrap(), "last");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(KeptFile::open(&path).read(), None);
    }
}
