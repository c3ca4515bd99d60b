//! Findings about agents, which make the load together.

use crate::findings::bottleneck::GENERATOR_BUSY;
use crate::findings::open_loop::pace::{LATE_MAX_US, span};
use crate::findings::prelude::*;
use abx_evidence::record::{AgentRecord, FleetRecord, OnLoss};

rule! {
    in Study |study| of_fleet(study.record);
    AgentLost [Void, Bound, Note]
        "an agent and its part of the load were lost; with `--on-loss continue`, a run is a bound, \
         and a comparison holds for the load that the message names",
        "find out why `abx agent` ended or was cut off there, start it again, and measure again";
    AgentLate [Note, Void]
        "an agent missed more than a tenth of a slice; above one slice in ten there is no verdict",
        "run the bus close to the agents, close other programs there, or use longer slices \
         (`--slice`)";
    AgentBusy [Note]
        "the generator of one agent was nearly always busy",
        "use more agents, or more threads on that one (`-t`)";
    AgentLateSends [Note]
        "one agent sent late, or did not read its clock for a while",
        "close other programs there, use more agents, or lower the rate (`-r`)";
    Collected [Note]
        "`abx collect` assembled a run from the agents' files",
        "measure again with a controller that runs to the end";
}

/// If more than one slice in this many was late, the load was not the requested one.
const LATE_ONE_IN: u64 = 10;

fn of_fleet(record: &Measured) -> impl Iterator<Item = Finding> {
    let fleets = record.fleet.iter();
    fleets.flat_map(move |fleet| {
        let item = |agent| OneAgent {
            agent,
            fleet,
            record,
        };
        let findings = fleet.agents.iter().map(item).flat_map(|agent| {
            let findings = [agent.lost(), agent.late(), agent.busy(), agent.late_sends()];
            findings.into_iter().flatten()
        });
        findings.chain(collected(fleet)).collect::<Vec<_>>()
    })
}

fn collected(fleet: &FleetRecord) -> Option<Finding> {
    fleet.collected.then(|| {
        let message = "the controller ended before it had the results: this was assembled from the \
         agents' files, and has no data that the controller reads itself, such as the server's CPU \
         time";
        new_finding(FindingId::Collected, message)
    })
}

/// One agent among the others.
struct OneAgent<'a> {
    agent: &'a AgentRecord,
    fleet: &'a FleetRecord,
    record: &'a Measured,
}

impl OneAgent<'_> {
    fn lost(&self) -> Option<Finding> {
        let how = self.agent.lost.as_ref()?;
        let called = self.called();
        let part = self.part();
        let (level, message) = if self.fleet.collected {
            let what = format!("the counts of {called} are missing: {how}; its part was {part}");
            (Level::Bound, what)
        } else if self.fleet.on_loss == OnLoss::Abort {
            let what = format!(
                "{called} was lost{}: {how}; the load was incomplete from then on, so abx stopped \
                 the others",
                self.when()
            );
            (Level::Void, what)
        } else {
            let what = format!(
                "{called} was lost{}: {how}; its part, {part}, was missing from then on",
                self.when()
            );
            let (level, judged) = self.judged();
            (level, format!("{what}{judged}"))
        };
        Some(new_finding(FindingId::AgentLost, message).at(level))
    }

    /// The blocks that are judged if the other agents continued, and how that limits a claim.
    fn judged(&self) -> (Level, String) {
        let blocks = self.record.complete_blocks().count();
        let others = self.record.blocks_of_another_load();
        let is_judged = !self.record.judged_without().contains(&self.agent.slot);
        if self.is_single_slice() {
            let what = ", and its counts are missing, too: throughput is that of the others";
            return (Level::Bound, what.to_owned());
        }
        if is_judged {
            let what = format!(
                "; the {blocks} blocks with the requested load are judged, and {others} with less \
                 are not"
            );
            (Level::Note, what)
        } else {
            let what = format!(
                "; the {blocks} blocks with this smaller load, the same for every server, are \
                 judged, and the {others} others are not: the verdict holds for the smaller load"
            );
            (Level::Note, what)
        }
    }

    /// Whether the whole record is a single slice, as in a run, so that nothing can be left out.
    fn is_single_slice(&self) -> bool {
        let [block] = &self.record.blocks[..] else {
            return false;
        };
        let rounds = block.loads.iter().flat_map(|load| &load.rounds);
        self.record.subjects.len() == 1
            && rounds.map(|round| round.slices.len()).sum::<usize>() == 1
    }

    /// The time of its last message after the start of the study.
    fn when(&self) -> String {
        let after = |ms: u64| ms.saturating_sub(self.record.started_unix_ms) as f64 / 1e3;
        let moment = self.agent.lost_unix_ms.map(after);
        moment.map_or_else(String::new, |s| format!(" {s:.1} s after the start"))
    }

    /// Its part of the load.
    fn part(&self) -> String {
        let of = self.fleet.agents.len().max(1) as u64;
        match &self.record.loads[..] {
            [load] => self.part_of(load, of),
            _ => format!("1 of {of} of each load"),
        }
    }

    fn part_of(&self, load: &LoadRecord, of: u64) -> String {
        let index = u64::from(self.agent.slot.saturating_sub(1));
        // As the engine divides them: shares differ by at most one.
        let before = |total: u64, index: u64, of: u64| total / of * index + index.min(total % of);
        let settings = &load.settings;
        let connections = u64::from(settings.connections);
        let [first, next] = [index, index + 1].map(|index| before(connections, index, of));
        let mut text = format!("{} of {connections} connections", next - first);
        if let Some(rate) = settings.arrivals.rate_per_s {
            text.push_str(&format!(
                " and {:.1} of {rate} requests/s",
                rate / of as f64
            ));
        }
        let pilot = load.pilot.as_ref();
        if let Some(requests) = pilot.and_then(|pilot| pilot.slice_requests) {
            // Each connection has its share of the requests.
            let [first, next] =
                [first, next].map(|index| before(requests, index, connections.max(1)));
            text.push_str(&format!(" and {} of {requests} requests", next - first));
        }
        text
    }

    fn late(&self) -> Option<Finding> {
        let AgentRecord {
            slices,
            late_slices,
            late_ns_max,
            ..
        } = self.agent;
        if *late_slices == 0 {
            return None;
        }
        let level = if *late_slices * LATE_ONE_IN > *slices {
            Level::Void
        } else {
            Level::Note
        };
        let message = format!(
            "{} missed more than a tenth of {late_slices} of {slices} slices: it began up to \
             {:.1} ms after the others",
            self.called(),
            *late_ns_max as f64 / 1e6,
        );
        Some(new_finding(FindingId::AgentLate, message).at(level))
    }

    /// Reports that its generator had no time to spare.
    fn busy(&self) -> Option<Finding> {
        let pace = &self.agent.pace;
        let wait_ns = pace.wait_ns.unwrap_or_default() / self.agent.threads.max(1) as u64;
        let busy = share(pace.busiest_worker_ns.saturating_add(wait_ns), pace.wall_ns)?;
        let message = format!(
            "{}: its generator was nearly always busy: it used or waited for {:.0} % of its CPU",
            self.called(),
            100.0 * busy.min(1.0)
        );
        (busy >= GENERATOR_BUSY).then(|| new_finding(FindingId::AgentBusy, message))
    }

    /// Reports that it sent late, because of itself or of its machine.
    fn late_sends(&self) -> Option<Finding> {
        let pace = &self.agent.pace;
        let late = pace.lateness_us_p99.filter(|us| *us > LATE_MAX_US);
        let lag = pace.loop_lag_us_p99.filter(|us| *us > LATE_MAX_US);
        let what = match (late, lag) {
            (Some(late), _) => format!("one send in 100 was more than {} late", span(late)),
            (None, Some(lag)) => format!(
                "in one of 100 turns its generator did not read its clock for more than {}",
                span(lag)
            ),
            (None, None) => return None,
        };
        let message = format!("{}: {what}", self.called());
        Some(new_finding(FindingId::AgentLateSends, message))
    }

    fn called(&self) -> String {
        let AgentRecord { name, slot, .. } = self.agent;
        format!("agent {name} ({slot} of {})", self.fleet.agents.len())
    }
}
