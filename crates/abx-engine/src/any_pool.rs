//! A pool over either back end, chosen when it is made: what runs per request
//! is compiled for each of them and asks no more.

use std::sync::atomic::AtomicBool;

use abx_evidence::{Outcomes, Tally};
use abx_sys::{Nanos, Receiving};

use crate::backend::BackendUsed;
use crate::engine::EngineError;
use crate::io::{EpollIo, UringIo};
use crate::plan::LoadPlan;
use crate::pool::{Pool, Ran, Stretch, has_large_answers};

/// What one worker needs to make its part of a pool.
pub(crate) struct PoolParts {
    pub(crate) backend: BackendUsed,
    pub(crate) plan: LoadPlan,
    /// The bytes of each request of the plan.
    pub(crate) encoded: Vec<Vec<u8>>,
    /// Which of all connections of the load this worker's first one is.
    pub(crate) first: usize,
    pub(crate) connections: usize,
}

/// One worker's share of a load's connections, over the back end that it got.
pub(crate) enum AnyPool {
    Epoll(Box<Pool<EpollIo>>),
    Uring(Box<Pool<UringIo>>),
}

/// Does the same with the pool of either back end.
macro_rules! either {
    ($any:expr, $pool:ident => $what:expr) => {
        match $any {
            AnyPool::Epoll($pool) => $what,
            AnyPool::Uring($pool) => $what,
        }
    };
}

impl AnyPool {
    /// Makes a pool; none of it is connected yet.
    ///
    /// # Errors
    /// The kernel gives no epoll set or no ring.
    pub(crate) fn new(parts: PoolParts) -> Result<AnyPool, EngineError> {
        let PoolParts {
            backend,
            plan,
            encoded,
            first,
            connections,
        } = parts;
        Ok(match backend {
            BackendUsed::Epoll => {
                let io = EpollIo::new().map_err(|source| EngineError::System {
                    what: "an epoll set",
                    source,
                })?;
                AnyPool::Epoll(Box::new(Pool::new(io, plan, encoded, first, connections)))
            }
            BackendUsed::Uring => {
                let io = UringIo::new(receiving(&plan))?;
                AnyPool::Uring(Box::new(Pool::new(io, plan, encoded, first, connections)))
            }
        })
    }

    /// Makes the connections that are missing; answers how many stand, how many
    /// of them are new, and how tries ended badly.
    pub(crate) fn connect_all(&mut self, stop: &AtomicBool) -> (usize, usize, Outcomes) {
        either!(self, pool => {
            let (standing, opened) = pool.connect_all(stop);
            (standing, opened, std::mem::take(&mut pool.connect_failures))
        })
    }

    /// Loads the subject for one stretch.
    pub(crate) fn run(&mut self, stretch: Stretch, stop: &AtomicBool) -> Ran {
        either!(self, pool => pool.run(stretch, stop))
    }

    /// What the last stretch gave.
    pub(crate) fn tally(&self) -> &Tally {
        either!(self, pool => pool.tally())
    }

    /// The pool's clock.
    pub(crate) fn now(&mut self) -> Nanos {
        either!(self, pool => pool.now())
    }
}

/// Receives stay armed where a connection serves many small answers; where it is
/// closed soon, or bodies are skipped, stopping them would cost more than arming.
fn receiving(plan: &LoadPlan) -> Receiving {
    let is_kept = plan.keep_alive && plan.pacing.session_calls.is_none();
    match is_kept && !has_large_answers(plan) {
        true => Receiving::Multishot,
        false => Receiving::Single,
    }
}
