//! No line is wider than its terminal, for any record.

use abx_evidence::{ArrivalKind, ArrivalSettings, Figure, FindingId, Offered, Times};
use abx_report::{ReportExtent, Style, progress_line, study_text};
use abx_verdict::{Bounds, Comparison, Summary, Undisturbed, Validity, Verdict, new_finding};
use proptest::prelude::*;

use crate::support::{
    comparison, figures, life, load, run, set_blocks, slice, study, subject, summary,
};

const EXTENTS: [ReportExtent; 3] = [
    ReportExtent::Brief,
    ReportExtent::Explained,
    ReportExtent::Full,
];

fn check(text: &str, width: usize) -> Result<(), TestCaseError> {
    for line in text.lines() {
        prop_assert!(line.chars().count() <= width, "{width}: {line}");
        prop_assert!(!line.contains(char::is_control), "{line:?}");
    }
    Ok(())
}

fn verdict() -> impl Strategy<Value = Verdict> {
    prop::sample::select(vec![
        Verdict::Invalid,
        Verdict::Equivalent,
        Verdict::Faster,
        Verdict::Slower,
        Verdict::Inconclusive,
    ])
}

fn arrival_kind() -> impl Strategy<Value = ArrivalKind> {
    prop::sample::select(vec![
        ArrivalKind::Closed,
        ArrivalKind::Constant,
        ArrivalKind::Poisson,
        ArrivalKind::Stages,
        ArrivalKind::Replay,
    ])
}

/// Any finite number, often one of usual size.
fn number() -> impl Strategy<Value = f64> {
    use prop::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    prop_oneof![
        0.5..2.0,
        0.0..1e6,
        POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO
    ]
}

prop_compose! {
    fn any_comparison()(
        ratio in prop::option::of([number(), number(), number()]),
        verdict in verdict(),
        flags in any::<[bool; 3]>(),
        blocks in any::<u16>(),
        blocks_more in any::<Option<u32>>(),
        left_out in any::<u64>(),
        share in number(),
        message in any::<String>(),
    ) -> Comparison {
        let [at_least, fragile, is_disturbed] = flags;
        let bounds = ratio.map(|[ratio, low, high]| Bounds { ratio, low, high });
        let void = new_finding(FindingId::SubjectFailed, message.clone()).with_remedy(message);
        Comparison {
            at_least,
            fragile,
            blocks: blocks.into(),
            blocks_more,
            detectable: Some(share),
            hodges_lehmann: bounds,
            undisturbed: bounds.filter(|_| is_disturbed).map(|bounds| Undisturbed {
                bounds,
                verdict,
                rounds_left_out: left_out,
            }),
            own_findings: vec![void],
            ..comparison("", ratio, verdict)
        }
    }
}

fn style() -> impl Strategy<Value = Style> {
    (any::<bool>(), 60_usize..200).prop_map(|(unicode, width)| Style {
        color: false,
        unicode,
        width,
    })
}

proptest! {
    #[test]
    fn a_study_fits(
        style in style(),
        names in prop::collection::vec(any::<String>(), 2..5),
        several in any::<bool>(),
        results in prop::collection::vec(any_comparison(), 4),
        numbers in prop::collection::vec(number(), 6),
        counts in any::<[u64; 5]>(),
        aa in any::<bool>(),
        kind in arrival_kind(),
    ) {
        // Method: any names, figures and findings, in Unicode and ASCII and many widths.
        let mut record = study();
        record.measured.settings.aa = aa;
        record.measured.settings.margin = numbers[0];
        record.measured.settings.budget_s = numbers[1];
        record.measured.elapsed_s = numbers[2];
        record.measured.seed = counts[0];
        record.measured.subjects = names.iter().map(|name| subject(name)).collect();
        record.measured.loads = (0..1 + u32::from(several)).map(|at| load(&names[at as usize], at)).collect();
        for load in &mut record.measured.loads {
            load.settings.arrivals = ArrivalSettings {
                kind,
                rate_per_s: None,
                connections_rest: several,
                text: names[1].clone(),
            };
            let pilot = load.pilot.as_mut().unwrap();
            pilot.slice_ns = counts[1];
            pilot.slice_reason = Some(names[1].clone());
            pilot.interleave_reason = Some(names[0].clone());
        }
        record.conclusions.summaries = names.iter().map(|name| {
            let mut summary = summary(name, &names[0], numbers[3]);
            summary.response_time_us.p50 = Some(counts[2]);
            summary.response_time_us.at_least = vec![Figure::P50];
            summary.offered = Some(Offered { planned: counts[3], unsent: counts[4], ..Offered::default() });
            summary.rss_bytes = Some(counts[3]);
            summary.ok = counts[4];
            summary.loaded_s = numbers[4];
            summary.server_busy = Some(numbers[5]);
            summary.server_cpu_us_per_request = Some(numbers[5]);
            summary
        }).collect();
        record.conclusions.comparisons = names[1..].iter().zip(results).map(|(name, comparison)| Comparison {
            subject: name.clone(),
            baseline: names[0].clone(),
            load: names[0].clone(),
            ..comparison
        }).collect();
        let findings = record.conclusions.comparisons.iter().flat_map(|comparison| comparison.own_findings.clone());
        record.conclusions.validity = Validity::of(findings.map(|finding| finding.under(&names[0])).collect());
        set_blocks(&mut record, 2);
        for extent in EXTENTS {
            check(&study_text(&record, extent, &style), style.width)?;
        }
        check(&progress_line(&record), 1_000)?;
    }

    #[test]
    fn a_run_fits(
        style in style(),
        words in any::<[String; 3]>(),
        numbers in prop::collection::vec(number(), 6),
        counts in any::<[u64; 6]>(),
        kind in arrival_kind(),
        rate in prop::option::of(number()),
    ) {
        // Method: any words and figures of a run, with any arrivals and bounds of times.
        let mut record = run();
        record.measured.loads[0].settings.arrivals = ArrivalSettings {
            kind,
            rate_per_s: rate,
            connections_rest: false,
            text: words[2].clone(),
        };
        let [planned, sent, unsent, queued, unfinished, late] = counts;
        let subject = &mut record.measured.subjects[0];
        subject.address = Some(words[0].clone());
        let load = &mut record.measured.loads[0];
        load.settings.requests[0].method = words[1].clone();
        load.settings.connections = counts[0] as u32;
        let pilot = load.pilot.as_mut().unwrap();
        (pilot.slice_ns, pilot.warm_up_ns) = (counts[0], counts[2]);
        pilot.slice_requests = (counts[1] % 2 > 0).then_some(counts[1]);
        let slice = slice(&mut record);
        (slice.sent, slice.bytes, slice.wall_ns) = (counts[2], counts[3], counts[0]);
        slice.generator_cpu_ns = counts[4];
        life(&mut record).listener.as_mut().unwrap().name = words[2].clone();
        *figures(&mut record) = Summary {
            offered: Some(Offered { planned, sent, unsent, queued, unfinished }),
            lateness_us: Times { p99: Some(late), ..Times::default() },
            loop_lag_us: Times { p99: Some(late), ..Times::default() },
            throughput_per_s: Some(numbers[2]),
            response_time_us: Times { p50: Some(counts[4]), max: Some(counts[5]), at_least: vec![Figure::P50, Figure::Max], ..Times::default() },
            generator_busy: Some(numbers[3]),
            server_cpu_us_per_request: Some(numbers[5]),
            ..figures(&mut record).clone()
        };
        record.conclusions.validity.findings = vec![new_finding(FindingId::Steal, words[0].clone()).with_remedy(words[1].clone())];
        for extent in EXTENTS {
            check(&study_text(&record, extent, &style), style.width)?;
        }
    }
}
