//! From blocks to ratios, intervals and verdicts.

use abx_evidence::record::Disturbance;
use abx_evidence::{FindingId, Level, Measured, Outcome};
use abx_stats::Margin;
use abx_verdict::verdict::assess;
use abx_verdict::{Role, StudyRecord, Validity, Verdict, new_finding};

use abx_fixtures::{
    OK, assert_close, compared, each_slice, find, ids, judged, pair, primary, response, rounds,
    study, two_loads,
};

/// `new` beside `old` in as many blocks, each with this ratio in tenths of a percent.
fn with_ratios(per_mille: &[u64]) -> Measured {
    let responses: Vec<u64> = per_mille.iter().map(|ratio| 9 * ratio).collect();
    study(&[("old", &vec![OK; per_mille.len()]), ("new", &responses)])
}

#[test]
fn a_sound_study_has_no_findings() {
    // Method: the record that all other tests change.
    let record = judged(pair());
    assert_eq!(ids(&record.validity.findings), []);
    assert_eq!(record.comparisons[0].verdict, Verdict::Faster);
}

#[test]
fn throughput_is_the_sum_over_slices_and_not_the_mean_of_their_rates() {
    // Method: `new` gives 9,000 responses in 0.9 connection-seconds and, after a stall,
    // 9,000 in 8.1. Summed, that is 10 × 18,000 ÷ 9 s = 20,000 per second; the
    // mean of the two rates would be 55,556. `old` has 100,000.
    let mut record = study(&[("old", &[OK; 6]), ("new", &[OK; 6])]);
    for round in rounds(&mut record).skip(1).step_by(2) {
        round.slices[1].connection_ns *= 9;
    }
    let record = judged(record);
    let rate = |place: usize| record.summaries[place].throughput_per_s.unwrap();
    assert_close(rate(0), 100_000.0);
    assert_close(rate(1), 20_000.0);
    assert_close(record.comparisons[0].ratio.unwrap(), 0.2);
}

#[test]
fn throughput_counts_verified_responses_only() {
    // Method: of 9,000 responses of `new`, 900 have the wrong status.
    let mut record = pair();
    each_slice(&mut record, "new", |slice| {
        response(slice, &[(Outcome::Ok, 8_100), (Outcome::WrongStatus, 900)]);
    });
    let record = judged(record);
    assert_close(record.summaries[1].throughput_per_s.unwrap(), 90_000.0);
    assert_eq!(record.summaries[1].sent, 108_000);
    assert_eq!(record.summaries[1].ok, 97_200);
}

#[test]
fn each_verdict_comes_from_its_interval() {
    // Method: six blocks each, in tenths of a percent; the interval is that of
    // the logarithms of the same ratios.
    let table = [
        ([1100, 1101, 1099, 1100, 1101, 1099], Verdict::Faster),
        ([900, 901, 899, 900, 901, 899], Verdict::Slower),
        ([1000, 1001, 999, 1000, 1001, 999], Verdict::Equivalent),
        ([1010, 1011, 1009, 1010, 1011, 1009], Verdict::Equivalent),
        ([1040, 960, 1040, 960, 1040, 960], Verdict::Inconclusive),
    ];
    for (blocks, verdict) in table {
        let logs = blocks.map(|ratio| (ratio as f64 / 1000.0).ln());
        let expected = assess(&logs, Margin::DEFAULT).unwrap();
        let result = compared(with_ratios(&blocks));
        assert_eq!(result.verdict, verdict, "{blocks:?}");
        assert_close(result.ratio.unwrap(), expected.ratio);
        assert_close(result.low.unwrap(), expected.low);
        assert_close(result.high.unwrap(), expected.high);
        let bounds = [result.ratio, result.low, result.high].map(Option::unwrap);
        assert_eq!(result.bounds(), Some(bounds));
        let (ranks, by_ranks) = (result.hodges_lehmann, expected.hodges_lehmann);
        let (ranks, by_ranks) = (ranks.unwrap(), by_ranks.unwrap());
        assert_close(ranks.low, by_ranks.low);
        assert_close(ranks.ratio, by_ranks.ratio);
        assert_close(ranks.high, by_ranks.high);
        assert_eq!((result.confidence, result.blocks), (0.95, 6));
        assert!(!result.at_least);
        let has_more = result.blocks_more.is_some_and(|more| more > 0);
        assert_eq!(has_more, verdict == Verdict::Inconclusive);
    }
}

#[test]
fn the_margin_of_the_study_decides_what_is_equivalent() {
    // Method: 10 % more, first with a margin of 3 %, then of 20 %.
    let mut record = pair();
    assert_eq!(compared(record.clone()).verdict, Verdict::Faster);
    record.settings.margin = 0.2;
    assert_eq!(compared(record).verdict, Verdict::Equivalent);
}

#[test]
fn fewer_than_six_blocks_settle_nothing() {
    // Method: twice as fast in 0 to 5 blocks. With two there is an interval; the number of
    // blocks missing to six is always reported.
    for blocks in 0..6 {
        let result = compared(with_ratios(&vec![2000; blocks]));
        assert_eq!(result.verdict, Verdict::Inconclusive, "{blocks} blocks");
        assert_eq!(result.ratio.is_some(), blocks >= 2, "{blocks} blocks");
        assert_eq!(result.blocks, blocks);
        assert_eq!(result.blocks_more, Some(6 - blocks as u32));
        let few = find(&result.findings, FindingId::FewBlocks).unwrap();
        assert!(few.message.contains(&blocks.to_string()), "{few:?}");
    }
    let enough = compared(with_ratios(&[2000; 6]));
    assert_eq!(enough.verdict, Verdict::Faster);
    assert_eq!(find(&enough.findings, FindingId::FewBlocks), None);
}

#[test]
fn a_block_that_did_not_end_is_kept_and_not_judged() {
    // Method: a seventh block, cut short, in which `new` had hardly any responses.
    let mut record = pair();
    let without = compared(record.clone());
    let mut cut = record.blocks[5].clone();
    cut.index = 6;
    cut.complete = false;
    cut.loads[0].rounds.truncate(1);
    response(&mut cut.loads[0].rounds[0].slices[1], &[(Outcome::Ok, 1)]);
    record.blocks.push(cut);
    let record = StudyRecord::judged(record);
    assert_eq!(record.measured.blocks.len(), 7);
    let record = record.conclusions;
    assert_eq!(primary(&record), [without]);
    assert_eq!(record.summaries[1].loaded_s, 1.2);
}

#[test]
fn a_block_without_a_verified_response_has_no_ratio_and_voids() {
    // Method: block 4 of six, of the subject, of the baseline, and of both.
    for silent in [&["new"][..], &["old"], &["new", "old"]] {
        let mut record = pair();
        for slice in record.blocks[4].loads[0]
            .rounds
            .iter_mut()
            .flat_map(|round| &mut round.slices)
            .filter(|slice| silent.contains(&slice.subject.as_str()))
        {
            response(slice, &[]);
        }
        let result = compared(record);
        assert_eq!(result.verdict, Verdict::Invalid);
        assert_eq!((result.ratio, result.low, result.high), (None, None, None));
        assert_eq!(result.confidence, 0.95);
        let has_ratio = result.per_block.iter().map(Option::is_some);
        assert!(has_ratio.eq([true, true, true, true, false, true]));
        let expected = vec![(FindingId::NoResponses, Level::Void); silent.len()];
        assert_eq!(ids(&result.findings), expected);
        for (finding, subject) in result.findings.iter().zip(silent) {
            assert_eq!(finding.subject.as_deref(), Some(*subject));
            assert!(finding.message.contains("1 of 6 blocks"), "{finding:?}");
            assert!(finding.message.contains("first in block 5"), "{finding:?}");
        }
    }
}

#[test]
fn a_subject_that_was_not_loaded_in_a_block_has_no_ratio() {
    // Method: block 0 holds no slice of `new`.
    let mut record = pair();
    for round in &mut record.blocks[0].loads[0].rounds {
        round.slices.retain(|slice| slice.subject != "new");
    }
    let result = compared(record);
    assert_eq!(result.verdict, Verdict::Invalid);
    assert_eq!(
        ids(&result.findings),
        [(FindingId::NoResponses, Level::Void)]
    );
}

#[test]
fn an_infinite_bound_is_not_given_as_a_number() {
    // Method: two blocks, in which `new` is 2^52 times as fast and as many times slower; the
    // upper bound is beyond any f64.
    let mut record = study(&[("old", &[1, 1]), ("new", &[1, 1])]);
    let most = 1_u64 << 52;
    for (block, place) in [(0, 0), (1, 1)] {
        for round in &mut record.blocks[block].loads[0].rounds {
            response(&mut round.slices[place], &[(Outcome::Ok, most)]);
        }
    }
    let result = compared(record);
    assert_eq!(result.verdict, Verdict::Inconclusive);
    assert_eq!((result.ratio, result.low, result.high), (None, None, None));
    assert_eq!(result.detectable, None);
    assert_eq!(result.blocks_more, Some(4));
}

#[test]
fn disturbed_rounds_count_and_a_second_result_leaves_them_out() {
    // Method: the second round of each block is marked, and in it `new` has
    // 1.2 times the responses of `old` where it has 1.1 times in the first.
    let mut record = pair();
    for round in rounds(&mut record).skip(1).step_by(2) {
        round.disturbed.push(Disturbance::Steal);
        response(&mut round.slices[1], &[(Outcome::Ok, 10_800)]);
    }
    let result = compared(record);
    assert!((result.ratio.unwrap() - 1.15).abs() < 1e-3, "{result:?}");
    let without = result.undisturbed.as_ref().unwrap();
    assert!((without.bounds.ratio - 1.1).abs() < 1e-3, "{without:?}");
    assert!(without.bounds.low < without.bounds.ratio);
    assert_eq!(
        (without.verdict, without.rounds_left_out),
        (Verdict::Faster, 6)
    );
    assert!(!result.fragile);
    assert_eq!(compared(pair()).undisturbed, None);
}

#[test]
fn a_block_with_only_disturbed_rounds_is_left_out_of_the_second_result() {
    // Method: both rounds of one block of seven; then of one of six, where the remaining five
    // are too few for a verdict and so for a contradiction.
    for (blocks, verdict) in [(7, Some(Verdict::Faster)), (6, None)] {
        let mut record = with_ratios(&vec![1_100; blocks]);
        for round in &mut record.blocks[0].loads[0].rounds {
            round.disturbed.push(Disturbance::Steal);
        }
        let result = compared(record);
        let without = result.undisturbed.as_ref().map(|without| without.verdict);
        assert_eq!(without, verdict);
        assert_eq!(result.verdict, Verdict::Faster);
        assert!(!result.fragile);
        let marked = find(&result.findings, FindingId::DisturbedRounds).unwrap();
        assert!(marked.message.starts_with("2 of "), "{}", marked.message);
    }
}

#[test]
fn only_the_disturbed_slices_of_a_round_are_left_out() {
    // Method: every round of six blocks is marked. The hypervisor took time of `old` in the
    // first and of `new` in the second round of each, which leaves a slice of each. Then it
    // took time of both in every round of one block, which leaves too few blocks.
    let mut record = with_ratios(&[1_100; 6]);
    for (index, round) in rounds(&mut record).enumerate() {
        round.disturbed.push(Disturbance::Steal);
        round.slices[index % 2].steal_ns = Some(20_000_000);
    }
    let result = compared(record.clone());
    let without = result.undisturbed.as_ref().unwrap();
    assert_eq!(
        (without.verdict, without.rounds_left_out),
        (Verdict::Faster, 12)
    );
    let marked = find(&result.findings, FindingId::DisturbedRounds).unwrap();
    assert!(
        marked.message.ends_with("they still count"),
        "{}",
        marked.message
    );
    for slice in rounds(&mut record)
        .take(2)
        .flat_map(|round| &mut round.slices)
    {
        slice.steal_ns = Some(20_000_000);
    }
    let result = compared(record);
    assert_eq!(result.undisturbed, None);
    let marked = find(&result.findings, FindingId::DisturbedRounds).unwrap();
    let unchecked = "unknown: 1 of 6 blocks have no undisturbed part";
    assert!(marked.message.ends_with(unchecked), "{}", marked.message);
}

#[test]
fn another_verdict_without_disturbed_rounds_is_fragile() {
    // Method: `new` is faster in marked rounds only.
    let mut record = study(&[("old", &[OK; 6]), ("new", &[OK; 6])]);
    for round in rounds(&mut record).skip(1).step_by(2) {
        round.disturbed.push(Disturbance::Wait);
        response(&mut round.slices[1], &[(Outcome::Ok, 10_800)]);
    }
    let result = compared(record);
    assert_eq!(result.verdict, Verdict::Faster);
    assert_eq!(
        result.undisturbed.as_ref().unwrap().verdict,
        Verdict::Equivalent
    );
    assert!(result.fragile);
}

#[test]
fn a_fragile_verdict_states_the_verdict_of_the_other_method() {
    // Method: seventeen blocks in which `new` is 5 % faster and one in which it is far slower,
    // which hardly affects ranks; and the seventeen alone.
    let mut ratios = [1050, 1051, 1049, 1052, 1048, 1050].repeat(3);
    ratios[17] = 400;
    let judge = |ratios: &[u64]| {
        let mut record = with_ratios(ratios);
        record.settings.blocks = None;
        compared(record)
    };
    let wild = judge(&ratios);
    assert_eq!((wild.verdict, wild.fragile), (Verdict::Inconclusive, true));
    assert_eq!(wild.second_verdict, Some(Verdict::Faster));
    let even = judge(&ratios[..17]);
    assert_eq!((even.verdict, even.fragile), (Verdict::Faster, false));
    assert_eq!(even.second_verdict, None);
}

#[test]
fn the_detectable_difference_shrinks_with_the_spread() {
    // Method: by hand for six blocks of ±1 %: t at 97 % and at 60 % with 5 degrees of freedom,
    // times the standard error: (3.0029 + 0.9195) × 0.4473 %.
    let wide = compared(with_ratios(&[1010, 990, 1010, 990, 1010, 990]));
    let share = wide.detectable.unwrap();
    assert!((share - 0.0177).abs() < 1e-4, "{share}");
    let narrow = compared(with_ratios(&[1001, 999, 1001, 999, 1001, 999]));
    assert!(narrow.detectable.unwrap() < share / 9.0);
}

#[test]
fn a_record_has_no_claim_only_if_findings_leave_nothing_decided() {
    // Method: two pairs of one study with each relevant combination of verdicts; then a server
    // alone of whose two loads none, one and both are void.
    let mut record = StudyRecord::judged(study(&[
        ("a", &[9_000; 7]),
        ("b", &[9_010; 7]),
        ("c", &[9_020; 7]),
    ]));
    let table = [
        ([Verdict::Invalid, Verdict::Invalid], true),
        ([Verdict::Invalid, Verdict::Inconclusive], true),
        ([Verdict::Invalid, Verdict::Equivalent], false),
        ([Verdict::Less, Verdict::Invalid], false),
        ([Verdict::Inconclusive, Verdict::Inconclusive], false),
        ([Verdict::Faster, Verdict::Slower], false),
    ];
    for (verdicts, is_without) in table {
        let comparisons = record.conclusions.comparisons.iter_mut();
        let primary = comparisons.filter(|comparison| comparison.role == Role::Primary);
        let mut changed = 0;
        for (comparison, verdict) in primary.zip(verdicts) {
            comparison.verdict = verdict;
            changed += 1;
        }
        assert_eq!(changed, 2);
        assert_eq!(record.is_without_claim(), is_without, "{verdicts:?}");
    }
    let mut alone = two_loads();
    alone.subjects.truncate(1);
    let mut record = StudyRecord::judged(alone);
    let names: Vec<String> = record
        .measured
        .loads
        .iter()
        .map(|load| load.name.clone())
        .collect();
    let mut findings = Vec::new();
    for (name, is_without) in [
        (None, false),
        (Some(&names[0]), false),
        (Some(&names[1]), true),
    ] {
        findings.extend(name.map(|name| {
            let void = new_finding(FindingId::FailedRequests, "all failed").at(Level::Void);
            void.under(name)
        }));
        record.conclusions.validity = Validity::of(findings.clone());
        assert_eq!(record.is_without_claim(), is_without, "{name:?}");
    }
}
