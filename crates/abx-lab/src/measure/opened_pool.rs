//! A pool of connections to one subject, opened before a load.

use std::thread;
use std::time::Duration;

use abx_engine::{AwaitedConnections, LoadPlan, PoolId};
use abx_evidence::ConnectionOpening;
use abx_sys::{Nanos, ServerAddress, tree};

use crate::measure::running_subjects::{Abort, RunningSubjects};
use crate::process::pending::{PENDING_FROM, Pending, while_pending};

/// A server that accepts no connection for this long accepts no more.
const ACCEPTS_WITHIN: Nanos = Nanos(100_000_000);
/// How often the queue of a server is read.
const LOOK_EVERY: Duration = Duration::from_millis(1);

pub struct OpenedPool {
    pub pool: PoolId,
    pub opening: ConnectionOpening,
}

impl OpenedPool {
    /// Connections that could not be made.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.opening.asked.saturating_sub(self.opening.standing)
    }
}

impl RunningSubjects<'_> {
    /// Opens a pool within the time that is left, and reports its progress.
    ///
    /// # Errors
    /// [`Abort::Engine`].
    pub fn open(&mut self, plan: &LoadPlan) -> Result<OpenedPool, Abort> {
        let began = self.generator.now();
        let left = |deadline: Nanos| deadline.since(began).0;
        let plan = LoadPlan {
            open_within_ns: self.deadline.map(left),
            ..plan.clone()
        };
        let subject = self.name_at(plan.address);
        let (pool, report) = while_pending(self.on_pending, |notify| {
            let mut on_wait = |awaited| notify(Pending::connections(&subject, awaited));
            let opened = self.generator.open(&plan, &mut on_wait);
            if opened.is_ok() {
                self.wait_until_accepted(&plan, &mut on_wait);
            }
            opened
        })?;
        self.open_pools.push(pool);
        Ok(OpenedPool {
            pool,
            opening: ConnectionOpening {
                asked: plan.connections.into(),
                standing: report.standing as u64,
                open_ns: self.generator.now().since(began).0,
                failures: report.failures,
            },
        })
    }

    /// Closes a pool.
    pub fn close(&mut self, pool: PoolId) {
        self.open_pools.retain(|open| *open != pool);
        self.generator.close(pool);
    }

    /// Closes the pools that an abort left open, so that a server which continues, and the limits
    /// of later blocks, do not bear their connections.
    pub fn close_all(&mut self) {
        for pool in std::mem::take(&mut self.open_pools) {
            self.generator.close(pool);
        }
    }

    /// Waits while a server on this machine accepts the connections that were opened: the kernel
    /// has completed their handshakes before. A server that accepts between its responses, such as
    /// node, would let thousands of connections wait as soon as others load it. The wait ends if
    /// the server accepts no more.
    fn wait_until_accepted(&self, plan: &LoadPlan, on_wait: &mut dyn FnMut(AwaitedConnections)) {
        let stopper = self.generator.stopper();
        let mut left = u64::MAX;
        let began = Nanos::now();
        let mut progress_at = began;
        loop {
            // A queue that cannot be read counts as empty.
            let queued = tree::accept_queue(plan.address).unwrap_or_default();
            let now = Nanos::now();
            if queued < left {
                (left, progress_at) = (queued, now);
            }
            let is_over = self.deadline.is_some_and(|deadline| deadline <= now);
            let is_stuck = now.since(progress_at) >= ACCEPTS_WITHIN;
            if left == 0 || is_over || is_stuck || stopper.is_stopped() {
                return;
            }
            if now.since(began) >= PENDING_FROM.into() {
                let asked = u64::from(plan.connections);
                on_wait(AwaitedConnections {
                    open: asked.saturating_sub(left),
                    asked,
                    silent: Duration::ZERO,
                    at_most: ACCEPTS_WITHIN.into(),
                });
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn name_at(&self, address: ServerAddress) -> String {
        self.processes
            .iter()
            .zip(&self.names)
            .find(|(process, _)| process.address == address)
            .map_or_else(|| address.to_string(), |(_, name)| name.clone())
    }
}
