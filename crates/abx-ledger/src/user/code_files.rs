//! Files with sampled code. Each is opened as soon as it is sampled, so that its
//! symbols can be read after its process has ended.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::code_kind::{CodeKind, FileId};
use super::maps_file::CodeMapping;
use crate::frame_name;

/// The files by path and inode.
#[derive(Debug, Default)]
pub(crate) struct CodeFiles {
    files: Vec<CodeFile>,
    ids: HashMap<(Vec<u8>, u64), FileId>,
    open_files: usize,
}

#[derive(Debug)]
struct CodeFile {
    /// The path's last part.
    name: String,
    path: PathBuf,
    inode: u64,
    state: FileState,
    /// How often it could not be opened. Its process may have ended, while others still run.
    failures: u32,
}

#[derive(Debug)]
enum FileState {
    Unopened,
    Open(File),
    /// It is not a file, or cannot be opened.
    Closed,
}

impl CodeFiles {
    /// The source of a mapping's code.
    pub(crate) fn kind(&mut self, mapping: &CodeMapping<'_>) -> CodeKind {
        let path = mapping.path;
        if path.is_empty() || IN_NO_FILE.iter().any(|prefix| path.starts_with(prefix)) {
            return CodeKind::Jit;
        }
        let id = self
            .ids
            .entry((path.to_vec(), mapping.inode))
            .or_insert_with(|| {
                let id = FileId(self.files.len());
                let file = path.strip_suffix(DELETED).unwrap_or(path);
                let name = file.rsplit(|byte| *byte == b'/').next().unwrap_or(file);
                let is_file = path.first() == Some(&b'/');
                self.files.push(CodeFile {
                    name: frame_name(&String::from_utf8_lossy(name)),
                    path: PathBuf::from(OsStr::from_bytes(path)),
                    inode: mapping.inode,
                    state: if is_file {
                        FileState::Unopened
                    } else {
                        FileState::Closed
                    },
                    failures: 0,
                });
                id
            });
        CodeKind::File(*id)
    }

    pub(crate) fn name(&self, id: FileId) -> &str {
        &self.files[id.0].name
    }

    /// Opens a file that a process has mapped, unless that has failed several times. The process may
    /// see other files than abx: it may be in a container.
    pub(crate) fn open(&mut self, id: FileId, pid: u32) {
        let file = &mut self.files[id.0];
        if !matches!(file.state, FileState::Unopened) {
            return;
        }
        if self.open_files == OPEN_FILES_MAX {
            file.state = FileState::Closed;
        } else if let Some(opened) = file.open(pid) {
            file.state = FileState::Open(opened);
            self.open_files += 1;
        } else {
            file.failures += 1;
            if file.failures == FAILURES_MAX {
                file.state = FileState::Closed;
            }
        }
    }

    /// A path by which this process reads the file, valid while `self` is.
    pub(crate) fn readable_path(&self, id: FileId) -> Option<PathBuf> {
        let file = &self.files[id.0];
        let FileState::Open(opened) = &file.state else {
            return None;
        };
        // Debug files are searched next to the program.
        if is_same(&file.path, opened) {
            return Some(file.path.clone());
        }
        Some(PathBuf::from(format!(
            "/proc/self/fd/{}",
            opened.as_raw_fd()
        )))
    }
}

impl CodeFile {
    fn open(&self, pid: u32) -> Option<File> {
        let path = self.path.strip_prefix("/").ok()?;
        let seen_by_process = Path::new("/proc")
            .join(pid.to_string())
            .join("root")
            .join(path);
        if let Some(file) = open_regular(&seen_by_process) {
            return Some(file);
        }
        // The process has ended, or abx may not read its root.
        let file = open_regular(&self.path)?;
        let inode = file.metadata().ok()?.ino();
        (inode == self.inode).then_some(file)
    }
}

/// Opens a file with content; others may block.
fn open_regular(path: &Path) -> Option<File> {
    let is_file = fs::metadata(path).ok()?.is_file();
    is_file.then(|| File::open(path).ok())?
}

fn is_same(path: &Path, file: &File) -> bool {
    match (fs::metadata(path), file.metadata()) {
        (Ok(path), Ok(file)) => (path.dev(), path.ino()) == (file.dev(), file.ino()),
        _ => false,
    }
}

/// Prefixes of the paths of memory into which programs write code.
const IN_NO_FILE: [&[u8]; 9] = [
    b"//anon",
    b"/anon_hugepage",
    b"[anon",
    b"[heap]",
    b"[stack",
    b"/memfd:",
    b"/dev/zero",
    b"/SYSV",
    b"anon_inode:",
];
/// The suffix that the kernel appends to the path of a deleted file.
const DELETED: &[u8] = b" (deleted)";
const FAILURES_MAX: u32 = 8;
/// Far below the usual limit of descriptors.
const OPEN_FILES_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(path: &[u8], inode: u64) -> CodeMapping<'_> {
        CodeMapping {
            start: 0,
            len: 1,
            offset: 0,
            inode,
            path,
        }
    }

    fn file(files: &mut CodeFiles, path: &[u8], inode: u64) -> FileId {
        match files.kind(&mapping(path, inode)) {
            CodeKind::File(id) => id,
            CodeKind::Jit => panic!("{path:?} is a file"),
        }
    }

    #[test]
    fn code_outside_files_is_jit_code() {
        // Method: names that the kernel gives to memory, and files with similar names.
        let mut files = CodeFiles::default();
        for path in [
            "",
            "//anon",
            "[heap]",
            "[anon: JIT]",
            "/memfd:doublemapper (deleted)",
            "/anon_hugepage (deleted)",
        ] {
            assert_eq!(
                files.kind(&mapping(path.as_bytes(), 0)),
                CodeKind::Jit,
                "{path}"
            );
        }
        let cases = [
            ("/usr/sbin/nginx", "nginx"),
            ("/srv/my server (deleted)", "my server"),
            ("[vdso]", "[vdso]"),
            ("/a/\u{1b}[2J;b", "\\u{1b}[2J:b"),
        ];
        for (path, name) in cases {
            let id = file(&mut files, path.as_bytes(), 1);
            assert_eq!(files.name(id), name);
        }
    }

    #[test]
    fn a_file_stays_readable_when_it_is_replaced() {
        // Method: a file of this process is opened, then another one takes its path; and a file
        // with the same path and an unknown inode, of a process that does not exist.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server");
        fs::write(&path, "old").unwrap();
        let inode = fs::metadata(&path).unwrap().ino();
        let bytes = path.as_os_str().as_bytes();
        let mut files = CodeFiles::default();
        let id = file(&mut files, bytes, inode);
        assert_eq!(files.readable_path(id), None);
        files.open(id, std::process::id());
        assert_eq!(files.readable_path(id).as_ref(), Some(&path));
        fs::write(folder.path().join("new"), "new").unwrap();
        fs::rename(folder.path().join("new"), &path).unwrap();
        assert_eq!(fs::read(files.readable_path(id).unwrap()).unwrap(), b"old");
        let missing = file(&mut files, bytes, inode + 1_000_000);
        files.open(missing, u32::MAX);
        assert_eq!(files.readable_path(missing), None);
        // Another process may still have it.
        files.open(missing, std::process::id());
        assert!(files.readable_path(missing).is_some());
    }
}
