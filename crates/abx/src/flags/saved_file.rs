//! The file of a record, for a report or for a study that continues it.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

/// A record that is saved.
#[derive(Debug, Clone)]
pub struct SavedFile {
    /// The name by which `abx report` finds it.
    pub name: String,
    pub path: PathBuf,
}

/// The record of a study to continue.
#[derive(Debug, Clone, Args)]
pub struct ResumeFlag {
    /// Continue the study of this record, which ended early.
    ///
    /// Give the study as before, or no study: abx then repeats the command of the record. The pilot
    /// and the finished blocks stay, and --budget is the time from now on. Study, subjects, machine
    /// and abx must be the same. RECORD is a file, an id from `abx history`, or last.
    #[arg(
        long,
        help_heading = "Study",
        value_name = "RECORD",
        conflicts_with = "plan"
    )]
    pub resume: Option<String>,
}

/// The name of the first of these files that is in the same folder as a page.
pub fn file_with<const N: usize>(page: &Path, files: [Option<&Path>; N]) -> Option<String> {
    let folder = folder(page)?;
    let mut files = files.into_iter().flatten();
    let file = files.find(|file| self::folder(file).as_ref() == Some(&folder))?;
    Some(file.file_name()?.to_string_lossy().into_owned())
}

/// The folder of a file, with links resolved if it exists.
fn folder(file: &Path) -> Option<PathBuf> {
    if file == Path::new("-") {
        return None;
    }
    let folder = std::path::absolute(file).ok()?.parent()?.to_owned();
    Some(fs::canonicalize(&folder).unwrap_or(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_if_it_is_in_the_folder_of_the_page() {
        // Method: the same folder, by its name and by a link; a folder that does not exist yet; and
        // a page in another folder and on standard output.
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        let at = |name: &str| folder.path().join(name);
        let with = |page: &Path, file: &Path| file_with(page, [None, Some(file)]);
        let name = Some("a.json".to_owned());
        assert_eq!(with(&at("page.html"), &at("a.json")), name);
        assert_eq!(with(&link.join("page.html"), &at("a.json")), name);
        assert_eq!(with(&at("new/page.html"), &at("new/a.json")), name);
        assert_eq!(with(&at("new/page.html"), &at("a.json")), None);
        assert_eq!(with(Path::new("-"), &at("a.json")), None);
    }
}
