//! Where records are kept, and how they get there whole.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, io};

use serde::Serialize;

use super::file::{Packing, fill};

/// A record's file. It is replaced as a whole, by rename, so that it is never
/// half written.
#[derive(Debug, Clone)]
pub struct Store {
    path: PathBuf,
    /// Why the usual place was not used.
    moved: Option<String>,
}

/// Why a record could not be saved.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot save the record as {}: {source}. Make room there, or name another folder by \
     XDG_STATE_HOME", path.display()
)]
pub struct StoreError {
    path: PathBuf,
    source: io::Error,
}

impl Store {
    /// A file of this name in `$XDG_STATE_HOME/abx` (`~/.local/state/abx`).
    #[must_use]
    pub fn in_state_folder(name: &str) -> Store {
        Store {
            path: state_folder().join(name),
            moved: None,
        }
    }

    /// A file of its own for a record that begins now: `kind` says what it is.
    #[must_use]
    pub fn for_new_record(kind: &str, seed: u64) -> Store {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let seconds = now.unwrap_or_default().as_secs();
        // Two of the same seed may begin within a second, and both must stay.
        let process = std::process::id();
        Store::in_state_folder(&format!("{kind}-{seconds}-{seed}-{process}.json"))
    }

    /// Where the record is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why the record is not where it usually is.
    #[must_use]
    pub fn moved(&self) -> Option<&str> {
        self.moved.as_deref()
    }

    /// Saves the record in place of the last one.
    ///
    /// # Errors
    /// [`StoreError`], which says where and why; the last one is still there.
    pub fn save(&self, record: &impl Serialize) -> Result<(), StoreError> {
        write_whole(&self.path, record).map_err(|source| StoreError {
            path: self.path.clone(),
            source,
        })
    }

    /// Saves the record; where that is not possible any more, in the folder for
    /// temporary files.
    ///
    /// # Errors
    /// [`StoreError`] of the first try when both failed.
    pub fn save_somewhere(&mut self, record: &impl Serialize) -> Result<(), StoreError> {
        let Err(first) = self.save(record) else {
            return Ok(());
        };
        let name = self.path.file_name().unwrap_or("abx-record.json".as_ref());
        let path = env::temp_dir().join(name);
        if path == self.path || write_whole(&path, record).is_err() {
            return Err(first);
        }
        self.moved = Some(first.to_string());
        self.path = path;
        Ok(())
    }
}

/// Where records are kept: `$XDG_STATE_HOME/abx`, or `~/.local/state/abx`.
#[must_use]
pub fn state_folder() -> PathBuf {
    let absolute = |name: &str| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .unwrap_or_else(env::temp_dir)
        .join("abx")
}

/// Writes a document as JSON: a file whole or not at all, and what is no file,
/// such as a pipe or `/dev/null`, as it stands; compressed when the name ends in `.zst`.
///
/// # Errors
/// What the system says. A file that was there before is then unchanged.
pub fn write_whole(path: &Path, document: &impl serde::Serialize) -> io::Result<()> {
    write_by(path, Packing::Quick, |mut file| {
        serde_json::to_writer(&mut file, document)?;
        file.write_all(b"\n")
    })
}

/// The same for a text; compressed, it is as small as zstd makes it.
///
/// # Errors
/// What the system says. A file that was there before is then unchanged.
pub fn write_text(path: &Path, text: &str) -> io::Result<()> {
    write_by(path, Packing::Small, |file| file.write_all(text.as_bytes()))
}

fn write_by(
    path: &Path,
    packing: Packing,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        // SUBTLE: A rename would put a file in the place of the device.
        let file = fs::OpenOptions::new().write(true).open(path)?;
        return fill(file, path, packing, write).map(drop);
    }
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        fs::create_dir_all(folder)?;
    }
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}.part", std::process::id()));
    let draft = PathBuf::from(draft);
    let written = (|| {
        let file = fs::File::create(&draft)?;
        fill(file, path, packing, write)?.sync_all()?;
        fs::rename(&draft, path)
    })();
    if written.is_err() {
        // What is left of it is of no use to anybody.
        let _ = fs::remove_file(&draft);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_written_to_and_not_replaced() {
        // Method: a link to a device, as a rename would replace the link at least.
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nothing");
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        write_whole(&path, &vec![1]).unwrap();
        let found = fs::metadata(&path).unwrap();
        assert!(found.file_type().is_char_device());
    }

    #[test]
    fn a_failed_write_leaves_the_last_one_whole() {
        // Method: a document that cannot be written, over one that could.
        struct Bad;
        impl serde::Serialize for Bad {
            fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
                Err(serde::ser::Error::custom("no"))
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/record.json");
        write_whole(&path, &vec![1, 2]).unwrap();
        assert!(write_whole(&path, &Bad).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "[1,2]\n");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
}
