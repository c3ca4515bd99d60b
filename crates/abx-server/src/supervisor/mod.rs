//! The supervisor: it keeps the listening socket, and processes that accept from it.
//!
//! A worker that ends is replaced, after a wait that grows when workers end soon after their start.
//! SIGHUP replaces all workers, each as soon as its successor accepts connections; SIGTERM and
//! SIGINT end all. The socket stays open throughout, so that connections wait in its backlog and
//! none is refused. The kernel kills the workers if the supervisor is killed.

mod backoff;
mod worker_process;

use std::fmt;
use std::io::{self, Read};
use std::num::NonZeroU32;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use abx_sys::process::{Exit, Reaped, reap};
use abx_sys::{Epoll, Events, Interest, Nanos, ServerAddress, Socket};
use rustix::process::Signal;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use crate::config::{ServeError, ServerConfig};
use crate::content::ServedContent;
use crate::listener::{ListeningSocket, listening_address};
use crate::models;
use backoff::Backoff;
use worker_process::WorkerProcess;

/// An event that a supervisor reports.
#[derive(Debug)]
pub enum WorkerEvent {
    /// A worker ended by itself, and another one starts.
    Ended {
        /// The worker's number, from 1.
        number: u32,
        pid: u32,
        exit: Exit,
        wait: Duration,
    },
    /// A worker could not be started, which is retried.
    NotStarted {
        number: u32,
        error: io::Error,
        wait: Duration,
    },
    /// A successor ended before it accepted connections; the worker to be replaced stays.
    NotReplaced {
        /// The number of both processes.
        number: u32,
        exit: Exit,
    },
    /// A worker did not end when it had to, and was killed.
    Killed { pid: u32 },
}

/// Keeps this number of workers running until a signal ends the supervisor.
///
/// `command` creates the command of the worker with a number, which serves as
/// [`crate::ProcessRole::Worker`] and writes a byte to its standard output when it is ready.
/// `on_ready` is called once, when all workers are ready. Call this function on the first thread of
/// a process that has no other children.
///
/// # Errors
/// [`ServeError`] if no worker could serve this configuration, or the kernel refuses what a
/// supervisor needs. The end of a worker is reported, and is not an error.
pub fn supervise(
    config: &ServerConfig,
    workers: NonZeroU32,
    command: impl Fn(u32) -> Command,
    on_ready: impl FnOnce(ServerAddress),
    notify: impl Fn(&WorkerEvent),
) -> Result<(), ServeError> {
    config.check()?;
    config.check_workers(workers)?;
    // Errors of the configuration are reported once, not by each worker.
    ServedContent::open(config)?;
    models::event::wanted_ring(&config.content)?;
    ListeningSocket::tls(config)?;
    let bind = || {
        let listener = ListeningSocket::bind(config)?;
        let address = listening_address(config, &listener)?;
        Ok((listener, address))
    };
    let (listener, address) = bind().map_err(|source| ServeError::Listen {
        address: Box::new(config.address),
        source,
    })?;
    let orders = Orders::take().map_err(ServeError::Supervise)?;
    let mut supervisor = Supervisor {
        listener,
        command,
        notify,
        places: (1..=workers.get()).map(Place::new).collect(),
        leaving: Vec::new(),
        orders,
        is_ending: false,
    };
    supervisor
        .run(|| on_ready(address))
        .map_err(ServeError::Supervise)
}

/// The commands that signals give.
struct Orders {
    ends: Arc<AtomicBool>,
    renews: Arc<AtomicBool>,
    /// Receives a byte with every signal.
    event: UnixStream,
    epoll: Epoll,
}

struct Supervisor<C, T> {
    listener: Socket,
    command: C,
    notify: T,
    places: Vec<Place>,
    /// Workers that must end, and when they are killed.
    leaving: Vec<(WorkerProcess, Option<Nanos>)>,
    orders: Orders,
    is_ending: bool,
}

/// The place of a worker and of its successors.
struct Place {
    number: u32,
    worker: Option<WorkerProcess>,
    /// The worker that takes the place when it is ready.
    successor: Option<WorkerProcess>,
    backoff: Backoff,
    /// When to start a worker, if one must start.
    start_at: Option<Nanos>,
}

impl Place {
    fn new(number: u32) -> Place {
        Place {
            number,
            worker: None,
            successor: None,
            backoff: Backoff::default(),
            start_at: Some(Nanos(0)),
        }
    }
}

impl<C: Fn(u32) -> Command, T: Fn(&WorkerEvent)> Supervisor<C, T> {
    fn run(&mut self, on_ready: impl FnOnce()) -> io::Result<()> {
        let mut on_ready = Some(on_ready);
        loop {
            self.orders.drain();
            self.reap()?;
            self.settle_successors();
            if self.is_ready()
                && let Some(on_ready) = on_ready.take()
            {
                on_ready();
            }
            if self.orders.ends.swap(false, Ordering::Relaxed) {
                // A second signal ends the wait.
                let grace = if self.is_ending { Nanos(0) } else { END_GRACE };
                self.is_ending = true;
                self.end_all(grace);
            }
            if self.is_ending && self.leaving.is_empty() {
                return Ok(());
            }
            if self.orders.renews.swap(false, Ordering::Relaxed) && !self.is_ending {
                self.renew();
            }
            self.start_those_due()?;
            self.kill_those_overdue();
            self.orders.wait(self.deadline())?;
        }
    }

    /// Removes workers that have ended, and schedules their replacement.
    fn reap(&mut self) -> io::Result<()> {
        while let Reaped::Ended { pid, exit } = reap()? {
            self.leaving.retain(|(worker, _)| worker.pid() != pid);
            for place in &mut self.places {
                if place
                    .successor
                    .take_if(|worker| worker.pid() == pid)
                    .is_some()
                {
                    let number = place.number;
                    (self.notify)(&WorkerEvent::NotReplaced { number, exit });
                }
                let Some(worker) = place.worker.take_if(|worker| worker.pid() == pid) else {
                    continue;
                };
                if let Some(successor) = place.successor.take() {
                    place.worker = Some(successor);
                    continue;
                }
                let wait = place.backoff.after(worker.lived());
                place.start_at = Some(Nanos::now().plus(wait.into()));
                (self.notify)(&WorkerEvent::Ended {
                    number: place.number,
                    pid,
                    exit,
                    wait,
                });
            }
        }
        Ok(())
    }

    /// Replaces workers by their successors that are ready.
    fn settle_successors(&mut self) {
        for place in &mut self.places {
            if let Some(worker) = &mut place.worker {
                worker.becomes_ready();
            }
            let is_ready = |worker: &mut WorkerProcess| worker.becomes_ready();
            if let Some(successor) = place.successor.take_if(is_ready) {
                let old = place.worker.replace(successor);
                self.leaving
                    .extend(old.map(|old| dismiss(old, RENEWAL_GRACE)));
            }
        }
    }

    /// Whether every place has a worker that accepts connections.
    fn is_ready(&self) -> bool {
        let mut workers = self.places.iter().map(|place| &place.worker);
        workers.all(|worker| worker.as_ref().is_some_and(|worker| worker.is_ready))
    }

    /// Starts a successor of each worker that has none.
    fn renew(&mut self) {
        for place in &mut self.places {
            place.backoff = Backoff::default();
            if place.worker.is_none() || place.successor.is_none() {
                place.start_at = Some(Nanos(0));
            }
        }
    }

    fn end_all(&mut self, grace: Nanos) {
        for place in &mut self.places {
            place.start_at = None;
            let workers = [place.worker.take(), place.successor.take()];
            let workers = workers.into_iter().flatten();
            self.leaving
                .extend(workers.map(|worker| dismiss(worker, grace)));
        }
        let now = Nanos::now();
        for (_, kill_at) in &mut self.leaving {
            *kill_at = kill_at.map(|at| at.min(now.plus(grace)));
        }
    }

    fn start_those_due(&mut self) -> io::Result<()> {
        for place in &mut self.places {
            if place.start_at.is_none_or(|at| at > Nanos::now()) {
                continue;
            }
            place.start_at = None;
            let number = place.number;
            match WorkerProcess::start((self.command)(number), &self.listener) {
                Ok(worker) => {
                    self.orders
                        .epoll
                        .add(worker.readiness(), 0, Interest::all())?;
                    match place.worker {
                        None => place.worker = Some(worker),
                        Some(_) => place.successor = Some(worker),
                    }
                }
                Err(error) => {
                    let wait = place.backoff.after(Duration::ZERO);
                    place.start_at = Some(Nanos::now().plus(wait.into()));
                    (self.notify)(&WorkerEvent::NotStarted {
                        number,
                        error,
                        wait,
                    });
                }
            }
        }
        Ok(())
    }

    fn kill_those_overdue(&mut self) {
        let now = Nanos::now();
        for (worker, kill_at) in &mut self.leaving {
            if kill_at.take_if(|at| *at <= now).is_some() {
                worker.signal(Signal::KILL);
                let pid = worker.pid();
                (self.notify)(&WorkerEvent::Killed { pid });
            }
        }
    }

    /// When the next start or kill is due.
    fn deadline(&self) -> Option<Nanos> {
        let starts = self.places.iter().filter_map(|place| place.start_at);
        let kills = self.leaving.iter().filter_map(|(_, kill_at)| *kill_at);
        starts.chain(kills).min()
    }
}

/// Signals a worker to end, and returns it with the time at which it is killed.
fn dismiss(worker: WorkerProcess, grace: Nanos) -> (WorkerProcess, Option<Nanos>) {
    worker.signal(Signal::TERM);
    (worker, Some(Nanos::now().plus(grace)))
}

impl Orders {
    /// Handles the signals, none of which is lost from now on.
    fn take() -> io::Result<Orders> {
        let (event, sender) = UnixStream::pair()?;
        event.set_nonblocking(true)?;
        let orders = Orders {
            ends: Arc::default(),
            renews: Arc::default(),
            epoll: Epoll::new()?,
            event,
        };
        // The order matters: a thread that wakes finds the flag set.
        for signal in [SIGTERM, SIGINT] {
            flag::register(signal, Arc::clone(&orders.ends))?;
        }
        flag::register(SIGHUP, Arc::clone(&orders.renews))?;
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGCHLD] {
            low_level::pipe::register(signal, sender.try_clone()?)?;
        }
        orders.epoll.add(&orders.event, 0, Interest::all())?;
        Ok(orders)
    }

    fn drain(&mut self) {
        let mut bytes = [0; 64];
        while matches!(self.event.read(&mut bytes), Ok(1..)) {}
    }

    /// Waits for an event, at most until `deadline`.
    fn wait(&self, deadline: Option<Nanos>) -> io::Result<()> {
        let timeout = deadline.map(|at| at.since(Nanos::now()));
        self.epoll.wait(&mut Events::with_capacity(8), timeout)
    }
}

impl fmt::Display for WorkerEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorkerEvent::Ended {
                number,
                pid,
                exit,
                wait,
            } => {
                let wait = wait.as_millis();
                write!(
                    formatter,
                    "worker {number} (process {pid}) ended: {exit}; another one starts in {wait} ms"
                )
            }
            WorkerEvent::NotStarted {
                number,
                error,
                wait,
            } => {
                let wait = wait.as_millis();
                write!(
                    formatter,
                    "worker {number} cannot be started: {error}; tried again in {wait} ms"
                )
            }
            WorkerEvent::NotReplaced { number, exit } => write!(
                formatter,
                "worker {number} is not replaced: its successor ended: {exit}"
            ),
            WorkerEvent::Killed { pid } => write!(
                formatter,
                "process {pid} was killed: it did not end when asked to stop"
            ),
        }
    }
}

/// How long workers may continue with open responses if all workers end.
const END_GRACE: Nanos = Nanos(2_000_000_000);

/// How long a replaced worker may keep its connections.
const RENEWAL_GRACE: Nanos = Nanos(10_000_000_000);
