//! The threads that were sampled, by name.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fs;

/// Samples by the numbers of process and thread.
#[derive(Default)]
pub(super) struct Threads(HashMap<(u32, u32), u64>);

impl Threads {
    pub(super) fn add(&mut self, pid: u32, tid: u32) {
        *self.0.entry((pid, tid)).or_default() += 1;
    }

    /// Samples by the name of the thread.
    pub(super) fn by_name(&self) -> BTreeMap<String, u64> {
        let mut by_name = BTreeMap::new();
        for ((pid, tid), samples) in &self.0 {
            *by_name.entry(name(*pid, *tid)).or_insert(0) += samples;
        }
        greatest(by_name)
    }
}

/// The name of a thread. A thread without a name of its own, or one that has ended, counts as one of
/// the other threads of its process.
fn name(pid: u32, tid: u32) -> String {
    let Some(main) = comm(&format!("/proc/{pid}/comm")) else {
        return ENDED.to_owned();
    };
    if tid == pid {
        return main;
    }
    let own = comm(&format!("/proc/{pid}/task/{tid}/comm")).filter(|own| *own != main);
    own.unwrap_or_else(|| format!("{main}, other threads"))
}

/// The name in a file of /proc, of at most 15 bytes.
fn comm(path: &str) -> Option<String> {
    let text = fs::read(path).ok()?;
    Some(without_numbers(String::from_utf8_lossy(&text).trim_end()))
}

/// The name with a `*` for each number after a separator, so that the threads of a pool have one
/// name. `apache2` and `C2 CompilerThread` keep their numbers.
fn without_numbers(name: &str) -> String {
    let mut short = String::with_capacity(name.len());
    for character in name.chars() {
        let follows_separator = short.ends_with(|last: char| SEPARATORS.contains(last));
        match character {
            '0'..='9' if short.ends_with('*') => {}
            '0'..='9' if follows_separator => short.push('*'),
            _ => short.push(character),
        }
    }
    short
}

/// The names with the most samples; the others together.
fn greatest(by_name: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut names: Vec<(String, u64)> = by_name.into_iter().collect();
    names.sort_by_key(|(_, samples)| Reverse(*samples));
    let others = names.split_off(names.len().min(NAMES_MAX));
    let mut greatest: BTreeMap<String, u64> = names.into_iter().collect();
    let others: u64 = others.iter().map(|(_, samples)| samples).sum();
    if others > 0 {
        *greatest.entry(OTHERS.to_owned()).or_default() += others;
    }
    greatest
}

const SEPARATORS: &str = " -_#:/";
/// A server may give each of its threads a name of its own.
const NAMES_MAX: usize = 64;
const OTHERS: &str = "[others]";
/// The name of threads whose process has ended.
const ENDED: &str = "[ended]";

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn the_threads_of_a_pool_have_one_name() {
        // Method: names as runtimes give them.
        for (name, expected) in [
            ("GC Thread#12", "GC Thread#*"),
            ("pool-1-thread-7", "pool-*-thread-*"),
            ("C2 CompilerThre", "C2 CompilerThre"),
            ("php-fpm8.2", "php-fpm8.2"),
            ("", ""),
        ] {
            assert_eq!(without_numbers(name), expected);
        }
    }

    fn own_tid() -> u32 {
        let path = fs::read_link("/proc/thread-self").unwrap();
        path.file_name().unwrap().to_str().unwrap().parse().unwrap()
    }

    #[test]
    fn samples_are_counted_by_name_with_those_of_ended_threads() {
        // Method: samples of a running thread, of one that has ended, of the main thread, and of an
        // ended process.
        let (own, gone) = (std::process::id(), u32::MAX - 1);
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        let ended = named("ended-1").spawn(own_tid).unwrap().join().unwrap();
        // The kernel removes a thread shortly after others know of its end.
        while fs::exists(format!("/proc/{own}/task/{ended}")).unwrap() {
            thread::yield_now();
        }
        let running = named("pool-17").spawn(move || {
            let mut threads = Threads::default();
            (0..3).for_each(|_| threads.add(own, own_tid()));
            threads.add(own, ended);
            threads.add(own, own);
            threads.add(gone, gone);
            threads.by_name()
        });
        let by_name = running.unwrap().join().unwrap();
        let main = comm(&format!("/proc/{own}/comm")).unwrap();
        let expected = [
            ("pool-*".to_owned(), 3),
            (format!("{main}, other threads"), 1),
            (main, 1),
            (ENDED.to_owned(), 1),
        ];
        assert_eq!(by_name, expected.into());
    }

    #[test]
    fn many_names_are_counted_together() {
        // Method: a name more than a ledger keeps, each with another number of samples.
        let names =
            (0..=NAMES_MAX).map(|number| (format!("thread {number:02}"), number as u64 + 1));
        let names = greatest(names.collect());
        assert_eq!(names.len(), NAMES_MAX + 1);
        assert_eq!(names[OTHERS], 1);
    }
}
