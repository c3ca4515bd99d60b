//! The growth of throughput with connections: the Universal Scalability Law,
//! fitted to one block of a sweep. A description on which no decision rests.

use crate::StatsError;

/// The fewest different numbers of connections that a fit is made from: one
/// more than the law has coefficients, so that it can fail to fit.
pub const POSITIONS_MIN: usize = 4;

/// The least share of the variance that the law must explain: below it the coefficients
/// describe noise, and no law is reported.
pub const R2_MIN: f64 = 0.9;

/// The throughput under one load of a sweep in one block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// Connections, 1 or more.
    pub connections: f64,
    /// Ok responses per second, above zero.
    pub throughput: f64,
}

/// The law `X(N) = lambda · N / (1 + sigma · (N − 1) + kappa · N · (N − 1))`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScalabilityLaw {
    /// The throughput of one connection, in responses per second.
    pub lambda: f64,
    /// The share of the work for which connections wait for each other
    /// (contention), 0 or more.
    pub sigma: f64,
    /// What each pair of connections costs (coherency), 0 or more.
    pub kappa: f64,
    /// The share of the variance of the measured throughput that the law
    /// explains: 1 is all of it, 0 or less is no more than their mean does.
    /// `None` when all are the same, as there is nothing to explain.
    pub r2: Option<f64>,
}

impl ScalabilityLaw {
    /// Fits the law to one block's sweep, in any order.
    ///
    /// Method: in the form `N / X = a + b · (N − 1) + c · N · (N − 1)` the law
    /// is linear, with `lambda = 1 / a`, `sigma = b / a`, `kappa = c / a`. The
    /// three are the values of at least 0 with the least sum of squared *relative*
    /// errors of `N / X`. There are seven ways to set some of the three to 0; the
    /// result is the best one without a negative coefficient.
    /// Source: Gunther, "Guerrilla Capacity Planning" (2007); Lawson and Hanson,
    /// "Solving Least Squares Problems" (1974), chapter 23; docs/explain/statistics/curves.md.
    ///
    /// # Errors
    /// - [`StatsError::BadPosition`], [`StatsError::NoThroughput`] for numbers
    ///   out of range.
    /// - [`StatsError::TooFewPositions`] below [`POSITIONS_MIN`] different
    ///   numbers of connections.
    /// - [`StatsError::NoLaw`] when the best fit has no throughput for one
    ///   connection.
    pub fn fit(block: &[Observation]) -> Result<ScalabilityLaw, StatsError> {
        check(block)?;
        // Divided by N / X, so that every error is a share of what was measured.
        let columns: [Vec<f64>; 3] = [
            |_: f64| 1.0,
            |connections: f64| connections - 1.0,
            |connections: f64| connections * (connections - 1.0),
        ]
        .map(|term| {
            block
                .iter()
                .map(|load| term(load.connections) * load.throughput / load.connections)
                .collect()
        });
        let [a, b, c] = non_negative_fit(&columns);
        if a <= 0.0 {
            return Err(StatsError::NoLaw);
        }
        let mut law = ScalabilityLaw {
            lambda: 1.0 / a,
            sigma: b / a,
            kappa: c / a,
            r2: None,
        };
        law.r2 = law.explained(block);
        Ok(law)
    }

    /// The throughput by the law at this many connections, 1 or more.
    #[must_use]
    pub fn throughput(&self, connections: f64) -> f64 {
        self.lambda * connections
            / (1.0
                + self.sigma * (connections - 1.0)
                + self.kappa * connections * (connections - 1.0))
    }

    /// The connections with the highest throughput, `√((1 − sigma) / kappa)`,
    /// at least 1; `None` when throughput rises, or stays, without end.
    #[must_use]
    pub fn peak(&self) -> Option<f64> {
        if self.kappa > 0.0 {
            Some(((1.0 - self.sigma) / self.kappa).max(1.0).sqrt())
        } else {
            (self.sigma > 1.0).then_some(1.0)
        }
    }

    fn explained(&self, block: &[Observation]) -> Option<f64> {
        let mean = block.iter().map(|load| load.throughput).sum::<f64>() / block.len() as f64;
        let (mut total, mut rest) = (0.0, 0.0);
        for load in block {
            total += (load.throughput - mean).powi(2);
            rest += (load.throughput - self.throughput(load.connections)).powi(2);
        }
        let varies = block
            .iter()
            .any(|load| load.throughput != block[0].throughput);
        varies.then(|| 1.0 - rest / total)
    }
}

fn check(block: &[Observation]) -> Result<(), StatsError> {
    for (position, load) in block.iter().enumerate() {
        if !load.connections.is_finite() || load.connections < 1.0 {
            return Err(StatsError::BadPosition {
                position,
                value: load.connections,
            });
        }
        if !load.throughput.is_finite() || load.throughput <= 0.0 {
            return Err(StatsError::NoThroughput {
                position,
                value: load.throughput,
            });
        }
    }
    let mut different: Vec<f64> = block.iter().map(|load| load.connections).collect();
    different.sort_unstable_by(f64::total_cmp);
    different.dedup();
    if different.len() < POSITIONS_MIN {
        return Err(StatsError::TooFewPositions {
            got: different.len(),
            need: POSITIONS_MIN,
        });
    }
    Ok(())
}

/// The coefficients of at least 0 with which the columns approximate 1 best in
/// every row.
fn non_negative_fit(columns: &[Vec<f64>; 3]) -> [f64; 3] {
    let mut best = [0.0; 3];
    let mut least = f64::INFINITY;
    for subset in 1..8_usize {
        let indexes: Vec<usize> = (0..3).filter(|index| subset >> index & 1 == 1).collect();
        let chosen: Vec<&[f64]> = indexes.iter().map(|index| &columns[*index][..]).collect();
        let fit = least_squares(&chosen);
        let is_valid = fit.coefficients.iter().all(|value| *value >= 0.0);
        if is_valid && fit.squares < least {
            least = fit.squares;
            best = [0.0; 3];
            for (index, coefficient) in indexes.iter().zip(fit.coefficients) {
                best[*index] = coefficient;
            }
        }
    }
    best
}

struct LinearFit {
    coefficients: Vec<f64>,
    /// The sum of squared errors.
    squares: f64,
}

/// Ordinary least squares for a target of 1 in every row, by the modified
/// method of Gram and Schmidt: the columns differ by many powers of ten, which
/// the normal equations would square.
fn least_squares(columns: &[&[f64]]) -> LinearFit {
    let count = columns.len();
    let mut rest = vec![1.0; columns[0].len()];
    let mut basis: Vec<Vec<f64>> = columns.iter().map(|column| column.to_vec()).collect();
    let mut upper = vec![vec![0.0; count]; count];
    let mut along = vec![0.0; count];
    for index in 0..count {
        let (done, left) = basis.split_at_mut(index + 1);
        let current = &mut done[index];
        let length = dot(current, current).sqrt();
        upper[index][index] = length;
        current.iter_mut().for_each(|value| *value /= length);
        for (offset, column) in left.iter_mut().enumerate() {
            upper[index][index + 1 + offset] = remove(current, column);
        }
        along[index] = remove(current, &mut rest);
    }
    let mut coefficients = vec![0.0; count];
    for index in (0..count).rev() {
        let known: f64 = (index + 1..count)
            .map(|later| upper[index][later] * coefficients[later])
            .sum();
        coefficients[index] = (along[index] - known) / upper[index][index];
    }
    LinearFit {
        coefficients,
        squares: dot(&rest, &rest),
    }
}

/// Removes the part along `direction` (of length 1) from `vector`, and returns
/// its length.
fn remove(direction: &[f64], vector: &mut [f64]) -> f64 {
    let part = dot(direction, vector);
    for (value, step) in vector.iter_mut().zip(direction) {
        *value -= part * step;
    }
    part
}

fn dot(values: &[f64], other: &[f64]) -> f64 {
    values
        .iter()
        .zip(other)
        .map(|(value, other)| value * other)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(points: &[(f64, f64)]) -> Vec<Observation> {
        points
            .iter()
            .map(|&(connections, throughput)| Observation {
                connections,
                throughput,
            })
            .collect()
    }

    fn assert_close(result: f64, expected: f64, tolerance: f64) {
        let error = (result - expected).abs();
        assert!(error <= tolerance, "{result} for {expected}");
    }

    #[test]
    fn exact_data_return_their_law() {
        // Method: by hand. lambda 100, sigma 1/4 and kappa 3/400 give 500/2.15
        // at 5, 1000/3.925 at 10 and 2000/8.6 at 20 connections. The peak is
        // at √(0.75 / 0.0075) = 10.
        let law = ScalabilityLaw::fit(&block(&[
            (1.0, 100.0),
            (5.0, 500.0 / 2.15),
            (10.0, 1000.0 / 3.925),
            (20.0, 2000.0 / 8.6),
        ]))
        .unwrap();
        assert_close(law.lambda, 100.0, 1e-9);
        assert_close(law.sigma, 0.25, 1e-12);
        assert_close(law.kappa, 0.0075, 1e-13);
        assert_close(law.r2.unwrap(), 1.0, 1e-12);
        assert_close(law.peak().unwrap(), 10.0, 1e-9);
    }

    #[test]
    fn a_wide_sweep_keeps_its_small_coefficient() {
        // Method: exact data over five powers of ten, where the last column is
        // longer than the first by a factor of 10¹⁰.
        let truth = ScalabilityLaw {
            lambda: 4_000.0,
            sigma: 0.02,
            kappa: 1e-9,
            r2: None,
        };
        let points: Vec<_> = [1.0, 10.0, 100.0, 1e3, 1e4, 1e5]
            .map(|connections| (connections, truth.throughput(connections)))
            .to_vec();
        let law = ScalabilityLaw::fit(&block(&points)).unwrap();
        assert_close(law.sigma / truth.sigma, 1.0, 1e-9);
        assert_close(law.kappa / truth.kappa, 1.0, 1e-6);
    }

    #[test]
    fn noise_moves_the_law_by_a_similar_amount() {
        // Method: lambda 1,000, sigma 0.05 and kappa 0.0002, with 1 % of noise
        // whose signs have no trend over the sweep.
        let truth = ScalabilityLaw {
            lambda: 1_000.0,
            sigma: 0.05,
            kappa: 0.0002,
            r2: None,
        };
        let noise = [0.01, -0.01, -0.01, 0.01, 0.01, -0.01, -0.01, 0.01];
        let points: Vec<_> = (0..8)
            .map(|index| {
                let connections = f64::from(1 << index);
                (
                    connections,
                    truth.throughput(connections) * (1.0 + noise[index]),
                )
            })
            .collect();
        let law = ScalabilityLaw::fit(&block(&points)).unwrap();
        assert_close(law.lambda / truth.lambda, 1.0, 0.02);
        assert_close(law.sigma / truth.sigma, 1.0, 0.05);
        assert_close(law.kappa / truth.kappa, 1.0, 0.05);
        assert_close(law.peak().unwrap() / truth.peak().unwrap(), 1.0, 0.03);
        let r2 = law.r2.unwrap();
        assert!(0.998 < r2 && r2 < 1.0, "{r2}");
    }

    #[test]
    fn coefficients_that_would_be_negative_are_zero() {
        // Method: by hand. Throughput grows faster than connections, so only
        // the coefficient a remains: the sum 4.55 of X / N (1, 1.1, 1.2 and
        // 1.25) over the sum 5.2125 of their squares.
        let law = ScalabilityLaw::fit(&block(&[(1.0, 1.0), (2.0, 2.2), (4.0, 4.8), (8.0, 10.0)]))
            .unwrap();
        assert_close(law.lambda, 5.2125 / 4.55, 1e-12);
        assert_eq!((law.sigma, law.kappa), (0.0, 0.0));
        assert_eq!(law.peak(), None);
        // The squares around the mean of 4.5 are 47.88, and around the line 0.774362.
        assert_close(law.r2.unwrap(), 1.0 - 0.774_362 / 47.88, 1e-7);
    }

    #[test]
    fn a_subject_that_one_connection_saturates_has_no_later_peak() {
        // Method: a constant throughput, then one that falls with each connection.
        let level = ScalabilityLaw::fit(&block(&[1.0, 2.0, 4.0, 8.0].map(|n| (n, 50.0)))).unwrap();
        assert_close(level.sigma, 1.0, 1e-12);
        assert_eq!(level.r2, None);
        let exact = ScalabilityLaw {
            sigma: 1.0,
            kappa: 0.0,
            ..level
        };
        assert_eq!(exact.peak(), None);

        let falling =
            ScalabilityLaw::fit(&block(&[1.0, 2.0, 4.0, 8.0].map(|n| (n, 50.0 / n)))).unwrap();
        assert_eq!(falling.peak(), Some(1.0));

        let falling_to_a_level = ScalabilityLaw {
            lambda: 50.0,
            sigma: 2.0,
            kappa: 0.0,
            r2: None,
        };
        assert_eq!(falling_to_a_level.peak(), Some(1.0));
    }

    #[test]
    fn data_without_a_law_are_refused() {
        // Method: four loads of which two are equal, numbers out of range, and
        // a collapse steeper than the law permits.
        let three = block(&[(1.0, 9.0), (2.0, 15.0), (4.0, 20.0), (4.0, 21.0)]);
        assert_eq!(
            ScalabilityLaw::fit(&three),
            Err(StatsError::TooFewPositions { got: 3, need: 4 })
        );
        let none = block(&[(1.0, 9.0), (2.0, 0.0), (4.0, 20.0), (8.0, 21.0)]);
        assert!(matches!(
            ScalabilityLaw::fit(&none),
            Err(StatsError::NoThroughput { position: 1, .. })
        ));
        let half = block(&[(0.5, 9.0), (2.0, 10.0), (4.0, 20.0), (8.0, 21.0)]);
        assert!(matches!(
            ScalabilityLaw::fit(&half),
            Err(StatsError::BadPosition { position: 0, .. })
        ));
        let collapse = block(&[10.0, 20.0, 40.0, 80.0].map(|n: f64| (n, n.powi(-4))));
        assert_eq!(ScalabilityLaw::fit(&collapse), Err(StatsError::NoLaw));
    }
}
