//! Which processes were started since the last look, by the numbers that the kernel has given
//! since: it gives them in order, so no other process need be looked at.

use std::ops::RangeInclusive;

use crate::kernel_files::read_lossy;

/// Looking at more numbers than this costs more than looking at all existing processes.
pub(super) const NUMBERS_MAX: u32 = 2_000;
/// SUBTLE: A number is given some microseconds before its process can be seen. The last
/// ones of each look are looked at again, so that no process is born between two looks.
const AGAIN: u32 = 64;

/// How far the numbers have been looked at.
#[derive(Debug, Default)]
pub(super) struct Births {
    last: Option<u32>,
}

impl Births {
    /// The numbers of all processes that may have been born since the last look, when `last` is
    /// the last one that was given; `None` if all processes have to be looked at: at first,
    /// when they were many, and when numbers have begun again.
    pub(super) fn since(&mut self, last: Option<u32>) -> Option<RangeInclusive<u32>> {
        let (before, last) = (std::mem::replace(&mut self.last, last)?, last?);
        let given = last.checked_sub(before)?;
        (given <= NUMBERS_MAX).then(|| before.saturating_sub(AGAIN).max(1)..=last)
    }
}

/// The last number that was given to a process or thread of our namespace.
pub(super) fn last_number() -> Option<u32> {
    parse(&read_lossy("/proc/loadavg").ok()?)
}

/// The number ends the line. Kernels that imitate Linux may have a zero there.
fn parse(text: &str) -> Option<u32> {
    let number = text.split_ascii_whitespace().next_back()?.parse().ok()?;
    (number > 0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_given_since_are_looked_at() {
        // Method: a first look, one that finds no process, one that finds three, too many, and
        // numbers that have begun again or are unknown.
        let mut births = Births::default();
        let mut since = |last| births.since(last);
        assert_eq!(since(Some(1_000)), None);
        assert_eq!(since(Some(1_000)), Some(936..=1_000));
        assert_eq!(since(Some(1_003)), Some(936..=1_003));
        assert_eq!(since(Some(3_004)), None);
        assert_eq!(since(Some(3_005)), Some(2_940..=3_005));
        assert_eq!(since(Some(20)), None);
        assert_eq!(since(Some(22)), Some(1..=22));
        assert_eq!(since(None), None);
        assert_eq!(since(Some(22)), None);
    }

    #[test]
    fn the_last_number_ends_the_line() {
        // Method: a line of Linux, one of a kernel that imitates it, and no line.
        assert_eq!(parse("0.20 0.18 0.12 1/80 11206\n"), Some(11_206));
        assert_eq!(parse("0.00 0.00 0.00 0/0 0\n"), None);
        assert_eq!(parse(""), None);
        assert!(last_number().is_some_and(|last| last > 0));
    }
}
