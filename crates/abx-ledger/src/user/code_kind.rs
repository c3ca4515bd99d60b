//! Sources of code: files, and programs themselves.

/// The source of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeKind {
    File(FileId),
    /// Memory that the program wrote itself.
    Jit,
}

/// A file of [`super::CodeFiles`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FileId(pub(super) usize);
