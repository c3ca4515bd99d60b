//! What a slice gave, and what was read at its edges.

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
        /// From the first send to the last outcome.
        wall_ns: u64,
        /// The connections' time: from the first completion after the discarded part to the
        /// first one after the slice's end of each, summed.
        connection_ns: u64,
        /// Attempts; the sum of the outcomes.
        sent: u64,
        completed: u64,
        ok: u64,
        /// Verified responses within the connections' time: what throughput counts.
        clocked: u64,
        outcomes: Outcomes,
        /// Outcomes of attempts that began before the counted part or behind it.
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
        /// Responses after which the server ended a connection to be kept, wherever in the slice.
        closing: u64,
        /// Connections that had died since the last slice and were opened again before this one.
        reopened: u64,
        hashed: u64,
        /// Connections on which no request ended in the counted part.
        silent: u64,
        /// Listeners that never got a broadcast, summed over broadcasts.
        lost: u64,
        /// Broadcasts that listeners got out of order or twice.
        out_of_order: u64,
        /// The sum of response times.
        response_ns_sum: u64,
        /// Processor time of the subject; `None` when not readable.
        server_cpu_ns: Option<u64>,
        /// Processor time of the other subjects together, which should idle: for each of them
        /// the window's part, by time, of all that it used while it was left alone under this
        /// load. They are not read at each slice, since there may be thousands of processes.
        others_cpu_ns: Option<u64>,
        /// Processor time of the generator's threads, without what they waited awake.
        generator_cpu_ns: u64,
        /// Processor time in which they waited awake for responses.
        waiting_awake_ns: u64,
        /// Processor time of the busiest of them, without what it waited awake.
        busiest_worker_ns: u64,
        /// Time for which they were ready to run and did not.
        generator_wait_ns: Option<u64>,
        /// For how long the generator stood still without waiting for a processor: abx or its
        /// machine was paused. Pauses below a quarter of a second are not counted.
        paused_ns: u64,
        /// Time that the hypervisor took from our processors.
        steal_ns: Option<u64>,
        /// Time for which our processors were busy, whoever used them.
        busy_ns: Option<u64>,
        /// Wall time over which the processors were taken.
        window_ns: u64,
        /// Whether it ended early because no connection got a response any more.
        #[serde(rename = "stopped_answering")]
        stopped_responding: bool,
        /// Where the time of a random sample of the whole responses went.
        phases: PhaseSums,
        /// The connections that have a part in it, where these may not be all that send: in a
        /// slice that ends by a number of requests.
        clocks: Option<u64>,
        /// TLS handshakes that resumed an earlier session, of those that requests waited for
        /// which count; `None` where no such request waited for one.
        resumed: Option<u64>,
        /// Context switches of the subject's threads, those that came and went
        /// meanwhile left out; `None` when not readable, when a thread ended, and
        /// when there are too many to look at.
        server_switches: Option<u64>,
        /// What of it was taken from the generator's.
        generator_steal_ns: Option<u64>,
        /// Processor time of each service, in the order of the record's services; `None` when
        /// not readable.
        services_cpu_ns: Vec<Option<u64>>,
        /// The same of the busiest thread of each.
        services_thread_ns: Vec<Option<u64>>,
        /// Processor time of the subject in user mode, to a clock tick (10 ms); `None` when not
        /// readable, and when there are too many threads to look at.
        server_user_ns: Option<u64>,
        /// The same in the kernel.
        server_system_ns: Option<u64>,
        /// Page faults of the subject, with and without the disk.
        server_page_faults: Option<u64>,
    }
}

impl SliceRecord {
    /// The engine's part of a slice's record; what the lab reads is still absent.
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

    /// Whole responses over the whole slice: what is read at its edges holds its discarded part
    /// too.
    #[must_use]
    pub fn all_completed(&self) -> u64 {
        let discarded = self.discarded.completed();
        self.outcomes.completed().saturating_add(discarded)
    }
}
