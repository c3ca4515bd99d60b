//! Finds a program before anything is started.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The file of a program: in the folders of `path` if its name has no slash, otherwise relative to
/// `folder`, as the kernel and `PATH` resolve it.
#[must_use]
pub fn find(program: &str, path: &OsStr, folder: &Path) -> Option<PathBuf> {
    if program.contains('/') {
        let file = folder.join(program);
        return is_executable(&file).then_some(file);
    }
    std::env::split_paths(path)
        .map(|part| folder.join(part).join(program))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    let mode =
        std::fs::metadata(file).map(|metadata| (metadata.is_file(), metadata.permissions().mode()));
    mode.is_ok_and(|(is_file, mode)| is_file && mode & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_executable_files_are_found() {
        // Method: a script, a text and a folder, by name and by path.
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, mode) in [("script", 0o755), ("text", 0o644)] {
            std::fs::write(at(name), "").unwrap();
            std::fs::set_permissions(at(name), PermissionsExt::from_mode(mode)).unwrap();
        }
        std::fs::create_dir(at("folder")).unwrap();
        let path = format!("/nowhere:{}", folder.path().display());
        let result = |name| find(name, path.as_ref(), folder.path());
        assert_eq!(result("script"), Some(at("script")));
        assert!(result("./script").is_some());
        for absent in ["text", "./text", "folder", "./folder", "other", "../script"] {
            assert_eq!(result(absent), None, "{absent}");
        }
    }
}
