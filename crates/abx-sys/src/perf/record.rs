//! The records of a ring, as the kernel lays them out for the events of `attributes`.
//!
//! Every record begins with a header. A sample holds thread, time, CPU and chain; every
//! other record ends with thread, time and CPU.

use perf_event_open_sys::bindings;

/// The events that a sampler delivers, in the order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SamplerEvent<'a> {
    Sample(CpuSample<'a>),
    /// A process mapped a file, or anonymous memory, to run code from it.
    Mapping(MappedFile<'a>),
    /// A process started another one, which has its mappings.
    Fork {
        parent: u32,
        child: u32,
    },
    /// A process runs another program: its earlier mappings are gone.
    Exec {
        pid: u32,
    },
    /// The first thread of a process has ended.
    Exit {
        pid: u32,
    },
    Switch(ThreadSwitch),
}

/// A thread got a CPU, or left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadSwitch {
    pub tid: u32,
    /// By the monotonic clock.
    pub time_ns: u64,
    pub direction: SwitchDirection,
}

/// Which way a thread went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwitchDirection {
    /// It runs from now on.
    In,
    /// It waits from now on.
    Out,
    /// It could continue, but another thread took its CPU.
    Preempted,
}

/// The code that a CPU was running at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuSample<'a> {
    pub pid: u32,
    pub tid: u32,
    pub cpu: u32,
    /// By the monotonic clock.
    pub time_ns: u64,
    /// Addresses in the kernel, innermost first; empty if user code was running, or if the
    /// sampler may not see the kernel.
    pub kernel: &'a [u64],
    /// Addresses of the process, innermost first. Past the first they are as good as the
    /// frame pointers of its code.
    pub user: &'a [u64],
}

/// Memory that holds code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MappedFile<'a> {
    pub pid: u32,
    pub start: u64,
    /// In bytes.
    pub len: u64,
    /// Where it starts in the file, in bytes.
    pub offset: u64,
    pub inode: u64,
    /// As the process sees it; `//anon`, `[vdso]` and the like for what is no file.
    pub path: &'a [u8],
}

/// A record of one ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RawRecord<'a> {
    Event(SamplerEvent<'a>),
    /// The number of samples that found the ring full.
    Lost(u64),
    /// The kernel suspended sampling, because it took too much time.
    Throttled,
    /// A record that does not matter here.
    Other,
}

/// Room for the two parts of a call chain.
#[derive(Debug, Default)]
pub(super) struct Chain {
    kernel: Vec<u64>,
    user: Vec<u64>,
}

/// The length of the record that these bytes begin with; `None` if there is no whole one.
pub(super) fn length(bytes: &[u8]) -> Option<usize> {
    let length = usize::from(u16::from_ne_bytes(take(bytes, 6)?));
    (length >= HEADER_BYTES && length <= bytes.len()).then_some(length)
}

/// When a record was written.
pub(super) fn time_ns(record: &[u8]) -> Option<u64> {
    let kind = u32::from_ne_bytes(take(record, 0)?);
    match kind {
        bindings::PERF_RECORD_SAMPLE => word(record, HEADER_BYTES + 8),
        _ => word(record, record.len().checked_sub(TRAILER_BYTES - 8)?),
    }
}

/// Reads one record; `None` if it is shorter than its kind.
pub(super) fn read<'a>(record: &'a [u8], chain: &'a mut Chain) -> Option<RawRecord<'a>> {
    let kind = u32::from_ne_bytes(take(record, 0)?);
    let flags = u16::from_ne_bytes(take(record, 4)?);
    let body = record.get(HEADER_BYTES..)?;
    let event = match kind {
        bindings::PERF_RECORD_SAMPLE => SamplerEvent::Sample(sample(body, chain)?),
        bindings::PERF_RECORD_MMAP2 => SamplerEvent::Mapping(mapping(body)?),
        bindings::PERF_RECORD_FORK => match (half(body, 0)?, half(body, 4)?) {
            // A thread of the same process.
            (child, parent) if child == parent => return Some(RawRecord::Other),
            (child, parent) => SamplerEvent::Fork { parent, child },
        },
        bindings::PERF_RECORD_EXIT => match (half(body, 0)?, half(body, 8)?) {
            (pid, tid) if pid == tid => SamplerEvent::Exit { pid },
            _ => return Some(RawRecord::Other),
        },
        bindings::PERF_RECORD_COMM
            if u32::from(flags) & bindings::PERF_RECORD_MISC_COMM_EXEC != 0 =>
        {
            SamplerEvent::Exec {
                pid: half(body, 0)?,
            }
        }
        bindings::PERF_RECORD_SWITCH_CPU_WIDE => SamplerEvent::Switch(ThreadSwitch {
            tid: half(record, record.len().checked_sub(TRAILER_BYTES - 4)?)?,
            time_ns: time_ns(record)?,
            direction: direction(u32::from(flags)),
        }),
        bindings::PERF_RECORD_LOST => return Some(RawRecord::Lost(word(body, 8)?)),
        bindings::PERF_RECORD_LOST_SAMPLES => return Some(RawRecord::Lost(word(body, 0)?)),
        bindings::PERF_RECORD_THROTTLE => return Some(RawRecord::Throttled),
        _ => return Some(RawRecord::Other),
    };
    Some(RawRecord::Event(event))
}

fn direction(flags: u32) -> SwitchDirection {
    if flags & bindings::PERF_RECORD_MISC_SWITCH_OUT == 0 {
        SwitchDirection::In
    } else if flags & bindings::PERF_RECORD_MISC_SWITCH_OUT_PREEMPT == 0 {
        SwitchDirection::Out
    } else {
        SwitchDirection::Preempted
    }
}

fn sample<'a>(body: &[u8], chain: &'a mut Chain) -> Option<CpuSample<'a>> {
    let addresses = usize::try_from(word(body, 24)?).ok()?;
    let addresses = body.get(32..32_usize.checked_add(addresses.checked_mul(8)?)?)?;
    chain.kernel.clear();
    chain.user.clear();
    let mut context = bindings::PERF_CONTEXT_MAX;
    for address in addresses.chunks_exact(8) {
        let address = u64::from_ne_bytes(address.try_into().ok()?);
        match context {
            // Markers are the highest addresses there are.
            _ if address >= bindings::PERF_CONTEXT_MAX => context = address,
            bindings::PERF_CONTEXT_KERNEL => chain.kernel.push(address),
            bindings::PERF_CONTEXT_USER => chain.user.push(address),
            _ => {}
        }
    }
    Some(CpuSample {
        pid: half(body, 0)?,
        tid: half(body, 4)?,
        cpu: half(body, 16)?,
        time_ns: word(body, 8)?,
        kernel: &chain.kernel,
        user: &chain.user,
    })
}

fn mapping(body: &[u8]) -> Option<MappedFile<'_>> {
    let path = body.get(64..body.len().checked_sub(TRAILER_BYTES)?)?;
    let end = path.iter().position(|byte| *byte == 0);
    Some(MappedFile {
        pid: half(body, 0)?,
        start: word(body, 8)?,
        len: word(body, 16)?,
        offset: word(body, 24)?,
        inode: word(body, 40)?,
        path: &path[..end.unwrap_or(path.len())],
    })
}

fn take<const N: usize>(bytes: &[u8], start: usize) -> Option<[u8; N]> {
    bytes.get(start..)?.first_chunk().copied()
}

fn half(bytes: &[u8], start: usize) -> Option<u32> {
    take(bytes, start).map(u32::from_ne_bytes)
}

fn word(bytes: &[u8], start: usize) -> Option<u64> {
    take(bytes, start).map(u64::from_ne_bytes)
}

/// Kind, flags and length.
const HEADER_BYTES: usize = 8;
/// Thread, time and CPU at the end of records that are not samples.
const TRAILER_BYTES: usize = 24;

#[cfg(test)]
mod tests;
