//! Subjects that go on changing while they are measured.

use crate::record::Interleave;
use crate::record::finding::Finding;
use crate::record::finding_id::FindingId;
use crate::stats::paired::PairedMean;
use crate::stats::segments::{DRIFT_MAX, Segments, rise};
use crate::stats::stop::BLOCKS_ORDERED;
use crate::stats::student::Confidence;
use crate::view::sums::Sums;
use crate::view::{BlockView, SubjectView};

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

/// What each slice of a block gave, in their order.
fn rates(block: &BlockView) -> Vec<f64> {
    let rate = |slice| Sums::from(slice).throughput(&block.load.settings);
    block.slices().filter_map(rate).collect()
}
