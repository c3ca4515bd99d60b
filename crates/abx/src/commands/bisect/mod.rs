//! `abx bisect`: which commit made a server slower, or faster?

mod commit_studies;
mod commits;
mod flags;
mod search_file;

use std::time::{Duration, Instant};

use abx_evidence::record::Contrast;
use abx_lab::revisions::RevisionError;
use abx_stats::sequential::{EndTest, STEP_BLOCKS_MIN, StepDecision};
use abx_stats::stop::BLOCKS_FOR_VERDICT;
use abx_verdict::StudyRecord;
use abx_verdict::bisect::{
    BUILDS, BisectConclusion, BisectTask, BlockRatios, BuildPair, Confirmation, EndsRecord,
    TrialOutcome, TrialRecord, are_builds_known, are_ends_known, block_log_ratios,
};

use self::commit_studies::{CommitQuestion, CommitStudies, ComparedCommits, NotCompared};
use self::commits::{CommitServer, Commits};
use self::search_file::SearchFile;
use crate::commands::{history, saved};
use crate::flags::output::{self, OutputFlags};
use crate::ui::end::{End, Failure, notify};
use crate::ui::signals::Interruption;

pub use self::flags::Bisect;

/// Finds the commit, and prints the search.
pub fn bisect(flags: &Bisect) -> Result<End, Failure> {
    let interruption = Interruption::by_signals();
    let studies = CommitStudies::of(flags, &interruption)?;
    let repository = flags.build.repository()?;
    let commits = Commits::of(flags, &repository)?;
    let skipped = commits.places(&flags.skip)?;
    let mut file = SearchFile::open(flags, &studies, &commits)?;
    skip(&mut file, &skipped);
    let mut search = Search {
        studies,
        commits,
        is_quiet: flags.output.quiet,
        took: Vec::new(),
    };
    let ended = loop {
        match search.step(&mut file) {
            Ok(Some(conclusion)) => break Ok(conclusion),
            Ok(None) => file.save()?,
            Err(stopped) => break Err(stopped),
        }
    };
    file.record.conclusion = ended.as_ref().ok().cloned();
    file.save()?;
    finish(ended, &file, &flags.output)
}

/// Records the commits to leave out, each once.
fn skip(file: &mut SearchFile, places: &[usize]) {
    let trials = &mut file.record.trials;
    for place in places {
        if trials.iter().all(|trial| trial.position != *place) {
            trials.push(skipped(*place, "--skip".to_owned()));
        }
    }
}

fn skipped(position: usize, why: String) -> TrialRecord {
    TrialRecord {
        position,
        outcome: TrialOutcome::Skipped,
        why: Some(why),
        ratios: BlockRatios::default(),
        record: None,
    }
}

/// Prints the result, and returns how the command ends.
fn finish(
    ended: Result<BisectConclusion, Stopped>,
    file: &SearchFile,
    flags: &OutputFlags,
) -> Result<End, Failure> {
    let end = match ended {
        Ok(BisectConclusion::Culprit { .. }) => End::Done,
        Ok(_) => End::NoClaim,
        Err(Stopped::Interrupted) => End::Interrupted,
        Err(Stopped::Failed(failure)) => return Err(failure),
    };
    history::note(file.store());
    let confirmed = saved::confirmed(&file.record);
    let text = abx_report::bisect_text(&file.record, confirmed.as_ref(), &output::style(flags));
    output::print(&text, &file.record, flags)?;
    if !flags.quiet || file.store().moved().is_some() {
        history::print_place(file.store());
    }
    Ok(end)
}

/// The state of a search.
struct Search<'a> {
    studies: CommitStudies<'a>,
    commits: Commits<'a>,
    is_quiet: bool,
    /// How long each step took in which a commit was measured.
    took: Vec<Duration>,
}

/// Why a search does not continue.
enum Stopped {
    Interrupted,
    Failed(Failure),
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Stopped {
        Stopped::Failed(failure)
    }
}

impl From<RevisionError> for Stopped {
    fn from(error: RevisionError) -> Stopped {
        match error {
            RevisionError::Interrupted => Stopped::Interrupted,
            error => Stopped::Failed(Failure::usage(error)),
        }
    }
}

impl From<NotCompared> for Stopped {
    fn from(error: NotCompared) -> Stopped {
        match error {
            NotCompared::Interrupted => Stopped::Interrupted,
            NotCompared::Subject { why, .. } => Stopped::Failed(Failure::usage(why)),
            NotCompared::Failed(failure) => Stopped::Failed(failure),
        }
    }
}

impl Search<'_> {
    /// Does the next step. Returns the conclusion if the search has ended.
    fn step(&mut self, file: &mut SearchFile) -> Result<Option<BisectConclusion>, Stopped> {
        match file.record.next_task().map_err(Failure::no_claim)? {
            BisectTask::CompareEnds => {
                file.record.ends = Some(self.compare_ends()?);
                self.notify(&abx_report::bisect_line(&file.record, self.each_step()));
            }
            BisectTask::Try { position, test } => {
                let began = Instant::now();
                let trial = self.try_commit(position, &test)?;
                if trial.why.is_none() {
                    self.took.push(began.elapsed());
                }
                file.record.trials.push(trial);
                self.notify(&abx_report::bisect_line(&file.record, self.each_step()));
            }
            BisectTask::Confirm { position } => {
                file.record.confirmation = Some(self.confirm(position)?);
            }
            BisectTask::Ended(conclusion) => return Ok(Some(conclusion)),
        }
        Ok(None)
    }

    fn compare_ends(&self) -> Result<EndsRecord, Stopped> {
        let margin = self.studies.margin;
        let (good, bad) = (self.server(0)?, self.server(self.commits.last())?);
        let enough = |logs: &[f64]| are_ends_known(logs, margin);
        let (logs, compared) = self.compare_pair([good, bad], true, &enough)?;
        if logs.is_empty() {
            return Err(no_ratio(&compared).into());
        }
        Ok(EndsRecord {
            ratios: BlockRatios::of_logs(&logs),
            record: compared.id,
        })
    }

    /// Compares a commit with GOOD. One that cannot be built or does not start is skipped.
    fn try_commit(&self, position: usize, test: &EndTest) -> Result<TrialRecord, Stopped> {
        let good = self.server(0)?;
        let server = match self.server(position) {
            Ok(server) => server,
            Err(RevisionError::Interrupted) => return Err(Stopped::Interrupted),
            Err(error) => return Ok(skipped(position, error.to_string())),
        };
        let name = server.subject.name.clone();
        let decided = |logs: &[f64]| test.decide(logs).unwrap_or(StepDecision::Continue);
        let enough = |logs: &[f64]| decided(logs) != StepDecision::Continue;
        match self.compare_pair([good, server], false, &enough) {
            Ok((logs, compared)) if logs.is_empty() => {
                Ok(skipped(position, no_ratio(&compared).message))
            }
            Ok((logs, compared)) => Ok(TrialRecord {
                position,
                outcome: TrialOutcome::of(decided(&logs)),
                why: None,
                ratios: BlockRatios::of_step(&logs, test),
                record: Some(compared.id),
            }),
            Err(NotCompared::Subject { name: failed, why }) if failed == name => {
                Ok(skipped(position, why))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Compares two builds of a commit with two builds of its parent.
    fn confirm(&self, position: usize) -> Result<Confirmation, Stopped> {
        let (studies, margin) = (&self.studies, self.studies.margin);
        self.notify(&format!(
            "Confirming the commit that is left, with {BUILDS} builds of it and of its parent"
        ));
        let (parent, pairs) = self.commits.twice(position, &studies.launch())?;
        let [parents, commits] = [0, 1].map(|side| {
            let names = pairs.iter().map(|pair| pair[side].subject.name.clone());
            names.collect::<Vec<String>>()
        });
        let builds: Vec<[usize; 2]> = (0..BUILDS)
            .flat_map(|build| (0..BUILDS).map(move |parent_build| [build, parent_build]))
            .collect();
        let contrasts: Vec<Contrast> = builds
            .iter()
            .map(|[build, parent_build]| Contrast {
                subject: commits[*build].clone(),
                baseline: parents[*parent_build].clone(),
                loads: Vec::new(),
                question: None,
            })
            .collect();
        let logs = |record: &StudyRecord| -> Vec<Vec<f64>> {
            contrasts
                .iter()
                .map(|contrast| block_log_ratios(record, studies.metric, contrast.pair()))
                .collect()
        };
        let until = |record: &StudyRecord| are_builds_known(&logs(record), margin);
        let servers = pairs.iter().flatten();
        let compared = studies.compare(CommitQuestion {
            subjects: servers.map(|server| server.subject.clone()).collect(),
            contrasts: contrasts.clone(),
            fewest: BLOCKS_FOR_VERDICT as u32,
            has_ceiling: false,
            // The ends are sampled too, so that a machine that forbids it is known at once.
            may_sample: true,
            until: &until,
        })?;
        let logs = logs(&compared.record);
        if logs.iter().any(Vec::is_empty) {
            return Err(no_ratio(&compared).into());
        }
        let pairs = builds
            .iter()
            .zip(&logs)
            .map(|([build, parent_build], logs)| BuildPair {
                build: build + 1,
                parent_build: parent_build + 1,
                ratios: BlockRatios::of_logs(logs),
            });
        Ok(Confirmation {
            parent,
            pairs: pairs.collect(),
            record: compared.id,
        })
    }

    /// Compares two servers until the blocks are enough. Returns the log ratio of the second server
    /// to the first in each block.
    fn compare_pair(
        &self,
        servers: [CommitServer; 2],
        are_ends: bool,
        enough: &dyn Fn(&[f64]) -> bool,
    ) -> Result<(Vec<f64>, ComparedCommits), NotCompared> {
        let subjects = servers.each_ref().map(|server| server.subject.clone());
        let pair = [&subjects[1].name, &subjects[0].name].map(String::clone);
        let logs = |record: &StudyRecord| {
            let names = pair.each_ref().map(String::as_str);
            block_log_ratios(record, self.studies.metric, names)
        };
        let fewest = if are_ends {
            BLOCKS_FOR_VERDICT
        } else {
            STEP_BLOCKS_MIN
        };
        let compared = self.studies.compare(CommitQuestion {
            subjects: subjects.into(),
            contrasts: Vec::new(),
            fewest: fewest as u32,
            has_ceiling: are_ends,
            may_sample: are_ends,
            until: &|record| enough(&logs(record)),
        })?;
        Ok((logs(&compared.record), compared))
    }

    fn server(&self, place: usize) -> Result<CommitServer, RevisionError> {
        self.commits.server(place, self.studies.launch())
    }

    /// How long a step takes on average; `None` before the first one.
    fn each_step(&self) -> Option<Duration> {
        let count = u32::try_from(self.took.len()).ok()?;
        let total: Duration = self.took.iter().sum();
        total.checked_div(count)
    }

    fn notify(&self, line: &str) {
        if !self.is_quiet && !line.is_empty() {
            notify(line);
        }
    }
}

/// The failure if the comparison of commits has no ratio.
fn no_ratio(compared: &ComparedCommits) -> Failure {
    let findings = &compared.record.conclusions.validity.findings;
    Failure::no_claim(format!(
        "no ratio by this metric: {}. `abx report {}` prints the whole comparison",
        abx_report::no_claim_line(findings, &[]).trim_end_matches('.'),
        compared.id
    ))
}
