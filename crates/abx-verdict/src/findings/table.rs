//! The list of findings. A record has them in this order, the worst first.

use crate::findings::rule::{Declared, Definition, FindingRule};
use crate::findings::{limits, machine, network, open_loop, responses, slices, study};
use abx_evidence::{FindingId, Level};

/// The rules of these modules, by folder.
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
    study: faults kinds_of_subject starts_differ not_sampled failed_starts;
    limits: shared_cpus;
    study: few_blocks skipped service_failed fleet ended continued;
    responses: no_responses;
    open_loop: kept_up too_few_requests capacity;
    study: memory_unknown;
};

/// The definition of an id that another version wrote.
const UNKNOWN: Definition = Definition {
    id: FindingId::Other(String::new()),
    levels: &[Level::Note, Level::Bound, Level::Void],
    meaning: "a finding of another version of abx",
    remedy: "read its message",
};

impl Declared for FindingId {
    fn definition(&self) -> &'static Definition {
        let mut definitions = RULES.iter().flat_map(|rule| rule.definitions);
        let known = definitions.find(|definition| definition.id == *self);
        known.unwrap_or(const { &UNKNOWN })
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
