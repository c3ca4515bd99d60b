//! Names of tables: valid, and each once in its list.

use crate::study_file::key_position::KeyPosition;
use crate::study_file::mistake::{Diagnostic, Mistake, short};
use crate::study_file::unit;

/// Refuses what is no name, or that of an earlier table of the list, the `first` one.
///
/// # Errors
/// [`Mistake::Name`], [`Mistake::Taken`].
pub fn check_name(
    first: Option<usize>,
    name: &str,
    list: &KeyPosition,
    here: &KeyPosition,
) -> Result<(), Diagnostic> {
    here.read(|_| unit::check_name(name))?;
    check_free(first, name, list, here)
}

/// Refuses a name that an earlier table of the list has, the `first` one.
///
/// # Errors
/// [`Mistake::Taken`].
pub fn check_free(
    first: Option<usize>,
    name: &str,
    list: &KeyPosition,
    here: &KeyPosition,
) -> Result<(), Diagnostic> {
    let Some(first) = first else {
        return Ok(());
    };
    Err(here.fault(Mistake::Taken {
        kind: list.name(),
        name: short(name),
        first_line: list.item(first).line(),
    }))
}
