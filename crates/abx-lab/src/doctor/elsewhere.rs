//! The CPU time of other processes over an interval of some seconds. The kernel's ticks are too
//! coarse for shorter intervals such as slices.

use abx_sys::Nanos;
use abx_sys::counters::{CpuTicks, MachineCounters, ticks_per_second};
use abx_sys::process::{ProcessStat, process_cpu};
use abx_verdict::doctor::ForeignCpu;

/// The counters at one end of the interval.
pub(super) struct Counters {
    at: Nanos,
    /// The ticks of all CPUs together; `None` if they cannot be read.
    ticks: Option<Ticks>,
    cpu_count: usize,
    /// The CPU time of abx and of its children that have ended; `None` if it cannot be read.
    own_cpu: Option<Nanos>,
}

#[derive(Clone, Copy)]
struct Ticks {
    busy: u64,
    steal: u64,
}

impl Counters {
    /// Reads the counters of these CPUs and of abx.
    pub(super) fn read(cpus: &[usize]) -> Counters {
        let machine = MachineCounters::read().ok();
        let cpu_ticks: Option<Vec<CpuTicks>> = machine.and_then(|machine| {
            let ticks = cpus.iter().map(|cpu| machine.cpus.get(cpu).copied());
            ticks.collect()
        });
        Counters {
            at: Nanos::now(),
            ticks: cpu_ticks.map(|cpu_ticks| Ticks {
                busy: cpu_ticks.iter().map(|ticks| ticks.busy()).sum(),
                steal: cpu_ticks.iter().map(|ticks| ticks.steal).sum(),
            }),
            cpu_count: cpus.len(),
            own_cpu: own_cpu(),
        }
    }

    /// The difference between an earlier reading and this one. Every process that abx started in
    /// between must have ended by now.
    pub(super) fn since(&self, earlier: &Counters) -> ForeignCpu {
        let span = self.at.since(earlier.at);
        let capacity_ns = span.0.saturating_mul(self.cpu_count as u64);
        let tick_ns = 1_000_000_000 / ticks_per_second().max(1);
        let share = |ns: u64| ns as f64 / capacity_ns.max(1) as f64;
        let increase_ns = |counter: fn(Ticks) -> u64| {
            let (now, then) = (self.ticks?, earlier.ticks?);
            Some(counter(now).saturating_sub(counter(then)) * tick_ns)
        };
        let own_cpu = self.own_cpu.zip(earlier.own_cpu);
        let own_ns = own_cpu.map(|(now, then)| now.since(then).0);
        let foreign = increase_ns(|ticks| ticks.busy).zip(own_ns);
        ForeignCpu {
            span_s: span.as_secs_f64(),
            steal: increase_ns(|ticks| ticks.steal).map(share),
            foreign: foreign.map(|(busy_ns, own_ns)| share(busy_ns.saturating_sub(own_ns))),
        }
    }
}

fn own_cpu() -> Option<Nanos> {
    let pid = std::process::id();
    let reaped = ProcessStat::read(pid).ok()??.reaped_cpu();
    Some(process_cpu(pid)?.plus(reaped))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(at_s: u64, busy: u64, steal: u64, own_s: u64) -> Counters {
        Counters {
            at: Nanos(at_s * 1_000_000_000),
            ticks: Some(Ticks {
                busy: busy * ticks_per_second(),
                steal: steal * ticks_per_second(),
            }),
            cpu_count: 2,
            own_cpu: Some(Nanos(own_s * 1_000_000_000)),
        }
    }

    #[test]
    fn cpu_time_that_is_neither_idle_nor_of_abx_is_foreign() {
        // Method: ten seconds of two CPUs: eight busy, five of them abx's, one stolen.
        let earlier = counters(5, 100, 7, 50);
        let foreign_cpu = counters(15, 108, 8, 55).since(&earlier);
        assert_eq!(foreign_cpu.span_s, 10.0);
        assert_eq!(foreign_cpu.foreign, Some(0.15));
        assert_eq!(foreign_cpu.steal, Some(0.05));
    }

    #[test]
    fn an_unreadable_counter_is_absent_and_not_zero() {
        // Method: a CPU that no machine has, and an unknown CPU time of abx.
        assert!(Counters::read(&[1_000_000]).ticks.is_none());
        let earlier = Counters {
            own_cpu: None,
            ..counters(0, 0, 0, 0)
        };
        let foreign_cpu = counters(1, 1, 0, 1).since(&earlier);
        assert_eq!((foreign_cpu.foreign, foreign_cpu.steal), (None, Some(0.0)));
    }
}
