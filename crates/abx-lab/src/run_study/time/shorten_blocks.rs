//! How long blocks take, and how they are shortened to fit into a time. The loads that take longest
//! get fewer rounds or shorter trials, then slices of fewer response times, then the fewest rounds,
//! and at last shorter warm-ups.

use std::time::Duration;

use abx_evidence::ArrivalKind;
use abx_evidence::record::{Interleave, LoadRecord, PilotRecord};

use crate::measure::block::{CEILING_EVERY, CEILING_TRIAL_NS, CEILING_WARM_UP_NS};
use crate::measure::host::profiler::profiled_ns;
use crate::measure::pilot::{ROUNDS_MIN, TURNS, WARM_UP_MIN_NS, needed_ns};

/// The part of a block besides load and the times that the pilot noted for connecting and for the
/// edges of slices. It covers reading counters, stopping servers, and servers that are slower than
/// in the pilot.
const SPARE: f64 = 0.15;
/// No trial is shortened below this.
const TRIAL_MIN_NS: u64 = 1_000_000_000;
const TRIAL_STEP_NS: u64 = 250_000_000;
/// The shortest slice has this many response times of the slowest subject.
pub(in crate::run_study) const TURNS_LEAST: f64 = 2.0;

/// Options of a study that change how long a block takes.
#[derive(Debug, Clone, Copy)]
pub struct BlockOptions {
    /// Whether a server that does nothing is loaded next to the subjects.
    pub has_ceiling: bool,
    /// Whether slices and trials may not be shortened, since their length was requested.
    pub is_length_fixed: bool,
    /// Whether each subject is loaded once more, while its code is sampled and its calls are
    /// counted.
    pub is_profiled: bool,
}

/// Shortens loads until those of a block take `span` at most, or cannot be shortened any further.
/// At first, slices keep as much time as the warm-up before them, and trials enough responses of
/// the slowest subject. If that is not enough, trials keep fewer responses, and slices two rounds,
/// or one if they are as long as a trial. Warm-ups are shortened last, since subjects that are
/// still cold are compared wrongly.
///
/// Source: sampling in two stages (Cochran, *Sampling Techniques*, chapter 10): the fewer elements
/// of a cluster are sampled, the more of its cost is spent on reaching it. Decision 21 states the
/// cost of two rounds.
pub fn shorten_blocks(loads: &mut [LoadRecord], options: BlockOptions, span: Duration) {
    for step in [
        less_load,
        fewer_response_times,
        fewest_rounds,
        shorter_warm_up,
    ] {
        while block_time(loads, options) > span {
            let shortened = loads
                .iter_mut()
                .filter_map(|load| Some((step(load, options)?, load.pilot.as_mut()?)));
            let longest = shortened.max_by_key(|(shortened, _)| shortened.before_ns);
            let Some((shortened, pilot)) = longest else {
                break;
            };
            *pilot = shortened.pilot;
            pilot.shortened = true;
        }
    }
}

/// About how long a block takes without the start of its subjects. Settled loads take no time.
pub fn block_time(loads: &[LoadRecord], options: BlockOptions) -> Duration {
    Duration::from_nanos(block_ns(loads, options)).div_f64(1.0 - SPARE)
}

/// A load that is one step shorter.
struct Shortened {
    pilot: PilotRecord,
    /// How long the shortened part took before: the longest is shortened first.
    before_ns: u64,
}

/// How long a block loads its subjects, and connects to them.
fn block_ns(loads: &[LoadRecord], options: BlockOptions) -> u64 {
    // The load that comes first meets fresh servers, and gets the longest of all warm-ups.
    let pilots = loads.iter().filter_map(|load| load.pilot.as_ref());
    // Held connections warm nothing up.
    let warm_ups = pilots
        .clone()
        .map(|pilot| pilot.warm_up_ns)
        .filter(|ns| *ns > 0);
    let fresh_ns = warm_ups.clone().max().unwrap_or_default() - warm_ups.min().unwrap_or_default();
    let subjects = pilots.map(|pilot| pilot.subjects.len() as u64);
    let open = loads.iter().filter(|load| !load.is_settled());
    let loads_ns: u64 = open.filter_map(|load| load_ns(load, options)).sum();
    loads_ns + subjects.max().unwrap_or_default() * fresh_ns
}

/// How long a block loads its subjects with one load, and connects to them; `None` before the
/// pilot.
fn load_ns(load: &LoadRecord, options: BlockOptions) -> Option<u64> {
    let pilot = load.pilot.as_ref()?;
    let rounds = u64::from(pilot.rounds);
    let ceiling_ns = match pilot.interleave {
        Interleave::Slices => pilot.slice_ns * rounds.div_ceil(u64::from(CEILING_EVERY)),
        Interleave::Trials => pilot.slice_ns.min(CEILING_TRIAL_NS),
    };
    let ceiling_ns = if options.has_ceiling {
        ceiling_ns + CEILING_WARM_UP_NS
    } else {
        0
    };
    let profile_ns = if options.is_profiled {
        profiled_ns(pilot.rounds, pilot.slice_ns)
    } else {
        0
    };
    // Subjects that failed or have enough blocks are not loaded.
    let subjects = pilot.subjects.iter();
    let loaded =
        subjects.filter(|(name, subject)| subject.failed.is_none() && !load.is_settled_for(name));
    let subjects_ns = loaded.map(|(_, subject)| {
        let slices_ns = rounds * (pilot.slice_ns + subject.switch_ns);
        subject.opening_ns + pilot.warm_up_ns + subject.switch_ns + slices_ns + profile_ns
    });
    Some(subjects_ns.sum::<u64>() + ceiling_ns)
}

/// A round less, or a shorter trial; `None` if slices would take less time than their warm-up, or
/// trials have their fewest response times.
fn less_load(load: &LoadRecord, options: BlockOptions) -> Option<Shortened> {
    let pilot = load.pilot.as_ref()?;
    match pilot.interleave {
        Interleave::Slices => {
            let worthwhile = pilot.warm_up_ns.div_ceil(pilot.slice_ns.max(1));
            fewer_rounds(pilot, worthwhile)
        }
        Interleave::Trials => shorter_slices(load, options, TURNS),
    }
}

/// A round less, even if slices then take less time than their warm-up; `None` if there are the
/// fewest.
fn fewest_rounds(load: &LoadRecord, _: BlockOptions) -> Option<Shortened> {
    let pilot = load.pilot.as_ref()?;
    match pilot.interleave {
        Interleave::Slices => fewer_rounds(pilot, 0),
        Interleave::Trials => None,
    }
}

/// A round less; `None` if there are the fewest, or no more than `least`.
fn fewer_rounds(pilot: &PilotRecord, least: u64) -> Option<Shortened> {
    if u64::from(pilot.rounds) <= least_rounds(pilot).max(least) {
        return None;
    }
    Some(Shortened {
        before_ns: pilot.slice_ns * u64::from(pilot.rounds),
        pilot: PilotRecord {
            rounds: pilot.rounds - 1,
            ..pilot.clone()
        },
    })
}

/// Slices or trials of fewer response times; `None` if they have the fewest.
fn fewer_response_times(load: &LoadRecord, options: BlockOptions) -> Option<Shortened> {
    shorter_slices(load, options, TURNS_LEAST)
}

/// Slices or trials that are shorter by a step; `None` if they would be shorter than a trial may
/// be, or than this many response times of the slowest subject.
fn shorter_slices(load: &LoadRecord, options: BlockOptions, turns: f64) -> Option<Shortened> {
    let mut pilot = load.pilot.clone()?;
    let turns_ns = turns_ns(load, &pilot, turns);
    let slice_ns = pilot.slice_ns.checked_sub(TRIAL_STEP_NS)?;
    let is_held = load.settings.exchange.hold_ns.is_some();
    if is_held || options.is_length_fixed || slice_ns < turns_ns.max(TRIAL_MIN_NS) {
        return None;
    }
    let before_ns = pilot.slice_ns * u64::from(pilot.rounds);
    let discarded = pilot.discard_ns as f64 / pilot.slice_ns as f64;
    pilot.discard_ns = (discarded * slice_ns as f64) as u64;
    pilot.slice_ns = slice_ns;
    Some(Shortened { pilot, before_ns })
}

/// How long this many response times of the slowest subject take.
pub(in crate::run_study) fn turns_ns(load: &LoadRecord, pilot: &PilotRecord, turns: f64) -> u64 {
    let settings = &load.settings;
    let in_flight = settings.exchange.in_flight(settings.connections);
    if settings.arrivals.kind == ArrivalKind::Replay {
        // Connections rest between the requests of a log, so their number means nothing.
        0
    } else {
        (needed_ns(&pilot.subjects, in_flight) as f64 * turns / TURNS) as u64
    }
}

/// A warm-up that is shorter by a tenth; `None` if it is the shortest.
fn shorter_warm_up(load: &LoadRecord, _: BlockOptions) -> Option<Shortened> {
    let mut pilot = load.pilot.clone()?;
    let before_ns = pilot.warm_up_ns;
    if before_ns <= WARM_UP_MIN_NS {
        return None;
    }
    pilot.warm_up_ns = (before_ns / 10 * 9).max(WARM_UP_MIN_NS);
    Some(Shortened { pilot, before_ns })
}

/// The fewest rounds of a load. Short slices need several to be compared fairly.
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
    const OPTIONS: BlockOptions = BlockOptions {
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
        // Method: a minute of a log with two requests per second for 500 connections, in a time
        // that leaves ten seconds for each of nine subjects, and in one that leaves nothing.
        let mut load = piloted(Interleave::Trials, 60_000 * MS, 1);
        load.settings.arrivals.kind = ArrivalKind::Replay;
        for subject in load.pilot.as_mut().unwrap().subjects.values_mut() {
            subject.throughput_per_s = 2.0;
        }
        let cut = |span| {
            let mut loads = [load.clone()];
            shorten_blocks(&mut loads, OPTIONS, span);
            let [load] = loads;
            load.pilot.unwrap()
        };
        let within = cut(Duration::from_secs(90));
        assert!((7_000 * MS..9_000 * MS).contains(&within.slice_ns) && within.shortened);
        assert!(within.discard_ns.abs_diff(within.slice_ns / 10) < MS);
        assert_eq!(cut(Duration::ZERO).slice_ns, TRIAL_MIN_NS);
    }

    /// The time of a block that loads its subjects for `ns`.
    fn block_time_of(ns: u64) -> Duration {
        Duration::from_nanos(ns * 100 / 85 + 1_000)
    }

    fn all_ns(loads: &[LoadRecord]) -> u64 {
        block_ns(loads, OPTIONS)
    }

    #[test]
    fn loads_that_fit_stay_as_they_are() {
        // Method: more time than the block takes.
        let before = vec![piloted(Interleave::Slices, 100 * MS, 20)];
        let mut loads = before.clone();
        shorten_blocks(&mut loads, OPTIONS, Duration::from_secs(60));
        assert_eq!(loads, before);
    }

    #[test]
    fn the_longest_load_is_shortened_first_and_only_to_its_minimum() {
        // Method: no time at all, then time for a second of each trial and more. Slices keep their
        // length and two rounds, or one if they are long. Trials keep five responses of the slowest
        // subject as long as that suffices, and else two: with 500 in flight at 1,000/s, a response
        // takes half a second. The discarded part keeps its share.
        let mut loads = vec![
            piloted(Interleave::Slices, 100 * MS, 20),
            piloted(Interleave::Slices, 1000 * MS, 2),
            piloted(Interleave::Trials, 4000 * MS, 1),
        ];
        let before = loads.clone();
        let mut left = |span: Duration| {
            shorten_blocks(&mut loads, OPTIONS, span);
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
    fn slices_keep_the_time_of_their_warm_up_as_long_as_a_trial_can_be_shortened() {
        // Method: slices of 100 ms after a warm-up of 750 ms, and a trial of four seconds. There is
        // time for eight slices and a shorter trial, then the shortest trial, then fewer slices.
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
            shorten_blocks(&mut loads, OPTIONS, span);
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
    fn connecting_and_the_edges_of_slices_take_time_too() {
        // Method: nine subjects with 300 ms to connect and 200 ms at the edges of each of 20 slices
        // and of the warm-up; then one of them has failed and is not loaded.
        let mut load = piloted(Interleave::Slices, 100 * MS, 20);
        let load_only_ns = all_ns(std::slice::from_ref(&load));
        let pilot = load.pilot.as_mut().unwrap();
        for subject in pilot.subjects.values_mut() {
            (subject.opening_ns, subject.switch_ns) = (300 * MS, 200 * MS);
        }
        let added_ns = |load: &LoadRecord| all_ns(std::slice::from_ref(load)) - load_only_ns;
        assert_eq!(added_ns(&load), 9 * (300 + 21 * 200) * MS);
        let pilot = load.pilot.as_mut().unwrap();
        pilot.subjects.get_mut("3").unwrap().failed = Some("it is broken".to_owned());
        let failed_ns = (100 + 20 * 100 + 300 + 21 * 200) * MS;
        assert_eq!(added_ns(&load), 9 * 4_500 * MS - failed_ns);
    }

    #[test]
    fn profiling_takes_time_too() {
        // Method: nine subjects with 2 s of slices each. Their code is sampled for a tenth of that,
        // and their calls are counted for a quarter of the tenth.
        let load = piloted(Interleave::Slices, 100 * MS, 20);
        let profiled = BlockOptions {
            is_profiled: true,
            ..OPTIONS
        };
        let ns = |options| block_ns(std::slice::from_ref(&load), options);
        assert_eq!(ns(profiled) - ns(OPTIONS), 9 * 250 * MS);
    }

    #[test]
    fn warm_ups_are_shortened_last_and_the_longest_first() {
        // Method: two loads with the fewest rounds, one of which warms up for 4.5 s. That counts
        // twice for each of nine subjects, since any load may meet the fresh servers. There is time
        // for all of it, for half of it, and for none.
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
            shorten_blocks(&mut loads, OPTIONS, block_time_of(span_ns));
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
        fn a_block_fits_or_is_the_shortest_and_is_not_shortened_too_much(
            rounds in proptest::collection::vec(2_u32..40, 1..8),
            span_s in 1_u64..60,
        ) {
            // Method: random rounds of slices of 100 ms. The block is compared with its span, and
            // so is a block with one round more.
            let mut loads: Vec<LoadRecord> = rounds
                .iter()
                .map(|rounds| piloted(Interleave::Slices, 100 * MS, *rounds))
                .collect();
            let before = loads.clone();
            shorten_blocks(&mut loads, OPTIONS, Duration::from_secs(span_s));
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
                // Shortened loads end within a round of each other, and no other load has more
                // than a round more.
                let (most, least) = (cut.iter().max().unwrap(), cut.iter().min().unwrap());
                prop_assert!(most - least <= 1);
                prop_assert!(left(&loads).iter().all(|rounds| *rounds <= most + 1));
            }
        }
    }
}
