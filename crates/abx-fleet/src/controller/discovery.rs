//! Assigns slots to agents.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::line::RunBus;
use super::member::Member;
use super::plan::{FleetEvent, FleetListener, FleetPlan};
use crate::bus::{BusError, BusMessage};
use crate::fleet_error::FleetError;
use crate::message::subject::{ALL_AGENTS, join_subject};
use crate::message::text::{is_address, printable};
use crate::message::{BusyAgent, Control, Introduction, JoinResponse, PROTOCOL, bytes, read};

/// How often a wait checks whether it must end.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The time without a request for a slot after which the clocks of the agents are read.
const QUIET: Duration = Duration::from_millis(20);

/// The slots and their agents.
pub struct Discovery<'a> {
    bus: &'a RunBus,
    plan: &'a FleetPlan,
    notify: &'a FleetListener,
    slots: Vec<Option<Introduction>>,
    refused: Vec<String>,
    /// When the controller next announces itself.
    publishes_at: Instant,
}

impl Discovery<'_> {
    /// Waits for the requested number of agents, and reads their clocks.
    ///
    /// # Errors
    /// [`FleetError::TooFew`], [`FleetError::Interrupted`], [`FleetError::Bus`].
    pub fn members(
        bus: &RunBus,
        plan: &FleetPlan,
        is_stopped: &dyn Fn() -> bool,
        notify: &FleetListener,
    ) -> Result<Vec<Member>, FleetError> {
        let mut discovery = Discovery {
            bus,
            plan,
            notify,
            slots: vec![None; plan.agents],
            refused: Vec::new(),
            publishes_at: Instant::now(),
        };
        let (sender, inbox) = channel();
        let _joins = bus.bus.subscribe(&join_subject(ALL_AGENTS), sender)?;
        let until = Instant::now() + plan.timing.join;
        loop {
            discovery.publish_discovery();
            let wait = if discovery.is_full() {
                QUIET
            } else {
                LOOK_EVERY
            };
            match inbox.recv_timeout(wait) {
                Ok(message) => discovery.receive(&message),
                Err(RecvTimeoutError::Timeout) if discovery.is_full() => {
                    if let Some(members) = discovery.try_all() {
                        return Ok(members);
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            if let Some(refusal) = bus.bus.refusal() {
                return Err(refusal.into());
            }
            if is_stopped() {
                return Err(FleetError::Interrupted);
            }
            if Instant::now() >= until {
                return Err(FleetError::TooFew {
                    joined: discovery.slots.iter().flatten().count(),
                    wanted: plan.agents,
                    within: plan.timing.join,
                    refused: discovery.refused,
                });
            }
        }
    }

    /// Announces the controller, for agents that have not joined and for those that wait.
    fn publish_discovery(&mut self) {
        if Instant::now() >= self.publishes_at {
            self.bus.publish_control(Control::Discovery);
            self.publishes_at = Instant::now() + self.plan.timing.beat;
        }
    }

    fn is_full(&self) -> bool {
        self.slots.iter().all(Option::is_some)
    }

    fn receive(&mut self, message: &BusMessage) {
        let Some(reply) = &message.reply else {
            self.receive_busy(message);
            return;
        };
        // The introductions of other versions may have other fields.
        let response = match read::<Introduction>(&message.payload) {
            Some(other) if message.subject != join_subject(&other.id) || !is_address(&other.id) => {
                JoinResponse::Refused {
                    why: "it uses the name of another agent, or its name is not valid".to_owned(),
                }
            }
            Some(introduction) => self.response(introduction.printable()),
            None => JoinResponse::Refused {
                why: "it uses another version of the protocol".to_owned(),
            },
        };
        // An agent without a response sends its request again.
        let _ = self.bus.bus.publish(reply, bytes(&response));
    }

    /// Reports an agent that generates another load, and may become free in time.
    fn receive_busy(&mut self, message: &BusMessage) {
        let Some(busy_agent) = read::<BusyAgent>(&message.payload) else {
            return;
        };
        if message.subject != join_subject(&busy_agent.id) || busy_agent.busy_with == self.bus.run {
            return;
        }
        let agent = format!("agent {}", printable(&busy_agent.name));
        let line = busy_line(&agent);
        if !self.refused.contains(&line) {
            self.refused.push(line);
            (self.notify)(FleetEvent::Busy { agent });
        }
    }

    fn response(&mut self, introduction: Introduction) -> JoinResponse {
        let has_this_id = |slot: &Option<Introduction>| {
            slot.as_ref()
                .is_some_and(|other| other.id == introduction.id)
        };
        if let Some(slot) = self.slots.iter().position(has_this_id) {
            return self.joined(slot);
        }
        if let Some(why) = self.refusal(&introduction) {
            let line = format!("{} was rejected: {why}", called(&introduction));
            if !self.refused.contains(&line) {
                self.refused.push(line);
                (self.notify)(FleetEvent::Rejected {
                    agent: called(&introduction),
                    why: why.clone(),
                });
            }
            return JoinResponse::Refused { why };
        }
        let first_free = || self.slots.iter().position(Option::is_none);
        let Some(slot) = introduction.slot.or_else(first_free) else {
            return JoinResponse::Full;
        };
        let agent = called(&introduction);
        self.refused.retain(|line| *line != busy_line(&agent));
        (self.notify)(FleetEvent::Joined { agent });
        self.slots[slot] = Some(introduction);
        self.joined(slot)
    }

    fn joined(&self, slot: usize) -> JoinResponse {
        JoinResponse::Joined {
            run: self.bus.run.clone(),
            slot,
            slots: self.slots.len(),
        }
    }

    /// Why an agent cannot take part.
    fn refusal(&self, introduction: &Introduction) -> Option<String> {
        if introduction.protocol != PROTOCOL {
            return Some(format!(
                "it uses protocol {}, and the controller uses protocol {PROTOCOL}: install the \
                 same version of abx everywhere",
                introduction.protocol
            ));
        }
        if introduction.build != self.plan.build {
            return Some(format!(
                "it is another build of abx ({}; the controller is {}): use the same program \
                 everywhere",
                short(&introduction.build),
                short(&self.plan.build)
            ));
        }
        let slot = introduction.slot?;
        match self.slots.get(slot) {
            None => Some(format!(
                "it requires slot {}, but there are only {}",
                slot + 1,
                self.slots.len()
            )),
            Some(Some(other)) => Some(format!(
                "it requires slot {}, which is taken by {}",
                slot + 1,
                called(other)
            )),
            Some(None) => None,
        }
    }

    /// Reads the clocks of all agents that have a slot. An agent that is gone loses its slot, and
    /// one that does not respond in time is tried again. `None` until all have responded.
    fn try_all(&mut self) -> Option<Vec<Member>> {
        let mut members = Vec::with_capacity(self.slots.len());
        for slot in 0..self.slots.len() {
            self.publish_discovery();
            let introduction = self.slots[slot].clone()?;
            match self.bus.clock_offset(&introduction.id) {
                Ok(clock) => members.push(Member::new(introduction, clock)),
                Err(BusError::NoResponders) => self.slots[slot] = None,
                Err(_) => return None,
            }
        }
        self.is_full().then_some(members)
    }
}

fn busy_line(agent: &str) -> String {
    format!("{agent} generates load for another controller")
}

/// The name of an agent in messages before it has a slot.
fn called(introduction: &Introduction) -> String {
    format!("agent {}", introduction.name)
}

fn short(build: &str) -> &str {
    build.get(..12).unwrap_or(build)
}
