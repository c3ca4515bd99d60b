//! The ids of findings, each with its levels, what it means and what to do:
//! [`FindingId`]. `docs/findings.md` is made from this list.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::record::level::Level;

/// What every finding with the same id has in common.
struct Definition {
    name: &'static str,
    levels: &'static [Level],
    meaning: &'static str,
    remedy: &'static str,
}

/// The entry of an id that another version wrote.
const UNKNOWN: Definition = Definition {
    name: "",
    levels: &[Level::Note, Level::Bound, Level::Void],
    meaning: "a finding of another version of abx",
    remedy: "read its message",
};

/// One line for each id: name in records, levels with the usual one first, what
/// it means, and what to do where a finding does not say it with figures.
macro_rules! finding_ids {
    ($($id:ident: $name:literal, [$($level:ident),+], $meaning:literal, $remedy:literal;)+) => {
        /// What a finding is about. Scripts look for its [name](FindingId::name).
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum FindingId {
            $(#[doc = $meaning] $id,)+
            /// An id that this version of abx does not know.
            Other(String),
        }

        impl FindingId {
            /// Every id that this version knows.
            pub const ALL: &[FindingId] = &[$(FindingId::$id),+];

            fn entry(&self) -> &Definition {
                match self {
                    $(FindingId::$id => &Definition {
                        name: $name,
                        levels: &[$(Level::$level),+],
                        meaning: $meaning,
                        remedy: $remedy,
                    },)+
                    FindingId::Other(_) => &UNKNOWN,
                }
            }
        }
    };
}

finding_ids! {
    // What became of requests, messages and connections.
    FailedRequests: "failed_requests", [Note, Void],
        "requests or messages failed; above one in a thousand there is no claim",
        "look at the server's log, or offer less load (`-c`, `-r`)";
    StoppedResponding: "stopped_answering", [Void],
        "the server left requests unanswered, or answered none correctly, and was not loaded any further",
        "check whether the server is still running, and look at its log";
    NoResponses: "no_answers", [Void],
        "a subject gave no verified response in a whole block",
        "look at the outcomes of that block in the record, and try the subject alone with `abx run`";
    GeneratorExhausted: "generator_exhausted", [Void],
        "abx itself ran out of local ports, file descriptors or kernel memory for connections",
        "have connections kept on both sides (keep-alive), offer less load, raise `ulimit -n`, or \
         connect from more addresses (`--local-address`)";
    ConnectionsWithoutResponse: "connections_unanswered", [Note, Void],
        "connections had no response in a whole slice, in which the others had many; above one in \
         ten there is no claim",
        "let the server serve as many connections at a time as it is offered (workers, threads, \
         limits), or offer fewer (`-c`)";
    NotConnected: "not_connected", [Note],
        "the server did not accept connections that were opened before the load; those that were \
         never tried after that count as nobody's failure",
        "raise the limit of connections of the subject, open them more slowly (`--open-rate`), or \
         offer fewer";
    ConnectionsNotHeld: "connections_not_held", [Note, Void],
        "idle connections did not last; above one in a hundred there is no claim",
        "raise the server's limits of descriptors (`ulimit -n`), of connections and of its listen \
         backlog, or hold fewer connections";
    ConnectionsNotKept: "connections_not_kept", [Note],
        "responses ended connections that the server was asked to keep, as `Connection: close` \
         does, and connections were opened anew",
        "have the server keep connections (keep-alive, and its limit of requests for each), or \
         measure without (`--no-keepalive`)";
    NotResumed: "not_resumed", [Note],
        "sessions of TLS were to be resumed, and connections made full handshakes",
        "have the server give out tickets, and remember sessions for as long as the load lasts; \
         look at its session cache and the lifetime of its tickets";
    RequestsResent: "requests_resent", [Note],
        "the server closed reused connections while requests were under way on them, and one in \
         a thousand or more was sent again",
        "raise the server's keep-alive timeout and its limit of requests for each connection";
    ListenersMissed: "listeners_missed", [Note],
        "listeners never got a broadcast, or got one out of order or twice",
        "look whether the server drops messages for slow readers; give more time (`--timeout`), or \
         offer less load";
    DelayedAcknowledgements: "delayed_acknowledgements", [Note],
        "an idle server takes about 40 ms for each message, or for the rest of each response, as \
         when Nagle's algorithm waits for a delayed acknowledgement",
        "set TCP_NODELAY on the server's connections, or write each frame, and each response, head \
         and body, at once";
    BodyVaries: "body_varies", [Note],
        "the same request is answered with different bodies, so only the status was checked",
        "ask for a path whose answer is always the same";
    UnequalResponses: "unequal_responses", [Note],
        "the two sides answer with different bodies, so the ratio includes that difference",
        "let all subjects answer the same bytes";

    // Who was the limit.
    GeneratorBound: "generator_bound", [Bound, Void],
        "the generator was the limit: when it limited the faster subject the ratio is a bound, \
         when the slower one or both, there is no ratio of throughputs, and CPU per response is \
         compared instead where it could be read",
        "add a thread (`-t`) on a processor of its own, make the subject do more for each request, \
         or run on a machine with more processors";
    ServiceBound: "service_bound", [Note, Bound, Void],
        "a service that subjects need was the limit, or used most of the CPUs that it shares with \
         them: when it limited the faster subject the ratio is a bound, when both, there is no \
         ratio of throughputs, and CPU per response is compared instead where it could be read",
        "give the service more CPUs, have the subjects ask less of it, or go by CPU per response, \
         which is the subjects' own";
    NotSaturated: "not_saturated", [Note],
        "neither the subject nor the generator was at its limit: throughput is connections \
         divided by response time",
        "raise `-c` to find the most that it can serve";
    NearCeiling: "near_ceiling", [Note],
        "a subject came close to the throughput that the generator gets from a server that does \
         nothing",
        "add a thread (`-t`) on a processor of its own, or make the subject do more for each request";
    SharedCpus: "shared_cpus", [Bound],
        "subjects and generator ran on the same CPUs",
        "leave out `--pin shared`, on a machine with at least two processors";

    // Open loops.
    OfferedRateNotReached: "offered_rate_not_reached", [Note, Bound],
        "requests that were due were never sent; a bound when the generator was the reason",
        "add connections (`-c`), or lower the rate (`-r`)";
    BothKeptUp: "both_kept_up", [Note],
        "both sides answered everything that was offered, so throughput is that of the load and \
         is not compared",
        "read their response times and processor time for each answer, or raise the rate (`-r`)";
    HeldByRate: "held_by_rate", [Bound],
        "the faster side answered everything that was offered, and may be able to answer more",
        "raise the rate (`-r`), or find the most that each can serve with a closed loop";
    Queued: "queued", [Note],
        "requests had to wait for a free connection, which counts in response times but not in \
         service times",
        "add connections (`-c`), or lower the rate (`-r`)";
    LateSends: "late_sends", [Note, Bound],
        "the generator or the machine made requests leave late; a bound above 1 ms",
        "close other programs, add a thread (`-t`) on a processor of its own, or lower the rate \
         (`-r`)";
    LoopLag: "loop_lag", [Note],
        "the generator did not look at its clock for a while, and times may be off by as much",
        "add a thread (`-t`) on a processor of its own, or lower the rate (`-r`)";
    TimesAtLeast: "times_at_least", [Bound, Note, Void],
        "quantiles of response times depend on requests without a response, and are known as bounds",
        "offer less load, or give requests more time (`--timeout`)";
    TooFewRequests: "too_few_requests", [Note],
        "blocks have too few requests to compare their response times",
        "raise the rate (`-r`), or lengthen the slices (`--slice`)";
    BeyondTheGrid: "beyond_the_grid", [Bound, Void],
        "a capacity lies above or below all rates that were tried",
        "give more time (`--budget`), so that blocks try further rates, or change the objective (`--slo`)";
    ShortForCapacity: "short_for_capacity", [Note],
        "a rate was offered for so short a time that its queue may not have grown to its length",
        "lengthen slices and blocks (`--slice`, `--rounds`): the capacity is that of so short a load";

    // How the study was measured.
    FewBlocks: "few_blocks", [Note],
        "fewer blocks were measured than a verdict needs",
        "give more time (`--budget`) or more blocks (`--blocks`)";
    SlicesTooShort: "slices_too_short", [Note, Void],
        "connections had no response in a slice, and the others only a few; above one in ten \
         there is no claim",
        "use longer slices (`--slice`)";
    UnevenService: "uneven_service", [Note],
        "the responses that came in the counted time give another throughput than the connections' \
         own time, by a tenth or more from block to block",
        "use longer slices (`--slice`), which hold more of a server's turns, or trials \
         (`--interleave trials`)";
    LittleLaw: "little_law", [Note, Void],
        "rate times mean response time differs from the requested number in flight (Little's \
         law); when a fifth is missing, there is no claim",
        "use longer slices (`--slice`), or fewer connections";
    WarmUpCounted: "warm_up_counted", [Note],
        "the first part of a run had a lower throughput, or longer response times at a rate, than \
         the rest, and counts",
        "leave it out with `--warmup`, or load for longer (`-d`)";
    FewTimes: "few_times", [Note],
        "a run has too few requests for a quantile of its response times",
        "send more requests (`-n`, `-d`)";
    NotSettled: "not_settled", [Note],
        "a subject was still warming up when the pilot ended",
        "look whether it gets faster for longer than a second, with `abx run -d 60s`";
    NeverSteady: "never_steady", [Note],
        "a subject gets faster, or slower, within its blocks, in the same direction in most of \
         them",
        "look with `abx run -d 60s` when it settles, and measure longer: `--slice`, or \
         `--interleave trials`";
    RanAsTrials: "ran_as_trials", [Note],
        "each subject was loaded for one long period instead of in slices",
        "expect wider intervals than with slices; more blocks narrow them";
    NotRestarted: "not_restarted", [Note],
        "a subject was already running: the interval does not include how its speed varies from \
         start to start",
        "give its command instead of its address";
    UnkeptContainer: "unkept_container", [Note],
        "the command of a subject runs a container itself: what runs in it may be no process of \
         that command, so its CPU time, memory and CPUs may be those of the command alone, and \
         it may go on when the study ends",
        "write `image:NAME` in place of that command, or `from.image` in a study file";
    StandIn: "stand_in", [Note],
        "a subject stands in for another that was not available",
        "measure the one that is meant where it can be had";
    Skipped: "skipped", [Note],
        "a subject was not measured because something that it needs is missing",
        "provide what it needs";
    MemoryUnknown: "memory_unknown", [Note],
        "the memory per connection is not known for every subject in every block",
        "hold more connections (`connections`), and let abx start the subjects, on this machine";
    NotCold: "not_cold", [Note],
        "files that should have been read from disk were in memory, or this could not be checked",
        "set TMPDIR to a folder on a disk (a tmpfs is memory), and let no other program map or \
         read the files";
    Interrupted: "interrupted", [Note],
        "the measurement was stopped before it was complete",
        "let it run to its end, or take it as a shorter measurement";
    StudyFailed: "study_failed", [Note],
        "the study ended early because abx could not go on",
        "mend that, and judge this as a study with fewer blocks";
    SubjectFailed: "subject_failed", [Void],
        "a subject could not go on",
        "look at its log, and try it alone with `abx run`";
    ServiceFailed: "service_failed", [Note],
        "a service that the subjects need ended under load, or could not be started, made ready \
         or filled",
        "look at its output; the blocks in which it ended are not judged";

    // Load from several machines.
    AgentLost: "agent_lost", [Void, Bound, Note],
        "a machine that made a part of the load was lost, and with it that part; where the others \
         went on (`--on-loss continue`) a run is a bound, and a comparison holds for the load that \
         the message names",
        "look there why `abx agent` ended or was cut off, start it again, and measure again";
    AgentLate: "agent_late", [Note, Void],
        "a machine that made a part of the load missed more than a tenth of a slice; above one slice \
         in ten there is no claim",
        "have the bus near the agents, close other programs there, or use longer slices (`--slice`)";
    AgentBusy: "agent_busy", [Note],
        "the generator of one machine that made a part of the load was nearly always busy",
        "have more agents, or more threads on that one (`-t`)";
    AgentLateSends: "agent_late_sends", [Note],
        "one machine that made a part of the load sent late, or was away from its clock",
        "close other programs there, have more agents, or lower the rate (`-r`)";
    Collected: "collected", [Note],
        "a run was put together by `abx collect` from what agents had saved",
        "measure again with a controller that lives to the end";

    // What else the machine did.
    Steal: "steal", [Note],
        "the hypervisor gave the CPUs reserved for this measurement to others",
        "run at a quieter time, or on a machine of your own";
    ForeignCpu: "foreign_cpu", [Note, Bound],
        "other programs used the CPUs reserved for this measurement; a bound above a tenth of the time",
        "close other programs, or run on a machine of your own";
    GeneratorPaused: "generator_paused", [Note],
        "abx itself stood still for a quarter of a second or more, as when a signal stops it or its \
         machine is suspended",
        "do not stop abx or suspend the machine during a measurement, and measure again";
    GeneratorWait: "generator_wait", [Note],
        "the generator was ready to run and had to wait for a CPU",
        "close other programs, or run on a machine of your own";
    BackgroundWork: "background_work", [Note],
        "subjects worked while they should have been idle",
        "compare by `--interleave trials`, in which background work meets its own subject";
    DisturbedRounds: "disturbed_rounds", [Note],
        "rounds were disturbed from outside; they are marked but still count",
        "run at a quieter time; more blocks even out what hits all subjects alike";
    SpeedChanged: "speed_changed", [Note],
        "a CPU did not always run at the same speed",
        "fix the frequency (`cpupower frequency-set -g performance`), or run on a machine whose \
         cores nobody else uses";
    HeatThrottled: "heat_throttled", [Note],
        "CPUs were slowed down because of heat",
        "cool the machine, or fix a lower frequency";
    CpuPressure: "cpu_pressure", [Note],
        "threads were ready to run and had no CPU, although the subject did not use all of its \
         own",
        "close other programs, or run on a machine of your own";
    MemoryPressure: "memory_pressure", [Note],
        "everything that could run was waiting for memory",
        "free memory, or give the subjects less to hold";
    IoPressure: "io_pressure", [Note],
        "everything that could run was waiting for a disk",
        "end other programs that use disks, and let the subjects log less";
    Throttled: "throttled", [Note, Bound],
        "a CPU time limit on abx and its subjects was reached; a bound above one in a hundred of \
         the time",
        "raise the limit (`docker run --cpus`, `CPUQuota=`), or run outside of it";
    DescriptorsLow: "descriptors_low", [Note, Bound],
        "a subject came close to its limit of file descriptors; a bound when it reached it",
        "raise the subject's limit of open files (`ulimit -n`, or `LimitNOFILE=` of its service)";
    GeneratorDescriptorsLow: "generator_descriptors_low", [Note, Bound],
        "a thread of the generator came close to its limit of file descriptors; a bound when it \
         reached it",
        "raise `ulimit -n`, add threads (`-t`), or use fewer connections";
    PortsLow: "ports_low", [Note],
        "closed connections still occupy most of the local ports that the load has",
        "have connections kept on both sides (keep-alive), spread them over more addresses \
         (`--local-address`), or widen `net.ipv4.ip_local_port_range`";
    ListenOverflows: "listen_overflows", [Note, Bound],
        "the kernel turned connections away because a listen queue was full; a bound above one in \
         a thousand",
        "raise the subject's backlog and `net.core.somaxconn`, or offer fewer connections";
    LostPackets: "lost_packets", [Note],
        "TCP took packets for lost on this machine; one that is lost may cost 0.2 s or more",
        "end other programs that use the network; else raise the subject's backlog, and look at \
         `nstat -az` for what drops them";
    PacketsDropped: "packets_dropped", [Note],
        "packets were dropped because a CPU's queue of received packets was full",
        "raise `net.core.netdev_max_backlog`, or offer fewer connections";
    NotChecked: "not_checked", [Note],
        "something could not be read, so whatever depends on it was not checked",
        "run where abx may read it, and let abx start the subjects, on this machine";

    // What was done on purpose.
    FaultLeftOut: "fault_left_out", [Note],
        "a fault cannot be done to a subject",
        "name its `worker` processes or its `reload` signal, or leave the fault out";
    FaultFailed: "fault_failed", [Void],
        "a subject did not start for a fault, or answered wrongly before it was done",
        "look at what the subject printed; start it again and again by hand";
    FaultMissed: "fault_missed", [Note],
        "a fault found no process to be done to",
        "look whether the subject's workers end by themselves";
    NotRecovered: "not_recovered", [Note],
        "a subject had not recovered from a fault by the end of its slice",
        "lengthen `within`, or take it as it is: the service does not come back by itself";
    NotBroughtBack: "not_brought_back", [Note],
        "fewer processes of a subject ran after a fault than before",
        "look who starts again what has gone, and how late";
    SupervisorGone: "supervisor_gone", [Note],
        "the supervisor of a subject was killed and did not come back",
        "have a service manager start the server again, or take it as it is";
    FaultUnfelt: "fault_unfelt", [Note, Bound, Void],
        "a fault cost no request anything, so that the recovery is at most the time between two \
         requests: a bound where that is the faster one's, no claim where it is the slower one's",
        "raise the rate, or take it as it is: the fault cannot be felt";
    DisturbedBeforeFault: "disturbed_before_fault", [Note],
        "requests were lost or delayed before a fault was done",
        "lower the rate, raise `delayed_after`, or let `at` be later";

    // Beside an older record.
    Unpaired: "unpaired", [Bound, Note],
        "the two sides were not measured side by side, which is weaker evidence; a bound, and no \
         claim, when nothing was measured beside both",
        "compare both in one study where the older one can still be run";
    DisturbedAlone: "disturbed_alone", [Void],
        "something disturbed the machine while one side was measured but not the other, and \
         nothing was measured beside both",
        "measure when nothing else runs, or both sides in one study, where it hits both alike";
}

impl FindingId {
    /// The name in records, in snake case.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            FindingId::Other(name) => name,
            known => known.entry().name,
        }
    }

    /// At which levels it limits a result, the usual one first.
    #[must_use]
    pub fn levels(&self) -> &[Level] {
        self.entry().levels
    }

    /// What it means, in one sentence without figures.
    #[must_use]
    pub fn meaning(&self) -> &str {
        self.entry().meaning
    }

    /// What to do, where a finding does not say more.
    #[must_use]
    pub fn remedy(&self) -> &str {
        self.entry().remedy
    }
}

impl From<String> for FindingId {
    fn from(name: String) -> FindingId {
        let known = FindingId::ALL.iter().find(|id| id.name() == name);
        known.cloned().unwrap_or(FindingId::Other(name))
    }
}

impl From<FindingId> for String {
    fn from(id: FindingId) -> String {
        id.name().to_owned()
    }
}

impl fmt::Display for FindingId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl JsonSchema for FindingId {
    fn schema_name() -> Cow<'static, str> {
        "FindingId".into()
    }

    fn inline_schema() -> bool {
        true
    }

    /// A list would turn away what a later version writes.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_id_has_one_name_and_is_read_again() {
        // Method: every id written and read; names in snake case, each once.
        let mut names = BTreeSet::new();
        for id in FindingId::ALL {
            let json = serde_json::to_string(id).unwrap();
            assert_eq!(serde_json::from_str::<FindingId>(&json).unwrap(), *id);
            let is_snake = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
            assert!(id.name().bytes().all(is_snake), "{id}");
            assert!(names.insert(id.name()), "{id} is there twice");
        }
    }

    #[test]
    fn an_id_of_another_version_is_kept() {
        // Method: read, written again, and taken for none of ours.
        let id: FindingId = serde_json::from_str("\"moon_was_full\"").unwrap();
        assert_eq!(id, FindingId::Other("moon_was_full".to_owned()));
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"moon_was_full\"");
    }
}
