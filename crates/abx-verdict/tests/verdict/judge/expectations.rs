//! Whether a record meets its expectations.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

use std::sync::LazyLock;

use abx_evidence::{FindingId, Level, Outcome};
use abx_verdict::expectation::{
    KnownNames, LimitState, blocks_until_settled, expectation_results, limit_state,
};
use abx_verdict::{
    Bounds, Doubt, Expectation, ExpectationResult, Metric, Role, Standing, StudyRecord, Validity,
    Verdict, new_finding,
};
use proptest::prelude::*;

use abx_fixtures::{
    URL, all_slices, assert_close, histogram, longer, pair, response, run, study, times, two_loads,
};

fn known(record: &StudyRecord) -> KnownNames {
    KnownNames {
        subjects: record
            .measured
            .subjects
            .iter()
            .map(|subject| subject.name.clone())
            .collect(),
        loads: record
            .measured
            .loads
            .iter()
            .map(|load| load.name.clone())
            .collect(),
    }
}

fn ask(record: &StudyRecord, text: &str) -> Vec<ExpectationResult> {
    let expectation = Expectation::parse(text, &known(record)).unwrap();
    expectation_results(record, &[expectation])
}

/// The standing of the only result.
fn standing(record: &StudyRecord, text: &str) -> Standing {
    let mut results = ask(record, text);
    assert_eq!(results.len(), 1, "{results:?}");
    results.remove(0).standing
}

fn not_slower(record: &StudyRecord, share: f64) -> Vec<Standing> {
    let expectation = Expectation::not_slower(share).unwrap();
    let results = expectation_results(record, &[expectation]);
    assert!(results.iter().all(|result| !result.is_demanded));
    results.into_iter().map(|result| result.standing).collect()
}

/// A judged pair whose primary comparison has this interval.
fn with(metric: Metric, [low, high]: [f64; 2]) -> StudyRecord {
    static PAIR: LazyLock<StudyRecord> = LazyLock::new(|| StudyRecord::judged(pair()));
    let mut record = PAIR.clone();
    let comparison = &mut record.conclusions.comparisons[0];
    assert_eq!(comparison.role, Role::Primary);
    comparison.metric = metric;
    (comparison.ratio, comparison.low, comparison.high) =
        (Some((low * high).sqrt()), Some(low), Some(high));
    record
}

const STRADDLES: Standing = Standing::Unsettled(Doubt::Straddles);
const BOUND: Standing = Standing::Unsettled(Doubt::Bound);

#[test]
fn an_expectation_holds_or_fails_only_with_its_whole_interval() {
    // Method: an interval below, above, around and ending at the factor, for each sign.
    let table = [
        ([0.90, 0.96], [false, true, false, true]),
        ([0.98, 1.02], [true, false, true, false]),
        ([0.97, 1.02], [true, false, false, false]),
        ([0.90, 0.97], [false, true, false, false]),
        ([0.97, 0.97], [true, true, false, false]),
    ];
    for (interval, holds) in table {
        let record = with(Metric::Throughput, interval);
        for (sign, holds) in [">=", "<=", ">", "<"].into_iter().zip(holds) {
            let standing = standing(&record, &format!("new {sign} 0.97 * old"));
            assert_eq!(standing == Standing::Holds, holds, "{interval:?} {sign}");
        }
    }
    let around = with(Metric::Throughput, [0.95, 1.02]);
    assert_eq!(standing(&around, "new >= 0.97 * old"), STRADDLES);
    let below = with(Metric::Throughput, [0.90, 0.96]);
    assert_eq!(standing(&below, "new >= 0.97 * old"), Standing::Fails);
    assert_eq!(standing(&below, "new < 0.97 * old"), Standing::Holds);
}

proptest! {
    #[test]
    fn an_expectation_and_its_opposite_never_both_hold(
        low in 0.01_f64..10.0,
        width in 0.0_f64..1.0,
        factor in 0.01_f64..10.0,
        is_bound in any::<bool>(),
    ) {
        // Method: `>=` compared with `<`, and with its mirror image.
        let mut record = with(Metric::Throughput, [low, low * (1.0 + width)]);
        record.conclusions.comparisons[0].at_least = is_bound;
        let usual = standing(&record, &format!("new >= {factor} * old"));
        let opposite = standing(&record, &format!("new < {factor} * old"));
        prop_assert_eq!(usual == Standing::Holds, opposite == Standing::Fails);
        prop_assert_eq!(usual == Standing::Fails, opposite == Standing::Holds);
        // One part in a million: the reciprocal rounds the last digit.
        let mirrored = standing(&record, &format!("old <= {} * new", 1.000_001 / factor));
        prop_assert!(usual != Standing::Holds || mirrored == Standing::Holds);
    }
}

#[test]
fn either_order_of_two_subjects_is_allowed() {
    // Method: the study compares `new` with `old`; the other order has the reciprocal.
    let record = StudyRecord::judged(pair());
    let straight = ask(&record, "new > old").remove(0);
    let mirrored = ask(&record, "old < new").remove(0);
    assert_eq!(straight.standing, Standing::Holds);
    assert_eq!(mirrored.standing, Standing::Holds);
    let [straight, mirrored]: [Bounds; 2] =
        [straight, mirrored].map(|result| result.bounds.unwrap());
    assert_close(straight.ratio * mirrored.ratio, 1.0);
    assert_close(straight.low * mirrored.high, 1.0);
    assert_close(straight.high * mirrored.low, 1.0);
}

#[test]
fn two_subjects_with_the_same_baseline_are_decided_by_the_ranking() {
    // Method: three subjects; the pair without the baseline, in both orders, and by a metric
    // that does not rank it.
    let record = StudyRecord::judged(study(&[
        ("a", &[9_000, 9_010, 8_990, 9_000, 9_005, 8_995]),
        ("b", &[9_900, 9_910, 9_890, 9_900, 9_905, 9_895]),
        ("c", &[8_005, 7_990, 8_010, 7_995, 8_000, 8_000]),
    ]));
    assert_eq!(standing(&record, "b >= 1.2 * c"), Standing::Holds);
    assert_eq!(standing(&record, "c >= 0.9 * b"), Standing::Fails);
    assert_eq!(standing(&record, "throughput: c < b"), Standing::Holds);
    let unknown = Standing::Unsettled(Doubt::NotCompared);
    assert_eq!(standing(&record, "server_cpu: c < b"), unknown);
}

#[test]
fn an_expectation_without_a_load_applies_to_every_load() {
    // Method: two loads with and without a name, and a metric that has no load.
    let record = StudyRecord::judged(two_loads());
    let loads = |text: &str| -> Vec<String> {
        let results = ask(&record, text).into_iter();
        results.map(|result| result.load).collect()
    };
    assert_eq!(loads("new > old"), ["small", "large"]);
    assert_eq!(loads("new > old @ large"), ["large"]);
    assert_eq!(loads("ready_time: new < old"), [""]);
    assert_eq!(
        not_slower(&record, 0.03),
        [Standing::Holds, Standing::Holds]
    );
}

#[test]
fn a_named_metric_is_taken_as_it_is_and_no_metric_means_speed() {
    // Method: a primary time for which `new` has 0.8, so that it is 1.25 times as fast.
    let mut record = with(Metric::ResponseP99, [0.8, 0.8]);
    record.conclusions.comparisons.truncate(1);
    let speed = ask(&record, "new >= 1.2 * old").remove(0);
    assert_eq!(speed.standing, Standing::Holds);
    assert!(speed.is_speed_of_time);
    assert_close(speed.bounds.unwrap().ratio, 1.25);
    let named = ask(&record, "response_p99: new <= 0.9 * old").remove(0);
    assert_eq!(named.standing, Standing::Holds);
    assert!(!named.is_speed_of_time);
    assert_close(named.bounds.unwrap().ratio, 0.8);
    assert_eq!(standing(&record, "old >= new"), Standing::Fails);
}

#[test]
fn slower_means_fewer_requests_or_longer_times() {
    // Method: 3 % permitted; intervals within, around and beyond it, of each kind of metric.
    let table = [
        (Metric::Throughput, [0.98, 0.99], Standing::Holds),
        (Metric::Throughput, [0.96, 0.99], STRADDLES),
        (Metric::Throughput, [0.90, 0.96], Standing::Fails),
        (Metric::Throughput, [1.20, 1.30], Standing::Holds),
        (Metric::ResponseP99, [1.01, 1.02], Standing::Holds),
        (Metric::ResponseP99, [1.02, 1.04], STRADDLES),
        (Metric::ResponseP99, [1.04, 1.10], Standing::Fails),
        (Metric::ResponseP99, [0.80, 0.90], Standing::Holds),
    ];
    for (metric, interval, expected) in table {
        let record = with(metric, interval);
        assert_eq!(not_slower(&record, 0.03), [expected], "{interval:?}");
    }
}

#[test]
fn a_bound_settles_only_its_near_side() {
    // Method: a bound above 1, one below it, and one whose direction is open.
    let bound = |interval| {
        let mut record = with(Metric::Throughput, interval);
        record.conclusions.comparisons[0].at_least = true;
        record
    };
    let above = bound([1.05, 1.10]);
    assert_eq!(standing(&above, "new >= 1.02 * old"), Standing::Holds);
    assert_eq!(standing(&above, "new <= 1.20 * old"), BOUND);
    let below = bound([0.90, 0.95]);
    assert_eq!(standing(&below, "new >= 0.97 * old"), Standing::Fails);
    assert_eq!(standing(&below, "new >= 0.80 * old"), BOUND);
    assert_eq!(standing(&below, "old <= 1.20 * new"), BOUND);
    let open = bound([0.99, 1.02]);
    assert_eq!(standing(&open, "new >= 0.97 * old"), BOUND);
    assert_eq!(not_slower(&open, 0.03), [BOUND]);
}

#[test]
fn records_without_a_claim_settle_nothing() {
    // Method: five blocks; a void comparison; an interval without an upper end; no comparison.
    let five = StudyRecord::judged(study(&[("old", &[9_000; 5]), ("new", &[9_900; 5])]));
    let few = Standing::Unsettled(Doubt::FewBlocks(6));
    assert_eq!(standing(&five, "new > old"), few);
    assert_eq!(not_slower(&five, 0.03), [few]);

    let mut void = StudyRecord::judged(pair());
    void.conclusions.comparisons[0].verdict = Verdict::Invalid;
    let finding = new_finding(FindingId::FailedRequests, "all failed");
    void.conclusions.validity = Validity::of(vec![finding.at(Level::Void)]);
    void.conclusions.comparisons[0].findings = vec![0];
    let invalid = Standing::Invalid("all failed".to_owned());
    assert_eq!(standing(&void, "new > old"), invalid);
    assert_eq!(not_slower(&void, 0.03), [invalid]);

    let mut open = StudyRecord::judged(pair());
    open.conclusions.comparisons[0].high = None;
    let no_interval = Standing::Unsettled(Doubt::NoInterval);
    assert_eq!(standing(&open, "new > old"), no_interval);

    let mut none = StudyRecord::judged(pair());
    none.conclusions.comparisons.clear();
    let not_compared = Standing::Unsettled(Doubt::NotCompared);
    assert_eq!(standing(&none, "new > old"), not_compared);
    assert_eq!(not_slower(&none, 0.03), [not_compared]);
}

#[test]
fn a_cost_does_not_show_which_subject_is_slower() {
    // Method: a load whose primary metric is memory per connection, of which `new` needs more; by
    // that metric and by none, in both directions.
    let record = with(Metric::MemoryPerConnection, [1.2, 1.3]);
    let not_of_speed = Standing::Unsettled(Doubt::NotOfSpeed);
    for text in ["new >= old", "new <= old", "old >= 0.5 * new"] {
        assert_eq!(standing(&record, text), not_of_speed, "{text}");
    }
    assert_eq!(not_slower(&record, 0.03), [not_of_speed]);
    let named = "memory_per_connection: new <= 1.1 * old";
    assert_eq!(standing(&record, named), Standing::Fails);
}

/// The state of these limits in a study of seven blocks that ends by its measurements.
fn state(record: &StudyRecord, texts: &[&str]) -> LimitState {
    let names = known(record);
    let limits: Vec<Expectation> = texts
        .iter()
        .map(|text| Expectation::parse(text, &names).unwrap())
        .collect();
    limit_state(record, &limits)
}

#[test]
fn a_limit_is_settled_by_a_wider_interval_than_the_report_prints() {
    // Method: seven blocks whose interval at 97 % is 0.98 to 1.02. With 6 degrees of freedom,
    // 99.9 % reaches 5.959 / 2.829 = 2.106 times as far: from 0.9591 to 1.0426.
    let mut record = with(Metric::Throughput, [1.0 / 1.02, 1.02]);
    record.conclusions.comparisons[0].blocks = 7;
    record.measured = longer(pair());
    record.measured.settings.blocks = None;
    assert_eq!(standing(&record, "new >= 0.97 * old"), Standing::Holds);
    for (text, expected) in [
        ("new >= 0.97 * old", LimitState::Open),
        ("new >= 0.960 * old", LimitState::Open),
        ("new >= 0.958 * old", LimitState::Settled),
        ("new <= 1.042 * old", LimitState::Open),
        ("new <= 1.043 * old", LimitState::Settled),
        ("old <= 1.04 * new", LimitState::Open),
        ("old <= 1.05 * new", LimitState::Settled),
        ("new >= 1.05 * old", LimitState::Settled),
    ] {
        assert_eq!(state(&record, &[text]), expected, "{text}");
    }
    let open = [Expectation::not_slower(0.03).unwrap()];
    assert_eq!(limit_state(&record, &open), LimitState::Open);
    // 7 blocks reach 2.106 · ln 1.02 = 4.17 % and the limit is 3.05 % away: 7 · 1.87 = 13.1.
    assert_eq!(blocks_until_settled(&record, &open), Some(7));
    record.conclusions.comparisons[0].blocks = 6;
    assert_eq!(limit_state(&record, &open), LimitState::Open);
}

#[test]
fn a_study_continues_for_every_limit_that_more_blocks_can_settle() {
    // Method: two loads, one of whose intervals includes the limit; then limits that no block
    // settles, alone and with others: a metric that was not measured, the far side of a bound,
    // a void comparison, processor time instead of speed, and no limit.
    let mut record = StudyRecord::judged(longer(two_loads()));
    record.measured.settings.blocks = None;
    let beyond = "new >= 1.05 * old";
    assert_eq!(state(&record, &[beyond]), LimitState::Settled);
    let mut large = record
        .conclusions
        .comparisons
        .iter_mut()
        .filter(|comparison| comparison.role == Role::Primary && comparison.load == "large");
    large.next().unwrap().low = Some(1.0);
    for (texts, expected) in [
        (&[beyond][..], LimitState::Open),
        (&["new >= 1.05 * old @ small"], LimitState::Settled),
        (
            &["new >= 1.05 * old @ small", "new >= 1.05 * old @ large"],
            LimitState::Open,
        ),
        (&["recovery: new <= old"], LimitState::OutOfReach),
        (&["p99<10s"], LimitState::OutOfReach),
        (&["recovery: new <= old", beyond], LimitState::Open),
        (
            &["recovery: new <= old", "new >= old @ small"],
            LimitState::OutOfReach,
        ),
        (&[], LimitState::OutOfReach),
    ] {
        assert_eq!(state(&record, texts), expected, "{texts:?}");
    }
    let mut bound = record.clone();
    let small = &mut bound.conclusions.comparisons[0];
    small.at_least = true;
    assert_eq!(
        state(&bound, &["new >= 1.05 * old @ small"]),
        LimitState::Settled
    );
    assert_eq!(
        state(&bound, &["new <= 2 * old @ small"]),
        LimitState::OutOfReach
    );
    let mut void = record.clone();
    void.conclusions.comparisons[0].verdict = Verdict::Invalid;
    assert_eq!(
        state(&void, &["new >= old @ small"]),
        LimitState::OutOfReach
    );
    let mut by_cost = record;
    by_cost.conclusions.comparisons[0].metric = Metric::ServerCpu;
    assert_eq!(
        state(&by_cost, &["new >= old @ small"]),
        LimitState::OutOfReach
    );
    assert_eq!(
        state(&by_cost, &["server_cpu: new <= 1.5 * old @ small"]),
        LimitState::Settled
    );
}

/// A run with these counts of responses and their times in µs, and failures.
fn run_of(counts: &[(u64, u64)], failed: u64) -> StudyRecord {
    let mut record = run();
    let ok: u64 = counts.iter().map(|(count, _)| count).sum();
    let slice = all_slices(&mut record).next().unwrap();
    response(slice, &[(Outcome::Ok, ok), (Outcome::Reset, failed)]);
    times(&mut record, URL).response = histogram(counts);
    StudyRecord::judged(record)
}

#[test]
fn a_threshold_is_decided_by_the_printed_figure() {
    // Method: 980 responses of 10 ms and 20 of 60 ms, with limits on both sides of each; the
    // share of errors at its limit and beyond it; and too few requests for a quantile.
    let record = run_of(&[(980, 10_000), (20, 60_000)], 0);
    assert_eq!(standing(&record, "p50<11ms"), Standing::Holds);
    assert_eq!(standing(&record, "p50<9ms"), Standing::Fails);
    assert_eq!(standing(&record, "p99<50ms"), Standing::Fails);
    assert_eq!(standing(&record, "p99<70ms @ small"), Standing::Holds);
    assert_eq!(standing(&record, "errors<0.1%"), Standing::Holds);
    let both = ask(&record, "p99<50ms,errors<0.1%");
    let both: Vec<_> = both
        .iter()
        .map(|result| {
            (
                result.expected.as_str(),
                &result.standing,
                result.is_demanded,
            )
        })
        .collect();
    let expected = [
        ("p99<50ms", &Standing::Fails, true),
        ("errors<0.1%", &Standing::Holds, true),
    ];
    assert_eq!(both, expected);
    let failed = run_of(&[(999, 10_000)], 1);
    assert_eq!(standing(&failed, "errors<0.1%"), Standing::Fails);
    assert_eq!(standing(&failed, "errors<0.2%"), Standing::Holds);
    let few = run_of(&[(4, 10_000)], 0);
    let unsettled = Standing::Unsettled(Doubt::FewRequests(100));
    assert_eq!(standing(&few, "p99<50ms"), unsettled);
    assert_eq!(standing(&few, "p99<5ms"), Standing::Fails);
}

#[test]
fn times_of_a_run_without_a_claim_settle_nothing() {
    // Method: half of the requests failed, which voids a run: its times show nothing, but its
    // errors do; and no request at all.
    let record = run_of(&[(500, 10_000)], 500);
    assert!(matches!(
        standing(&record, "p99<50ms"),
        Standing::Invalid(_)
    ));
    assert_eq!(standing(&record, "errors<0.1%"), Standing::Fails);
    let nothing = run_of(&[], 0);
    let unsettled = Standing::Unsettled(Doubt::NothingSent);
    assert_eq!(standing(&nothing, "errors<0.1%"), unsettled);
}

#[test]
fn a_threshold_applies_to_each_load_and_each_subject() {
    // Method: two subjects under two loads, with all loads and with a named load.
    let record = StudyRecord::judged(two_loads());
    let subjects = record.measured.subjects.len();
    let results = ask(&record, "errors<1%");
    assert_eq!(results.len(), 2 * subjects);
    assert!(
        results
            .iter()
            .all(|result| result.standing == Standing::Holds),
        "{results:?}"
    );
    let results = ask(&record, "errors<1% @ large");
    assert_eq!(results.len(), subjects);
    assert!(results.iter().all(|result| result.load == "large"));
}
