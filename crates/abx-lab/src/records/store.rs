//! Where records are kept, and how they are written without ever being half written.

use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, io};

use serde::Serialize;

use super::file::{Packing, fill};
use crate::locked_file::{Hold, LockedFile};
use crate::process::keeper::sweep_once;
use crate::process::leftovers::{is_alive, lock_if_free};

const DRAFT_SUFFIX: &str = ".part";
/// Records contain the requests, so only their owner may read them.
const RECORD_MODE: u32 = 0o600;
/// A file that a user requested has the usual permissions.
const EXPORT_MODE: u32 = 0o666;

/// A record's file. A rename replaces it as a whole, so that it is never half written.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    /// The file as last saved, locked while its record may still change.
    locked_file: Option<LockedFile>,
    /// Why the usual place was not used.
    moved: Option<String>,
}

/// Why a record could not be saved.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot save the record as {}: {source}. Make room there, or set XDG_STATE_HOME to another \
     folder", path.display()
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
            locked_file: None,
            moved: None,
        }
    }

    /// A new file for a record of this kind that begins now.
    #[must_use]
    pub fn for_new_record(kind: &str, seed: u64) -> Store {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let seconds = now.unwrap_or_default().as_secs();
        sweep_leftovers();
        // Two records of the same seed may begin within a second, and both must stay.
        let process = std::process::id();
        Store::in_state_folder(&format!("{kind}-{seconds}-{seed}-{process}.json"))
    }

    /// The file of a record to continue.
    ///
    /// # Errors
    /// [`RecordInUse`] if another process still adds to it.
    pub fn for_saved_record(path: PathBuf) -> Result<Store, RecordInUse> {
        sweep_leftovers();
        let locked_file = loop {
            let Ok(file) = fs::File::open(&path) else {
                // The reader of the file reports the error.
                break None;
            };
            let file = match LockedFile::take(file, Hold::Alone) {
                Ok(Some(file)) => file,
                Ok(None) => return Err(RecordInUse { path }),
                // A file system without locks.
                Err(_) => break None,
            };
            // SUBTLE: A save between opening and locking put another file in its place, and locked
            // that one.
            if is_at(&file, &path) {
                break Some(file);
            }
        };
        Ok(Store {
            path,
            locked_file,
            moved: None,
        })
    }

    /// Where the record is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why the record is not in the usual place.
    #[must_use]
    pub fn moved(&self) -> Option<&str> {
        self.moved.as_deref()
    }

    /// Saves the record in place of the previous one.
    ///
    /// # Errors
    /// [`StoreError`], with the place and the reason; the previous record is still there.
    pub fn save(&mut self, record: &impl Serialize) -> Result<(), StoreError> {
        let file = write_locked(&self.path, record).map_err(|source| StoreError {
            path: self.path.clone(),
            source,
        })?;
        self.locked_file = file;
        Ok(())
    }

    /// Saves the record, or saves it in the folder for temporary files if that fails.
    ///
    /// # Errors
    /// [`StoreError`] of the first attempt if both failed.
    pub fn save_somewhere(&mut self, record: &impl Serialize) -> Result<(), StoreError> {
        let Err(first) = self.save(record) else {
            return Ok(());
        };
        let name = self.path.file_name().unwrap_or("abx-record.json".as_ref());
        let path = env::temp_dir().join(name);
        if path == self.path {
            return Err(first);
        }
        match write_locked(&path, record) {
            Ok(file) => self.locked_file = file,
            Err(_) => return Err(first),
        }
        self.moved = Some(first.to_string());
        self.path = path;
        Ok(())
    }
}

/// Whether an open file is the one that a path names now.
fn is_at(file: &fs::File, path: &Path) -> bool {
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let named = fs::metadata(path).map(identity);
    named.is_ok_and(|named| file.metadata().is_ok_and(|open| identity(open) == named))
}

/// A record that another process of abx is measuring.
#[derive(Debug, thiserror::Error)]
#[error(
    "abx is still measuring {}: wait until it ends, or stop it with Ctrl-C", path.display()
)]
pub struct RecordInUse {
    path: PathBuf,
}

/// Where records are kept: `$XDG_STATE_HOME/abx`, or `~/.local/state/abx`.
#[must_use]
pub fn state_folder() -> PathBuf {
    user_folder("XDG_STATE_HOME", ".local/state")
}

/// The folder of abx in the folder that a variable names, else below the home folder, else in the
/// folder for temporary files.
pub fn user_folder(variable: &str, below_home: &str) -> PathBuf {
    let absolute = |name: &str| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute(variable)
        .or_else(|| absolute("HOME").map(|home| home.join(below_home)))
        .unwrap_or_else(env::temp_dir)
        .join("abx")
}

/// Writes a document as JSON, compressed if the name ends in `.zst`. A file is replaced as a whole
/// or not at all; anything else, such as a pipe or `/dev/null`, is written to in place. The
/// returned file stays locked until it is dropped.
///
/// # Errors
/// The error of the system. A file that was there before is then unchanged.
fn write_locked(path: &Path, document: &impl Serialize) -> io::Result<Option<LockedFile>> {
    write_by(path, Packing::Quick, RECORD_MODE, |file| {
        file.write_all(&serde_json::to_vec(document)?)?;
        file.write_all(b"\n")
    })
}

/// Writes the text of a record as [`write_locked`] does.
pub(super) fn write_record_text(path: &Path, text: &str) -> io::Result<()> {
    write_by(path, Packing::Quick, RECORD_MODE, |file| {
        file.write_all(text.as_bytes())
    })
    .map(drop)
}

/// Writes a text, compressed as far as zstd can if the name ends in `.zst`. A file is replaced as a
/// whole or not at all; anything else, such as a pipe or `/dev/null`, is written to in place.
///
/// # Errors
/// The error of the system. A file that was there before is then unchanged.
pub fn write_text(path: &Path, text: &str) -> io::Result<()> {
    write_by(path, Packing::Small, EXPORT_MODE, |file| {
        file.write_all(text.as_bytes())
    })
    .map(drop)
}

fn write_by(
    path: &Path,
    packing: Packing,
    mode: u32,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<Option<LockedFile>> {
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        // SUBTLE: A rename would put a file in the place of the device.
        let file = fs::OpenOptions::new().write(true).open(path)?;
        return fill(file, path, packing, write).map(|_| None);
    }
    // A rename would replace a link, and leave the file to which it leads as it was.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if let Some(folder) = target
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        fs::create_dir_all(folder)?;
    }
    let mut draft = target.as_os_str().to_owned();
    draft.push(format!(".{}{DRAFT_SUFFIX}", std::process::id()));
    let draft = PathBuf::from(draft);
    let written = (|| {
        let file = locked_draft(&draft, mode)?;
        let file = fill(file, path, packing, write)?;
        file.sync_all()?;
        fs::rename(&draft, &target)?;
        Ok(Some(file))
    })();
    if written.is_err() {
        // A partial draft is of no use.
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Creates a draft and locks it, so that a later run can see whether its writer was killed.
fn locked_draft(draft: &Path, mode: u32) -> io::Result<LockedFile> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(mode);
    loop {
        // A file system without locks only keeps later runs from sweeping the draft.
        let file = LockedFile::wait_for(options.open(draft)?);
        // SUBTLE: Until the draft is locked, a run in another PID namespace may take it for a
        // leftover and remove it.
        if file.metadata()?.nlink() > 0 {
            return Ok(file);
        }
    }
}

/// Ends and removes the leftovers of killed runs, once per process, before anything is measured.
fn sweep_leftovers() {
    static SWEPT: Once = Once::new();
    sweep_once();
    SWEPT.call_once(|| sweep_drafts(&state_folder()));
}

/// Removes the drafts in a folder whose writers were killed.
fn sweep_drafts(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_leftover = name
            .to_str()
            .and_then(draft_process)
            .is_some_and(|process| !is_alive(process));
        if is_leftover && let Some(_lock) = lock_if_free(&entry.path()) {
            // A file that cannot be removed stays, and does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The process ID in the name of a record's draft, `RECORD.json.PROCESS.part`.
fn draft_process(name: &str) -> Option<u32> {
    let (record, process) = name.strip_suffix(DRAFT_SUFFIX)?.rsplit_once('.')?;
    let is_record = record.ends_with(".json") || record.ends_with(".json.zst");
    process.parse().ok().filter(|_| is_record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_written_to_and_not_replaced() {
        // Method: a link to a device, since a rename would replace at least the link.
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nothing");
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        write_locked(&path, &vec![1]).unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert!(metadata.file_type().is_char_device());
    }

    #[test]
    fn a_link_leads_to_the_new_content() {
        // Method: a link to a file, whose content is then read by its own name.
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_locked(&link, &vec![1]).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap().trim(), "[1]");
    }

    #[test]
    fn only_the_owner_can_read_a_record() {
        // Method: a new record, and one in place of a file that others could read.
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.json");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        write_locked(&path, &vec![1]).unwrap();
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        write_locked(&path, &vec![1]).unwrap();
        assert_eq!(mode(), 0o600);
    }

    #[test]
    fn a_record_continues_only_if_no_other_store_holds_it() {
        // Method: a saved record while its store exists, and after that.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.json");
        let mut first = Store::for_saved_record(path.clone()).unwrap();
        first.save(&vec![1]).unwrap();
        let refusal = Store::for_saved_record(path.clone()).unwrap_err();
        assert!(refusal.to_string().contains("still measuring"));
        first.save(&vec![2]).unwrap();
        assert!(Store::for_saved_record(path.clone()).is_err());
        drop(first);
        let mut second = Store::for_saved_record(path.clone()).unwrap();
        second.save(&vec![3]).unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "[3]\n");
    }

    #[test]
    fn only_the_drafts_of_killed_writers_are_swept() {
        // Method: drafts of an ended process, one of them locked; one of this process; files
        // whose names are no draft's; and a folder.
        let folder = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let (dead, alive) = (child.id(), std::process::id());
        let at = |name: String| folder.path().join(name);
        for name in [
            format!("run-1-2-3.json.{dead}.part"),
            format!("run-1-2-3.json.zst.{dead}.part"),
            format!("run-1-2-4.json.{alive}.part"),
            format!("notes.{dead}.part"),
            "run-1-2-3.json.part".to_owned(),
            "run-1-2-3.json".to_owned(),
        ] {
            fs::write(at(name), "x").unwrap();
        }
        fs::create_dir(at(format!("folder.json.{dead}.part"))).unwrap();
        let locked = locked_draft(&at(format!("run-5.json.{dead}.part")), RECORD_MODE).unwrap();
        let count = || fs::read_dir(folder.path()).unwrap().count();
        sweep_drafts(folder.path());
        assert_eq!(count(), 6);
        drop(locked);
        sweep_drafts(folder.path());
        assert_eq!(count(), 5);
        assert!(at(format!("run-1-2-4.json.{alive}.part")).exists());
    }

    #[test]
    fn a_failed_write_leaves_the_previous_record_intact() {
        // Method: a document that cannot be serialized, over one that was.
        struct Bad;
        impl serde::Serialize for Bad {
            fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
                Err(serde::ser::Error::custom("no"))
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/record.json");
        write_locked(&path, &vec![1, 2]).unwrap();
        assert!(write_locked(&path, &Bad).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "[1,2]\n");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
}
