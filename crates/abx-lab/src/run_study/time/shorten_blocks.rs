//! How long blocks take, and how they are made to fit into a time: the loads that take
//! longest get fewer rounds, or shorter trials, then slices of fewer response times, then as few
//! rounds as there may be, and at last shorter warm-ups.

use std::time::Duration;

use abx_evidence::ArrivalKind;
use abx_evidence::record::{Interleave, LoadRecord, PilotRecord};

use crate::measure::block::{CEILING_EVERY, CEILING_TRIAL_NS, CEILING_WARM_UP_NS};
use crate::measure::host::profiler::profiled_ns;
use crate::measure::pilot::{ROUNDS_MIN, TURNS, WARM_UP_MIN_NS, needed_ns};

/// The part of a block other than load, and other than the pilot's times for connecting and for
/// slices' edges: reading counters, stopping servers, a server that was slower than then.
const SPARE: f64 = 0.15;
/// No trial is shortened below this, and it is shortened in steps of this.
const TRIAL_MIN_NS: u64 = 1_000_000_000;
const TRIAL_STEP_NS: u64 = 250_000_000;
/// A slice that has to be short holds this many response times of the slowest subject.
pub(in crate::run_study) const TURNS_LEAST: f64 = 2.0;

/// The parts of a block.
#[derive(Debug, Clone, Copy)]
pub struct BlockOptions {
    /// Whether a server that does nothing is loaded beside the subjects.
    pub has_ceiling: bool,
    /// Whether slices and trials may not be shortened, as their length was requested.
    pub is_length_fixed: bool,
    /// Whether each subject is loaded once more, while its code is sampled and its calls are
    /// counted.
    pub is_profiled: bool,
}

/// Takes rounds and trials from loads until a block's load takes `span` at most, or
/// nothing more can be taken. First, slices keep as much time as the warm-up before them, and
/// trials enough responses of the slowest subject. Where that is not enough, two rounds stay, or
/// one of slices as long as a trial, and trials of fewer responses. Warm-ups give last, since
/// subjects that are still cold are compared wrongly.
///
/// Source: sampling in two stages (Cochran, *Sampling Techniques*, chapter 10): the fewer
/// elements of a cluster are looked at, the more of its cost is lost on reaching it. Decision 21
/// has what two rounds cost.
pub fn shorten_blocks(loads: &mut [LoadRecord], terms: BlockOptions, span: Duration) {
    for give in [shorter, of_fewer_turns, of_fewest_rounds, less_warm] {
        while block_time(loads, terms) > span {
            let given = loads
                .iter_mut()
                .filter_map(|load| Some((give(load, terms)?, load.pilot.as_mut()?)));
            let Some((given, pilot)) = given.max_by_key(|(given, _)| given.longest_ns) else {
                break;
            };
            *pilot = given.pilot;
            pilot.shortened = true;
        }
    }
}

/// How long a block takes, about, without the start of its subjects. Settled loads take
/// nothing.
pub fn block_time(loads: &[LoadRecord], terms: BlockOptions) -> Duration {
    Duration::from_nanos(block_ns(loads, terms)).div_f64(1.0 - SPARE)
}

/// How a load would run with a little less of something.
struct Shortened {
    pilot: PilotRecord,
    /// How long what gives takes as it is: the longest gives first.
    longest_ns: u64,
}

/// For how long a block loads its subjects, and connects to them.
fn block_ns(loads: &[LoadRecord], terms: BlockOptions) -> u64 {
    // Any load that comes first meets fresh servers, and warms up for as long as any.
    let pilots = loads.iter().filter_map(|load| load.pilot.as_ref());
    // Connections that are only held warm nothing up.
    let warm_ups = pilots
        .clone()
        .map(|pilot| pilot.warm_up_ns)
        .filter(|ns| *ns > 0);
    let fresh_ns = warm_ups.clone().max().unwrap_or_default() - warm_ups.min().unwrap_or_default();
    let subjects = pilots.map(|pilot| pilot.subjects.len() as u64);
    let open = loads.iter().filter(|load| !load.is_settled());
    let all_ns: u64 = open.filter_map(|load| load_ns(load, terms)).sum();
    all_ns + subjects.max().unwrap_or_default() * fresh_ns
}

/// For how long a block loads its subjects with one load, and connects to them; `None` before
/// the pilot.
fn load_ns(load: &LoadRecord, terms: BlockOptions) -> Option<u64> {
    let pilot = load.pilot.as_ref()?;
    let rounds = u64::from(pilot.rounds);
    let ceiling_ns = match pilot.interleave {
        Interleave::Slices => pilot.slice_ns * rounds.div_ceil(u64::from(CEILING_EVERY)),
        Interleave::Trials => pilot.slice_ns.min(CEILING_TRIAL_NS),
    };
    let ceiling_ns = if terms.has_ceiling {
        ceiling_ns + CEILING_WARM_UP_NS
    } else {
        0
    };
    let why_ns = if terms.is_profiled {
        profiled_ns(pilot.rounds, pilot.slice_ns)
    } else {
        0
    };
    // Those that failed are not loaded, nor are those that have blocks enough.
    let subjects = pilot.subjects.iter();
    let loaded =
        subjects.filter(|(name, subject)| subject.failed.is_none() && !load.is_settled_for(name));
    let each = loaded.map(|(_, subject)| {
        let slices_ns = rounds * (pilot.slice_ns + subject.switch_ns);
        subject.opening_ns + pilot.warm_up_ns + subject.switch_ns + slices_ns + why_ns
    });
    Some(each.sum::<u64>() + ceiling_ns)
}

/// The same with a little less load; `None` where it has the least.
fn shorter(load: &LoadRecord, terms: BlockOptions) -> Option<Shortened> {
    let mut pilot = load.pilot.clone()?;
    let longest_ns = pilot.slice_ns * u64::from(pilot.rounds);
    let worthwhile = least_rounds(&pilot).max(pilot.warm_up_ns.div_ceil(pilot.slice_ns.max(1)));
    match pilot.interleave {
        Interleave::Slices if u64::from(pilot.rounds) > worthwhile => pilot.rounds -= 1,
        Interleave::Slices => return None,
        Interleave::Trials => return briefer(load, terms, TURNS),
    }
    Some(Shortened { pilot, longest_ns })
}

/// The same with a round less, although its warm-up then takes more time than its slices; `None`
/// where it has the fewest.
fn of_fewest_rounds(load: &LoadRecord, _: BlockOptions) -> Option<Shortened> {
    let mut pilot = load.pilot.clone()?;
    let longest_ns = pilot.slice_ns * u64::from(pilot.rounds);
    if pilot.interleave == Interleave::Trials || u64::from(pilot.rounds) <= least_rounds(&pilot) {
        return None;
    }
    pilot.rounds -= 1;
    Some(Shortened { pilot, longest_ns })
}

/// The same with slices or trials of fewer response times; `None` where they hold the
/// fewest.
fn of_fewer_turns(load: &LoadRecord, terms: BlockOptions) -> Option<Shortened> {
    briefer(load, terms, TURNS_LEAST)
}

/// The same with a little less of each slice, of which this many response times of the
/// slowest subject stay, and at least those of short trials.
fn briefer(load: &LoadRecord, terms: BlockOptions, turns: f64) -> Option<Shortened> {
    let mut pilot = load.pilot.clone()?;
    let turns_ns = turns_ns(load, &pilot, turns);
    let slice_ns = pilot.slice_ns.checked_sub(TRIAL_STEP_NS)?;
    let is_held = load.settings.exchange.hold_ns.is_some();
    if is_held || terms.is_length_fixed || slice_ns < turns_ns.max(TRIAL_MIN_NS) {
        return None;
    }
    let longest_ns = pilot.slice_ns * u64::from(pilot.rounds);
    let discarded = pilot.discard_ns as f64 / pilot.slice_ns as f64;
    pilot.discard_ns = (discarded * slice_ns as f64) as u64;
    pilot.slice_ns = slice_ns;
    Some(Shortened { pilot, longest_ns })
}

/// How long so many response times of the slowest subject last.
pub(in crate::run_study) fn turns_ns(load: &LoadRecord, pilot: &PilotRecord, turns: f64) -> u64 {
    let settings = &load.settings;
    let in_flight = u64::from(settings.connections * settings.exchange.pipeline);
    if is_replay(load) {
        // Connections rest between the requests of a log, so their number means nothing.
        0
    } else {
        (needed_ns(&pilot.subjects, in_flight) as f64 * turns / TURNS) as u64
    }
}

/// The same with a tenth less of a warm-up; `None` where it is the shortest.
fn less_warm(load: &LoadRecord, _: BlockOptions) -> Option<Shortened> {
    let mut pilot = load.pilot.clone()?;
    let longest_ns = pilot.warm_up_ns;
    if longest_ns <= WARM_UP_MIN_NS {
        return None;
    }
    pilot.warm_up_ns = (longest_ns / 10 * 9).max(WARM_UP_MIN_NS);
    Some(Shortened { pilot, longest_ns })
}

fn is_replay(load: &LoadRecord) -> bool {
    load.settings.arrivals.kind == ArrivalKind::Replay
}

/// Short slices are fair to each other by their number.
fn least_rounds(pilot: &PilotRecord) -> u64 {
    if pilot.slice_ns >= TRIAL_MIN_NS {
        1
    } else {
        ROUNDS_MIN
    }
}

#[cfg(test)]
mod tests {
    use abx_model::LoadOptions;
    use std::collections::BTreeMap;

    use abx_evidence::record::{LoadSettings, PilotSubject};
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000_000;
    const TERMS: BlockOptions = BlockOptions {
        has_ceiling: true,
        is_length_fixed: false,
        is_profiled: false,
    };

    fn settings(connections: u32) -> LoadSettings {
        LoadSettings {
            options: LoadOptions {
                connections,
                ..LoadOptions::default()
            },
            ..LoadSettings::default()
        }
    }

    fn piloted(interleave: Interleave, slice_ns: u64, rounds: u32) -> LoadRecord {
        let slowest = PilotSubject {
            throughput_per_s: 1000.0,
            warm_up_ns: 0,
            settled: true,
            ..PilotSubject::default()
        };
        LoadRecord {
            name: "one".to_owned(),
            settings: settings(500),
            responses: BTreeMap::new(),
            settled: Vec::new(),
            pilot: Some(PilotRecord {
                interleave,
                interleave_reason: None,
                slice_ns,
                slice_requests: None,
                discard_ns: slice_ns / 10,
                slice_reason: None,
                rounds,
                shortened: false,
                warm_up_ns: 100 * MS,
                subjects: (0..9)
                    .map(|number| (format!("{number}"), slowest.clone()))
                    .collect(),
            }),
        }
    }

    #[test]
    fn a_long_log_is_cut_although_its_requests_are_few() {
        // Method: a minute of a log with two requests a second for 500 connections, into a
        // time that leaves each of nine subjects ten seconds, and one that leaves nothing.
        let mut load = piloted(Interleave::Trials, 60_000 * MS, 1);
        load.settings.arrivals.kind = ArrivalKind::Replay;
        for pilot_subject in load.pilot.as_mut().unwrap().subjects.values_mut() {
            pilot_subject.throughput_per_s = 2.0;
        }
        let cut = |span| {
            let mut loads = [load.clone()];
            shorten_blocks(&mut loads, TERMS, span);
            let [load] = loads;
            load.pilot.unwrap()
        };
        let within = cut(Duration::from_secs(90));
        assert!((7_000 * MS..9_000 * MS).contains(&within.slice_ns) && within.shortened);
        assert!(within.discard_ns.abs_diff(within.slice_ns / 10) < MS);
        assert_eq!(cut(Duration::ZERO).slice_ns, TRIAL_MIN_NS);
    }

    /// The time of a block that loads its subjects for so long.
    fn block_time_of(ns: u64) -> Duration {
        Duration::from_nanos(ns * 100 / 85 + 1_000)
    }

    fn all_ns(loads: &[LoadRecord]) -> u64 {
        block_ns(loads, TERMS)
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        // Method: more time than the block takes.
        let before = vec![piloted(Interleave::Slices, 100 * MS, 20)];
        let mut loads = before.clone();
        shorten_blocks(&mut loads, TERMS, Duration::from_secs(60));
        assert_eq!(loads, before);
    }

    #[test]
    fn the_longest_gives_first_and_keeps_its_least() {
        // Method: no time at all, then time for all but a second of each trial; slices keep two
        // rounds, long ones one, and their length; trials keep the five responses of the slowest
        // subject (500 in flight at 1,000/s are half a second each) as long as that suffices, else
        // two, and the discarded part its share.
        let mut loads = vec![
            piloted(Interleave::Slices, 100 * MS, 20),
            piloted(Interleave::Slices, 1000 * MS, 2),
            piloted(Interleave::Trials, 4000 * MS, 1),
        ];
        let before = loads.clone();
        let mut left = |span: Duration| {
            shorten_blocks(&mut loads, TERMS, span);
            let left = loads.iter().map(|load| {
                let pilot = load.pilot.as_ref().unwrap();
                let lengths = [pilot.slice_ns / MS, pilot.discard_ns / MS];
                (lengths, pilot.rounds, pilot.shortened)
            });
            let left: Vec<_> = left.collect();
            loads.clone_from(&before);
            left
        };
        let slices = [([100, 10], 2, true), ([1000, 100], 1, true)];
        let with = |trials| [slices[0], slices[1], (trials, 1, true)];
        assert_eq!(left(Duration::ZERO), with([1000, 100]));
        let span_ns = 9 * (2 * 100 + 1000 + 2500 + 3 * 100) * MS + (200 + 1_100 + 1_100) * MS;
        let span = block_time_of(span_ns);
        assert_eq!(left(span), with([2500, 250]));
    }

    #[test]
    fn slices_keep_the_time_of_their_warm_up_as_long_as_others_can_give() {
        // Method: slices of 100 ms after a warm-up of 750 ms, and a trial of four seconds: in time
        // for both with eight slices, then with the shortest trial, then in no time.
        let mut loads = [
            piloted(Interleave::Slices, 100 * MS, 15),
            piloted(Interleave::Trials, 4000 * MS, 1),
        ];
        loads[0].pilot.as_mut().unwrap().warm_up_ns = 750 * MS;
        let before = loads.clone();
        let mut left = |rounds, trial_ns| {
            loads.clone_from(&before);
            for (load, (slice_ns, rounds)) in
                loads.iter_mut().zip([(100 * MS, rounds), (trial_ns, 1)])
            {
                let pilot = load.pilot.as_mut().unwrap();
                (pilot.slice_ns, pilot.rounds) = (slice_ns, rounds);
            }
            let span = block_time_of(all_ns(&loads));
            loads.clone_from(&before);
            shorten_blocks(&mut loads, TERMS, span);
            let [slices, trial] = &loads;
            (
                slices.pilot.as_ref().unwrap().rounds,
                trial.pilot.as_ref().unwrap().slice_ns / MS,
            )
        };
        assert_eq!(left(8, 2_500 * MS), (8, 2_500));
        assert_eq!(left(8, 1_000 * MS), (8, 1_000));
        assert_eq!(left(5, 1_000 * MS), (5, 1_000));
        assert_eq!(left(2, 1_000 * MS), (2, 1_000));
    }

    #[test]
    fn what_the_pilot_saw_beside_load_takes_time_too() {
        // Method: nine subjects with 300 ms to connect and 200 ms at the edges of each of
        // 20 slices and of the warm-up, one of which has failed and is not loaded.
        let mut load = piloted(Interleave::Slices, 100 * MS, 20);
        let plain_ns = all_ns(std::slice::from_ref(&load));
        let pilot = load.pilot.as_mut().unwrap();
        for pilot_subject in pilot.subjects.values_mut() {
            (pilot_subject.opening_ns, pilot_subject.switch_ns) = (300 * MS, 200 * MS);
        }
        let subjects = |load: &LoadRecord| all_ns(std::slice::from_ref(load)) - plain_ns;
        assert_eq!(subjects(&load), 9 * (300 + 21 * 200) * MS);
        let pilot = load.pilot.as_mut().unwrap();
        pilot.subjects.get_mut("3").unwrap().failed = Some("it is broken".to_owned());
        let failed_ns = (100 + 20 * 100 + 300 + 21 * 200) * MS;
        assert_eq!(subjects(&load), 9 * 4_500 * MS - failed_ns);
    }

    #[test]
    fn asking_why_takes_time_too() {
        // Method: nine subjects with 2 s of slices each, which are sampled for a tenth of that and
        // counted for a quarter of the tenth.
        let load = piloted(Interleave::Slices, 100 * MS, 20);
        let profiled = BlockOptions {
            is_profiled: true,
            ..TERMS
        };
        let ns = |terms| block_ns(std::slice::from_ref(&load), terms);
        assert_eq!(ns(profiled) - ns(TERMS), 9 * 250 * MS);
    }

    #[test]
    fn warm_ups_give_last_and_the_longest_first() {
        // Method: the least of two loads, one of which warms up for nine subjects'
        // 4.5 s, and twice so since it may be the one that meets fresh servers; in
        // time for all but that, for half of it, and in no time.
        let mut loads = vec![
            piloted(Interleave::Slices, 100 * MS, 2),
            piloted(Interleave::Slices, 100 * MS, 2),
        ];
        let rest_ns = all_ns(&loads);
        loads[1].pilot.as_mut().unwrap().warm_up_ns = 4_500 * MS;
        let warm_up_ns = all_ns(&loads) - rest_ns;
        assert_eq!(warm_up_ns, 2 * 9 * 4_400 * MS);
        let warm_ups = |span_ns: u64| {
            let mut loads = loads.clone();
            shorten_blocks(&mut loads, TERMS, block_time_of(span_ns));
            let pilots = loads.into_iter().map(|load| load.pilot.unwrap());
            let pairs: Vec<_> = pilots
                .map(|pilot| (pilot.warm_up_ns / MS, pilot.shortened))
                .collect();
            pairs
        };
        assert_eq!(
            warm_ups(rest_ns + warm_up_ns),
            [(100, false), (4_500, false)]
        );
        let half = warm_ups(rest_ns + warm_up_ns / 2);
        assert_eq!(half[0], (100, false));
        assert!(
            (1_900..=2_300).contains(&half[1].0) && half[1].1,
            "{half:?}"
        );
        assert_eq!(warm_ups(rest_ns), [(100, false), (100, true)]);
        assert_eq!(warm_ups(0), [(100, false), (100, true)]);
    }

    proptest! {
        #[test]
        fn a_block_fits_or_has_the_least_and_no_more_is_taken_than_needed(
            rounds in proptest::collection::vec(2_u32..40, 1..8),
            span_s in 1_u64..60,
        ) {
            // Method: random rounds of slices of 100 ms; what is left beside the span, and
            // beside what one more round of the longest would make.
            let mut loads: Vec<LoadRecord> = rounds
                .iter()
                .map(|rounds| piloted(Interleave::Slices, 100 * MS, *rounds))
                .collect();
            let before = loads.clone();
            shorten_blocks(&mut loads, TERMS, Duration::from_secs(span_s));
            let most_ns = span_s * 850 * MS;
            let left = |loads: &[LoadRecord]| -> Vec<u32> {
                loads.iter().map(|load| load.pilot.as_ref().unwrap().rounds).collect()
            };
            let has_least = left(&loads).iter().all(|rounds| *rounds == 2);
            prop_assert!(all_ns(&loads) <= most_ns || has_least);
            if loads != before {
                let round_ns = 10 * 100 * MS;
                prop_assert!(all_ns(&loads) + round_ns > most_ns);
                let cut: Vec<u32> = left(&loads).into_iter().zip(&rounds)
                    .filter(|(now, before)| now != *before).map(|(now, _)| now).collect();
                // All that were cut end alike, and none that was not is a round longer than they.
                let (most, least) = (cut.iter().max().unwrap(), cut.iter().min().unwrap());
                prop_assert!(most - least <= 1);
                prop_assert!(left(&loads).iter().all(|rounds| *rounds <= most + 1));
            }
        }
    }
}
