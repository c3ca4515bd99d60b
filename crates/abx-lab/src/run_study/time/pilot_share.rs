//! How much of a study's time the pilot may take, and how much of that each load.

use std::time::Duration;

use abx_sys::Nanos;

use abx_study::{Load, OrderedTime, Study};

/// The pilot may take the time that a study has left, divided by this.
const PART: u32 = 4;
/// This many connections double the weight of a load, compared with none.
const CONNECTIONS: f64 = 1_000.0;

/// The time of the pilot.
pub struct PilotShare {
    /// When the pilot must end, since the study's start; `None` if time does not matter.
    end: Option<Duration>,
    /// The weight of each load: more connections take longer to open and to respond.
    weights: Vec<f64>,
}

impl PilotShare {
    /// The time of the pilot of a study that started this long ago.
    pub fn of(study: &Study, loads: &[Load], since_start: Duration) -> PilotShare {
        let whole = match study.blocks {
            Some(_) => study.ordered_time.map(|time| match time {
                OrderedTime::Whole(whole) => whole,
                OrderedTime::EachLoad(per_load) => {
                    per_load.saturating_mul(u32::try_from(loads.len()).unwrap_or(u32::MAX))
                }
            }),
            None => Some(study.budget()),
        };
        let left = whole.map(|whole| whole.saturating_sub(since_start));
        let weight = |load: &Load| 1.0 + f64::from(load.connections) / CONNECTIONS;
        PilotShare {
            end: left.map(|left| since_start + left / PART),
            weights: loads.iter().map(weight).collect(),
        }
    }

    /// How long a load's pilot may take, in ns: its part of the time that earlier loads have left.
    pub fn part(&self, load: usize, since_start: Duration) -> Option<u64> {
        let left = self.end?.saturating_sub(since_start);
        let open_weights: f64 = self.weights.iter().skip(load).sum();
        let weight = self.weights.get(load)?;
        Some(Nanos::from(left.mul_f64(weight / open_weights)).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::simulation::scripted::study;
    use abx_model::LoadOptions;

    #[test]
    fn each_load_gets_its_part_of_the_time_that_is_left() {
        // Method: 17 minutes of which one has passed; two loads, the first 11 times as heavy as the
        // second, which has no connections. The first leaves half of its part.
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
        let by_load = Study {
            ordered_time: Some(OrderedTime::EachLoad(minute)),
            ..study.clone()
        };
        let share = PilotShare::of(&by_load, &[load(0), load(0)], Duration::ZERO);
        assert_eq!(share.part(0, Duration::ZERO), Some(15_000_000_000));
        let by_blocks = Study {
            ordered_time: None,
            ..study
        };
        let share = PilotShare::of(&by_blocks, &[load(1)], minute);
        assert_eq!(share.part(0, minute), None);
    }
}
