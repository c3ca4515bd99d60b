//! More than two subjects: joint claims and rankings.

use abx_evidence::record::{Contrast, Settings};
use abx_evidence::{Finding, FindingId, Measured};
use abx_stats::stop::Decision;
use abx_verdict::{Comparison, Metric, Ranking, Verdict, may_stop};

use abx_fixtures::{
    OK, all_slices, histogram, judged, longer, pair, primary, response, sides, study, two_loads,
};

/// Four subjects: `a` and `b` alike, `c` clearly faster, `d` slower but too noisy for any
/// certainty.
fn four() -> Measured {
    study(&[
        ("a", &[9_000, 9_010, 8_990, 9_000, 9_005, 8_995]),
        ("b", &[9_005, 8_990, 9_010, 8_995, 9_000, 9_000]),
        ("c", &[9_900, 9_910, 9_890, 9_900, 9_905, 9_895]),
        ("d", &[3_000, 12_000, 8_000, 4_000, 10_000, 7_000]),
    ])
}

fn ranking(record: Measured) -> Ranking {
    let mut rankings = judged(record).rankings;
    assert_eq!(rankings.len(), 1);
    rankings.remove(0)
}

fn texts(ranking: &Ranking) -> Vec<(&str, String, bool)> {
    ranking
        .places
        .iter()
        .map(|place| (place.subject.as_str(), place.text(), place.tied_for_first))
        .collect()
}

#[test]
fn places_follow_from_certain_pairs() {
    // Method: `c` is certainly above `a` and `b`, which are equal; `d` may have any place
    // from first to last.
    let ranking = ranking(four());
    assert_eq!(ranking.metric, Metric::Throughput);
    let expected = [
        ("c", "1-2".to_owned(), true),
        ("a", "2-4".to_owned(), false),
        ("b", "2-4".to_owned(), false),
        ("d", "1-4".to_owned(), true),
    ];
    assert_eq!(texts(&ranking), expected);
    assert_eq!(ranking.pairs.len(), 6);
    // Three pairs are requested, and three are behind the gate.
    assert!(
        ranking
            .pairs
            .iter()
            .all(|comparison| comparison.together == 3)
    );
}

fn contrast(subject: &str, baseline: &str, loads: &[&str]) -> Contrast {
    Contrast {
        subject: subject.to_owned(),
        baseline: baseline.to_owned(),
        loads: loads.iter().map(|&name| name.to_owned()).collect(),
        question: None,
    }
}

#[test]
fn declared_pairs_are_compared_and_all_others_are_behind_them() {
    // Method: two contrasts with different baselines, of four subjects whose study has another
    // baseline: the comparisons, by every metric, and the pairs of the ranking.
    let mut record = four();
    record.settings.contrasts = vec![contrast("c", "b", &[]), contrast("a", "d", &[])];
    let record = judged(record);
    let pair = |comparison: &Comparison| [comparison.subject.clone(), comparison.baseline.clone()];
    let asked = [["c", "b"], ["a", "d"]].map(|pair| pair.map(str::to_owned));
    for comparison in &record.comparisons {
        assert!(asked.contains(&pair(comparison)), "{comparison:?}");
    }
    let comparisons = primary(&record);
    assert_eq!(
        comparisons
            .iter()
            .map(|compared| pair(compared))
            .collect::<Vec<_>>(),
        asked
    );
    assert!(comparisons.iter().all(|compared| compared.together == 2));
    assert_eq!(comparisons[0].verdict, Verdict::Faster);
    let pairs = &record.rankings[0].pairs;
    assert_eq!(pairs.len(), 6);
    assert!(
        pairs
            .iter()
            .zip(&comparisons)
            .all(|(pair, compared)| *pair == **compared)
    );
    assert!(pairs[2..].iter().all(|comparison| comparison.together == 4));
}

#[test]
fn a_declared_pair_shares_its_error_with_declared_pairs_only() {
    // Method: the subject below whose difference is significant alone but not among seven.
    // Among the same seven it is significant again if only its pair is requested, and so is
    // its equivalence.
    let faster = [9_500, 10_240, 8_920, 9_830, 9_940, 9_270];
    let same = [9_300, 8_800, 9_200, 8_700, 9_100, 8_900];
    let level = [9_210, 9_010, 9_210, 9_010, 9_210, 9_000];
    let mut pairs: Vec<(&str, &[u64])> = vec![("old", &[OK; 6]), ("new", &faster)];
    pairs.push(("level", &level));
    pairs.extend(["e", "f", "g", "h", "i"].map(|name| (name, &same[..])));
    let verdict = |contrasts: &[Contrast], subject: &str| {
        let mut record = study(&pairs);
        record.settings.contrasts = contrasts.to_vec();
        let mut comparisons = primary(&judged(record)).into_iter();
        comparisons
            .find(|comparison| comparison.subject == subject)
            .unwrap()
            .verdict
    };
    assert_eq!(verdict(&[], "new"), Verdict::Inconclusive);
    assert_eq!(
        verdict(&[contrast("new", "old", &[])], "new"),
        Verdict::Faster
    );
    assert_eq!(verdict(&[], "level"), Verdict::Inconclusive);
    assert_eq!(
        verdict(&[contrast("level", "old", &[])], "level"),
        Verdict::Equivalent
    );
}

#[test]
fn a_pair_is_compared_under_its_requested_loads() {
    // Method: two loads, of which the contrast names one, and then both.
    let under = |loads: &[&str]| -> Vec<String> {
        let mut record = two_loads();
        record.settings.contrasts = vec![contrast("old", "new", loads)];
        let comparisons = judged(record).comparisons;
        let loads = comparisons
            .into_iter()
            .filter(|comparison| comparison.metric == Metric::Throughput);
        loads.map(|comparison| comparison.load).collect()
    };
    assert_eq!(under(&["large"]), ["large"]);
    assert_eq!(under(&[]), ["small", "large"]);
}

#[test]
fn a_study_ends_when_its_declared_pairs_are_settled() {
    // Method: a subject without any certainty, within a declared pair and outside of one.
    let mut record = longer(four());
    assert_eq!(may_stop(&record), Decision::Continue);
    record.settings.contrasts = vec![contrast("c", "b", &[])];
    assert!(matches!(may_stop(&record), Decision::Stop(_)));
    record.settings.contrasts.push(contrast("d", "b", &[]));
    assert_eq!(may_stop(&record), Decision::Continue);
}

#[test]
fn a_record_keeps_its_contrasts_and_an_older_record_has_none() {
    // Method: a round trip through JSON, and JSON without the key.
    let mut record = four();
    record.settings.contrasts = vec![contrast("c", "b", &["small"]), contrast("a", "d", &[])];
    let mut json = serde_json::to_value(&record.settings).unwrap();
    let read = |json: &serde_json::Value| {
        serde_json::from_value::<Settings>(json.clone())
            .unwrap()
            .contrasts
    };
    assert_eq!(read(&json), record.settings.contrasts);
    json.as_object_mut().unwrap().remove("contrasts");
    assert_eq!(read(&json), []);
}

#[test]
fn two_subjects_have_no_ranking() {
    // Method: the usual pair.
    assert_eq!(judged(pair()).rankings, []);
}

#[test]
fn findings_about_one_pair_stand_in_the_pair_and_all_others_are_referenced() {
    // Method: the generator is the limit for `b` and `c`, neither of which is the baseline,
    // and other programs run. The former limits that pair, the latter all pairs.
    let mut record = four();
    for slice in all_slices(&mut record) {
        let is_limited = ["b", "c"].contains(&slice.subject.as_str());
        slice.busiest_worker_ns = if is_limited { slice.wall_ns } else { 0 };
        slice.server_cpu_ns = Some(0);
        slice.steal_ns = Some(slice.window_ns / 10);
    }
    for name in ["b", "c"] {
        sides(&mut record, name).for_each(|side| side.busiest_thread_ns = Some(0));
    }
    let record = judged(record);
    let pairs = &record.rankings[0].pairs;
    for comparison in pairs {
        let limits: Vec<&Finding> = comparison.limits(&record.validity).collect();
        assert_eq!(
            limits.len(),
            comparison.findings.len() + comparison.own_findings.len()
        );
        assert!(limits.iter().any(|finding| finding.id == FindingId::Steal));
        let are_known = |finding: &Finding| record.validity.findings.contains(finding);
        assert!(!comparison.own_findings.iter().any(are_known));
    }
    let limited = pairs
        .iter()
        .find(|comparison| !comparison.own_findings.is_empty())
        .expect("the generator limits both");
    assert_eq!([&*limited.subject, &*limited.baseline], ["c", "b"]);
    assert_eq!(limited.own_findings[0].id, FindingId::GeneratorBound);
    assert_eq!(limited.verdict, Verdict::Invalid);
}

#[test]
fn a_void_subject_has_no_place() {
    // Method: `c` responds wrongly to one request of a hundred. It has no conclusions, and the
    // others are ranked without it.
    let mut record = four();
    for slice in all_slices(&mut record).filter(|slice| slice.subject == "c") {
        let wrong = slice.ok / 100;
        let counts = [
            (abx_evidence::Outcome::Ok, slice.ok - wrong),
            (abx_evidence::Outcome::WrongStatus, wrong),
        ];
        response(slice, &counts);
    }
    let ranking = ranking(record);
    assert_eq!((ranking.places.len(), ranking.pairs.len()), (3, 3));
    assert!(ranking.places.iter().all(|place| place.text() == "1-3"));
    assert!(
        ranking
            .pairs
            .iter()
            .all(|comparison| comparison.verdict != Verdict::Invalid)
    );
    assert_eq!(ranking.pairs[0].together, 2);
}

#[test]
fn a_failed_subject_is_in_no_pair_of_a_ranking() {
    // Method: `d` stopped responding.
    let mut record = four();
    for slice in all_slices(&mut record).filter(|slice| slice.subject == "d") {
        slice.stopped_responding = true;
    }
    let ranking = ranking(record);
    assert_eq!((ranking.places.len(), ranking.pairs.len()), (3, 3));
    let is_of = |comparison: &Comparison| comparison.subject == "d" || comparison.baseline == "d";
    assert!(!ranking.pairs.iter().any(is_of));
}

#[test]
fn a_difference_that_is_significant_alone_may_not_be_among_many() {
    // Method: a subject 3 % faster in blocks with a spread that one comparison can bear, then
    // the same subject beside seven equal ones.
    // The study might have ended by its measurements, so that comparisons do not inform each
    // other's spread.
    let free = |mut record: Measured| {
        record.settings.blocks = None;
        judged(longer(record))
    };
    let faster = [9_500, 10_240, 8_920, 9_830, 9_940, 9_470];
    let two = study(&[("old", &[OK; 6]), ("new", &faster)]);
    let alone = primary(&free(two)).remove(0);
    assert_eq!((alone.verdict, alone.together), (Verdict::Faster, 1));
    let same = [9_300, 8_800, 9_200, 8_700, 9_100, 8_900];
    let names = ["e", "f", "g", "h", "i", "j"];
    let mut pairs: Vec<(&str, &[u64])> = vec![("old", &[OK; 6]), ("new", &faster)];
    pairs.extend(names.map(|name| (name, &same[..])));
    let among = primary(&free(study(&pairs)));
    assert_eq!(among[0].verdict, Verdict::Inconclusive);
    assert_eq!(among[0].together, 7);
    assert_eq!((among[0].low, among[0].high), (alone.low, alone.high));
}

#[test]
fn equivalence_among_many_requires_more_in_tables_and_in_rankings() {
    // Method: a subject that is equivalent to the baseline if the two are alone. Among six
    // it is not, beside the baseline and beside another subject that is as fast.
    let log_ratios: [f64; 8] = [0.03, -0.01, 0.028, -0.012, 0.02, 0.0, 0.022, -0.006];
    let close = log_ratios.map(|ratio| (OK as f64 * ratio.exp()).round() as u64);
    let free = |subjects: &[(&str, &[u64])]| {
        let mut record = study(subjects);
        record.settings.blocks = None;
        judged(record)
    };
    let alone = primary(&free(&[("old", &[OK; 8]), ("close", &close)])).remove(0);
    assert_eq!(alone.verdict, Verdict::Equivalent);
    let names = ["a", "b", "c", "d"];
    let mut all_pairs: Vec<(&str, &[u64])> = vec![("old", &[OK; 8]), ("close", &close)];
    all_pairs.extend(names.map(|name| (name, &[OK; 8][..])));
    let among = free(&all_pairs);
    assert_eq!(primary(&among)[0].verdict, Verdict::Inconclusive);
    let mut pairs = among.rankings[0].pairs.iter();
    let behind =
        pairs.find(|comparison| comparison.subject == "a" && comparison.baseline == "close");
    assert_eq!(behind.unwrap().verdict, Verdict::Inconclusive);
}

#[test]
fn equivalence_depends_on_the_number_of_subjects_and_not_of_pairs() {
    // Method: `c` beside `b` over equal blocks, within 0.97 of the margin at 98.5 %, which
    // three subjects require (3.203 · 2.53 % ÷ √8), and beyond the margin at 99 % (3.499). The
    // pair is behind the gate, and requested together with both other pairs.
    let mut record = study(&[
        ("a", &[4_500; 8]),
        ("b", &[OK; 8]),
        (
            "c",
            &[9_216, 8_789, 9_216, 8_789, 9_216, 8_789, 9_216, 8_789],
        ),
    ]);
    record.settings.blocks = None;
    let verdict = |record: &Measured| {
        let mut pairs = ranking(record.clone()).pairs.into_iter();
        let comparison =
            pairs.find(|comparison| comparison.subject == "c" && comparison.baseline == "b");
        comparison.unwrap().verdict
    };
    assert_eq!(verdict(&record), Verdict::Equivalent);
    record.settings.contrasts = ["a", "b"]
        .map(|baseline| contrast("c", baseline, &[]))
        .to_vec();
    record.settings.contrasts.push(contrast("b", "a", &[]));
    assert_eq!(verdict(&record), Verdict::Equivalent);
}

#[test]
fn requested_pairs_leave_a_tenth_of_their_error_to_the_pairs_behind() {
    // Method: of two requested pairs, the smaller p-value is multiplied by two and the
    // larger divided by 0.9 + 0.1 ÷ 2, whose rest is handed on.
    let blocks = [
        ("a", [9_000, 9_300, 8_800, 9_100, 8_600, 9_200, 9_000]),
        ("b", [9_550, 9_550, 9_250, 9_300, 8_850, 10_050, 9_600]),
        ("c", [9_300, 9_500, 8_900, 9_100, 8_900, 9_300, 9_000]),
    ];
    let adjusted = |names: &[&str]| -> Vec<f64> {
        let named = blocks.iter().filter(|(name, _)| names.contains(name));
        let pairs: Vec<(&str, &[u64])> = named.map(|(name, blocks)| (*name, &blocks[..])).collect();
        let mut record = study(&pairs);
        record.settings.blocks = None;
        let comparisons = primary(&judged(record));
        comparisons
            .iter()
            .map(|compared| compared.p_adjusted.unwrap())
            .collect()
    };
    let [b, c] = [adjusted(&["a", "b"])[0], adjusted(&["a", "c"])[0]];
    assert!(b < c, "{b} {c}");
    let both = adjusted(&["a", "b", "c"]);
    assert!((both[0] / b - 2.0).abs() < 1e-9, "{both:?} {b}");
    assert!((both[1] / c - 1.0 / 0.95).abs() < 1e-9, "{both:?} {c}");
}

#[test]
fn a_ranking_holds_the_pairs_of_its_load_in_short_form() {
    // Method: four subjects under two loads, of which `c` is faster under the first only. Each
    // pair in the file has the figures of its comparison.
    let mut record = four();
    let mut more = record.loads[0].clone();
    more.name = "large".to_owned();
    record.loads.push(more);
    for block in &mut record.blocks {
        let mut more = block.loads[0].clone();
        more.load = "large".to_owned();
        for slice in more.rounds.iter_mut().flat_map(|round| &mut round.slices) {
            if slice.subject == "c" {
                response(slice, &[(abx_evidence::Outcome::Ok, slice.ok / 2)]);
            }
        }
        block.loads.push(more);
    }
    let rankings = judged(record).rankings;
    let place = |ranking: &Ranking, name: &str| {
        let mut places = ranking.places.iter();
        places.position(|place| place.subject == name).unwrap()
    };
    assert!(place(&rankings[0], "c") < place(&rankings[0], "a"));
    assert!(place(&rankings[1], "c") > place(&rankings[1], "a"));
    for ranking in &rankings {
        assert_eq!(ranking.pairs.len(), 6);
        assert!(
            ranking
                .pairs
                .iter()
                .all(|comparison| comparison.load == ranking.load)
        );
        assert!(
            ranking
                .pairs
                .iter()
                .all(|comparison| comparison.metric == ranking.metric)
        );
        let json = serde_json::to_value(ranking).unwrap();
        for (short, comparison) in json["pairs"].as_array().unwrap().iter().zip(&ranking.pairs) {
            let bounds = ["ratio", "low", "high"].map(|key| short[key].as_f64());
            assert_eq!(bounds, [comparison.ratio, comparison.low, comparison.high]);
        }
    }
}

#[test]
fn subjects_that_keep_up_are_ranked_by_their_times_only_if_all_do() {
    // Method: three subjects that respond to all requests of an open loop; then one leaves a
    // fifth unsent; and one of four fails, so that it is void and decides nothing.
    let pairs: [(&str, &[u64]); 4] = ["a", "b", "c", "d"].map(|name| (name, &[OK; 6][..]));
    let with_times = |subjects: &[(&str, &[u64])]| {
        let mut record = study(subjects);
        for part in record.blocks.iter_mut().flat_map(|block| &mut block.loads) {
            for (subject, _) in subjects {
                let times = part.histograms.entry((*subject).to_owned()).or_default();
                times.response = histogram(&[(18_000, 1_000)]);
            }
        }
        record
    };
    let mut open = with_times(&pairs[..3]);
    open.loads[0].settings.arrivals.kind = abx_evidence::ArrivalKind::Constant;
    open.loads[0].settings.arrivals.rate_per_s = Some(100_000.0);
    assert_eq!(ranking(open.clone()).metric, Metric::ResponseP99);
    let mut one_behind = open.clone();
    for slice in all_slices(&mut one_behind).filter(|slice| slice.subject == "c") {
        response(slice, &[(abx_evidence::Outcome::Ok, OK - OK / 5)]);
        slice.unsent = OK / 5;
    }
    assert_eq!(ranking(one_behind.clone()).metric, Metric::Throughput);
    // Nor if the subject that falls behind was not requested.
    one_behind.settings.contrasts = vec![contrast("b", "a", &[])];
    assert_eq!(ranking(one_behind).metric, Metric::Throughput);
    let arrivals = open.loads[0].settings.arrivals.clone();
    open = with_times(&pairs);
    open.loads[0].settings.arrivals = arrivals;
    for slice in all_slices(&mut open).filter(|slice| slice.subject == "c") {
        let counts = [
            (abx_evidence::Outcome::Ok, OK - OK / 5),
            (abx_evidence::Outcome::Timeout, OK / 5),
        ];
        response(slice, &counts);
    }
    let ranking = ranking(open);
    assert_eq!(
        (ranking.metric, ranking.places.len()),
        (Metric::ResponseP99, 3)
    );
}

#[test]
fn a_pair_has_the_same_verdict_everywhere() {
    // Method: five subjects, one of them faster than the baseline by so much that it is
    // significant among the four requested pairs, but would not be among all ten.
    let record = judged(study(&[
        ("old", &[9_000, 9_300, 8_800, 9_100, 8_600, 9_200]),
        ("a", &[9_300, 8_800, 9_200, 8_700, 9_100, 8_900]),
        ("b", &[9_000, 9_250, 8_900, 9_100, 8_600, 9_300]),
        ("c", &[8_900, 9_400, 8_700, 9_050, 8_550, 9_150]),
        ("new", &[9_550, 9_550, 9_250, 9_300, 8_850, 10_050]),
    ]));
    let asked = primary(&record);
    assert_eq!(asked.len(), 4);
    let p = asked[3].p_adjusted.unwrap();
    assert_eq!(asked[3].verdict, Verdict::Faster, "{p}");
    assert!(p / 4.0 * 10.0 > 0.03, "{p}");
    for compared in asked {
        let mut pairs = record.rankings[0].pairs.iter();
        let same = pairs.find(|pair| pair.subject == compared.subject && pair.baseline == "old");
        assert_eq!(same, Some(&*compared));
    }
}

#[test]
fn a_subject_above_another_is_above_all_subjects_below_that_one() {
    // Method: `up` is certainly above the baseline and `down` below it, while the pair of both
    // is too noisy to be certain by itself.
    let ranking = ranking(study(&[
        ("old", &[OK; 7]),
        ("up", &[9_300, 9_900, 9_250, 9_950, 9_300, 9_900, 9_400]),
        ("down", &[8_700, 8_100, 8_750, 8_050, 8_700, 8_100, 8_600]),
        ("same", &[9_000, 9_010, 8_990, 9_000, 9_005, 8_995, 9_000]),
    ]));
    let comparison = ranking
        .pairs
        .iter()
        .find(|comparison| comparison.subject == "down" && comparison.baseline == "up");
    assert_eq!(comparison.unwrap().verdict, Verdict::Inconclusive);
    let mut places = ranking
        .places
        .iter()
        .map(|place| (&*place.subject, place.text()));
    assert!(
        places
            .clone()
            .any(|place| place == ("up", "1-2".to_owned()))
    );
    assert!(places.any(|place| place == ("down", "3-4".to_owned())));
}
