//! Names content by its hash: a SHA-256 over words and files.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use abx_model::hex;
use sha2::{Digest, Sha256};

/// The most files and folders below a folder: the sources of a server hardly have more.
pub const FILES_MAX: usize = 10_000;
/// The most bytes below a folder, for the same reason.
pub const BYTES_MAX: u64 = 1_000_000_000;

/// Bytes of the hash in the name: enough that no two contents collide.
const NAME_BYTES: usize = 8;

/// Hashes words and files in order.
#[derive(Clone)]
pub struct ContentHash(Sha256);

/// Why a folder cannot be hashed.
#[derive(Debug, thiserror::Error)]
pub enum ContentHashError {
    #[error("{} cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "{} holds more than {FILES_MAX} files and folders: name a smaller one as build.folder",
        .0.display()
    )]
    TooMany(PathBuf),
    #[error("{} holds more than 1 GB: name a smaller folder as build.folder", .0.display())]
    TooLarge(PathBuf),
    #[error(
        "{} links to a folder outside the build folder: copy that folder, or name one above both \
         as build.folder", .0.display()
    )]
    LeadsOut(PathBuf),
    #[error("{} is not a file, folder or link: remove it", .0.display())]
    Special(PathBuf),
}

struct TreeEntry {
    path: PathBuf,
    metadata: Metadata,
}

impl ContentHash {
    /// An empty hash; `kind` separates hashes of different kinds of content.
    pub fn new(kind: &str) -> ContentHash {
        let mut hash = ContentHash(Sha256::new());
        hash.add_bytes(kind.as_bytes());
        hash
    }

    /// Adds a list of words; no other list has the same hash.
    pub fn add_words(&mut self, words: &[String]) {
        self.add_number(words.len() as u64);
        for word in words {
            self.add_bytes(word.as_bytes());
        }
    }

    /// Adds everything below a folder: names, contents, whether files are executable, and the
    /// targets of links.
    ///
    /// # Errors
    /// One [`ContentHashError`] for each kind of entry that cannot be hashed.
    pub fn add_folder(&mut self, folder: &Path) -> Result<(), ContentHashError> {
        let folder = folder
            .canonicalize()
            .map_err(|source| unreadable(folder, source))?;
        // One more byte detects a folder that has grown too large meanwhile.
        let mut bytes_left = BYTES_MAX + 1;
        for entry in entries(&folder)? {
            let name = entry.path.strip_prefix(&folder).unwrap_or(&entry.path);
            self.add_bytes(name.as_os_str().as_bytes());
            let kind = entry.metadata.file_type();
            if kind.is_dir() {
                self.0.update(b"d");
            } else if kind.is_symlink() {
                self.add_link(&entry.path, &folder, &mut bytes_left)?;
            } else if kind.is_file() {
                self.add_file(&entry.path, &mut bytes_left)?;
            } else {
                return Err(ContentHashError::Special(entry.path));
            }
            if bytes_left == 0 {
                return Err(ContentHashError::TooLarge(folder));
            }
        }
        Ok(())
    }

    /// Sixteen hexadecimal digits.
    pub fn name(self) -> String {
        hex(&self.0.finalize()[..NAME_BYTES])
    }

    fn add_link(
        &mut self,
        link: &Path,
        folder: &Path,
        bytes_left: &mut u64,
    ) -> Result<(), ContentHashError> {
        let target = fs::read_link(link).map_err(|source| unreadable(link, source))?;
        self.0.update(b"l");
        self.add_bytes(target.as_os_str().as_bytes());
        // A target inside the folder is added at its own place; of a dangling link only the text
        // counts.
        let end = match link.canonicalize() {
            Ok(end) if end.starts_with(folder) => return Ok(()),
            Ok(end) => end,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(unreadable(link, source)),
        };
        if end.is_dir() {
            return Err(ContentHashError::LeadsOut(link.to_owned()));
        }
        if !end.is_file() {
            return Err(ContentHashError::Special(link.to_owned()));
        }
        self.add_file(&end, bytes_left)
    }

    fn add_file(&mut self, path: &Path, bytes_left: &mut u64) -> Result<(), ContentHashError> {
        let unreadable = |source| unreadable(path, source);
        let file = File::open(path).map_err(unreadable)?;
        let mode = file.metadata().map_err(unreadable)?.permissions().mode();
        self.0.update(if mode & 0o111 == 0 { b"f" } else { b"x" });
        // A separate hash instead of a length, since a file may grow while it is read.
        let mut content = Sha256::new();
        let read = io::copy(&mut file.take(*bytes_left), &mut content).map_err(unreadable)?;
        *bytes_left -= read;
        self.0.update(content.finalize());
        Ok(())
    }

    fn add_bytes(&mut self, bytes: &[u8]) {
        self.add_number(bytes.len() as u64);
        self.0.update(bytes);
    }

    fn add_number(&mut self, number: u64) {
        self.0.update(number.to_le_bytes());
    }
}

/// Everything below a folder, in an order that does not depend on the machine.
fn entries(folder: &Path) -> Result<Vec<TreeEntry>, ContentHashError> {
    let mut entries = Vec::new();
    let mut bytes: u64 = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let unreadable = |source| unreadable(&next, source);
        for entry in fs::read_dir(&next).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let metadata = entry.metadata().map_err(unreadable)?;
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                bytes = bytes.saturating_add(metadata.len());
            }
            entries.push(TreeEntry {
                path: entry.path(),
                metadata,
            });
            if entries.len() > FILES_MAX {
                return Err(ContentHashError::TooMany(folder.to_owned()));
            }
            if bytes > BYTES_MAX {
                return Err(ContentHashError::TooLarge(folder.to_owned()));
            }
        }
    }
    entries.sort_by(|entry, other| entry.path.cmp(&other.path));
    Ok(entries)
}

fn unreadable(path: &Path, source: io::Error) -> ContentHashError {
    ContentHashError::Read {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    fn name_of(folder: &Path) -> Result<String, ContentHashError> {
        let mut hash = ContentHash::new("test");
        hash.add_folder(folder)?;
        Ok(hash.name())
    }

    #[test]
    fn every_change_below_a_folder_changes_its_name() {
        // Method: one change after another; all names must differ.
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mut names = vec![name_of(folder.path()).unwrap()];
        let mut note = || names.push(name_of(folder.path()).unwrap());
        fs::create_dir(at("deep")).unwrap();
        note();
        fs::write(at("deep/file"), "one").unwrap();
        note();
        fs::write(at("deep/file"), "two").unwrap();
        note();
        fs::set_permissions(at("deep/file"), fs::Permissions::from_mode(0o755)).unwrap();
        note();
        fs::rename(at("deep/file"), at("deep/.hidden")).unwrap();
        note();
        symlink("deep/.hidden", at("link")).unwrap();
        note();
        fs::remove_file(at("link")).unwrap();
        symlink("nowhere", at("link")).unwrap();
        note();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn the_same_content_has_the_same_name_elsewhere() {
        // Method: two folders whose files are made in different order. Since many systems list both
        // alike, the order of many files is checked too.
        let make = |files: [&str; 3]| {
            let folder = tempfile::tempdir().unwrap();
            for file in files {
                fs::write(folder.path().join(file), file).unwrap();
            }
            folder
        };
        let (first, second) = (make(["a", "b", "c"]), make(["c", "a", "b"]));
        assert_eq!(
            name_of(first.path()).unwrap(),
            name_of(second.path()).unwrap()
        );
        for number in 0..50 {
            fs::write(first.path().join(number.to_string()), "").unwrap();
        }
        let paths: Vec<PathBuf> = entries(first.path())
            .unwrap()
            .into_iter()
            .map(|entry| entry.path)
            .collect();
        assert_eq!(paths.len(), 53);
        assert!(paths.is_sorted());
    }

    #[test]
    fn links_to_files_outside_count_with_their_content() {
        // Method: links to a file outside that changes, and to a folder outside.
        let outside = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = outside.path().join("file");
        fs::write(&file, "one").unwrap();
        symlink(&file, folder.path().join("link")).unwrap();
        let before = name_of(folder.path()).unwrap();
        fs::write(&file, "two").unwrap();
        assert_ne!(before, name_of(folder.path()).unwrap());
        symlink(outside.path(), folder.path().join("out")).unwrap();
        let error = name_of(folder.path()).unwrap_err();
        assert!(matches!(error, ContentHashError::LeadsOut(_)), "{error}");
    }

    #[test]
    fn content_that_cannot_be_hashed_is_refused() {
        // Method: a missing folder, a socket, a sparse file of 1 GB and a byte, and one file too
        // many.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one");
        let message = || name_of(folder.path()).unwrap_err().to_string();
        let absent = name_of(&path).unwrap_err().to_string();
        assert!(absent.contains("cannot be read"), "{absent}");
        let _listener = UnixListener::bind(&path).unwrap();
        assert!(message().contains("not a file"), "{}", message());
        fs::remove_file(&path).unwrap();
        File::create(&path).unwrap().set_len(BYTES_MAX + 1).unwrap();
        assert!(message().contains("1 GB"), "{}", message());
        fs::remove_file(&path).unwrap();
        for number in 0..=FILES_MAX {
            File::create(folder.path().join(number.to_string())).unwrap();
        }
        assert!(message().contains("10000 files"), "{}", message());
    }

    #[test]
    fn lists_with_different_words_have_different_names() {
        // Method: the same letters split differently, and another kind.
        let name = |kind: &str, words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            let mut hash = ContentHash::new(kind);
            hash.add_words(&words);
            hash.name()
        };
        let first = name("npm", &["ab", "c"]);
        assert_eq!(first.len(), 16);
        assert_eq!(first, name("npm", &["ab", "c"]));
        for other in [
            name("npm", &["a", "bc"]),
            name("npm", &["abc"]),
            name("pypi", &["ab", "c"]),
        ] {
            assert_ne!(first, other);
        }
    }
}
