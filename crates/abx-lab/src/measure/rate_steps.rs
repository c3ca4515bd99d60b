//! Which rate a block tries next to bracket a capacity: the highest rate that meets an
//! objective. Start at [`RateSteps::next`].

use abx_stats::curve::capacity::RateBracket;

/// The first step away from rates that all missed, or all met, an objective. Each step is the
/// square of the one before: 0.8, 0.64, 0.41, 0.17, 0.03.
const FIRST_STEP: f64 = 0.8;
/// Steps in each direction. Together they reach a thousandth of the lowest rate, and a
/// thousand times the highest one.
const STEPS: i32 = 5;
/// The largest ratio between the lowest rate that missed an objective and the highest one that met
/// it: the straight line between them is then off by about 3 % at most.
/// Source: docs/explain/statistics/curves.md, "Capacity".
const CLOSE: f64 = 1.2;
/// Rates that a block tries for each subject: enough to bracket any capacity within reach.
const TRIES: usize = 10;

/// The steps of one block towards the capacities of its subjects.
#[derive(Debug, Default)]
pub struct RateSteps {
    /// Steps down and up so far.
    taken: [i32; 2],
    tries: usize,
}

impl RateSteps {
    /// The index of the subject that needs another try, and the rate to try, in requests per
    /// second. `offered` has the rates so far, and `brackets` each subject's results at them.
    /// `None` if each subject has met and missed its objective at rates close to each other, or if
    /// further steps are hopeless.
    pub fn next(&mut self, offered: &[f64], brackets: &[RateBracket]) -> Option<(usize, f64)> {
        if self.tries >= TRIES * brackets.len() {
            return None;
        }
        let lowest = offered.iter().copied().reduce(f64::min)?;
        let highest = offered.iter().copied().reduce(f64::max)?;
        let next = brackets.iter().enumerate().find_map(|(subject, bracket)| {
            let rate = match (bracket.held, bracket.missed) {
                (None, Some(_)) => lowest * self.step(0)?,
                (Some(_), None) => highest / self.step(1)?,
                (Some(held), Some(missed)) if missed > CLOSE * held => (held * missed).sqrt(),
                _ => return None,
            };
            Some((subject, rate))
        });
        self.tries += 1;
        next
    }

    /// The factor of the next step in one direction; `None` after the last step.
    fn step(&mut self, direction: usize) -> Option<f64> {
        let taken = &mut self.taken[direction];
        let factor = FIRST_STEP.powi(2_i32.pow(*taken as u32));
        *taken += 1;
        (*taken <= STEPS).then_some(factor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The bracket of one subject at these rates.
    fn bracket(offered: &[f64], capacity: f64) -> RateBracket {
        let (held, missed): (Vec<f64>, Vec<f64>) =
            offered.iter().partition(|rate| **rate <= capacity);
        RateBracket {
            held: held.into_iter().reduce(f64::max),
            missed: missed.into_iter().reduce(f64::min),
        }
    }

    /// The brackets of subjects with these capacities after all steps.
    fn stepped(capacities: &[f64]) -> Vec<RateBracket> {
        let mut offered: Vec<f64> = (0..7).map(|step| 850.0 + 50.0 * f64::from(step)).collect();
        let mut steps = RateSteps::default();
        loop {
            let brackets: Vec<RateBracket> = capacities
                .iter()
                .map(|capacity| bracket(&offered, *capacity))
                .collect();
            match steps.next(&offered, &brackets) {
                Some((_, rate)) => offered.push(rate),
                None => return brackets,
            }
        }
    }

    proptest! {
        #[test]
        fn every_capacity_within_reach_is_bracketed(
            logs in prop::collection::vec(-6.8_f64..6.8, 1..4),
        ) {
            // Method: subjects whose capacities are 1/900 to 900 times the first rates.
            let capacities: Vec<f64> = logs.iter().map(|log| 1_000.0 * log.exp()).collect();
            for (bracket, capacity) in stepped(&capacities).iter().zip(&capacities) {
                let held = bracket.held.expect("a rate that holds");
                let missed = bracket.missed.expect("a rate that fails");
                prop_assert!(held <= *capacity && *capacity < missed);
                prop_assert!(missed <= 1.2 * held, "{bracket:?}");
            }
        }
    }

    #[test]
    fn a_capacity_among_the_rates_takes_no_step() {
        // Method: capacities within the first rates, and brackets without any rate.
        let offered = [900.0, 950.0, 1_000.0];
        let brackets = [920.0, 980.0].map(|capacity| bracket(&offered, capacity));
        assert_eq!(RateSteps::default().next(&offered, &brackets), None);
        let none = [RateBracket::default()];
        assert_eq!(RateSteps::default().next(&offered, &none), None);
        assert_eq!(RateSteps::default().next(&[], &none), None);
    }

    #[test]
    fn a_subject_that_misses_everything_is_given_up() {
        // Method: a capacity of zero, and one that is reached.
        let [hopeless, reached] = stepped(&[0.0, 2_000.0])[..] else {
            panic!("two subjects")
        };
        assert_eq!(hopeless.held, None);
        assert!(hopeless.missed.expect("tried") < 1.0);
        assert!(reached.held.is_some() && reached.missed.is_some());
    }
}
