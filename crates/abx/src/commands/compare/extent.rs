//! How much of a study file runs.

use abx_lab::study_file::StudyFile;

use crate::ui::end::{Failure, notify};

/// How much of a study file runs.
pub struct Extent<'a> {
    /// The command of the user, for messages.
    pub command: String,
    /// Only these subjects; empty for all of them.
    pub subjects: &'a [String],
    pub absent: Absent,
    pub loads: Loads<'a>,
}

/// What happens with a subject whose program is absent and only the user can bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    Refused,
    /// The others are measured, and the record states that.
    Skipped,
}

/// Which loads of a study file run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loads<'a> {
    All,
    /// The first position of each sweep.
    First,
    Named(&'a [String]),
}

impl Extent<'_> {
    /// All of the study that this word names.
    pub fn whole(word: &str) -> Extent<'static> {
        Extent {
            command: format!("abx compare {word}"),
            subjects: &[],
            absent: Absent::Refused,
            loads: Loads::All,
        }
    }

    /// Whether the study is in the catalog: only its subjects may be skipped.
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
        for fault in faults.iter().filter(|fault| !file.faults.contains(fault)) {
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
