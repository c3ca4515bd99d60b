use super::*;
use abx_stats::stop::Reason;

fn interval(low: f64, high: f64) -> LogInterval {
    LogInterval {
        center: f64::midpoint(low, high),
        low,
        high,
    }
}

#[test]
fn an_interval_inside_the_margin_is_equivalent_before_its_direction_counts() {
    // Method: one interval for each position relative to 0 and to the margin. Among them are a
    // small but certain difference, which is equivalent, and intervals that end exactly at 0,
    // which they include, or at the margin, which they do not lie inside.
    let margin = Margin::DEFAULT.log();
    let table = [
        (-0.01, 0.01, Verdict::Equivalent),
        (0.01, 0.02, Verdict::Equivalent),
        (0.01, 0.04, Verdict::Faster),
        (0.05, 0.06, Verdict::Faster),
        (-0.04, -0.01, Verdict::Slower),
        (-0.01, 0.04, Verdict::Inconclusive),
        (-0.10, 0.10, Verdict::Inconclusive),
        (0.0, 0.04, Verdict::Inconclusive),
        (-0.04, 0.0, Verdict::Inconclusive),
        (0.01, margin, Verdict::Faster),
        (-margin, -0.01, Verdict::Slower),
        (f64::NAN, f64::NAN, Verdict::Inconclusive),
    ];
    for (low, high, expected) in table {
        let verdict = judge_interval(&interval(low, high), Margin::DEFAULT);
        assert_eq!(verdict, expected, "{low} to {high}");
    }
}

#[test]
fn verdicts_are_stored_as_words() {
    // Method: to JSON and back.
    let words = r#"["invalid","equivalent","faster","slower","less","more","inconclusive"]"#;
    let verdicts: Vec<Verdict> = serde_json::from_str(words).unwrap();
    assert_eq!(serde_json::to_string(&verdicts).unwrap(), words);
}

/// Assesses one comparison of a study whose number of blocks was set in advance.
fn assess_ordered(log_ratios: &[f64]) -> Assessment {
    let family = ClaimFamily::alone(1).ordered(true);
    let mut results = assess_together(&[log_ratios], Margin::DEFAULT, family);
    results.remove(0).unwrap()
}

/// A family of comparisons of six blocks that do not share their spread.
fn of_six(comparisons: usize) -> ClaimFamily {
    ClaimFamily {
        blocks: 6,
        ..ClaimFamily::alone(comparisons)
    }
}

#[test]
fn comparisons_share_their_spread_if_the_number_of_blocks_was_set() {
    // Method: six blocks whose own interval at 99 % includes 1, with two comparisons of nearly
    // that spread whose blocks differ in other ways. Together they estimate the spread better,
    // and the direction stands. It does not if the measurements may end the study, nor behind
    // the gate.
    let weak = [0.05, 0.13, -0.01, 0.09, 0.10, 0.03];
    let around = |signs: [f64; 6]| signs.map(|sign| 0.04 * sign);
    let [level, other_level] = [
        around([1.0, 1.0, 1.0, -1.0, -1.0, -1.0]),
        around([1.0, -1.0, -1.0, -1.0, 1.0, 1.0]),
    ];
    let verdict = |family| {
        let comparisons: [&[f64]; 3] = [&weak, &level, &other_level];
        let results = assess_together(&comparisons, Margin::DEFAULT, family);
        results[0].as_ref().unwrap().verdict
    };
    let gate = ClaimFamily::gate(3);
    assert_eq!(verdict(of_six(3)), Verdict::Inconclusive);
    assert_eq!(verdict(gate.ordered(true)), Verdict::Faster);
    assert_eq!(verdict(gate.ordered(false)), Verdict::Inconclusive);
    let behind = gate.ordered(true).behind(3, 3);
    assert_eq!(verdict(behind), Verdict::Inconclusive);
}

#[test]
fn judging_the_same_blocks_again_gives_the_same_verdict() {
    // Method: blocks that are faster only by the spread that two other comparisons show, judged
    // again as the reading without disturbed rounds is: interval and verdict are the same.
    let weak = [0.05, 0.13, -0.01, 0.09, 0.10, 0.03];
    let level = [0.04, 0.04, 0.04, -0.04, -0.04, -0.04];
    let other_level = [0.04, -0.04, -0.04, -0.04, 0.04, 0.04];
    let family = ClaimFamily::gate(3).ordered(true);
    let comparisons: [&[f64]; 3] = [&weak, &level, &other_level];
    let mut results = assess_together(&comparisons, Margin::DEFAULT, family);
    let first = results.remove(0).unwrap();
    let again = assess_as(&weak, first.required, Margin::DEFAULT).unwrap();
    assert_eq!(again.verdict, Verdict::Faster);
    assert_eq!((again.low, again.high), (first.low, first.high));
}

#[test]
fn the_second_interval_has_the_confidence_of_the_first() {
    // Method: eight blocks. 97 % two-sided leaves out two of the Walsh averages on each
    // side, which 3 in 256 miss, as in printed tables; 95 % would leave out three.
    let blocks = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08];
    let second = assess(&blocks, Margin::DEFAULT).unwrap().hodges_lehmann;
    assert_eq!(second.unwrap().confidence, 1.0 - 6.0 / 256.0);
}

#[test]
fn ranks_that_cannot_reach_the_required_confidence_give_no_second_verdict() {
    // Method: eight blocks above 0. The mean shows no direction at the 99.4 % that five claims
    // require, and ranks reach no more than 99.2 %. That is enough for equivalence at 97 %, but
    // there is no second verdict. If ranks reach exactly the required confidence, there is one.
    let blocks = [0.01, 0.02, 0.03, 0.05, 0.09, 0.12, 0.14, 0.16];
    let results = assess_together(&[&blocks[..]; 5], Margin::DEFAULT, ClaimFamily::alone(1));
    let among = results[0].as_ref().unwrap();
    assert_eq!(among.verdict, Verdict::Inconclusive);
    assert_eq!(among.second_verdict, None);
    assert!(!among.is_fragile(), "{among:?}");

    let averages = WalshAverages::of(&blocks).unwrap().unwrap();
    let range = Confidence::new(1.0 - 2.0 / 256.0).unwrap();
    let required = Required {
        direction: Some(range),
        equivalence: range,
        ..Required::ALONE
    };
    let ranks = |confidence| averages.interval(confidence);
    let second = second_verdict(ranks, Verdict::Inconclusive, required, Margin::DEFAULT);
    assert_eq!(second, Some(Verdict::Faster));
}

#[test]
fn a_clear_difference_is_faster_and_not_fragile() {
    // Method: six blocks around 10 %, close together.
    let assessment = assess_ordered(&[0.10, 0.11, 0.09, 0.10, 0.105, 0.095]);
    assert_eq!(assessment.verdict, Verdict::Faster);
    assert!(!assessment.is_fragile());
    assert_eq!(assessment.confidence, 0.95);
    assert_eq!(assessment.blocks_more, None);
    assert!(assessment.low < assessment.ratio && assessment.ratio < assessment.high);
}

#[test]
fn too_few_blocks_are_inconclusive_however_clear() {
    // Method: equal blocks, so that the interval is a point. Six carry a verdict if their number
    // was set in advance, and seven if the measurements may end the study.
    let assessment = assess(&[0.5; 5], Margin::DEFAULT).unwrap();
    assert_eq!(assessment.verdict, Verdict::Inconclusive);
    assert_eq!(assessment.blocks_more, Some(2));
    assert_eq!(assessment.hodges_lehmann, None);
    let six = assess(&[0.5; 6], Margin::DEFAULT).unwrap();
    assert_eq!(six.verdict, Verdict::Inconclusive);
    assert_eq!(six.blocks_more, Some(1));
    let seven = assess(&[0.5; 7], Margin::DEFAULT).unwrap();
    assert_eq!(seven.verdict, Verdict::Faster);
    assert_eq!(assess_ordered(&[0.5; 5]).blocks_more, Some(1));
    assert_eq!(assess_ordered(&[0.5; 6]).verdict, Verdict::Faster);
    assert!((assessment.low - 0.5_f64.exp()).abs() < 1e-12);
}

#[test]
fn an_inconclusive_verdict_has_the_number_of_blocks_that_would_settle_it() {
    // Method: ±4 % in six blocks. The formula by hand: half-width
    // 3.0029 · 4.3818 % / √6 = 5.3718 %, wanted 1.4779 %.
    let assessment = assess_ordered(&[0.04, -0.04, 0.04, -0.04, 0.04, -0.04]);
    assert_eq!(assessment.verdict, Verdict::Inconclusive);
    assert_eq!(assessment.blocks_more, Some(74));
}

#[test]
fn a_large_difference_needs_only_the_blocks_that_show_it() {
    // Method: six blocks 27 % apart on average with a spread of 28 %. By hand:
    // (t(97 %) + t(60 %)) · s ÷ √n falls below the mean at n = 13, while the
    // precision that the margin requires takes thousands.
    let blocks = [0.60, -0.05, 0.50, 0.10, 0.45, 0.00];
    let assessment = assess_ordered(&blocks);
    assert_eq!(assessment.verdict, Verdict::Inconclusive);
    assert_eq!(assessment.blocks_more, Some(7));
}

#[test]
fn ranks_need_as_much_evidence_as_the_mean() {
    // Method: nine blocks that both methods call faster alone. Among five comparisons ranks can
    // reach the required confidence, but neither method does, and nothing is fragile.
    let blocks = [0.05, 0.13, -0.02, 0.09, 0.10, 0.03, 0.08, 0.06, -0.01];
    let alone = assess(&blocks, Margin::DEFAULT).unwrap();
    assert_eq!(alone.verdict, Verdict::Faster);
    assert_eq!(alone.second_verdict, Some(Verdict::Faster));
    let results = assess_together(&[&blocks[..]; 5], Margin::DEFAULT, ClaimFamily::alone(5));
    let among = results[0].as_ref().unwrap();
    assert_eq!(among.verdict, Verdict::Inconclusive);
    assert_eq!(among.second_verdict, Some(Verdict::Inconclusive));
    assert!(!among.is_fragile(), "{among:?}");
}

#[test]
fn a_mean_that_a_few_blocks_pull_is_fragile() {
    // Method: thirty blocks, as many above 0 as below, then with three far above. Both methods
    // are inconclusive, but the mean lies most of its half-width from the other estimate.
    let mut blocks: Vec<f64> = (0..30)
        .map(|block| 0.02 * f64::from(block) - 0.29)
        .collect();
    assert!(!assess(&blocks, Margin::DEFAULT).unwrap().is_fragile());
    blocks[14..17].fill(3.0);
    let assessment = assess(&blocks, Margin::DEFAULT).unwrap();
    assert_eq!(assessment.verdict, Verdict::Inconclusive);
    assert_eq!(assessment.second_verdict, Some(Verdict::Inconclusive));
    assert!(
        assessment.is_pulled && assessment.is_fragile(),
        "{assessment:?}"
    );
}

#[test]
fn the_second_verdict_needs_the_same_evidence_as_the_first() {
    // Method: blocks that only ranks call faster, and only at 95 %; blocks that both methods call
    // faster alone and neither among five; and six blocks above 0, for which ranks reach no more
    // than 96.9 %, among five. The methods agree each time, or one has no verdict, so nothing is
    // fragile.
    let close = [0.05, 0.03, -0.02, 0.09, 0.10, 0.01, 0.04];
    let weak = [0.05, 0.13, -0.01, 0.09, 0.10, 0.03, 0.08];
    let results = assess_together(&[&weak[..]; 5], Margin::DEFAULT, ClaimFamily::alone(5));
    let among = results[0].as_ref().unwrap();
    let alone = assess(&close, Margin::DEFAULT).unwrap();
    let above = [0.05, 0.13, 0.01, 0.09, 0.10, 0.03];
    let results = assess_together(&[&above[..]; 5], Margin::DEFAULT, of_six(5));
    let few = results[0].as_ref().unwrap();
    for assessment in [&alone, among, few] {
        assert_eq!(assessment.verdict, Verdict::Inconclusive);
        assert!(!assessment.is_fragile(), "{assessment:?}");
    }
}

#[test]
fn several_claims_need_stronger_evidence_each() {
    // Method: six blocks whose interval alone excludes 1, together with four copies of
    // themselves, and with three comparisons that are beyond doubt: Holm tests them last.
    let weak = [0.05, 0.13, -0.01, 0.09, 0.10, 0.03];
    let strong = [0.50, 0.51, 0.49, 0.50, 0.505, 0.495];
    let verdicts = |comparisons: &[&[f64]]| -> Vec<Verdict> {
        let results = assess_together(comparisons, Margin::DEFAULT, of_six(comparisons.len()));
        results
            .into_iter()
            .map(|result| result.unwrap().verdict)
            .collect()
    };
    assert_eq!(verdicts(&[&weak]), [Verdict::Faster]);
    assert_eq!(verdicts(&[&weak[..]; 5]), [Verdict::Inconclusive; 5]);
    assert_eq!(
        verdicts(&[&strong, &strong, &weak, &strong]),
        [Verdict::Faster; 4]
    );
    let alone = assess(&weak, Margin::DEFAULT).unwrap();
    let among = assess_together(&[&weak[..]; 5], Margin::DEFAULT, of_six(5));
    let among = among[0].as_ref().unwrap();
    assert_eq!((among.low, among.high), (alone.low, alone.high));
    assert!((among.p_adjusted - 5.0 * alone.p_adjusted).abs() < 1e-12);
}

#[test]
fn equivalence_among_several_needs_a_narrower_spread() {
    // Method: an interval that is just inside the margin alone, and outside at 99.4 %.
    let close = [0.03, -0.01, 0.028, -0.012, 0.02, 0.0, 0.022, -0.006];
    let verdict = |equivalences| {
        let results = assess_together(&[&close], Margin::DEFAULT, ClaimFamily::alone(equivalences));
        results[0].as_ref().unwrap().verdict
    };
    assert_eq!(verdict(1), Verdict::Equivalent);
    assert_eq!(verdict(5), Verdict::Inconclusive);
}

#[test]
fn a_comparison_without_a_result_raises_no_bar_for_the_others() {
    // Method: a comparison with silent blocks, and a weak one.
    let weak = [0.05, 0.13, -0.01, 0.09, 0.10, 0.03];
    let silent = [f64::NEG_INFINITY; 6];
    let results = assess_together(&[&silent, &weak], Margin::DEFAULT, of_six(2));
    assert!(results[0].is_err());
    assert_eq!(results[1].as_ref().unwrap().verdict, Verdict::Faster);
}

#[test]
fn one_wild_block_makes_a_verdict_fragile() {
    // Method: seventeen blocks at 5 % and one far off, which blows up the t
    // interval; the signed-rank interval of eighteen stays above 0.
    let mut blocks = [0.05, 0.051, 0.049, 0.052, 0.048, 0.05].repeat(3);
    assert!(!assess(&blocks, Margin::DEFAULT).unwrap().is_fragile());
    blocks[17] = -0.9;
    let assessment = assess(&blocks, Margin::DEFAULT).unwrap();
    assert_eq!(assessment.verdict, Verdict::Inconclusive);
    assert!(assessment.is_fragile());
}

#[test]
fn every_comparison_must_stop() {
    // Method: a precise, a certain and an undecided comparison in one study.
    let around = |center: f64, apart: f64| {
        let offsets = [apart, -apart].repeat(3).into_iter().chain([0.0]);
        offsets.map(|offset| center + offset).collect::<Vec<f64>>()
    };
    let precise = around(0.0, 0.001);
    let certain = around(0.6, 0.1);
    let undecided = around(0.0, 0.1);
    let decide_all =
        |list: &[&[f64]]| decide_together(list, Margin::DEFAULT, ClaimFamily::alone(list.len()));
    assert_eq!(
        decide_all(&[&precise, &precise]),
        Decision::Stop(Reason::Precise)
    );
    assert_eq!(
        decide_all(&[&certain, &precise]),
        Decision::Stop(Reason::Certain)
    );
    assert_eq!(decide_all(&[&precise, &undecided]), Decision::Continue);
    assert_eq!(decide_all(&[&precise, &[f64::NAN; 7]]), Decision::Continue);
    assert_eq!(decide_all(&[]), Decision::Continue);
}

#[test]
fn a_precise_comparison_without_a_verdict_among_others_does_not_stop() {
    // Method: twelve blocks around 1.6 % whose own interval is as narrow as the margin
    // requires and excludes 1. Among five such comparisons it settles nothing.
    let blocks = [0.016 + 0.018, 0.016 - 0.018].repeat(6);
    assert_eq!(
        decide(&blocks, Margin::DEFAULT),
        Ok(Decision::Stop(Reason::Precise))
    );
    let decide_copies = |count| {
        decide_together(
            &vec![&blocks[..]; count],
            Margin::DEFAULT,
            ClaimFamily::alone(count),
        )
    };
    assert_eq!(decide_copies(1), Decision::Stop(Reason::Precise));
    assert_eq!(decide_copies(5), Decision::Continue);
    // It does not with a comparison that has a verdict either.
    let level = [0.001, -0.001].repeat(6);
    let mut comparisons = vec![&blocks[..]; 4];
    comparisons.push(&level);
    let decision = decide_together(&comparisons, Margin::DEFAULT, ClaimFamily::alone(5));
    assert_eq!(decision, Decision::Continue);
}
