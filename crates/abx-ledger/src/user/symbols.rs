//! Names of functions in programs and libraries.

use std::cell::Cell;
use std::fmt;
use std::path::PathBuf;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};

/// Reads the symbols of programs, libraries, and their debug files in `/usr/lib/debug`, and
/// keeps them: share one among ledgers.
pub struct Symbols {
    symbolizer: Symbolizer,
    has_transient_files: Cell<bool>,
}

impl Symbols {
    #[must_use]
    pub fn new() -> Symbols {
        // Lines and inlined functions would take most of the time.
        let builder = Symbolizer::builder().enable_code_info(false);
        Symbols {
            symbolizer: builder.enable_inlined_fns(false).build(),
            has_transient_files: Cell::new(false),
        }
    }

    /// Whether it keeps files open that no path names any more, such as those of a container. Each
    /// new container would add its own.
    #[must_use]
    pub fn has_transient_files(&self) -> bool {
        self.has_transient_files.get()
    }

    /// The function at an offset of a file, in bytes, if its symbols name it.
    pub(crate) fn name(&self, path: PathBuf, offset: u64) -> Option<String> {
        let is_transient = path.starts_with("/proc/self/fd");
        self.has_transient_files
            .set(self.has_transient_files() || is_transient);
        let mut elf = Elf::new(path);
        // Debug files are large, and often not needed.
        elf.debug_syms = false;
        self.name_in(elf.clone(), offset).or_else(|| {
            elf.debug_syms = true;
            self.name_in(elf, offset)
        })
    }

    fn name_in(&self, elf: Elf, offset: u64) -> Option<String> {
        let input = Input::FileOffset(offset);
        match self.symbolizer.symbolize_single(&Source::Elf(elf), input) {
            Ok(Symbolized::Sym(symbol)) => Some(symbol.name.into_owned()),
            // The file has no symbols there, or is damaged.
            Ok(Symbolized::Unknown(_)) | Err(_) => None,
        }
    }
}

impl Default for Symbols {
    fn default() -> Symbols {
        Symbols::new()
    }
}

impl fmt::Debug for Symbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Symbols").finish_non_exhaustive()
    }
}
