//! The study files that a user allows abx to run: by the commands that abx showed, or by folders
//! whose studies need no question.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::records::store::state_folder;

/// The variable that names trusted folders, separated as in `PATH`.
const VARIABLE: &str = "ABX_TRUST";
/// The most bytes of the file that count: far more than a person agrees to.
const BYTES_MAX: u64 = 1 << 20;

/// The file with one line for each digest or folder that the user trusts.
#[derive(Debug, Clone)]
pub struct TrustStore {
    file: PathBuf,
    /// Folders that the environment names.
    folders: Vec<PathBuf>,
}

impl TrustStore {
    /// The store of this user, with the folders that the environment adds.
    #[must_use]
    pub fn of_user() -> TrustStore {
        let named = std::env::var_os(VARIABLE).unwrap_or_default();
        let folders = std::env::split_paths(&named);
        TrustStore {
            file: state_folder().join("trusted"),
            folders: folders.filter(|folder| folder.is_absolute()).collect(),
        }
    }

    /// Whether the commands of this digest, of a study in this folder, may run.
    #[must_use]
    pub fn trusts(&self, folder: &Path, digest: &str) -> bool {
        let is_below = |trusted: &Path| folder.starts_with(trusted);
        let text = self.text().unwrap_or_default();
        self.folders.iter().any(|trusted| is_below(trusted))
            || text.lines().any(|line| match line.split_once(' ') {
                Some((COMMANDS, known)) => known == digest,
                Some((FOLDER, trusted)) => is_below(Path::new(trusted)),
                _ => false,
            })
    }

    /// Trusts the commands of this digest from now on.
    ///
    /// # Errors
    /// The error of the system.
    pub fn add_commands(&self, digest: &str) -> io::Result<()> {
        self.add(COMMANDS, digest)
    }

    /// Trusts every study in this folder and below it from now on.
    ///
    /// # Errors
    /// The error of the system; [`io::ErrorKind::InvalidInput`] for a name that is no line of text.
    pub fn add_folder(&self, folder: &Path) -> io::Result<()> {
        let name = folder.to_str().filter(|name| !name.contains('\n'));
        let name = name.ok_or(io::ErrorKind::InvalidInput)?;
        self.add(FOLDER, name)
    }

    fn add(&self, kind: &str, value: &str) -> io::Result<()> {
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        let line = format!("{kind} {value}\n");
        options.open(&self.file)?.write_all(line.as_bytes())
    }

    /// The text of the file; an error if other users may write to it.
    fn text(&self) -> io::Result<String> {
        let file = fs::File::open(&self.file)?;
        let metadata = file.metadata()?;
        let user = rustix::process::geteuid().as_raw();
        if !metadata.is_file() || metadata.uid() != user || metadata.mode() & 0o022 != 0 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let mut text = String::new();
        file.take(BYTES_MAX).read_to_string(&mut text)?;
        Ok(text)
    }
}

/// The first word of the line of a digest.
const COMMANDS: &str = "commands";
/// The first word of the line of a folder.
const FOLDER: &str = "folder";

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_added_digests_and_folders_are_trusted() {
        // Method: a digest and a folder, each before and after it is added; folders above, below
        // and next to it; a folder of the environment; and a file that others may write to.
        let home = tempfile::tempdir().unwrap();
        let store = TrustStore {
            file: home.path().join("state/trusted"),
            folders: vec![PathBuf::from("/ci")],
        };
        let trusts = |folder: &str, digest| store.trusts(Path::new(folder), digest);
        assert!(!trusts("/a/study", "one"));
        store.add_commands("one").unwrap();
        store.add_folder(Path::new("/b c")).unwrap();
        for (folder, digest) in [
            ("/a/study", "one"),
            ("/b c", "two"),
            ("/b c/d", "two"),
            ("/ci/x", "two"),
        ] {
            assert!(trusts(folder, digest), "{folder} {digest}");
        }
        for folder in ["/a/study", "/", "/b", "/b cd", "/cix"] {
            assert!(!trusts(folder, "two"), "{folder}");
        }
        fs::set_permissions(&store.file, fs::Permissions::from_mode(0o622)).unwrap();
        assert!(!trusts("/a/study", "one"));
    }

    #[test]
    fn a_folder_with_a_line_end_in_its_name_is_refused() {
        // Method: a name whose second line would trust everything.
        let home = tempfile::tempdir().unwrap();
        let store = TrustStore {
            file: home.path().join("trusted"),
            folders: Vec::new(),
        };
        store.add_folder(Path::new("/x\nfolder /")).unwrap_err();
        assert!(!store.trusts(Path::new("/y"), "one"));
    }
}
