//! Sends requests to one agent, until it responds or is lost.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use abx_sys::Nanos;

use super::deadline::{OrderAllowance, OrderDeadline, STILL_WORKING};
use super::liveness::Liveness;
use crate::bus::{Bus, BusError};
use crate::clock::{CLOCK_READINGS, ClockOffset, ClockReading};
use crate::fleet_error::FleetError;
use crate::message::subject::{agent_subject, control_subject};
use crate::message::text::printable;
use crate::message::{
    AgentCommand, AgentQuery, AgentResponse, AgentTask, Control, TaskResult, Working, bytes, read,
};

/// How long a response may take before the request is repeated.
const RESPONSE_WITHIN: Duration = Duration::from_secs(1);
/// The pause before a request is repeated.
const PAUSE: Duration = Duration::from_millis(20);

/// The bus and the run of a controller.
pub struct RunBus {
    pub bus: Arc<dyn Bus>,
    pub run: String,
}

/// The largest size of a result in bytes: many times that of all histograms of a load.
const RESULT_MOST: usize = 256 << 20;

/// The line to one agent.
pub struct AgentLine<'a> {
    pub bus: &'a RunBus,
    pub liveness: &'a Liveness,
    pub slot: usize,
    pub id: &'a str,
    /// The agent's name in messages.
    pub agent: String,
}

impl RunBus {
    /// Publishes a command to all agents.
    pub fn publish_control(&self, control: Control) {
        // Important commands are repeated.
        let _ = self
            .bus
            .publish(&control_subject(&self.run), bytes(&control));
    }

    /// Sends one request to an agent.
    pub fn request(&self, id: &str, what: AgentQuery) -> Result<AgentResponse, BusError> {
        let order = AgentCommand {
            run: self.run.clone(),
            what,
        };
        let subject = agent_subject(id);
        let response = self.bus.request(&subject, bytes(&order), RESPONSE_WITHIN)?;
        // The request to an agent of another version is repeated, until the agent is lost.
        read(&response).ok_or(BusError::Timeout)
    }

    /// Reads an agent's clock.
    ///
    /// # Errors
    /// If the response is missing or is not a time.
    pub fn read_clock(&self, id: &str) -> Result<ClockReading, BusError> {
        let requested_ns = now_ns();
        match self.request(id, AgentQuery::Clock)? {
            AgentResponse::Clock { now_ns: agent_ns } => Ok(ClockReading {
                requested_ns,
                agent_ns,
                came_ns: now_ns(),
            }),
            _ => Err(BusError::NoResponders),
        }
    }

    /// Measures the offset of an agent's clock.
    ///
    /// # Errors
    /// For the first response that is missing.
    pub fn clock_offset(&self, id: &str) -> Result<ClockOffset, BusError> {
        let readings = (0..CLOCK_READINGS).map(|_| self.read_clock(id));
        let readings = readings.collect::<Result<Vec<_>, _>>()?;
        ClockOffset::of(readings).ok_or(BusError::Timeout)
    }
}

impl AgentLine<'_> {
    /// Sends a request until there is a response.
    ///
    /// # Errors
    /// [`FleetError::Lost`] without a response, [`FleetError::Bus`] if sending is impossible.
    fn request(&self, what: &AgentQuery) -> Result<AgentResponse, FleetError> {
        loop {
            // Checked before the request, because a lost agent does not come back.
            if let Some(loss) = self.liveness.lost(self.slot) {
                return Err(self.lost(loss.how));
            }
            match self.bus.request(self.id, what.clone()) {
                Ok(AgentResponse::Stranger { .. }) => {
                    return Err(self.lost("it has left the run".to_owned()));
                }
                Ok(response) => {
                    self.liveness.note_response(self.slot);
                    return Ok(response);
                }
                Err(error @ BusError::TooLarge { .. }) => return Err(error.into()),
                Err(_) => {}
            }
            thread::sleep(PAUSE);
        }
    }

    /// Reads the agent's clock again.
    ///
    /// # Errors
    /// As [`AgentLine::deliver`].
    pub fn clock_offset(&self) -> Result<ClockOffset, FleetError> {
        loop {
            if let Ok(offset) = self.bus.clock_offset(self.id) {
                self.liveness.note_response(self.slot);
                return Ok(offset);
            }
            if let Some(loss) = self.liveness.lost(self.slot) {
                return Err(self.lost(loss.how));
            }
            thread::sleep(PAUSE);
        }
    }

    /// Gives an order.
    ///
    /// # Errors
    /// [`FleetError::Refused`], [`FleetError::Lost`], [`FleetError::Bus`].
    pub fn deliver(&self, number: u64, task: AgentTask) -> Result<(), FleetError> {
        let task = Box::new(task);
        match self.request(&AgentQuery::Task { number, task })? {
            AgentResponse::Accepted => Ok(()),
            AgentResponse::Refused { why } => Err(self.refused(why)),
            _ => Err(self.nonsense()),
        }
    }

    /// Waits for the result of an order, and reports its progress. A stop is passed on, and soon
    /// ends the order.
    pub fn collect(
        &self,
        number: u64,
        allowance: &OrderAllowance,
        on_progress: &mut dyn FnMut(Working),
    ) -> Result<TaskResult, FleetError> {
        let mut deadline = OrderDeadline::begin(allowance);
        let mut received = String::new();
        let mut reported = 0;
        loop {
            if allowance.stopper.is_stopped() {
                self.bus.publish_control(Control::Stop);
                deadline.note_stop();
            }
            let from = received.len();
            match self.request(&AgentQuery::Result {
                number,
                from,
                told: reported,
            })? {
                AgentResponse::Working(_) if deadline.has_passed() => {
                    return Err(self.lost(STILL_WORKING.to_owned()));
                }
                AgentResponse::Working(working) => {
                    deadline.note_progress(&working.progress);
                    // Intervals that the agent no longer has count as reported.
                    reported = working.first + working.intervals.len() as u64;
                    on_progress(working);
                }
                AgentResponse::Part { all: total, text } => {
                    if !is_next_part(received.len(), total, text.len()) {
                        return Err(self.nonsense());
                    }
                    received.push_str(&text);
                    if received.len() == total {
                        break;
                    }
                }
                AgentResponse::Refused { why } => return Err(self.refused(why)),
                _ => return Err(self.nonsense()),
            }
        }
        match read(received.as_bytes()) {
            Some(TaskResult::Failed { why }) => Err(FleetError::Failed {
                agent: self.agent.clone(),
                why: printable(&why),
            }),
            Some(result) => Ok(result),
            None => Err(self.nonsense()),
        }
    }

    fn lost(&self, how: String) -> FleetError {
        FleetError::Lost {
            agent: self.agent.clone(),
            how,
        }
    }

    fn refused(&self, why: String) -> FleetError {
        FleetError::Refused {
            agent: self.agent.clone(),
            why: printable(&why),
        }
    }

    /// The error for a response that an agent of the same version never sends.
    pub fn nonsense(&self) -> FleetError {
        FleetError::Nonsense {
            agent: self.agent.clone(),
        }
    }
}

/// Whether a part of this size, in bytes, can follow the parts received so far.
fn is_next_part(received: usize, total: usize, part: usize) -> bool {
    let is_progress = part > 0 || received == total;
    is_progress && received.saturating_add(part) <= total && total <= RESULT_MOST
}

/// The time of this machine's clock, in ns.
pub fn now_ns() -> i64 {
    i64::try_from(Nanos::now().0).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_do_not_complete_a_result_are_refused() {
        // Method: parts in order, the last part, an empty one before and at the end, one beyond the
        // end, and results that are too large.
        let table = [
            ((0, 10, 4), true),
            ((4, 10, 6), true),
            ((4, 10, 7), false),
            ((4, 10, 0), false),
            ((10, 10, 0), true),
            ((10, 9, 0), false),
            ((0, RESULT_MOST, 1), true),
            ((0, RESULT_MOST + 1, 1), false),
            ((1, usize::MAX, usize::MAX), false),
        ];
        for ((received, total, part), expected) in table {
            let is_next = is_next_part(received, total, part);
            assert_eq!(is_next, expected, "{received} {total} {part}");
        }
    }
}
