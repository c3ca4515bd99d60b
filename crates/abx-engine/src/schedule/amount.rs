//! Decimal numbers as users write them, held exactly.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A count or a rate per second: 0 to 10,000,000, exact to a thousandth.
///
/// It is stored as a whole number, so that nothing is rounded between a flag and a schedule.
/// In JSON it is a plain number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Amount {
    thousandths: u64,
}

/// An [`Amount`] per second that is above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Amount", into = "Amount")]
pub struct PerSecond(Amount);

/// Why a number cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    #[error(
        "`{0}` is not a number from 0 to 10000000 with at most three decimals: write one such as \
         20000 or 0.5"
    )]
    Number(String),
    #[error("a rate of 0 sends nothing: write one above zero, such as 20000 or 0.5")]
    Zero,
}

impl Amount {
    pub const ZERO: Amount = Amount { thousandths: 0 };

    pub const ONE: Amount = Amount {
        thousandths: THOUSAND,
    };

    /// The largest amount: more than one machine can send in a second, and
    /// small enough that every schedule fits into 128 bits.
    pub const MAX: Amount = Amount {
        thousandths: 10_000_000 * THOUSAND,
    };

    /// An amount in thousandths; `None` above [`Amount::MAX`].
    #[must_use]
    pub fn from_thousandths(thousandths: u64) -> Option<Amount> {
        let amount = Amount { thousandths };
        (amount <= Amount::MAX).then_some(amount)
    }

    /// The amount in thousandths.
    #[must_use]
    pub const fn thousandths(self) -> u64 {
        self.thousandths
    }

    /// The nearest whole number; halves are rounded up.
    #[must_use]
    pub fn rounded(self) -> u64 {
        (self.thousandths + THOUSAND / 2) / THOUSAND
    }
}

impl FromStr for Amount {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Amount, AmountError> {
        let error = || AmountError::Number(text.to_owned());
        let (whole, decimals) = match text.split_once('.') {
            Some((whole, decimals)) if !decimals.is_empty() => (whole, decimals),
            Some(_) => return Err(error()),
            None => (text, ""),
        };
        let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || decimals.len() > 3 || !are_digits(whole) || !are_digits(decimals) {
            return Err(error());
        }
        let thousandths = format!("{whole}{decimals:0<3}");
        let thousandths = thousandths.parse().map_err(|_| error())?;
        Amount::from_thousandths(thousandths).ok_or_else(error)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.thousandths / THOUSAND, self.thousandths % THOUSAND);
        if rest == 0 {
            return write!(formatter, "{whole}");
        }
        let decimals = format!("{rest:03}");
        write!(formatter, "{whole}.{}", decimals.trim_end_matches('0'))
    }
}

impl TryFrom<f64> for Amount {
    type Error = AmountError;

    fn try_from(number: f64) -> Result<Amount, AmountError> {
        let thousandths = (number * THOUSAND as f64).round();
        // Every amount has exactly one nearest `f64`, and only that number is accepted.
        let is_exact = thousandths / THOUSAND as f64 == number && thousandths >= 0.0;
        Some(thousandths as u64)
            .filter(|_| is_exact)
            .and_then(Amount::from_thousandths)
            .ok_or_else(|| AmountError::Number(number.to_string()))
    }
}

impl From<Amount> for f64 {
    fn from(amount: Amount) -> f64 {
        amount.thousandths as f64 / THOUSAND as f64
    }
}

impl PerSecond {
    /// The rate as an amount.
    #[must_use]
    pub fn amount(self) -> Amount {
        self.0
    }
}

impl TryFrom<Amount> for PerSecond {
    type Error = AmountError;

    fn try_from(amount: Amount) -> Result<PerSecond, AmountError> {
        match amount {
            Amount::ZERO => Err(AmountError::Zero),
            amount => Ok(PerSecond(amount)),
        }
    }
}

impl From<PerSecond> for Amount {
    fn from(rate: PerSecond) -> Amount {
        rate.0
    }
}

impl FromStr for PerSecond {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<PerSecond, AmountError> {
        PerSecond::try_from(text.parse::<Amount>()?)
    }
}

impl fmt::Display for PerSecond {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

const THOUSAND: u64 = 1_000;
