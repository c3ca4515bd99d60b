//! What was read of one subject's connections and packets. The kernel counts most of it for
//! the whole machine; what a listener dropped is counted by its socket.

use crate::findings::prelude::*;
use crate::view::sums::Sums;
use abx_evidence::record::Machine;

/// How often one connection may be turned away: with each of its packets that is sent again,
/// until its timeout.
const TURNED_AWAY_OF_TRY: u64 = 10;

/// What was read of one subject's connections under one load, in every block.
pub(super) struct ConnectionReadings<'a> {
    pub(super) machine: &'a Machine,
    pub(super) load: &'a LoadRecord,
    pub(super) subject: &'a str,
    pub(super) sums: &'a Sums,
    pub(super) sides: Vec<&'a SubjectReadings>,
}

impl<'a> ConnectionReadings<'a> {
    pub(super) fn of(subject: &'a SubjectView<'a>) -> ConnectionReadings<'a> {
        ConnectionReadings {
            machine: &subject.study.machine,
            load: subject.load,
            subject: subject.subject,
            sums: &subject.sums,
            sides: subject.readings().collect(),
        }
    }

    /// One counter, added up over blocks; what was not read adds nothing here.
    pub(super) fn sum(&self, counter: impl Fn(&SubjectReadings) -> Option<u64>) -> u64 {
        sum(self.sides.iter().filter_map(|side| counter(side)))
    }

    /// Connections that a listener did not take, and whose queue was full.
    pub(super) fn turned_away(&self) -> (u64, String) {
        let overflows = self.sum(|side| side.listen_overflows);
        let drops = self.sum(|side| side.strain?.listen_drops);
        let half_open = self.sum(|side| side.strain?.half_open_drops);
        // Drops hold the overflows, and those of queues of half open ones.
        let total = overflows.max(drops).max(half_open);
        let own_count = sum_known(self.sides.iter().map(|side| side.own_listen_drops));
        if let Some(mine) = own_count.filter(|_| !self.sides.is_empty()) {
            // A listener's socket also counts late packets of connections that are gone; what
            // is no connection is in none of the machine's counters.
            let own_count = if self.has_turned_away_counters() {
                mine.min(total)
            } else {
                mine
            };
            return (own_count, "its listen queue was full".to_owned());
        }
        let why = format!(
            "a listen queue of this machine was full ({overflows} when complete, {half_open} when \
             half open)"
        );
        let usual = u64::from(self.load.settings.connections);
        let tries_of = |side: &&SubjectReadings| {
            side.opening
                .as_ref()
                .map_or(usual, |connection_opening| connection_opening.asked)
        };
        let tries = sum(self.sides.iter().map(tries_of).chain([self.sums.connects]));
        // More than the load's own tries can bring about are another program's.
        if total > TURNED_AWAY_OF_TRY.saturating_mul(tries) {
            (0, why)
        } else {
            (total, why)
        }
    }

    /// Whether the machine's counters of connections that were turned away could be read.
    fn has_turned_away_counters(&self) -> bool {
        self.sides.iter().all(|side| {
            let strain = side.strain.as_ref();
            strain.is_some_and(|strain| strain.listen_drops.is_some())
        })
    }
}
