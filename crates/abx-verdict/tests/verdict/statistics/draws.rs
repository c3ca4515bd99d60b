//! Random values around one level.

use super::noise::{Extent, Noise, World};

/// The distribution of values around one level.
#[derive(Debug, Clone, Copy)]
pub enum Spread {
    Normal,
    /// Student's t with 4 degrees of freedom.
    HeavyTails,
}

/// Draws lists of values around 0.
pub struct Draws {
    world: World,
    spread: Spread,
}

impl Draws {
    pub fn new(spread: Spread, seed: usize) -> Draws {
        let extent = Extent {
            subjects: 1,
            blocks_max: 1,
        };
        Draws {
            world: World::new(Noise::Normal, extent, seed as u64),
            spread,
        }
    }

    pub fn values(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.value()).collect()
    }

    fn value(&mut self) -> f64 {
        let normal = self.world.normal();
        match self.spread {
            Spread::Normal => normal,
            Spread::HeavyTails => {
                let squares: f64 = (0..4).map(|_| self.world.normal().powi(2)).sum();
                normal / (squares / 4.0).sqrt()
            }
        }
    }
}
