//! The discarded first block: how long subjects take to warm up, how long a
//! slice must be, and whether slices are fair at all.

use std::collections::BTreeMap;

use abx_engine::LoadPlan;
use abx_engine::schedule::Arrivals;
use abx_evidence::record::{Interleave, PilotRecord, PilotSubject};
use abx_sys::Nanos;

use crate::measure::exploration::{SLICE_NS, explore, in_flight, turn_ns};
use crate::measure::running_subjects::{Abort, LeadIn, RunningSubjects};
use abx_study::{PilotEffort, Study};

/// The length of a slice if requests are due by a schedule: queues need time to build up.
const SLICE_OPEN_NS: u64 = 1_000_000_000;
/// The length of a slice if a subject works on after its own slice has ended.
const SLICE_BACKGROUND_CPU_NS: u64 = 1_000_000_000;
/// If responses need longer slices than this, subjects take turns by trials.
const SLICE_MAX_NS: u64 = 10_000_000_000;
/// The length of a trial unless something requires a longer one.
const TRIAL_NS: u64 = 4_000_000_000;
/// The warm-up of a log before its counted part: an uneven load does not show how long a subject
/// warms up.
const REPLAYED_WARM_UP_NS: u64 = 2_000_000_000;
/// Why users with sessions are in trials.
const OF_USERS: &str = "its users start again";
/// The sessions of the slowest subject in a trial of users who pause. About half of them are
/// compared: 200 count, and the lead-in has the others.
const PAUSED_SESSIONS: f64 = 350.0;
/// Why logs are replayed in trials.
const REPLAYED: &str = "each replays the log from its beginning";
/// No trial is longer, or a slow subject would use up any budget.
const TRIAL_MAX_NS: u64 = 60_000_000_000;
/// A slice holds this many response times of the slowest subject.
pub const TURNS: f64 = 5.0;
/// A slice need not hold more requests of a schedule than this: a block of it has a p90.
const SCHEDULED_REQUESTS: f64 = 1_200.0;
/// How long one subject is loaded in one block, over all rounds.
const BLOCK_NS: u64 = 1_500_000_000;
pub const ROUNDS_MIN: u64 = 2;
const ROUNDS_MAX: u64 = 20;
/// Blocks warm up for this much longer than the slowest subject needed.
const WARM_UP_FACTOR: f64 = 1.5;
pub const WARM_UP_MIN_NS: u64 = 100_000_000;
/// A subject that uses more than this share of one processor after its own slice works on.
const BACKGROUND_CPU_MAX: f64 = 0.05;

/// How one load's pilot is made.
#[derive(Debug, Clone, Default)]
pub struct PilotOptions {
    /// How thoroughly it explores each subject.
    pub effort: PilotEffort,
    /// How long it may take for all subjects together; `None` for as long as necessary.
    pub within_ns: Option<u64>,
    /// Why blocks have to consist of trials, if they do.
    pub trials_because: Option<String>,
    /// The subjects that it omits, by their places.
    pub left_out: Vec<usize>,
}

/// Explores the subjects under one load, and sets how its blocks run.
pub fn pilot(
    running: &mut RunningSubjects,
    study: &Study,
    plans: &[LoadPlan],
    options: PilotOptions,
) -> Result<PilotRecord, Abort> {
    running.lead_in = LeadIn::USUAL;
    let began = running.generator.now();
    let ends = options.within_ns.map(|within| began.plus(Nanos(within)));
    let mut subjects = BTreeMap::new();
    let mut offered: Vec<(usize, &LoadPlan)> = plans.iter().enumerate().collect();
    offered.retain(|(subject, _)| !options.left_out.contains(subject));
    for (explored, (subject, plan)) in offered.iter().copied().enumerate() {
        let now = running.generator.now();
        // Time that a subject leaves over goes to the subjects after it.
        let part = |ends: Nanos| Nanos(ends.since(now).0 / (offered.len() - explored) as u64);
        let until = ends.map(|ends| now.plus(part(ends)));
        let pilot_subject = explore(running, subject, plan, options.effort, until)?;
        subjects.insert(running.names[subject].clone(), pilot_subject);
    }
    let is_closed = plans
        .iter()
        .all(|plan| plan.pacing.arrivals == Arrivals::Closed);
    let (in_flight, least) = match plans.first() {
        Some(plan) => (in_flight(plan), ShortestSlice::of(plan)),
        None => (1, ShortestSlice::CLOSED),
    };
    let needed_ns = needed_ns(&subjects, in_flight);
    let mut record = plan_blocks(study, in_flight, least, subjects, options.trials_because);
    if is_closed {
        let response_ns = needed_ns as f64 / TURNS;
        running.lead_in = LeadIn::for_responses(response_ns, record.slice_ns);
    }
    record.discard_ns = running.discard_ns(record.slice_ns);
    Ok(record)
}

/// The shortest slice that holds enough responses of the slowest subject.
pub fn needed_ns(subjects: &BTreeMap<String, PilotSubject>, in_flight: u64) -> u64 {
    let responding = subjects.values().filter(|subject| subject.failed.is_none());
    let turns = responding.map(|subject| subject_turn_ns(subject, in_flight));
    (TURNS * turns.fold(0.0, f64::max)) as u64
}

/// The response time of a subject for which slices have room. With a schedule, connections may be
/// idle between requests, so that Little's law gives an upper bound only.
fn subject_turn_ns(subject: &PilotSubject, in_flight: u64) -> f64 {
    let turn_ns = turn_ns(subject.throughput_per_s, in_flight);
    if subject.response_ns == 0 {
        return turn_ns;
    }
    let scheduled_ns = 1e9 * SCHEDULED_REQUESTS / TURNS / subject.throughput_per_s.max(1e-3);
    turn_ns.min(scheduled_ns).max(subject.response_ns as f64)
}

/// Why a slice is long: responses take so long, or requests are due so rarely.
fn slowness(name: &str, subject: &PilotSubject, turn_ns: f64) -> String {
    if (1..turn_ns as u64).contains(&subject.response_ns) {
        let rate = subject.throughput_per_s;
        return format!("{name} gets only {rate:.0} requests per second");
    }
    format!("{name} takes {:.0} ms per response", turn_ns / 1e6)
}

/// Rounds of slices that load each subject for the usual time of a block.
fn rounds(slice_ns: u64) -> u32 {
    let rounds = (BLOCK_NS / slice_ns.max(1)).clamp(ROUNDS_MIN, ROUNDS_MAX);
    u32::try_from(rounds).expect("at most ROUNDS_MAX")
}

/// The shortest slice that a kind of load has, and why it is no shorter.
struct ShortestSlice {
    ns: u64,
    why: Option<&'static str>,
    /// Whether each slice replays a log from its beginning, for as long as the log lasts.
    is_replay: bool,
    /// If connections are users with sessions, whether these users pause.
    users: Option<Pauses>,
}

/// Whether users pause in their sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pauses {
    None,
    Some,
}

impl ShortestSlice {
    const CLOSED: ShortestSlice = ShortestSlice {
        ns: SLICE_NS,
        why: None,
        is_replay: false,
        users: None,
    };

    fn of(plan: &LoadPlan) -> ShortestSlice {
        match &plan.pacing.arrivals {
            Arrivals::Closed => ShortestSlice {
                users: plan.scenario.as_ref().map(|users| {
                    if users.has_pauses() {
                        Pauses::Some
                    } else {
                        Pauses::None
                    }
                }),
                ..ShortestSlice::CLOSED
            },
            Arrivals::Replay(replay) => ShortestSlice {
                ns: replay.lasts().0,
                why: None,
                is_replay: true,
                users: None,
            },
            _ => ShortestSlice {
                ns: SLICE_OPEN_NS,
                why: Some("response times by a schedule need time for queues"),
                is_replay: false,
                users: None,
            },
        }
    }
}

/// Plans the blocks from the results of subjects. Pure.
fn plan_blocks(
    study: &Study,
    in_flight: u64,
    least: ShortestSlice,
    subjects: BTreeMap<String, PilotSubject>,
    trials_because: Option<String>,
) -> PilotRecord {
    let slowest = subjects
        .iter()
        .filter(|(_, subject)| subject.failed.is_none())
        .map(|(name, subject)| (subject_turn_ns(subject, in_flight), name, subject))
        .max_by(|(turn, ..), (other, ..)| turn.total_cmp(other));
    let turn = slowest.map_or(0.0, |(turn, ..)| turn);
    let why_slow = slowest
        .map(|(turn, name, subject)| slowness(name, subject, turn))
        .unwrap_or_default();
    let needed_ns = needed_ns(&subjects, in_flight);
    let needed_ns = match least.users {
        Some(Pauses::Some) => {
            needed_ns.max((PAUSED_SESSIONS * turn / in_flight.max(1) as f64) as u64)
        }
        _ => needed_ns,
    };
    let works_on = subjects.iter().find(|(_, pilot_subject)| {
        pilot_subject
            .background_cpu
            .is_some_and(|share| share > BACKGROUND_CPU_MAX)
    });

    let is_slow = needed_ns > least.ns;
    let is_too_slow = needed_ns > SLICE_MAX_NS;
    let of_users = least.users.map(|_| OF_USERS.to_owned());
    let replayed = least.is_replay.then(|| REPLAYED.to_owned());
    let interleave_reason = trials_because
        .or(replayed)
        .or(of_users)
        .or(is_too_slow.then(|| why_slow.clone()));
    let interleave = match interleave_reason {
        Some(_) => Interleave::Trials,
        None => study.interleave,
    };
    let requested_ns = study.slice.map(|span| Nanos::from(span).0);
    let (slice_ns, slice_reason) = match (requested_ns, interleave, works_on) {
        (Some(requested_ns), _, _) => (requested_ns, None),
        (None, Interleave::Trials, _) if least.is_replay => (least.ns.min(TRIAL_MAX_NS), None),
        (None, Interleave::Trials, _) => (needed_ns.clamp(TRIAL_NS, TRIAL_MAX_NS), None),
        (None, Interleave::Slices, Some((name, _))) => (
            SLICE_BACKGROUND_CPU_NS.max(needed_ns),
            Some(format!("{name} works on after its slices")),
        ),
        (None, Interleave::Slices, None) => {
            let why = is_slow.then_some(why_slow).or(least.why.map(str::to_owned));
            (least.ns.max(needed_ns), why)
        }
    };
    let rounds = match interleave {
        Interleave::Slices => study.rounds.unwrap_or(rounds(slice_ns)),
        Interleave::Trials => 1,
    };
    PilotRecord {
        interleave,
        interleave_reason,
        slice_ns,
        slice_requests: None,
        // Known when the length is final.
        discard_ns: 0,
        slice_reason,
        rounds,
        shortened: false,
        warm_up_ns: warm_up_ns(&least, slice_ns, &subjects),
        subjects,
    }
}

/// How long each block warms up, in nanoseconds.
fn warm_up_ns(
    least: &ShortestSlice,
    slice_ns: u64,
    subjects: &BTreeMap<String, PilotSubject>,
) -> u64 {
    let longest = subjects.values().map(|subject| subject.warm_up_ns).max();
    // The warm-up of users who pause cannot be read from the number of sessions that end.
    let warm_up_ns = if least.is_replay || least.users == Some(Pauses::Some) {
        slice_ns.min(REPLAYED_WARM_UP_NS)
    } else {
        (WARM_UP_FACTOR * longest.unwrap_or_default() as f64) as u64
    };
    warm_up_ns.max(WARM_UP_MIN_NS)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::measure::simulation::scripted::study;

    /// The plan of blocks for a quick subject, and for a slow one with these results.
    fn planned(rate: f64, background_cpu: f64, slice: Option<Duration>) -> PilotRecord {
        let subject = |rate, warm_up_ns, background_cpu| PilotSubject {
            throughput_per_s: rate,
            warm_up_ns,
            settled: true,
            background_cpu,
            ..PilotSubject::default()
        };
        let subjects = BTreeMap::from([
            ("quick".to_owned(), subject(1e5, 0, None)),
            (
                "slow".to_owned(),
                subject(rate, 200_000_000, Some(background_cpu)),
            ),
        ]);
        plan_blocks(&study(slice), 50, ShortestSlice::CLOSED, subjects, None)
    }

    #[test]
    fn slices_hold_five_responses_of_the_slowest_subject() {
        // Method: 50 connections at 5,000/s take 10 ms, at 250/s 200 ms, at 1/s 50 s.
        let usual = planned(5_000.0, 0.0, None);
        assert_eq!((usual.slice_ns, usual.rounds), (SLICE_NS, 15));
        assert_eq!(usual.slice_reason, None);
        let slow = planned(250.0, 0.0, None);
        assert_eq!((slow.slice_ns, slow.rounds), (1_000_000_000, 2));
        assert!(slow.slice_reason.unwrap().contains("slow takes 200 ms"));
        let very_slow = planned(1.0, 0.0, None);
        assert_eq!(very_slow.interleave, Interleave::Trials);
        assert_eq!((very_slow.slice_ns, very_slow.rounds), (TRIAL_MAX_NS, 1));
    }

    #[test]
    fn a_subject_that_works_on_gets_long_slices() {
        // Method: 10 % of a processor after its own slice.
        let works_on = planned(5_000.0, 0.1, None);
        assert_eq!(works_on.slice_ns, SLICE_BACKGROUND_CPU_NS);
        assert!(works_on.slice_reason.unwrap().contains("slow works on"));
    }

    #[test]
    fn a_schedule_has_slices_in_which_queues_can_build_up() {
        // Method: the shortest slice of a load with a rate, which no subject lengthens.
        let least = ShortestSlice {
            ns: SLICE_OPEN_NS,
            why: Some("queues"),
            is_replay: false,
            users: None,
        };
        let record = plan_blocks(&study(None), 50, least, BTreeMap::new(), None);
        assert_eq!((record.slice_ns, record.rounds), (SLICE_OPEN_NS, 2));
        assert_eq!(record.slice_reason.as_deref(), Some("queues"));
    }

    #[test]
    fn idle_connections_of_a_schedule_do_not_lengthen_slices() {
        // Method: 500 requests/s over 5,000 connections, of a subject that takes 1 ms, and of one
        // that takes 3 s; and 2 requests/s over 50 connections.
        let of = |rate, in_flight, response_ns| {
            let least = ShortestSlice {
                ns: SLICE_OPEN_NS,
                why: Some("queues"),
                is_replay: false,
                users: None,
            };
            let subject = PilotSubject {
                throughput_per_s: rate,
                response_ns,
                ..PilotSubject::default()
            };
            let subjects = BTreeMap::from([("a".to_owned(), subject)]);
            plan_blocks(&study(None), in_flight, least, subjects, None)
        };
        let quick = of(500.0, 5_000, 1_000_000);
        assert_eq!((quick.slice_ns, quick.rounds), (2_400_000_000, 2));
        let reason = quick.slice_reason.unwrap();
        assert_eq!(reason, "a gets only 500 requests per second");
        let slow = of(500.0, 5_000, 3_000_000_000);
        let reason = slow.interleave_reason.unwrap();
        assert_eq!(reason, "a takes 3000 ms per response");
        assert_eq!(slow.slice_ns, 15_000_000_000);
        let rare = of(2.0, 50, 1_000_000);
        assert_eq!(rare.slice_ns, TRIAL_MAX_NS);
    }

    #[test]
    fn a_log_is_replayed_in_one_trial_as_long_as_it_lasts() {
        // Method: logs of 3 s and of 3 minutes, at a rate that would be slow in a closed loop; and
        // a requested length.
        let of_log = |lasts_s: u64, slice: Option<Duration>| {
            let least = ShortestSlice {
                ns: lasts_s * 1_000_000_000,
                why: None,
                is_replay: true,
                users: None,
            };
            let pilot_subject = PilotSubject {
                throughput_per_s: 2.0,
                ..PilotSubject::default()
            };
            let subjects = BTreeMap::from([("one".to_owned(), pilot_subject)]);
            let pilot = plan_blocks(&study(slice), 50, least, subjects, None);
            assert_eq!((pilot.interleave, pilot.rounds), (Interleave::Trials, 1));
            assert!(pilot.interleave_reason.unwrap().contains("replays the log"));
            (pilot.slice_ns, pilot.warm_up_ns)
        };
        let second = 1_000_000_000;
        assert_eq!(of_log(3, None), (3 * second, 2 * second));
        assert_eq!(of_log(180, None), (TRIAL_MAX_NS, 2 * second));
        let requested = Some(Duration::from_secs(1));
        assert_eq!(of_log(180, requested), (second, second));
    }

    #[test]
    fn a_requested_length_of_slices_is_kept() {
        // Method: slices of 20 ms, with a subject that would need longer ones.
        let record = planned(250.0, 0.1, Some(Duration::from_millis(20)));
        assert_eq!((record.slice_ns, record.rounds), (20_000_000, 20));
    }

    #[test]
    fn blocks_warm_up_for_half_as_long_again_as_the_slowest_needed() {
        // Method: the slow subject needed 200 ms.
        assert_eq!(planned(5_000.0, 0.0, None).warm_up_ns, 300_000_000);
    }
}
