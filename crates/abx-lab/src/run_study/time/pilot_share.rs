//! How much of a study's time the pilot may take, and each load's part of that.

use std::time::Duration;

use abx_sys::Nanos;

use abx_study::{Load, OrderedTime, Study};

/// The pilot may take this part of the time that a study has: a quarter.
const PART: u32 = 4;
/// So many connections are as much work again as there is without any.
const CONNECTIONS: f64 = 1_000.0;

/// The time of the pilot.
pub struct PilotShare {
    /// Since the study's start; `None` if it has no end.
    ends: Option<Duration>,
    /// The weight of each load: more connections take longer to open and to respond.
    weights: Vec<f64>,
}

impl PilotShare {
    /// Of a study that has started so long ago.
    pub fn of(study: &Study, loads: &[Load], since_start: Duration) -> PilotShare {
        let whole = match study.blocks {
            Some(_) => study.ordered_time.map(|time| match time {
                OrderedTime::Whole(whole) => whole,
                OrderedTime::EachLoad(each) => {
                    each.saturating_mul(u32::try_from(loads.len()).unwrap_or(u32::MAX))
                }
            }),
            None => Some(study.budget()),
        };
        let left = whole.map(|whole| whole.saturating_sub(since_start));
        let weight = |load: &Load| 1.0 + f64::from(load.connections) / CONNECTIONS;
        PilotShare {
            ends: left.map(|left| since_start + left / PART),
            weights: loads.iter().map(weight).collect(),
        }
    }

    /// How long a load's pilot may take, in ns: its part of the time that those before it have
    /// left.
    pub fn part(&self, load: usize, since_start: Duration) -> Option<u64> {
        let left = self.ends?.saturating_sub(since_start);
        let behind: f64 = self.weights.iter().skip(load).sum();
        let own_value = self.weights.get(load)?;
        Some(Nanos::from(left.mul_f64(own_value / behind)).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::simulation::scripted::study;
    use abx_model::LoadOptions;

    #[test]
    fn a_load_has_its_part_of_what_is_left() {
        // Method: 17 minutes of which one has passed; two loads of 11 and 1 as heavy as one
        // with no connections, the first of which leaves half of its part.
        let study = Study {
            blocks: Some(6),
            ordered_time: Some(OrderedTime::Whole(Duration::from_secs(17 * 60))),
            ..study(None)
        };
        let load = |connections| Load {
            options: LoadOptions {
                connections,
                ..LoadOptions::default()
            },
            ..Load::default()
        };
        let minute = Duration::from_secs(60);
        let share = PilotShare::of(&study, &[load(10_000), load(0)], minute);
        let seconds = |load, since_start| share.part(load, since_start).unwrap() / 1_000_000_000;
        assert_eq!(seconds(0, minute), 220);
        assert_eq!(seconds(1, minute + Duration::from_secs(110)), 130);
        assert_eq!(seconds(1, 10 * minute), 0);
        // A minute under each of two loads makes two minutes, of which a quarter is 30 s.
        let each = Study {
            ordered_time: Some(OrderedTime::EachLoad(minute)),
            ..study.clone()
        };
        let share = PilotShare::of(&each, &[load(0), load(0)], Duration::ZERO);
        assert_eq!(share.part(0, Duration::ZERO), Some(15_000_000_000));
        let ordered = Study {
            ordered_time: None,
            ..study
        };
        let free = PilotShare::of(&ordered, &[load(1)], minute);
        assert_eq!(free.part(0, minute), None);
    }
}
