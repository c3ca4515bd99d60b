//! Measures one server under one load: a study of one subject in one block, without a pilot or a
//! comparison.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use abx_engine::{LoadGenerator, ReportedInterval, SliceEnd, Stopper};
use abx_evidence::record::{
    BlockLoad, BlockRecord, BlockSubject, Interleave, PilotRecord, Round, SliceRecord, StudyEnd,
    SubjectReadings,
};
use abx_evidence::{Measured, SliceTally};
use abx_sys::Nanos;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::measure::block::SubjectRun;
use crate::measure::host::processors::canaries;
use crate::measure::running_subjects::Abort;
use crate::process::pending::Pending;
use crate::run_study::block::start_block::StartedBlock;
use crate::run_study::context::{PrepareError, StudyContext};
use crate::run_study::study_record::{new_record, note_responses};
use abx_study::{PilotEffort, Study};

/// The plan of a run.
#[derive(Debug, Clone)]
pub struct RunPlan {
    /// One server under one load.
    pub study: Study,
    pub end: RunEnd,
    /// How long the load is sent before anything counts.
    pub warm_up: Duration,
}

/// When a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// After this time.
    After(Duration),
    /// After this many requests.
    AfterRequests(u64),
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("{0}")]
    Prepare(#[from] PrepareError),
    #[error("{0}")]
    Abort(#[from] Abort),
}

/// The progress of a run.
#[derive(Debug)]
pub enum RunProgress<'a> {
    Pending(Pending<'a>),
    /// The figures of the generator's workers in the last intervals.
    Intervals(&'a [ReportedInterval]),
}

/// The environment of a run.
pub struct RunEnvironment<'a> {
    /// The version of abx, for the record.
    pub version: &'a str,
    /// Receives a handle that stops the run.
    pub on_stopper: &'a mut dyn FnMut(Stopper),
    /// Receives the progress several times per second; `None` without a display.
    pub watch: Option<&'a mut dyn FnMut(RunProgress)>,
    /// The generator of the load; `None` for threads of this process.
    pub generator: Option<Box<dyn LoadGenerator>>,
}

impl RunEnd {
    /// The initial length of the intervals of the run's course: 100 ms, or a hundredth of a run
    /// shorter than 10 s, so that its start can be compared with the rest.
    #[must_use]
    pub fn interval(self) -> Duration {
        match self {
            RunEnd::After(span) => (span / 100).clamp(INTERVAL_MIN, INTERVAL_MAX),
            RunEnd::AfterRequests(_) => INTERVAL_MAX,
        }
    }
}

const INTERVAL_MIN: Duration = Duration::from_millis(10);
const INTERVAL_MAX: Duration = Duration::from_millis(100);

/// Loads one server once.
///
/// # Errors
/// [`RunError`] if nothing was measured. Failures under load are in the record.
pub fn run(plan: RunPlan, environment: RunEnvironment) -> Result<Measured, RunError> {
    let planned = planned(plan.end, plan.warm_up);
    let study = study(plan);
    let is_watched = environment.watch.is_some();
    let watch = RefCell::new(environment.watch);
    let notify = |progress: RunProgress| {
        if let Some(watch) = watch.borrow_mut().as_mut() {
            watch(progress);
        }
    };
    let on_pending = |pending: Pending| notify(RunProgress::Pending(pending));
    let on_intervals = |intervals: &[ReportedInterval]| notify(RunProgress::Intervals(intervals));
    // Nothing is started, so nothing needs a keeper.
    let program = PathBuf::new();
    let mut context = match environment.generator {
        Some(generator) => StudyContext::prepare_elsewhere(&study, program, &[], generator)?,
        None => StudyContext::prepare(&study, program, &[])?,
    };
    context.on_pending = &on_pending;
    let stopper = context.generator.stopper();
    (environment.on_stopper)(stopper.clone());
    let mut measured = new_record(&study, environment.version, &context);
    let mut random = ChaCha8Rng::seed_from_u64(study.seed);
    let mut started = context.start_block(&mut random)?;
    started.running.on_intervals =
        is_watched.then_some(&on_intervals as &dyn Fn(&[ReportedInterval]));
    let began = Instant::now();
    note_responses(&mut measured, &started.running.names, &started.loads);
    for (load, plans) in measured.loads.iter_mut().zip(&started.loads) {
        load.settings.bodies_compared = plans.bodies_compared;
    }
    measured.loads[0].pilot = Some(planned.pilot.clone());
    if study.loads[0].shape.hold_ns().is_none() {
        // This process reads the results of held connections itself.
        let result = started.running.generator.keep(&measured);
        result.map_err(Abort::from)?;
    }
    let block = block(started, &study.loads[0].name, &planned, &mut random)?;
    measured.blocks.push(BlockRecord {
        seed: study.seed,
        ..block
    });
    measured.elapsed_s = began.elapsed().as_secs_f64();
    measured.fleet = context.generator.fleet();
    measured.end = if stopper.is_stopped() {
        StudyEnd::Interrupted
    } else {
        StudyEnd::Blocks
    };
    Ok(measured)
}

/// The record of a run that agents measured without this process: `measured` is its record before
/// the load, and `slice` the result of the load. `None` if it was no run.
#[must_use]
pub fn collected_run(mut measured: Measured, slice: SliceTally) -> Option<Measured> {
    let ([subject], [load]) = (&measured.subjects[..], &measured.loads[..]) else {
        return None;
    };
    let connected_to = subject.connected_to.as_deref();
    let address = connected_to.and_then(|text| text.parse::<SocketAddr>().ok());
    let subject = subject.name.clone();
    let mut record = SliceRecord::of(&subject, &slice);
    record.clocks = Some(slice.tally.clocks);
    measured.elapsed_s = slice.wall_ns as f64 / 1e9;
    let course = slice.tally.course.as_ref();
    let course = course.map(|course| (subject.clone(), course.finish()));
    let part = BlockLoad {
        load: load.name.clone(),
        rounds: vec![Round {
            disturbed: Vec::new(),
            slices: vec![record],
        }],
        courses: course.into_iter().collect(),
        ledgers: BTreeMap::new(),
        histograms: BTreeMap::from([(subject.clone(), slice.tally.times)]),
        sides: BTreeMap::from([(subject.clone(), SubjectReadings::default())]),
    };
    let block_subject = BlockSubject {
        port: address.map_or(0, |address| address.port()),
        end: "is not known".to_owned(),
        ..BlockSubject::default()
    };
    measured.blocks = vec![BlockRecord {
        seed: measured.seed,
        complete: true,
        order: vec![subject.clone()],
        subjects: BTreeMap::from([(subject, block_subject)]),
        loads: vec![part],
        ..BlockRecord::default()
    }];
    Some(measured)
}

/// A run as a study of one block.
fn study(plan: RunPlan) -> Study {
    Study {
        budget: match plan.end {
            RunEnd::After(span) => Some(span.saturating_add(plan.warm_up)),
            RunEnd::AfterRequests(_) => None,
        },
        blocks: Some(1),
        rounds: Some(1),
        interleave: Interleave::Trials,
        pilot: PilotEffort::Brief,
        ..plan.study
    }
}

/// The only slice of a run.
struct PlannedSlice {
    end: SliceEnd,
    /// The initial length of the intervals of its course.
    interval: Duration,
    /// The settings that a pilot would have chosen for it.
    pilot: PilotRecord,
}

fn planned(run_end: RunEnd, warm_up: Duration) -> PlannedSlice {
    let (end, slice_ns, slice_requests) = match run_end {
        RunEnd::After(span) => {
            let ns = Nanos::from(span).0;
            (SliceEnd::AfterNs(ns), ns, None)
        }
        RunEnd::AfterRequests(count) => (SliceEnd::AfterRequests(count), 0, Some(count)),
    };
    let pilot = PilotRecord {
        interleave: Interleave::Trials,
        interleave_reason: None,
        slice_ns,
        slice_requests,
        discard_ns: 0,
        slice_reason: None,
        rounds: 1,
        shortened: false,
        warm_up_ns: Nanos::from(warm_up).0,
        subjects: Default::default(),
    };
    PlannedSlice {
        end,
        interval: run_end.interval(),
        pilot,
    }
}

fn block(
    started: StartedBlock,
    load: &str,
    planned: &PlannedSlice,
    random: &mut ChaCha8Rng,
) -> Result<BlockRecord, Abort> {
    let StartedBlock {
        mut running,
        order,
        loads,
        ..
    } = started;
    let speeds = running.meter.processors.speeds();
    let programs = running.meter.other_programs();
    let mut run = SubjectRun::new(load, &mut running, &loads[0], &planned.pilot, random);
    run.once(planned.end, planned.interval)?;
    let part = run.result;
    let other_programs = running.meter.other_programs().since(&programs);
    Ok(BlockRecord {
        // A run that is stopped counts up to then.
        complete: true,
        order,
        canaries: canaries(&speeds, &running.meter.processors.speeds()),
        other_programs,
        subjects: running.stop_all(None).into_iter().collect(),
        loads: vec![part],
        ..BlockRecord::default()
    })
}
