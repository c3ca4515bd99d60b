//! Findings about the pace of a load, the same for a run and for one subject of
//! a study: was what was due sent, was it sent in time, and which times rest on
//! requests that never had a response. [`Pace::findings`] is the list.

use crate::findings::bottleneck::GENERATOR_BUSY;
use crate::measure::arrivals::Offered;
use crate::measure::share::share;
use crate::measure::times::{Figure, Times};
use crate::record::finding::{Finding, Level};
use crate::record::finding_id::FindingId;
use crate::view::{OfferView, SubjectView};

/// The share of what was due that may be missing.
const MISSED_MAX: f64 = 0.01;
/// How late one send in a hundred may be, and its share of the median response time.
pub(super) const LATE_MAX_US: u64 = 1_000;
const LATE_SHARE_MAX: f64 = 0.10;
/// For how long the generator may not look at its clock, in one turn of a hundred.
const LAG_MAX_US: u64 = 1_000;
/// What touched this share of the sends, or took this share of the time, may be
/// why the latest send in a hundred was late.
const CAUSE_MIN: f64 = 0.01;

const ADD_THREAD: &str = "add a thread (`-t`) on a processor of its own, or lower the rate (`-r`)";
const ADD_CONNECTIONS: &str = "add connections (`-c`), or lower the rate (`-r`)";

/// How one server's load kept its pace.
pub(crate) struct Pace<'a> {
    pub(crate) who: &'a str,
    /// `None` in a closed loop.
    pub(crate) offered: Option<Offered>,
    /// Requests whose time is known only as "at least".
    pub(crate) without_response: u64,
    pub(crate) response: &'a Times,
    pub(crate) lateness: &'a Times,
    pub(crate) loop_lag: &'a Times,
    pub(crate) limits: PaceLimits,
}

/// What may hold a load back, as shares of the time; `None` when not readable.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PaceLimits {
    /// Whether the server was at its limit.
    pub(crate) is_subject_bound: bool,
    /// What the busiest worker used of its processor.
    pub(crate) generator: Option<f64>,
    /// For how long a worker was ready to run and did not.
    pub(crate) wait: Option<f64>,
    /// What the hypervisor took of our processors.
    pub(crate) steal: Option<f64>,
    /// For how long abx itself stood still.
    pub(crate) paused: Option<f64>,
}

impl Pace<'_> {
    /// All findings, in the order of their weight.
    pub(crate) fn findings(&self) -> impl Iterator<Item = Finding> {
        let findings = [
            self.not_reached(),
            self.queued(),
            self.late(),
            self.times_at_least(),
            self.loop_lag(),
        ];
        findings.into_iter().flatten()
    }

    /// The load was less than what was asked for.
    fn not_reached(&self) -> Option<Finding> {
        let offered = self.offered?;
        let missed = share(offered.unsent, offered.planned)?;
        let limits = &self.limits;
        let taken = limits.generator.unwrap_or_default() + limits.wait.unwrap_or_default();
        let is_generator = !limits.is_subject_bound && taken >= GENERATOR_BUSY;
        let (level, cause, remedy) = if is_generator {
            let cause = format!(
                "the generator used or waited for {:.0} % of its CPU",
                100.0 * taken
            );
            (Level::Bound, cause, ADD_THREAD)
        } else {
            let cause = "every connection was waiting for a response".to_owned();
            (Level::Note, cause, ADD_CONNECTIONS)
        };
        let message = format!(
            "{} of {} requests that were due to {} were never sent ({:.1} %): {cause}",
            offered.unsent,
            offered.planned,
            self.who,
            100.0 * missed
        );
        (missed > MISSED_MAX).then(|| {
            Finding::new(FindingId::OfferedRateNotReached, message)
                .at(level)
                .with_remedy(remedy)
        })
    }

    /// Requests waited for a connection: the server's doing, and what is measured.
    fn queued(&self) -> Option<Finding> {
        let offered = self.offered?;
        let queued = share(offered.queued, offered.sent).filter(|part| *part >= CAUSE_MIN)?;
        let message = format!(
            "{:.1} % of the requests to {} were due when every connection was in use, and had to \
             wait for one, which counts in response times but not in service times",
            100.0 * queued,
            self.who
        );
        Some(Finding::new(FindingId::Queued, message).of_times())
    }

    /// Sends were late by the generator's doing or the machine's, and why, as far
    /// as that is known.
    fn late(&self) -> Option<Finding> {
        self.offered?;
        let late_us = self.lateness.p99?;
        let near = self
            .response
            .p50
            .is_some_and(|median| late_us as f64 > LATE_SHARE_MAX * median as f64);
        if !(late_us > LATE_MAX_US || near) {
            return None;
        }
        let causes = self.causes();
        // Beside short response times any lateness is a large share.
        let level = if late_us > LATE_MAX_US {
            Level::Bound
        } else {
            Level::Note
        };
        let texts: Vec<String> = causes.iter().map(|cause| cause.text()).collect();
        let message = format!(
            "one send in 100 to {} was more than {} late, which counts in its response time: {}",
            self.who,
            span(late_us),
            texts.join(", and ")
        );
        let remedies: Vec<&str> = causes.iter().map(|cause| cause.remedy()).collect();
        let finding = Finding::new(FindingId::LateSends, message).at(level);
        Some(finding.with_remedy(remedies.join("; ")).of_times())
    }

    /// Whatever may have made one send in a hundred late.
    fn causes(&self) -> Vec<Cause> {
        let limits = &self.limits;
        let above = |part: Option<f64>, least: f64| part.filter(|part| *part >= least);
        let causes = [
            above(limits.generator, GENERATOR_BUSY).map(Cause::Generator),
            above(limits.wait, CAUSE_MIN).map(Cause::Wait),
            above(limits.steal, CAUSE_MIN).map(Cause::Steal),
            above(limits.paused, CAUSE_MIN).map(Cause::Paused),
        ];
        let known: Vec<Cause> = causes.into_iter().flatten().collect();
        if known.is_empty() {
            vec![Cause::Unknown]
        } else {
            known
        }
    }

    /// Quantiles that rest on requests without a response.
    fn times_at_least(&self) -> Option<Finding> {
        let bounded = Figure::QUANTILES.map(|(figure, _)| figure);
        let names: Vec<&str> = bounded
            .into_iter()
            .filter(|figure| self.response.is_at_least(*figure))
            .map(Figure::name)
            .collect();
        let unknown = UnknownTimes {
            requests: self.without_response,
            unsent: self.offered.map_or(0, |offered| offered.unsent),
        };
        let message = format!(
            "{}, so its {} {} at least what is shown",
            unknown.text(self.who),
            names.join(", "),
            if names.len() == 1 { "is" } else { "are" }
        );
        (!names.is_empty()).then(|| {
            let finding = Finding::new(FindingId::TimesAtLeast, message);
            unknown.remedied(finding).of_times()
        })
    }

    /// The generator itself was away from its clock.
    fn loop_lag(&self) -> Option<Finding> {
        let lag_us = self.loop_lag.p99?;
        let message = format!(
            "in one of 100 turns of its event loop the generator did not look at its clock for \
             more than {}, and the times of {} may be off by as much",
            span(lag_us),
            self.who
        );
        (lag_us > LAG_MAX_US).then(|| Finding::new(FindingId::LoopLag, message).of_times())
    }
}

/// What may have made sends late, with its share.
#[derive(Debug, Clone, Copy)]
enum Cause {
    Generator(f64),
    Wait(f64),
    Steal(f64),
    Paused(f64),
    Unknown,
}

impl Cause {
    fn text(self) -> String {
        match self {
            Cause::Generator(part) => {
                format!("the generator used {:.0} % of its CPU", 100.0 * part)
            }
            Cause::Wait(part) => format!(
                "the generator was ready to run and had to wait {:.1} % of the time",
                100.0 * part
            ),
            Cause::Steal(part) => format!(
                "the hypervisor gave the CPUs reserved for this measurement to others {:.1} % of \
                 the time",
                100.0 * part
            ),
            Cause::Paused(part) => {
                format!("abx itself was paused {:.1} % of the time", 100.0 * part)
            }
            Cause::Unknown => "the cause is not known".to_owned(),
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Cause::Generator(_) => ADD_THREAD,
            Cause::Wait(_) => "close other programs, or run on a machine of your own",
            Cause::Steal(_) => "run at a quieter time, or on a machine of your own",
            Cause::Paused(_) => "do not stop abx or suspend the machine during a measurement",
            Cause::Unknown => "lower the rate (`-r`), or run on a quieter machine",
        }
    }
}

/// In an open loop: that both of these subjects answered all that was offered,
/// so that their throughput is the load's and not theirs, and is not compared.
pub(crate) fn both_kept_up(view: &OfferView, [subject, baseline]: [&str; 2]) -> Option<Finding> {
    let load = view.load;
    let [this_offered, other] =
        [subject, baseline].map(|name| view.subject(name).and_then(kept_up));
    let offered = this_offered.zip(other)?.0;
    let rate = match load.settings.arrivals.rate_per_s {
        Some(rate) => format!("{rate}/s"),
        None => format!("all {} requests that were due", offered.planned),
    };
    let message = format!(
        "{subject} and {baseline} both kept up with {rate}: throughput tells nothing about them \
         here"
    );
    let finding = Finding::new(FindingId::BothKeptUp, message);
    Some(finding.about(subject).under(&load.name))
}

/// What an open loop offered to a subject that answered it; `None` when it did not.
pub(crate) fn kept_up(view: &SubjectView) -> Option<Offered> {
    let offered = view.offered()?;
    has_kept_up(&offered, view.sums.outcomes.ok()).then_some(offered)
}

/// Requests whose response time is unknown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnknownTimes {
    pub(crate) requests: u64,
    /// Those that were never sent.
    pub(crate) unsent: u64,
}

impl UnknownTimes {
    /// Those of a subject in all blocks.
    pub(crate) fn of(view: &SubjectView) -> UnknownTimes {
        let unsent = view.offered().map_or(0, |offered| offered.unsent);
        UnknownTimes {
            requests: view.sums.outcomes.without_response().saturating_add(unsent),
            unsent,
        }
    }

    /// What became of them, for a sentence that goes on.
    pub(crate) fn text(self, who: &str) -> String {
        let waiting = self.requests.saturating_sub(self.unsent);
        let requests = |count: u64| match count {
            1 => "1 request".to_owned(),
            _ => format!("{count} requests"),
        };
        match (self.unsent, waiting) {
            (0, waiting) => format!("{} to {who} had no response", requests(waiting)),
            (unsent, 0) => format!("abx never sent {} to {who}", requests(unsent)),
            (unsent, waiting) => format!(
                "abx never sent {} to {who}, and {} had no response",
                requests(unsent),
                waiting
            ),
        }
    }

    /// The finding with a remedy for the cause of most of them. More time to respond does not
    /// help requests that were never sent.
    pub(crate) fn remedied(self, finding: Finding) -> Finding {
        if 2 * self.unsent > self.requests {
            finding.with_remedy(ADD_CONNECTIONS)
        } else {
            finding
        }
    }
}

/// Whether a server answered what was offered, but for what may be missing.
/// `ok` are its verified responses. False when nothing was due.
fn has_kept_up(offered: &Offered, ok: u64) -> bool {
    // What was in flight at the end was not refused to anybody.
    let missed = offered
        .planned
        .saturating_sub(ok)
        .saturating_sub(offered.unfinished);
    share(missed, offered.planned).is_some_and(|missed| missed <= MISSED_MAX)
}

/// A time in µs as text.
pub(super) fn span(time_us: u64) -> String {
    match time_us {
        0..1_000 => format!("{time_us} µs"),
        1_000..1_000_000 => format!("{:.1} ms", time_us as f64 / 1e3),
        _ => format!("{:.1} s", time_us as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_times_name_what_became_of_their_requests_and_the_remedy_for_most() {
        // Method: unsent ones, unanswered ones, and both, of which more are unsent or fewer.
        let of = |requests, unsent| {
            let unknown = UnknownTimes { requests, unsent };
            let finding =
                unknown.remedied(Finding::new(FindingId::TimesAtLeast, unknown.text("a")));
            (finding.message, finding.remedy.contains("--timeout"))
        };
        let message = |text: &str, is_timeout| (text.to_owned(), is_timeout);
        assert_eq!(of(1, 1), message("abx never sent 1 request to a", false));
        assert_eq!(
            of(14_400, 0),
            message("14400 requests to a had no response", true)
        );
        let more_unsent = "abx never sent 1000 requests to a, and 26 had no response";
        assert_eq!(of(1_026, 1_000), message(more_unsent, false));
        let fewer_unsent = "abx never sent 2 requests to a, and 1000000 had no response";
        assert_eq!(of(1_000_002, 2), message(fewer_unsent, true));
    }
}
