//! Subjects with two kinds of starts.

use abx_evidence::{ArrivalKind, Finding, FindingId, Level, Measured};

use abx_fixtures::{OK, each_slice, find, judged, leave_after, study};

/// Verified responses per slice in 24 blocks: `usual`, or a share of it in these blocks, with a
/// ripple of about 2 %.
fn starts(usual: u64, share: f64, blocks: &[usize]) -> Vec<u64> {
    let level = |block| if blocks.contains(&block) { share } else { 1.0 };
    let ripple = |block| 1.0 + 0.01 * ((7 * block % 5) as f64 - 2.0);
    let responses = |block| (usual as f64 * level(block) * ripple(block)) as u64;
    (0..24).map(responses).collect()
}

fn finding_of(record: Measured) -> Option<Finding> {
    let findings = judged(record).validity.findings;
    find(&findings, FindingId::StartsDiffer).cloned()
}

#[test]
fn starts_that_serve_a_quarter_are_a_group_of_their_own() {
    // Method: the pattern of Apache's event worker: 2 of 24 starts at a quarter of the
    // throughput; then one such start, which is an outlier, and none.
    let usual = starts(OK, 1.0, &[]);
    let record = |slow: &[usize]| study(&[("old", &usual), ("new", &starts(2_700, 0.25, slow))]);
    let finding = finding_of(record(&[5, 17])).unwrap();
    assert_eq!(
        (finding.level, finding.subject.as_deref()),
        (Level::Note, Some("new"))
    );
    assert_eq!(
        finding.message,
        "2 of 24 starts of new served 0.25 times as much as the other 22 (7493 instead of 29984 \
         responses/s)"
    );
    assert_eq!(finding_of(record(&[5])), None);
    assert_eq!(finding_of(record(&[])), None);
}

#[test]
fn blocks_in_which_all_subjects_are_slow_are_no_difference_of_starts() {
    // Method: both subjects slow in the same two blocks, because of the machine; then each in
    // two blocks of its own.
    let record = |slow: &[usize]| {
        study(&[
            ("old", &starts(OK, 0.5, &[5, 17])),
            ("new", &starts(OK, 0.5, slow)),
        ])
    };
    assert_eq!(finding_of(record(&[5, 17])), None);
    let findings = judged(record(&[3, 12])).validity.findings;
    let of = |finding: &&Finding| finding.id == FindingId::StartsDiffer;
    assert_eq!(findings.iter().filter(of).count(), 2, "{findings:?}");
}

#[test]
fn a_subject_that_has_left_shares_only_its_own_blocks() {
    // Method: two subjects are slow in the same two blocks, and the subject that left after the
    // 13th block has only the first of them. Then it has neither, so that nothing is shared.
    let settled_after = |blocks: u32| {
        let slow = starts(OK, 0.5, &[5, 17]);
        let mut record = study(&[("old", &slow), ("new", &slow), ("far", &slow)]);
        for subject in ["old", "far"] {
            leave_after(&mut record, subject, blocks);
        }
        finding_of(record)
    };
    assert_eq!(settled_after(13), None);
    let finding = settled_after(5).unwrap();
    assert_eq!(finding.subject.as_deref(), Some("new"));
}

#[test]
fn starts_at_a_fixed_rate_differ_by_their_costs() {
    // Method: a constant rate, and half of the starts at twice the CPU time per response; the
    // costlier starts are named. A subject that was already running has no starts.
    let mut record = study(&[("old", &[OK; 8]), ("new", &[OK; 8])]);
    record.loads[0].settings.arrivals.kind = ArrivalKind::Constant;
    record.loads[0].settings.arrivals.rate_per_s = Some(100_000.0);
    let mut slices = 0;
    let rounds = record.blocks[0].loads[0].rounds.len();
    each_slice(&mut record, "new", |slice| {
        let is_even = (slices / rounds).is_multiple_of(2);
        let us = if is_even { 10 } else { 20 };
        let responses = slice.outcomes.completed() + slice.discarded.completed();
        slice.server_cpu_ns = Some(us * 1_000 * responses);
        slices += 1;
    });
    let finding = finding_of(record.clone()).unwrap();
    assert_eq!(
        finding.message,
        "4 of 8 starts of new used 2.00 times as much CPU time per response as the other 4 (20.0 \
         instead of 10.0 µs)"
    );
    record.subjects[1].address = Some("127.0.0.1:8080".to_owned());
    assert_eq!(finding_of(record), None);
}

#[test]
fn two_levels_within_the_margin_are_not_reported() {
    // Method: half of the starts 2 % slower, without any other noise, at a margin of 3 %.
    let levels = [8_820, 9_000, 8_820, 9_000, 8_820, 9_000, 8_820, 9_000];
    let mut record = study(&[("old", &[OK; 8]), ("new", &levels)]);
    assert_eq!(finding_of(record.clone()), None);
    record.settings.margin = 0.01;
    assert!(finding_of(record).is_some());
}
