//! Is this the response that was expected?

use abx_evidence::{Outcome, Tally};
use abx_wire::http1;
use xxhash_rust::xxh3::Xxh3;

use crate::plan::ExpectedResponse;
use crate::random::Random;

/// Judges a whole response. `hash` is given if its body was hashed, `tally` if it counts.
#[inline]
pub(crate) fn outcome(
    expect: &ExpectedResponse,
    done: &http1::Done,
    hash: Option<u64>,
    tally: Option<&mut Tally>,
) -> Outcome {
    if expect.status.accepts(done.status) {
        body(expect, done.body_bytes, hash)
    } else {
        wrong_status(done.status, tally)
    }
}

/// Counts the unexpected status.
#[cold]
fn wrong_status(status: u16, tally: Option<&mut Tally>) -> Outcome {
    if let Some(tally) = tally {
        tally.times.wrong_statuses.add(status);
    }
    Outcome::WrongStatus
}

/// Judges the body of a whole response by its length, and by its hash if there is one.
#[inline]
pub(crate) fn body(expect: &ExpectedResponse, bytes: u64, hash: Option<u64>) -> Outcome {
    let Some(body) = expect.body else {
        return Outcome::Ok;
    };
    if bytes != body.bytes {
        return Outcome::WrongLength;
    }
    match hash {
        Some(hash) if hash != body.xxh3 => Outcome::WrongBody,
        _ => Outcome::Ok,
    }
}

/// Hashes the next bytes of a body. The first bytes take a hasher.
#[inline(always)]
pub(crate) fn hash(
    is_hashing: bool,
    hasher: &mut Option<Box<Xxh3>>,
    hashers: &mut Hashers,
    bytes: &[u8],
) {
    if is_hashing {
        hasher.get_or_insert_with(|| hashers.take()).update(bytes);
    }
}

/// Chooses at random which responses have their body hashed.
///
/// A check of every hundredth response might never see the failures of a subject that fails on
/// every hundredth response.
pub(crate) struct Sampler {
    every: u32,
    until_next: u32,
    random: Random,
}

impl Sampler {
    pub(crate) fn new(every: u32, seed: u64) -> Sampler {
        let mut sampler = Sampler {
            every,
            until_next: 0,
            random: Random::new(seed),
        };
        sampler.until_next = sampler.gap();
        sampler
    }

    /// Whether the next response is hashed.
    pub(crate) fn draw(&mut self) -> bool {
        if self.every == 0 {
            return false;
        }
        if self.until_next > 0 {
            self.until_next -= 1;
            return false;
        }
        self.until_next = self.gap();
        true
    }

    /// A gap from 0 to 2 (every - 1), so that one in `every` is chosen on average.
    fn gap(&mut self) -> u32 {
        let choices = 2 * u64::from(self.every.max(1)) - 1;
        u32::try_from(self.random.below(choices)).unwrap_or(u32::MAX)
    }
}

/// Unused hashers, so that hashing a body needs no allocation after the first ones.
#[derive(Default)]
// The boxes move between this list and the slots that use them.
#[allow(clippy::vec_box)]
pub(crate) struct Hashers(Vec<Box<Xxh3>>);

impl Hashers {
    pub(crate) fn take(&mut self) -> Box<Xxh3> {
        self.0.pop().unwrap_or_else(|| Box::new(Xxh3::new()))
    }

    pub(crate) fn give_back(&mut self, mut hasher: Box<Xxh3>) {
        hasher.reset();
        self.0.push(hasher);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::BodyIdentity;

    #[test]
    fn every_check_has_its_outcome() {
        // Method: one response, with each expectation broken in turn; the wrong status is counted
        // if the request counts.
        let done = http1::Done {
            status: 200,
            body_bytes: 5,
            reusable: true,
        };
        let expect = |status: u16, bytes, xxh3| ExpectedResponse {
            status: status.into(),
            body: Some(BodyIdentity { bytes, xxh3 }),
        };
        let mut tally = Tally::default();
        let table = [
            (expect(200, 5, 9), Some(9), Outcome::Ok),
            (expect(200, 5, 9), None, Outcome::Ok),
            (expect(204, 5, 9), Some(9), Outcome::WrongStatus),
            (expect(200, 6, 9), Some(9), Outcome::WrongLength),
            (expect(200, 5, 9), Some(8), Outcome::WrongBody),
        ];
        for (expect, hash, expected) in table {
            assert_eq!(outcome(&expect, &done, hash, Some(&mut tally)), expected);
            assert_eq!(outcome(&expect, &done, hash, None), expected);
        }
        let statuses: Vec<_> = tally.times.wrong_statuses.iter().collect();
        assert_eq!(statuses, [(200, 1)]);
    }

    #[test]
    fn one_in_n_is_chosen_on_average_with_varying_gaps() {
        // Method: count over many draws; gaps must vary.
        let mut sampler = Sampler::new(100, 7);
        let chosen: Vec<usize> = (0..1_000_000).filter(|_| sampler.draw()).collect();
        assert!((9_000..11_000).contains(&chosen.len()), "{}", chosen.len());
        let first_gap = chosen[1] - chosen[0];
        assert!(chosen.windows(2).any(|pair| pair[1] - pair[0] != first_gap));
        assert_eq!((0..1000).filter(|_| Sampler::new(0, 7).draw()).count(), 0);
        let mut sampler = Sampler::new(1, 7);
        assert!((0..1000).all(|_| sampler.draw()));
    }
}
