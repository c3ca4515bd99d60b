//! The ids of findings. Their meanings and conditions are in `findings/` of `abx-verdict`.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// One line for each id: its name in records.
macro_rules! finding_ids {
    ($($id:ident: $name:literal;)+) => {
        /// The kind of a finding. Scripts use its [name](FindingId::name).
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum FindingId {
            $($id,)+
            /// An id that this version of abx does not know.
            Other(String),
        }

        impl FindingId {
            /// Every id that this version knows.
            pub const ALL: &[FindingId] = &[$(FindingId::$id),+];

            /// The name in records, in snake case.
            #[must_use]
            pub fn name(&self) -> &str {
                match self {
                    $(FindingId::$id => $name,)+
                    FindingId::Other(name) => name,
                }
            }
        }
    };
}

finding_ids! {
    // Outcomes of requests, messages and connections.
    FailedRequests: "failed_requests";
    StoppedResponding: "stopped_answering";
    NoResponses: "no_answers";
    GeneratorExhausted: "generator_exhausted";
    ConnectionsWithoutResponse: "connections_unanswered";
    NotConnected: "not_connected";
    ConnectionsNotHeld: "connections_not_held";
    ConnectionsNotKept: "connections_not_kept";
    NotResumed: "not_resumed";
    RequestsResent: "requests_resent";
    ListenersMissed: "listeners_missed";
    DelayedAcknowledgements: "delayed_acknowledgements";
    BodyVaries: "body_varies";
    UnequalResponses: "unequal_responses";
    // Which side was the limit.
    GeneratorBound: "generator_bound";
    ServiceBound: "service_bound";
    NotSaturated: "not_saturated";
    NearCeiling: "near_ceiling";
    SharedCpus: "shared_cpus";
    // Open loops.
    OfferedRateNotReached: "offered_rate_not_reached";
    BothKeptUp: "both_kept_up";
    HeldByRate: "held_by_rate";
    Queued: "queued";
    LateSends: "late_sends";
    LoopLag: "loop_lag";
    TimesAtLeast: "times_at_least";
    TooFewRequests: "too_few_requests";
    BeyondTheGrid: "beyond_the_grid";
    ShortForCapacity: "short_for_capacity";
    // How the study was measured.
    FewBlocks: "few_blocks";
    SlicesTooShort: "slices_too_short";
    UnevenService: "uneven_service";
    LittleLaw: "little_law";
    WarmUpCounted: "warm_up_counted";
    FewTimes: "few_times";
    NotSettled: "not_settled";
    NeverSteady: "never_steady";
    RanAsTrials: "ran_as_trials";
    StartsDiffer: "starts_differ";
    NotSampled: "not_sampled";
    NotRestarted: "not_restarted";
    UnkeptContainer: "unkept_container";
    StandIn: "stand_in";
    Skipped: "skipped";
    MemoryUnknown: "memory_unknown";
    NotCold: "not_cold";
    Interrupted: "interrupted";
    Continued: "continued";
    StudyFailed: "study_failed";
    SubjectFailed: "subject_failed";
    ServiceFailed: "service_failed";
    // Load from several machines.
    AgentLost: "agent_lost";
    AgentLate: "agent_late";
    AgentBusy: "agent_busy";
    AgentLateSends: "agent_late_sends";
    Collected: "collected";
    // Other activity of the machine.
    Steal: "steal";
    ForeignCpu: "foreign_cpu";
    GeneratorPaused: "generator_paused";
    GeneratorWait: "generator_wait";
    BackgroundWork: "background_work";
    DisturbedRounds: "disturbed_rounds";
    SpeedChanged: "speed_changed";
    HeatThrottled: "heat_throttled";
    CpuPressure: "cpu_pressure";
    MemoryPressure: "memory_pressure";
    IoPressure: "io_pressure";
    Throttled: "throttled";
    DescriptorsLow: "descriptors_low";
    GeneratorDescriptorsLow: "generator_descriptors_low";
    PortsLow: "ports_low";
    ListenOverflows: "listen_overflows";
    LostPackets: "lost_packets";
    PacketsDropped: "packets_dropped";
    NotChecked: "not_checked";
    // Faults on purpose.
    FaultLeftOut: "fault_left_out";
    FaultFailed: "fault_failed";
    FaultMissed: "fault_missed";
    NotRecovered: "not_recovered";
    NotBroughtBack: "not_brought_back";
    SupervisorGone: "supervisor_gone";
    FaultUnfelt: "fault_unfelt";
    DisturbedBeforeFault: "disturbed_before_fault";
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

    /// A list of ids would reject those of later versions.
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
        // Method: an unknown id, read and written.
        let id: FindingId = serde_json::from_str("\"moon_was_full\"").unwrap();
        assert_eq!(id, FindingId::Other("moon_was_full".to_owned()));
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"moon_was_full\"");
    }
}
