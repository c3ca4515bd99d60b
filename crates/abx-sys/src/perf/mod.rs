//! Samples of the code that CPUs run, by `perf_event_open`.
//!
//! [`CpuSampler`] takes call chains on some CPUs, at a fixed rate of CPU time.
//! [`SamplingRights`] reports beforehand how much of that this machine allows.

mod attributes;
mod record;
mod rights;
mod ring;
mod sampler;
mod threads;

pub use record::{CpuSample, MappedFile, SamplerEvent, SwitchDirection, ThreadSwitch};
pub use rights::{SamplingLimit, SamplingRights, kptr_restrict, max_sample_rate, paranoid};
pub use sampler::CpuSampler;
