//! An agent's part in one run, from its slot to the end.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use abx_engine::{SliceEnd, SlicePlan};
use abx_sys::Nanos;

use super::driver::{AgentDriver, OrderState};
use super::event::AgentEvent;
use super::limits::slice_refusal;
use super::plan::AgentPlan;
use crate::bus::{Bus, BusMessage, Subscription};
use crate::finals::Author;
use crate::fleet_error::FleetError;
use crate::message::subject::{ALL_RUNS, beat_subject, control_subject, join_subject};
use crate::message::{
    AgentCommand, AgentQuery, AgentResponse, AgentTask, Beat, BusyAgent, Control, bytes, read,
    sha256_of,
};

/// How long a request for a result waits for it.
const RESULT_WITHIN: Duration = Duration::from_millis(100);
/// The agent ends a slice that is still running this long after its expected end.
const OVERDUE_AFTER: Nanos = Nanos(10_000_000_000);
/// The longest time between the order of a slice and its begin.
const BEGINS_WITHIN: Duration = Duration::from_secs(20);
/// Pools that are open at the same time, at most: far more than the loads of a study.
const POOLS_MAX: usize = 1_000;
/// Bytes of a result's text in one message, at most.
const PART_BYTES: usize = 256 << 10;
/// How often a waiting agent checks whether it must end.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How an agent's part in a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MembershipEnd {
    /// The agent must end.
    Stopped,
    /// The controller has ended the run.
    Over,
    /// The controller is gone.
    ControllerLost,
    /// The controller has given the agent up.
    GivenUp,
}

/// An agent's part in one run.
pub struct Membership<'a> {
    bus: &'a dyn Bus,
    plan: &'a AgentPlan,
    run: String,
    slot: usize,
    driver: AgentDriver,
    /// When the last message of the controller arrived.
    last_seen: Instant,
    beats_at: Instant,
    /// When the running slice must have ended.
    overdue_at: Option<Nanos>,
    /// The request timeout of each open pool, in ns.
    timeouts: HashMap<u64, u64>,
    /// Whether the controller has given the agent up.
    is_given_up: bool,
    /// The file with its saved counts.
    saved: Option<PathBuf>,
    _control: Subscription,
}

/// The run and slot that a controller assigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenSlot {
    pub run: String,
    /// The slot, from 0.
    pub slot: usize,
    pub slots: usize,
}

impl<'a> Membership<'a> {
    /// Starts an engine for the run.
    ///
    /// # Errors
    /// If the engine does not start, or the bus refuses a subscription.
    pub fn begin(
        bus: &'a dyn Bus,
        plan: &'a AgentPlan,
        place: GivenSlot,
        sender: &Sender<BusMessage>,
    ) -> Result<Membership<'a>, FleetError> {
        let GivenSlot { run, slot, slots } = place;
        let author = Author {
            run: run.clone(),
            slot,
            slots,
            agent: plan.id.clone(),
            name: plan.name.clone(),
            build: plan.build.clone(),
        };
        let finals = plan.finals.clone().map(|folder| (folder, author));
        Ok(Membership {
            // Controllers of other runs must learn that this agent is busy.
            _control: bus.subscribe(&control_subject(ALL_RUNS), sender.clone())?,
            driver: AgentDriver::start(&plan.engine, plan.skew_ns, plan.limits.rate_max, finals)?,
            bus,
            plan,
            run,
            slot,
            last_seen: Instant::now(),
            beats_at: Instant::now(),
            overdue_at: None,
            timeouts: HashMap::new(),
            is_given_up: false,
            saved: None,
        })
    }

    /// Executes the controller's orders until the run is over.
    pub fn work(
        &mut self,
        inbox: &Receiver<BusMessage>,
        stop: &AtomicBool,
        notify: &mut dyn FnMut(AgentEvent),
    ) -> MembershipEnd {
        loop {
            if stop.load(Ordering::Relaxed) {
                self.driver.stop();
                self.beat(true);
                self.bus.flush();
                return MembershipEnd::Stopped;
            }
            if Instant::now() >= self.beats_at {
                self.beat(false);
                self.beats_at = Instant::now() + self.plan.timing.beat;
            }
            if self.overdue_at.is_some_and(|moment| Nanos::now() > moment) {
                self.overdue_at = None;
                if !self.driver.is_free() {
                    self.driver.stop();
                    notify(AgentEvent::Overdue);
                }
            }
            let message = inbox.recv_timeout(LOOK_EVERY);
            // SUBTLE: the process may have been stopped for long during that wait. The check comes
            // before any message that arrived meanwhile, because the controller gives up an agent
            // that was silent for so long.
            if self.last_seen.elapsed() > self.plan.timing.dead_man {
                self.driver.stop();
                return MembershipEnd::ControllerLost;
            }
            match message {
                Ok(message) => {
                    if self.receive(&message, notify) == Some(Control::End) {
                        return MembershipEnd::Over;
                    }
                }
                // The caller of this function keeps a sender of this inbox.
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            if self.is_given_up {
                self.driver.stop();
                return MembershipEnd::GivenUp;
            }
            self.note_saved(notify);
        }
    }

    /// Ends the running slice, waits until its result is saved, and returns the file.
    pub fn finish(&mut self, notify: &mut dyn FnMut(AgentEvent)) -> Option<PathBuf> {
        self.driver.finish();
        self.note_saved(notify);
        self.saved.take()
    }

    /// Remembers the file of a saved result, and reports a result that could not be saved.
    fn note_saved(&mut self, notify: &mut dyn FnMut(AgentEvent)) {
        for saved in self.driver.take_saved() {
            match saved {
                Ok(file) => self.saved = Some(file),
                Err(why) => notify(AgentEvent::NotSaved { why }),
            }
        }
    }

    /// Whether the agent has received any order.
    pub fn has_worked(&self) -> bool {
        self.driver.number() > 0
    }

    /// Responds to a message; returns it if it is a command of this run's controller to all agents.
    fn receive(
        &mut self,
        message: &BusMessage,
        notify: &mut dyn FnMut(AgentEvent),
    ) -> Option<Control> {
        if let Some(control) = read::<Control>(&message.payload) {
            if message.subject != control_subject(&self.run) {
                if control == Control::Discovery {
                    self.report_busy();
                }
                return None;
            }
            self.last_seen = Instant::now();
            if control == Control::Stop {
                self.driver.stop();
            }
            return Some(control);
        }
        let order: AgentCommand = read(&message.payload)?;
        let response = if order.run == self.run {
            self.last_seen = Instant::now();
            self.obey(order.what, notify)
        } else {
            AgentResponse::Stranger {
                run: Some(self.run.clone()),
            }
        };
        reply(self.bus, message, &response);
        None
    }

    fn obey(&mut self, query: AgentQuery, notify: &mut dyn FnMut(AgentEvent)) -> AgentResponse {
        match query {
            AgentQuery::Clock => AgentResponse::Clock {
                now_ns: self.plan.now_ns(),
            },
            // The order was accepted before, and the response was lost.
            AgentQuery::Task { number, .. } if number == self.driver.number() => {
                AgentResponse::Accepted
            }
            AgentQuery::Task { number, task } => match self.refusal(number, &task) {
                Some(why) => {
                    notify(AgentEvent::Refuses { why: why.clone() });
                    AgentResponse::Refused { why }
                }
                None => {
                    self.note(&task);
                    self.driver.begin(number, *task);
                    AgentResponse::Accepted
                }
            },
            AgentQuery::Leave => {
                self.is_given_up = true;
                AgentResponse::Accepted
            }
            AgentQuery::Result {
                number,
                from,
                told: reported,
            } => self.result(number, from, reported),
        }
    }

    /// Tells controllers that look for agents that this agent generates another load.
    fn report_busy(&self) {
        let busy = BusyAgent {
            id: self.plan.id.clone(),
            name: self.plan.name.clone(),
            busy_with: self.run.clone(),
        };
        // They soon look again.
        let _ = self.bus.publish(&join_subject(&self.plan.id), bytes(&busy));
    }

    /// Why a task is refused.
    fn refusal(&self, number: u64, task: &AgentTask) -> Option<String> {
        if number < self.driver.number() || !self.driver.is_free() {
            let last = self.driver.number();
            return Some(format!(
                "order {number} came while order {last} was under way: use the same version of \
                 abx on both sides"
            ));
        }
        let (pool, plan, sha256, part) = match task {
            AgentTask::Open {
                pool,
                plan,
                sha256,
                part,
            } => (pool, plan, sha256, part),
            AgentTask::Slice {
                plan, starts_ns, ..
            } => return self.too_late(*starts_ns).or_else(|| slice_refusal(plan)),
            AgentTask::Refresh { .. } | AgentTask::Keep { .. } | AgentTask::Close { .. } => {
                return None;
            }
        };
        if sha256_of(plan) != *sha256 {
            return Some(
                "the load does not match its SHA-256: use the same version of abx on both sides"
                    .to_owned(),
            );
        }
        if self.timeouts.contains_key(pool) || self.timeouts.len() >= POOLS_MAX {
            return Some(format!(
                "pool {pool} is already open, or {POOLS_MAX} pools are, the most that an agent \
                 accepts: use the same version of abx on both sides"
            ));
        }
        let threads = self.plan.engine.threads;
        self.plan.limits.refusal(plan, *part, threads)
    }

    /// Why a slice begins too late: nothing can end the wait for its begin.
    fn too_late(&self, starts_ns: i64) -> Option<String> {
        let ahead_ns = starts_ns.saturating_sub(self.plan.now_ns());
        let ahead = Duration::from_nanos(u64::try_from(ahead_ns).unwrap_or(0));
        (ahead > BEGINS_WITHIN).then(|| {
            format!(
                "a slice was to begin in {:.0} s by its clock, and it waits at most {} s for one",
                ahead.as_secs_f64(),
                BEGINS_WITHIN.as_secs()
            )
        })
    }

    /// Remembers how long a task may take.
    fn note(&mut self, task: &AgentTask) {
        match task {
            AgentTask::Open { pool, plan, .. } => {
                self.timeouts.insert(*pool, plan.timeout_ns());
            }
            AgentTask::Slice {
                pool,
                plan,
                starts_ns,
            } => self.overdue_at = self.overdue_at(*pool, plan, *starts_ns),
            AgentTask::Close { pool } => {
                self.timeouts.remove(pool);
            }
            AgentTask::Refresh { .. } | AgentTask::Keep { .. } => {}
        }
    }

    /// When a slice must have ended; `None` if it ends after a number of requests, whose duration
    /// is unknown.
    fn overdue_at(&self, pool: u64, plan: &SlicePlan, starts_ns: i64) -> Option<Nanos> {
        let SliceEnd::AfterNs(length_ns) = plan.end else {
            return None;
        };
        let timeout_ns = self.timeouts.get(&pool).copied().unwrap_or_default();
        let lead_ns = starts_ns.saturating_sub(self.plan.now_ns());
        let starts = Nanos::now().plus(Nanos(u64::try_from(lead_ns).unwrap_or(0)));
        // A slow agent may take twice as long, and so may the last responses.
        let most = Nanos(length_ns.saturating_add(timeout_ns).saturating_mul(2));
        Some(starts.plus(most).plus(OVERDUE_AFTER))
    }

    fn result(&self, number: u64, from: usize, reported: u64) -> AgentResponse {
        if number != self.driver.number() {
            let last = self.driver.number();
            let why = format!(
                "order {number} is unknown; the last one was {last}: use the same version of abx \
                 on both sides"
            );
            return AgentResponse::Refused { why };
        }
        match self.driver.state(RESULT_WITHIN, reported) {
            OrderState::Working(working) => AgentResponse::Working(working),
            OrderState::Done(text) => AgentResponse::Part {
                all: text.len(),
                text: part(&text, from).to_owned(),
            },
        }
    }

    fn beat(&self, leaves: bool) {
        let beat = Beat {
            id: self.plan.id.clone(),
            slot: self.slot,
            leaves,
        };
        let subject = beat_subject(&self.run, &self.plan.id);
        // The next beat follows soon.
        let _ = self.bus.publish(&subject, bytes(&beat));
    }
}

/// The part of a text from this byte on that fits into one message.
fn part(text: &str, from: usize) -> &str {
    let mut end = text.len().min(from.saturating_add(PART_BYTES));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(from..end).unwrap_or_default()
}

/// Sends a response to a message, if the message requests one.
pub(super) fn reply(bus: &dyn Bus, message: &BusMessage, response: &AgentResponse) {
    if let Some(reply) = &message.reply {
        // A controller without a response sends its request again.
        let _ = bus.publish(reply, bytes(response));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_text_add_up_to_it() {
        // Method: a text with characters of several bytes, longer than one part.
        let text = "1234ü€".repeat(PART_BYTES / 3);
        let mut joined = String::new();
        while joined.len() < text.len() {
            let next = part(&text, joined.len());
            assert!(!next.is_empty() && next.len() <= PART_BYTES);
            joined.push_str(next);
        }
        assert_eq!(joined, text);
        assert_eq!(part(&text, text.len() + 1), "");
    }
}
