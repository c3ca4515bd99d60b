//! The limits of an agent, which the owner of its machine sets, not the controller.

use abx_engine::schedule::{Arrivals, PerSecond};
use abx_engine::{LoadPart, LoadPlan, MESSAGE_BYTES_MAX, Pacing, SliceEnd, SlicePlan};
use abx_model::descriptors_needed;

use super::allowed_target::AllowedTarget;

/// The limits of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentLimits {
    /// The targets that the agent may load.
    pub targets: Vec<AllowedTarget>,
    /// The highest rate of requests or messages; `None` for no limit.
    pub rate_max: Option<PerSecond>,
    /// The number of file descriptors that each thread may have.
    pub descriptors: u64,
}

/// Connections of an agent's part of one load, at most.
const CONNECTIONS_MAX: u64 = 1_000_000;
/// Requests in flight of an agent's part of one load, at most: each takes some 100 bytes.
const IN_FLIGHT_MAX: u64 = 1 << 20;
/// Different requests of a load, at most.
const REQUESTS_MAX: u64 = 100_000;
/// Local addresses of a load, at most.
const SOURCES_MAX: u64 = 10_000;
/// Bytes of a socket's buffer, at most.
const BUFFER_BYTES_MAX: u64 = 1 << 30;
/// Requests that each worker keeps in a request log, at most.
const LOG_MAX: u64 = 100_000_000;
/// The shortest interval into which the time of a load is divided, in ns: 1 ms.
const INTERVAL_NS_MIN: u64 = 1_000_000;
/// The longest slice, in seconds: 31 days.
const SLICE_SECONDS_MAX: u64 = 31 * 86_400;
const SLICE_REQUESTS_MAX: u64 = 1_000_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;

impl AgentLimits {
    /// Why these threads cannot generate a part of a load; `None` if they can.
    #[must_use]
    pub fn refusal(&self, plan: &LoadPlan, part: LoadPart, threads: usize) -> Option<String> {
        let Some(target) = plan.address.tcp().map(|address| address.ip()) else {
            return Some(format!(
                "{} is a local socket, and agents load networks (--allow-target): make the server \
                 listen on an IP address too",
                plan.address
            ));
        };
        if !self
            .targets
            .iter()
            .any(|allowed_target| allowed_target.contains(target))
        {
            let allowed: Vec<String> = self.targets.iter().map(ToString::to_string).collect();
            let allowed = allowed.join(", ");
            return Some(format!(
                "{target} is not among the targets that are allowed there (--allow-target \
                 {allowed})"
            ));
        }
        if part.number >= part.of {
            return Some(format!(
                "there is no part {} of {}: use the same version of abx on both sides",
                part.number, part.of
            ));
        }
        if let Some(why) = size_refusal(plan, part) {
            return Some(why);
        }
        let (first, next) = part.connections(plan.connections.into());
        let connections = next.saturating_sub(first);
        let needed = descriptors_needed(connections, threads);
        if needed > self.descriptors {
            return Some(format!(
                "{connections} connections on {threads} thread(s) need {needed} file descriptors \
                 per thread, but a thread there may have {}: raise `ulimit -n` there, or use more \
                 agents",
                self.descriptors
            ));
        }
        let max = self.rate_max?;
        let sends_nothing = plan.shape.hold_ns().is_some();
        match rate(&plan.pacing) {
            None if sends_nothing => None,
            None => Some(format!(
                "a closed loop has no rate to hold below {max}/s (--max-rate): set a rate (-r)"
            )),
            Some(rate) => {
                let part_rate = rate.div_ceil(u64::from(part.of));
                (part_rate > max.amount().thousandths()).then(|| {
                    format!(
                        "its part of {}/s is {}/s, and {max}/s are allowed there (--max-rate)",
                        rate as f64 / 1e3,
                        part_rate as f64 / 1e3
                    )
                })
            }
        }
    }
}

/// Why a load would exhaust the memory of an agent.
fn size_refusal(plan: &LoadPlan, part: LoadPart) -> Option<String> {
    let (first, next) = part.connections(plan.connections.into());
    let connections = next.saturating_sub(first);
    let in_flight = connections.saturating_mul(u64::from(plan.pipeline.max(1)));
    let message_bytes = plan.shape.message().map_or(0, |message| message.bytes);
    let log = plan.log.as_ref().map_or(0, |log| log.most);
    let limits = [
        ("connections", connections, CONNECTIONS_MAX),
        (
            "requests in flight (connections × pipeline)",
            in_flight,
            IN_FLIGHT_MAX,
        ),
        (
            "requests in one plan",
            plan.requests.len() as u64,
            REQUESTS_MAX,
        ),
        (
            "source addresses in one plan",
            plan.sources.len() as u64,
            SOURCES_MAX,
        ),
        (
            "bytes in one message",
            message_bytes.into(),
            MESSAGE_BYTES_MAX.into(),
        ),
        (
            "bytes in one socket buffer",
            plan.buffer_bytes.unwrap_or(0).into(),
            BUFFER_BYTES_MAX,
        ),
        ("requests in the request log", log, LOG_MAX),
    ];
    limits
        .into_iter()
        .find(|(_, requested, most)| requested > most)
        .map(|(noun, requested, most)| {
            format!(
                "the load has {} {noun}, and an agent accepts at most {}",
                grouped(requested),
                grouped(most)
            )
        })
        .or_else(|| interval_refusal("bucket", plan.timeline?.bucket_ns))
}

/// Why a slice would exhaust the memory of an agent, or take too long.
pub fn slice_refusal(plan: &SlicePlan) -> Option<String> {
    let too_long = |unit: &str, most: u64| {
        let most = grouped(most);
        format!("a slice has more than {most} {unit}, the most that an agent accepts")
    };
    let length = match plan.end {
        SliceEnd::AfterNs(ns) if ns / SECOND_NS > SLICE_SECONDS_MAX => {
            Some(too_long("seconds", SLICE_SECONDS_MAX))
        }
        SliceEnd::AfterRequests(count) if count > SLICE_REQUESTS_MAX => {
            Some(too_long("requests", SLICE_REQUESTS_MAX))
        }
        SliceEnd::AfterNs(_) | SliceEnd::AfterRequests(_) => None,
    };
    length.or_else(|| interval_refusal("stretch", plan.course?.interval_ns))
}

fn interval_refusal(key: &str, length_ns: u64) -> Option<String> {
    (length_ns < INTERVAL_NS_MIN).then(|| {
        format!(
            "the load divides its time into intervals of {} ns (`{key}_ns`), and an agent accepts \
             at least {} ns",
            grouped(length_ns),
            grouped(INTERVAL_NS_MIN)
        )
    })
}

/// A number with its thousands separated.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The highest rate of a load, in thousandths per second; `None` in a closed loop.
fn rate(pacing: &Pacing) -> Option<u64> {
    let begins = match &pacing.arrivals {
        // No controller sends a replay.
        Arrivals::Closed | Arrivals::Replay(_) => return None,
        Arrivals::Constant { per_s } | Arrivals::Poisson { per_s } => per_s.amount(),
        Arrivals::Stages(list) => {
            let stages = list.stages().iter();
            stages.flat_map(|stage| [stage.from, stage.to]).max()?
        }
    };
    // SUBTLE: a schedule of sessions sets when sessions begin, and each sends several requests.
    let calls = u64::from(pacing.session_calls.unwrap_or(1).max(1));
    Some(begins.thousandths().saturating_mul(calls))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        // Method: numbers on both sides of each separator.
        let texts = [0, 999, 1_000, 65_536, 1_000_000].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "65,536", "1,000,000"]);
    }
}
