//! The name that content gives itself: a SHA-256 over words and files.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use abx_study::units::hex;
use sha2::{Digest, Sha256};

/// More files than this below a folder are hardly the sources of one server.
pub const FILES_MAX: usize = 10_000;
/// More bytes than this are not either.
pub const BYTES_MAX: u64 = 1_000_000_000;

/// Bytes of the hash that make the name: far from any accident.
const NAME_BYTES: usize = 8;

/// Takes words and files in, in order.
#[derive(Clone)]
pub struct ContentHash(Sha256);

/// Why a folder has no fingerprint.
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
    /// Empty at first; `kind` separates fingerprints of different things.
    pub fn new(kind: &str) -> ContentHash {
        let mut fingerprint = ContentHash(Sha256::new());
        fingerprint.add_bytes(kind.as_bytes());
        fingerprint
    }

    /// Takes a list of words in, so that no other list looks the same.
    pub fn add_words(&mut self, words: &[String]) {
        self.add_number(words.len() as u64);
        for word in words {
            self.add_bytes(word.as_bytes());
        }
    }

    /// Takes everything below a folder in: names, contents, what is executable,
    /// and where links lead. Nothing is left out.
    ///
    /// # Errors
    /// One [`ContentHashError`] for each thing that cannot be taken in.
    pub fn add_folder(&mut self, folder: &Path) -> Result<(), ContentHashError> {
        let folder = folder
            .canonicalize()
            .map_err(|source| unreadable(folder, source))?;
        // One byte more detects a folder that grew too large meanwhile.
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
        // What lies inside is taken in where it lies; a link to nothing is only its text.
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
        // A hash of its own, as a file may grow while its length is written down.
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
    let mut tree_entries = Vec::new();
    let mut bytes: u64 = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(here) = folders.pop() {
        let unreadable = |source| unreadable(&here, source);
        for entry in fs::read_dir(&here).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let metadata = entry.metadata().map_err(unreadable)?;
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                bytes = bytes.saturating_add(metadata.len());
            }
            tree_entries.push(TreeEntry {
                path: entry.path(),
                metadata,
            });
            if tree_entries.len() > FILES_MAX {
                return Err(ContentHashError::TooMany(folder.to_owned()));
            }
            if bytes > BYTES_MAX {
                return Err(ContentHashError::TooLarge(folder.to_owned()));
            }
        }
    }
    tree_entries.sort_by(|tree_entry, other| tree_entry.path.cmp(&other.path));
    Ok(tree_entries)
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
        let mut fingerprint = ContentHash::new("test");
        fingerprint.add_folder(folder)?;
        Ok(fingerprint.name())
    }

    #[test]
    fn every_change_below_a_folder_changes_its_name() {
        // Method: one change after the other, and all names must differ.
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
        // Method: two folders, files made in different order; as many systems
        // list both alike, the order of many files is looked at too.
        let make = |files: [&str; 3]| {
            let folder = tempfile::tempdir().unwrap();
            for file in files {
                fs::write(folder.path().join(file), file).unwrap();
            }
            folder
        };
        let (temp_dir, other) = (make(["a", "b", "c"]), make(["c", "a", "b"]));
        assert_eq!(
            name_of(temp_dir.path()).unwrap(),
            name_of(other.path()).unwrap()
        );
        for number in 0..50 {
            fs::write(temp_dir.path().join(number.to_string()), "").unwrap();
        }
        let paths: Vec<PathBuf> = entries(temp_dir.path())
            .unwrap()
            .into_iter()
            .map(|entry| entry.path)
            .collect();
        assert_eq!(paths.len(), 53);
        assert!(paths.is_sorted());
    }

    #[test]
    fn links_that_lead_out_count_with_their_content() {
        // Method: a file outside that changes, then a folder outside.
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
    fn what_cannot_be_taken_in_is_refused() {
        // Method: a folder that is not there, a socket, a file of 1 GB and a
        // byte that takes no room, and one file too many.
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
    fn lists_are_told_apart_by_their_words() {
        // Method: the same letters cut differently, and another kind.
        let name = |kind: &str, words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            let mut fingerprint = ContentHash::new(kind);
            fingerprint.add_words(&words);
            fingerprint.name()
        };
        let text = name("npm", &["ab", "c"]);
        assert_eq!(text.len(), 16);
        assert_eq!(text, name("npm", &["ab", "c"]));
        for other in [
            name("npm", &["a", "bc"]),
            name("npm", &["abc"]),
            name("pypi", &["ab", "c"]),
        ] {
            assert_ne!(text, other);
        }
    }
}
