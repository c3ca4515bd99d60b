//! Findings about connections and packets on their way: accept queues, loss,
//! ports. The kernel counts most of it for the whole machine; what a listener dropped is
//! counted by its socket.

use crate::measure::share::share;
use crate::measure::sum::{sum, sum_known};
use crate::record::finding::{Finding, Level};
use crate::record::finding_id::FindingId;
use crate::record::{HostCounters, InUse, LoadRecord, Machine, SubjectReadings};
use crate::view::SubjectView;
use crate::view::sums::Sums;

/// From this share of new connections on, those that were turned away bound a ratio.
const TURNED_AWAY_BOUND: f64 = 0.001;
/// How often one connection may be turned away: with each of its packets that is sent again,
/// until its timeout.
const TURNED_AWAY_OF_TRY: u64 = 10;
/// Ports that closed connections still hold, as a share of those that there are.
const PORTS_MAX: f64 = 0.70;
/// From so many new connections for each request on, ports may run out.
const CHURN_MIN: f64 = 0.10;

/// What was read of one subject's connections under one load, in every block.
pub(super) struct ConnectionReadings<'a> {
    machine: &'a Machine,
    load: &'a LoadRecord,
    subject: &'a str,
    sums: &'a Sums,
    sides: Vec<&'a SubjectReadings>,
}

/// Whether it could not be read how many packets were lost.
pub(super) fn lacks_losses(counted: &HostCounters) -> bool {
    counted.retransmits.is_none() || counted.timeouts.is_none()
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

    /// All findings, in the order of a connection's life.
    pub(super) fn findings(&self) -> impl Iterator<Item = Finding> {
        let findings = [
            self.listen_overflows(),
            self.loss(),
            self.packets_dropped(),
            self.ports(),
        ];
        let about = |finding: Finding| finding.about(self.subject);
        findings.into_iter().flatten().map(about)
    }

    /// One counter, added up over blocks; what was not read adds nothing here.
    fn sum(&self, counter: impl Fn(&SubjectReadings) -> Option<u64>) -> u64 {
        sum(self.sides.iter().filter_map(|side| counter(side)))
    }

    /// Connections that a listener did not take, and whose queue was full.
    fn turned_away(&self) -> (u64, String) {
        let overflows = self.sum(|side| side.listen_overflows);
        let drops = self.sum(|side| side.strain?.listen_drops);
        let half_open = self.sum(|side| side.strain?.half_open_drops);
        // Drops hold the overflows, and those of queues of half open ones.
        let total = overflows.max(drops).max(half_open);
        let own_count = sum_known(self.sides.iter().map(|side| side.own_listen_drops));
        if let Some(mine) = own_count.filter(|_| !self.sides.is_empty()) {
            // A listener's socket also counts late packets of connections that are gone; what
            // is no connection is in none of the machine's counters.
            let own_count = if self.knows_turned_away() {
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
        let asked = |side: &&SubjectReadings| {
            side.opening
                .as_ref()
                .map_or(usual, |connection_opening| connection_opening.asked)
        };
        let tries = sum(self.sides.iter().map(asked).chain([self.sums.connects]));
        // More than the load's own tries can bring about are another program's.
        if total > TURNED_AWAY_OF_TRY.saturating_mul(tries) {
            (0, why)
        } else {
            (total, why)
        }
    }

    /// Whether the machine's counters of connections that were turned away could be read.
    fn knows_turned_away(&self) -> bool {
        self.sides.iter().all(|side| {
            let strain = side.strain.as_ref();
            strain.is_some_and(|strain| strain.listen_drops.is_some())
        })
    }

    fn listen_overflows(&self) -> Option<Finding> {
        let (turned_away, why) = self.turned_away();
        // A connection that is turned away tries again after a second. Before the
        // load that only takes time, under it the connection is missing.
        let level = match share(turned_away, self.sums.connects) {
            Some(part) if part > TURNED_AWAY_BOUND => Level::Bound,
            _ => Level::Note,
        };
        let longest = match self.machine.somaxconn {
            Some(somaxconn) => format!(", now {somaxconn},"),
            None => String::new(),
        };
        (turned_away > 0).then(|| {
            Finding::new(
                FindingId::ListenOverflows,
                format!(
                    "the kernel turned {turned_away} connections away while {} was loaded, \
                     because {why}",
                    self.subject
                ),
            )
            .at(level)
            .with_remedy(format!(
                "raise the subject's backlog and `net.core.somaxconn`{longest} to at least {}, or \
                 offer fewer connections",
                self.load.settings.connections
            ))
        })
    }

    /// Packets that went missing where none should: on the way through this machine.
    fn loss(&self) -> Option<Finding> {
        let kinds = [
            (
                "packets sent again",
                self.sum(|side| side.strain?.retransmits),
            ),
            (
                "of them to open a connection",
                self.sum(|side| side.strain?.syn_retransmits),
            ),
            (
                "timers that ran out",
                self.sum(|side| side.strain?.timeouts),
            ),
            (
                "packets dropped at full receive buffers",
                self.sum(|side| side.strain?.receive_queue_drops),
            ),
            (
                "packets dropped at busy sockets",
                self.sum(|side| side.strain?.backlog_drops),
            ),
        ];
        let seen: Vec<String> = kinds
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(what, count)| format!("{what}: {count}"))
            .collect();
        (!seen.is_empty()).then(|| {
            Finding::new(
                FindingId::LostPackets,
                format!(
                    "TCP took packets for lost on this machine while {} was loaded ({}), this \
                     load's or another program's; one that is lost may cost 0.2 s or more",
                    self.subject,
                    seen.join(", ")
                ),
            )
        })
    }

    /// Packets that a processor did not get to.
    fn packets_dropped(&self) -> Option<Finding> {
        let dropped = self.sum(|side| side.strain?.packets_dropped);
        (dropped > 0).then(|| {
            Finding::new(
                FindingId::PacketsDropped,
                format!(
                    "{dropped} packets were dropped while {} was loaded, this load's or another \
                     program's, because a CPU's queue of received packets was full",
                    self.subject
                ),
            )
        })
    }

    /// Local ports that are running out.
    fn ports(&self) -> Option<Finding> {
        let each = self.sides.iter().filter_map(|side| side.time_wait);
        let worst = each.reduce(InUse::nearer)?;
        let part = worst.share().filter(|part| *part > PORTS_MAX)?;
        // Without new connections nothing needs a port, whoever holds them.
        let churn = share(self.sums.connects, self.sums.outcomes.sent());
        (churn >= Some(CHURN_MIN)).then(|| {
            Finding::new(
                FindingId::PortsLow,
                format!(
                    "closed connections still held {} ports after a slice of {}, which is {:.0} % \
                     of those that the load's addresses have for one destination",
                    worst.count,
                    self.subject,
                    100.0 * part
                ),
            )
        })
    }
}
