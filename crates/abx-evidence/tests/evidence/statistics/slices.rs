//! The choice of the slice's length in worlds whose noise is known: whether it
//! is the right one, whether it keeps its promise, and whether it biases.

use abx_stats::series::slice_choice::{
    Lengths, ShortRound, ShortRounds, SliceChoice, SliceOrder, slice_choice,
};
use rand::Rng;

use super::noise::{Extent, Noise, World};

const SHORT_NS: u64 = 25_000_000;
const ROUNDS: usize = 160;
const SEEDS: u64 = 300;
/// For how long a block loads each subject.
const BLOCK_NS: u64 = 2_000_000_000;
const LENGTHS: Lengths = Lengths {
    usual_ns: 100_000_000,
    others_ns: &[
        25_000_000,
        50_000_000,
        250_000_000,
        500_000_000,
        1_000_000_000,
    ],
};

/// What makes short slices differ, beside what each has of its own (2 %).
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shared {
    /// Nothing.
    White,
    /// The machine's speed wanders at random, by 1 % from short slice to short slice.
    Drift,
    /// The machine's speed is an AR(1) series of this spread and correlation
    /// from short slice to short slice.
    Series { spread: f64, correlation: f64 },
    /// The first subject does nothing for 50 ms in every second.
    Stalls,
}

/// A noise of neighbours that comes and goes in about 200 ms.
const NEIGHBOURS: Shared = Shared::Series {
    spread: 0.10,
    correlation: 0.88,
};

/// Two subjects on one machine, in steps of a short slice.
struct Machine {
    shared: Shared,
    world: World,
    speed: f64,
    step: u64,
}

impl Machine {
    fn new(shared: Shared, seed: u64) -> Machine {
        let extent = Extent {
            subjects: 2,
            blocks_max: 1,
        };
        let mut world = World::new(Noise::Normal, extent, seed);
        Machine {
            shared,
            speed: match shared {
                Shared::Series { spread, .. } => spread * world.normal(),
                _ => 0.0,
            },
            step: world.random().random_range(0..40),
            world,
        }
    }

    /// What a subject gives in the next short slice; 1 is its true speed, but
    /// for stalls.
    fn next(&mut self, subject: usize) -> f64 {
        self.speed = match self.shared {
            Shared::White | Shared::Stalls => 0.0,
            Shared::Drift => self.speed + 0.01 * self.world.normal(),
            Shared::Series {
                spread,
                correlation,
            } => {
                let new = (1.0 - correlation * correlation).sqrt() * spread;
                correlation * self.speed + new * self.world.normal()
            }
        };
        self.step += 1;
        // 50 ms are two steps of forty.
        let stalls = self.shared == Shared::Stalls && subject == 0 && self.step % 40 < 2;
        let own_value = 1.0 + 0.02 * self.world.normal();
        if stalls {
            0.0
        } else {
            self.speed.exp() * own_value
        }
    }

    fn order(&mut self) -> SliceOrder {
        if self.world.random().random_bool(0.5) {
            SliceOrder::Forth
        } else {
            SliceOrder::Back
        }
    }

    /// One round of slices of so many steps: what each subject gave in it.
    fn round(&mut self, steps: u64) -> ShortRound {
        let order = self.order();
        let subjects = match order {
            SliceOrder::Forth => [0, 1],
            SliceOrder::Back => [1, 0],
        };
        let mut rates = [0.0; 2];
        for subject in subjects {
            rates[subject] = (0..steps).map(|_| self.next(subject)).sum();
        }
        ShortRound { rates, order }
    }

    fn choose(&mut self, switch_ns: u64) -> SliceChoice {
        let rounds: Vec<ShortRound> = (0..ROUNDS).map(|_| self.round(1)).collect();
        let series = ShortRounds {
            rounds: &rounds,
            slice_ns: SHORT_NS,
            switch_ns,
        };
        slice_choice(&series, &LENGTHS).expect("enough rounds, of finite rates")
    }

    /// The log ratio of a block, both subjects summed over its slices.
    fn block(&mut self, slice_ns: u64) -> f64 {
        let mut sums = [0.0; 2];
        for _ in 0..(BLOCK_NS / slice_ns).max(1) {
            let round = self.round(slice_ns / SHORT_NS);
            sums[0] += round.rates[0];
            sums[1] += round.rates[1];
        }
        (sums[0] / sums[1]).ln()
    }
}

/// The lengths that 300 studies choose, in ms.
fn chosen(shared: Shared, switch_ns: u64) -> Vec<u64> {
    let lengths = (0..SEEDS).map(|seed| {
        let slice_choice = Machine::new(shared, seed).choose(switch_ns);
        slice_choice.slice_ns / 1_000_000
    });
    lengths.collect()
}

fn share(lengths: &[u64], is_right: impl Fn(u64) -> bool) -> f64 {
    let right = lengths.iter().filter(|ms| is_right(**ms)).count();
    right as f64 / lengths.len() as f64
}

#[test]
fn the_length_follows_the_noise_and_what_switching_costs() {
    // Method: 300 pilots in each world. White noise asks for no length, so the
    // usual one stays, or mostly a longer one where switching takes as long as a
    // slice; noise that lasts asks for short ones.
    let cases = [
        ("white", Shared::White, 1_000_000, 100..=100, 0.9),
        ("white, dear", Shared::White, 100_000_000, 250..=1_000, 0.6),
        ("drift", Shared::Drift, 1_000_000, 25..=50, 0.9),
        ("neighbours", NEIGHBOURS, 1_000_000, 25..=50, 0.9),
    ];
    for (name, shared, switch_ns, wanted_ms, least) in cases {
        let lengths = chosen(shared, switch_ns);
        let right = share(&lengths, |ms| wanted_ms.contains(&ms));
        println!("{name}: right {:.1} %", 100.0 * right);
        for ms in [25, 50, 100, 250, 500, 1000] {
            println!(
                "    {ms} ms: {:.1} %",
                100.0 * share(&lengths, |number| number == ms)
            );
        }
        assert!(right >= least, "{name}: {right}");
    }
}

#[test]
fn blocks_have_the_spread_that_was_promised() {
    // Method: the mean promise of 300 pilots for each length, against the
    // spread of 3,000 blocks of that length.
    for shared in [Shared::White, NEIGHBOURS] {
        for place in 0..6 {
            let promises = (0..SEEDS).map(|seed| {
                let slice_choice = Machine::new(shared, seed).choose(1_000_000);
                slice_choice.promises[place]
            });
            let promises: Vec<_> = promises.collect();
            let mean = promises
                .iter()
                .map(|length_promise| length_promise.variance)
                .sum::<f64>()
                / SEEDS as f64;
            let promised = (mean / (BLOCK_NS as f64 / 1e9)).sqrt();
            let mut machine = Machine::new(shared, 1_000);
            let blocks: Vec<f64> = (0..3_000)
                .map(|_| machine.block(promises[0].slice_ns))
                .collect();
            let squares: f64 = blocks.iter().map(|block| block * block).sum();
            let spread = (squares / blocks.len() as f64).sqrt();
            let ms = promises[0].slice_ns / 1_000_000;
            println!("{shared:?}, {ms} ms: promised {promised:.5}, found {spread:.5}");
            assert!((promised / spread).ln().abs() < 0.12, "{shared:?} {ms}");
        }
    }
}

#[test]
fn a_choice_does_not_bias_a_subject_that_stalls() {
    // Method: 300 studies of a subject that does nothing for a twentieth of the
    // time, 12 blocks of each at the length that its pilot chose. Its stalls are
    // its own, so no length can take them out, and none may be dear.
    let mut blocks = Vec::new();
    for seed in 0..SEEDS {
        let mut machine = Machine::new(Shared::Stalls, seed);
        let slice_ns = machine.choose(1_000_000).slice_ns;
        blocks.extend((0..12).map(|_| machine.block(slice_ns)));
    }
    let mut machine = Machine::new(Shared::Stalls, 1_000);
    let usual: Vec<f64> = (0..3_000)
        .map(|_| machine.block(LENGTHS.usual_ns))
        .collect();
    let (ratio, spread) = ratio_and_spread(&blocks);
    let (_, usual_spread) = ratio_and_spread(&usual);
    println!("a subject that stalls for 5 %: {ratio:.4}, spread {spread:.5} for {usual_spread:.5}");
    assert!((ratio - 0.95).abs() < 0.003, "{ratio}");
    assert!(spread < 1.1 * usual_spread, "{spread} {usual_spread}");
}

fn ratio_and_spread(log_ratios: &[f64]) -> (f64, f64) {
    let count = log_ratios.len() as f64;
    let mean = log_ratios.iter().sum::<f64>() / count;
    let squares: f64 = log_ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum();
    (mean.exp(), (squares / count).sqrt())
}
