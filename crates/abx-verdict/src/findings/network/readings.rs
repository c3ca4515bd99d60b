//! Readings of one subject's connections and packets. The kernel counts most of them for the
//! whole machine; each listening socket counts its own drops.

use crate::findings::prelude::*;
use crate::view::sums::Sums;
use abx_evidence::record::Machine;

/// The most times that one connection is turned away: once per packet that it sends again, until
/// its timeout.
const TURNED_AWAY_OF_TRY: u64 = 10;

/// The readings of one subject's connections under one load, in every block.
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

    /// The sum of one counter over the blocks in which it was read.
    pub(super) fn sum(&self, counter: impl Fn(&SubjectReadings) -> Option<u64>) -> u64 {
        sum(self.sides.iter().filter_map(|side| counter(side)))
    }

    /// The number of connections that a listener did not accept, and whose queue was full.
    pub(super) fn turned_away(&self) -> (u64, String) {
        let overflows = self.sum(|side| side.listen_overflows);
        let drops = self.sum(|side| side.strain?.listen_drops);
        let half_open = self.sum(|side| side.strain?.half_open_drops);
        // Drops include the overflows of both queues, of complete and of half-open connections.
        let total = overflows.max(drops).max(half_open);
        let by_socket = sum_known(self.sides.iter().map(|side| side.own_listen_drops));
        if let Some(drops) = by_socket.filter(|_| !self.sides.is_empty()) {
            // A listening socket also counts late packets of connections that are gone. The
            // machine's counters exclude such packets.
            let connections = if self.has_turned_away_counters() {
                drops.min(total)
            } else {
                drops
            };
            return (connections, "its listen queue was full".to_owned());
        }
        let why = format!(
            "a listen queue of this machine was full ({overflows} complete connections, \
             {half_open} half-open ones)"
        );
        let usual = u64::from(self.load.settings.connections);
        let tries_of = |side: &&SubjectReadings| {
            let opening = side.opening.as_ref();
            opening.map_or(usual, |opening| opening.asked)
        };
        let tries = sum(self.sides.iter().map(tries_of).chain([self.sums.connects]));
        // If there are more than the load itself can cause, another program caused them.
        if total > TURNED_AWAY_OF_TRY.saturating_mul(tries) {
            (0, why)
        } else {
            (total, why)
        }
    }

    /// Whether the machine's counters of turned away connections could be read.
    fn has_turned_away_counters(&self) -> bool {
        self.sides.iter().all(|side| {
            let strain = side.strain.as_ref();
            strain.is_some_and(|strain| strain.listen_drops.is_some())
        })
    }
}
