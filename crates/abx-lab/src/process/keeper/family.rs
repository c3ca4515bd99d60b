//! The processes that one keeper keeps: the command that it started, and all its descendants.

use std::collections::HashSet;
use std::io;
use std::time::Duration;

use abx_sys::Nanos;
use abx_sys::process::{Exit, Reaped, Signal, reap};
use abx_sys::tree::{RelativeState, descendants};

use super::Stop;
use super::wakes::Wakes;

/// The first pause between two rounds of killing, for processes that were forked meanwhile. It
/// doubles up to [`KILL_PAUSE_MAX`] for processes that the kernel cannot end at once.
pub const KILL_PAUSE: Duration = Duration::from_millis(10);
pub const KILL_PAUSE_MAX: Duration = Duration::from_secs(1);

/// The command and all that it has started.
pub struct ProcessFamily {
    main: u32,
    outlives_main: bool,
    main_exit: Option<Exit>,
    last_exit: Option<Exit>,
}

impl ProcessFamily {
    /// The family of a command with this process number. If the command fails, the family may
    /// outlive it, or else ends with it.
    pub fn new(main: u32, outlives_main: bool) -> ProcessFamily {
        ProcessFamily {
            main,
            outlives_main,
            main_exit: None,
            last_exit: None,
        }
    }

    /// How the command itself ended, `None` while it runs.
    pub fn main_exit(&self) -> Option<Exit> {
        self.main_exit
    }

    /// Sleeps until the command has ended, or its end is requested; returns whether it has ended.
    ///
    /// A command that succeeds while other processes of its tree run has gone into the background.
    /// The end of the tree is then the end of the command, as in a family that outlives its
    /// command.
    pub fn watch(&mut self, wakes: &mut Wakes) -> io::Result<bool> {
        loop {
            let is_alone = !self.reap()?;
            let may_continue = self.outlives_main || self.main_exit == Some(Exit::Code(0));
            if self.main_exit.is_some() && (is_alone || !may_continue) {
                return Ok(true);
            }
            if wakes.sleep(None)? {
                return Ok(false);
            }
        }
    }

    /// Waits until no process is left, at most for `within`, and signals none.
    pub fn wait(&mut self, within: Duration, wakes: &mut Wakes) -> io::Result<()> {
        let deadline = Nanos::now().plus(within.into());
        while self.reap()? {
            let left = deadline.since(Nanos::now());
            if left == Nanos(0) {
                break;
            }
            wakes.sleep(Some(left))?;
        }
        Ok(())
    }

    /// Ends the remaining processes, and returns how many had to be killed.
    ///
    /// It signals every child of the keeper once: the command, and then the processes that the
    /// keeper adopts after the command's end. So each parent may end its children in its own way
    /// first.
    pub fn stop(&mut self, stop: Stop, wakes: &mut Wakes) -> io::Result<usize> {
        let deadline = Nanos::now().plus(stop.within.into());
        let keeper = std::process::id();
        let mut signalled = HashSet::new();
        while self.reap()? {
            let left = deadline.since(Nanos::now());
            if left == Nanos(0) {
                return self.kill(wakes);
            }
            for relative in descendants(keeper)? {
                if relative.parent == keeper && signalled.insert(relative.process) {
                    // A process that cannot be signalled is killed when the time is over.
                    let _ = relative.process.signal(stop.signal);
                }
                if relative.state == RelativeState::Stopped {
                    // Until it continues, it receives no signal except SIGKILL.
                    let _ = relative.process.signal(Signal::Cont);
                }
            }
            wakes.sleep(Some(left))?;
        }
        Ok(0)
    }

    /// Kills until no process is left, and returns how many were killed.
    pub fn kill(&mut self, wakes: &mut Wakes) -> io::Result<usize> {
        let mut killed = HashSet::new();
        let mut pause = KILL_PAUSE;
        while self.reap()? {
            for relative in descendants(std::process::id())? {
                if let Ok(true) = relative.process.signal(Signal::Kill) {
                    killed.insert(relative.process);
                }
            }
            wakes.sleep(Some(pause.into()))?;
            pause = (pause * 2).min(KILL_PAUSE_MAX);
        }
        Ok(killed.len())
    }

    /// Reaps ended children; returns whether any process is left.
    ///
    /// The kernel hands orphans over before their parent can be reaped, so "no child" proves that
    /// the whole tree has ended.
    pub fn reap(&mut self) -> io::Result<bool> {
        loop {
            match reap()? {
                Reaped::Ended { pid, exit } => {
                    if pid == self.main {
                        // A descendant may get the same number later.
                        self.main_exit.get_or_insert(exit);
                    }
                    self.last_exit = Some(exit);
                }
                Reaped::NoneYet => return Ok(true),
                Reaped::NoChild => return Ok(false),
            }
        }
    }

    /// How the command failed or, if it went into the background, how the last process of its tree
    /// ended.
    pub fn exit(&self) -> Option<Exit> {
        let failure = self.main_exit.filter(|exit| *exit != Exit::Code(0));
        failure.or(self.last_exit)
    }
}
