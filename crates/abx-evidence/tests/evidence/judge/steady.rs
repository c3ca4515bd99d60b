//! Subjects that change while they are measured.

use abx_evidence::record::Round;
use abx_evidence::{Finding, FindingId, Level, Measured, Outcome};

use abx_fixtures::{OK, answer, find, judged, study};

/// Eight blocks of twenty rounds, in which a slice of `new` has what this says
/// of block and round, and `old` always the same.
fn rounds(of_new: impl Fn(usize, usize) -> u64) -> Measured {
    let mut record = study(&[("old", &[OK; 8]), ("new", &[OK; 8])]);
    for (index, block) in record.blocks.iter_mut().enumerate() {
        let like = block.loads[0].rounds[0].clone();
        let round = |place| {
            let mut round: Round = like.clone();
            let jitter = [0, 40, 10, 30, 20][(7 * index + place) % 5];
            answer(&mut round.slices[0], &[(Outcome::Ok, OK + jitter)]);
            answer(
                &mut round.slices[1],
                &[(Outcome::Ok, of_new(index, place) + jitter)],
            );
            round
        };
        block.loads[0].rounds = (0..20).map(round).collect();
    }
    record
}

fn found(record: Measured) -> Option<Finding> {
    let found = find(&judged(record).validity.findings, FindingId::NeverSteady)?.clone();
    assert_eq!(found.subject.as_deref(), Some("new"));
    Some(found)
}

#[test]
fn a_subject_that_gets_faster_in_every_block_never_settles() {
    // Method: each slice 0.5 % above the one before, in every block, and the
    // same downwards.
    let rising = rounds(|_, round| OK + 45 * round as u64);
    let finding = found(rising).unwrap();
    assert_eq!(finding.level, Level::Note);
    assert!(
        finding.message.contains("new keeps getting faster"),
        "{finding:?}"
    );
    assert!(finding.message.contains("8 of 8 blocks"), "{finding:?}");
    let falling = rounds(|_, round| OK - 45 * round as u64);
    assert!(found(falling).unwrap().message.contains("slower"));
}

#[test]
fn what_changes_to_either_side_by_chance_is_no_way_of_the_subject() {
    // Method: up in one block, down in the next; then no change at all; then
    // five blocks, which are too few.
    let to_and_fro = rounds(|block, round| match block % 2 {
        0 => OK + 45 * round as u64,
        _ => OK - 45 * round as u64,
    });
    assert_eq!(found(to_and_fro), None);
    assert_eq!(found(rounds(|_, _| OK)), None);
    let mut few = rounds(|_, round| OK + 45 * round as u64);
    few.blocks.truncate(5);
    assert_eq!(found(few), None);
}
