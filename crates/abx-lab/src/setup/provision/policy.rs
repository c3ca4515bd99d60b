//! While packages are installed, no service starts.
//!
//! Debian's maintainer scripts run `policy-rc.d` before they start one, and status 101 forbids it.
//! The machine's own file is put aside meanwhile and restored afterwards.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// The temporary script, with an explanation for a person who finds it.
const NO: &str = "#!/bin/sh
# Put here by abx while it installs packages, so that no service starts. When no
# installation runs, it may be removed; a file that ends in .abx-saved is the one
# that was here before.
exit 101
";

/// The response no, until it is dropped or [`Policy::restore`]d.
pub struct Policy {
    path: PathBuf,
    is_restored: bool,
    /// Its folder, locked: one installation at a time.
    _lock: File,
}

impl Policy {
    /// Forbids starts from now on. First repairs what a killed abx left.
    ///
    /// # Errors
    /// The error of the system, `WouldBlock` while another installation has it; then nothing has
    /// changed.
    pub fn refuse(path: &Path) -> io::Result<Policy> {
        let lock = File::open(path.parent().unwrap_or(Path::new("/")))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        put_back(path)?;
        // SUBTLE: a second name first, so that there is a script at every moment.
        if fs::symlink_metadata(path).is_ok() {
            fs::hard_link(path, beside(path, "saved"))?;
        }
        let policy = Policy {
            path: path.to_owned(),
            is_restored: false,
            _lock: lock,
        };
        let draft = beside(path, "draft");
        write_executable(&draft).and_then(|()| fs::rename(&draft, path))?;
        Ok(policy)
    }

    /// Restores the policy that was there before.
    ///
    /// # Errors
    /// The error of the system.
    pub fn restore(mut self) -> io::Result<()> {
        self.is_restored = true;
        put_back(&self.path)
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        if !self.is_restored {
            // Where an error is on its way already, this one has no place.
            let _ = put_back(&self.path);
        }
    }
}

/// Takes our response away and puts the one back that was there before, if any.
fn put_back(path: &Path) -> io::Result<()> {
    let saved = beside(path, "saved");
    if fs::symlink_metadata(&saved).is_ok() {
        fs::rename(&saved, path)?;
        // Two names of one file stay when one is renamed to the other.
        return remove(&saved);
    }
    match fs::read(path) {
        Ok(content) if content == NO.as_bytes() => remove(path),
        _ => Ok(()),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn write_executable(path: &Path) -> io::Result<()> {
    remove(path)?;
    let mut options = fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o755)
        .open(path)?;
    io::Write::write_all(&mut file, NO.as_bytes())?;
    // The mask of a careful root would keep it from being run.
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    file.set_permissions(mode)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".abx-{suffix}"));
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    /// A folder in the place of `/usr/sbin`, with this file or none.
    fn place(own_text: Option<&str>) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy-rc.d");
        if let Some(text) = own_text {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        }
        (folder, path)
    }

    fn assert_as_before(path: &Path, own_text: Option<&str>) {
        let folder = path.parent().unwrap();
        let count = fs::read_dir(folder).unwrap().count();
        assert_eq!(count, usize::from(own_text.is_some()));
        if let Some(text) = own_text {
            assert_eq!(fs::read_to_string(path).unwrap(), text);
            let mode = fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o750);
        }
    }

    #[test]
    fn the_check_says_no_until_it_is_restored() {
        // Method: with and without a file before; the file itself is run.
        for own_text in [None, Some("#!/bin/sh\nexit 104\n")] {
            let (_folder, path) = place(own_text);
            let policy = Policy::refuse(&path).unwrap();
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o755);
            let response = Command::new("sh").arg(&path).status().unwrap();
            assert_eq!(response.code(), Some(101));
            policy.restore().unwrap();
            assert_as_before(&path, own_text);
        }
    }

    #[test]
    fn a_failure_on_the_way_restores_it_too() {
        // Method: a panic while it is held.
        for own_text in [None, Some("mine")] {
            let (_folder, path) = place(own_text);
            let failed = std::panic::catch_unwind(|| {
                let _policy = Policy::refuse(&path).unwrap();
                panic!("an installation that fails");
            });
            assert!(failed.is_err());
            assert_as_before(&path, own_text);
        }
    }

    #[test]
    fn what_a_killed_installation_left_is_put_right() {
        // Method: one that never ends, stopped after each of its steps, then a whole one.
        for own_text in [None, Some("mine")] {
            for steps in 0..=1 {
                let (_folder, path) = place(own_text);
                if own_text.is_some() {
                    fs::hard_link(&path, beside(&path, "saved")).unwrap();
                }
                write_executable(&beside(&path, "draft")).unwrap();
                if steps == 1 {
                    fs::rename(beside(&path, "draft"), &path).unwrap();
                }
                Policy::refuse(&path).unwrap().restore().unwrap();
                assert_as_before(&path, own_text);
            }
        }
    }
}
