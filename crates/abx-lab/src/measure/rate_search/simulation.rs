//! The estimate of a capacity on servers whose capacity is known: the search, the grid around its
//! result, the blocks on that grid and their interval. `make simulations` draws all studies, and
//! prints the tables that `docs/explain/statistics/curves.md` quotes. A usual test draws a tenth.

#![allow(
    clippy::disallowed_macros,
    reason = "the tables are read after a run by hand"
)]

use abx_evidence::Objective;
use abx_stats::curve::capacity::{CapacityEstimate, block_capacities, capacity};
use abx_stats::curve::sweep::Position;
use abx_stats::student::Confidence;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{ABOVE_CLOSED, grid, halve, probe_ns};

/// A server that responds in order, and whose service times are exponential.
#[derive(Debug, Clone, Copy)]
struct Server {
    /// Its highest throughput, per second.
    full: f64,
    arrivals: Arrivals,
    /// The length of a slice, of which a tenth is not counted.
    slice_s: f64,
    /// How long each rate is offered in each block.
    block_s: f64,
    /// The share of tries in which the server stalls for 50 ms.
    stalls: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Arrivals {
    /// At equal distances.
    Constant,
    Random,
}

const fn server(arrivals: Arrivals, full: f64, [slice_s, block_s]: [f64; 2]) -> Server {
    Server {
        full,
        arrivals,
        slice_s,
        block_s,
        stalls: 0.0,
    }
}

const SERVERS: [Server; 8] = [
    server(Arrivals::Constant, 10_000.0, [0.1, 2.0]),
    server(Arrivals::Constant, 10_000.0, [0.5, 2.0]),
    Server {
        stalls: 0.1,
        ..server(Arrivals::Constant, 10_000.0, [0.1, 2.0])
    },
    server(Arrivals::Constant, 2_000.0, [0.1, 2.0]),
    server(Arrivals::Constant, 2_000.0, [1.0, 10.0]),
    server(Arrivals::Random, 10_000.0, [0.1, 2.0]),
    server(Arrivals::Random, 10_000.0, [1.0, 10.0]),
    server(Arrivals::Random, 2_000.0, [0.1, 2.0]),
];

/// The capacity that the objective is chosen for, as a share of the highest throughput.
const CAPACITY: f64 = 0.9;

/// The blocks of a study.
const BLOCKS: usize = 10;

impl Server {
    fn capacity(self) -> f64 {
        CAPACITY * self.full
    }

    /// The p99 at its capacity, in s. Response times are exponential: with random arrivals
    /// their mean is one over the rate that is left, and with equal distances one over the
    /// share 1 − σ of the full rate, σ = exp(−(1 − σ) · full ÷ rate). Source: Kleinrock,
    /// "Queueing Systems" I (1975), 6.4.
    fn limit(self) -> f64 {
        let left = match self.arrivals {
            Arrivals::Random => 1.0 - CAPACITY,
            Arrivals::Constant => {
                let next = |left: f64| 1.0 - (-left / CAPACITY).exp();
                (0..500).fold(0.5, |left, _| next(left))
            }
        };
        100.0_f64.ln() / (self.full * left)
    }

    fn objective(self) -> Objective {
        let text = format!("p99<{}us", (self.limit() * 1e6).round());
        text.parse().expect("an objective")
    }

    /// The response times of requests that arrive at a rate for some seconds, without the first
    /// tenth: each request waits for the earlier ones. Source: Lindley (1952).
    fn slice(self, random: &mut ChaCha8Rng, rate: f64, speed: f64, seconds: f64) -> Vec<f64> {
        let mut exponential = |mean: f64| -mean * (1.0 - random.random::<f64>()).ln();
        let (mut at, mut waits, mut times) = (0.0, 0.0, Vec::new());
        loop {
            let apart = match self.arrivals {
                Arrivals::Random => exponential(1.0 / rate),
                Arrivals::Constant => 1.0 / rate,
            };
            at += apart;
            if at > seconds {
                return times;
            }
            waits = (waits - apart).max(0.0) + exponential(1.0 / (self.full * speed));
            if at > seconds / 10.0 {
                times.push(waits);
            }
        }
    }

    /// Whether one try of a rate met the objective.
    fn is_met(self, random: &mut ChaCha8Rng, rate: f64, seconds: f64) -> bool {
        let is_stalled = random.random_bool(self.stalls);
        let mut times = self.slice(random, rate, 1.0, seconds);
        // Requests that arrive during a stall wait at least for its end.
        let hit = if is_stalled {
            (rate * 0.05) as usize
        } else {
            0
        };
        times.iter_mut().take(hit).for_each(|time| *time += 0.05);
        p99(&mut times) < self.limit()
    }

    /// The rate that the search finds; with a single try of 1 s for each rate if `is_short`.
    fn searched(self, random: &mut ChaCha8Rng, is_short: bool) -> f64 {
        let ceiling = ABOVE_CLOSED * self.full;
        if is_short {
            let (mut met, mut missed) = (0.0, ceiling);
            for _ in 0..super::PROBES {
                let rate = f64::midpoint(met, missed);
                if self.is_met(random, rate, 1.0) {
                    met = rate
                } else {
                    missed = rate
                }
            }
            return f64::midpoint(met, missed);
        }
        let objective = self.objective();
        let result = halve(ceiling, |rate| {
            let seconds = probe_ns(&objective, rate) as f64 / 1e9;
            Ok::<bool, ()>(self.is_met(random, rate, seconds))
        });
        result.expect("no try fails")
    }

    /// The estimate of the blocks on the grid around a rate. The speed varies by 1 % from start to
    /// start.
    fn measured(self, random: &mut ChaCha8Rng, around: f64) -> CapacityEstimate {
        let rates = grid(&[around]);
        let mut values = vec![Vec::with_capacity(BLOCKS); rates.len()];
        for _ in 0..BLOCKS {
            let speed = (0.01 * normal(random)).exp();
            for (values, rate) in values.iter_mut().zip(&rates) {
                let slices = (self.block_s / self.slice_s).round() as usize;
                let mut times: Vec<f64> = (0..slices)
                    .flat_map(|_| self.slice(random, *rate, speed, self.slice_s))
                    .collect();
                values.push(p99(&mut times));
            }
        }
        let positions: Vec<Position> = rates
            .iter()
            .zip(&values)
            .map(|(at, blocks)| Position { at: *at, blocks })
            .collect();
        let blocks = block_capacities(&positions, self.limit()).expect("a grid");
        capacity(&blocks, Confidence::COMPUTED).expect("ten blocks")
    }
}

/// The 99th percentile; infinite without any times.
fn p99(times: &mut [f64]) -> f64 {
    if times.is_empty() {
        return f64::INFINITY;
    }
    let place = (times.len() * 99 / 100).min(times.len() - 1);
    *times.select_nth_unstable_by(place, f64::total_cmp).1
}

/// Mean 0, spread 1, by the method of Box and Muller.
fn normal(random: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}

fn is_full() -> bool {
    std::env::var_os("ABX_SIMULATIONS").is_some_and(|value| value == "full")
}

fn studies(total: u64) -> u64 {
    if is_full() { total } else { total / 10 }
}

/// All servers, or the three that differ most.
fn servers() -> impl Iterator<Item = Server> {
    let is_drawn = |index: usize| is_full() || [0, 2, 3].contains(&index);
    let indexed = SERVERS.into_iter().enumerate();
    indexed.filter_map(move |(index, server)| is_drawn(index).then_some(server))
}

/// The mean and the standard deviation of logarithms.
fn moments(logs: &[f64]) -> (f64, f64) {
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    (mean, (squares / (logs.len() - 1) as f64).sqrt())
}

#[test]
fn the_search_finds_a_capacity_well_enough_for_its_grid() {
    // Method: the search on each server, as it is and with a single try of 1 s for each rate. In at
    // least 95 of 100 studies the grid around its result, 15 % to each side, contains the capacity.
    // With stalls, single tries miss that.
    println!("| server | arrivals | stalls | tries | off by | spread | on the grid |");
    println!("|---|---|---|---|---|---|---|");
    for server in servers() {
        for is_short in [true, false] {
            let studies = studies(200);
            let logs = (0..studies).map(|seed| {
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                (server.searched(&mut random, is_short) / server.capacity()).ln()
            });
            let logs: Vec<f64> = logs.collect();
            let (mean, spread) = moments(&logs);
            let is_on_grid = |log: &f64| (0.85..1.15).contains(&(-log).exp());
            let count = logs.iter().filter(|log| is_on_grid(log)).count();
            let near = count as f64 / studies as f64;
            println!(
                "| {}/s | {:?} | {:.0} % | {} | {:+.1} % | {:.1} % | {:.1} % |",
                server.full,
                server.arrivals,
                server.stalls * 100.0,
                if is_short { "one, 1 s" } else { "as shipped" },
                mean * 100.0,
                spread * 100.0,
                near * 100.0
            );
            let is_right = near >= 0.95;
            assert!(is_short || is_right, "{server:?}: {near}");
            assert!(
                !is_short || server.stalls == 0.0 || !is_right,
                "{server:?}: {near}"
            );
        }
    }
}

#[test]
fn the_estimate_of_a_capacity_depends_on_the_length_of_slices() {
    // Method: search, grid and ten blocks. If a block offers each rate for 800 times as long as the
    // objective allows, the estimate is off by at most 1 %. Shorter blocks give higher estimates,
    // since a queue has no time to grow: below 200 times, they are more than 1 % too high.
    println!(
        "| server | arrivals | slices | in a block | limits | studies | off by | holds truth |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for server in servers().filter(|server| server.stalls == 0.0) {
        let studies = studies(60);
        let (mut logs, mut held) = (Vec::new(), 0);
        for seed in 0..studies {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let around = server.searched(&mut random, false);
            let truth = server.capacity();
            match server.measured(&mut random, around) {
                CapacityEstimate::Within(interval) => {
                    logs.push((interval.ratio / truth).ln());
                    held += u64::from(interval.low <= truth && truth <= interval.high);
                }
                CapacityEstimate::AtLeast(rate) => held += u64::from(rate <= truth),
                CapacityEstimate::AtMost(rate) => held += u64::from(truth <= rate),
                CapacityEstimate::Unbounded => {}
            }
        }
        let (mean, _) = moments(&logs);
        let limits = server.block_s / server.limit();
        println!(
            "| {}/s | {:?} | {} s | {} s | {limits:.0} | {studies} | {:+.1} % | {:.0} % |",
            server.full,
            server.arrivals,
            server.slice_s,
            server.block_s,
            mean * 100.0,
            held as f64 / studies as f64 * 100.0
        );
        assert!(limits < 800.0 || mean.abs() < 0.01, "{server:?}: {mean}");
        assert!(limits > 200.0 || mean > 0.01, "{server:?}: {mean}");
    }
}
