//! Whether one try at one rate settles that an objective is met: the early
//! stopping test of a search for the capacity.

use statrs::function::gamma::ln_gamma;

/// What one try gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Requests that were due, whatever became of them.
    pub requests: u64,
    /// Those of them that were not answered within the limit.
    pub over: u64,
}

impl Probe {
    /// Whether at least this share of all requests (0.99 for p99; above 0 and
    /// below 1, no other number passes) would be answered within the limit,
    /// with 99 % confidence: if only exactly that share were, so few would be
    /// over in at most one of a hundred tries.
    ///
    /// It takes requests for independent of each other, which within one life
    /// of a subject they are not: it steers a search, and blocks decide.
    ///
    /// Method: `I_p(h, t + 1) ≤ 1 − 0.99` with t requests over and h within.
    /// The regularised incomplete beta function is here the chance of at most
    /// t over among h + t. Source: MLPerf inference rules, "Early stopping";
    /// Abramowitz and Stegun (1964), 26.5.24.
    #[must_use]
    pub fn passes(self, percentile: f64) -> bool {
        let expected = self.requests as f64 * (1.0 - percentile);
        let is_share = 0.0 < percentile && percentile < 1.0;
        // So many or more over are at least as likely as not.
        if !is_share || self.over as f64 >= expected {
            return false;
        }
        self.chance_of_so_few(percentile) <= 1.0 - CONFIDENCE
    }

    /// The chance of at most so many over when the share within is
    /// `percentile`, for fewer over than are expected. Summed from the largest
    /// term down: the continued fraction for the same number, as statrs has it,
    /// is cut off before it settles when there are millions of requests.
    fn chance_of_so_few(self, percentile: f64) -> f64 {
        let (requests, over) = (self.requests as f64, self.over as f64);
        let ln_last =
            ln_gamma(requests + 1.0) - ln_gamma(over + 1.0) - ln_gamma(requests - over + 1.0)
                + over * (1.0 - percentile).ln()
                + (requests - over) * percentile.ln();
        let odds = percentile / (1.0 - percentile);
        let (mut term, mut sum) = (1.0, 0.0);
        for over in (0..=self.over).rev() {
            sum += term;
            let over = over as f64;
            term *= over / (requests - over + 1.0) * odds;
            if term < f64::EPSILON {
                break;
            }
        }
        ln_last.exp() * sum
    }
}

/// How sure a pass is.
const CONFIDENCE: f64 = 0.99;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use statrs::function::beta::beta_reg;

    use super::*;

    #[test]
    fn without_one_over_459_requests_pass_at_p99() {
        // Method: by hand: 0.99 to the power of 458 is 0.01002, of 459 0.00992.
        // For p90 it is 44, for p99.9 4603.
        for (percentile, requests) in [(0.9, 44), (0.99, 459), (0.999, 4_603)] {
            let probe = |requests| Probe { requests, over: 0 };
            assert!(!probe(requests - 1).passes(percentile), "{percentile}");
            assert!(probe(requests).passes(percentile), "{percentile}");
        }
    }

    #[test]
    fn the_sum_is_the_incomplete_beta_function() {
        // Method: against the continued fraction, where that one settles:
        // up to a million requests, from three spreads below what is expected.
        for requests in [100_u64, 1_000, 10_000, 100_000, 1_000_000] {
            for percentile in [0.5, 0.9, 0.99, 0.999] {
                let expected = requests as f64 * (1.0 - percentile);
                for spreads in [3.0, 2.4, 2.3, 2.0, 1.0] {
                    let over = expected - spreads * (expected * percentile).sqrt();
                    let over = over.max(0.0) as u64;
                    let probe = Probe { requests, over };
                    let found = probe.chance_of_so_few(percentile);
                    let within = (requests - over) as f64;
                    let other = beta_reg(within, over as f64 + 1.0, percentile);
                    assert!(
                        (found - other).abs() < 1e-6,
                        "{probe:?}: {found} for {other}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_proves_nothing_does_not_pass() {
        // Method: no request, all over, more over than there were, as many as
        // expected among very many, and shares that are none.
        let passes = |requests, over, percentile| Probe { requests, over }.passes(percentile);
        assert!(!passes(0, 0, 0.99));
        assert!(!passes(1_000, 1_000, 0.99));
        assert!(!passes(1_000, 2_000, 0.99));
        assert!(!passes(1_000_000_000, 500_000_000, 0.5));
        for percentile in [0.0, 1.0, -1.0, 2.0, f64::NAN] {
            assert!(!passes(1_000_000, 0, percentile), "{percentile}");
        }
    }

    proptest! {
        #[test]
        fn fewer_over_never_fail_what_more_pass(
            requests in 1_u64..1_000_000,
            share in 0.0..0.02,
            kept in 0.0..1.0,
        ) {
            // Method: any part of those over in a probe that passes.
            let over = (requests as f64 * share) as u64;
            let probe = Probe { requests, over };
            let better = Probe { requests, over: (over as f64 * kept) as u64 };
            prop_assert!(!probe.passes(0.99) || better.passes(0.99));
        }
    }
}
