//! A run: a study of one subject under one load, in one slice of one block. Its file is that of
//! a study, with the only summary at the top.

use crate::judge::conclusions::Conclusions;
use crate::series::ResponseTimes;
use crate::view::summary::Summary;
use abx_evidence::record::{
    BlockLoad, BlockSubject, LoadRecord, Measured, PilotRecord, ResponseRecord, SliceRecord,
    StudyEnd, SubjectReadings, SubjectRecord,
};
use abx_evidence::{ArrivalKind, Course, share};

/// The schema that this version writes.
pub const RUN_SCHEMA: &str = "abx.run/2";
/// The older schema, in which `measured` is a separate key.
pub const OLD_RUN_SCHEMA: &str = "abx.run/1";

/// The parts of a study that is a run.
#[derive(Debug, Clone, Copy)]
pub struct RunView<'a> {
    pub measured: &'a Measured,
    pub conclusions: &'a Conclusions,
    pub subject: &'a SubjectRecord,
    pub load: &'a LoadRecord,
    /// The response before the load; `None` for a scenario, which runs a whole session before.
    pub response: Option<&'a ResponseRecord>,
    /// The plan of the run.
    pub pilot: &'a PilotRecord,
    pub life: &'a BlockSubject,
    pub part: &'a BlockLoad,
    pub readings: &'a SubjectReadings,
    pub slice: &'a SliceRecord,
    pub summary: &'a Summary,
}

impl<'a> RunView<'a> {
    /// The parts of a study if it is a run: one slice that no pilot has planned.
    pub(super) fn of(measured: &'a Measured, conclusions: &'a Conclusions) -> Option<RunView<'a>> {
        let ([subject], [load], [block], [summary]) = (
            &measured.subjects[..],
            &measured.loads[..],
            &measured.blocks[..],
            &conclusions.summaries[..],
        ) else {
            return None;
        };
        let [part] = &block.loads[..] else {
            return None;
        };
        let mut slices = part.rounds.iter().flat_map(|round| &round.slices);
        let slice = slices.next()?;
        let pilot = load.pilot.as_ref()?;
        let is_run = slices.next().is_none() && pilot.subjects.is_empty();
        is_run.then_some(RunView {
            measured,
            conclusions,
            subject,
            load,
            response: load.responses.get(&subject.name)?.first(),
            pilot,
            life: block.subjects.get(&subject.name)?,
            part,
            readings: part.sides.get(&subject.name)?,
            slice,
            summary,
        })
    }

    /// The URL.
    #[must_use]
    pub fn url(&self) -> &'a str {
        self.subject.address.as_deref().unwrap_or_default()
    }

    /// Whether it was stopped before its end.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.measured.end == StudyEnd::Interrupted
    }

    /// From the first send to the last outcome, in seconds.
    #[must_use]
    pub fn elapsed_s(&self) -> f64 {
        self.slice.wall_ns as f64 / 1e9
    }

    /// The time in seconds over which throughput is counted: in a closed loop the whole run; in
    /// an open loop its counted part, and at a constant rate at least one interval per counted
    /// response.
    #[must_use]
    pub fn counted_s(&self) -> f64 {
        let arrivals = &self.load.settings.arrivals;
        if !arrivals.is_open() || self.slice.measured_ns == 0 {
            return self.elapsed_s();
        }
        let constant = arrivals
            .rate_per_s
            .filter(|_| arrivals.kind == ArrivalKind::Constant);
        let intervals_s = constant.map_or(0.0, |per_s| self.slice.clocked as f64 / per_s);
        (self.slice.measured_ns as f64 / 1e9).max(intervals_s)
    }

    /// The share of one CPU that the generator's busiest worker used, without its busy waiting.
    #[must_use]
    pub fn generator_busy(&self) -> f64 {
        self.summary.generator_busy.unwrap_or_default()
    }

    /// The generator's CPU time per complete response, in µs.
    #[must_use]
    pub fn generator_cpu_us(&self) -> Option<f64> {
        share(self.slice.generator_cpu_ns, self.slice.completed).map(|ns| ns / 1e3)
    }

    /// The CPU time of the server in CPUs: 0.5 is half a CPU; `None` if not readable.
    #[must_use]
    pub fn server_busy(&self) -> Option<f64> {
        let cpu_ns = self.slice.server_cpu_ns?;
        Some(share(cpu_ns, self.slice.wall_ns).unwrap_or_default())
    }

    /// The course of the load over time; `None` if the record does not have it.
    #[must_use]
    pub fn course(&self) -> Option<&'a Course> {
        self.part.courses.values().next()
    }

    /// Its response times; `None` when none were counted.
    #[must_use]
    pub fn response_times(&self) -> Option<ResponseTimes> {
        let times = self.part.histograms.values().next()?;
        let has_times = !times.response.is_empty();
        has_times.then(|| ResponseTimes::of(&times.response, Some(&times.response_at_least)))
    }
}
