//! Samples of what processors run, by `perf_event_open`.
//!
//! [`CpuSampler`] takes call chains on some processors, at a fixed rate of CPU time.
//! [`SamplingRights`] says beforehand how much of that this machine allows.

mod attributes;
mod record;
mod rights;
mod ring;
mod sampler;

pub use record::{CpuSample, MappedFile, SamplerEvent};
pub use rights::{SamplingLimit, SamplingRights, kptr_restrict, paranoid};
pub use sampler::CpuSampler;
