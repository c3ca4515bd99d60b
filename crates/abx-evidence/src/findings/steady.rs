//! Subjects that go on changing while they are measured.

use crate::record::finding::Finding;
use crate::record::finding_id::FindingId;
use crate::record::{Interleave, SliceRecord};
use crate::stats::paired::PairedMean;
use crate::stats::segments::{DRIFT_MAX, Segments, rise};
use crate::stats::stop::BLOCKS_ORDERED;
use crate::stats::student::Confidence;
use crate::view::sums::Sums;
use crate::view::{BlockView, LoadView, SubjectView};

/// That a subject's throughput rises, or falls, within its blocks: most of them
/// are not steady, and their rise is the same way beyond chance. What the
/// machine does has no reason to go the same way in every block.
///
/// Method: PELT on the log rates of a block's slices, and a t interval over the
/// blocks' rises. Source: docs/statistics.md, "Steadiness".
pub(super) fn never_steady(own: &SubjectView) -> Option<Finding> {
    let (load, subject) = (own.load, own.subject);
    let pilot = load.pilot.as_ref()?;
    if pilot.interleave != Interleave::Slices {
        return None;
    }
    let series: Vec<Vec<f64>> = own.blocks.iter().map(rates).collect();
    if series.len() < BLOCKS_ORDERED {
        return None;
    }
    let is_restless = |rates: &Vec<f64>| Segments::of(rates).is_ok_and(|all| !all.is_steady());
    let restless = series.iter().filter(|rates| is_restless(rates)).count();
    let rises: Result<Vec<f64>, _> = series.iter().map(|rates| rise(rates)).collect();
    let mean = PairedMean::of(&rises.ok()?).ok()?;
    let interval = mean.interval(Confidence::COMPUTED);
    let is_certain = interval.low > DRIFT_MAX || interval.high < -DRIFT_MAX;
    if 2 * restless <= series.len() || !is_certain {
        return None;
    }
    let way = if interval.center > 0.0 {
        "faster"
    } else {
        "slower"
    };
    let message = format!(
        "{subject} keeps getting {way}, by {:.1} % within a block, and {restless} of {} blocks \
         are not steady: it had not settled",
        100.0 * interval.center.exp_m1().abs(),
        series.len()
    );
    let finding = Finding::new(FindingId::NeverSteady, message);
    Some(finding.about(subject).under(&load.name))
}

/// Subjects that had not settled when their warm-up was measured, with what changed in
/// the rounds that count.
pub(super) fn unsettled<'a>(view: &'a LoadView) -> impl Iterator<Item = Finding> + 'a {
    let subjects = view.load.pilot.iter().flat_map(|pilot| &pilot.subjects);
    let unsettled = subjects.filter(|(_, found)| !found.settled);
    unsettled.map(|(subject, found)| {
        let change = view.subject(subject).and_then(change).unwrap_or_default();
        let seen = match found.cut_short {
            true => "the pilot had no time to see {subject} settle, which may warm up",
            false => "{subject} was still warming up when the pilot ended, and may do so",
        };
        let seen = seen.replace("{subject}", subject);
        let message = format!("{seen} while it is measured{change}");
        let finding = Finding::new(FindingId::NotSettled, message);
        finding.about(subject).under(&view.load.name)
    })
}

/// What the last third of a subject's rounds gave beside the first; `None` where blocks
/// have too few rounds, or a rate sets what they give.
///
/// Method: the log ratio of their throughputs in each block, which starts afresh, and a t
/// interval over the blocks. Source: docs/statistics.md, "Steadiness".
fn change(own: &SubjectView) -> Option<String> {
    if !own.load.settings.arrivals.is_saturating() {
        return None;
    }
    let changes: Option<Vec<f64>> = own.blocks.iter().map(late_over_early).collect();
    let interval = PairedMean::of(&changes?)
        .ok()?
        .interval(Confidence::COMPUTED);
    let percent = |log: f64| 100.0 * log.exp_m1();
    let way = match interval.center < 0.0 {
        true => "slower",
        false => "faster",
    };
    let chance = match interval.excludes_zero() {
        true => "",
        false => ", which may be chance",
    };
    Some(format!(
        ": the last third of its rounds was {:.1} % {way} than the first ({:+.1} to {:+.1} \
         %){chance}",
        percent(interval.center).abs(),
        percent(interval.low),
        percent(interval.high)
    ))
}

/// The throughput of the last third of a block's slices over that of the first.
fn late_over_early(block: &BlockView) -> Option<f64> {
    let slices: Vec<&SliceRecord> = block.slices().collect();
    let third = slices.len() / 3;
    if third == 0 {
        return None;
    }
    let throughput = |slices: &[&SliceRecord]| {
        let sums: Sums = slices.iter().copied().collect();
        sums.throughput(&block.load.settings)
    };
    let late = throughput(&slices[slices.len() - third..])?;
    let early = throughput(&slices[..third])?;
    Some((late / early).ln())
}

/// What each slice of a block gave, in their order.
fn rates(block: &BlockView) -> Vec<f64> {
    let rate = |slice| Sums::from(slice).throughput(&block.load.settings);
    block.slices().filter_map(rate).collect()
}
