//! The processor time of other processes, over an interval of some seconds: over shorter ones, such
//! as slices, the kernel's ticks are too coarse.

use abx_sys::Nanos;
use abx_sys::counters::{CpuTicks, MachineCounters, ticks_per_second};
use abx_sys::process::{ProcessStat, process_cpu};
use abx_verdict::doctor::ForeignCpu;

/// The counters at one end of the interval.
pub(super) struct Counters {
    at: Nanos,
    /// The ticks of these processors together; `None` when not readable.
    cpus: Option<Ticks>,
    count: usize,
    /// Processor time of abx and of all that it has started and that has ended.
    own: Option<Nanos>,
}

#[derive(Clone, Copy)]
struct Ticks {
    busy: u64,
    steal: u64,
}

impl Counters {
    /// Reads everything once, of these processors.
    pub(super) fn read(cpus: &[usize]) -> Counters {
        let machine = MachineCounters::read().ok();
        let each = |machine: &MachineCounters| -> Option<Vec<CpuTicks>> {
            let ticks = cpus.iter().map(|cpu| machine.cpus.get(cpu).copied());
            ticks.collect()
        };
        let cpu_ticks = machine.as_ref().and_then(each);
        Counters {
            at: Nanos::now(),
            cpus: cpu_ticks.map(|ticks| Ticks {
                busy: ticks.iter().map(|ticks| ticks.busy()).sum(),
                steal: ticks.iter().map(|ticks| ticks.steal).sum(),
            }),
            count: cpus.len(),
            own: own(),
        }
    }

    /// The difference between an earlier reading and this one. Everything that abx started in
    /// between has ended by now.
    pub(super) fn since(&self, earlier: &Counters) -> ForeignCpu {
        let span = self.at.since(earlier.at);
        let capacity_ns = span.0.saturating_mul(self.count as u64);
        let tick_ns = 1_000_000_000 / ticks_per_second().max(1);
        let share = |ns: u64| ns as f64 / capacity_ns.max(1) as f64;
        let grown = |what: fn(Ticks) -> u64| {
            let (now, then) = (self.cpus?, earlier.cpus?);
            Some(what(now).saturating_sub(what(then)) * tick_ns)
        };
        let time = self.own.zip(earlier.own).map(|(now, then)| now.since(then));
        let busy_ns = grown(|ticks| ticks.busy);
        let foreign = busy_ns.zip(time);
        ForeignCpu {
            span_s: span.as_secs_f64(),
            steal: grown(|ticks| ticks.steal).map(share),
            foreign: foreign.map(|(busy, time)| share(busy.saturating_sub(time.0))),
        }
    }
}

fn own() -> Option<Nanos> {
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
            cpus: Some(Ticks {
                busy: busy * ticks_per_second(),
                steal: steal * ticks_per_second(),
            }),
            count: 2,
            own: Some(Nanos(own_s * 1_000_000_000)),
        }
    }

    #[test]
    fn what_is_neither_ours_nor_idle_is_foreign() {
        // Method: ten seconds of two processors: eight busy, five of them ours, one stolen.
        let earlier = counters(5, 100, 7, 50);
        let foreign_cpu = counters(15, 108, 8, 55).since(&earlier);
        assert_eq!(foreign_cpu.span_s, 10.0);
        assert_eq!(foreign_cpu.foreign, Some(0.15));
        assert_eq!(foreign_cpu.steal, Some(0.05));
    }

    #[test]
    fn what_cannot_be_read_is_absent_and_not_zero() {
        // Method: a processor that no machine has, and a process that is not known.
        assert!(Counters::read(&[1_000_000]).cpus.is_none());
        let earlier = Counters {
            own: None,
            ..counters(0, 0, 0, 0)
        };
        let foreign_cpu = counters(1, 1, 0, 1).since(&earlier);
        assert_eq!((foreign_cpu.foreign, foreign_cpu.steal), (None, Some(0.0)));
    }
}
