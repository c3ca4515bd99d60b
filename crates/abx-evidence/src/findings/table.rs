//! The list of findings. A record has them in this order, the worst first.

use crate::findings::rule::{Definition, FindingRule};
use crate::findings::{limits, machine, network, open_loop, responses, slices, study};
use crate::record::finding::{Finding, Level, Limits};
use crate::record::finding_id::FindingId;

/// The rules of these modules, each with its folder.
macro_rules! rules {
    ($($folder:ident: $($module:ident)+;)+) => { &[$($($folder::$module::RULE),+),+] };
}

pub(super) const RULES: &[FindingRule] = rules! {
    responses: generator_exhausted failed_requests connections_not_kept requests_resent stopped_responding;
    slices: little_law silent_connections uneven_service never_steady warm_up_counted few_times;
    responses: connections_not_held not_connected lacked;
    network: listen_overflows lost_packets packets_dropped ports_low;
    machine: descriptors;
    study: not_cold;
    machine: throttled pressure;
    responses: not_resumed delayed_acknowledgements listeners_missed;
    open_loop: offered_rate_not_reached queued late_sends times_at_least loop_lag;
    limits: service_bound not_saturated;
    machine: generator_paused steal foreign_cpu generator_wait background_work not_checked disturbed_rounds;
    limits: generator_bound;
    responses: body_varies unequal_responses;
    slices: not_settled ran_as_trials;
    machine: speed_changed heat_throttled;
    limits: near_ceiling;
    study: faults kinds_of_subject failed_starts;
    limits: shared_cpus;
    study: few_blocks skipped service_failed fleet ended;
    responses: no_responses;
    open_loop: kept_up too_few_requests capacity;
    study: memory_unknown past_baseline;
};

/// That of an id that another version wrote.
const UNKNOWN: Definition = Definition {
    id: FindingId::Other(String::new()),
    levels: &[Level::Note, Level::Bound, Level::Void],
    meaning: "a finding of another version of abx",
    remedy: "read its message",
};

impl FindingId {
    fn definition(&self) -> &'static Definition {
        let mut definitions = RULES.iter().flat_map(|rule| rule.definitions);
        let known = definitions.find(|definition| definition.id == *self);
        known.unwrap_or(const { &UNKNOWN })
    }

    /// At which levels it limits a result, the usual one first.
    #[must_use]
    pub fn levels(&self) -> &'static [Level] {
        self.definition().levels
    }

    /// What it means, in one sentence without figures.
    #[must_use]
    pub fn meaning(&self) -> &'static str {
        self.definition().meaning
    }

    /// What to do, where a finding does not say more.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        self.definition().remedy
    }
}

impl Finding {
    /// A finding about everything, at the usual level of its id and with its remedy.
    #[must_use]
    pub fn new(id: FindingId, message: impl Into<String>) -> Finding {
        let Definition { levels, remedy, .. } = id.definition();
        Finding {
            id,
            level: levels[0],
            limits: Limits::All,
            subject: None,
            load: None,
            message: message.into(),
            remedy: (*remedy).to_owned(),
        }
    }

    /// The same at another of its id's levels if something is so.
    #[must_use]
    pub fn at_if(self, is_so: bool, level: Level) -> Finding {
        if is_so { self.at(level) } else { self }
    }

    /// The same at another of its id's levels.
    #[must_use]
    pub fn at(mut self, level: Level) -> Finding {
        let is_declared = self.id.levels().contains(&level);
        debug_assert!(is_declared, "{} at {level:?}", self.id);
        self.level = level;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_declared_by_one_rule() {
        // Method: the ids of all rules, sorted, against the list of ids.
        let definitions = RULES.iter().flat_map(|rule| rule.definitions);
        let mut ids: Vec<&FindingId> = definitions.map(|definition| &definition.id).collect();
        ids.sort();
        assert_eq!(ids, FindingId::ALL.iter().collect::<Vec<_>>());
    }
}
