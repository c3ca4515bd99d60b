//! `--resume RECORD`: continues a study that ended early.

use abx_evidence::Measured;
use abx_lab::{Store, Study, is_resumable};
use abx_report::plural;
use abx_verdict::StudyRecord;

use super::flags::Compare;
use crate::commands::history::{name_of, record_path};
use crate::commands::saved::{SavedRecord, read};
use crate::ui::end::{Failure, notify};

/// A study to continue, and the file of its record.
pub struct Resumed {
    pub measured: Measured,
    pub store: Store,
}

impl Resumed {
    /// The study that the flags continue; `None` for a new one.
    pub fn of(compare: &Compare) -> Result<Option<Resumed>, Failure> {
        let Some(word) = &compare.resume.resume else {
            return Ok(None);
        };
        let path = record_path(word)?;
        // Opened before the record is read, so that nothing is added to it in between.
        let store = Store::for_saved_record(path.clone()).map_err(Failure::usage)?;
        let SavedRecord::Study(record) = read(&path)? else {
            return Err(Failure::usage(format!(
                "{word} is not the record of a comparison: give one of `abx compare` or \
                 `abx study run` that ended early"
            )));
        };
        Ok(Some(Resumed {
            measured: record.measured,
            store,
        }))
    }

    /// The study with the seed of the record, unless the user sets another one.
    pub fn seeded(&self, study: &Study, compare: &Compare) -> Study {
        Study {
            seed: compare.generator.seed.unwrap_or(self.measured.seed),
            ..study.clone()
        }
    }

    /// Reports which blocks stay, unless nothing can be added.
    pub fn notify(&self) {
        if !is_resumable(&self.measured) {
            return;
        }
        notify(&format!(
            "Continuing {} after {}",
            name_of(&self.store),
            plural(self.measured.blocks.len() as u64, "block")
        ));
    }
}

/// How to continue a study that ended early; `None` if it is complete.
pub fn advice(record: &StudyRecord, store: &Store) -> Option<String> {
    is_resumable(&record.measured).then(|| {
        let name = name_of(store);
        format!("Continue it with: abx compare --resume {name}")
    })
}
