//! The sampler: one event and one ring for each processor.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use super::attributes::{self, EventScope};
use super::record::{self, Chain, RawRecord, SamplerEvent};
use super::ring::Ring;

/// Takes call chains of what processors run.
///
/// It uses the CPU clock, which virtual machines have too: a sample stands for `1 / hz` seconds
/// of CPU time. Code that runs with interrupts disabled is charged to where they are enabled
/// again. A dropped sampler leaves nothing open.
#[derive(Debug)]
pub struct CpuSampler {
    /// Unmapped before their events are closed.
    rings: Vec<Ring>,
    events: Vec<OwnedFd>,
    /// Records that were taken from the rings, and are not yet delivered.
    taken: Vec<u8>,
    lost: u64,
    throttled: u64,
}

impl CpuSampler {
    /// Samples everything that runs on these processors, `hz` times per second of CPU time. It
    /// is off at first. Each processor has a buffer of at least `buffer_bytes_per_cpu`, at most
    /// 32 MiB.
    ///
    /// # Errors
    /// EACCES or EPERM if the machine forbids it (see [`super::SamplingRights`]), EINVAL if the
    /// rate is above `kernel.perf_event_max_sample_rate` or a processor is not there.
    pub fn open(cpus: &[usize], hz: u32, buffer_bytes_per_cpu: usize) -> io::Result<CpuSampler> {
        let mut sampler = CpuSampler::empty();
        for cpu in cpus {
            let event = attributes::open(EventScope::Processor, cpu_number(*cpu)?, hz)?;
            sampler.rings.push(Ring::map(&event, buffer_bytes_per_cpu)?);
            sampler.events.push(event);
        }
        Ok(sampler)
    }

    /// Samples the user code of these processes, and of those that they start from then on:
    /// what a user may do without further rights. It takes a descriptor for each thread and
    /// processor, at most `events_max`.
    ///
    /// # Errors
    /// As [`CpuSampler::open`]; `InvalidInput` if it would take more than `events_max`.
    pub fn of_processes(
        pids: &[u32],
        cpus: &[usize],
        hz: u32,
        buffer_bytes_per_cpu: usize,
        events_max: usize,
    ) -> io::Result<CpuSampler> {
        let threads = threads(pids)?;
        let needed = threads.len().saturating_mul(cpus.len());
        if needed > events_max {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{needed} perf events are needed, at most {events_max} are allowed"),
            ));
        }
        let mut sampler = CpuSampler::empty();
        for cpu in cpus {
            let cpu = cpu_number(*cpu)?;
            let first = sampler.events.len();
            for thread in &threads {
                let event = match attributes::open(EventScope::ThreadUser(*thread), cpu, hz) {
                    Ok(event) => event,
                    // The thread has ended.
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => continue,
                    Err(error) => return Err(error),
                };
                match sampler.events.get(first) {
                    None => sampler.rings.push(Ring::map(&event, buffer_bytes_per_cpu)?),
                    Some(owner) => attributes::share_ring(&event, owner)?,
                }
                sampler.events.push(event);
            }
        }
        Ok(sampler)
    }

    fn empty() -> CpuSampler {
        CpuSampler {
            rings: Vec::new(),
            events: Vec::new(),
            taken: Vec::new(),
            lost: 0,
            throttled: 0,
        }
    }

    /// Starts to sample.
    ///
    /// # Errors
    /// The kernel's; none is known.
    pub fn enable(&self) -> io::Result<()> {
        self.events.iter().try_for_each(attributes::enable)
    }

    /// Stops to sample; what was sampled can still be drained.
    ///
    /// # Errors
    /// The kernel's; none is known.
    pub fn disable(&self) -> io::Result<()> {
        self.events.iter().try_for_each(attributes::disable)
    }

    /// Delivers what has been sampled since the last time, of all processors, in the order of
    /// time. An event that happens meanwhile on another processor may come with the next call.
    /// It has to be called so often that no buffer fills: a sample takes 100 to 1,100 bytes.
    pub fn drain(&mut self, mut deliver: impl FnMut(SamplerEvent<'_>)) {
        self.taken.clear();
        for ring in &mut self.rings {
            ring.take(&mut self.taken);
        }
        let mut chain = Chain::default();
        for (_, start, length) in in_order(&self.taken) {
            match record::read(&self.taken[start..start + length], &mut chain) {
                Some(RawRecord::Event(event)) => deliver(event),
                Some(RawRecord::Lost(samples)) => self.lost += samples,
                Some(RawRecord::Throttled) => self.throttled += 1,
                Some(RawRecord::Other) | None => {}
            }
        }
    }

    /// How many records found no room in a buffer, as far as drained.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// How often the kernel suspended sampling because it took too much time, as far as
    /// drained. What ran meanwhile is not sampled.
    #[must_use]
    pub fn throttled(&self) -> u64 {
        self.throttled
    }
}

/// Time, start and length of each record.
fn in_order(taken: &[u8]) -> Vec<(u64, usize, usize)> {
    let mut places = Vec::new();
    let mut start = 0;
    while let Some(length) = record::length(&taken[start..]) {
        let time_ns = record::time_ns(&taken[start..start + length]);
        places.push((time_ns.unwrap_or(0), start, length));
        start += length;
    }
    places.sort_by_key(|(time_ns, _, _)| *time_ns);
    places
}

/// The threads of these processes that are left.
fn threads(pids: &[u32]) -> io::Result<Vec<i32>> {
    let mut threads = Vec::new();
    for pid in pids {
        let folder = match fs::read_dir(format!("/proc/{pid}/task")) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in folder {
            let name = entry?.file_name();
            threads.extend(name.to_str().and_then(|name| name.parse::<i32>().ok()));
        }
    }
    Ok(threads)
}

fn cpu_number(cpu: usize) -> io::Result<i32> {
    i32::try_from(cpu).map_err(|_| io::ErrorKind::InvalidInput.into())
}
