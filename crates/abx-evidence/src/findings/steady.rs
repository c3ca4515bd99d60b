//! Subjects that go on changing while they are measured.

use crate::record::finding::Finding;
use crate::record::finding_id::FindingId;
use crate::record::{Interleave, SliceRecord};
use crate::view::sums::Sums;
use crate::view::{BlockView, OfferView, SubjectView};
use abx_stats::paired::PairedMean;
use abx_stats::series::segments::{DRIFT_MAX, Segments, rise};
use abx_stats::series::warm_up::warm_up;
use abx_stats::stop::BLOCKS_ORDERED;
use abx_stats::student::Confidence;

/// A start that changes the throughput of a run by less than this share is left as it is.
const WARM_UP_EFFECT_MIN: f64 = 0.01;

/// That a subject's throughput rises, or falls, within its blocks: most of them
/// are not steady, and their rise is the same way beyond chance. What the
/// machine does has no reason to go the same way in every block.
///
/// Method: PELT on the log rates of a block's slices, and a t interval over the
/// blocks' rises. Source: docs/statistics.md, "Steadiness".
pub(super) fn never_steady(subject_view: &SubjectView) -> Option<Finding> {
    let (load, subject) = (subject_view.load, subject_view.subject);
    let pilot = load.pilot.as_ref()?;
    if pilot.interleave != Interleave::Slices {
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
    let finding = Finding::new(FindingId::NeverSteady, message);
    Some(finding.about(subject).under(&load.name))
}

/// That a run counts a start which is worse than the rest.
///
/// Method: MSER-5 over the intervals of the run's course: of verified responses, or of median
/// response times if a rate sets the throughput. A throughput that rises by less than 1 %
/// without the start is left as it is. Source: docs/statistics.md, "Steadiness".
pub(super) fn warm_up_counted(subject: &SubjectView) -> Option<Finding> {
    let (load, sums) = (subject.load, &subject.sums);
    let is_saturating = load.settings.arrivals.is_saturating();
    let has_rate = load.settings.arrivals.rate_per_s.is_some();
    // A load that changes by itself has no level to settle at.
    if !(is_saturating || has_rate) || sums.paused_ns > 0 {
        return None;
    }
    let [block] = &subject.blocks[..] else {
        return None;
    };
    let course = block.course()?;
    // The last interval may be shorter than the others.
    let whole = usize::try_from(course.until_ns / course.interval_ns.max(1)).ok()?;
    let series: Vec<f64> = if is_saturating {
        course.ok.iter().take(whole).map(|ok| *ok as f64).collect()
    } else {
        let medians = course.p50_us.iter().take(whole);
        medians
            .map(|us| Some((*us)? as f64))
            .collect::<Option<_>>()?
    };
    let bins = warm_up(&series).ok()?.bins;
    let (start, rest) = series.split_at_checked(bins).filter(|_| bins > 0)?;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let (ratio, without) = (mean(start) / mean(rest), mean(rest) / mean(&series));
    // A start that is better than the rest is no warm-up.
    let is_worse = if is_saturating {
        ratio < 1.0 && (without - 1.0) >= WARM_UP_EFFECT_MIN
    } else {
        ratio > 1.0
    };
    let seconds = (course.interval_ns * bins as u64) as f64 / 1e9;
    let [what, way] = if is_saturating {
        ["the throughput", "lower"]
    } else {
        ["the median response time", "higher"]
    };
    let mut message = format!(
        "in the first {seconds:.2} s {what} was {:.0} % {way} than in the rest, and it counts",
        100.0 * (ratio - 1.0).abs()
    );
    if is_saturating {
        let change = 100.0 * (without - 1.0);
        message.push_str(&format!(": without it the throughput is {change:+.1} %"));
    }
    let remedy = format!(
        "leave the start out (`--warmup {}s`), or load for longer (`-d`)",
        seconds.ceil()
    );
    let finding = Finding::new(FindingId::WarmUpCounted, message).with_remedy(remedy);
    (ratio.is_finite() && is_worse).then(|| finding.about(subject.subject))
}

/// Subjects that had not settled when their warm-up was measured, with what changed in
/// the rounds that count.
pub(super) fn unsettled<'a>(view: &'a OfferView) -> impl Iterator<Item = Finding> + 'a {
    let subjects = view.load.pilot.iter().flat_map(|pilot| &pilot.subjects);
    let unsettled = subjects.filter(|(_, pilot_subject)| !pilot_subject.settled);
    unsettled.map(|(subject, pilot_subject)| {
        let change = view.subject(subject).and_then(change).unwrap_or_default();
        let seen = if pilot_subject.cut_short {
            "the pilot had no time to see {subject} settle, which may warm up"
        } else {
            "{subject} was still warming up when the pilot ended, and may do so"
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
fn change(subject: &SubjectView) -> Option<String> {
    if !subject.load.settings.arrivals.is_saturating() {
        return None;
    }
    let changes: Option<Vec<f64>> = subject.blocks.iter().map(late_over_early).collect();
    let interval = PairedMean::of(&changes?)
        .ok()?
        .interval(Confidence::COMPUTED);
    let percent = |log: f64| 100.0 * log.exp_m1();
    let way = if interval.center < 0.0 {
        "slower"
    } else {
        "faster"
    };
    let chance = if interval.excludes_zero() {
        ""
    } else {
        ", which may be chance"
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
