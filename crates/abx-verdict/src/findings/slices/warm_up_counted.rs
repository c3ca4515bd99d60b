use crate::findings::prelude::*;
use abx_stats::series::warm_up::warm_up;

rule! {
    in Subject |subject| warm_up_counted(subject.view);
    WarmUpCounted [Note]
        "the first part of a run was slower than the rest, and was counted",
        "exclude it with `--warmup`, or measure for longer (`-d`)";
}

/// A start that changes the throughput of a run by less than this share is not reported.
const WARM_UP_EFFECT_MIN: f64 = 0.01;

/// Reports that a run counts a start that was worse than the rest.
///
/// Method: MSER-5 over the intervals of the run's course: of verified responses, or of median
/// response times if a rate sets the throughput. A start is not reported if the throughput rises
/// by less than 1 % without it. Source: docs/explain/statistics/curves.md, "Steadiness".
fn warm_up_counted(subject: &SubjectView) -> Option<Finding> {
    let (load, sums) = (subject.load, &subject.sums);
    let is_saturating = load.settings.arrivals.is_saturating();
    let has_rate = load.settings.arrivals.rate_per_s.is_some();
    // A load that changes by itself has no level to settle at.
    if subject.study.is_comparison() || !(is_saturating || has_rate) || sums.paused_ns > 0 {
        return None;
    }
    let [block] = &subject.blocks[..] else {
        return None;
    };
    let course = block.course()?;
    // The last interval may be shorter than the others.
    let count = usize::try_from(course.until_ns / course.interval_ns.max(1)).ok()?;
    let series: Vec<f64> = if is_saturating {
        course.ok.iter().take(count).map(|ok| *ok as f64).collect()
    } else {
        let medians = course.p50_us.iter().take(count);
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
        "in the first {seconds:.2} s {what} was {:.0} % {way} than in the rest, and this part was \
         counted",
        100.0 * (ratio - 1.0).abs()
    );
    if is_saturating {
        let change = 100.0 * (without - 1.0);
        message.push_str(&format!(
            ": without it the throughput is {change:.1} % higher"
        ));
    }
    let remedy = format!(
        "exclude the start (`--warmup {}s`), or measure for longer (`-d`)",
        seconds.ceil()
    );
    let finding = finding(message).with_remedy(remedy);
    (ratio.is_finite() && is_worse).then_some(finding)
}
