//! Fast, seeded random numbers for choices within a load.

/// Xorshift64 by Marsaglia, Journal of Statistical Software 8 (2003).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        // Neighbouring seeds must not give neighbouring numbers, and zero gives only zeros.
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Any number except zero.
    #[inline]
    pub(crate) fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`, which is above zero.
    pub fn below(&mut self, end: u64) -> u64 {
        self.draw() % end
    }
}

/// Draws places in a list by their weights, unless the next place is set.
pub(crate) struct Chooser {
    /// The sum of the weights up to each place, which is included.
    until: Vec<u64>,
    random: Random,
    /// The next place, if it is set.
    preset: Option<usize>,
}

impl Chooser {
    /// Weights of zero count as one.
    pub fn new(weights: impl Iterator<Item = u32>, seed: u64) -> Chooser {
        let sums = weights.scan(0, |sum, weight| {
            *sum += u64::from(weight.max(1));
            Some(*sum)
        });
        Chooser {
            until: sums.collect(),
            random: Random::new(seed),
            preset: None,
        }
    }

    pub(crate) fn next_is(&mut self, place: usize) {
        self.preset = Some(place);
    }

    pub(crate) fn draw(&mut self) -> usize {
        let [.., _, total] = self.until[..] else {
            return 0;
        };
        if let Some(place) = self.preset.take() {
            return place;
        }
        let drawn = self.random.below(total);
        self.until.partition_point(|until| *until <= drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_drawn_by_their_weights() {
        // Method: weights 1, 2 and 7 over 100,000 draws; a single place is always drawn.
        let mut chooser = Chooser::new([1, 2, 7].into_iter(), 5);
        let mut drawn = [0; 3];
        (0..100_000).for_each(|_| drawn[chooser.draw()] += 1);
        for (count, expected) in drawn.into_iter().zip([10_000_i32, 20_000, 70_000]) {
            assert!((count - expected).abs() < 1_000, "{drawn:?}");
        }
        let mut only = Chooser::new([4].into_iter(), 5);
        assert!((0..100).all(|_| only.draw() == 0));
    }

    #[test]
    fn a_place_that_is_set_is_next_and_uses_no_random_number() {
        // Method: two choosers with the same seed, one with places set between its draws.
        let mut plain = Chooser::new([1, 2, 7].into_iter(), 5);
        let mut chooser = Chooser::new([1, 2, 7].into_iter(), 5);
        for place in [0, 2, 1].repeat(20) {
            chooser.next_is(place);
            assert_eq!(chooser.draw(), place);
            assert_eq!(chooser.draw(), plain.draw());
        }
    }
}
