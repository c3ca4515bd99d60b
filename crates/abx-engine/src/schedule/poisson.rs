//! Arrivals at random: independent gaps of exponential length.

use abx_sys::Nanos;

use super::amount::PerSecond;

/// The moments of a Poisson process, in order, without end.
///
/// Method: gaps of `-ln(u)` times the mean, u uniform above 0 up to 1, by
/// inversion. The longest gap is 36.7 means, which one in 10^16 would exceed.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    random: u64,
    /// The mean gap, in units of 2^-32 ns.
    mean: f64,
    /// The last moment, in the same unit.
    // SUBTLE: With whole nanoseconds each gap would lose half a nanosecond, which is
    // half a percent of the rate at the highest rates.
    at: u128,
}

impl Stream {
    pub(super) fn new(rate: PerSecond, seed: u64) -> Stream {
        let thousandths = rate.amount().thousandths() as f64;
        Stream {
            random: seed,
            mean: 1e12 / thousandths * (1_u64 << FRACTION_BITS) as f64,
            at: 0,
        }
    }

    /// A number above 0 and at most 1, in steps of 2^-53.
    ///
    /// Source: SplitMix64 by Steele, Lea and Flood, OOPSLA 2014. All seeds are
    /// equally good, including zero and neighbours.
    fn uniform(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((mixed >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

impl Iterator for Stream {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        let gap = -self.uniform().ln() * self.mean;
        self.at += gap as u128;
        u64::try_from(self.at >> FRACTION_BITS).ok().map(Nanos)
    }
}

const FRACTION_BITS: u32 = 32;
