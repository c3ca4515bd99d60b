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
fn verdicts_are_decided_in_their_order() {
    // Method: one interval for each way to lie to 0 and to the margin,
    // among them the small but certain difference, which is equivalent, and intervals that
    // end exactly at 0, which does not lie outside, or at the margin, which not inside.
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

/// Of a study that was set to have so many blocks.
fn assess_ordered(log_ratios: &[f64]) -> Assessment {
    let family = ClaimFamily::alone(1).ordered(true);
    let mut results = assess_together(&[log_ratios], Margin::DEFAULT, family);
    results.remove(0).unwrap()
}

/// So many comparisons of six blocks, each with a spread of its own.
fn of_six(comparisons: usize) -> ClaimFamily {
    ClaimFamily {
        blocks: 6,
        ..ClaimFamily::alone(comparisons)
    }
}

#[test]
fn comparisons_tell_of_each_others_spread_where_blocks_were_ordered() {
    // Method: six blocks whose own interval at 99 % includes 1, beside two of
    // nearly that spread whose blocks differ in other ways: together they know the spread
    // better, and it stands. Where the study may end by what it has measured, and
    // behind the gate, it does not.
    let weak = [0.05, 0.13, -0.01, 0.09, 0.10, 0.03];
    let around = |signs: [f64; 6]| signs.map(|sign| 0.04 * sign);
    let [values, other] = [
        around([1.0, 1.0, 1.0, -1.0, -1.0, -1.0]),
        around([1.0, -1.0, -1.0, -1.0, 1.0, 1.0]),
    ];
    let verdict = |family| {
        let all_values: [&[f64]; 3] = [&weak, &values, &other];
        let results = assess_together(&all_values, Margin::DEFAULT, family);
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
fn blocks_read_again_are_held_to_what_they_were_held_to() {
    // Method: blocks that are faster only by the spread that two others show, read once
    // more as the reading without disturbed rounds is: interval and verdict are the same.
    let weak = [0.05, 0.13, -0.01, 0.09, 0.10, 0.03];
    let values = [0.04, 0.04, 0.04, -0.04, -0.04, -0.04];
    let other = [0.04, -0.04, -0.04, -0.04, 0.04, 0.04];
    let family = ClaimFamily::gate(3).ordered(true);
    let mut results = assess_together(&[&weak, &values, &other], Margin::DEFAULT, family);
    let first = results.remove(0).unwrap();
    let again = assess_as(&weak, first.required, Margin::DEFAULT).unwrap();
    assert_eq!(again.verdict, Verdict::Faster);
    assert_eq!((again.low, again.high), (first.low, first.high));
}

#[test]
fn the_second_interval_is_as_sure_as_the_first() {
    // Method: eight blocks: 97 % two-sided leaves out two of the Walsh averages on each
    // side, which 3 in 256 miss, as in printed tables; 95 % would leave out three.
    let blocks = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08];
    let second = assess(&blocks, Margin::DEFAULT).unwrap().hodges_lehmann;
    assert_eq!(second.unwrap().confidence, 1.0 - 6.0 / 256.0);
}

#[test]
fn ranks_that_cannot_claim_a_direction_contradict_nobody() {
    // Method: eight blocks above 0, of which the mean is not sure at 99.4 %, to which five
    // claims are held, and for which ranks reach no more than 99.2 %: enough for
    // equivalence at 97 %, and no second opinion all the same. If ranks reach just as much
    // as is required, there is one.
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
    // Method: equal blocks, so that the interval is a point. Six carry a verdict where
    // they were set, and seven where the study ends by what it has measured.
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
fn an_inconclusive_verdict_says_what_would_settle_it() {
    // Method: ±4 % in six blocks, then the formula by hand: half-width
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
fn ranks_that_can_claim_are_held_to_as_much_as_the_mean() {
    // Method: nine blocks, for which both opinions are faster alone, and ranks could be among
    // five as well: there neither does, and nothing is fragile.
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
    // Method: thirty blocks, as many above 0 as below, and three far above: both opinions
    // settle nothing, but the mean lies most of its half-width from the other estimate.
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
fn the_second_opinion_is_held_to_the_same_evidence() {
    // Method: blocks that ranks alone call faster at 95 %, the mean not at
    // 97 %; blocks that both call faster alone and neither among five; and six
    // blocks above 0, for which ranks reach no more than 96.9 %, among five. Both
    // opinions agree each time, or one is missing, so nothing is fragile.
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
    // Method: six blocks whose interval alone excludes 1, beside itself four
    // times, and beside four that are beyond doubt: Holm lets it stand last.
    let weak = [0.05, 0.13, -0.01, 0.09, 0.10, 0.03];
    let strong = [0.50, 0.51, 0.49, 0.50, 0.505, 0.495];
    let verdicts = |values: &[&[f64]]| -> Vec<Verdict> {
        let results = assess_together(values, Margin::DEFAULT, of_six(values.len()));
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
    // Method: an interval just inside of the margin alone, outside at 99.4 %.
    let close = [0.03, -0.01, 0.028, -0.012, 0.02, 0.0, 0.022, -0.006];
    let verdict = |equivalences| {
        let results = assess_together(&[&close], Margin::DEFAULT, ClaimFamily::alone(equivalences));
        results[0].as_ref().unwrap().verdict
    };
    assert_eq!(verdict(1), Verdict::Equivalent);
    assert_eq!(verdict(5), Verdict::Inconclusive);
}

#[test]
fn a_claim_without_a_number_makes_nothing_harder_for_the_others() {
    // Method: a comparison with a silent block beside a weak one.
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
        let sides = [apart, -apart].repeat(3).into_iter().chain([0.0]);
        sides.map(|it| center + it).collect::<Vec<f64>>()
    };
    let precise = around(0.0, 0.001);
    let certain = around(0.6, 0.1);
    let undecided = around(0.0, 0.1);
    let everything =
        |list: &[&[f64]]| decide_together(list, Margin::DEFAULT, ClaimFamily::alone(list.len()));
    assert_eq!(
        everything(&[&precise, &precise]),
        Decision::Stop(Reason::Precise)
    );
    assert_eq!(
        everything(&[&certain, &precise]),
        Decision::Stop(Reason::Certain)
    );
    assert_eq!(everything(&[&precise, &undecided]), Decision::Continue);
    assert_eq!(everything(&[&precise, &[f64::NAN; 7]]), Decision::Continue);
    assert_eq!(everything(&[]), Decision::Continue);
}

#[test]
fn a_precise_comparison_without_a_verdict_among_others_does_not_stop() {
    // Method: twelve blocks around 1.6 % whose own interval is as narrow as the margin
    // requires and excludes 1; among five such, it settles nothing.
    let blocks = [0.016 + 0.018, 0.016 - 0.018].repeat(6);
    assert_eq!(
        decide(&blocks, Margin::DEFAULT),
        Ok(Decision::Stop(Reason::Precise))
    );
    let together = |count| {
        decide_together(
            &vec![&blocks[..]; count],
            Margin::DEFAULT,
            ClaimFamily::alone(count),
        )
    };
    assert_eq!(together(1), Decision::Stop(Reason::Precise));
    assert_eq!(together(5), Decision::Continue);
    // Nor does it beside one that has a verdict.
    let level = [0.001, -0.001].repeat(6);
    let mut values = vec![&blocks[..]; 4];
    values.push(&level);
    let decision = decide_together(&values, Margin::DEFAULT, ClaimFamily::alone(5));
    assert_eq!(decision, Decision::Continue);
}
