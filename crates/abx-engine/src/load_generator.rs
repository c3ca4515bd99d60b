//! The interface of load generators, on this machine or on others.

use abx_evidence::SliceTally;
use abx_evidence::record::{FleetRecord, Measured};
use abx_sys::Nanos;

use crate::plan::{LoadPlan, SlicePlan};
use crate::pool::AwaitedConnections;
use crate::stopper::Stopper;
use crate::workers::engine::{Engine, OpenReport, SliceEvent};
use crate::workers::error::EngineError;
use crate::workers::pool_id::PoolId;

/// Makes load on pools of connections. [`Engine`] does so on threads of this process.
/// Plans and tallies can be serialised, and tallies merge in any order, so other machines can
/// make parts of a load.
///
/// A slice takes a few calls, with none during its counted part.
pub trait LoadGenerator {
    /// A handle that stops a running load.
    fn stopper(&self) -> Stopper;

    /// How many worker threads there are.
    fn threads(&self) -> usize;

    /// The clock of slices.
    fn now(&self) -> Nanos {
        Nanos::now()
    }

    /// Makes a pool and its connections, and waits until each attempt has ended. Reports progress
    /// at intervals if this takes seconds.
    ///
    /// # Errors
    /// As [`Engine::open`]. Refused connections are in the report.
    fn open(
        &mut self,
        plan: &LoadPlan,
        on_wait: &mut dyn FnMut(AwaitedConnections),
    ) -> Result<(PoolId, OpenReport), EngineError>;

    /// Reopens the connections of a pool that have closed since its last slice, and reports
    /// progress as [`LoadGenerator::open`] does.
    ///
    /// # Errors
    /// As [`Engine::refresh`].
    fn refresh(
        &mut self,
        pool: PoolId,
        on_wait: &mut dyn FnMut(AwaitedConnections),
    ) -> Result<OpenReport, EngineError>;

    /// Prepares every participant in the next slice of this pool and plan, and returns
    /// shortly before the slice begins. If this process makes the load, there is nothing
    /// to prepare.
    ///
    /// # Errors
    /// [`EngineError::ForeignCpu`].
    fn arm(&mut self, _pool: PoolId, _plan: &SlicePlan) -> Result<(), EngineError> {
        Ok(())
    }

    /// Loads a pool for one slice and waits for requests in flight. If the wait takes seconds,
    /// reports the awaited responses at intervals. Reports the load's course too, if the plan
    /// requests that.
    ///
    /// # Errors
    /// As [`Engine::slice`]. The subject's behaviour is in the tally.
    fn slice(
        &mut self,
        pool: PoolId,
        plan: &SlicePlan,
        on_event: &mut dyn FnMut(SliceEvent),
    ) -> Result<SliceTally, EngineError>;

    /// Closes a pool's connections.
    fn close(&mut self, pool: PoolId);

    /// Receives the record of a run before its load, so that a generator that counts
    /// elsewhere can later identify its figures.
    ///
    /// # Errors
    /// [`EngineError::ForeignCpu`].
    fn keep(&mut self, _record: &Measured) -> Result<(), EngineError> {
        Ok(())
    }

    /// The lost machines, by slot, if the others continue without them. Their results are
    /// missing from the load.
    fn missing(&self) -> Vec<u32> {
        Vec::new()
    }

    /// The machines that make the load; `None` for this process.
    fn fleet(&self) -> Option<FleetRecord> {
        None
    }
}

impl LoadGenerator for Engine {
    fn stopper(&self) -> Stopper {
        Engine::stopper(self)
    }

    fn threads(&self) -> usize {
        Engine::threads(self)
    }

    fn open(
        &mut self,
        plan: &LoadPlan,
        on_wait: &mut dyn FnMut(AwaitedConnections),
    ) -> Result<(PoolId, OpenReport), EngineError> {
        Engine::open_watched(self, plan, on_wait)
    }

    fn refresh(
        &mut self,
        pool: PoolId,
        on_wait: &mut dyn FnMut(AwaitedConnections),
    ) -> Result<OpenReport, EngineError> {
        Engine::refresh_watched(self, pool, on_wait)
    }

    fn slice(
        &mut self,
        pool: PoolId,
        plan: &SlicePlan,
        on_event: &mut dyn FnMut(SliceEvent),
    ) -> Result<SliceTally, EngineError> {
        Engine::slice_watched(self, pool, plan, on_event)
    }

    fn close(&mut self, pool: PoolId) {
        Engine::close(self, pool);
    }
}
