//! Where code comes from: a file, or the program itself.

/// Where code comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeKind {
    File(FileId),
    /// Memory that the program wrote itself.
    Jit,
}

/// A file of [`super::CodeFiles`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FileId(pub(super) usize);
