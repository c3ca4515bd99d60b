//! Known answers: what abx reports where the truth is known. `truth NAME --abx FILE` runs one of
//! these and prints a table; it ends with 1 if a response is wrong.
//!
//! - `known`: servers of exact capacity that count what they serve.
//! - `equal`: a server compared with itself, by every metric.
//! - `planted`: planted differences, again and again.
//! - `spread`: how the length of slices changes the spread of blocks.
//! - `stall`: response times of a server that stalls on schedule.

mod equal;
mod known;
mod planted;
mod spread;
mod stall;
mod study;

use std::error::Error;

/// What ends a measurement early.
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
