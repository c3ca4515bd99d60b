//! The work of requests, dealt from shuffled decks, so that few requests already have the mean of
//! many.

use std::f64::consts::LN_2;

/// The distribution of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Constant,
    Exponential,
    /// One of ten takes eleven times as much as the others.
    Bimodal,
    /// One of a hundred takes ten times as much as the others.
    Stalls,
}

/// Deals the work of requests in sequence.
pub struct Deck {
    /// In shares of the mean.
    cards: Vec<f64>,
    next: usize,
    seed: u64,
}

impl Deck {
    /// A deck of this kind with a mean of 1.
    pub fn new(kind: Kind, seed: u64) -> Deck {
        let mut cards: Vec<f64> = match kind {
            Kind::Constant => vec![1.0],
            Kind::Exponential => (0..100).map(|part| exponential(part, 100)).collect(),
            Kind::Bimodal => (0..10)
                .map(|number| if number == 0 { 11.0 } else { 1.0 })
                .collect(),
            Kind::Stalls => (0..100)
                .map(|number| if number == 0 { 10.0 } else { 1.0 })
                .collect(),
        };
        let mean = cards.iter().sum::<f64>() / cards.len() as f64;
        cards.iter_mut().for_each(|card| *card /= mean);
        Deck {
            next: cards.len(),
            cards,
            seed: seed | 1,
        }
    }

    /// The work of the next request, in shares of the mean.
    pub fn deal(&mut self) -> f64 {
        if self.next == self.cards.len() {
            self.next = 0;
            for last in (1..self.cards.len()).rev() {
                let other = self.draw() % (last as u64 + 1);
                self.cards.swap(last, other as usize);
            }
        }
        self.next += 1;
        self.cards[self.next - 1]
    }

    /// Method: xorshift64; Marsaglia, Journal of Statistical Software 8 (2003).
    fn draw(&mut self) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed
    }
}

/// The middle of one of `parts` equal parts of the exponential distribution.
fn exponential(part: u32, parts: u32) -> f64 {
    let share = (f64::from(part) + 0.5) / f64::from(parts);
    -(1.0 - share).log2() * LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_deck_has_the_mean_of_all() {
        // Method: two complete decks of each kind; the standard deviation of exponential work is
        // nearly its mean.
        let spread = |kind| {
            let mut deck = Deck::new(kind, 7);
            let dealt: Vec<f64> = (0..200).map(|_| deck.deal()).collect();
            let mean = dealt.iter().sum::<f64>() / 200.0;
            assert!((mean - 1.0).abs() < 1e-9, "{kind:?}: {mean}");
            dealt.iter().map(|value| (value - 1.0).powi(2)).sum::<f64>() / 200.0
        };
        assert_eq!(spread(Kind::Constant), 0.0);
        assert!((0.9..1.0).contains(&spread(Kind::Exponential)));
        assert!((spread(Kind::Bimodal) - 2.25).abs() < 1e-9);
        assert!(spread(Kind::Stalls) > 0.6);
    }
}
