//! Comparisons of commits, each a study of its own.

use std::cell::Cell;

use abx_engine::schedule::Arrivals;
use abx_evidence::record::Contrast;
use abx_lab::revisions::server_command;
use abx_lab::{
    Abort, Launch, Load, PilotEffort, Source, Store, Study, StudyEnvironment, StudyError,
    StudyOutcome, Subject, WaitChoice, run_study,
};
use abx_stats::Margin;
use abx_verdict::{Metric, StudyRecord};

use super::flags::Bisect;
use crate::commands::compare::PilotName;
use crate::commands::history;
use crate::flags::build::failure;
use crate::flags::metric::MetricName;
use crate::ui::end::{Failure, notify};
use crate::ui::invocation::{self, own_program};
use crate::ui::signals::Interruption;
use crate::ui::watch::Watch;

/// The common settings of all comparisons of one search.
pub struct CommitStudies<'a> {
    flags: &'a Bisect,
    interruption: &'a Interruption,
    launch: Launch,
    loads: Vec<Load>,
    pub metric: Metric,
    pub margin: Margin,
    seed: u64,
    /// How many comparisons have begun: each has its own seed.
    number: Cell<u64>,
}

/// Commits that were compared.
pub struct ComparedCommits {
    pub record: StudyRecord,
    /// The id of its record.
    pub id: String,
}

/// Why commits could not be compared.
pub enum NotCompared {
    /// The server of this name does not start, or does not respond as the others do.
    Subject {
        name: String,
        why: String,
    },
    Interrupted,
    Failed(Failure),
}

/// What one study compares, and when it ends.
pub struct CommitQuestion<'a> {
    /// The first is the baseline.
    pub subjects: Vec<Subject>,
    /// The pairs to compare; if empty, each subject is compared with the baseline.
    pub contrasts: Vec<Contrast>,
    /// The fewest blocks that the study takes.
    pub fewest: u32,
    /// Whether the generator's ceiling is measured, which is the same for all commits.
    pub has_ceiling: bool,
    /// Whether the servers are sampled if the flags request that.
    pub may_sample: bool,
    pub until: &'a dyn Fn(&StudyRecord) -> bool,
}

impl<'a> CommitStudies<'a> {
    /// The studies that the flags describe.
    pub fn of(
        flags: &'a Bisect,
        interruption: &'a Interruption,
    ) -> Result<CommitStudies<'a>, Failure> {
        let mut launch = server_command(&flags.server).map_err(failure)?;
        let source = Source::Command(launch.clone());
        let loads = loads(flags, &Subject::new("server".to_owned(), source))?;
        launch.ready.within = flags.ready_within.unwrap_or(launch.ready.within);
        launch.stop.within = flags.stop_within.unwrap_or(launch.stop.within);
        Ok(CommitStudies {
            flags,
            interruption,
            launch,
            metric: metric(flags, &loads)?,
            loads,
            margin: flags.by.unwrap_or(Margin::DEFAULT),
            seed: flags.generator.seed(),
            number: Cell::new(0),
        })
    }

    /// How to start the server of any commit, still without the folder of its build.
    pub fn launch(&self) -> Launch {
        self.launch.clone()
    }

    /// The settings that distinguish searches among the same commits.
    pub fn described(&self) -> String {
        format!("{:?} {} {:?}", self.metric, self.margin.share(), self.loads)
    }

    /// Compares commits until the question is settled, or the budget is used up.
    pub fn compare(&self, question: CommitQuestion) -> Result<ComparedCommits, NotCompared> {
        let number = self.number.replace(self.number.get() + 1);
        let has_ceiling = question.has_ceiling && !self.flags.no_ceiling;
        let ceiling = has_ceiling.then(invocation::ceiling_server).transpose();
        let study = Study {
            ceiling: ceiling.map_err(NotCompared::Failed)?,
            why: self.flags.why && question.may_sample,
            ..self.study(question.subjects, question.contrasts, number)
        };
        let mut store = Store::for_new_record("bisect", study.seed);
        let quiet = self.flags.output.quiet;
        let mut watch = Watch::new(quiet, study.budget(), Some(question.fewest), &[]);
        let outcome = run_study(
            &study,
            StudyEnvironment {
                program: own_program().map_err(NotCompared::Failed)?,
                keeper_arguments: &["keeper"],
                store: &mut store,
                watch: &mut |progress| watch.see(&progress),
                on_stopper: &mut |stopper| self.interruption.stops(&stopper),
                version: env!("CARGO_PKG_VERSION"),
                limits: &[],
                until: Some(question.until),
                generator: None,
                resumed: None,
            },
        );
        watch.finish();
        let StudyOutcome { record, error } = outcome.map_err(not_compared)?;
        if let Some(why) = store.moved() {
            notify(&format!("abx: {why}"));
        }
        match error {
            Some(error) => Err(not_compared(error)),
            None => {
                history::note(&store);
                let id = history::name_of(&store);
                Ok(ComparedCommits { record, id })
            }
        }
    }

    fn study(&self, subjects: Vec<Subject>, contrasts: Vec<Contrast>, number: u64) -> Study {
        let flags = self.flags;
        let baseline = subjects.first().cloned();
        let baseline = baseline.expect("a comparison has a baseline");
        Study {
            subjects,
            contrasts,
            margin: self.margin,
            budget: flags.budget,
            slice: flags.slice,
            rounds: flags.rounds,
            local_addresses: flags.generator.local_address.clone(),
            threads: flags.generator.threads.map(usize::from),
            wait: flags.generator.wait().unwrap_or(WaitChoice::Auto),
            label: flags.label.text(),
            pilot: flags.pilot.map_or(PilotEffort::Usual, PilotName::effort),
            ..Study::of_one(
                baseline,
                self.loads.clone(),
                self.seed.wrapping_add(number),
                invocation::recorded(),
            )
        }
    }
}

/// The one load of a search.
fn loads(flags: &Bisect, subject: &Subject) -> Result<Vec<Load>, Failure> {
    if flags.load.stages_last().is_some() {
        return Err(Failure::usage(
            "stages take longer than a slice lasts: give `abx bisect` one number of connections, or \
             one rate",
        ));
    }
    let scheme = flags.load.shape.scheme(std::slice::from_ref(subject))?;
    let loads = flags.load.loads(scheme, false, None)?;
    match &loads[..] {
        [load] if load.rate.is_unresolved() => Err(Failure::usage(
            "a rate that abx has to find would differ from commit to commit: give one in requests \
             per second, such as `-r 2000`",
        )),
        [_] => Ok(loads),
        _ => Err(Failure::usage(
            "`abx bisect` searches under one load: give one number of connections and one rate",
        )),
    }
}

/// The metric to compare, if this load has it.
fn metric(flags: &Bisect, loads: &[Load]) -> Result<Metric, Failure> {
    let mut loads = loads.iter();
    let is_open = loads.any(|load| load.pacing.arrivals != Arrivals::Closed);
    match (flags.metric, is_open) {
        (None, false) => Ok(Metric::Throughput),
        (None, true) => Ok(Metric::ResponseP99),
        (Some(MetricName::P99), false) => Err(Failure::usage(
            "--metric p99 needs a rate, because without one a slower server is sent fewer requests: \
             add `-r RATE`, which every commit can serve",
        )),
        (Some(MetricName::Throughput), true) => Err(Failure::usage(
            "--metric throughput does not apply to a rate, which every commit serves alike: leave \
             -r out, or give --metric p99 or cpu",
        )),
        (Some(name), _) => Ok(name.metric()),
    }
}

fn not_compared(error: StudyError) -> NotCompared {
    match error {
        StudyError::Abort(Abort::Interrupted) => NotCompared::Interrupted,
        StudyError::Abort(Abort::Subject { name, error }) => NotCompared::Subject {
            name,
            why: error.to_string(),
        },
        error @ StudyError::Abort(Abort::Budget | Abort::NoRate { .. }) => {
            NotCompared::Failed(Failure::no_claim(error))
        }
        error => NotCompared::Failed(Failure::usage(error)),
    }
}
