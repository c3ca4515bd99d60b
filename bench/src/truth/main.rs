//! Compares the reports of abx with known truths. `truth NAME --abx FILE` runs one of these
//! comparisons and prints a table; it exits with 1 if a result is wrong.
//!
//! - `known`: servers of exact capacity that count what they serve.
//! - `equal`: a server compared with itself, by every metric.
//! - `planted`: planted differences, repeatedly.
//! - `spread`: how the length of slices changes the spread of blocks.
//! - `stall`: response times of a server that stalls on schedule.

mod equal;
mod known;
mod planted;
mod spread;
mod stall;
mod study;

use std::error::Error;

/// A result, or the error that ends a measurement.
type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const USAGE: &str = "usage: truth known|equal|planted|spread|stall --abx FILE [...]";

fn main() -> Outcome {
    let mut words = std::env::args().skip(1);
    let name = words.next().unwrap_or_default();
    match name.as_str() {
        "known" => known::run(words),
        "equal" => equal::run(words),
        "planted" => planted::run(words),
        "spread" => spread::run(words),
        "stall" => stall::run(words),
        spread::NEIGHBOUR => spread::neighbour(),
        _ => Err(USAGE.into()),
    }
}
