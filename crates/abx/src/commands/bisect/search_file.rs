//! The file of a search, from which the same command continues after Ctrl-C.

use std::io;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use abx_evidence::OutputKind;
use abx_lab::history::{SEARCHES, id_of_file};
use abx_lab::{Store, read_text, state_folder};
use abx_verdict::bisect::{BisectRecord, CommitRecord};

use super::commit_studies::CommitStudies;
use super::commits::Commits;
use super::flags::Bisect;
use crate::ui::end::{Failure, notify};
use crate::ui::invocation;

/// The record of a search, and its file.
pub struct SearchFile {
    pub record: BisectRecord,
    store: Store,
    /// How long earlier processes have searched.
    before_s: f64,
    began: Instant,
}

/// Letters of a file's name that distinguish searches.
const KEY_LETTERS: usize = 16;

impl SearchFile {
    /// Opens the search among these commits: an interrupted one, or a new one.
    pub fn open(
        flags: &Bisect,
        studies: &CommitStudies,
        commits: &Commits,
    ) -> Result<SearchFile, Failure> {
        let new = new_record(flags, studies, commits.records());
        let key = format!(
            "{} {:?} {:?} {}",
            commits.described(),
            new.build,
            new.server,
            studies.described()
        );
        let name = format!("{SEARCHES}/{}.json", &id_of_file(&key)[..KEY_LETTERS]);
        let store = Store::for_saved_record(state_folder().join(name)).map_err(Failure::usage)?;
        let saved = if flags.restart {
            None
        } else {
            saved(store.path())?
        };
        let unfinished =
            saved.filter(|record| record.conclusion.is_none() && record.ends.is_some());
        if let Some(record) = &unfinished
            && !flags.output.quiet
        {
            notify(&format!(
                "Continuing a search that was interrupted after {}; --restart starts over",
                abx_report::plural(record.trials.len() as u64, "commit")
            ));
        }
        let record = unfinished.unwrap_or(new);
        let mut file = SearchFile {
            before_s: record.elapsed_s,
            record,
            store,
            began: Instant::now(),
        };
        file.store.save(&file.record).map_err(Failure::usage)?;
        Ok(file)
    }

    /// Saves the results so far.
    pub fn save(&mut self) -> Result<(), Failure> {
        self.record.elapsed_s = self.before_s + self.began.elapsed().as_secs_f64();
        self.store
            .save_somewhere(&self.record)
            .map_err(Failure::no_claim)
    }

    /// Where the record is saved.
    pub fn store(&self) -> &Store {
        &self.store
    }
}

/// The search in this file, if there is one.
fn saved(path: &Path) -> Result<Option<BisectRecord>, Failure> {
    let unreadable = |error: &dyn std::error::Error| {
        Failure::usage(format!(
            "cannot continue the search in {} ({error}): start over with --restart",
            path.display()
        ))
    };
    match read_text(path) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| unreadable(&error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(&error)),
    }
}

fn new_record(flags: &Bisect, studies: &CommitStudies, commits: Vec<CommitRecord>) -> BisectRecord {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let started_ms = since.unwrap_or_default().as_millis();
    BisectRecord {
        head: OutputKind::Bisect.into(),
        abx_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms: u64::try_from(started_ms).unwrap_or(u64::MAX),
        command: invocation::recorded(),
        label: flags.label.text(),
        revisions: [&flags.good, &flags.bad].map(String::clone),
        build: flags.build.build.clone(),
        server: flags.server.clone(),
        metric: studies.metric,
        by: studies.margin.share(),
        commits,
        ends: None,
        trials: Vec::new(),
        confirmation: None,
        conclusion: None,
        elapsed_s: 0.0,
    }
}
