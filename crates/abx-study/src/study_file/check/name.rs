//! Names of tables: valid, and unique in their list.

use std::collections::BTreeMap;

use crate::study_file::key_position::KeyPosition;
use crate::study_file::mistake::{Diagnostic, short};
use crate::units;

/// The names that a list of tables has so far, each with the table that has it.
pub struct TakenNames<'a> {
    list: &'a KeyPosition<'a>,
    first: BTreeMap<String, usize>,
}

impl<'a> TakenNames<'a> {
    /// No names yet; `list` is the place of the tables.
    pub fn none(list: &'a KeyPosition<'a>) -> TakenNames<'a> {
        let first = BTreeMap::new();
        TakenNames { list, first }
    }

    /// Takes the name of a table by its `index`; it stands at the key `name`.
    ///
    /// # Errors
    /// A text that is not a name, or is that of an earlier table.
    pub fn take_name(&mut self, index: usize, name: &str) -> Result<(), Diagnostic> {
        self.take_name_at(index, name, &self.list.item(index).key("name"))
    }

    /// Takes the name of a table by its `index`; it stands at `here`.
    ///
    /// # Errors
    /// As [`TakenNames::take_name`].
    pub fn take_name_at(
        &mut self,
        index: usize,
        name: &str,
        here: &KeyPosition,
    ) -> Result<(), Diagnostic> {
        if units::is_name(name) {
            return self.take(index, name, here);
        }
        Err(here.fault(format!(
            "`{}` is not a valid name: use letters, digits, `-`, `_` and `.`, at most 40",
            short(name)
        )))
    }

    /// Takes a name of any form.
    ///
    /// # Errors
    /// One that an earlier table has.
    pub fn take(&mut self, index: usize, name: &str, here: &KeyPosition) -> Result<(), Diagnostic> {
        self.check_free(name, here)?;
        self.note(index, name);
        Ok(())
    }

    /// Takes a name without a check; of equal names, the first one counts.
    pub fn note(&mut self, index: usize, name: &str) {
        self.first.entry(name.to_owned()).or_insert(index);
    }

    /// Refuses a name that an earlier table has.
    ///
    /// # Errors
    /// The line of that table.
    pub fn check_free(&self, name: &str, here: &KeyPosition) -> Result<(), Diagnostic> {
        let Some(first) = self.first.get(name) else {
            return Ok(());
        };
        Err(here.fault(format!(
            "the name `{}` is taken by the {} in line {}: give each its own",
            short(name),
            self.list.name(),
            self.list.item(*first).line()
        )))
    }
}
