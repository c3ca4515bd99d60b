//! The context of every start of a process.

use std::path::Path;

use abx_engine::Stopper;
use abx_sys::limits::DescriptorLimit;

use crate::process::pending::Pending;
use abx_study::GeneratedFile;
use abx_study::placeholder::FilledWord;

/// The context of every start.
pub struct StartContext<'a> {
    /// The program that becomes a keeper when given `keeper_arguments`.
    pub program: &'a Path,
    pub keeper_arguments: &'a [&'a str],
    pub cpus: &'a [usize],
    /// The limit on file descriptors of a subject.
    pub descriptors: DescriptorLimit,
    /// Files that are made for every subject.
    pub files: &'a [GeneratedFile],
    /// The seed of these files.
    pub seed: u64,
    /// The placeholders of the services that run.
    pub services: &'a [FilledWord],
    /// Whether the processes of a server may continue when its main process fails.
    pub outlives_main: bool,
    /// Ends a start that still waits.
    pub stopper: Stopper,
    /// Draws a number below its argument.
    pub draw: &'a mut dyn FnMut(u32) -> u32,
    /// Receives the current wait.
    pub on_pending: &'a dyn Fn(Pending),
}
