//! Reads the resource use of the subject and of both hosts at the edges of a slice. Nothing is read
//! within a slice.

use abx_evidence::record::SliceRecord;
use abx_sys::Nanos;
use abx_sys::counters::MachineCounters;
use abx_sys::cpus::CpuSplit;
use abx_sys::strain::Strain;
use abx_sys::tree::ProcTree;

use crate::measure::host::generator::GeneratorHost;
use crate::measure::host::other_programs::OtherPrograms;
use crate::measure::host::processors::Processors;
use crate::measure::host::services::{ServiceHost, ServiceReading};
use crate::measure::host::subjects::{SubjectHost, SubjectReading};

/// Reads both hosts at once.
pub struct Meter {
    pub subjects: SubjectHost,
    /// The services of the subjects.
    pub services: ServiceHost,
    /// The host that the load comes from.
    pub generator: GeneratorHost,
    /// The processors of both hosts, which are one machine.
    pub processors: Processors,
}

/// The counters at one edge.
#[derive(Debug, Clone)]
pub struct MeterReading {
    at: Nanos,
    /// The counters of this machine, which is both hosts.
    machine: Option<MachineCounters>,
    subject: SubjectReading,
    services: Vec<ServiceReading>,
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

    /// Adds the process trees of services, in their order.
    #[must_use]
    pub fn with_services(mut self, trees: Vec<Option<ProcTree>>) -> Meter {
        self.services = ServiceHost::new(trees);
        self
    }

    /// Reads the CPU time of programs that are not part of the measurement, at an edge of a block.
    pub fn other_programs(&self) -> OtherPrograms {
        OtherPrograms::read(self.subjects.trees().chain(self.services.trees()))
    }

    /// Reads everything once, before subject `loaded` is loaded.
    ///
    /// SUBTLE: The counters nearest to the slice are read last here and first afterwards, so that
    /// our own reading is not taken for foreign work.
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

    /// Adds the difference between two readings to a slice's record.
    pub fn note(&self, before: &MeterReading, after: &MeterReading, slice: &mut SliceRecord) {
        after.subject.note_since(&before.subject, slice);
        slice.window_ns = after.at.since(before.at).0;
        // With several subjects, the use of the others is not yet known.
        slice.others_cpu_ns = self.subjects.has_one().then_some(0);
        let services = after.services.iter().zip(&before.services);
        let services = services.map(|(now, then)| now.since(then));
        (slice.services_cpu_ns, slice.services_thread_ns) =
            services.map(|[cpu, thread]| (cpu, thread)).unzip();
        if let (Some(before), Some(after)) = (&before.machine, &after.machine) {
            slice.steal_ns = self.processors.steal_ns(before, after);
            slice.generator_steal_ns = self.generator.steal_ns(before, after);
            slice.busy_ns = self.processors.busy_ns(before, after);
        }
    }
}

impl MeterReading {
    /// The machine's trouble counters since another reading.
    #[must_use]
    pub fn strain_since(&self, before: &MeterReading) -> Strain {
        self.subject.strain.since(before.subject.strain)
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
    fn a_window_holds_the_use_between_its_edges() {
        // Method: a single subject, on a machine whose counters could not be read.
        let mut window = SliceRecord::default();
        meter(1).note(&reading(10, Some(2)), &reading(110, Some(52)), &mut window);
        assert_eq!(window.window_ns, 100);
        assert_eq!(window.server_cpu_ns, Some(50));
        assert_eq!(window.others_cpu_ns, Some(0));
        assert_eq!((window.steal_ns, window.busy_ns), (None, None));
    }

    #[test]
    fn unknown_use_is_absent_and_not_zero() {
        // Method: one of two subjects, whose processes cannot be seen.
        let mut window = SliceRecord::default();
        meter(2).note(&reading(0, None), &reading(9, None), &mut window);
        assert_eq!(window.server_cpu_ns, None);
        assert_eq!(window.others_cpu_ns, None);
    }

    #[test]
    fn every_counter_of_a_record_is_one_that_the_kernel_has() {
        // Method: all counters are zero except some, each of which has a different value.
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
