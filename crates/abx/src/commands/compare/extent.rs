//! How much of a study file is conducted.

use abx_lab::study_file::StudyFile;

use crate::ui::end::{Failure, notify};

/// How much of a study file is conducted.
pub struct Extent<'a> {
    /// The command to get here, for messages.
    pub command: String,
    /// Only these subjects; empty for all of them.
    pub subjects: &'a [String],
    /// The treatment of a subject whose program only the user can bring.
    pub absent: Absent,
    pub loads: Loads<'a>,
}

/// The treatment of a subject whose program only the user can bring, when it is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    Refused,
    /// The others are measured, and the record states that.
    Skipped,
}

/// Which loads of a study file are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loads<'a> {
    All,
    /// Of each sweep the first position.
    First,
    Named(&'a [String]),
}

impl Extent<'_> {
    /// All of a study that was named as this word.
    pub fn whole(word: &str) -> Extent<'static> {
        Extent {
            command: format!("abx compare {word}"),
            subjects: &[],
            absent: Absent::Refused,
            loads: Loads::All,
        }
    }

    /// Whether it is of a study of the catalog, whose subjects alone are ever skipped.
    pub fn is_built_in(&self) -> bool {
        self.absent == Absent::Skipped
    }

    /// Leaves out the parts of a study file that were not requested.
    pub fn cut(&self, file: &mut StudyFile) -> Result<(), Failure> {
        let unknown = |flag: &str, kind: &str, unknown: &str, known: Vec<String>| {
            Failure::usage(format!(
                "{flag}: the study has no {kind} `{unknown}`: it has {}",
                known.join(", ")
            ))
        };
        let faults = file.faults.clone();
        match self.loads {
            Loads::All => {}
            Loads::First => file.keep_first_positions(),
            Loads::Named(names) => {
                let known = file.loads.iter().map(|load| load.name.clone()).collect();
                file.keep_loads(names)
                    .map_err(|name| unknown("--loads", "load", name, known))?;
            }
        }
        for fault in faults
            .iter()
            .filter(|this_fault| !file.faults.contains(this_fault))
        {
            notify(&format!(
                "leaving out the fault {}: it is under the load {}, which --loads does not name",
                fault.name, fault.load
            ));
        }
        if !self.subjects.is_empty() {
            let known = file
                .subjects
                .iter()
                .map(|subject| subject.name.clone())
                .collect();
            file.keep_subjects(self.subjects)
                .map_err(|name| unknown("--subjects", "subject", name, known))?;
        }
        Ok(())
    }
}
