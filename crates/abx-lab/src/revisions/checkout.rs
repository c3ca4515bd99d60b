//! A revision's files in a folder of their own: a clone that borrows the objects of the user's
//! repository, in which neither hooks nor filters run.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::build_command::BuildCommand;
use super::changes::Changes;
use super::git::Git;
use super::repository::Repository;
use super::revision::Revision;
use super::revision_error::RevisionError;

/// The start of the file that Git LFS keeps in place of a large one.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
/// The mode of a submodule in git's index.
const SUBMODULE: &[u8] = b"160000 ";

/// Writes the files of a revision to a folder, which must not exist yet.
///
/// # Errors
/// [`RevisionError`] for an error of git or the system, and for submodules and large files that
/// none of the build's `commands` fetches.
pub fn check_out(
    repository: &Repository,
    revision: &Revision,
    commands: &[BuildCommand],
    folder: &Path,
) -> Result<(), RevisionError> {
    clone(repository, folder)?;
    let git = repository.git().moved(folder);
    let words = ["checkout", "--quiet", "--detach", revision.commit.as_str()];
    git.unfiltered()?.read(&words)?;
    if let Some(digest) = &revision.changes {
        let changes = Changes::of(repository.git())?;
        changes.apply(repository.working_tree_folder()?, folder)?;
        if changes.digest(folder)?.as_ref() != Some(digest) {
            return Err(RevisionError::TreeChanged);
        }
    }
    if let Some(url) = repository.origin()? {
        let words = ["config", "remote.origin.url"].map(OsString::from);
        git.read(&words.into_iter().chain([url]).collect::<Vec<_>>())?;
    }
    let fetches = |what: &str| commands.iter().any(|command| command.text().contains(what));
    if let Some(path) = submodule(&git)?
        && !fetches("git submodule")
    {
        let revision = revision.to_string();
        return Err(RevisionError::Submodules { revision, path });
    }
    if let Some(path) = large_file(&git, folder)?
        && !fetches("git lfs")
    {
        let revision = revision.to_string();
        return Err(RevisionError::LargeFiles { revision, path });
    }
    Ok(())
}

fn clone(repository: &Repository, folder: &Path) -> Result<(), RevisionError> {
    let store = repository.store();
    let mut words = [
        "clone",
        "--quiet",
        "--shared",
        "--no-checkout",
        // The clone gets no hooks from a template, and runs none that are added later.
        "--template=",
        "--config",
        "core.hooksPath=/dev/null",
        "--",
    ]
    .map(OsStr::new)
    .to_vec();
    words.extend([store.as_os_str(), folder.as_os_str()]);
    repository.git().read(&words)?;
    // A clone of a shallow repository has only the commits that branches and tags reach.
    let info = folder.join(".git/objects/info");
    let alternates = info.join("alternates");
    if alternates.exists() {
        return Ok(());
    }
    let objects = store.join("objects");
    let line = [objects.as_os_str().as_bytes(), b"\n"].concat();
    let written = fs::create_dir_all(&info).and_then(|()| fs::write(&alternates, line));
    written.map_err(RevisionError::in_cache(&alternates))
}

/// The first submodule of a checkout.
fn submodule(git: &Git) -> Result<Option<PathBuf>, RevisionError> {
    let bytes = git.read(&["ls-files", "--stage", "-z"])?;
    let mut entries = bytes.split(|byte| *byte == 0);
    let entry = entries.find(|entry| entry.starts_with(SUBMODULE));
    let path = entry.and_then(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1));
    Ok(path.map(|path| PathBuf::from(OsStr::from_bytes(path))))
}

/// The first file of a checkout that is a pointer of Git LFS.
fn large_file(git: &Git, folder: &Path) -> Result<Option<PathBuf>, RevisionError> {
    let bytes = git.read(&["ls-files", "-z", "--", ":(attr:filter=lfs)"])?;
    let paths = bytes.split(|byte| *byte == 0);
    let mut paths = paths.map(|path| Path::new(OsStr::from_bytes(path)));
    let is_pointer = |path: &&Path| {
        let mut start = Vec::new();
        let file = File::open(folder.join(path));
        let read = file.and_then(|file| {
            let length = POINTER.len() as u64;
            file.take(length).read_to_end(&mut start)
        });
        read.is_ok() && start == POINTER
    };
    Ok(paths.find(is_pointer).map(Path::to_owned))
}
