//! The names of the machine's other programs.

use std::collections::BTreeMap;

use crate::findings::prelude::*;
use abx_evidence::record::OtherProgram;

/// The most other programs that are named, and the least CPU time of each.
const PROGRAMS: usize = 3;
const PROGRAM_CPU_MIN_S: f64 = 0.01;

/// A clause that names the other programs which used most CPU time during the blocks; empty if
/// none is known.
pub(super) fn busiest(record: &Measured) -> String {
    let blocks = record.complete_blocks();
    named(blocks.flat_map(|block| &block.other_programs))
        .map_or_else(String::new, |names| format!("; most active were {names}"))
}

/// The programs that used most CPU time over all readings, with that time.
pub(crate) fn named<'a>(programs: impl Iterator<Item = &'a OtherProgram>) -> Option<String> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for program in programs {
        *sums.entry(&program.name).or_default() += program.cpu_s;
    }
    let mut sums: Vec<(&str, f64)> = sums.into_iter().collect();
    sums.retain(|(_, cpu_s)| *cpu_s >= PROGRAM_CPU_MIN_S);
    sums.sort_by(|(_, cpu_s), (_, other)| other.total_cmp(cpu_s));
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
