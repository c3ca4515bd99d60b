//! An agent: it waits for a controller, receives a part of its load, and generates it.

pub mod allowed_target;
mod driver;
mod event;
pub mod limits;
mod membership;
mod opening_pace;
mod plan;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use abx_sys::machine::{self, Machine};

use crate::bus::{Bus, BusError, BusMessage};
use crate::fleet_error::FleetError;
use crate::message::subject::{address, agent_subject, join_subject};
use crate::message::text::{is_name, printable};
use crate::message::{AgentResponse, Introduction, JoinResponse, PROTOCOL, bytes, read};

pub use event::AgentEvent;
use membership::{GivenSlot, LOOK_EVERY, Membership, MembershipEnd, reply};
pub use plan::AgentPlan;

/// The first and the longest pause after no controller responded.
const PAUSE: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];
/// How long a controller may take to respond.
const RESPONSE_WITHIN: Duration = Duration::from_secs(2);
/// The most agents of one run.
const SLOTS_MAX: usize = 100_000;
/// Why an agent declines a slot whose run and number this version never assigns.
const INVALID_SLOT: &str = "its reply names a run or a slot that is not valid (a run has letters, \
                            digits and `-`): use the same version of abx on both sides";

/// Waits for controllers, and generates parts of their loads, until `stop` is set.
///
/// # Errors
/// If the engine does not start, or the bus refuses a topic that an agent must publish or receive.
pub fn run_agent(
    bus: &dyn Bus,
    plan: &AgentPlan,
    stop: &AtomicBool,
    notify: &mut dyn FnMut(AgentEvent),
) -> Result<(), FleetError> {
    let plan = &AgentPlan {
        id: address(bus.user(), &plan.id),
        ..plan.clone()
    };
    let (sender, inbox) = channel();
    let _orders = bus.subscribe(&agent_subject(&plan.id), sender.clone())?;
    while let Some(slot) = join(bus, plan, &inbox, stop, notify)? {
        let mut membership = Membership::begin(bus, plan, slot, &sender)?;
        let end = membership.work(&inbox, stop, notify);
        let saved = membership.finish(notify);
        match end {
            MembershipEnd::Stopped => break,
            MembershipEnd::Over => notify(AgentEvent::RunEnded),
            MembershipEnd::GivenUp => notify(AgentEvent::GivenUp),
            MembershipEnd::ControllerLost => {
                notify(AgentEvent::ControllerLost);
                if let Some(file) = saved {
                    notify(AgentEvent::Saved { file });
                }
            }
        }
        if plan.once && membership.has_worked() {
            break;
        }
    }
    Ok(())
}

/// Requests a slot until a controller assigns one; `None` if the agent must end first.
///
/// # Errors
/// [`BusError::Refused`], because the agent would wait forever without other credentials.
fn join(
    bus: &dyn Bus,
    plan: &AgentPlan,
    inbox: &Receiver<BusMessage>,
    stop: &AtomicBool,
    notify: &mut dyn FnMut(AgentEvent),
) -> Result<Option<GivenSlot>, BusError> {
    let [first, longest] = PAUSE;
    let mut pause = first;
    let mut reported = None;
    while !stop.load(Ordering::Relaxed) {
        // Orders of runs in which this agent has no part, or no longer has one.
        for message in inbox.try_iter() {
            reply(bus, &message, &AgentResponse::Stranger { run: None });
        }
        let subject = join_subject(&plan.id);
        let response = bus.request(&subject, bytes(&introduction(plan)), RESPONSE_WITHIN);
        if let Some(refusal) = bus.refusal() {
            return Err(refusal);
        }
        match response.ok().and_then(|bytes| read(&bytes)) {
            Some(JoinResponse::Joined { run, slot, slots })
                if is_name(&run) && slot < slots && slots <= SLOTS_MAX =>
            {
                notify(AgentEvent::Joined { slot, slots });
                return Ok(Some(GivenSlot { run, slot, slots }));
            }
            Some(JoinResponse::Joined { .. }) => {
                notify_once(INVALID_SLOT.to_owned(), &mut reported, notify);
            }
            Some(JoinResponse::Refused { why }) => {
                notify_once(printable(&why), &mut reported, notify);
            }
            // There was no controller, it had enough agents, or the bus was unavailable.
            Some(JoinResponse::Full) | None => {}
        }
        sleep(pause, stop);
        pause = (pause * 2).min(longest);
    }
    Ok(None)
}

/// Reports why a controller rejected the agent, unless this was the last reported reason.
fn notify_once(why: String, reported: &mut Option<String>, notify: &mut dyn FnMut(AgentEvent)) {
    if reported.as_ref() != Some(&why) {
        notify(AgentEvent::Rejected { why: why.clone() });
        *reported = Some(why);
    }
}

fn introduction(plan: &AgentPlan) -> Introduction {
    let machine = Machine::read();
    Introduction {
        protocol: PROTOCOL,
        id: plan.id.clone(),
        name: plan.name.clone(),
        slot: plan.slot,
        build: plan.build.clone(),
        threads: plan.engine.threads,
        kernel: machine.kernel,
        cpu_model: machine.cpu_model,
        loopback: machine::loopback(),
    }
}

fn sleep(pause: Duration, stop: &AtomicBool) {
    let until = Instant::now() + pause;
    while !stop.load(Ordering::Relaxed) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        thread::sleep(left.min(LOOK_EVERY));
    }
}
