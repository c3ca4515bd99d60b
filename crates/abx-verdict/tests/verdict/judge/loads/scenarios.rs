//! Loads of users whose sessions have several requests.

use abx_evidence::record::{Histograms, ScenarioSettings};
use abx_evidence::{FindingId, LoadShape, Measured, Outcome, StepTimes};
use abx_fixtures::{OK, each_slice, find, histogram, judged, primary, response, study};
use abx_verdict::expectation::KnownNames;
use abx_verdict::{Comparison, Conclusions, Expectation, Metric, Role, Verdict};

/// Makes each load one of users, with or without pauses.
pub(crate) fn by_users(record: &mut Measured, pauses: bool) {
    for load in &mut record.loads {
        load.settings.exchange.shape = LoadShape::Scenario;
        load.settings.arrivals.connections_rest = pauses;
        load.settings.scenario = Some(ScenarioSettings {
            file: "shop.toml".to_owned(),
            sha256: "00".to_owned(),
            steps: vec!["login".to_owned(), "buy".to_owned()],
        });
    }
}

/// Gives one subject this many sessions in every block and under every load, with the times of
/// a session and of each of its steps.
pub(crate) fn sessions(record: &mut Measured, subject: &str, count: u64, us: [u64; 3]) {
    for block in &mut record.blocks {
        let later = u64::from(block.index);
        let [session, login, buy] = us.map(|us| histogram(&[(count, us + later)]));
        let step = |response| StepTimes {
            ok: count,
            response,
            ..StepTimes::default()
        };
        let times = Histograms {
            response: session,
            steps: vec![step(login), step(buy)],
            ..Histograms::default()
        };
        for part in &mut block.loads {
            part.histograms.insert(subject.to_owned(), times.clone());
        }
    }
}

/// Both complete as many sessions. Those of `new` take 0.8 times as long: logging in takes 0.5
/// times as long, and buying 1.5 times.
fn shop(pauses: bool, count: u64) -> Measured {
    let mut record = study(&[("old", &[OK; 6]), ("new", &[OK; 6])]);
    by_users(&mut record, pauses);
    sessions(&mut record, "old", count, [5_000, 2_000, 1_000]);
    sessions(&mut record, "new", count, [4_000, 1_000, 1_500]);
    record
}

fn role(record: &Conclusions, metric: Metric) -> Option<Role> {
    let mut comparisons = record.comparisons.iter();
    comparisons
        .find(|comparison| comparison.metric == metric)
        .map(|comparison| comparison.role)
}

#[test]
fn users_who_pause_are_judged_by_session_time_and_others_by_sessions() {
    // Method: the same sessions with and without pauses between their steps.
    let without = judged(shop(false, 300));
    let [compared] = &primary(&without)[..] else {
        panic!("{without:?}")
    };
    assert_eq!(
        (compared.metric, compared.verdict),
        (Metric::Throughput, Verdict::Equivalent)
    );
    assert_eq!(role(&without, Metric::ResponseP50), Some(Role::Exploratory));
    let with = judged(shop(true, 300));
    let [comparison] = &primary(&with)[..] else {
        panic!("{with:?}")
    };
    assert_eq!(
        (comparison.metric, comparison.verdict),
        (Metric::ResponseP50, Verdict::Faster)
    );
    assert!(
        (comparison.ratio.unwrap() - 0.8).abs() < 0.01,
        "{comparison:?}"
    );
    assert_eq!(role(&with, Metric::Throughput), Some(Role::Exploratory));
}

#[test]
fn a_void_pair_of_users_who_pause_is_by_session_time() {
    // Method: one in a hundred sessions of `new` fails; the same without session times.
    for (count, metric) in [(300, Metric::ResponseP50), (0, Metric::Throughput)] {
        let mut record = shop(true, count);
        each_slice(&mut record, "new", |slice| {
            let failed = OK / 100;
            let counts = [(Outcome::Ok, OK - failed), (Outcome::Reset, failed)];
            response(slice, &counts);
        });
        let record = judged(record);
        let [compared] = &primary(&record)[..] else {
            panic!("{record:?}")
        };
        assert_eq!(
            (compared.metric, compared.verdict),
            (metric, Verdict::Invalid)
        );
    }
}

#[test]
fn three_servers_of_users_who_pause_are_ranked_by_session_time() {
    // Method: as many sessions of each, which take 4, 5 and 6 ms.
    let mut record = study(&[("mid", &[OK; 6]), ("fast", &[OK; 6]), ("slow", &[OK; 6])]);
    by_users(&mut record, true);
    for (name, us) in [("fast", 4_000), ("mid", 5_000), ("slow", 6_000)] {
        sessions(&mut record, name, 300, [us, 100, 200]);
    }
    let record = judged(record);
    let [ranking] = &record.rankings[..] else {
        panic!("{:?}", record.rankings)
    };
    assert_eq!(ranking.metric, Metric::ResponseP50);
    let places = ranking.places.iter();
    let places: Vec<_> = places
        .map(|place| (&*place.subject, place.text()))
        .collect();
    let expected = [("fast", "1"), ("mid", "2"), ("slow", "3")];
    assert_eq!(
        places,
        expected.map(|(name, place)| (name, place.to_owned()))
    );
}

fn of_steps(record: Measured) -> Vec<Comparison> {
    let comparisons = judged(record).comparisons.into_iter();
    comparisons
        .filter(|comparison| comparison.step.is_some())
        .collect()
}

#[test]
fn each_step_is_compared_by_its_own_times() {
    // Method: ten thousand sessions, enough for both quantiles of both steps; 200, enough for
    // the median alone; and 199. None of these comparisons is what the study was made for.
    let comparisons = of_steps(shop(false, 10_000));
    let of = |comparison: &Comparison| {
        (
            comparison.step.clone().unwrap(),
            comparison.metric,
            comparison.verdict,
        )
    };
    let expected = [
        ("login", Metric::StepP50, Verdict::Faster),
        ("login", Metric::StepP99, Verdict::Faster),
        ("buy", Metric::StepP50, Verdict::Slower),
        ("buy", Metric::StepP99, Verdict::Slower),
    ]
    .map(|(name, metric, verdict)| (name.to_owned(), metric, verdict));
    assert_eq!(comparisons.iter().map(of).collect::<Vec<_>>(), expected);
    for (comparison, ratio) in comparisons.iter().zip([0.5, 0.5, 1.5, 1.5]) {
        assert!(
            (comparison.ratio.unwrap() - ratio).abs() < 0.01,
            "{comparison:?}"
        );
        assert_eq!(comparison.role, Role::Exploratory);
    }
    let few = of_steps(shop(false, 200)).into_iter();
    let few: Vec<Metric> = few.map(|comparison| comparison.metric).collect();
    assert_eq!(few, [Metric::StepP50; 2]);
    assert_eq!(of_steps(shop(false, 199)), []);
}

#[test]
fn a_step_is_named_for_every_metric_of_a_step_and_no_other() {
    // Method: all comparisons of a study of users; and the expectations of a record, which cannot
    // name a step.
    for comparison in judged(shop(true, 10_000)).comparisons {
        assert_eq!(
            comparison.metric.is_of_a_step(),
            comparison.step.is_some(),
            "{comparison:?}"
        );
    }
    let known = KnownNames {
        subjects: ["old", "new"].map(str::to_owned).into(),
        loads: vec!["small".to_owned()],
    };
    let ask = |metric: Metric| Expectation::parse(&format!("{}: new < old", metric.id()), &known);
    assert!(ask(Metric::ResponseP50).is_ok());
    assert!(ask(Metric::StepP50).is_err());
    assert!(ask(Metric::StepP99).is_err());
}

#[test]
fn too_few_sessions_are_reported_with_a_remedy() {
    // Method: no session with a time, of users who pause.
    let record = judged(shop(true, 0));
    assert_eq!(primary(&record), []);
    let finding = find(&record.validity.findings, FindingId::TooFewRequests).unwrap();
    assert!(finding.message.contains("200 sessions"), "{finding:?}");
    assert!(
        finding.remedy.contains("use more users (`-c`)"),
        "{finding:?}"
    );
}
