//! Reads, at the edges of a slice, what the subject and the two hosts used.
//! Nothing is read inside a slice.

use abx_evidence::record::SliceRecord;
use abx_sys::Nanos;
use abx_sys::counters::MachineCounters;
use abx_sys::cpus::CpuSplit;
use abx_sys::strain::Strain;
use abx_sys::tree::{EffortSince, ProcTree};

use crate::measure::host::generator::GeneratorHost;
use crate::measure::host::other_programs::OtherPrograms;
use crate::measure::host::processors::Processors;
use crate::measure::host::services::{ServiceHost, ServiceReading};
use crate::measure::host::subjects::{SubjectHost, SubjectReading};

/// Reads both hosts at once.
pub struct Meter {
    pub subjects: SubjectHost,
    /// What the subjects need beside themselves.
    pub services: ServiceHost,
    /// Where the load comes from.
    pub generator: GeneratorHost,
    /// The processors of both, which are of one machine.
    pub processors: Processors,
}

/// What was read at one edge.
#[derive(Debug, Clone)]
pub struct MeterReading {
    at: Nanos,
    /// One look at this machine, which both hosts are.
    machine: Option<MachineCounters>,
    subject: SubjectReading,
    services: Vec<ServiceReading>,
}

/// What happened between two edges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MeterWindow {
    pub window_ns: u64,
    /// Processor time of the subject that was loaded.
    pub server_cpu_ns: Option<u64>,
    pub server_switches: Option<u64>,
    /// What kind of work that subject did.
    pub server_effort: Option<EffortSince>,
    /// Processor time of the others together: none where there are no others, and not
    /// yet known where there are.
    pub others_cpu_ns: Option<u64>,
    /// Processor time of each service, and of the busiest thread of each.
    pub services: Vec<[Option<u64>; 2]>,
    /// Time that the hypervisor took from our processors.
    pub steal_ns: Option<u64>,
    /// What of it was taken from the generator's.
    pub generator_steal_ns: Option<u64>,
    /// Time for which our processors were busy.
    pub busy_ns: Option<u64>,
    /// What the machine counted of its troubles.
    pub strain: Strain,
}

impl Meter {
    /// A meter of these process trees, in the order of the subjects.
    #[must_use]
    pub fn new(trees: Vec<Option<ProcTree>>, split: &CpuSplit) -> Meter {
        Meter {
            subjects: SubjectHost::new(trees),
            services: ServiceHost::default(),
            generator: GeneratorHost::new(&split.generator),
            processors: Processors::new(&[&split.subjects[..], &split.generator[..]].concat()),
        }
    }

    /// The same, and the process trees of services.
    #[must_use]
    pub fn with_services(mut self, trees: Vec<Option<ProcTree>>) -> Meter {
        self.services = ServiceHost::new(trees);
        self
    }

    /// Looks at the programs that are no part of the measurement, at an edge of a block.
    pub fn other_programs(&self) -> OtherPrograms {
        OtherPrograms::read(self.subjects.trees().chain(self.services.trees()))
    }

    /// Reads everything once, before subject `loaded` is loaded.
    ///
    /// SUBTLE: What is nearest to the slice is read last here and first
    /// afterwards, so that our own reading is not taken for foreign work.
    pub fn before(&mut self, loaded: usize) -> MeterReading {
        let services = self.services.read();
        let subject = self.subjects.before(loaded);
        let machine = MachineCounters::read().ok();
        MeterReading {
            at: Nanos::now(),
            machine,
            subject,
            services,
        }
    }

    /// Reads everything once, after subject `loaded` was loaded.
    pub fn after(&mut self, loaded: usize) -> MeterReading {
        MeterReading {
            at: Nanos::now(),
            machine: MachineCounters::read().ok(),
            subject: self.subjects.after(loaded),
            services: self.services.read(),
        }
    }

    /// What happened between two readings.
    #[must_use]
    pub fn window(&self, before: &MeterReading, after: &MeterReading) -> MeterWindow {
        let machine = before.machine.as_ref().zip(after.machine.as_ref());
        let (subject_reading, two) = (&before.subject, &after.subject);
        let used = subject_reading.cpu.zip(two.cpu);
        let switches = subject_reading.switches.as_ref().zip(two.switches.as_ref());
        let effort = subject_reading.effort.as_ref().zip(two.effort.as_ref());
        let services = after.services.iter().zip(&before.services);
        MeterWindow {
            window_ns: after.at.since(before.at).0,
            server_cpu_ns: used.map(|(before, after)| after.since(before).0),
            server_switches: switches.and_then(|(before, after)| after.since(before)),
            server_effort: effort.and_then(|(before, after)| after.since(before)),
            others_cpu_ns: self.subjects.has_one().then_some(0),
            services: services.map(|(now, then)| now.since(then)).collect(),
            steal_ns: machine.and_then(|(machine_counters, two)| {
                self.processors.steal_ns(machine_counters, two)
            }),
            generator_steal_ns: machine
                .and_then(|(machine_counters, two)| self.generator.steal_ns(machine_counters, two)),
            busy_ns: machine
                .and_then(|(machine_counters, two)| self.processors.busy_ns(machine_counters, two)),
            strain: two.strain.since(subject_reading.strain),
        }
    }
}

impl MeterWindow {
    /// Puts what was read into a slice's record.
    pub fn note(&self, slice: &mut SliceRecord) {
        slice.window_ns = self.window_ns;
        slice.server_cpu_ns = self.server_cpu_ns;
        slice.server_switches = self.server_switches;
        slice.server_user_ns = self.server_effort.map(|effort| effort.user.0);
        slice.server_system_ns = self.server_effort.map(|effort| effort.system.0);
        slice.server_page_faults = self.server_effort.map(|effort| effort.page_faults);
        slice.others_cpu_ns = self.others_cpu_ns;
        slice.services_cpu_ns = self.services.iter().map(|[cpu, _]| *cpu).collect();
        slice.services_thread_ns = self.services.iter().map(|[_, thread]| *thread).collect();
        slice.steal_ns = self.steal_ns;
        slice.generator_steal_ns = self.generator_steal_ns;
        slice.busy_ns = self.busy_ns;
    }
}

#[cfg(test)]
mod tests {
    use abx_evidence::record::HostCounters;
    use abx_sys::network::NetworkCounters;
    use abx_sys::pressure::PressureCounters;
    use abx_sys::throttling::ThrottlingCounters;

    use super::*;

    fn reading(at: u64, cpu: Option<u64>) -> MeterReading {
        MeterReading {
            at: Nanos(at),
            machine: None,
            subject: SubjectReading {
                cpu: cpu.map(Nanos),
                switches: None,
                effort: None,
                strain: Strain::default(),
            },
            services: Vec::new(),
        }
    }

    fn meter(subjects: usize) -> Meter {
        let split = CpuSplit {
            subjects: vec![1, 0],
            generator: vec![1],
        };
        Meter::new((0..subjects).map(|_| None).collect(), &split)
    }

    #[test]
    fn a_window_holds_what_was_used_between_its_edges() {
        // Method: one subject alone, of a machine that could not be read.
        let window = meter(1).window(&reading(10, Some(2)), &reading(110, Some(52)));
        assert_eq!(window.window_ns, 100);
        assert_eq!(window.server_cpu_ns, Some(50));
        assert_eq!(window.others_cpu_ns, Some(0));
        assert_eq!((window.steal_ns, window.busy_ns), (None, None));
    }

    #[test]
    fn what_is_not_known_is_absent_and_not_zero() {
        // Method: a subject that cannot be seen, beside another one.
        let window = meter(2).window(&reading(0, None), &reading(9, None));
        assert_eq!(window.server_cpu_ns, None);
        assert_eq!(window.others_cpu_ns, None);
    }

    #[test]
    fn every_counter_of_a_record_is_one_that_the_kernel_has() {
        // Method: all counters zero but some, which have a number of their own.
        let zero = Some(0);
        let strain = Strain {
            at: Nanos(5_000),
            network: NetworkCounters {
                listen_overflows: zero,
                listen_drops: Some(2),
                half_open_drops: zero,
                backlog_drops: zero,
                receive_queue_drops: zero,
                timeouts: zero,
                syn_retransmits: Some(3),
                retransmits: Some(9),
                loss_probes: Some(5),
                loss_probe_recoveries: zero,
                packets_dropped: zero,
                squeezes: zero,
            },
            pressure: PressureCounters {
                cpu_pressure_us: zero,
                memory_pressure_us: Some(6),
                io_pressure_us: zero,
            },
            throttling: ThrottlingCounters {
                throttled: zero,
                throttled_us: Some(7),
            },
        };
        let expected = HostCounters {
            over_us: 5,
            listen_drops: Some(2),
            syn_retransmits: Some(3),
            retransmits: Some(4),
            memory_pressure_us: Some(6),
            throttled_us: Some(7),
            ..HostCounters::none()
        };
        let counted = HostCounters::of(5, |name| strain.named(name));
        assert_eq!(counted, expected);
    }
}
