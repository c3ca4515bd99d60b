//! Loads that are read together: where subjects change places, how they scale, and the
//! highest rate at which they meet an objective.

use abx_evidence::record::{Contrast, Histograms};
use abx_evidence::{
    ArrivalKind, ArrivalSettings, FindingId, Histogram, Level, Measured, Objective, Outcome,
};
use abx_stats::stop::{Decision, Reason};
use abx_verdict::{Axis, Conclusions, Metric, Verdict, may_stop};

use abx_fixtures::{
    CONNECTIONS, Compared, MS, assert_close, find, judged, longer, primary, response, study,
};

use crate::judge::loads::scenarios::{by_users, sessions};

/// `old` and `new` at these numbers of connections, with these verified responses per slice
/// and a small ripple over six blocks.
fn over_connections(rows: &[(u32, [u64; 2])]) -> Measured {
    let mut record = study(&[("old", &[9_000; 6]), ("new", &[9_000; 6])]);
    let like = record.loads.remove(0);
    let parts: Vec<_> = record
        .blocks
        .iter()
        .map(|block| block.loads[0].clone())
        .collect();
    record
        .blocks
        .iter_mut()
        .for_each(|block| block.loads.clear());
    for (connections, responses) in rows {
        let name = format!("c{connections}");
        let mut load = like.clone();
        load.name.clone_from(&name);
        load.settings.connections = *connections;
        record.loads.push(load);
        for (index, (block, part)) in record.blocks.iter_mut().zip(&parts).enumerate() {
            let mut part = part.clone();
            part.load.clone_from(&name);
            for slice in part.rounds.iter_mut().flat_map(|round| &mut round.slices) {
                let subject = usize::from(slice.subject == "new");
                let jitter = [0, 30, 10, 40, 20, 5][(index + subject) % 6];
                response(slice, &[(Outcome::Ok, responses[subject] + jitter)]);
                slice.connection_ns =
                    slice.connection_ns / u64::from(CONNECTIONS) * u64::from(*connections);
                slice.response_ns_sum = slice.connection_ns;
            }
            block.loads.push(part);
        }
    }
    record
}

#[test]
fn subjects_that_change_places_are_named_with_the_place() {
    // Method: `new` is 10 % ahead at 10 and 50 connections and 10 % behind at 250 and 1250:
    // on a log scale they are equal in the middle, at 112. The loads are listed in another
    // order.
    let record = judged(over_connections(&[
        (250, [9_900, 9_000]),
        (10, [9_000, 9_900]),
        (1_250, [9_900, 9_000]),
        (50, [9_000, 9_900]),
    ]));
    let [sweep] = &record.sweeps[..] else {
        panic!("{:?}", record.sweeps)
    };
    assert_eq!(sweep.axis, Axis::Connections);
    assert_eq!(sweep.loads, ["c10", "c50", "c250", "c1250"]);
    let [crossover] = &sweep.crossovers[..] else {
        panic!("{:?}", sweep.crossovers)
    };
    assert_eq!(
        (crossover.before.as_str(), crossover.after.as_str()),
        ("new", "old")
    );
    assert_eq!((crossover.ahead_until, crossover.ahead_from), (50.0, 250.0));
    assert!((crossover.at - 111.8).abs() < 2.0, "{crossover:?}");
    let (low, high) = (crossover.low.unwrap(), crossover.high.unwrap());
    assert!(50.0 < low && low < crossover.at && crossover.at < high && high < 250.0);
}

#[test]
fn places_change_between_requested_pairs() {
    // Method: the same sweep with the pair the other way round, and under one load only.
    let mut record = over_connections(&[(10, [9_000, 9_900]), (50, [9_900, 9_000])]);
    let crossovers = |record: &Measured| judged(record.clone()).sweeps[0].crossovers.clone();
    let usual = crossovers(&record);
    let contrast = |loads: &[&str]| Contrast {
        subject: "old".to_owned(),
        baseline: "new".to_owned(),
        loads: loads.iter().map(|&name| name.to_owned()).collect(),
        question: None,
    };
    record.settings.contrasts = vec![contrast(&[])];
    let [crossover] = &crossovers(&record)[..] else {
        panic!("one, as before")
    };
    assert_eq!(
        (&crossover.before, &crossover.after),
        (&usual[0].before, &usual[0].after)
    );
    assert!((crossover.at - usual[0].at).abs() < 1e-9);
    record.settings.contrasts = vec![contrast(&["c50"])];
    assert_eq!(crossovers(&record), []);
}

#[test]
fn a_lead_that_is_uncertain_on_one_side_is_no_change_of_places() {
    // Method: ahead at 10, equal at 50; then the second load is void.
    let rows = [(10, [9_000, 9_900]), (50, [9_010, 9_000])];
    let record = judged(over_connections(&rows));
    assert_eq!(record.sweeps[0].crossovers, []);
    assert!(record.sweeps[0].scalability.is_empty());
    let mut void = over_connections(&[(10, [9_000, 9_900]), (50, [9_900, 9_000])]);
    assert_eq!(judged(void.clone()).sweeps[0].crossovers.len(), 1);
    for block in &mut void.blocks {
        for slice in block.loads[1]
            .rounds
            .iter_mut()
            .flat_map(|round| &mut round.slices)
        {
            let ok = slice.ok;
            response(slice, &[(Outcome::Ok, ok), (Outcome::Reset, ok / 10)]);
        }
    }
    assert_eq!(judged(void).sweeps[0].crossovers, []);
}

#[test]
fn a_load_that_is_void_voids_no_other_of_its_sweep() {
    // Method: ahead at 10, behind at 250, and a void load between them.
    let mut record = over_connections(&[
        (10, [9_000, 9_900]),
        (50, [9_900, 9_000]),
        (250, [9_900, 9_000]),
    ]);
    let until = |record: &Measured| {
        let sweep = judged(record.clone()).sweeps.remove(0);
        let [crossover] = &sweep.crossovers[..] else {
            panic!("{sweep:?}")
        };
        (crossover.ahead_until, crossover.ahead_from)
    };
    assert_eq!(until(&record), (10.0, 50.0));
    for block in &mut record.blocks {
        let rounds = block.loads[1].rounds.iter_mut();
        for slice in rounds.flat_map(|round| &mut round.slices) {
            let ok = slice.ok;
            response(slice, &[(Outcome::Ok, ok), (Outcome::Reset, ok / 10)]);
        }
    }
    assert_eq!(until(&record), (10.0, 250.0));
}

#[test]
fn a_change_of_places_needs_as_many_blocks_as_a_verdict() {
    // Method: five blocks, six and eight.
    let six = over_connections(&[(10, [9_000, 9_900]), (50, [9_900, 9_000])]);
    let mut five = six.clone();
    five.blocks.truncate(5);
    let eight = longer(longer(six.clone()));
    for (record, crossovers) in [(five, 0), (six, 1), (eight, 1)] {
        assert_eq!(judged(record).sweeps[0].crossovers.len(), crossovers);
    }
}

#[test]
fn the_law_of_a_sweep_is_recovered() {
    // Method: λ = 10⁶ responses per slice, σ = 0.05 and κ = 0.0002, for which section 10 of
    // docs/explain/statistics/curves.md gives X(N), over three to five loads, of which at least
    // four are required. The peak lies at √((1 − σ) ÷ κ) = 68.9.
    let rows = [1, 4, 16, 64, 256].map(|connections: u32| {
        let n = f64::from(connections);
        let waits = 1.0 + 0.05 * (n - 1.0) + 0.0002 * n * (n - 1.0);
        let responses = (1e6 * n / waits).round() as u64;
        (connections, [responses, responses / 2])
    });
    for loads in 3..=5 {
        let sweep = judged(over_connections(&rows[..loads])).sweeps.remove(0);
        let laws = &sweep.scalability;
        assert_eq!(laws.len(), if loads < 4 { 0 } else { 2 }, "{loads}");
        for (law, part) in laws.iter().zip([1.0, 0.5]) {
            let is_close = |result: f64, truth: f64| (result / truth - 1.0).abs() < 0.02;
            // A slice counts for 90 ms.
            assert!(is_close(law.lambda, part * 1e6 / 0.09), "{law:?}");
            assert!(is_close(law.sigma, 0.05), "{law:?}");
            assert!(is_close(law.kappa, 0.0002), "{law:?}");
            assert!(is_close(law.peak_connections.unwrap(), 68.92), "{law:?}");
            assert!(law.r2.unwrap() > 0.999, "{law:?}");
        }
    }
}

#[test]
fn a_knee_has_the_highest_throughput_of_the_table() {
    // Method: one subject with differing blocks, then without one of them. The knee has the
    // throughput of the highest load's summary. Two subjects have no knee.
    let both = over_connections(&[
        (1, [1_000, 1_000]),
        (10, [9_600, 9_600]),
        (100, [10_000, 10_000]),
    ]);
    assert_eq!(judged(both.clone()).sweeps[0].knees, []);
    let mut alone = both;
    alone.subjects.truncate(1);
    let mut five = alone.clone();
    five.blocks.pop();
    for record in [alone, five] {
        let conclusions = judged(record);
        let [knee] = &conclusions.sweeps[0].knees[..] else {
            panic!("{:?}", conclusions.sweeps)
        };
        assert_eq!((&*knee.subject, knee.connections), ("old", Some(10.0)));
        let throughputs = conclusions
            .summaries
            .iter()
            .filter_map(|summary| summary.throughput_per_s);
        let highest = throughputs.fold(0.0, f64::max);
        assert_close(knee.highest_per_s, highest);
    }
}

#[test]
fn a_law_that_explains_little_is_not_reported() {
    // Method: throughputs that jump up and down over connections, and a law that fits.
    let noise = [
        (1, 5_000),
        (4, 9_000),
        (16, 4_000),
        (64, 9_500),
        (256, 5_500),
    ];
    let holds = [1_000, 3_300, 7_000, 9_000, 9_500];
    let rows = noise.into_iter().zip(holds);
    let rows: Vec<(u32, [u64; 2])> = rows
        .map(|((connections, noise), holds)| (connections, [noise, holds]))
        .collect();
    let sweep = judged(over_connections(&rows)).sweeps.remove(0);
    let [law] = &sweep.scalability[..] else {
        panic!("{sweep:?}")
    };
    assert!(law.subject != "old" && law.r2 >= Some(0.9), "{law:?}");
}

#[test]
fn a_sweep_of_users_who_pause_is_read_by_session_time() {
    // Method: the same users with and without pauses, of two servers and of one; sessions of
    // `new` are shorter at 10 users and longer from 20 on. With pauses, sessions/s grow with
    // the number of users and say nothing about how a server scales.
    let sweep = |pauses: bool, subjects: usize| {
        let mut record = over_connections(&[10, 20, 40, 80].map(|users| (users, [9_000; 2])));
        by_users(&mut record, pauses);
        sessions(&mut record, "old", 300, [5_000, 100, 200]);
        sessions(&mut record, "new", 300, [6_000, 100, 200]);
        for block in &mut record.blocks {
            let times = &mut block.loads[0].histograms.get_mut("new").unwrap().response;
            *times = Histogram::new();
            fill(times, 300, 4_000 + u64::from(block.index));
        }
        record.subjects.truncate(subjects);
        judged(record).sweeps.remove(0)
    };
    let both = sweep(true, 2);
    assert_eq!(both.metric, Metric::ResponseP50);
    let [crossover] = &both.crossovers[..] else {
        panic!("{both:?}")
    };
    assert_eq!((&*crossover.before, &*crossover.after), ("new", "old"));
    assert_eq!((crossover.ahead_until, crossover.ahead_from), (10.0, 20.0));
    for subjects in [1, 2] {
        let paused = sweep(true, subjects);
        assert_eq!((paused.scalability, paused.knees), (vec![], vec![]));
        let busy = sweep(false, subjects);
        assert_eq!(busy.metric, Metric::Throughput);
        assert_eq!(busy.knees.len(), 2 - subjects);
    }
}

#[test]
fn loads_with_another_difference_are_no_sweep() {
    // Method: the second load without keep-alive.
    let mut record = over_connections(&[(10, [9_000, 9_900]), (50, [9_000, 9_900])]);
    record.loads[1].settings.keep_alive = false;
    assert_eq!(judged(record).sweeps, []);
}

/// A grid of three rates at which each subject has the p99 that `p99_us` gives, in six
/// blocks.
fn over_rates(p99_us: &[(&str, [u64; 3])]) -> Measured {
    let rates = [1_000.0, 2_000.0, 4_000.0];
    let mut record = over_connections(&[(1, [900; 2]), (2, [900; 2]), (4, [900; 2])]);
    let objective: Objective = "p99<50ms".parse().expect("an objective");
    for (place, load) in record.loads.iter_mut().enumerate() {
        load.name = format!("c10-r{}", rates[place]);
        load.settings.connections = CONNECTIONS;
        load.settings.objective = Some(objective.clone());
        load.settings.arrivals = ArrivalSettings {
            kind: ArrivalKind::Constant,
            rate_per_s: Some(rates[place]),
            connections_rest: false,
            text: String::new(),
        };
    }
    for block in &mut record.blocks {
        for (place, part) in block.loads.iter_mut().enumerate() {
            part.load = format!("c10-r{}", rates[place]);
            for slice in part.rounds.iter_mut().flat_map(|round| &mut round.slices) {
                slice.measured_ns = 90 * MS;
            }
            for (subject, times) in p99_us {
                let mut histograms = Histograms::default();
                let us = times[place] + 7 * u64::from(block.index);
                fill(&mut histograms.response, 1_000, us);
                part.histograms.insert((*subject).to_owned(), histograms);
            }
        }
    }
    record
}

fn fill(times: &mut Histogram, count: u64, us: u64) {
    (0..count).for_each(|_| times.record_ns(us * 1_000));
}

fn capacity(record: &Conclusions) -> Compared {
    let comparisons = primary(record);
    let [compared] = &comparisons[..] else {
        panic!("{comparisons:?}")
    };
    assert_eq!(
        (compared.metric, compared.load.as_str()),
        (Metric::Capacity, "c10")
    );
    compared.clone()
}

#[test]
fn a_capacity_of_short_blocks_is_noted() {
    // Method: blocks that offer each rate for 800 times the limit of 50 ms, and for less time.
    let note = |slice_s: u64| {
        let mut study = over_rates(&[
            ("old", [25_000, 100_000, 400_000]),
            ("new", [6_250, 25_000, 100_000]),
        ]);
        for pilot in study
            .loads
            .iter_mut()
            .filter_map(|load| load.pilot.as_mut())
        {
            (pilot.slice_ns, pilot.rounds) = (slice_s * 1_000 * MS, 10);
        }
        let compared = capacity(&judged(study));
        assert_eq!(compared.verdict, Verdict::Faster);
        find(&compared.findings, FindingId::ShortForCapacity).map(|finding| finding.message.clone())
    };
    assert_eq!(note(4), None);
    let message = note(3).expect("a note");
    assert!(message.contains("30.0 s, 600 times"), "{message}");
}

#[test]
fn capacities_are_interpolated_on_a_grid_and_compared() {
    // Method: `old` crosses 50 ms in the middle of 1,000 and 2,000 on the log scales, `new` in
    // the middle of 2,000 and 4,000: twice the rate.
    let study = over_rates(&[
        ("old", [25_000, 100_000, 400_000]),
        ("new", [6_250, 25_000, 100_000]),
    ]);
    assert_eq!(
        may_stop(&longer(study.clone())),
        Decision::Stop(Reason::Precise)
    );
    let record = judged(study);
    let compared = capacity(&record);
    assert_eq!(compared.verdict, Verdict::Faster);
    assert!((compared.ratio.unwrap() - 2.0).abs() < 0.02, "{compared:?}");
    let rates: Vec<f64> = record
        .capacities
        .iter()
        .filter_map(|capacity| capacity.rate_per_s)
        .collect();
    assert!(
        (rates[0] - 1_414.0).abs() < 10.0 && (rates[1] - 2_828.0).abs() < 20.0,
        "{rates:?}"
    );
    assert_eq!(record.sweeps, []);
}

#[test]
fn unsent_requests_miss_an_objective() {
    // Method: both respond in time to all that is sent, but a tenth of the requests due at the
    // highest rate is never sent to `old`.
    let mut record = over_rates(&[("old", [10_000; 3]), ("new", [10_000; 3])]);
    for block in &mut record.blocks {
        let rounds = block.loads[2].rounds.iter_mut();
        let slices = rounds.flat_map(|round| &mut round.slices);
        for slice in slices.filter(|slice| slice.subject == "old") {
            slice.unsent = slice.ok / 10;
        }
    }
    let capacities = judged(record).capacities;
    let high = |name: &str| {
        let mut all_capacities = capacities.iter();
        all_capacities
            .find(|capacity| capacity.subject == name)
            .unwrap()
            .high
    };
    assert!(
        high("old") < Some(4_000.0) && high("old").is_some(),
        "{capacities:?}"
    );
    assert_eq!(high("new"), None);
}

#[test]
fn one_block_has_a_capacity_without_an_interval() {
    // Method: `old` crosses 50 ms in the middle of 1,000 and 2,000, and `new` nowhere.
    let mut record = over_rates(&[("old", [25_000, 100_000, 400_000]), ("new", [10_000; 3])]);
    record.blocks.truncate(1);
    let capacities = judged(record).capacities;
    let ends: Vec<_> = capacities
        .iter()
        .map(|capacity| {
            (
                capacity.rate_per_s.map(f64::round),
                capacity.low,
                capacity.high,
            )
        })
        .collect();
    assert_eq!(
        ends,
        [(Some(1_414.0), None, None), (None, Some(4_000.0), None)]
    );
}

/// Sets one subject's p99 at one rate of the grid in each block.
fn set_p99(record: &mut Measured, subject: &str, rate: usize, us: impl Fn(u32) -> f64) {
    for block in &mut record.blocks {
        let mut histograms = Histograms::default();
        let us = us(block.index).round() as u64;
        fill(&mut histograms.response, 1_000, us);
        let own_histograms = &mut block.loads[rate].histograms;
        own_histograms.insert(subject.to_owned(), histograms);
    }
}

#[test]
fn the_interval_of_a_capacity_is_that_of_its_blocks() {
    // Method: in block b, p99 is half of the limit at 1,000/s and twice the limit, times 1.3 to
    // the power b, at 2,000/s, so that the capacity is at the share ln 2 ÷ ln(4 · 1.3^b) of
    // the octave. Six logarithms by hand, and 3.0029 standard errors for 97 %.
    let same = [25_000, 100_000, 400_000];
    let mut record = over_rates(&[("old", same), ("new", same)]);
    let times = |block: u32| 1.3_f64.powi(block as i32);
    set_p99(&mut record, "old", 0, |_| 25_000.0);
    set_p99(&mut record, "old", 1, |block| 100_000.0 * times(block));
    set_p99(&mut record, "old", 2, |_| 900_000.0);
    let log = |block| 2.0_f64.ln().powi(2) / (4.0 * times(block)).ln();
    let logs: Vec<f64> = (0..6).map(log).collect();
    let mean = logs.iter().sum::<f64>() / 6.0;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let half_width = 3.0029 * (squares / 5.0 / 6.0).sqrt();
    let capacity = &judged(record).capacities[0];
    assert_eq!(
        (capacity.subject.as_str(), capacity.confidence),
        ("old", 0.95)
    );
    let [rate, low, high] = [capacity.rate_per_s, capacity.low, capacity.high].map(Option::unwrap);
    assert!(
        (rate / 1_000.0 / mean.exp() - 1.0).abs() < 2e-3,
        "{capacity:?}"
    );
    assert!(
        ((rate / low).ln() / half_width - 1.0).abs() < 0.03,
        "{capacity:?}"
    );
    assert!(
        ((high / rate).ln() / half_width - 1.0).abs() < 0.03,
        "{capacity:?}"
    );
}

#[test]
fn one_block_beyond_the_grid_is_enough_to_bound_or_void() {
    // Method: in the last block `new` meets the objective at every rate, which leaves the
    // direction, or at none, which voids; and `old`, whose capacity is smaller, the reverse.
    let compared = |subject: &str, rates: [f64; 3]| {
        let mut record = over_rates(&[
            ("old", [25_000, 100_000, 400_000]),
            ("new", [6_250, 25_000, 100_000]),
        ]);
        let usual = match subject {
            "old" => [25_000.0, 100_000.0, 400_000.0],
            _ => [6_250.0, 25_000.0, 100_000.0],
        };
        for rate in 0..3 {
            set_p99(&mut record, subject, rate, |block| match block {
                5 => rates[rate],
                _ => usual[rate],
            });
        }
        let compared = capacity(&judged(record));
        let finding = find(&compared.findings, FindingId::BeyondTheGrid);
        finding.expect("it lies beyond").level
    };
    let (above, below) = ([1_000.0, 2_000.0, 3_000.0], [60_000.0, 70_000.0, 80_000.0]);
    assert_eq!(compared("new", above), Level::Bound);
    assert_eq!(compared("new", below), Level::Void);
    assert_eq!(compared("old", below), Level::Bound);
    assert_eq!(compared("old", above), Level::Void);
}

#[test]
fn a_capacity_beyond_the_grid_bounds_or_voids() {
    // Method: `new` meets the objective at every rate, which leaves the direction; both do,
    // which leaves nothing.
    let below = [25_000, 100_000, 400_000];
    let above = [1_000, 2_000, 3_000];
    let compared = capacity(&judged(over_rates(&[("old", below), ("new", above)])));
    assert_eq!(
        (compared.verdict, compared.at_least),
        (Verdict::Faster, true)
    );
    let finding = find(&compared.findings, FindingId::BeyondTheGrid).unwrap();
    assert_eq!(finding.level, Level::Bound);
    assert!(
        finding.message.contains("the capacity of new lies above"),
        "{finding:?}"
    );
    // Capacities cut off at the highest rate look more alike than they are.
    assert!(
        finding.message.contains("blocks may differ more"),
        "{finding:?}"
    );
    let both = capacity(&judged(over_rates(&[("old", above), ("new", above)])));
    assert_eq!(both.verdict, Verdict::Invalid);
    let record = judged(over_rates(&[("old", below), ("new", above)]));
    assert_eq!(record.capacities[1].rate_per_s, None);
    assert!(record.capacities[1].low.is_some());
}
