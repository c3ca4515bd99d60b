//! The sampler: one event per CPU, or per thread and CPU, and one ring per CPU.

use std::io;
use std::os::fd::OwnedFd;

use super::attributes::{self, EventScope};
use super::record::{self, Chain, RawRecord, SamplerEvent};
use super::ring::Ring;
use super::threads::SampledThreads;

/// Takes call chains of the code that CPUs run.
///
/// It uses the CPU clock, which virtual machines have too: a sample stands for `1 / hz` seconds
/// of CPU time. Code that runs with interrupts disabled is charged to the place that enables them
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
    threads_left_out: usize,
}

impl CpuSampler {
    /// Samples everything that runs on these CPUs, `hz` times per second of CPU time. It
    /// is off at first. Each CPU has a buffer of at least `buffer_bytes_per_cpu`, at most
    /// 32 MiB.
    ///
    /// # Errors
    /// EACCES or EPERM if the machine forbids it (see [`super::SamplingRights`]), EINVAL if the
    /// rate is above `kernel.perf_event_max_sample_rate` or a CPU does not exist.
    pub fn open(cpus: &[usize], hz: u32, buffer_bytes_per_cpu: usize) -> io::Result<CpuSampler> {
        CpuSampler::of_cpus(EventScope::Processor, cpus, hz, buffer_bytes_per_cpu)
    }

    /// Delivers every switch of these CPUs from one thread to another: a
    /// [`SamplerEvent::Switch`] for both threads, and before that of the thread that leaves, a
    /// sample with its functions in the kernel. Buffers are as in [`CpuSampler::open`].
    ///
    /// # Errors
    /// EACCES or EPERM if the machine forbids it.
    pub fn of_switches(cpus: &[usize], buffer_bytes_per_cpu: usize) -> io::Result<CpuSampler> {
        CpuSampler::of_cpus(EventScope::Switches, cpus, 0, buffer_bytes_per_cpu)
    }

    fn of_cpus(
        scope: EventScope,
        cpus: &[usize],
        hz: u32,
        buffer_bytes_per_cpu: usize,
    ) -> io::Result<CpuSampler> {
        let mut sampler = CpuSampler::empty();
        for cpu in cpus {
            let event = attributes::open(scope, cpu_number(*cpu)?, hz)?;
            sampler.rings.push(Ring::map(&event, buffer_bytes_per_cpu)?);
            sampler.events.push(event);
        }
        Ok(sampler)
    }

    /// Samples the user code of these processes, and of the threads and processes that they
    /// start from then on: what a user may do without further rights. A thread takes a
    /// descriptor per CPU, and all of them take at most `events_max`. If that is too
    /// few, the threads that have used the most CPU time are sampled
    /// ([`CpuSampler::threads_left_out`]).
    ///
    /// # Errors
    /// As [`CpuSampler::open`], with what `/proc` gives.
    pub fn of_processes(
        pids: &[u32],
        cpus: &[usize],
        hz: u32,
        buffer_bytes_per_cpu: usize,
        events_max: usize,
    ) -> io::Result<CpuSampler> {
        let threads = SampledThreads::of(pids, events_max / cpus.len().max(1))?;
        let mut sampler = CpuSampler::empty();
        sampler.threads_left_out = threads.left_out;
        for cpu in cpus {
            let cpu = cpu_number(*cpu)?;
            let first = sampler.events.len();
            for thread in &threads.sampled {
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
            threads_left_out: 0,
        }
    }

    /// Starts sampling.
    ///
    /// # Errors
    /// The kernel's; none is known.
    pub fn enable(&self) -> io::Result<()> {
        self.events.iter().try_for_each(attributes::enable)
    }

    /// Stops sampling; samples can still be drained.
    ///
    /// # Errors
    /// The kernel's; none is known.
    pub fn disable(&self) -> io::Result<()> {
        self.events.iter().try_for_each(attributes::disable)
    }

    /// Moves samples out of the buffers, into memory that grows. It has to be
    /// called so often that no buffer fills: a sample takes 100 to 1,100 bytes.
    pub fn take(&mut self) {
        for ring in &mut self.rings {
            ring.take(&mut self.taken);
        }
    }

    /// Delivers the events of all CPUs since the last call, in the order of
    /// time. An event that happens meanwhile on another CPU may come with the next call.
    pub fn drain(&mut self, mut deliver: impl FnMut(SamplerEvent<'_>)) {
        self.take();
        let mut chain = Chain::default();
        for (_, start, length) in in_order(&self.taken) {
            match record::read(&self.taken[start..start + length], &mut chain) {
                Some(RawRecord::Event(event)) => deliver(event),
                Some(RawRecord::Lost(samples)) => self.lost += samples,
                Some(RawRecord::Throttled) => self.throttled += 1,
                Some(RawRecord::Other) | None => {}
            }
        }
        self.taken.clear();
    }

    /// How many records found no room in a buffer, as far as drained.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// How often the kernel suspended sampling because it took too much time, as far as
    /// drained. Code that ran meanwhile is not sampled.
    #[must_use]
    pub fn throttled(&self) -> u64 {
        self.throttled
    }

    /// How many threads are not sampled because each takes descriptors.
    #[must_use]
    pub fn threads_left_out(&self) -> usize {
        self.threads_left_out
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

fn cpu_number(cpu: usize) -> io::Result<i32> {
    i32::try_from(cpu).map_err(|_| io::ErrorKind::InvalidInput.into())
}
