//! The progress of a study, and failures. It is drawn between slices only, so that drawing never
//! overlaps a measurement.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use abx_evidence::Outcomes;
use abx_evidence::record::{CEILING, SliceRecord};
use abx_lab::{FoundCapacity, Pending, StudyProgress};
use abx_report::TimeLeft;
use abx_stats::stop::{BLOCKS_FOR_VERDICT, BLOCKS_ORDERED};
use abx_verdict::expectation::{LimitState, blocks_until_settled, limit_state};
use abx_verdict::{Expectation, StudyRecord};

use super::display::{Display, Urgency};
use super::waiting::waiting;

/// The state of a study that is running.
pub struct Watch {
    display: Display,
    started: Instant,
    budget: Duration,
    ordered: Option<u32>,
    /// The limits that decide when the study ends, if there are any.
    limits: Vec<Expectation>,
    /// The results of the blocks so far.
    so_far: String,
    /// The outcomes of each subject's requests so far, except during warm-ups.
    outcomes: BTreeMap<String, Outcomes>,
    /// How many blocks the study is expected to take.
    expected: u32,
    /// Whether `expected` follows from the spread of the blocks so far.
    is_estimated: bool,
    /// How many blocks fit into the budget, judging by those so far.
    room: Option<u32>,
    /// How long the next block will take, with the loads that are still open.
    next_block: Option<Duration>,
}

/// How many blocks fit into the budget: those done, and as many more as the time left allows.
fn room(done: u32, next_block: Duration, left: Duration) -> u32 {
    let more = left.as_secs_f64() / next_block.as_secs_f64().max(1e-3);
    done.saturating_add(more as u32)
}

impl Watch {
    /// Follows a study of this budget, or of this number of blocks, with these limits.
    pub fn new(
        quiet: bool,
        budget: Duration,
        ordered: Option<u32>,
        limits: &[Expectation],
    ) -> Watch {
        Watch {
            display: Display::of(quiet),
            started: Instant::now(),
            budget,
            ordered,
            limits: limits.to_vec(),
            so_far: String::new(),
            outcomes: BTreeMap::new(),
            expected: ordered.unwrap_or(BLOCKS_FOR_VERDICT as u32),
            is_estimated: false,
            room: None,
            next_block: None,
        }
    }

    /// Handles an event of the study.
    pub fn see(&mut self, progress: &StudyProgress) {
        match progress {
            StudyProgress::Pilot => {
                let text = "pilot: finding the warm-up and the slice length";
                self.display.show(text, Urgency::Event);
            }
            StudyProgress::Capacities(capacities) => self.show_capacities(capacities),
            StudyProgress::Piloted { took, each_block } => {
                let text = abx_report::piloted_line(*took, *each_block, self.ordered);
                self.display.show(&text, Urgency::Event);
                self.next_block = Some(*each_block);
                let left = self.budget.saturating_sub(self.started.elapsed());
                if let Some(text) = self.too_short(left, *each_block) {
                    self.display.show(&text, Urgency::Event);
                }
            }
            StudyProgress::Pending(Pending::Over) => self.display.return_to_last(),
            StudyProgress::Pending(pending) => self.display.interrupt(&waiting(pending)),
            StudyProgress::Round {
                block,
                load,
                round,
                rounds,
            } => self.show_round(*block, *load, (*round, *rounds)),
            StudyProgress::Fault {
                block,
                fault,
                subject,
            } => {
                let done = f64::from(*block) + 1.0;
                let place = format!("{}, {fault} of {subject}", self.block(block + 1));
                let text = self.text(&place, done);
                self.display.show(&text, Urgency::Movement);
            }
            StudyProgress::ServiceDied { service, how } => {
                let text = abx_report::service_died_line(service, how);
                self.display.show(&text, Urgency::Event);
            }
            StudyProgress::LeftOut { subject, how } => {
                let text = abx_report::left_out_line(subject, how);
                self.display.show(&text, Urgency::Event);
            }
            StudyProgress::Slices(slices) => self.count(slices),
            StudyProgress::Block { record, next_block } => {
                self.learn(record, *next_block);
                let done = record.measured.complete_blocks().count() as u32;
                let place = format!("{} done", self.block(done));
                let text = self.text(&place, done.into());
                self.display.show(&text, Urgency::Event);
            }
        }
    }

    /// Shows the capacities that the search for rates found, in a line per load.
    fn show_capacities(&mut self, capacities: &[FoundCapacity]) {
        for of_load in capacities.chunk_by(|capacity, next| capacity.load == next.load) {
            let rates: Vec<(&str, f64)> = of_load
                .iter()
                .map(|capacity| (capacity.subject.as_str(), capacity.per_s))
                .collect();
            let objective = of_load[0].objective.to_string();
            let text = abx_report::capacities_line(&objective, &rates);
            self.display.show(&text, Urgency::Event);
        }
    }

    fn show_round(&mut self, block: u32, load: Option<&str>, (round, rounds): (u32, u32)) {
        let (under, part) = match load {
            // The loads of a block take different times, in random order.
            Some(load) => (format!("{load}, "), 0.0),
            None => (String::new(), f64::from(round) / f64::from(rounds.max(1))),
        };
        let block_of = self.block(block + 1);
        let place = format!("{block_of}, {under}round {} of {rounds}", round + 1);
        let text = self.text(&place, f64::from(block) + part);
        self.display.show(&text, Urgency::Movement);
    }

    /// Clears the line on the terminal.
    pub fn finish(&self) {
        self.display.clear();
    }

    /// The place of the study after `done` blocks, the time left, failures and results.
    fn text(&self, place: &str, done: f64) -> String {
        let parts = [
            place.to_owned(),
            self.time_left(done),
            abx_report::failures_line(&self.outcomes),
            self.so_far.clone(),
        ];
        let texts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        texts.join(" · ")
    }

    /// A warning if the time left has no room for a verdict.
    fn too_short(&self, left: Duration, each_block: Duration) -> Option<String> {
        let needed = each_block * BLOCKS_FOR_VERDICT as u32;
        (self.ordered.is_none() && left < needed).then(|| {
            let more = (needed - left).as_secs() + 1;
            let budget = (self.budget.as_secs() + more).next_multiple_of(10);
            format!(
                "too few blocks: the {BLOCKS_FOR_VERDICT} blocks that a verdict needs take {more} \
                 s more than the budget: use `--budget {budget}s`"
            )
        })
    }

    /// `block 3 of about 7`: the number counts from one, and the budget limits the total.
    fn block(&self, number: u32) -> String {
        let about = if self.ordered.is_some() { "" } else { "about " };
        let total = self.expected.min(self.room.unwrap_or(u32::MAX));
        format!("block {number} of {about}{}", total.max(number))
    }

    /// Counts the outcomes of slices, including their discarded parts: a failure counts anywhere.
    fn count(&mut self, slices: &[SliceRecord]) {
        for slice in slices.iter().filter(|slice| slice.subject != CEILING) {
            let outcomes = self.outcomes.entry(slice.subject.clone()).or_default();
            outcomes.merge(&slice.outcomes);
            outcomes.merge(&slice.discarded);
        }
    }

    fn learn(&mut self, record: &StudyRecord, next_block: Duration) {
        let done = u32::try_from(record.measured.complete_blocks().count()).unwrap_or(u32::MAX);
        let more = match limit_state(record, &self.limits) {
            LimitState::Settled => 0,
            LimitState::Open => blocks_until_settled(record, &self.limits).unwrap_or(0),
            LimitState::OutOfReach => blocks_until_verdicts(record),
        };
        // With fewer blocks, limits are not compared with any interval.
        let fewest = if self.limits.is_empty() {
            BLOCKS_ORDERED
        } else {
            BLOCKS_FOR_VERDICT
        };
        self.is_estimated = done >= fewest as u32;
        let needed = done.saturating_add(more);
        self.expected = self
            .ordered
            .unwrap_or(needed.max(BLOCKS_FOR_VERDICT as u32));
        self.so_far = abx_report::progress_line(record);
        let left = self.budget.saturating_sub(self.started.elapsed());
        self.next_block = Some(next_block);
        if self.ordered.is_none() {
            self.room = Some(room(done, next_block, left));
        }
    }

    /// Empty until a pilot or a block has shown how long blocks take.
    fn time_left(&self, done: f64) -> String {
        let Some(each_block) = self.next_block else {
            return String::new();
        };
        let blocks = (f64::from(self.expected) - done).max(0.0);
        let wanted = each_block.mul_f64(blocks);
        match self.ordered {
            Some(_) => format!("{:.0} s left", wanted.as_secs_f64()),
            None => abx_report::time_left_line(TimeLeft {
                blocks: blocks.ceil() as u32,
                is_estimate: self.is_estimated,
                is_for_limits: !self.limits.is_empty(),
                wanted,
                at_most: self.budget.saturating_sub(self.started.elapsed()),
            }),
        }
    }
}

/// How many more blocks all verdicts are expected to take.
fn blocks_until_verdicts(record: &StudyRecord) -> u32 {
    let conclusions = &record.conclusions;
    let is_open = |load: &str| {
        let load = record.measured.load(load);
        load.is_none_or(|load| !load.is_settled())
    };
    let precise = abx_verdict::blocks_until_precise(&record.measured);
    conclusions
        .primary()
        .filter(|comparison| is_open(&comparison.load))
        .map(|comparison| comparison.blocks_more)
        .chain([precise])
        .flatten()
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_limits_the_total_of_blocks() {
        // Method: 848 blocks that precision takes, with room for 14; 9 blocks, which fit; and a
        // number that the user set.
        let mut watch = Watch::new(true, Duration::from_secs(120), None, &[]);
        watch.expected = 848;
        watch.room = Some(room(6, Duration::from_secs(8), Duration::from_secs(67)));
        assert_eq!(watch.block(6), "block 6 of about 14");
        assert_eq!(watch.block(15), "block 15 of about 15");
        watch.expected = 9;
        assert_eq!(watch.block(6), "block 6 of about 9");
        let ordered = Watch::new(true, Duration::from_secs(1), Some(6), &[]);
        assert_eq!(ordered.block(2), "block 2 of 6");
    }

    #[test]
    fn the_pilot_sets_the_time_left_until_a_block_is_done() {
        // Method: nothing measured yet; then a pilot that expects blocks of 5 min, and one block.
        let mut watch = Watch::new(true, Duration::from_secs(3_600), None, &[]);
        assert_eq!(watch.time_left(0.0), "");
        watch.see(&StudyProgress::Piloted {
            took: Duration::from_secs(60),
            each_block: Duration::from_secs(300),
        });
        let left = watch.time_left(1.0);
        assert!(
            left.starts_with("at least 6 blocks to go, 30 min"),
            "{left}"
        );
    }

    #[test]
    fn a_budget_without_room_for_a_verdict_causes_a_warning() {
        // Method: blocks of 10 s with 70 s left, and with a second less; a set number of blocks may
        // take any time.
        let message = |left, ordered| {
            let watch = Watch::new(true, Duration::from_secs(100), ordered, &[]);
            watch.too_short(Duration::from_secs(left), Duration::from_secs(10))
        };
        assert_eq!((message(70, None), message(1, Some(6))), (None, None));
        assert!(message(69, None).unwrap().contains("7 blocks"));
        assert!(
            message(69, None)
                .unwrap()
                .contains("2 s more than the budget: use `--budget 110s`")
        );
    }
}
