//! A worker: a child that inherits the listening socket and reports when it accepts connections.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::process::{ChildStdout, Command, Stdio};

use abx_sys::process::spawn_kept;
use abx_sys::{Nanos, Socket};
use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, Signal, kill_process};

/// A worker that has not been reaped, so that its process id still belongs to it.
#[derive(Debug)]
pub(super) struct WorkerProcess {
    pid: Pid,
    started: Nanos,
    /// Receives a byte when the worker accepts connections.
    readiness: ChildStdout,
    pub(super) is_ready: bool,
}

impl WorkerProcess {
    /// Starts a worker, which the kernel kills when the calling thread ends.
    pub(super) fn start(mut command: Command, listener: &Socket) -> io::Result<WorkerProcess> {
        let listener = listener.as_fd().try_clone_to_owned()?;
        command.stdin(Stdio::from(listener)).stdout(Stdio::piped());
        let mut child = spawn_kept(&mut command)?;
        let readiness = child.stdout.take().expect("standard output is a pipe");
        ioctl_fionbio(&readiness, true)?;
        Ok(WorkerProcess {
            pid: Pid::from_child(&child),
            started: Nanos::now(),
            readiness,
            is_ready: false,
        })
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// The time since the start of the worker.
    pub(super) fn lived(&self) -> std::time::Duration {
        Nanos::now().since(self.started).into()
    }

    /// The pipe that becomes readable when the worker is ready.
    pub(super) fn readiness(&self) -> impl AsFd + '_ {
        &self.readiness
    }

    /// Checks whether the worker has become ready; true only once.
    pub(super) fn becomes_ready(&mut self) -> bool {
        if self.is_ready {
            return false;
        }
        // The end of the pipe or an error does not mean that the worker is ready.
        self.is_ready = matches!(self.readiness.read(&mut [0]), Ok(1));
        self.is_ready
    }

    pub(super) fn signal(&self, signal: Signal) {
        // The process was not reaped: at worst, the signal is too late to matter.
        let _ = kill_process(self.pid, signal);
    }
}
