//! Worlds whose truth is known: each draws the log ratios of a study's blocks.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// What disturbs the blocks. Spreads are of the log ratio of one block.
#[derive(Debug, Clone, Copy)]
pub enum Noise {
    /// Normal, 2 %.
    Normal,
    /// Normal, 3 %: the stop rule looks most often before it is content.
    Wide,
    /// Student's t with 3 degrees of freedom, scaled to 2 %.
    HeavyTails,
    /// Normal, 2 %, while the machine's speed wanders by far more, and one
    /// subject slowly gains on the other by about 1 % over the budget.
    Drift,
    /// Every start draws one of two speeds, 3.5 % apart, plus normal 0.5 %.
    Bimodal,
    /// Blocks summed from alternating slices; see [`World::block_of_slices`].
    Slices,
}

/// One study's world.
pub struct World {
    noise: Noise,
    random: ChaCha8Rng,
    log_ratio: f64,
    blocks_max: usize,
    block: usize,
    /// The log of the machine's speed, the same for both subjects.
    machine: f64,
    /// What the subject gains on the baseline per block.
    gain: f64,
}

impl World {
    /// A study of at most `blocks_max` blocks with this true log ratio.
    pub fn new(noise: Noise, log_ratio: f64, blocks_max: usize, seed: u64) -> World {
        let mut world = World {
            noise,
            random: ChaCha8Rng::seed_from_u64(seed),
            log_ratio,
            blocks_max,
            block: 0,
            machine: 0.0,
            gain: 0.0,
        };
        if matches!(noise, Noise::Drift) {
            world.gain = 0.01 / blocks_max as f64 * world.normal();
        }
        world
    }

    /// The log ratio of the next block.
    pub fn block(&mut self) -> f64 {
        self.block += 1;
        let noise = match self.noise {
            Noise::Normal => 0.02 * self.normal(),
            Noise::Wide => 0.03 * self.normal(),
            Noise::HeavyTails => 0.02 / 3.0_f64.sqrt() * self.student_of_three(),
            Noise::Drift => self.drift(),
            Noise::Bimodal => self.restart() - self.restart(),
            Noise::Slices => self.block_of_slices(),
        };
        self.log_ratio + noise
    }

    fn drift(&mut self) -> f64 {
        self.machine += -0.01 + 0.05 * self.normal();
        let middle = (self.blocks_max + 1) as f64 / 2.0;
        let gained = self.gain * (self.block as f64 - middle);
        let own = 0.02 / 2.0_f64.sqrt();
        let subject = self.machine + gained + own * self.normal();
        let baseline = self.machine + own * self.normal();
        subject - baseline
    }

    fn restart(&mut self) -> f64 {
        let mode = if self.random.random_bool(0.5) {
            0.035
        } else {
            0.0
        };
        mode + 0.005 / 2.0_f64.sqrt() * self.normal()
    }

    /// 20 rounds of one slice for each subject in random order. Each start
    /// draws a speed (1 %), the machine's speed is an AR(1) series over the
    /// slices (10 %, correlation 0.9 from one to the next), and one slice in a
    /// hundred loses half of its time to a stall of the subject.
    fn block_of_slices(&mut self) -> f64 {
        let speed = [0.01 * self.normal(), 0.01 * self.normal()];
        let mut completed = [0.0; 2];
        for _ in 0..20 {
            let first = usize::from(self.random.random_bool(0.5));
            for subject in [first, 1 - first] {
                self.machine = 0.9 * self.machine + 0.1 * 0.19_f64.sqrt() * self.normal();
                let share = if self.random.random_bool(0.01) {
                    0.5
                } else {
                    1.0
                };
                completed[subject] += (speed[subject] + self.machine).exp() * share;
            }
        }
        (completed[0] / completed[1]).ln()
    }

    /// Mean 0, spread 1, by the method of Box and Muller.
    fn normal(&mut self) -> f64 {
        // One minus, because the logarithm needs a number above zero.
        let radius = (-2.0 * (1.0 - self.random.random::<f64>()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.random.random::<f64>()).cos()
    }

    /// Student's t with 3 degrees of freedom: spread √3.
    fn student_of_three(&mut self) -> f64 {
        let squares: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / (squares / 3.0).sqrt()
    }
}
