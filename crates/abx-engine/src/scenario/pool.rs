//! Users of a scenario as a pool: slices of a load whose unit is the session.
//!
//! A user takes the place of a connection, and a session that of a request. Counting follows the
//! rules of any closed loop: each user counts from its first session that ends after the lead-in
//! to its first session that ends after the end, and the load continues until all counted
//! sessions are over (docs/explain/statistics/blocks.md).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use abx_evidence::Tally;
use abx_sys::Nanos;

use super::count::SessionCount;
use super::plan::ScenarioPlan;
use super::runner::ScenarioRunner;
use super::user::ScenarioUser;
use crate::io::{Awake, Io};
use crate::plan::{LoadPlan, ScenarioUsers};
use crate::pool::{SliceOutcome, SliceParticipants, WorkerSlice};

pub struct ScenarioPool<I: Io> {
    /// `None` while a slice runs.
    io: Option<I>,
    plan: ScenarioPlan,
    load: LoadPlan,
    next_session: Arc<AtomicU64>,
    users: Vec<ScenarioUser>,
    tally: Tally,
}

impl<I: Io> ScenarioPool<I> {
    /// The pool of `count` users of a load whose numbers begin with `first`.
    pub fn new(
        io: I,
        load: LoadPlan,
        scenario: &ScenarioUsers,
        (first, count): (u64, u64),
    ) -> ScenarioPool<I> {
        let plan = ScenarioPlan::of_load(&load, scenario);
        let users = (first..first + count).map(|number| ScenarioUser::new(number, &plan));
        ScenarioPool {
            io: Some(io),
            users: users.collect(),
            next_session: Arc::clone(&scenario.script.next_session),
            plan,
            load,
            tally: Tally::default(),
        }
    }

    fn io(&mut self) -> &mut I {
        self.io.as_mut().expect("it is back when a slice is over")
    }

    pub fn count(&self) -> usize {
        self.users.len()
    }

    /// Runs the users' sessions for one slice, together with other workers.
    pub fn run(
        &mut self,
        slice: WorkerSlice,
        participants: SliceParticipants,
        stop: &AtomicBool,
    ) -> SliceOutcome {
        let count = SessionCount::new(
            &slice,
            participants,
            self.users.len(),
            &self.load,
            &self.plan,
        );
        let io = self.io.take().expect("one slice runs at a time");
        let users = std::mem::take(&mut self.users);
        let mut runner = ScenarioRunner::over(io, &self.plan, users, &self.next_session);
        runner.counts(count, slice.requests_max);
        let ran = runner.run_slice(stop);
        (self.io, self.users) = (Some(ran.io), ran.users);
        let counted_until = ran.count.counted_until;
        let outcome = SliceOutcome {
            end: ran.count.last.max(slice.start),
            counted_until,
            stopped_responding: ran.count.stopped_responding,
        };
        self.tally = ran.count.close(ran.tally);
        self.tally.paused_ns = ran.late_ns;
        outcome
    }

    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    pub(crate) fn take_awake(&mut self) -> Awake {
        self.io().take_awake()
    }

    pub fn now(&mut self) -> Nanos {
        self.io().now()
    }
}
