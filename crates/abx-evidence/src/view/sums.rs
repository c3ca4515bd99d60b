//! Slices added up.

use crate::measure::arrivals::{ArrivalSettings, Late, Offered, Spans, throughput_per_s};
use crate::measure::outcome::Outcomes;
use crate::record::{LoadSettings, SliceRecord};

/// What slices hold together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sums {
    pub(crate) outcomes: Outcomes,
    /// Those of the discarded parts.
    pub(crate) discarded: Outcomes,
    pub(crate) unsent: u64,
    pub(crate) queued: u64,
    pub(crate) lost: u64,
    pub(crate) out_of_order: u64,
    pub(crate) hashed: u64,
    pub(crate) bytes: u64,
    pub(crate) clocked: u64,
    /// The connections of `connection_ns`, where they are not all that send.
    pub(crate) clocks: Option<u64>,
    pub(crate) connection_ns: u64,
    pub(crate) measured_ns: u64,
    pub(crate) wall_ns: u64,
    pub(crate) window_ns: u64,
    pub(crate) slices: u64,
    pub(crate) silent: u64,
    pub(crate) response_ns_sum: u64,
    /// Connections opened within slices and between them.
    pub(crate) connects: u64,
    pub(crate) resumed: Option<u64>,
    pub(crate) closing: u64,
    pub(crate) server_cpu_ns: Option<u64>,
    pub(crate) server_switches: Option<u64>,
    pub(crate) others_cpu_ns: Option<u64>,
    /// Of each service; empty where there is none.
    pub(crate) services_cpu_ns: Vec<Option<u64>>,
    pub(crate) services_thread_ns: Vec<Option<u64>>,
    pub(crate) generator_cpu_ns: u64,
    pub(crate) waiting_awake_ns: u64,
    pub(crate) busiest_worker_ns: u64,
    pub(crate) generator_wait_ns: Option<u64>,
    pub(crate) paused_ns: u64,
    pub(crate) steal_ns: Option<u64>,
    pub(crate) generator_steal_ns: Option<u64>,
    pub(crate) busy_ns: Option<u64>,
    pub(crate) stopped_responding: u64,
}

impl From<&SliceRecord> for Sums {
    fn from(slice: &SliceRecord) -> Sums {
        Sums {
            outcomes: slice.outcomes.clone(),
            discarded: slice.discarded.clone(),
            unsent: slice.unsent,
            queued: slice.queued,
            lost: slice.lost,
            out_of_order: slice.out_of_order,
            hashed: slice.hashed,
            bytes: slice.bytes,
            clocked: slice.clocked,
            clocks: slice.clocks,
            connection_ns: slice.connection_ns,
            measured_ns: slice.measured_ns,
            wall_ns: slice.wall_ns,
            window_ns: slice.window_ns,
            slices: 1,
            silent: slice.silent,
            response_ns_sum: slice.response_ns_sum,
            connects: slice.connects + slice.reopened,
            resumed: slice.resumed,
            closing: slice.closing,
            server_cpu_ns: slice.server_cpu_ns,
            server_switches: slice.server_switches,
            others_cpu_ns: slice.others_cpu_ns,
            services_cpu_ns: slice.services_cpu_ns.clone(),
            services_thread_ns: slice.services_thread_ns.clone(),
            generator_cpu_ns: slice.generator_cpu_ns,
            waiting_awake_ns: slice.waiting_awake_ns,
            busiest_worker_ns: slice.busiest_worker_ns,
            generator_wait_ns: slice.generator_wait_ns,
            paused_ns: slice.paused_ns,
            steal_ns: slice.steal_ns,
            generator_steal_ns: slice.generator_steal_ns,
            busy_ns: slice.busy_ns,
            stopped_responding: u64::from(slice.stopped_responding),
        }
    }
}

impl<'a> FromIterator<&'a SliceRecord> for Sums {
    fn from_iter<I: IntoIterator<Item = &'a SliceRecord>>(slices: I) -> Sums {
        let each = slices.into_iter().map(Sums::from);
        each.fold(Sums::none(), |sums, this_sums| sums.plus(&this_sums))
    }
}

impl Sums {
    /// Those of no slice.
    pub(crate) fn none() -> Sums {
        let zero = Some(0);
        Sums {
            server_cpu_ns: zero,
            server_switches: zero,
            others_cpu_ns: zero,
            generator_wait_ns: zero,
            steal_ns: zero,
            generator_steal_ns: zero,
            busy_ns: zero,
            ..Sums::default()
        }
    }

    /// These and others together. A sum of readings is known only when every
    /// reading is.
    pub(crate) fn plus(mut self, other: &Sums) -> Sums {
        let both = |number: Option<u64>, other: Option<u64>| Some(number? + other?);
        self.outcomes.merge(&other.outcomes);
        self.discarded.merge(&other.discarded);
        Sums {
            outcomes: self.outcomes,
            discarded: self.discarded,
            unsent: self.unsent + other.unsent,
            queued: self.queued + other.queued,
            lost: self.lost + other.lost,
            out_of_order: self.out_of_order + other.out_of_order,
            hashed: self.hashed + other.hashed,
            bytes: self.bytes + other.bytes,
            clocked: self.clocked + other.clocked,
            clocks: other.clocks.or(self.clocks),
            connection_ns: self.connection_ns + other.connection_ns,
            measured_ns: self.measured_ns + other.measured_ns,
            wall_ns: self.wall_ns + other.wall_ns,
            window_ns: self.window_ns + other.window_ns,
            slices: self.slices + other.slices,
            silent: self.silent + other.silent,
            response_ns_sum: self.response_ns_sum + other.response_ns_sum,
            connects: self.connects + other.connects,
            resumed: { self.resumed.iter().chain(&other.resumed) }
                .copied()
                .reduce(|number, other| number + other),
            closing: self.closing + other.closing,
            server_cpu_ns: both(self.server_cpu_ns, other.server_cpu_ns),
            server_switches: both(self.server_switches, other.server_switches),
            others_cpu_ns: both(self.others_cpu_ns, other.others_cpu_ns),
            services_cpu_ns: each(self.services_cpu_ns, &other.services_cpu_ns),
            services_thread_ns: each(self.services_thread_ns, &other.services_thread_ns),
            generator_cpu_ns: self.generator_cpu_ns + other.generator_cpu_ns,
            waiting_awake_ns: self.waiting_awake_ns + other.waiting_awake_ns,
            busiest_worker_ns: self.busiest_worker_ns + other.busiest_worker_ns,
            generator_wait_ns: both(self.generator_wait_ns, other.generator_wait_ns),
            paused_ns: self.paused_ns + other.paused_ns,
            steal_ns: both(self.steal_ns, other.steal_ns),
            generator_steal_ns: both(self.generator_steal_ns, other.generator_steal_ns),
            busy_ns: both(self.busy_ns, other.busy_ns),
            stopped_responding: self.stopped_responding + other.stopped_responding,
        }
    }

    /// Processor time of all services together; none where there is no service.
    pub(crate) fn all_services_cpu_ns(&self) -> Option<u64> {
        self.services_cpu_ns.iter().copied().sum()
    }

    /// Whole responses over whole slices: what is read at a slice's edges holds
    /// its discarded part too.
    pub(crate) fn all_completed(&self) -> u64 {
        self.outcomes.completed() + self.discarded.completed()
    }

    /// Verified responses per second; see [`throughput_per_s`].
    pub(crate) fn throughput(&self, settings: &LoadSettings) -> Option<f64> {
        let senders = settings.exchange.senders(settings.connections);
        let connections = self.clocks.unwrap_or(senders.into());
        let spans = Spans {
            connection_ns: self.connection_ns,
            measured_ns: self.measured_ns,
        };
        throughput_per_s(&settings.arrivals, connections, self.clocked, spans)
    }

    /// What was due and what was sent of it; `None` in a closed loop.
    pub(crate) fn offered(&self, arrivals: &ArrivalSettings) -> Option<Offered> {
        let late = Late {
            unsent: self.unsent,
            queued: self.queued,
        };
        Offered::counted(arrivals, &self.outcomes, late)
    }
}

/// Sums of several readings; those of no slice are empty.
fn each(numbers: Vec<Option<u64>>, other: &[Option<u64>]) -> Vec<Option<u64>> {
    if numbers.is_empty() {
        return other.to_vec();
    }
    if other.is_empty() {
        return numbers;
    }
    let pairs = numbers.into_iter().zip(other);
    pairs
        .map(|(number, other)| Some(number? + (*other)?))
        .collect()
}
