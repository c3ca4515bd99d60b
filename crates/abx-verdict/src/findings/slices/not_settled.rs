use crate::findings::prelude::*;
use crate::view::BlockView;
use crate::view::sums::Sums;
use abx_evidence::record::SliceRecord;
use abx_stats::paired::PairedMean;
use abx_stats::student::Confidence;

rule! {
    in Load |load| unsettled(load.view);
    NotSettled [Note]
        "a subject was still warming up when the pilot ended",
        "check with `abx run URL -d 60s` how its throughput changes";
}

fn unsettled<'a>(view: &'a OfferView) -> impl Iterator<Item = Finding> + 'a {
    let subjects = view.load.pilot.iter().flat_map(|pilot| &pilot.subjects);
    let unsettled = subjects.filter(|(_, pilot_subject)| !pilot_subject.settled);
    unsettled.map(|(subject, pilot_subject)| {
        let change = view.subject(subject).and_then(change).unwrap_or_default();
        let seen = if pilot_subject.cut_short {
            "the pilot had no time to see {subject} settle, so it may warm up"
        } else {
            "{subject} was still warming up when the pilot ended, and may still do so"
        };
        let seen = seen.replace("{subject}", subject);
        let message = format!("{seen} during the measurement{change}");
        finding(message).about(subject)
    })
}

/// How the last third of a subject's rounds compares with the first. `None` if blocks have too
/// few rounds, or if a rate sets the throughput.
///
/// Method: the log ratio of their throughputs in each block, which begins with a fresh start, and
/// a t interval over the blocks. Source: docs/explain/statistics/disturbance.md, "Warm-up".
fn change(subject: &SubjectView) -> Option<String> {
    if !subject.load.settings.arrivals.is_saturating() {
        return None;
    }
    let changes: Option<Vec<f64>> = subject.blocks.iter().map(late_over_early).collect();
    let interval = PairedMean::of(&changes?)
        .ok()?
        .interval(Confidence::COMPUTED);
    let percent = |log: f64| 100.0 * log.exp_m1();
    let signed = |log: f64| format!("{:+.1}", percent(log)).replace('-', "\u{2212}");
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
        ": the last third of its rounds was {:.1} % {way} than the first ({} to {} %){chance}",
        percent(interval.center).abs(),
        signed(interval.low),
        signed(interval.high)
    ))
}

/// The log ratio of the throughput of a block's last third of slices to that of its first third.
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
