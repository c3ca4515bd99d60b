//! The report of a study beside an older record.

use abx_evidence::{Finding, FindingId, Level, PastBaseline};
use abx_report::{ReportExtent, Style, progress_line, study_text};
use abx_verdict::{
    Metric, SessionReference, StudyRecord, Unpaired, Validity, Verdict, new_finding,
};
use insta::assert_snapshot;

use crate::support::{finding, set_blocks, study, subject, summary};

fn one(ratio: Option<[f64; 3]>, verdict: Verdict) -> Unpaired {
    Unpaired {
        metric: Metric::Throughput,
        load: "c100".to_owned(),
        subject: "nginx".to_owned(),
        baseline: "nginx".to_owned(),
        ratio: ratio.map(|[ratio, _, _]| ratio),
        low: ratio.map(|[_, low, _]| low),
        high: ratio.map(|[_, _, high]| high),
        confidence: 0.95,
        blocks: 8,
        blocks_then: 12,
        reference: Some(SessionReference {
            subject: None,
            moved: 0.98,
            error: 0.02,
        }),
        degrees: Some(13.7),
        together: 1,
        p_adjusted: Some(0.01),
        verdict,
        at_least: false,
        fragile: false,
        hodges_lehmann: None,
        blocks_more: None,
        findings: Vec::new(),
    }
}

fn unpaired() -> Finding {
    new_finding(
        FindingId::Unpaired,
        "nginx was measured 3 days after nginx, not side by side: each is read over the server that \
         does nothing, which was measured beside both and gave 0.980 times as much now; that nginx \
         may have felt that change otherwise is in the interval, as a standard error of 2.0 %",
    )
    .at(Level::Note)
}

/// One subject beside an older one, with this result.
fn beside(comparison: Unpaired) -> StudyRecord {
    let mut record = study();
    record.measured.subjects.truncate(1);
    record.conclusions.comparisons.clear();
    record.conclusions.summaries = vec![summary("nginx", "c100", 41_234.5)];
    record.conclusions.validity = Validity::of(vec![unpaired()]);
    set_blocks(&mut record, 8);
    record.measured.past_baseline = Some(PastBaseline {
        record: "/home/me/.local/state/abx/compare-1749740800-42.json".to_owned(),
        started_unix_ms: 1_749_740_800_000,
        abx_version: "0.1.0".to_owned(),
        subject: subject("nginx"),
        loads: Vec::new(),
    });
    record.conclusions.past_comparisons = vec![comparison];
    record
}

fn text(record: &StudyRecord) -> String {
    study_text(record, ReportExtent::Full, &Style::plain())
}

#[test]
fn faster_than_then() {
    // Method: one subject alone, with the finding that every such study has.
    assert_snapshot!(text(&beside(one(
        Some([1.12, 1.08, 1.16]),
        Verdict::Faster
    ))));
}

#[test]
fn beside_each_other_and_then() {
    // Method: two subjects now, their own verdict first; in ASCII.
    let mut record = beside(one(Some([1.002, 0.99, 1.01]), Verdict::Equivalent));
    let other = study();
    record.measured.subjects = other.measured.subjects;
    record.conclusions.comparisons = other.conclusions.comparisons;
    record.conclusions.summaries = other.conclusions.summaries;
    let style = Style {
        unicode: false,
        ..Style::plain()
    };
    let text = study_text(&record, ReportExtent::Full, &style);
    assert!(text.is_ascii(), "{text}");
    assert_snapshot!(text);
}

#[test]
fn what_each_verdict_against_an_older_record_says() {
    // Method: the first lines of every other verdict.
    let head = |record: &StudyRecord| {
        let text = text(record);
        text.split("  Then:").next().unwrap().to_owned()
    };
    let first = |this_unpaired: Unpaired| head(&beside(this_unpaired));
    let wide = Some([1.02, 0.9, 1.15]);
    let void = new_finding(FindingId::DisturbedAlone, "then, it was stolen");
    let mut invalid = beside(Unpaired {
        findings: vec![0],
        ..one(None, Verdict::Invalid)
    });
    invalid.conclusions.validity = Validity::of(vec![void, unpaired()]);
    let texts = [
        first(Unpaired {
            blocks_more: Some(14),
            ..one(wide, Verdict::Inconclusive)
        }),
        first(one(wide, Verdict::Inconclusive)),
        first(Unpaired {
            blocks: 3,
            blocks_more: Some(3),
            ..one(wide, Verdict::Inconclusive)
        }),
        first(Unpaired {
            reference: None,
            ..one(wide, Verdict::Inconclusive)
        }),
        first(Unpaired {
            fragile: true,
            ..one(Some([1.12, 1.08, 1.16]), Verdict::Faster)
        }),
        first(Unpaired {
            blocks: 1,
            ..one(None, Verdict::Inconclusive)
        }),
        first(Unpaired {
            at_least: true,
            ..one(Some([0.8, 0.7, 0.9]), Verdict::Slower)
        }),
        head(&invalid),
    ];
    assert_snapshot!(texts.concat());
}

#[test]
fn progress_tells_of_then() {
    // Method: an interval, none yet, and invalid.
    let line = |unpaired| progress_line(&beside(unpaired));
    let ratio = Some([1.12, 1.08, 1.16]);
    assert_eq!(
        line(one(ratio, Verdict::Inconclusive)),
        "nginx/nginx of then 1.12 (1.08 to 1.16)"
    );
    assert_eq!(
        line(one(None, Verdict::Inconclusive)),
        "nginx/nginx of then no interval yet"
    );
    assert_eq!(
        line(one(None, Verdict::Invalid)),
        "nginx/nginx of then no result"
    );
}

#[test]
fn a_record_of_then_cannot_steer_the_terminal() {
    // Method: colours and newlines in all that the older record says.
    let mut record = beside(one(Some([1.12, 1.08, 1.16]), Verdict::Faster));
    let against = record.measured.past_baseline.as_mut().unwrap();
    let evil = "\x1b[2Jevil\nname".to_owned();
    against.record = evil.clone();
    against.abx_version = evil.clone();
    against.subject.name = evil.clone();
    against.subject.version = Some(evil.clone());
    record.conclusions.past_comparisons[0].baseline = evil;
    record.conclusions.validity = Validity::of(vec![finding(Level::Note)]);
    let report = text(&record);
    assert!(!report.contains(|letter: char| letter != '\n' && letter.is_control()));
    assert!(
        report.lines().all(|line| line.chars().count() <= 80),
        "{report}"
    );
}
