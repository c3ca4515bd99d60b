//! The results of a slice, and the readings at its edges.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::distribution::phases::PhaseSums;
use crate::measure::outcome::Outcomes;
use crate::measure::tally::SliceTally;
use crate::record::columns::cell::{Cell, ColumnError, Row, columns, is_default};

columns! {
    /// One slice: its fields are declared here for records, their schema and CSV. New ones go
    /// to the end, so that the columns of CSV keep their places.
    #[derive(Debug, Clone, Default, PartialEq, Serialize)]
    pub struct SliceRecord as SliceColumns {
        subject: String,
        /// The counted part: from the end of the discarded part to the slice's end.
        measured_ns: u64,
        /// The time from the first send to the last outcome.
        wall_ns: u64,
        /// The connections' time: for each, from its first completion after the discarded part
        /// to its first one after the slice's end; summed.
        connection_ns: u64,
        /// Attempts; the sum of the outcomes.
        sent: u64,
        completed: u64,
        ok: u64,
        /// Verified responses within the connections' time. Throughput counts only these.
        clocked: u64,
        outcomes: Outcomes,
        /// Outcomes of attempts that began before the counted part or after it.
        discarded: Outcomes,
        /// Requests of an open loop that were due and never sent.
        unsent: u64,
        /// Requests of an open loop that were due when every connection was in use.
        queued: u64,
        /// Bytes received.
        bytes: u64,
        /// Bytes received in bodies.
        body_bytes: u64,
        /// Connections opened within the slice.
        connects: u64,
        /// Responses after which the server closed a connection that was to be kept, in the whole
        /// slice.
        closing: u64,
        /// Connections that had closed since the last slice and were opened again before this one.
        reopened: u64,
        hashed: u64,
        /// Connections on which no request ended in the counted part.
        silent: u64,
        /// Listeners that never received a broadcast, summed over broadcasts.
        lost: u64,
        /// Broadcasts that listeners received out of order or twice.
        out_of_order: u64,
        /// The sum of response times.
        response_ns_sum: u64,
        /// CPU time of the subject; `None` if not readable.
        server_cpu_ns: Option<u64>,
        /// CPU time of the other subjects together, which should be idle. For each of them it is
        /// the window's share of its use while it was left alone under this load. It is not
        /// read per slice, because there may be thousands of processes.
        others_cpu_ns: Option<u64>,
        /// CPU time of the generator's threads, without waiting awake.
        generator_cpu_ns: u64,
        /// CPU time in which they waited awake for responses.
        waiting_awake_ns: u64,
        /// CPU time of the busiest of them, without waiting awake.
        busiest_worker_ns: u64,
        /// Time for which they were ready to run but did not.
        generator_wait_ns: Option<u64>,
        /// Time for which abx or its machine was paused: the generator stood still without waiting
        /// for a CPU. Pauses below a quarter of a second are not counted.
        paused_ns: u64,
        /// Time that the hypervisor took from the CPUs of subjects and generator.
        steal_ns: Option<u64>,
        /// Time for which these CPUs were busy, for any program.
        busy_ns: Option<u64>,
        /// Wall-clock time over which these CPU times were read.
        window_ns: u64,
        /// Whether it ended early because no connection got a response any more.
        #[serde(rename = "stopped_answering")]
        stopped_responding: bool,
        /// The phases of a random sample of the complete responses.
        phases: PhaseSums,
        /// The connections that have a part in `connection_ns`, if these may not be all that send:
        /// in a slice that ends by a number of requests.
        clocks: Option<u64>,
        /// TLS handshakes that resumed an earlier session, among those for which counted requests
        /// waited; `None` if no counted request waited for one.
        resumed: Option<u64>,
        /// Context switches of the subject's threads, without threads that came and went
        /// meanwhile; `None` if not readable, if a thread ended, and
        /// if there are too many to read.
        server_switches: Option<u64>,
        /// The part of `steal_ns` that was taken from the generator's CPUs.
        generator_steal_ns: Option<u64>,
        /// CPU time of each service, in the order of the record's services; `None` if
        /// not readable.
        services_cpu_ns: Vec<Option<u64>>,
        /// CPU time of the busiest thread of each service.
        services_thread_ns: Vec<Option<u64>>,
        /// CPU time of the subject in user mode, in clock ticks of 10 ms; `None` if not
        /// readable, and if there are too many threads to read.
        server_user_ns: Option<u64>,
        /// CPU time of the subject in the kernel, like `server_user_ns`.
        server_system_ns: Option<u64>,
        /// Page faults of the subject, with and without the disk.
        server_page_faults: Option<u64>,
    }
}

impl SliceRecord {
    /// The engine's part of a slice's record; the lab's readings are still absent.
    #[must_use]
    pub fn of(subject: &str, slice: &SliceTally) -> SliceRecord {
        let tally = &slice.tally;
        SliceRecord {
            subject: subject.to_owned(),
            measured_ns: slice.measured_ns,
            wall_ns: slice.wall_ns,
            connection_ns: tally.connection_ns,
            clocked: tally.clocked,
            sent: tally.outcomes.sent(),
            completed: tally.outcomes.completed(),
            ok: tally.outcomes.ok(),
            outcomes: tally.outcomes.clone(),
            discarded: tally.discarded.clone(),
            unsent: tally.unsent,
            queued: tally.queued,
            lost: tally.lost,
            out_of_order: tally.out_of_order,
            bytes: tally.bytes,
            body_bytes: tally.body_bytes,
            connects: tally.connects,
            resumed: (!tally.times.handshake.is_empty()).then_some(tally.resumed),
            closing: tally.closing,
            hashed: tally.hashed,
            silent: tally.silent,
            response_ns_sum: tally.response_ns_sum,
            phases: tally.times.phases.sums(),
            generator_cpu_ns: slice.generator_cpu_ns,
            waiting_awake_ns: slice.waiting_awake_ns,
            busiest_worker_ns: slice.busiest_worker_ns,
            generator_wait_ns: slice.generator_wait_ns,
            paused_ns: tally.paused_ns,
            window_ns: slice.wall_ns,
            stopped_responding: slice.stopped_responding,
            ..SliceRecord::default()
        }
    }

    /// Complete responses over the whole slice: readings at its edges include its discarded part.
    #[must_use]
    pub fn all_completed(&self) -> u64 {
        let discarded = self.discarded.completed();
        self.outcomes.completed().saturating_add(discarded)
    }
}
