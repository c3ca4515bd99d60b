//! Slices added up.

use abx_evidence::record::{LoadSettings, SliceRecord};
use abx_evidence::{
    ArrivalSettings, Clocked, Late, Offered, Outcomes, Spans, sum, sum_known, throughput_per_s,
};

/// Declares the fields of slices by how they are added: counters always, readings if all of
/// them are known, readings of services one by one.
macro_rules! sums {
    (counters: $($counter:ident)+; readings: $($reading:ident)+; services: $($service:ident)+) => {
        /// The sums of several slices.
        #[derive(Debug, Clone, Default)]
        pub(crate) struct Sums {
            pub(crate) outcomes: Outcomes,
            /// The outcomes in the discarded parts.
            pub(crate) discarded: Outcomes,
            /// The number of connections in `connection_ns`, if it excludes some that send.
            pub(crate) clocks: Option<u64>,
            pub(crate) slices: u64,
            /// Connections opened within slices and between them.
            pub(crate) connects: u64,
            /// Those of them that were opened within slices.
            pub(crate) connects_in_slices: u64,
            pub(crate) resumed: Option<u64>,
            pub(crate) stopped_responding: u64,
            $(pub(crate) $counter: u64,)+
            $(pub(crate) $reading: Option<u64>,)+
            /// One per service.
            $(pub(crate) $service: Vec<Option<u64>>,)+
        }

        impl From<&SliceRecord> for Sums {
            fn from(slice: &SliceRecord) -> Sums {
                Sums {
                    outcomes: slice.outcomes.clone(),
                    discarded: slice.discarded.clone(),
                    clocks: slice.clocks,
                    slices: 1,
                    connects: sum([slice.connects, slice.reopened]),
                    connects_in_slices: slice.connects,
                    resumed: slice.resumed,
                    stopped_responding: u64::from(slice.stopped_responding),
                    $($counter: slice.$counter,)+
                    $($reading: slice.$reading,)+
                    $($service: slice.$service.clone(),)+
                }
            }
        }

        impl Sums {
            /// The sums of no slice.
            pub(crate) fn none() -> Sums {
                Sums { $($reading: Some(0),)+ ..Sums::default() }
            }

            /// Adds other sums. A sum of readings is known only if every reading is.
            pub(crate) fn plus(mut self, other: &Sums) -> Sums {
                self.outcomes.merge(&other.outcomes);
                self.discarded.merge(&other.discarded);
                let resumed = self.resumed.into_iter().chain(other.resumed);
                Sums {
                    outcomes: self.outcomes,
                    discarded: self.discarded,
                    clocks: other.clocks.or(self.clocks),
                    slices: self.slices + other.slices,
                    connects: sum([self.connects, other.connects]),
                    connects_in_slices: sum([self.connects_in_slices, other.connects_in_slices]),
                    resumed: resumed.reduce(u64::saturating_add),
                    stopped_responding: self.stopped_responding + other.stopped_responding,
                    $($counter: sum([self.$counter, other.$counter]),)+
                    $($reading: sum_known([self.$reading, other.$reading]),)+
                    $($service: sum_by_service(self.$service, &other.$service),)+
                }
            }
        }
    };
}

sums! {
    counters:
        unsent queued lost out_of_order hashed bytes body_bytes clocked connection_ns measured_ns wall_ns
        window_ns silent response_ns_sum closing generator_cpu_ns waiting_awake_ns
        busiest_worker_ns paused_ns;
    readings:
        server_cpu_ns server_switches server_user_ns server_system_ns server_page_faults others_cpu_ns generator_wait_ns steal_ns
        generator_steal_ns busy_ns;
    services: services_cpu_ns services_thread_ns
}

impl<'a> FromIterator<&'a SliceRecord> for Sums {
    fn from_iter<I: IntoIterator<Item = &'a SliceRecord>>(slices: I) -> Sums {
        let slices = slices.into_iter().map(Sums::from);
        slices.fold(Sums::none(), |sums, slice| sums.plus(&slice))
    }
}

impl Sums {
    /// CPU time of all services together; 0 if there is no service.
    pub(crate) fn all_services_cpu_ns(&self) -> Option<u64> {
        sum_known(self.services_cpu_ns.iter().copied())
    }

    /// Complete responses in whole slices. Readings at the edges of a slice include its discarded
    /// part, so their shares do too.
    pub(crate) fn all_completed(&self) -> u64 {
        sum([self.outcomes.completed(), self.discarded.completed()])
    }

    /// Verified responses per second; see [`throughput_per_s`].
    pub(crate) fn throughput(&self, settings: &LoadSettings) -> Option<f64> {
        let senders = settings.exchange.senders(settings.connections);
        let connections = self.clocks.unwrap_or(senders.into());
        let spans = Spans {
            connection_ns: self.connection_ns,
            measured_ns: self.measured_ns,
        };
        let clocked = Clocked {
            connections,
            ok: self.clocked,
        };
        let offered = self.offered(&settings.arrivals);
        let served = offered.and_then(|offered| offered.served(&self.outcomes));
        throughput_per_s(&settings.arrivals, clocked, spans, served)
    }

    /// The requests that were due, and those that were sent; `None` in a closed loop.
    pub(crate) fn offered(&self, arrivals: &ArrivalSettings) -> Option<Offered> {
        let late = Late {
            unsent: self.unsent,
            queued: self.queued,
        };
        Offered::counted(arrivals, &self.outcomes, late)
    }
}

/// Adds readings service by service. Sums of no slice have none yet.
fn sum_by_service(readings: Vec<Option<u64>>, others: &[Option<u64>]) -> Vec<Option<u64>> {
    if readings.is_empty() {
        return others.to_vec();
    }
    if others.is_empty() {
        return readings;
    }
    let services = readings.into_iter().zip(others);
    services
        .map(|(reading, other)| sum_known([reading, *other]))
        .collect()
}
