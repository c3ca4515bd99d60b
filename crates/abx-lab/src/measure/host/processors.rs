//! The activity of some processors of one machine, and their speed.

use abx_evidence::record::Calibration;
use abx_sys::calibration;
use abx_sys::counters::{CpuTicks, MachineCounters, ticks_per_second};

/// Some processors of one machine, each once.
pub struct Processors(Vec<usize>);

/// The speed of a processor at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuSpeed {
    pub cpu: usize,
    /// Its time for work that is always the same.
    pub work_ns: Option<u64>,
    /// How often it was throttled because of heat since boot.
    pub heat_throttles: Option<u64>,
}

impl Processors {
    /// These processors in any order; duplicates count once.
    pub fn new(cpus: &[usize]) -> Processors {
        let mut cpus = cpus.to_vec();
        cpus.sort_unstable();
        cpus.dedup();
        Processors(cpus)
    }

    /// Time that the hypervisor took from them between two readings, in ns; `None` if one of them
    /// was not read.
    pub fn steal_ns(&self, before: &MachineCounters, after: &MachineCounters) -> Option<u64> {
        self.sum_ns(before, after, |ticks| ticks.steal)
    }

    /// Time for which they worked between two readings, in ns; `None` if one of them was not read.
    pub fn busy_ns(&self, before: &MachineCounters, after: &MachineCounters) -> Option<u64> {
        self.sum_ns(before, after, CpuTicks::busy)
    }

    fn sum_ns(
        &self,
        before: &MachineCounters,
        after: &MachineCounters,
        ticks: fn(CpuTicks) -> u64,
    ) -> Option<u64> {
        let tick_ns = 1_000_000_000 / ticks_per_second().max(1);
        let times = self.0.iter().map(|cpu| {
            let (before, after) = (before.cpus.get(cpu)?, after.cpus.get(cpu)?);
            Some(ticks(after.since(*before)) * tick_ns)
        });
        times.sum()
    }

    /// The current speed of each processor. Takes some milliseconds of each.
    pub fn speeds(&self) -> Vec<CpuSpeed> {
        let speed = |cpu: &usize| CpuSpeed {
            cpu: *cpu,
            work_ns: calibration::fixed_work(*cpu).ok().map(|time| time.0),
            heat_throttles: calibration::heat_throttles(*cpu),
        };
        self.0.iter().map(speed).collect()
    }
}

/// The speed of each processor before and after a block.
#[must_use]
pub fn canaries(before: &[CpuSpeed], after: &[CpuSpeed]) -> Vec<Calibration> {
    let calibration = |(before, after): (&CpuSpeed, &CpuSpeed)| {
        let throttles = before.heat_throttles.zip(after.heat_throttles);
        Calibration {
            cpu: before.cpu,
            before_ns: before.work_ns,
            after_ns: after.work_ns,
            heat_throttles: throttles.map(|(before, after)| after.saturating_sub(before)),
        }
    };
    before.iter().zip(after).map(calibration).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_counts_once_and_a_missing_one_makes_the_sum_unknown() {
        // Method: processors 1 and 2 of three, one of them named twice; then a processor that the
        // machine does not have.
        let counters = |ticks: u64| {
            let cpu = CpuTicks {
                user: ticks,
                steal: 2 * ticks,
                ..CpuTicks::default()
            };
            MachineCounters {
                cpus: (0..3).map(|number| (number, cpu)).collect(),
                forks: 0,
            }
        };
        let (before, after) = (counters(10), counters(15));
        let tick_ns = 1_000_000_000 / ticks_per_second();
        let two = Processors::new(&[2, 1, 2]);
        assert_eq!(two.busy_ns(&before, &after), Some(2 * 5 * tick_ns));
        assert_eq!(two.steal_ns(&before, &after), Some(2 * 10 * tick_ns));
        let missing = Processors::new(&[2, 7]);
        assert_eq!(missing.busy_ns(&before, &after), None);
    }

    #[test]
    fn a_canary_holds_both_readings_of_its_processor() {
        // Method: two processors, of which only one has both counts of throttles.
        let speed = |cpu, work_ns, heat_throttles| CpuSpeed {
            cpu,
            work_ns,
            heat_throttles,
        };
        let before = [speed(3, Some(10), Some(4)), speed(5, None, None)];
        let after = [speed(3, Some(12), Some(9)), speed(5, Some(1), Some(2))];
        let calibration = |cpu, before_ns, after_ns, heat_throttles| Calibration {
            cpu,
            before_ns,
            after_ns,
            heat_throttles,
        };
        let expected = [
            calibration(3, Some(10), Some(12), Some(5)),
            calibration(5, None, Some(1), None),
        ];
        assert_eq!(canaries(&before, &after), expected);
    }
}
