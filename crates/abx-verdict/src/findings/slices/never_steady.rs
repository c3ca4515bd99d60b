use crate::findings::prelude::*;
use crate::view::BlockView;
use crate::view::sums::Sums;
use abx_evidence::record::Interleave;
use abx_stats::paired::PairedMean;
use abx_stats::series::segments::{DRIFT_MAX, Segments, rise};
use abx_stats::stop::BLOCKS_ORDERED;
use abx_stats::student::Confidence;

rule! {
    in Subject |subject| never_steady(subject.view);
    NeverSteady [Note]
        "a subject gets faster, or slower, within its blocks, in the same direction in most of \
         them",
        "find out with `abx run URL -d 60s` when it settles, and use longer slices (`--slice`) or \
         `--interleave trials`";
}

/// Reports that a subject's throughput rises, or falls, within its blocks: most of them
/// are not steady, and they change in the same direction more often than by chance.
/// Changes of the machine have no reason to go the same way in every block.
///
/// Method: PELT on the log rates of a block's slices, and a t interval over the
/// blocks' rises. Source: docs/explain/statistics/curves.md, "Steadiness".
fn never_steady(subject_view: &SubjectView) -> Option<Finding> {
    let (load, subject) = (subject_view.load, subject_view.subject);
    let pilot = load.pilot.as_ref()?;
    if !load.settings.arrivals.is_saturating() || pilot.interleave != Interleave::Slices {
        return None;
    }
    let series: Vec<Vec<f64>> = subject_view.blocks.iter().map(rates).collect();
    if series.len() < BLOCKS_ORDERED {
        return None;
    }
    let is_restless =
        |rates: &Vec<f64>| Segments::of(rates).is_ok_and(|segments| !segments.is_steady());
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
    Some(finding(message))
}

/// The throughput of each slice of a block, in order.
fn rates(block: &BlockView) -> Vec<f64> {
    let rate = |slice| Sums::from(slice).throughput(&block.load.settings);
    block.slices().filter_map(rate).collect()
}
