//! Reads the files of a study, up to a length limit, and provides a stack for deep trees.

use std::io::{self, Read};
use std::path::Path;

use abx_engine::input_file::open_input;

use super::mistake::{Diagnostic, StudyFileError};

/// Far above the length of any study file: a longer file is something else.
const BYTES_MAX: u64 = 1_000_000;
/// Several times what the deepest tree that the TOML parser accepts needs.
const STACK_BYTES: usize = 64 << 20;

/// Returns the text of a template or other file, by its path relative to the study file.
pub type Templates<'a> = &'a (dyn Fn(&Path) -> io::Result<String> + Sync);

/// Runs work that may need many levels of calls.
///
/// SUBTLE: dotted keys inside inline tables make a tree of thousands of levels, and dropping it
/// recurses.
pub(super) fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        match thread.spawn_scoped(scope, work)?.join() {
            Ok(value) => Ok(value),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

pub(super) fn read_bounded(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more detects a file that is too long.
    open_input(file)?
        .take(BYTES_MAX + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a file below a folder. A link may lead to another file in the folder, or in the
/// checkout that contains the folder, such as a file of another study, and no further.
pub(super) fn read_within(folder: &Path, file: &Path) -> io::Result<String> {
    let folder = folder.canonicalize()?;
    let file = folder.join(file).canonicalize()?;
    let is_checkout = |above: &&Path| above.join(".git").exists();
    let root = folder.ancestors().find(is_checkout).unwrap_or(&folder);
    let repository = root.join(".git");
    if !file.starts_with(root) || file.starts_with(repository) {
        return Err(io::Error::other(
            "it is a link that leads out of the folder: copy the file into it",
        ));
    }
    read_template(&file)
}

fn read_template(file: &Path) -> io::Result<String> {
    let bytes = read_bounded(file)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(io::Error::other(format!("longer than {BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("not UTF-8 text"))
}

/// The text of a study file or scenario file.
pub(super) fn file_text(file: &Path, bytes: Vec<u8>) -> Result<String, StudyFileError> {
    check_length(file, bytes.len())?;
    String::from_utf8(bytes)
        .map_err(|_| whole_file(file, "the file is not UTF-8 text: is it the right one?"))
}

/// Refuses a text that is longer than any study file.
pub(super) fn check_length(file: &Path, bytes: usize) -> Result<(), StudyFileError> {
    if bytes as u64 <= BYTES_MAX {
        return Ok(());
    }
    let wrong = format!("the file is longer than {BYTES_MAX} bytes: is it the right one?");
    Err(whole_file(file, &wrong))
}

pub(super) fn whole_file(file: &Path, wrong: &str) -> StudyFileError {
    StudyFileError::Content(vec![Diagnostic {
        file: file.to_owned(),
        line: 1,
        place: None,
        wrong: wrong.to_owned(),
    }])
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_lead_to_files_of_the_folder_and_no_further() {
        // Method: a file; links to it and to its folder; links to a file outside and to the folder
        // above; and a chain of two links that ends outside.
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("study");
        fs::create_dir_all(folder.join("deep")).unwrap();
        fs::write(folder.join("deep/file"), "inside").unwrap();
        fs::write(outer.path().join("secret"), "outside").unwrap();
        symlink("deep/file", folder.join("link")).unwrap();
        symlink("deep", folder.join("deeper")).unwrap();
        symlink("../secret", folder.join("out")).unwrap();
        symlink("..", folder.join("above")).unwrap();
        symlink("out", folder.join("chain")).unwrap();
        for name in ["deep/file", "link", "deeper/file"] {
            assert_eq!(read_within(&folder, Path::new(name)).unwrap(), "inside");
        }
        assert_refused(&folder, &["out", "above/secret", "chain"]);
    }

    #[test]
    fn links_lead_to_other_folders_of_the_same_checkout() {
        // Method: two studies in a checkout; links from one study to a file of the other, into
        // `.git`, and out of the checkout; then the first link without the checkout.
        let outer = tempfile::tempdir().unwrap();
        let [repository, folder, other] =
            [".git", "studies/a", "studies/b"].map(|path| outer.path().join("c").join(path));
        for folder in [&repository, &folder, &other] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(other.join("file"), "shared").unwrap();
        fs::write(repository.join("config"), "private").unwrap();
        fs::write(outer.path().join("secret"), "outside").unwrap();
        symlink("../b/file", folder.join("link")).unwrap();
        symlink("../../.git/config", folder.join("config")).unwrap();
        symlink("../../../secret", folder.join("out")).unwrap();
        assert_eq!(read_within(&folder, Path::new("link")).unwrap(), "shared");
        assert_refused(&folder, &["config", "out"]);
        fs::remove_dir_all(repository).unwrap();
        fs::remove_file(folder.join("config")).unwrap();
        assert_refused(&folder, &["link"]);
    }

    #[track_caller]
    fn assert_refused(folder: &Path, names: &[&str]) {
        for name in names {
            let error = read_within(folder, Path::new(name)).unwrap_err();
            assert!(error.to_string().contains("out of the folder"), "{error}");
        }
    }
}
