//! Where a subject's CPU time goes: samples of its call chains under load, after the slices that
//! count.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::{fs, io};

use abx_ledger::{CodeMapping, Collector, Kallsyms, Ledger, Symbols};
use abx_sys::limits::descriptor_limit;
use abx_sys::perf::{CpuSampler, MappedFile, SamplerEvent, SamplingRights, max_sample_rate};

use super::call_profiler::CallProfiler;
use super::emptied::emptied;

/// Samples per second of CPU time. A prime, so that samples do not keep step with timers.
const SAMPLES_PER_S: u32 = 3_989;
/// The largest buffer that the kernel gives to every user: `kernel.perf_event_mlock_kb` without
/// its page of positions.
const BUFFER_BYTES: usize = 512 << 10;
/// The most events of threads: the kernel needs some kilobytes for each, and some 10 us to open
/// it.
const EVENTS_MAX: usize = 4_096;
/// The most stacks that a ledger keeps of one interval; samples of other stacks count only by line.
const STACKS_MAX: usize = 400;
/// The part of the counted load of a block that is sampled once more.
const SHARE_OF_LOAD: f64 = 0.1;
/// The length of a sampled interval, in ns. A shorter one has too few samples; another block would
/// show more than a longer one.
const INTERVAL_NS: RangeInclusive<u64> = 100_000_000..=2_000_000_000;
/// Afterwards, calls are counted for a quarter of that time: a count needs less time than a share.
const CALLS_PART: u64 = 4;
/// The part of the counted load of a block that `--why` adds.
pub const WHY_SHARE: f64 = SHARE_OF_LOAD * (1.0 + 1.0 / CALLS_PART as f64);

/// The processes whose samples count.
#[derive(Debug, Clone, Default)]
pub struct SampledProcesses {
    pub of_subject: HashSet<u32>,
    /// Those of all services, which run on the subjects' processors.
    pub of_services: HashSet<u32>,
}

/// The ledgers of one interval.
#[derive(Debug, Clone, Default)]
pub struct SampledLedgers {
    pub of_subject: Ledger,
    /// Without stacks; empty if only user code can be sampled.
    pub of_services: Ledger,
}

/// Samples the code of subjects and services.
pub struct Profiler {
    /// Counts calls and waits after the samples.
    pub calls: CallProfiler,
    source: Source,
    /// Per second of CPU time.
    samples_per_s: u32,
    kallsyms: Arc<Kallsyms>,
    /// The modules of the kernel when `kallsyms` was read.
    modules: Vec<String>,
    symbols: Symbols,
}

enum Source {
    /// Everything on the subjects' processors.
    Processors(CpuSampler),
    /// The user code of a subject's threads on these processors, as far as users may: a sampler
    /// is opened for each interval.
    OwnCode(Vec<usize>),
}

impl Profiler {
    /// A profiler of these processors, which samples nothing yet. If the machine forbids to
    /// sample the kernel, it samples the user code of subjects.
    ///
    /// # Errors
    /// The error that forbids both; [`Kallsyms::of_this_machine`].
    pub fn open(cpus: &[usize]) -> io::Result<Profiler> {
        // A kernel whose interrupts took too long allows fewer.
        let samples_per_s = SAMPLES_PER_S.min(max_sample_rate().unwrap_or(u32::MAX));
        let source = match CpuSampler::open(cpus, samples_per_s, BUFFER_BYTES) {
            Ok(sampler) => Source::Processors(sampler),
            Err(error) => own_code(cpus, SamplingRights::of_this_process(), error)?,
        };
        let kallsyms = match source {
            Source::Processors(_) => Kallsyms::of_this_machine()?,
            Source::OwnCode(_) => Kallsyms::default(),
        };
        let kallsyms = Arc::new(kallsyms);
        Ok(Profiler {
            calls: CallProfiler::open(cpus, Arc::clone(&kallsyms), BUFFER_BYTES),
            source,
            samples_per_s,
            kallsyms,
            modules: loaded_modules(),
            symbols: Symbols::new(),
        })
    }

    /// The number of samples per second of CPU time.
    pub fn samples_per_s(&self) -> u32 {
        self.samples_per_s
    }

    /// Whether it samples the kernel, and services.
    pub fn samples_kernel(&self) -> bool {
        matches!(self.source, Source::Processors(_))
    }

    /// Samples while `load` runs. Only samples of these processes count, and of those that they
    /// start meanwhile. Returns the result of `load` in any case, and the ledgers unless sampling
    /// failed.
    pub fn sample<'a, T>(
        &mut self,
        processes: &'a SampledProcesses,
        load: impl FnOnce() -> T,
    ) -> (T, io::Result<SampledLedgers>) {
        self.know_modules();
        let mut of_threads;
        let (sampler, without_kernel) = match &mut self.source {
            Source::Processors(sampler) => (sampler, false),
            Source::OwnCode(cpus) => {
                match sampler_of(&processes.of_subject, cpus, self.samples_per_s) {
                    Ok(sampler) => {
                        of_threads = sampler;
                        (&mut of_threads, true)
                    }
                    Err(error) => return (load(), Err(error)),
                }
            }
        };
        // Mappings, processes and modules until now are in /proc.
        sampler.drain(|_| {});
        let before = (sampler.lost(), sampler.throttled());
        let enabled = sampler.enable();
        let collector = |members: &'a HashSet<u32>| {
            let mut collector = Collector::new(Arc::clone(&self.kallsyms), is_in(members));
            collector.expect(members.iter().copied());
            collector
        };
        let mut of_subject = collector(&processes.of_subject);
        let mut of_services = collector(&processes.of_services);
        let result = emptied(sampler, load);
        let ledgers = enabled.and_then(|()| sampler.disable()).map(|()| {
            sampler.drain(|event| {
                collect(&mut of_subject, event);
                collect(&mut of_services, event);
            });
            let with_gaps = |ledger| Ledger {
                lost: sampler.lost() - before.0,
                throttled: sampler.throttled() - before.1,
                threads_left_out: sampler.threads_left_out() as u64,
                without_kernel,
                ..ledger
            };
            SampledLedgers {
                of_subject: with_gaps(of_subject.finish(&self.symbols, STACKS_MAX)),
                of_services: with_gaps(of_services.finish(&self.symbols, 0)),
            }
        });
        if self.symbols.has_transient_files() {
            self.symbols = Symbols::new();
        }
        (result, ledgers)
    }

    /// Reads the kernel's functions again if modules have come or gone.
    fn know_modules(&mut self) {
        let modules = loaded_modules();
        if modules == self.modules || !self.samples_kernel() {
            return;
        }
        if let Ok(kallsyms) = Kallsyms::of_this_machine() {
            self.kallsyms = Arc::new(kallsyms);
            self.calls.know(&self.kallsyms);
            self.modules = modules;
        }
    }
}

/// The names of the kernel's modules; empty if it has none, or does not list them.
fn loaded_modules() -> Vec<String> {
    let text = fs::read_to_string("/proc/modules").unwrap_or_default();
    let names = text.lines().filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

/// The source for a user without the right to sample the kernel.
fn own_code(cpus: &[usize], rights: SamplingRights, error: io::Error) -> io::Result<Source> {
    match rights {
        SamplingRights::All => Err(error),
        SamplingRights::OwnUserOnly(_) => Ok(Source::OwnCode(cpus.to_vec())),
        SamplingRights::None(limit) => Err(io::Error::other(limit.to_string())),
    }
}

fn sampler_of(
    members: &HashSet<u32>,
    cpus: &[usize],
    samples_per_s: u32,
) -> io::Result<CpuSampler> {
    let pids: Vec<u32> = members.iter().copied().collect();
    // The other half is for the files that this process opens otherwise.
    let descriptors = usize::try_from(descriptor_limit().soft / 2).unwrap_or(usize::MAX);
    let events_max = EVENTS_MAX.min(descriptors);
    CpuSampler::of_processes(&pids, cpus, samples_per_s, BUFFER_BYTES, events_max)
}

/// How long a load is sampled in a block with this many slices of this length, in ns.
#[must_use]
pub fn interval_ns(rounds: u32, slice_ns: u64) -> u64 {
    let counted_ns = u64::from(rounds).saturating_mul(slice_ns);
    let part_ns = (counted_ns as f64 * SHARE_OF_LOAD) as u64;
    part_ns.clamp(*INTERVAL_NS.start(), *INTERVAL_NS.end())
}

/// How long a block loads a subject for `--why` in all, in ns.
#[must_use]
pub fn profiled_ns(rounds: u32, slice_ns: u64) -> u64 {
    let sampled_ns = interval_ns(rounds, slice_ns);
    sampled_ns + calls_interval_ns(sampled_ns)
}

/// How long calls are counted after a sampled interval of this length, in ns.
#[must_use]
pub fn calls_interval_ns(interval_ns: u64) -> u64 {
    interval_ns / CALLS_PART
}

fn is_in(processes: &HashSet<u32>) -> impl Fn(u32) -> bool {
    |process| processes.contains(&process)
}

fn collect<F: Fn(u32) -> bool>(collector: &mut Collector<F>, event: SamplerEvent<'_>) {
    match event {
        SamplerEvent::Sample(sample) => {
            collector.sample([sample.pid, sample.tid], sample.kernel, sample.user);
        }
        SamplerEvent::Mapping(file) => collector.mapping(file.pid, &mapping(&file)),
        SamplerEvent::Fork { parent, child } => collector.fork(parent, child),
        SamplerEvent::Exec { pid } => collector.exec(pid),
        SamplerEvent::Exit { pid } => collector.exit(pid),
        // Only a sampler of switches has them.
        SamplerEvent::Switch(_) => {}
    }
}

fn mapping<'a>(file: &MappedFile<'a>) -> CodeMapping<'a> {
    CodeMapping {
        start: file.start,
        len: file.len,
        offset: file.offset,
        inode: file.inode,
        path: file.path,
    }
}

#[cfg(test)]
mod tests {
    use abx_sys::perf::SamplingLimit;

    use super::*;

    #[test]
    fn a_sampled_interval_is_a_part_of_the_load_within_bounds() {
        // Method: blocks with many slices, with few, with too many, and with one long trial.
        let ms = 1_000_000;
        assert_eq!(interval_ns(100, 100 * ms), 1_000 * ms);
        assert_eq!(interval_ns(5, 100 * ms), 100 * ms);
        assert_eq!(interval_ns(1_000, 100 * ms), 2_000 * ms);
        assert_eq!(interval_ns(1, 10_000 * ms), 1_000 * ms);
        assert_eq!(interval_ns(u32::MAX, u64::MAX), 2_000 * ms);
        let added = (100 * 100 * ms) as f64 * WHY_SHARE;
        assert_eq!(profiled_ns(100, 100 * ms), added as u64);
    }

    #[test]
    fn without_rights_for_the_kernel_the_servers_own_code_is_sampled() {
        // Method: each kind of rights, after the sampler of whole processors has failed.
        let limit = SamplingLimit::Paranoid(3);
        let source = |rights| {
            let failed = io::Error::other("no such processor");
            own_code(&[1, 3], rights, failed)
        };
        // The failure is not one of rights.
        let error = source(SamplingRights::All).err().unwrap();
        assert_eq!(error.to_string(), "no such processor");
        let own = source(SamplingRights::OwnUserOnly(limit)).unwrap();
        assert!(matches!(own, Source::OwnCode(cpus) if cpus == [1, 3]));
        let error = source(SamplingRights::None(limit)).err().unwrap();
        assert_eq!(error.to_string(), limit.to_string());
    }
}
