//! What an agent refuses, whatever it is told: its machine's owner has the last word.

use abx_engine::schedule::{Arrivals, PerSecond};
use abx_engine::{LoadPart, LoadPlan, Pacing};

use super::allowed_target::AllowedTarget;

/// What an agent may do at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentLimits {
    /// Whom it may load.
    pub targets: Vec<AllowedTarget>,
    /// How many requests or messages it may send per second; `None` for as many as it can.
    pub rate_max: Option<PerSecond>,
    /// How many file descriptors each of its threads may have.
    pub descriptors: u64,
}

/// Descriptors that an agent needs beside those of connections.
const DESCRIPTORS_OWN: u64 = 64;

impl AgentLimits {
    /// Why its part of a load cannot be made by so many threads; `None` when it can.
    #[must_use]
    pub fn refusal(&self, plan: &LoadPlan, part: LoadPart, threads: usize) -> Option<String> {
        let Some(target) = plan.address.tcp().map(|address| address.ip()) else {
            return Some(format!(
                "{} is a socket of its own machine, and agents load networks (--allow-target): \
                 have the server listen on an address too",
                plan.address
            ));
        };
        if !self.targets.iter().any(|one| one.contains(target)) {
            let each = self.targets.iter().map(ToString::to_string);
            let allowed = each.collect::<Vec<_>>().join(", ");
            return Some(format!(
                "{target} is not among the targets that are allowed there (--allow-target \
                 {allowed})"
            ));
        }
        if part.number >= part.of {
            return Some(format!(
                "there is no part {} of {}: have the same version of abx on both sides",
                part.number, part.of
            ));
        }
        let (first, next) = part.connections(plan.connections.into());
        let connections = next.saturating_sub(first);
        let needed = connections.div_ceil(threads.max(1) as u64) + DESCRIPTORS_OWN;
        if needed > self.descriptors {
            return Some(format!(
                "{connections} connections on {threads} thread(s) need {needed} file descriptors \
                 for each, and a thread there may have {}: raise `ulimit -n` there, or have more \
                 agents",
                self.descriptors
            ));
        }
        let max = self.rate_max?;
        let sends_nothing = plan.shape.hold_ns().is_some();
        match rate(&plan.pacing) {
            None if sends_nothing => None,
            None => Some(format!(
                "a closed loop has no rate that could be held below {max}/s (--max-rate): ask for \
                 a rate (-r)"
            )),
            Some(rate) => {
                let own = rate.div_ceil(u64::from(part.of));
                (own > max.amount().thousandths()).then(|| {
                    format!(
                        "its part of {}/s is {}/s, and {max}/s are allowed there (--max-rate)",
                        rate as f64 / 1e3,
                        own as f64 / 1e3
                    )
                })
            }
        }
    }
}

/// The highest rate of a load, in thousandths per second; `None` in a closed loop.
fn rate(pacing: &Pacing) -> Option<u64> {
    let begins = match &pacing.arrivals {
        // No controller asks for a replay.
        Arrivals::Closed | Arrivals::Replay(_) => return None,
        Arrivals::Constant { per_s } | Arrivals::Poisson { per_s } => per_s.amount(),
        Arrivals::Stages(list) => {
            let each = list.stages().iter();
            each.flat_map(|stage| [stage.from, stage.to]).max()?
        }
    };
    // SUBTLE: of sessions the schedule says when each begins, and each sends so many.
    let calls = u64::from(pacing.session_calls.unwrap_or(1).max(1));
    Some(begins.thousandths().saturating_mul(calls))
}
