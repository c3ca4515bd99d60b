//! Subjects that change while they are measured.

use abx_evidence::record::Round;
use abx_evidence::{ArrivalKind, Finding, FindingId, Level, Measured, Outcome};

use abx_fixtures::{OK, find, judged, pilot, response, study};

/// Eight blocks of twenty rounds. A slice of `new` has the responses that `of_new` returns for
/// block and round; `old` is constant.
fn rounds(of_new: impl Fn(usize, usize) -> u64) -> Measured {
    let mut record = study(&[("old", &[OK; 8]), ("new", &[OK; 8])]);
    for (index, block) in record.blocks.iter_mut().enumerate() {
        let like = block.loads[0].rounds[0].clone();
        let round = |place| {
            let mut round: Round = like.clone();
            let jitter = [0, 40, 10, 30, 20][(7 * index + place) % 5];
            response(&mut round.slices[0], &[(Outcome::Ok, OK + jitter)]);
            response(
                &mut round.slices[1],
                &[(Outcome::Ok, of_new(index, place) + jitter)],
            );
            round
        };
        block.loads[0].rounds = (0..20).map(round).collect();
    }
    record
}

fn finding_of(record: Measured) -> Option<Finding> {
    let finding = find(&judged(record).validity.findings, FindingId::NeverSteady)?.clone();
    assert_eq!(finding.subject.as_deref(), Some("new"));
    Some(finding)
}

#[test]
fn a_subject_that_gets_faster_in_every_block_never_settles() {
    // Method: each slice 0.5 % above its predecessor, in every block, and 0.5 % below it.
    let rising = rounds(|_, round| OK + 45 * round as u64);
    let finding = finding_of(rising).unwrap();
    assert_eq!(finding.level, Level::Note);
    assert!(
        finding.message.contains("new keeps getting faster"),
        "{finding:?}"
    );
    assert!(finding.message.contains("8 of 8 blocks"), "{finding:?}");
    let falling = rounds(|_, round| OK - 45 * round as u64);
    assert!(finding_of(falling).unwrap().message.contains("slower"));
}

#[test]
fn random_changes_in_either_direction_are_no_trend_of_the_subject() {
    // Method: up in one block and down in the next; then no change at all; then five blocks,
    // which are too few.
    let to_and_fro = rounds(|block, round| match block % 2 {
        0 => OK + 45 * round as u64,
        _ => OK - 45 * round as u64,
    });
    assert_eq!(finding_of(to_and_fro), None);
    assert_eq!(finding_of(rounds(|_, _| OK)), None);
    let mut few = rounds(|_, round| OK + 45 * round as u64);
    few.blocks.truncate(5);
    assert_eq!(finding_of(few), None);
}

/// The message about `new` if it had not settled in the pilot.
fn unsettled(mut record: Measured) -> String {
    let subject = pilot(&mut record).subjects.get_mut("new");
    subject.expect("a pilot of each").settled = false;
    let findings = judged(record).validity.findings;
    let finding = find(&findings, FindingId::NotSettled).expect("it is said");
    finding.message.clone()
}

#[test]
fn a_subject_that_had_not_settled_is_reported_with_the_size_of_its_change() {
    // Method: the last six of twenty rounds have a tenth more responses than the first six, and a
    // tenth fewer; then only jitter, which has no direction. An open loop and a single round have
    // no figure.
    let step = |by: f64| {
        rounds(move |_, round| match round {
            14.. => (OK as f64 * by) as u64,
            _ => OK,
        })
    };
    let faster = unsettled(step(1.1));
    assert!(
        faster.contains("was 10.0 % faster than the first (+9."),
        "{faster}"
    );
    assert!(!faster.contains("chance"), "{faster}");
    let slower = unsettled(step(0.9));
    assert!(
        slower.contains("10.0 % slower than the first (−10."),
        "{slower}"
    );
    let same = unsettled(step(1.0));
    assert!(
        same.contains("0.0 % ") && same.contains("may be chance"),
        "{same}"
    );
    let mut open = step(1.1);
    open.loads[0].settings.arrivals.kind = ArrivalKind::Constant;
    open.loads[0].settings.arrivals.rate_per_s = Some(90_000.0);
    let mut short = step(1.1);
    let parts = short.blocks.iter_mut().map(|block| &mut block.loads[0]);
    parts.for_each(|part| part.rounds.truncate(2));
    for record in [open, short] {
        let without = unsettled(record);
        assert!(without.ends_with("during the measurement"), "{without}");
    }
}
