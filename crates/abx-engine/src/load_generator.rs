//! What makes load, wherever it is.

use abx_evidence::SliceTally;
use abx_evidence::record::{FleetRecord, Measured};
use abx_sys::Nanos;

use crate::plan::{LoadPlan, SlicePlan};
use crate::pool::AwaitedConnections;
use crate::stopper::Stopper;
use crate::workers::engine::{Engine, OpenReport, SliceEvent};
use crate::workers::error::EngineError;
use crate::workers::pool_id::PoolId;

/// Makes load on pools of connections. [`Engine`] does so on threads of this
/// process. Plans and tallies serialise, and tallies merge in any order, so load can
/// as well be made elsewhere, in parts.
///
/// There are a few calls for each slice and none within what it counts.
pub trait LoadGenerator {
    /// A handle that stops what runs.
    fn stopper(&self) -> Stopper;

    /// How many worker threads there are.
    fn threads(&self) -> usize;

    /// The clock that slices take their time by.
    fn now(&self) -> Nanos {
        Nanos::now()
    }

    /// Makes a pool and its connections, and waits until each try has ended. When that
    /// takes seconds, tells now and then how far it is.
    ///
    /// # Errors
    /// As [`Engine::open`]. Refused connections are in the report.
    fn open(
        &mut self,
        plan: &LoadPlan,
        on_wait: &mut dyn FnMut(AwaitedConnections),
    ) -> Result<(PoolId, OpenReport), EngineError>;

    /// Reopens the connections of a pool that have died since its last slice, and tells
    /// of that as [`LoadGenerator::open`] does.
    ///
    /// # Errors
    /// As [`Engine::refresh`].
    fn refresh(
        &mut self,
        pool: PoolId,
        on_wait: &mut dyn FnMut(AwaitedConnections),
    ) -> Result<OpenReport, EngineError>;

    /// Has everybody who takes part in the next slice, of this pool and plan, ready for it,
    /// and returns shortly before it begins. Where load is made by this process there is
    /// nothing to do.
    ///
    /// # Errors
    /// [`EngineError::ForeignCpu`].
    fn arm(&mut self, _pool: PoolId, _plan: &SlicePlan) -> Result<(), EngineError> {
        Ok(())
    }

    /// Loads a pool for one slice and waits for what is in flight. When that takes
    /// seconds, tells now and then whom it waits for; and how the load goes, where the plan
    /// asks for that.
    ///
    /// # Errors
    /// As [`Engine::slice`]: what the subject does is in the tally.
    fn slice(
        &mut self,
        pool: PoolId,
        plan: &SlicePlan,
        on_event: &mut dyn FnMut(SliceEvent),
    ) -> Result<SliceTally, EngineError>;

    /// Closes a pool's connections.
    fn close(&mut self, pool: PoolId);

    /// Told what is known of a run before its load, so that whoever counts it elsewhere can
    /// say later what the figures are of.
    ///
    /// # Errors
    /// [`EngineError::ForeignCpu`].
    fn keep(&mut self, _record: &Measured) -> Result<(), EngineError> {
        Ok(())
    }

    /// Which of the machines are lost, by slot, where the others go on without them. What they
    /// made of the load is missing.
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
