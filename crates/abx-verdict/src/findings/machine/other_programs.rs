//! The other programs of the machine, in words.

use std::collections::BTreeMap;

use crate::findings::prelude::*;
use abx_evidence::record::OtherProgram;

/// So many other programs are named, each that used at least this much CPU time.
const PROGRAMS: usize = 3;
const PROGRAM_CPU_MIN_S: f64 = 0.01;

/// The other programs of this machine that used most CPU time during the blocks, to follow a
/// clause; empty if none is known.
pub(super) fn busiest(record: &Measured) -> String {
    let blocks = record.complete_blocks();
    named(blocks.flat_map(|block| &block.other_programs))
        .map_or_else(String::new, |names| format!("; most active were {names}"))
}

/// The programs of several readings that used most CPU time together, with that time.
pub(crate) fn named<'a>(programs: impl Iterator<Item = &'a OtherProgram>) -> Option<String> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for program in programs {
        *sums.entry(&program.name).or_default() += program.cpu_s;
    }
    let mut sums: Vec<(&str, f64)> = sums.into_iter().collect();
    sums.retain(|(_, cpu_s)| *cpu_s >= PROGRAM_CPU_MIN_S);
    sums.sort_by(|sum, other| other.1.total_cmp(&sum.1));
    let names: Vec<String> = sums
        .iter()
        .take(PROGRAMS)
        .map(|(name, cpu_s)| format!("{name} ({cpu_s:.2} s of CPU time)"))
        .collect();
    (!names.is_empty()).then(|| listed(&names))
}

/// `a`, `a and b`, or `a, b and c`.
pub(super) fn listed(words: &[impl AsRef<str>]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    }
}
