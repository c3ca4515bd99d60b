//! Keeps services from starting while packages are installed.
//!
//! Debian's maintainer scripts run `policy-rc.d` before they start a service, and status 101
//! forbids that. The machine's own file is put aside meanwhile, and restored afterwards.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::locked_file::{Hold, LockedFile};

/// The temporary script, with an explanation for people who find it.
const REFUSAL: &str = "#!/bin/sh
# Put here by abx while it installs packages, so that no service starts. When no
# installation runs, it may be removed; a file that ends in .abx-saved is the one
# that was here before.
exit 101
";

/// Refuses starts of services until it is dropped or [`Policy::restore`]d.
pub struct Policy {
    path: PathBuf,
    is_restored: bool,
    /// The folder of the script, locked: one installation at a time.
    _lock: LockedFile,
}

impl Policy {
    /// Refuses starts from now on. Before that, it repairs the state that a killed abx left.
    ///
    /// # Errors
    /// The error of the system; `WouldBlock`, without any change, while another installation runs.
    pub fn refuse(path: &Path) -> io::Result<Policy> {
        let lock = File::open(path.parent().unwrap_or(Path::new("/")))?;
        let lock = LockedFile::take(lock, Hold::Alone)?.ok_or(ErrorKind::WouldBlock)?;
        put_back(path)?;
        // SUBTLE: A second name comes first, so that a script exists at every moment.
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

    /// Restores the policy from before.
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
            // Another error is on its way already, so this one is not reported.
            let _ = put_back(&self.path);
        }
    }
}

/// Removes our script, and restores the one from before, if there was one.
fn put_back(path: &Path) -> io::Result<()> {
    let saved = beside(path, "saved");
    if fs::symlink_metadata(&saved).is_ok() {
        fs::rename(&saved, path)?;
        // If both are names of the same file, the rename leaves both.
        return remove(&saved);
    }
    match fs::read(path) {
        Ok(content) if content == REFUSAL.as_bytes() => remove(path),
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
    io::Write::write_all(&mut file, REFUSAL.as_bytes())?;
    // The umask of a careful root would keep the script from running.
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

    /// A folder in the place of `/usr/sbin`, with a script of this text, if any.
    fn place(script: Option<&str>) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy-rc.d");
        if let Some(text) = script {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        }
        (folder, path)
    }

    fn assert_as_before(path: &Path, script: Option<&str>) {
        let folder = path.parent().unwrap();
        let count = fs::read_dir(folder).unwrap().count();
        assert_eq!(count, usize::from(script.is_some()));
        if let Some(text) = script {
            assert_eq!(fs::read_to_string(path).unwrap(), text);
            let mode = fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o750);
        }
    }

    #[test]
    fn the_policy_refuses_starts_until_it_is_restored() {
        // Method: with and without a script before; the new script is run.
        for script in [None, Some("#!/bin/sh\nexit 104\n")] {
            let (_folder, path) = place(script);
            let policy = Policy::refuse(&path).unwrap();
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o755);
            let status = Command::new("sh").arg(&path).status().unwrap();
            assert_eq!(status.code(), Some(101));
            policy.restore().unwrap();
            assert_as_before(&path, script);
        }
    }

    #[test]
    fn a_failed_installation_restores_the_policy_too() {
        // Method: a panic while starts are refused.
        for script in [None, Some("mine")] {
            let (_folder, path) = place(script);
            let failed = std::panic::catch_unwind(|| {
                let _policy = Policy::refuse(&path).unwrap();
                panic!("an installation that fails");
            });
            assert!(failed.is_err());
            assert_as_before(&path, script);
        }
    }

    #[test]
    fn the_policy_of_a_killed_installation_is_restored() {
        // Method: an installation that is killed after each of its steps, and then a complete one.
        for script in [None, Some("mine")] {
            for steps in 0..=1 {
                let (_folder, path) = place(script);
                if script.is_some() {
                    fs::hard_link(&path, beside(&path, "saved")).unwrap();
                }
                write_executable(&beside(&path, "draft")).unwrap();
                if steps == 1 {
                    fs::rename(beside(&path, "draft"), &path).unwrap();
                }
                Policy::refuse(&path).unwrap().restore().unwrap();
                assert_as_before(&path, script);
            }
        }
    }
}
