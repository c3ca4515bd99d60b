//! Several records of one study.

use abx_verdict::{PoolError, Pooled, StudyRecord, pooled};

use abx_fixtures::{OK, assert_close, pair, study};

/// A record of `new` with this many responses per slice beside `old`.
fn day(name: &str, ok: u64) -> (String, StudyRecord) {
    let around = [ok, ok + 10, ok - 10, ok + 5, ok - 5, ok + 20, ok - 20];
    let mut record = study(&[("old", &[OK; 7]), ("new", &around)]);
    record.seed = ok;
    (name.to_owned(), StudyRecord::judged(record))
}

fn of(records: &[(String, StudyRecord)]) -> Pooled {
    pooled(records).expect("records of one study")
}

#[test]
fn differing_days_have_a_mean_and_a_prediction() {
    // Method: ratios of 1.0, 1.1 and 1.21, each with a spread of a thousandth. The mean is 1.1
    // and the days lie ln 1.1 apart. The half-widths of the interval and of the prediction are,
    // by hand, 4.3027 · ln 1.1 / √3 and 12.7062 · ln 1.1 · √(4/3).
    let days = [day("mon", 9_000), day("tue", 9_900), day("wed", 10_890)];
    let pooled = of(&days);
    let [pooled_comparison] = &pooled.comparisons[..] else {
        panic!("{pooled:?}")
    };
    let step = 1.1_f64.ln();
    let mean = pooled_comparison.mean.unwrap();
    assert!((mean.ratio - 1.1).abs() < 1e-4, "{mean:?}");
    assert!(((mean.high / mean.ratio).ln() - 4.302_65 * step / 3.0_f64.sqrt()).abs() < 1e-3);
    let next = pooled_comparison.prediction.unwrap();
    let half_width = 12.706_2 * step * (4.0_f64 / 3.0).sqrt();
    assert!(
        ((next.high / next.ratio).ln() - half_width).abs() < 0.01,
        "{next:?}"
    );
    assert!(
        (pooled_comparison.between.unwrap() - 0.1).abs() < 0.001,
        "{pooled_comparison:?}"
    );
    let ratios: Vec<f64> = pooled_comparison
        .each
        .iter()
        .map(|bounds| bounds.unwrap().ratio)
        .collect();
    for (ratio, expected) in ratios.iter().zip([1.0, 1.1, 1.21]) {
        assert!((ratio - expected).abs() < 1e-4, "{ratios:?}");
    }
    assert_eq!(of(&days[..2]).comparisons[0].prediction, None);
}

#[test]
fn a_day_without_a_claim_is_left_out_and_shown() {
    // Method: half of the responses of one day are wrong.
    let mut wrong = day("tue", 9_900);
    for slice in abx_fixtures::all_slices(&mut wrong.1.measured) {
        let counts = [
            (abx_evidence::Outcome::Ok, slice.ok / 2),
            (abx_evidence::Outcome::WrongStatus, slice.ok / 2),
        ];
        abx_fixtures::response(slice, &counts);
    }
    let wrong = (wrong.0, StudyRecord::judged(wrong.1.measured));
    let pooled = of(&[day("mon", 9_000), wrong, day("wed", 9_001)]);
    let pooled_comparison = &pooled.comparisons[0];
    assert_eq!(
        pooled_comparison
            .each
            .iter()
            .map(Option::is_some)
            .collect::<Vec<_>>(),
        [true, false, true]
    );
    assert_close(pooled_comparison.mean.unwrap().ratio.round(), 1.0);
    assert_eq!(pooled_comparison.prediction, None);
}

#[test]
fn records_of_different_studies_are_refused_by_name() {
    // Method: another subject, baseline, load or number of connections, and one record twice.
    let refused = |change: &dyn Fn(&mut StudyRecord)| {
        let mut other = day("tue", 9_900);
        change(&mut other.1);
        pooled(&[day("mon", 9_000), other]).unwrap_err()
    };
    let other = |change: &dyn Fn(&mut StudyRecord)| match refused(change) {
        PoolError::Other {
            what,
            record,
            first,
            ..
        } => {
            assert_eq!((record.as_str(), first.as_str()), ("tue", "mon"));
            what
        }
        error @ PoolError::Twice { .. } => panic!("{error}"),
    };
    assert_eq!(
        other(&|study| study.measured.subjects[1].name = "newer".to_owned()),
        "subjects"
    );
    assert_eq!(
        other(&|study| study.measured.settings.baseline = "new".to_owned()),
        "baseline"
    );
    assert_eq!(
        other(&|study| study.measured.loads[0].name = "large".to_owned()),
        "loads"
    );
    let more = |study: &mut StudyRecord| study.measured.loads[0].settings.connections += 1;
    assert_eq!(other(&more), "settings of a load");
    let same = StudyRecord::judged(pair());
    let twice = pooled(&[("a".to_owned(), same.clone()), ("b".to_owned(), same)]).unwrap_err();
    let message = "b and a are the same measurement: give each record once";
    assert_eq!(twice.to_string(), message);
}
