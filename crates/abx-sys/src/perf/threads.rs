//! The threads of processes that are sampled one by one.

use std::cmp::Reverse;
use std::fs;
use std::io;

use crate::kernel_files::{if_there, read_lossy};

/// Threads that are sampled, and the number of other threads.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SampledThreads {
    pub(super) sampled: Vec<i32>,
    pub(super) left_out: usize,
}

impl SampledThreads {
    /// The threads of these processes that have not ended; if there are more than `threads_max`,
    /// those that have used the most CPU time.
    pub(super) fn of(pids: &[u32], threads_max: usize) -> io::Result<SampledThreads> {
        let mut threads = Vec::new();
        for pid in pids {
            let Some(folder) = if_there(fs::read_dir(format!("/proc/{pid}/task")))? else {
                continue;
            };
            for entry in folder {
                let Some(entry) = if_there(entry)? else {
                    break;
                };
                let number = entry
                    .file_name()
                    .to_str()
                    .and_then(|name| name.parse().ok());
                threads.extend(number.map(|thread: i32| (*pid, thread)));
            }
        }
        if threads.len() > threads_max {
            threads.sort_by_cached_key(|(pid, thread)| Reverse(run_ns(*pid, *thread)));
        }
        let left_out = threads.len().saturating_sub(threads_max);
        threads.truncate(threads_max);
        let sampled = threads.into_iter().map(|(_, thread)| thread).collect();
        Ok(SampledThreads { sampled, left_out })
    }
}

/// For how long a thread has run; 0 if it has ended, or the kernel does not report it.
fn run_ns(pid: u32, thread: i32) -> u64 {
    let text = read_lossy(format!("/proc/{pid}/task/{thread}/schedstat"));
    let first = text
        .ok()
        .and_then(|text| text.split(' ').next()?.parse().ok());
    first.unwrap_or(0)
}
