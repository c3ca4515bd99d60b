//! Which CPUs there are, which of them share a core, and how they are assigned.

use std::io;

use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

use crate::kernel_files::read_lossy;

/// The CPUs that this process may use, in ascending order.
///
/// # Errors
/// The kernel's error: `InvalidInput` above 1024 CPUs.
pub fn allowed() -> io::Result<Vec<usize>> {
    Ok(list(&sched_getaffinity(None)?))
}

/// The CPUs that the first thread of another process may use.
///
/// # Errors
/// The kernel's error: above all that the process is gone.
pub fn allowed_to(pid: u32) -> io::Result<Vec<usize>> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::InvalidInput)?;
    Ok(list(&sched_getaffinity(Some(pid))?))
}

fn list(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::MAX_CPU)
        .filter(|cpu| set.is_set(*cpu))
        .collect()
}

/// Binds the calling thread, and the threads and processes that it starts later, to these CPUs.
///
/// # Errors
/// `InvalidInput` when none of them may be used.
pub fn pin_thread(cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for cpu in cpus.iter().copied() {
        if cpu >= CpuSet::MAX_CPU {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        set.set(cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// Groups CPUs that are threads of one core (SMT siblings), in ascending order.
///
/// If /sys does not state them, every CPU counts as a separate core.
#[must_use]
pub fn cores(cpus: &[usize]) -> Vec<Vec<usize>> {
    group_by_core(cpus, siblings)
}

/// The cores of these CPUs, if /sys states them for each.
#[must_use]
pub fn known_cores(cpus: &[usize]) -> Option<Vec<Vec<usize>>> {
    let is_known = |cpu: &usize| siblings(*cpu).is_some();
    cpus.iter().all(is_known).then(|| cores(cpus))
}

/// The CPUs of the core of this CPU.
fn siblings(cpu: usize) -> Option<Vec<usize>> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    parse_cpu_list(&read_lossy(path).ok()?)
}

fn group_by_core(
    cpus: &[usize],
    siblings: impl Fn(usize) -> Option<Vec<usize>>,
) -> Vec<Vec<usize>> {
    let mut left = cpus.to_vec();
    left.sort_unstable();
    left.dedup();
    let mut cores = Vec::new();
    while let Some(first) = left.first().copied() {
        let siblings = siblings(first).unwrap_or_default();
        let (core, others) = left
            .into_iter()
            .partition(|cpu| *cpu == first || siblings.contains(cpu));
        cores.push(core);
        left = others;
    }
    cores
}

/// Reads a set of CPUs as the kernel writes it: `0-3,8`.
fn parse_cpu_list(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        if last >= CpuSet::MAX_CPU {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// Which side uses which CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuSplit {
    /// For the servers under test, all of them the same.
    pub subjects: Vec<usize>,
    /// For the load generator, the lab and the sampler.
    pub generator: Vec<usize>,
}

impl CpuSplit {
    /// Divides cores (groups of SMT siblings, ascending): subjects get the first
    /// half, the generator the last one.
    ///
    /// An odd core goes to the generator: a server on fewer CPUs is still
    /// compared fairly, but if the generator is the limit nothing can be
    /// claimed. Siblings are divided only when there is one core, and a single
    /// CPU is shared.
    #[must_use]
    pub fn of(cores: &[Vec<usize>]) -> CpuSplit {
        let (subjects, generator) = match cores {
            [only] if only.len() <= 1 => (only.clone(), only.clone()),
            [only] => {
                let (first, last) = only.split_at(only.len() / 2);
                (first.to_vec(), last.to_vec())
            }
            _ => {
                let (first, last) = cores.split_at(cores.len() / 2);
                (first.concat(), last.concat())
            }
        };
        CpuSplit {
            subjects,
            generator,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(cores: &[&[usize]]) -> (Vec<usize>, Vec<usize>) {
        let cores: Vec<Vec<usize>> = cores.iter().map(|core| core.to_vec()).collect();
        let split = CpuSplit::of(&cores);
        (split.subjects, split.generator)
    }

    #[test]
    fn subjects_come_first_and_the_generator_last() {
        // Method: one machine of each kind, written out.
        assert_eq!(split(&[&[3]]), (vec![3], vec![3]));
        assert_eq!(split(&[&[0], &[1]]), (vec![0], vec![1]));
        assert_eq!(split(&[&[0, 1]]), (vec![0], vec![1]));
        assert_eq!(split(&[&[0, 2], &[1, 3]]), (vec![0, 2], vec![1, 3]));
        assert_eq!(split(&[&[0], &[1], &[2]]), (vec![0], vec![1, 2]));
        assert_eq!(
            split(&[&[0, 4], &[1, 5], &[2, 6], &[3, 7]]),
            (vec![0, 4, 1, 5], vec![2, 6, 3, 7])
        );
    }

    proptest! {
        #[test]
        fn every_cpu_belongs_to_one_side_from_two_cpus_on(count in 2..64_usize, width in 1..5_usize) {
            // Method: machines of any size; both sides together are all CPUs, once each.
            let cpus: Vec<usize> = (0..count).collect();
            let cores: Vec<Vec<usize>> = cpus.chunks(width).map(<[usize]>::to_vec).collect();
            let split = CpuSplit::of(&cores);
            prop_assert!(!split.subjects.is_empty() && !split.generator.is_empty());
            prop_assert_eq!([split.subjects, split.generator].concat(), cpus);
        }

        #[test]
        fn no_text_panics(text in "[0-9,\\-\\n x]{0,40}") {
            // Method: texts that look nearly like a list.
            let _ = parse_cpu_list(&text);
        }
    }

    #[test]
    fn siblings_form_a_core_and_cpus_without_known_siblings_are_single() {
        // Method: CPUs 0 and 2 are siblings, 3's list cannot be read, and 9,
        // a sibling of 1, may not be used.
        let cores = group_by_core(&[0, 1, 2, 3], |cpu| match cpu {
            0 | 2 => parse_cpu_list("0,2\n"),
            1 => parse_cpu_list("1,9\n"),
            _ => None,
        });
        assert_eq!(cores, [vec![0, 2], vec![1], vec![3]]);
        assert_eq!(parse_cpu_list("0-2,8\n"), Some(vec![0, 1, 2, 8]));
        assert_eq!(parse_cpu_list(""), None);
    }

    #[test]
    fn a_pinned_thread_stays_on_its_cpu() {
        // Method: pin a thread of its own to the last allowed CPU and read them again.
        let last = allowed().unwrap().last().copied().unwrap();
        let seen = std::thread::spawn(move || {
            pin_thread(&[last]).unwrap();
            allowed().unwrap()
        });
        assert_eq!(seen.join().unwrap(), [last]);
        assert_eq!(allowed_to(std::process::id()).unwrap(), allowed().unwrap());
        assert!(pin_thread(&[CpuSet::MAX_CPU]).is_err());
        assert!(pin_thread(&[]).is_err());
        let numbers = allowed().unwrap();
        assert_eq!(cores(&numbers).concat().len(), numbers.len());
    }
}
