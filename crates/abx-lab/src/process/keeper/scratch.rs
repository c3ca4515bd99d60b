//! The folder of one start. It is made with its files before the command starts, and removed when
//! no process of the start is left. Only the keeper makes it, so that it never exists without one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Once;

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::locked_file::LockedFile;
use crate::process::leftovers::{is_alive, lock_if_free};

use super::container::KeptContainer;
use super::orphans::end_orphans;
use super::protocol::{FileContent, KeeperPlan, SCRATCH_EMPTY, ScratchFile, StartFailure};

/// The file in a scratch folder that names its start. The keeper locks it as long as it runs.
const OWNER: &str = "owner";
/// The file in a scratch folder that names the container of its start, if it has one.
const CONTAINER: &str = "container";
/// How many random bytes are drawn and written at a time.
const RANDOM_BLOCK: usize = 1 << 16;

/// Makes the folder and its files. After each part, `on_made` gets the number of bytes so far; its
/// error ends the making. The folder is in use until the returned lock is dropped.
///
/// # Errors
/// Which file could not be written, and why.
pub fn make(
    plan: &KeeperPlan,
    owner: &str,
    on_made: &mut dyn FnMut(u64) -> io::Result<()>,
) -> Result<Option<LockedFile>, StartFailure> {
    let Some(scratch) = &plan.scratch else {
        return Ok(None);
    };
    let folder = scratch.join(SCRATCH_EMPTY);
    let failed = |path: &Path, error: io::Error| {
        StartFailure::Other(format!("its folder {}: {error}", path.display()))
    };
    let lock = fs::create_dir(scratch)
        .and_then(|()| claim(scratch, owner))
        .map_err(|error| failed(scratch, error))?;
    fs::create_dir(&folder).map_err(|error| failed(&folder, error))?;
    if let Some(container) = &plan.container {
        let path = scratch.join(CONTAINER);
        let text = serde_json::to_vec(container).map_err(io::Error::from);
        text.and_then(|text| fs::write(&path, text))
            .map_err(|error| failed(&path, error))?;
    }
    let mut made = 0;
    let mut add = |bytes: u64| {
        made += bytes;
        on_made(made)
    };
    for file in &plan.files {
        let path = folder.join(&file.path);
        write(&path, file, &mut add).map_err(|error| failed(&path, error))?;
    }
    Ok(Some(lock))
}

/// Writes the owner of a new folder, and locks that file.
fn claim(scratch: &Path, owner: &str) -> io::Result<LockedFile> {
    let file = File::create_new(scratch.join(OWNER))?;
    // On a file system without locks, later runs merely do not sweep the folder.
    let mut file = LockedFile::wait_for(file);
    file.write_all(owner.as_bytes())?;
    Ok(file)
}

/// Removes the folder, if this start has made it.
pub fn clear(plan: &KeeperPlan, owner: &str) {
    let Some(scratch) = &plan.scratch else {
        return;
    };
    let path = scratch.join(OWNER);
    match fs::read_to_string(&path) {
        Ok(text) if text == owner => remove(scratch),
        // A keeper that was killed before it wrote into the file holds no lock any more.
        Ok(text) if text.is_empty() && lock_if_free(&path).is_some() => remove(scratch),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A keeper that was killed before it made the file leaves an empty folder.
            let _ = fs::remove_dir(scratch);
        }
        Ok(_) | Err(_) => {}
    }
}

/// Removes a folder, [`OWNER`] last, so that a later run can sweep the rest of an interrupted
/// removal.
fn remove(scratch: &Path) {
    let Ok(entries) = fs::read_dir(scratch) else {
        return;
    };
    // A folder with files that cannot be removed stays.
    for entry in entries.flatten().filter(|entry| entry.file_name() != OWNER) {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let _ = if is_folder {
            fs::remove_dir_all(entry.path())
        } else {
            fs::remove_file(entry.path())
        };
    }
    let is_empty = fs::read_dir(scratch).is_ok_and(|entries| entries.count() == 1);
    if is_empty {
        let _ = fs::remove_dir_all(scratch);
    }
}

/// Ends the processes of killed starts, and removes their folders from the folder for temporary
/// files, once per process.
pub(crate) fn sweep_once() {
    static SWEPT: Once = Once::new();
    SWEPT.call_once(|| sweep(&std::env::temp_dir()));
}

/// Removes the folders in `temporary` whose abx and keeper were both killed, and ends the processes
/// of their starts that still run.
///
/// A folder stays if its [`OWNER`] file is missing, belongs to another user or is locked, or if the
/// process in its name is alive.
fn sweep(temporary: &Path) {
    let Ok(entries) = fs::read_dir(temporary) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_left = name
            .to_str()
            .and_then(scratch_process)
            .is_some_and(|process| !is_alive(process));
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_left
            && is_folder
            && is_of_this_user(&entry.path())
            && let Some(_lock) = lock_if_free(&entry.path().join(OWNER))
        {
            let container = kept_container(&entry.path());
            if let Some(container) = &container {
                container.remove();
            }
            // The folder of processes that still run stays: it shows the next run which they are.
            if end_orphans(&entry.path(), container.as_ref()) {
                remove(&entry.path());
            }
        }
    }
}

/// Whether no other user could have put files into a folder.
fn is_of_this_user(folder: &Path) -> bool {
    let metadata = fs::symlink_metadata(folder);
    metadata.is_ok_and(|metadata| metadata.uid() == rustix::process::geteuid().as_raw())
}

/// The container of a start, which its engine still runs if the start was killed.
fn kept_container(scratch: &Path) -> Option<KeptContainer> {
    let text = fs::read(scratch.join(CONTAINER)).ok()?;
    serde_json::from_slice(&text).ok()
}

/// The process number in the name of a scratch folder, `abx-PROCESS-NAME-PORT`.
fn scratch_process(name: &str) -> Option<u32> {
    let (process, rest) = name.strip_prefix("abx-")?.split_once('-')?;
    let (_, port) = rest.rsplit_once('-')?;
    port.parse::<u16>().ok()?;
    process.parse().ok()
}

fn write(
    path: &Path,
    file: &ScratchFile,
    add: &mut dyn FnMut(u64) -> io::Result<()>,
) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    match &file.content {
        FileContent::Text(text) => fs::write(path, text),
        FileContent::Random { seed, bytes } => {
            let mut file = File::create(path)?;
            let mut random = ChaCha8Rng::seed_from_u64(*seed);
            let mut block = vec![0; RANDOM_BLOCK];
            let mut left = *bytes;
            while left > 0 {
                let part = usize::try_from(left).map_or(block.len(), |left| left.min(block.len()));
                random.fill_bytes(&mut block[..part]);
                file.write_all(&block[..part])?;
                left -= part as u64;
                add(part as u64)?;
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::process::Command;

    use super::*;
    use abx_study::launch::Launch;

    fn scratch_plan(scratch: &Path) -> KeeperPlan {
        KeeperPlan {
            program: "true".to_owned(),
            arguments: Vec::new(),
            directory: scratch.to_owned(),
            environment: BTreeMap::new(),
            cpus: None,
            descriptors: None,
            log: scratch.join("log"),
            scratch: Some(scratch.to_owned()),
            files: Vec::new(),
            stop: Launch::STOP,
            container: None,
            outlives_main: false,
        }
    }

    /// The number of a process that has ended.
    fn dead_process() -> u32 {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    #[test]
    fn a_folder_that_another_start_has_made_is_not_removed() {
        // Method: a folder that existed before, with a file; a folder of another start; and the
        // start's own, which is removed.
        let folder = tempfile::tempdir().unwrap();
        let foreign = folder.path().join("foreign");
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join("keep.txt"), "x").unwrap();
        let plan = scratch_plan(&foreign);
        assert!(make(&plan, "one", &mut |_| Ok(())).is_err());
        clear(&plan, "one");
        assert!(foreign.join("keep.txt").exists());
        let plan = scratch_plan(&folder.path().join("new"));
        let lock = make(&plan, "one", &mut |_| Ok(())).unwrap();
        clear(&plan, "another");
        assert!(plan.scratch.as_ref().unwrap().join(SCRATCH_EMPTY).is_dir());
        drop(lock);
        clear(&plan, "one");
        assert!(!plan.scratch.unwrap().exists());
    }

    #[test]
    fn a_folder_whose_keeper_was_killed_before_it_named_its_owner_is_removed() {
        // Method: the state before each step of a keeper's claim: the folder alone, and the folder
        // with an empty file, which stays as long as a keeper has locked it.
        let folder = tempfile::tempdir().unwrap();
        let scratch = folder.path().join("new");
        let plan = scratch_plan(&scratch);
        fs::create_dir(&scratch).unwrap();
        clear(&plan, "one");
        assert!(!scratch.exists());
        fs::create_dir(&scratch).unwrap();
        let lock = claim(&scratch, "").unwrap();
        clear(&plan, "one");
        assert!(scratch.exists());
        drop(lock);
        clear(&plan, "one");
        assert!(!scratch.exists());
    }

    #[test]
    fn a_sweep_removes_the_container_of_a_killed_start() {
        // Method: an engine that logs its commands.
        let temporary = tempfile::tempdir().unwrap();
        let at = |name: &str| temporary.path().join(name);
        let script = format!("echo \"$@\" >>{}", at("calls").display());
        crate::process::keeper::write_program(&at("engine"), &script);
        let container = KeptContainer {
            engine: at("engine").display().to_string(),
            name: "abx-1".to_owned(),
        };
        let scratch = at(&format!("abx-{}-one-8080", dead_process()));
        let plan = KeeperPlan {
            container: Some(container),
            ..scratch_plan(&scratch)
        };
        drop(make(&plan, "one", &mut |_| Ok(())).unwrap());
        sweep(temporary.path());
        let calls = fs::read_to_string(at("calls")).unwrap();
        assert_eq!(calls, "rm --force --volumes abx-1\n");
        assert!(!scratch.exists());
    }

    #[test]
    fn a_sweep_removes_only_folders_that_abx_made_and_whose_processes_are_dead() {
        // Method: a folder whose keeper and abx are gone; one whose keeper runs, by its lock; one
        // whose abx runs, by its number; folders of such a name without an owner file, or with a
        // folder or a link in its place; and other names.
        let temporary = tempfile::tempdir().unwrap();
        let dead = dead_process();
        let at = |name: String| temporary.path().join(name);
        let made = |name: String| {
            let plan = scratch_plan(&at(name));
            let lock = make(&plan, "one", &mut |_| Ok(())).unwrap();
            fs::write(&plan.log, "x").unwrap();
            lock
        };
        drop(made(format!("abx-{dead}-my-server-8080")));
        let lock = made(format!("abx-{dead}-locked-8080"));
        drop(made(format!("abx-{}-alive-8080", std::process::id())));
        drop(made(format!("abx-{dead}-noport")));
        drop(made(format!("other-{dead}-x-8080")));
        let bare = |name: &str| {
            let folder = at(format!("abx-{dead}-{name}-8080"));
            fs::create_dir_all(folder.join(SCRATCH_EMPTY)).unwrap();
            folder
        };
        bare("foreign");
        fs::create_dir(bare("folder").join(OWNER)).unwrap();
        fs::write(at("target".to_owned()), "x").unwrap();
        let link = bare("link").join(OWNER);
        std::os::unix::fs::symlink(at("target".to_owned()), link).unwrap();
        let count = || fs::read_dir(temporary.path()).unwrap().count();
        let before = count();
        sweep(temporary.path());
        assert!(!at(format!("abx-{dead}-my-server-8080")).exists());
        assert_eq!(count(), before - 1);
        drop(lock);
        sweep(temporary.path());
        assert_eq!(count(), before - 2);
    }

    fn random(seed: u64, bytes: u64) -> ScratchFile {
        ScratchFile {
            path: "x".into(),
            content: FileContent::Random { seed, bytes },
        }
    }

    #[test]
    fn made_files_have_their_length_and_depend_on_the_seed_alone() {
        // Method: lengths around that of a block, compared with bytes that are drawn at once, and
        // with those of another seed.
        let folder = tempfile::tempdir().unwrap();
        for bytes in [0, 1, 65_535, 65_536, 65_537, 200_000] {
            let made = |name: &str, seed| {
                let path = folder.path().join("deep").join(name);
                write(&path, &random(seed, bytes), &mut |_| Ok(())).unwrap();
                std::fs::read(path).unwrap()
            };
            let (content, other) = (made("one", 7), made("other", 8));
            let mut drawn = vec![0; content.len()];
            ChaCha8Rng::seed_from_u64(7).fill_bytes(&mut drawn);
            assert_eq!(content.len() as u64, bytes);
            assert!(content == drawn, "{bytes}");
            assert!(bytes < 2 || content != other, "{bytes}");
        }
    }
}
