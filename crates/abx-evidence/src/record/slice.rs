//! What a slice gave, and what was read at its edges.

use crate::measure::outcome::Outcomes;
use crate::measure::phases::PhaseSums;
use crate::measure::tally::SliceTally;

/// One slice.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceRecord {
    pub subject: String,
    /// The counted part: from the end of the discarded part to the slice's end.
    pub measured_ns: u64,
    /// From the first send to the last outcome.
    pub wall_ns: u64,
    /// The connections' time: from the first completion after the discarded part to the
    /// first one after the slice's end of each, summed.
    pub connection_ns: u64,
    /// The connections that have a part in it, where these may not be all that send: in a
    /// slice that ends by a number of requests.
    pub clocks: Option<u64>,
    /// Verified responses within the connections' time: what throughput counts.
    pub clocked: u64,
    /// Attempts; the sum of the outcomes.
    pub sent: u64,
    pub completed: u64,
    pub ok: u64,
    pub outcomes: Outcomes,
    /// Outcomes of attempts that began before the counted part or behind it.
    pub discarded: Outcomes,
    /// Requests of an open loop that were due and never sent.
    pub unsent: u64,
    /// Requests of an open loop that were due when every connection was in use.
    pub queued: u64,
    /// Listeners that never got a broadcast, summed over broadcasts.
    pub lost: u64,
    /// Broadcasts that listeners got out of order or twice.
    pub out_of_order: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Bytes received in bodies.
    pub body_bytes: u64,
    /// Connections opened within the slice.
    pub connects: u64,
    /// TLS handshakes that resumed an earlier session, of those that requests waited for
    /// which count; `None` where no such request waited for one.
    pub resumed: Option<u64>,
    /// Whole responses that ended a connection which was to be kept, wherever in the slice.
    pub closing: u64,
    /// Connections that had died since the last slice and were opened again before this one.
    pub reopened: u64,
    pub hashed: u64,
    /// Connections on which no request ended in the counted part.
    pub silent: u64,
    /// The sum of response times.
    pub response_ns_sum: u64,
    /// Where the time of a random sample of the whole responses went.
    pub phases: PhaseSums,
    /// Processor time of the subject; `None` when not readable.
    pub server_cpu_ns: Option<u64>,
    /// Context switches of the subject's threads, those that came and went
    /// meanwhile left out; `None` when not readable, when a thread ended, and
    /// when there are too many to look at.
    pub server_switches: Option<u64>,
    /// Processor time of the other subjects together, which should idle: for each of them
    /// the window's part, by time, of all that it used while it was left alone under this
    /// load. They are not read at each slice, since there may be thousands of processes.
    pub others_cpu_ns: Option<u64>,
    /// Processor time of each service, in the order of the record's services; `None` when
    /// not readable.
    pub services_cpu_ns: Vec<Option<u64>>,
    /// The same of the busiest thread of each.
    pub services_thread_ns: Vec<Option<u64>>,
    /// Processor time of the generator's threads, without what they waited awake.
    pub generator_cpu_ns: u64,
    /// Processor time in which they waited awake for responses.
    pub waiting_awake_ns: u64,
    /// Processor time of the busiest of them, without what it waited awake.
    pub busiest_worker_ns: u64,
    /// Time for which they were ready to run and did not.
    pub generator_wait_ns: Option<u64>,
    /// For how long the generator stood still without waiting for a processor: abx or its
    /// machine was paused. Pauses below a quarter of a second are not counted.
    pub paused_ns: u64,
    /// Time that the hypervisor took from our processors.
    pub steal_ns: Option<u64>,
    /// What of it was taken from the generator's.
    pub generator_steal_ns: Option<u64>,
    /// Time for which our processors were busy, whoever used them.
    pub busy_ns: Option<u64>,
    /// Wall time over which the four readings above were taken.
    pub window_ns: u64,
    /// Whether it ended early because no connection got a response any more.
    pub stopped_responding: bool,
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
            clocks: None,
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
            resumed: (!tally.handshake.is_empty()).then_some(tally.resumed),
            closing: tally.closing,
            reopened: 0,
            hashed: tally.hashed,
            silent: tally.silent,
            response_ns_sum: tally.response_ns_sum,
            phases: tally.phases.sums(),
            server_cpu_ns: None,
            server_switches: None,
            others_cpu_ns: None,
            services_cpu_ns: Vec::new(),
            services_thread_ns: Vec::new(),
            generator_cpu_ns: slice.generator_cpu_ns,
            waiting_awake_ns: slice.waiting_awake_ns,
            busiest_worker_ns: slice.busiest_worker_ns,
            generator_wait_ns: slice.generator_wait_ns,
            paused_ns: tally.paused_ns,
            steal_ns: None,
            generator_steal_ns: None,
            busy_ns: None,
            window_ns: slice.wall_ns,
            stopped_responding: slice.stopped_responding,
        }
    }
}
