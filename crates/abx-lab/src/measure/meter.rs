//! Reads, at the edges of a slice, what the subjects and the machine used.
//! Nothing is read inside a slice.

use abx_evidence::record::{Canary, HostCounters, InUse, SliceRecord};
use abx_sys::counters::{MachineCounters, ticks_per_second};
use abx_sys::cpus::Split;
use abx_sys::descriptors::DescriptorUse;
use abx_sys::strain::StrainGauge;
use abx_sys::tree::{ProcTree, ProportionalMemory, Switches, ThreadTimes};
use abx_sys::{Nanos, canary, network, ports, strain};

/// Context switches are read of this many threads at most: each takes some
/// 10 us, at both edges of every slice.
const SWITCHES_THREADS_MAX: usize = 100;

/// Reads the subjects' processes and the machine's counters.
pub struct Meter {
    /// One for each subject; `None` for one whose processes cannot be seen.
    trees: Vec<Option<ProcTree>>,
    /// The processors that abx and its subjects use.
    cpus: Vec<usize>,
    /// Those of them that the generator uses.
    generator_cpus: Vec<usize>,
    /// Counts the machine's troubles.
    strain: StrainGauge,
}

/// What was read at one edge.
#[derive(Debug, Clone)]
pub struct MeterReading {
    at: Nanos,
    subjects: Vec<Option<Nanos>>,
    machine: Option<MachineCounters>,
    /// Of the subject that is loaded.
    switches: Option<Switches>,
    strain: strain::Strain,
}

/// What happened between two edges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MeterWindow {
    /// How long it was.
    pub window_ns: u64,
    /// Processor time of the subject that was loaded.
    pub server_cpu_ns: Option<u64>,
    /// Its context switches.
    pub server_switches: Option<u64>,
    /// Processor time of the others together.
    pub others_cpu_ns: Option<u64>,
    /// Time that the hypervisor took from our processors.
    pub steal_ns: Option<u64>,
    /// What of it was taken from the generator's.
    pub generator_steal_ns: Option<u64>,
    /// Time for which our processors were busy.
    pub busy_ns: Option<u64>,
    /// What the machine counted of its troubles.
    pub troubles: Troubles,
}

/// What the machine counted of its troubles over some time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Troubles {
    /// Connections that found a full accept queue.
    pub listen_overflows: Option<u64>,
    /// Everything else.
    pub strain: HostCounters,
}

/// How fast a processor is at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuSpeed {
    /// The processor.
    pub cpu: usize,
    /// Its time for work that is always the same.
    pub work_ns: Option<u64>,
    /// How often it was slowed down for its heat since boot.
    pub heat_throttles: Option<u64>,
}

impl Meter {
    /// A meter of these process trees, in the order of the subjects.
    #[must_use]
    pub fn new(trees: Vec<Option<ProcTree>>, split: &Split) -> Meter {
        let mut cpus = [&split.subjects[..], &split.generator[..]].concat();
        cpus.sort_unstable();
        cpus.dedup();
        Meter {
            trees,
            cpus,
            generator_cpus: split.generator.clone(),
            strain: StrainGauge::open(),
        }
    }

    /// Reads everything once, before subject `loaded` is loaded.
    ///
    /// SUBTLE: What is nearest to the slice is read last here and first
    /// afterwards, so that our own reading is not taken for foreign work.
    pub fn before(&mut self, loaded: usize) -> MeterReading {
        let strain = self.strain.read();
        let switches = self.switches(loaded);
        let subjects = self.used();
        let machine = MachineCounters::read().ok();
        MeterReading {
            at: Nanos::now(),
            subjects,
            machine,
            switches,
            strain,
        }
    }

    /// Reads everything once, after subject `loaded` was loaded.
    pub fn after(&mut self, loaded: usize) -> MeterReading {
        MeterReading {
            at: Nanos::now(),
            machine: MachineCounters::read().ok(),
            subjects: self.used(),
            switches: self.switches(loaded),
            strain: self.strain.read(),
        }
    }

    fn used(&mut self) -> Vec<Option<Nanos>> {
        let cpu = |tree: &mut Option<ProcTree>| tree.as_mut()?.cpu().ok();
        self.trees.iter_mut().map(cpu).collect()
    }

    fn switches(&self, subject: usize) -> Option<Switches> {
        let tree = self.trees.get(subject)?.as_ref()?;
        tree.switches(SWITCHES_THREADS_MAX).ok()?
    }

    /// What happened between two readings while subject `loaded` was loaded.
    #[must_use]
    pub fn window(
        &self,
        before: &MeterReading,
        after: &MeterReading,
        loaded: usize,
    ) -> MeterWindow {
        let used: Vec<Option<u64>> = before
            .subjects
            .iter()
            .zip(&after.subjects)
            .map(|(before, after)| before.zip(*after).map(|(one, two)| two.since(one).0))
            .collect();
        let others = used
            .iter()
            .enumerate()
            .filter(|(place, _)| *place != loaded);
        let tick_ns = 1_000_000_000 / ticks_per_second().max(1);
        let ticks = |cpus: &[usize], wanted: fn(abx_sys::counters::CpuTicks) -> u64| {
            let (before, after) = (before.machine.as_ref()?, after.machine.as_ref()?);
            let each = cpus.iter().map(|cpu| {
                let (before, after) = (before.cpus.get(cpu)?, after.cpus.get(cpu)?);
                Some(wanted(after.since(*before)) * tick_ns)
            });
            each.sum()
        };
        let switches = before.switches.as_ref().zip(after.switches.as_ref());
        MeterWindow {
            window_ns: after.at.since(before.at).0,
            server_cpu_ns: used.get(loaded).copied().flatten(),
            server_switches: switches.and_then(|(before, after)| after.since(before)),
            others_cpu_ns: others.map(|(_, used)| *used).sum(),
            steal_ns: ticks(&self.cpus, |cpu| cpu.steal),
            generator_steal_ns: ticks(&self.generator_cpus, |cpu| cpu.steal),
            busy_ns: ticks(&self.cpus, |cpu| cpu.busy()),
            troubles: Troubles::of(after.strain.since(before.strain)),
        }
    }

    /// What the machine counted of its troubles until now.
    pub fn strain(&mut self) -> strain::Strain {
        self.strain.read()
    }

    /// How fast each processor is now. Takes some milliseconds of each.
    #[must_use]
    pub fn speeds(&self) -> Vec<CpuSpeed> {
        let speed = |cpu: &usize| CpuSpeed {
            cpu: *cpu,
            work_ns: canary::fixed_work(*cpu).ok().map(|time| time.0),
            heat_throttles: canary::heat_throttles(*cpu),
        };
        self.cpus.iter().map(speed).collect()
    }

    /// Memory of one subject's processes with shared pages counted once, when it
    /// can be read.
    pub fn proportional_memory(&mut self, subject: usize) -> Option<ProportionalMemory> {
        let tree = self.trees.get_mut(subject)?.as_mut()?;
        tree.proportional_memory().ok()
    }

    /// Descriptors of the one of a subject's processes that is nearest to its
    /// limit, when they can be read.
    pub fn descriptors(&mut self, subject: usize) -> Option<InUse> {
        let tree = self.trees.get_mut(subject)?.as_mut()?;
        tree.descriptors().ok().map(in_use)
    }

    /// Memory of one subject's processes, when it can be read.
    pub fn rss_bytes(&mut self, subject: usize) -> Option<u64> {
        self.trees.get_mut(subject)?.as_mut()?.rss_bytes().ok()
    }

    /// Processor time of one subject, when it can be read.
    pub fn cpu(&mut self, subject: usize) -> Option<Nanos> {
        self.trees.get_mut(subject)?.as_mut()?.cpu().ok()
    }

    /// Processor time of one subject's threads, when it can be read.
    pub fn threads(&mut self, subject: usize) -> Option<ThreadTimes> {
        self.trees.get_mut(subject)?.as_mut()?.thread_times().ok()
    }
}

/// How fast each processor was before and after a block.
#[must_use]
pub fn canaries(before: &[CpuSpeed], after: &[CpuSpeed]) -> Vec<Canary> {
    let both = before.iter().zip(after);
    let canary = |(before, after): (&CpuSpeed, &CpuSpeed)| {
        let throttles = before.heat_throttles.zip(after.heat_throttles);
        Canary {
            cpu: before.cpu,
            before_ns: before.work_ns,
            after_ns: after.work_ns,
            heat_throttles: throttles.map(|(before, after)| after.saturating_sub(before)),
        }
    };
    both.map(canary).collect()
}

/// Descriptors of the generator's thread that has most.
#[must_use]
pub fn own_descriptors() -> Option<InUse> {
    DescriptorUse::of_own_threads().ok().map(in_use)
}

/// Connections in TIME_WAIT, beside the ports of so many addresses.
#[must_use]
pub fn time_wait(addresses: usize) -> Option<InUse> {
    let range = ports::local_port_range().ok()?;
    let count = network::time_wait().ok()?;
    Some(InUse {
        count,
        limit: Some((range.len() * addresses.max(1)) as u64),
    })
}

fn in_use(descriptors: DescriptorUse) -> InUse {
    InUse {
        count: descriptors.in_use,
        limit: (descriptors.limit != u64::MAX).then_some(descriptors.limit),
    }
}

impl Troubles {
    /// What was counted between two readings.
    #[must_use]
    pub fn of(added: strain::Strain) -> Troubles {
        let strain::Strain {
            at,
            network,
            pressure,
            throttling,
        } = added;
        Troubles {
            listen_overflows: network.listen_overflows,
            strain: HostCounters {
                over_us: at.0 / 1_000,
                listen_drops: network.listen_drops,
                half_open_drops: network.half_open_drops,
                backlog_drops: network.backlog_drops,
                receive_queue_drops: network.receive_queue_drops,
                timeouts: network.timeouts,
                syn_retransmits: network.syn_retransmits,
                retransmits: network.retransmits,
                packets_dropped: network.packets_dropped,
                squeezes: network.squeezes,
                cpu_pressure_us: pressure.cpu_some_us,
                memory_pressure_us: pressure.memory_full_us,
                io_pressure_us: pressure.io_full_us,
                throttled: throttling.periods,
                throttled_us: throttling.time_us,
            },
        }
    }
}

impl MeterWindow {
    /// Puts what was read into a slice's record.
    pub fn note(&self, slice: &mut SliceRecord) {
        slice.window_ns = self.window_ns;
        slice.server_cpu_ns = self.server_cpu_ns;
        slice.server_switches = self.server_switches;
        slice.others_cpu_ns = self.others_cpu_ns;
        slice.steal_ns = self.steal_ns;
        slice.generator_steal_ns = self.generator_steal_ns;
        slice.busy_ns = self.busy_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at: u64, subjects: &[Option<u64>]) -> MeterReading {
        MeterReading {
            at: Nanos(at),
            subjects: subjects.iter().map(|used| used.map(Nanos)).collect(),
            machine: None,
            switches: None,
            strain: strain::Strain::default(),
        }
    }

    #[test]
    fn the_loaded_subject_is_told_from_the_others() {
        // Method: three subjects, the second loaded.
        let split = Split {
            subjects: vec![1, 0],
            generator: vec![1],
        };
        let meter = Meter::new(Vec::new(), &split);
        let before = reading(10, &[Some(1), Some(2), Some(3)]);
        let after = reading(110, &[Some(5), Some(52), Some(4)]);
        let window = meter.window(&before, &after, 1);
        assert_eq!(window.window_ns, 100);
        assert_eq!(window.server_cpu_ns, Some(50));
        assert_eq!(window.others_cpu_ns, Some(5));
        assert_eq!(window.steal_ns, None);
    }

    #[test]
    fn what_cannot_be_read_is_absent_and_not_zero() {
        // Method: one subject that cannot be seen makes the others' sum unknown.
        let split = Split {
            subjects: Vec::new(),
            generator: Vec::new(),
        };
        let meter = Meter::new(Vec::new(), &split);
        let before = reading(0, &[Some(1), None]);
        let window = meter.window(&before, &reading(9, &[Some(2), None]), 0);
        assert_eq!(
            (window.server_cpu_ns, window.others_cpu_ns),
            (Some(1), None)
        );
        let other = meter.window(&before, &reading(9, &[Some(2), None]), 1);
        assert_eq!((other.server_cpu_ns, other.others_cpu_ns), (None, Some(1)));
    }
    #[test]
    fn a_canary_holds_both_looks_at_its_processor() {
        // Method: two processors, of which one counts its heat both times.
        let speed = |cpu, work_ns, heat_throttles| CpuSpeed {
            cpu,
            work_ns,
            heat_throttles,
        };
        let before = [speed(3, Some(10), Some(4)), speed(5, None, None)];
        let after = [speed(3, Some(12), Some(9)), speed(5, Some(1), Some(2))];
        let canary = |cpu, before_ns, after_ns, heat_throttles| Canary {
            cpu,
            before_ns,
            after_ns,
            heat_throttles,
        };
        let expected = [
            canary(3, Some(10), Some(12), Some(5)),
            canary(5, None, Some(1), None),
        ];
        assert_eq!(canaries(&before, &after), expected);
    }

    #[test]
    fn every_trouble_keeps_its_name() {
        // Method: each counter with a number of its own.
        let mut added = strain::Strain {
            at: Nanos(5_000),
            ..strain::Strain::default()
        };
        added.network.listen_overflows = Some(1);
        added.network.listen_drops = Some(2);
        added.network.syn_retransmits = Some(3);
        added.network.retransmits = Some(4);
        added.pressure.memory_full_us = Some(6);
        added.throttling.time_us = Some(7);
        let troubles = Troubles::of(added);
        let expected = HostCounters {
            over_us: 5,
            listen_drops: Some(2),
            syn_retransmits: Some(3),
            retransmits: Some(4),
            memory_pressure_us: Some(6),
            throttled_us: Some(7),
            ..HostCounters::default()
        };
        assert_eq!(troubles.listen_overflows, Some(1));
        assert_eq!(troubles.strain, expected);
    }
}
