//! The loads of a sweep: several numbers of connections, each with several rates.

use abx_evidence::Objective;
use abx_model::LoadOptions;

use crate::loads::load::Load;
use crate::loads::rates::{Rate, RateSpec, Spacing};

/// The points of a sweep: every number of connections with every rate.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepSpec {
    /// Connections; at least one number.
    pub connections: Vec<u32>,
    /// Rates; empty for the load's own pacing.
    pub rates: Vec<Rate>,
    /// The objective to meet, instead of rates.
    pub objective: Option<Objective>,
    /// How requests of a rate are laid out.
    pub spacing: Spacing,
}

impl SweepSpec {
    /// The loads of a sweep, fewest connections first: `like` with other connections, rates and
    /// names. `name` returns the name for a number of connections; the rate is appended if there
    /// are several.
    #[must_use]
    pub fn loads(&self, like: &Load, name: impl Fn(u32) -> String) -> Vec<Load> {
        let mut loads = Vec::new();
        let mut sorted = self.connections.clone();
        sorted.sort_unstable();
        for connections in sorted {
            let row = Load {
                options: LoadOptions {
                    connections,
                    ..like.options
                },
                name: name(connections),
                ..like.clone()
            };
            if let Some(objective) = &self.objective {
                loads.push(Load {
                    rate: RateSpec::Objective {
                        objective: objective.clone(),
                        spacing: self.spacing,
                    },
                    ..row
                });
                continue;
            }
            match &self.rates[..] {
                [] => loads.push(row),
                rates => loads.extend(rates.iter().map(|rate| self.at(&row, *rate))),
            }
        }
        loads
    }

    fn at(&self, row: &Load, rate: Rate) -> Load {
        let mut load = row.clone();
        if self.rates.len() > 1 {
            load.name = format!("{}-{}", row.name, rate.name());
        }
        match rate {
            Rate::Fixed(per_s) => load.pacing.arrivals = self.spacing.every(per_s),
            Rate::Share(share) => {
                load.rate = RateSpec::Share {
                    share,
                    spacing: self.spacing,
                }
            }
        }
        load
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_begins_with_the_fewest_connections() {
        // Method: unsorted numbers of connections, each with two rates, whose order stays.
        let sweep = SweepSpec {
            connections: vec![8, 1, 64],
            rates: ["50%", "25%"].map(|rate| Rate::parse(rate).unwrap()).into(),
            objective: None,
            spacing: Spacing::Constant,
        };
        let loads = sweep.loads(&Load::default(), |connections| format!("c{connections}"));
        let names: Vec<&str> = loads.iter().map(|load| load.name.as_str()).collect();
        let expected = [
            "c1-r50pct",
            "c1-r25pct",
            "c8-r50pct",
            "c8-r25pct",
            "c64-r50pct",
            "c64-r25pct",
        ];
        assert_eq!(names, expected);
    }
}
