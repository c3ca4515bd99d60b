//! Faults by subject and block: the requests that each cost, and the time to recovery.

use abx_evidence::record::{FaultRecord, FaultSlice, LeftOut, Measured};
use abx_evidence::sum;

/// One fault of a study.
pub(crate) struct FaultView<'a> {
    pub(crate) study: &'a Measured,
    pub(crate) fault: &'a FaultRecord,
    /// The time between two requests of its load.
    interval_ns: f64,
}

/// The effect of one fault on one subject in one block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FaultToll {
    /// Requests that it could affect.
    pub(crate) due: u64,
    /// Requests without a correct response.
    pub(crate) lost: u64,
    /// Requests whose correct response was late.
    pub(crate) delayed: u64,
    /// Requests that were lost or delayed before the fault.
    pub(crate) before: u64,
    pub(crate) recovery: Recovery,
    /// Whether as many processes ran at the end as before.
    pub(crate) is_back: bool,
}

/// The time to recovery.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Recovery {
    /// From the fault to the last request that was lost or delayed, in seconds.
    After(f64),
    /// Before the next request, so at most the time between two requests, in seconds.
    Unseen(f64),
    NotWithin,
}

impl Recovery {
    pub(crate) fn s(self) -> Option<f64> {
        match self {
            Recovery::After(s) | Recovery::Unseen(s) => Some(s),
            Recovery::NotWithin => None,
        }
    }
}

impl FaultToll {
    /// Whether any request was lost or delayed.
    pub(crate) fn is_felt(&self) -> bool {
        self.lost.max(self.delayed) > 0
    }
}

/// A subject has recovered if nothing is lost or delayed in this last part of the time after a
/// fault, and for at least this many requests.
const CALM_PART: f64 = 0.1;
const CALM_REQUESTS: f64 = 10.0;

impl<'a> FaultView<'a> {
    pub(crate) fn all(study: &'a Measured) -> impl Iterator<Item = FaultView<'a>> {
        study.faults.iter().map(move |fault| FaultView {
            study,
            fault,
            interval_ns: interval_ns(study, fault),
        })
    }

    /// Why a subject is left out of the fault.
    pub(crate) fn left_out(&self, subject: &str) -> Option<&'a LeftOut> {
        let mut left_outs = self.fault.left_out.iter();
        left_outs.find(|left_out| left_out.subject == subject)
    }

    /// The slices of a subject: one per complete block.
    pub(crate) fn slices(
        &self,
        subject: &'a str,
    ) -> impl Iterator<Item = Option<&'a FaultSlice>> + use<'a> {
        let name = self.fault.name.as_str();
        self.study.complete_blocks().map(move |block| {
            let mut slices = block.faults.iter();
            slices.find(|slice| slice.fault == name && slice.subject == subject)
        })
    }

    /// The tolls of a subject: one per complete block; `None` if the fault was not injected.
    pub(crate) fn tolls(&self, subject: &'a str) -> Vec<Option<FaultToll>> {
        // A subject that failed in some block has no toll.
        let is_void = self.left_out(subject).is_some();
        self.slices(subject)
            .map(|slice| self.toll(slice.filter(|_| !is_void)?))
            .collect()
    }

    fn toll(&self, slice: &FaultSlice) -> Option<FaultToll> {
        let struck_ns = slice.struck_ns?;
        // A request that had waited for longer at the time of the fault was already late.
        let from_ns = struck_ns.saturating_sub(self.fault.delayed_after_ns);
        let timeline = &slice.timeline;
        let lost = timeline.from(from_ns, |timeline| &timeline.failed);
        let delayed = timeline.from(from_ns, |timeline| &timeline.delayed);
        let total = sum([
            timeline.from(0, |timeline| &timeline.failed),
            timeline.from(0, |timeline| &timeline.delayed),
        ]);
        let before = total.saturating_sub(lost).saturating_sub(delayed);
        Some(FaultToll {
            due: timeline.from(from_ns, |timeline| &timeline.due),
            lost,
            delayed,
            before,
            recovery: self.recovery(struck_ns, timeline.last_disturbed_ns),
            is_back: slice.processes_after >= slice.processes_before,
        })
    }

    fn recovery(&self, struck_ns: u64, last_disturbed_ns: Option<u64>) -> Recovery {
        let last = last_disturbed_ns.unwrap_or_default();
        let took_ns = last.saturating_sub(struck_ns) as f64;
        let room_ns = self.fault.within_ns.saturating_sub(struck_ns) as f64;
        let calm_ns = (CALM_PART * room_ns).max(CALM_REQUESTS * self.interval_ns);
        if took_ns > room_ns - calm_ns {
            Recovery::NotWithin
        } else if took_ns > self.interval_ns {
            Recovery::After(took_ns / 1e9)
        } else {
            Recovery::Unseen(self.interval_ns / 1e9)
        }
    }
}

fn interval_ns(study: &Measured, fault: &FaultRecord) -> f64 {
    let load = study.load(&fault.load);
    let rate = load.and_then(|load| load.settings.arrivals.rate_per_s);
    rate.filter(|rate| *rate > 0.0)
        .map_or(0.0, |rate| 1e9 / rate)
}
