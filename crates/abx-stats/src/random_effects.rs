//! Several studies of the same question, each with an estimate and its standard error: their
//! mean, their difference beyond chance, and a prediction for a further study.

use crate::paired::LogInterval;
use crate::student::{Confidence, t_quantile};

/// One study's estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StudyEstimate {
    pub center: f64,
    /// Its standard error, above zero.
    pub error: f64,
}

/// The combined result of several estimates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomEffects {
    /// The mean over all studies such as these, with its interval.
    pub mean: LogInterval,
    /// The standard deviation between studies beyond that within them.
    pub between: f64,
    /// The interval for the true ratio of a further study; `None` below [`PREDICTION_MIN`].
    pub prediction: Option<LogInterval>,
}

/// The fewest studies for a mean.
pub const STUDIES_MIN: usize = 2;
/// The fewest studies for a prediction.
pub const PREDICTION_MIN: usize = 3;

impl RandomEffects {
    /// Combines studies; `None` for fewer than [`STUDIES_MIN`], and for estimates that are
    /// not finite or errors that are not above zero.
    ///
    /// Method: the variance between studies by Paule and Mandel, the interval by Hartung
    /// and Knapp with k − 1 degrees of freedom, never narrower than the weights alone
    /// give, the prediction with k − 2. Source: docs/explain/statistics/several-records.md, "Several records".
    #[must_use]
    pub fn of(studies: &[StudyEstimate], confidence: Confidence) -> Option<RandomEffects> {
        let is_sound = |study: &StudyEstimate| {
            let variance = study.error * study.error;
            study.center.is_finite() && study.error > 0.0 && variance.is_normal()
        };
        if studies.len() < STUDIES_MIN || !studies.iter().all(is_sound) {
            return None;
        }
        let variance = between(studies);
        let weighted = Weighted::of(studies, variance);
        let degrees = (studies.len() - 1) as f64;
        let knapp = (weighted.squares / degrees).max(1.0) / weighted.weights;
        let around = |half: f64| LogInterval {
            center: weighted.mean,
            low: weighted.mean - half,
            high: weighted.mean + half,
        };
        let prediction = (studies.len() >= PREDICTION_MIN).then(|| {
            let t = t_quantile(confidence, studies.len() - 2);
            around(t * (variance + knapp).sqrt())
        });
        Some(RandomEffects {
            mean: around(t_quantile(confidence, studies.len() - 1) * knapp.sqrt()),
            between: variance.sqrt(),
            prediction,
        })
    }
}

/// The mean of studies, weighted by their precision.
struct Weighted {
    weights: f64,
    mean: f64,
    /// The weighted squares around the mean.
    squares: f64,
}

impl Weighted {
    fn of(studies: &[StudyEstimate], between: f64) -> Weighted {
        let weight = |study: &StudyEstimate| 1.0 / (study.error * study.error + between);
        let weights: f64 = studies.iter().map(weight).sum();
        let sum: f64 = studies
            .iter()
            .map(|study| weight(study) * study.center)
            .sum();
        let mean = sum / weights;
        let square = |study: &StudyEstimate| weight(study) * (study.center - mean).powi(2);
        Weighted {
            weights,
            mean,
            squares: studies.iter().map(square).sum(),
        }
    }
}

/// The variance between studies at which their weighted squares equal their degrees of freedom; 0
/// if they are already fewer at 0. The squares fall as the variance grows.
fn between(studies: &[StudyEstimate]) -> f64 {
    let degrees = (studies.len() - 1) as f64;
    let excess = |variance: f64| Weighted::of(studies, variance).squares - degrees;
    if excess(0.0) <= 0.0 {
        return 0.0;
    }
    // At this variance, no weighted square can be above one.
    let centers = || studies.iter().map(|study| study.center);
    let range = centers().fold(f64::MIN, f64::max) - centers().fold(f64::MAX, f64::min);
    let (mut low, mut high) = (0.0, studies.len() as f64 * range * range);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if excess(middle) > 0.0 {
            low = middle
        } else {
            high = middle
        }
    }
    f64::midpoint(low, high)
}

/// Enough for every digit of a float.
const HALVINGS: usize = 200;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pooled(studies: &[(f64, f64)]) -> RandomEffects {
        let studies = studies.iter().map(|(center, error)| StudyEstimate {
            center: *center,
            error: *error,
        });
        let studies: Vec<StudyEstimate> = studies.collect();
        RandomEffects::of(&studies, Confidence::PRINTED).expect("sound studies")
    }

    /// The thirteen trials of the BCG vaccine: ill and well with the vaccine, then without.
    const VACCINE: [[f64; 4]; 13] = [
        [4.0, 119.0, 11.0, 128.0],
        [6.0, 300.0, 29.0, 274.0],
        [3.0, 228.0, 11.0, 209.0],
        [62.0, 13_536.0, 248.0, 12_619.0],
        [33.0, 5_036.0, 47.0, 5_761.0],
        [180.0, 1_361.0, 372.0, 1_079.0],
        [8.0, 2_537.0, 10.0, 619.0],
        [505.0, 87_886.0, 499.0, 87_892.0],
        [29.0, 7_470.0, 45.0, 7_232.0],
        [17.0, 1_699.0, 65.0, 1_600.0],
        [186.0, 50_448.0, 141.0, 27_197.0],
        [5.0, 2_493.0, 3.0, 2_338.0],
        [27.0, 16_886.0, 29.0, 17_825.0],
    ];

    #[test]
    fn the_trials_of_a_vaccine_have_their_published_figures() {
        // Method: Colditz and others (1994) as risk ratios. In textbooks and packages, the
        // variance between trials by Paule and Mandel is 0.318, and the mean is 0.49.
        let trials = VACCINE.map(|[ill, well, other_ill, other_well]| {
            let (total, other_all) = (ill + well, other_ill + other_well);
            let variance = 1.0 / ill - 1.0 / total + 1.0 / other_ill - 1.0 / other_all;
            (
                (ill / total / (other_ill / other_all)).ln(),
                variance.sqrt(),
            )
        });
        let random_effects = pooled(&trials);
        assert!(
            (random_effects.between.powi(2) - 0.3181).abs() < 1e-4,
            "{random_effects:?}"
        );
        assert!(
            (random_effects.mean.center + 0.7150).abs() < 1e-4,
            "{random_effects:?}"
        );
        // 2.1788 · 0.18089 on 12, and 2.2010 · √(0.31807 + 0.18089²) on 11 degrees.
        assert!(
            (random_effects.mean.half_width() - 0.3941).abs() < 1e-4,
            "{random_effects:?}"
        );
        let next = random_effects.prediction.expect("of thirteen");
        assert!((next.half_width() - 1.3036).abs() < 1e-3, "{next:?}");
    }

    #[test]
    fn estimates_that_agree_have_an_interval_from_their_own_errors() {
        // Method: three equal estimates by hand. The error is 0.01 / √3 on 2 degrees (4.3027),
        // where the weighted squares alone would give zero; for the prediction, t is 12.7062 on
        // 1 degree.
        let random_effects = pooled(&[(0.1, 0.01); 3]);
        assert!(random_effects.between < 1e-12);
        let error = 0.01 / 3.0_f64.sqrt();
        assert!((random_effects.mean.half_width() - 4.302_653 * error).abs() < 1e-7);
        let next = random_effects.prediction.expect("of three");
        assert!((next.half_width() - 12.706_205 * error).abs() < 1e-7);
        assert_eq!(pooled(&[(0.1, 0.01), (0.2, 0.01)]).prediction, None);
        let study_estimates = [StudyEstimate {
            center: 0.1,
            error: 0.01,
        }];
        assert_eq!(
            RandomEffects::of(&study_estimates, Confidence::PRINTED),
            None
        );
        // The last two errors are valid, but their squares underflow or overflow.
        for error in [0.0, -0.01, f64::INFINITY, f64::NAN, 1e-200, 1e200] {
            let bad = [study_estimates[0], StudyEstimate { center: 0.1, error }];
            assert_eq!(RandomEffects::of(&bad, Confidence::PRINTED), None);
        }
    }

    #[test]
    fn scatter_within_chance_does_not_change_the_interval() {
        // Method: by hand. Five estimates whose weighted squares are 3, less than their 4
        // degrees: no variance between them, and an error of 0.01 / √5 on 4 degrees (2.7764).
        let apart = 0.01 * 0.75_f64.sqrt();
        let centers = [0.1 - apart, 0.1 + apart, 0.1, 0.1 + apart, 0.1 - apart];
        let random_effects = pooled(&centers.map(|center| (center, 0.01)));
        assert_eq!(random_effects.between, 0.0);
        let expected = 2.776_445 * 0.01 / 5.0_f64.sqrt();
        assert!(
            (random_effects.mean.half_width() - expected).abs() < 1e-7,
            "{random_effects:?}"
        );
    }

    proptest! {
        #[test]
        fn the_mean_is_within_its_studies_and_moves_with_them(
            studies in prop::collection::vec((-1.0_f64..1.0, 0.001_f64..0.5), 2..12),
            shift in -1.0_f64..1.0,
        ) {
            // Method: the mean is between the smallest and the largest study. A shift of all
            // shifts it, and their order has no effect. A prediction is wider than the interval.
            let random_effects = pooled(&studies);
            let centers = || studies.iter().map(|study| study.0);
            prop_assert!(random_effects.mean.center <= centers().fold(f64::MIN, f64::max) + 1e-9);
            prop_assert!(random_effects.mean.center >= centers().fold(f64::MAX, f64::min) - 1e-9);
            let moved: Vec<_> = studies.iter().rev().map(|study| (study.0 + shift, study.1)).collect();
            let moved = pooled(&moved);
            prop_assert!((moved.mean.center - random_effects.mean.center - shift).abs() < 1e-7);
            prop_assert!((moved.between - random_effects.between).abs() < 1e-6);
            if let Some(next) = random_effects.prediction {
                prop_assert!(next.half_width() > random_effects.mean.half_width());
            }
        }
    }
}
