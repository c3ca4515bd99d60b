//! Findings about the slices of one subject under one load.

use crate::measure::share::share;
use crate::measure::times::Figure;
use crate::record::LoadRecord;
use crate::record::finding::{Finding, Level};
use crate::record::finding_id::FindingId;
use crate::view::SubjectView;
use crate::view::summary::Summary;
use abx_model::LoadShape;

/// Little's law may be off by this much before it is noted, and before it voids.
const LITTLE_NOTE: f64 = 0.03;
const LITTLE_VOID: f64 = 0.20;
/// Little's law, and a count beside the connections' own time, need slices of this many
/// response times.
const TURNS_MIN: f64 = 10.0;
/// Connections without a response in a slice, as a share.
const SILENT_NOTE: f64 = 0.01;
const SILENT_VOID: f64 = 0.10;
/// With so many requests the quantiles up to p99 have a request beyond them.
const TIMES_MIN: u64 = 100;
/// By so much two ways to count the same responses may differ from block to block.
const UNEVEN_MIN: f64 = 0.10;
/// So many responses on each of the others are no matter of a slice's length.
const LEFT_OUT_TURNS_MIN: f64 = 10.0;

/// Little's law: the requests that were in flight on average, by response times
/// and rate, against those that were asked for.
pub(super) fn little(subject_view: &SubjectView) -> Option<Finding> {
    let (load, subject, sums) = (subject_view.load, subject_view.subject, &subject_view.sums);
    if ends_by_number(load) {
        return None;
    }
    let asked = load.settings.exchange.in_flight(load.settings.connections) as f64;
    if turns(subject_view) < TURNS_MIN || sums.outcomes.completed() < sums.outcomes.sent() {
        return None;
    }
    // All requests that were sent within the window, over the window: what was
    // in flight at its start is missed, what is in flight at its end is in.
    let pilot = load.pilot.as_ref()?;
    let window_ns = sums
        .slices
        .saturating_mul(pilot.slice_ns.checked_sub(pilot.discard_ns)?);
    let busy = share(sums.response_ns_sum, window_ns)?;
    let least = load
        .settings
        .exchange
        .in_flight_least(load.settings.connections) as f64;
    // Fewer than asked for is another load. More is an effect of the slice's
    // edges: answers in flight at its end wait longer on a machine that is busy.
    let level = if busy < (1.0 - LITTLE_VOID) * least {
        Level::Void
    } else {
        Level::Note
    };
    let is_off = busy < (1.0 - LITTLE_NOTE) * least || busy > (1.0 + LITTLE_NOTE) * asked;
    is_off.then(|| {
        Finding::new(
            FindingId::LittleLaw,
            format!(
                "{subject} had {busy:.1} {} in flight on average (rate times mean response time) \
                 where {asked} were requested",
                load.settings.exchange.shape.units()
            ),
        )
        .at(level)
        .about(subject)
    })
}

/// Whether a block's responses over its counted time are another throughput than what the
/// connections' own clocks say, as where a subject serves one connection for long and then
/// the others: a slice then holds parts of such turns, by chance.
///
/// Method: the absolute difference of the two logarithms, a mean over blocks. Source:
/// docs/statistics.md, "The completion clock".
pub(super) fn uneven(subject_view: &SubjectView) -> Option<Finding> {
    let (load, subject) = (subject_view.load, subject_view.subject);
    let is_of_users = load.settings.exchange.shape == LoadShape::Scenario;
    if is_of_users || ends_by_number(load) || turns(subject_view) < TURNS_MIN {
        return None;
    }
    // A pause of abx itself delays every response, which is none of the subject's doing.
    let blocks = subject_view
        .blocks
        .iter()
        .filter(|block| block.sums.paused_ns == 0);
    let each = blocks.map(|block| {
        let counted = share(block.sums.outcomes.ok(), block.sums.measured_ns)? * 1e9;
        let differs = (block.throughput()? / counted).ln().abs();
        differs
            .is_finite()
            .then_some((differs, counted, block.throughput()?))
    });
    let each: Vec<(f64, f64, f64)> = each.collect::<Option<_>>()?;
    let sum: f64 = each.iter().map(|(differs, ..)| differs).sum();
    let (_, counted, clocked) = each
        .iter()
        .max_by(|parts, other| parts.0.total_cmp(&other.0))?;
    let message = format!(
        "what {subject} serves depends on how it is counted: in one block {counted:.0} {}/s came \
         in the counted time, and the connections' own time gives {clocked:.0}/s, as where a \
         server takes its connections in long turns",
        load.settings.exchange.shape.units()
    );
    let finding = Finding::new(FindingId::UnevenService, message).about(subject);
    (sum / each.len() as f64 > UNEVEN_MIN).then_some(finding)
}

/// Quantiles of a run's response times that are the time of its slowest request, since fewer
/// than one in so many requests may exceed them.
pub(super) fn few_times(subject: &SubjectView, summary: &Summary) -> Option<Finding> {
    let requests = subject.sums.outcomes.sent();
    if requests >= TIMES_MIN {
        return None;
    }
    let (lowest, _) = Figure::QUANTILES.into_iter().find(|(figure, share)| {
        let is_shown = summary.response_time_us.figure(*figure).is_some();
        is_shown && requests as f64 * (1.0 - share) < 1.0
    })?;
    let message = format!(
        "the response times from {} upwards are the slowest of only {requests} {}",
        lowest.name(),
        subject.load.settings.exchange.shape.units()
    );
    let finding = Finding::new(FindingId::FewTimes, message).of_times();
    Some(finding.about(subject.subject))
}

/// Connections on which no request ended in a slice. Where the others had many, the
/// subject left them out; where nobody had, the slice was too short to tell.
pub(super) fn silent(subject_view: &SubjectView) -> Option<Finding> {
    let (load, subject, sums) = (subject_view.load, subject_view.subject, &subject_view.sums);
    let connections = load.settings.connections;
    if load.settings.exchange.senders(connections) < connections || ends_by_number(load) {
        return None;
    }
    let chances = u64::from(connections) * sums.slices;
    let part = share(sums.silent, chances).filter(|part| *part > SILENT_NOTE)?;
    let others = chances.saturating_sub(sums.silent);
    let each = share(sums.outcomes.completed(), others).unwrap_or_default();
    let units = load.settings.exchange.shape.units();
    let left_out = match sums.slices {
        1 => format!("{} of {connections} connections", sums.silent),
        _ => format!(
            "{:.1} of {connections} connections in a slice (mean)",
            part * f64::from(connections)
        ),
    };
    let finding = if each >= LEFT_OUT_TURNS_MIN {
        Finding::new(
            FindingId::ConnectionsWithoutResponse,
            format!(
                "{subject} answered nothing on {left_out}, and {each:.0} {units} on each other"
            ),
        )
    } else {
        Finding::new(
            FindingId::SlicesTooShort,
            format!(
                "{subject} answered nothing on {left_out}, and only {each:.1} {units} on each other"
            ),
        )
    };
    let level = if part > SILENT_VOID {
        Level::Void
    } else {
        Level::Note
    };
    Some(finding.at(level).about(subject))
}

/// How many response times a slice holds: responses for each that may be in flight.
fn turns(subject: &SubjectView) -> f64 {
    let settings = &subject.load.settings;
    let asked = settings.exchange.in_flight(settings.connections) as f64;
    subject.sums.outcomes.completed() as f64 / (asked * subject.sums.slices.max(1) as f64)
}

/// Whether its end comes when connections have nothing more to send, each at its own time.
fn ends_by_number(load: &LoadRecord) -> bool {
    let pilot = load.pilot.as_ref();
    pilot.is_some_and(|pilot| pilot.slice_requests.is_some())
}
