//! Where a subject's CPU time goes: call chains that are sampled while it is loaded, after the
//! slices that count.

use std::collections::HashSet;
use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;

use abx_ledger::{CodeMapping, Collector, Kallsyms, Ledger, Symbols};
use abx_sys::perf::{CpuSampler, MappedFile, SamplerEvent};

/// Samples per second of CPU time. A prime, so that samples do not keep step with timers.
pub const SAMPLES_PER_S: u32 = 3_989;
/// Room for 3 s of samples with chains of 60 frames.
const BUFFER_BYTES: usize = 8 << 20;
/// Stacks that a ledger keeps of one interval; samples of the others are counted by line.
const STACKS_MAX: usize = 400;
/// The part of the counted load of a block that is sampled once more.
const SHARE_OF_LOAD: f64 = 0.12;
/// A sampled interval takes so long, in ns: a shorter one has few samples, and of a longer one
/// another block would tell more.
const INTERVAL_NS: RangeInclusive<u64> = 100_000_000..=2_000_000_000;

/// Samples what runs on the subjects' processors.
pub struct Profiler {
    sampler: CpuSampler,
    kallsyms: Arc<Kallsyms>,
    symbols: Symbols,
}

impl Profiler {
    /// A profiler of these processors, which samples nothing yet.
    ///
    /// # Errors
    /// As [`CpuSampler::open`]; [`Kallsyms::of_this_machine`].
    pub fn open(cpus: &[usize]) -> io::Result<Profiler> {
        let kallsyms = Kallsyms::of_this_machine()?;
        Ok(Profiler {
            sampler: CpuSampler::open(cpus, SAMPLES_PER_S, BUFFER_BYTES)?,
            kallsyms: Arc::new(kallsyms),
            symbols: Symbols::new(),
        })
    }

    /// Samples while `load` goes on. The samples of these processes count, and of those that
    /// they start meanwhile. What `load` gives is given back, whether or not it is an error;
    /// without samples there is no ledger.
    pub fn sample<T>(
        &mut self,
        members: &HashSet<u32>,
        load: impl FnOnce() -> T,
    ) -> (T, io::Result<Ledger>) {
        // What was mapped or started since the last interval is in /proc.
        self.sampler.drain(|_| {});
        let lost_before = self.lost();
        let enabled = self.sampler.enable();
        let given = load();
        let ledger = enabled.and_then(|()| self.sampler.disable()).map(|()| {
            let mut collector =
                Collector::new(Arc::clone(&self.kallsyms), |pid| members.contains(&pid));
            self.sampler.drain(|event| collect(&mut collector, event));
            let mut ledger = collector.finish(&self.symbols, STACKS_MAX);
            ledger.lost = self.lost() - lost_before;
            ledger
        });
        (given, ledger)
    }

    fn lost(&self) -> u64 {
        self.sampler.lost()
    }
}

/// For how long a load is sampled in a block with so many slices of this length, in ns.
#[must_use]
pub fn interval_ns(rounds: u32, slice_ns: u64) -> u64 {
    let counted_ns = u64::from(rounds).saturating_mul(slice_ns);
    let part_ns = (counted_ns as f64 * SHARE_OF_LOAD) as u64;
    part_ns.clamp(*INTERVAL_NS.start(), *INTERVAL_NS.end())
}

fn collect<F: Fn(u32) -> bool>(collector: &mut Collector<F>, event: SamplerEvent<'_>) {
    match event {
        SamplerEvent::Sample(sample) => collector.sample(sample.pid, sample.kernel, sample.user),
        SamplerEvent::Mapping(file) => collector.mapping(file.pid, &mapping(&file)),
        SamplerEvent::Fork { parent, child } => collector.fork(parent, child),
        SamplerEvent::Exec { pid } => collector.exec(pid),
        SamplerEvent::Exit { pid } => collector.exit(pid),
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
    use super::*;

    #[test]
    fn a_sampled_interval_is_a_part_of_the_load_within_bounds() {
        // Method: blocks of many slices, of few, of one long trial, and of very many.
        let ms = 1_000_000;
        assert_eq!(interval_ns(100, 100 * ms), 1_200 * ms);
        assert_eq!(interval_ns(5, 100 * ms), 100 * ms);
        assert_eq!(interval_ns(1_000, 100 * ms), 2_000 * ms);
        assert_eq!(interval_ns(1, 10_000 * ms), 1_200 * ms);
        assert_eq!(interval_ns(u32::MAX, u64::MAX), 2_000 * ms);
    }
}
