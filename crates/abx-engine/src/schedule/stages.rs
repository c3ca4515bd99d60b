//! A value that changes over time in stages, and its text form.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use abx_sys::Nanos;
use serde::{Deserialize, Serialize};

use super::amount::{Amount, AmountError};

/// A value over time: a rate, or a number of connections.
///
/// Written as stages with commas between, each independent of those before it:
///
/// ```text
/// stages = stage *( "," stage )
/// stage  = value "@" time               holds the value for that time
///        / value ":" value "@" time     goes evenly from one to the other
/// value  = 0 to 10000000, at most three decimals
/// time   = number and unit, such as 30s, 500ms or 1m30s; up to 24 h
/// ```
///
/// So `0:20000@30s,20000@60s` rises to 20,000 within 30 s and stays there for
/// 60 s, and `100@10s,500@10s` jumps. White space around stages does not count.
/// At least one value is above zero. In JSON it is this text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StageList(Vec<Stage>);

/// A slice of time with a value that stays constant or changes evenly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    /// The value at its beginning.
    pub from: Amount,
    /// The value that it reaches at its end.
    pub to: Amount,
    pub lasts: Nanos,
}

/// Why a text is no list of stages.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StageListError {
    #[error("there are no stages: write some, such as 0:20000@30s,20000@60s")]
    Empty,
    #[error("every stage is at 0, so nothing would happen: give one a value above it")]
    AllZero,
    #[error("stage {number} `{text}`: {wrong}")]
    Stage {
        /// Its place, from 1.
        number: usize,
        text: String,
        wrong: StageError,
    },
}

/// The fault of one stage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StageError {
    #[error("it is empty: remove the extra comma")]
    Empty,
    #[error("it has no duration: add a time, such as 20000@60s")]
    NoTime,
    #[error("`{0}` is not a time: write a number and its unit, such as 30s or 500ms")]
    Time(String),
    #[error("its duration is 0: leave it out, a jump needs no stage")]
    NoLength,
    #[error("it lasts longer than 24h: split it in several")]
    TooLong,
    #[error("{0}")]
    Value(#[from] AmountError),
}

impl StageList {
    /// The stages in order, at least one.
    #[must_use]
    pub fn stages(&self) -> &[Stage] {
        &self.0
    }

    /// How long all stages last together.
    #[must_use]
    pub fn lasts(&self) -> Nanos {
        self.0
            .iter()
            .fold(Nanos(0), |sum, stage| sum.plus(stage.lasts))
    }

    /// The value at a moment, rounded down to a thousandth; `None` once the last
    /// stage is over. Where two stages meet, the value is that of the second.
    #[must_use]
    pub fn value_at(&self, at: Nanos) -> Option<Amount> {
        let mut left = at.0;
        for stage in &self.0 {
            if left < stage.lasts.0 {
                return Some(stage.value_at(left));
            }
            left -= stage.lasts.0;
        }
        None
    }
}

impl Stage {
    /// The value after `passed` ns, which is less than the stage's length.
    fn value_at(&self, passed: u64) -> Amount {
        let (from, to) = (self.from.thousandths(), self.to.thousandths());
        let weighted = u128::from(from) * u128::from(self.lasts.0 - passed)
            + u128::from(to) * u128::from(passed);
        u64::try_from(weighted / u128::from(self.lasts.0))
            .ok()
            .and_then(Amount::from_thousandths)
            .expect("a value between two amounts is one")
    }
}

impl FromStr for StageList {
    type Err = StageListError;

    fn from_str(text: &str) -> Result<StageList, StageListError> {
        if text.trim().is_empty() {
            return Err(StageListError::Empty);
        }
        let read = |(place, part): (usize, &str)| {
            part.parse().map_err(|wrong| StageListError::Stage {
                number: place + 1,
                text: part.trim().to_owned(),
                wrong,
            })
        };
        let parts = text.split(',').enumerate();
        let stages = parts.map(read).collect::<Result<Vec<Stage>, _>>()?;
        let is_zero = |stage: &Stage| (stage.from, stage.to) == (Amount::ZERO, Amount::ZERO);
        if stages.iter().all(is_zero) {
            return Err(StageListError::AllZero);
        }
        Ok(StageList(stages))
    }
}

impl FromStr for Stage {
    type Err = StageError;

    fn from_str(text: &str) -> Result<Stage, StageError> {
        if text.trim().is_empty() {
            return Err(StageError::Empty);
        }
        let (values, time) = text.split_once('@').ok_or(StageError::NoTime)?;
        let (from, to) = values.split_once(':').unwrap_or((values, values));
        Ok(Stage {
            from: from.trim().parse()?,
            to: to.trim().parse()?,
            lasts: stage_time(time.trim())?,
        })
    }
}

impl fmt::Display for StageList {
    /// Each stage in its shortest form, which parses to the same list.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, stage) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(formatter, "{comma}{stage}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.from == self.to {
            write!(formatter, "{}@", self.from)?;
        } else {
            write!(formatter, "{}:{}@", self.from, self.to)?;
        }
        let time = humantime::format_duration(Duration::from(self.lasts)).to_string();
        formatter.write_str(&time.replace(' ', ""))
    }
}

impl TryFrom<String> for StageList {
    type Error = StageListError;

    fn try_from(text: String) -> Result<StageList, StageListError> {
        text.parse()
    }
}

impl From<StageList> for String {
    fn from(list: StageList) -> String {
        list.to_string()
    }
}

fn stage_time(text: &str) -> Result<Nanos, StageError> {
    let time = humantime::parse_duration(text).map_err(|_| StageError::Time(text.to_owned()))?;
    match Nanos::from(time) {
        Nanos(0) => Err(StageError::NoLength),
        time if time > STAGE_MAX => Err(StageError::TooLong),
        time => Ok(time),
    }
}

/// The longest stage: its area at the largest rate still fits into 128 bits.
pub(super) const STAGE_MAX: Nanos = Nanos(24 * 3_600 * 1_000_000_000);
