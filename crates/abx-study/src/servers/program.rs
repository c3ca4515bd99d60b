//! Whether a program is there, checked before anything is started.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where a program is: looked for in the folders of `path` when its name holds
/// no slash, and from `folder` otherwise, as the kernel and `PATH` have it.
#[must_use]
pub fn find(program: &str, path: &OsStr, folder: &Path) -> Option<PathBuf> {
    if program.contains('/') {
        let whole = folder.join(program);
        return is_executable(&whole).then_some(whole);
    }
    std::env::split_paths(path)
        .map(|part| folder.join(part).join(program))
        .find(|whole| is_executable(whole))
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
    fn only_what_can_be_executed_is_found() {
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
