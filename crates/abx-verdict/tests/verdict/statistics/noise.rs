//! Worlds whose truth is known: each draws, block by block, how the start and
//! its surroundings affect the speed of every subject.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The disturbance of blocks. Spreads are those of the log ratio of two subjects
/// in one block, unless stated otherwise, and every subject's mean is 0.
#[derive(Debug, Clone, Copy)]
pub enum Noise {
    /// Normal, 2 %.
    Normal,
    /// Normal, 3 %: the stop rule takes the most looks before it ends a study.
    Wide,
    /// Student's t with 3 degrees of freedom for each subject, scaled to 2 %.
    HeavyTails,
    /// Normal, 1 %, and one start in ten is slower, by 5 % on average
    /// (exponential).
    Spikes,
    /// Normal, 2 %, while the machine's speed is an AR(1) series over the
    /// blocks (10 %, correlation 0.8) that affects one subject about 5 % more
    /// than the other, which carries a part from block to block.
    Correlated,
    /// Normal, 2 %, while the machine's speed wanders by far more, and each
    /// subject slowly gains on the baseline by about 1 % over the budget.
    Drift,
    /// Every start draws one of two speeds, 3.5 % apart, plus normal 0.5 %.
    Bimodal,
    /// Blocks summed from alternating slices; see [`World::block_of_slices`].
    Slices,
    /// Normal, 2 %, with this correlation between adjacent blocks, which a
    /// restart is meant to prevent. No interval here allows for it.
    CarriedOver(f64),
    /// Normal, 1 %, and in one block of forty the last subject loses a fifth.
    /// This part of its true speed remains unseen in most studies.
    RareStalls,
    /// Normal, 1 %, and one start in ten loses a third, of the last subject or of all.
    BadStarts(Bad),
}

/// The subjects that have bad starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bad {
    OfLast,
    OfAll,
}

/// The size of the study that a world is for.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Subjects, the first one the baseline.
    pub subjects: usize,
    /// The largest number of blocks.
    pub blocks_max: usize,
}

/// The world of one study.
pub struct World {
    noise: Noise,
    extent: Extent,
    random: ChaCha8Rng,
    /// The unused normal variable of a pair.
    spare: Option<f64>,
    /// The time since the start of the study, in full-length blocks.
    elapsed: f64,
    /// The log of the machine's speed, common to all subjects.
    machine: f64,
    /// The lasting trait of each subject: its additional sensitivity to the
    /// machine, its gain per block, or its carried-over part.
    lasting: Vec<f64>,
}

impl World {
    pub fn new(noise: Noise, extent: Extent, seed: u64) -> World {
        let mut world = World {
            noise,
            extent,
            random: ChaCha8Rng::seed_from_u64(seed),
            spare: None,
            elapsed: 0.0,
            machine: 0.0,
            lasting: vec![0.0; extent.subjects],
        };
        for subject in 0..extent.subjects {
            world.lasting[subject] = match noise {
                Noise::Correlated => world.own(0.05),
                Noise::Drift if subject > 0 => 0.01 / extent.blocks_max as f64 * world.normal(),
                Noise::CarriedOver(_) => world.own(0.02),
                _ => 0.0,
            };
        }
        if matches!(noise, Noise::Correlated) {
            world.machine = 0.10 * world.normal();
        }
        world
    }

    /// The log of each subject's speed in the next block relative to its true speed.
    pub fn block(&mut self) -> Vec<f64> {
        self.block_of(1.0)
    }

    /// Draws a block like [`World::block`] that takes this fraction of a full block's time.
    pub fn block_of(&mut self, part: f64) -> Vec<f64> {
        self.elapsed += part;
        match self.noise {
            Noise::Slices => return self.block_of_slices(),
            Noise::Drift => self.machine += -0.01 + 0.05 * self.normal(),
            Noise::Correlated => self.machine = self.next_of_series(self.machine, 0.8, 0.10),
            _ => {}
        }
        (0..self.extent.subjects)
            .map(|subject| self.start(subject))
            .collect()
    }

    /// The log of a subject's speed after one start.
    fn start(&mut self, subject: usize) -> f64 {
        match self.noise {
            Noise::Normal => self.own(0.02),
            Noise::Wide => self.own(0.03),
            Noise::HeavyTails => 0.02 / 6.0_f64.sqrt() * self.student_of_three(),
            Noise::Spikes => self.own(0.01) + 0.1 * 0.05 - self.spike(),
            Noise::Correlated => self.machine * (1.0 + self.lasting[subject]) + self.own(0.02),
            Noise::Drift => {
                let middle = (self.extent.blocks_max + 1) as f64 / 2.0;
                let gained = self.lasting[subject] * (self.elapsed - middle);
                self.machine + gained + self.own(0.02)
            }
            Noise::Bimodal => {
                let mode = if self.random.random_bool(0.5) {
                    0.5
                } else {
                    -0.5
                };
                mode * 0.035 + self.own(0.005)
            }
            Noise::CarriedOver(share) => {
                let next = self.next_of_series(self.lasting[subject], share, 0.02 / SQRT_2);
                std::mem::replace(&mut self.lasting[subject], next)
            }
            Noise::RareStalls => {
                let is_last = subject + 1 == self.extent.subjects;
                let is_stalled = is_last && self.random.random_bool(0.025);
                let mean = if is_last { 0.025 * 0.8_f64.ln() } else { 0.0 };
                self.own(0.01) - mean + if is_stalled { 0.8_f64.ln() } else { 0.0 }
            }
            Noise::BadStarts(whose) => {
                let may_be_bad = whose == Bad::OfAll || subject + 1 == self.extent.subjects;
                let loss = (2.0_f64 / 3.0).ln();
                let is_bad = may_be_bad && self.random.random_bool(0.1);
                let mean = if may_be_bad { 0.1 * loss } else { 0.0 };
                self.own(0.01) - mean + if is_bad { loss } else { 0.0 }
            }
            Noise::Slices => unreachable!("slices are drawn for all subjects at once"),
        }
    }

    /// 20 rounds of one slice per subject in random order. Each start draws a
    /// speed (1 %), and the machine's speed is an AR(1) series over the slices
    /// (10 %, correlation 0.9 between neighbours). One slice in a hundred loses
    /// half of its time to a stall of the subject.
    fn block_of_slices(&mut self) -> Vec<f64> {
        let subjects = self.extent.subjects;
        let speeds: Vec<f64> = (0..subjects).map(|_| 0.01 * self.normal()).collect();
        let mut completed = vec![0.0; subjects];
        let mut order: Vec<usize> = (0..subjects).collect();
        for _ in 0..SLICES {
            for place in (1..subjects).rev() {
                order.swap(place, self.random.random_range(0..=place));
            }
            for &subject in &order {
                self.machine = self.next_of_series(self.machine, 0.9, 0.10);
                let is_stalled = self.random.random_bool(0.01);
                let share = if is_stalled { 0.5 } else { 1.0 };
                completed[subject] += (speeds[subject] + self.machine).exp() * share;
            }
        }
        completed
            .iter()
            .map(|completed| (completed / SLICES as f64).ln())
            .collect()
    }

    /// The next number of an AR(1) series with this correlation and spread.
    fn next_of_series(&mut self, before: f64, correlation: f64, spread: f64) -> f64 {
        correlation * before + spread * (1.0 - correlation * correlation).sqrt() * self.normal()
    }

    /// A subject's contribution to a normal log ratio of this spread.
    fn own(&mut self, spread: f64) -> f64 {
        spread / SQRT_2 * self.normal()
    }

    fn spike(&mut self) -> f64 {
        if self.random.random_bool(0.1) {
            -0.05 * self.uniform().ln()
        } else {
            0.0
        }
    }

    /// A normal variable of mean 0 and spread 1. The method of Box and Muller makes two.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        let (sine, cosine) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        self.spare = Some(radius * sine);
        radius * cosine
    }

    /// Student's t with 3 degrees of freedom, which has the spread √3.
    pub fn student_of_three(&mut self) -> f64 {
        let squares: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / (squares / 3.0).sqrt()
    }

    /// A gamma variable of this shape, 1 or more, and scale 1. Source:
    /// Marsaglia and Tsang, ACM Transactions on Mathematical Software 26 (2000).
    pub fn gamma(&mut self, shape: f64) -> f64 {
        let depth = shape - 1.0 / 3.0;
        loop {
            let normal = self.normal();
            let cube = (1.0 + normal / (9.0 * depth).sqrt()).powi(3);
            if cube > 0.0
                && self.uniform().ln() < normal.powi(2) / 2.0 + depth * (1.0 - cube + cube.ln())
            {
                return depth * cube;
            }
        }
    }

    /// A uniform variable above 0, which has no logarithm, and up to 1.
    pub fn uniform(&mut self) -> f64 {
        1.0 - self.random.random::<f64>()
    }
}

/// Rounds of a block of slices.
const SLICES: usize = 20;

const SQRT_2: f64 = std::f64::consts::SQRT_2;
