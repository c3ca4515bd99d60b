//! One pinned thread: takes commands, runs its share of each slice, replies.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender};

use abx_evidence::{Connections, CoursePlan, Outcomes, SliceTally};
use abx_sys::Nanos;

use crate::io::paused_ns;
use crate::pool::{OpeningPart, Part, SharedSlice, SliceOutcome, SliceParticipants, WorkerSlice};
use crate::schedule;
use crate::workers::any_pool::{AnyPool, PoolParts};
use crate::workers::error::EngineError;
use crate::workers::pool_id::PoolId;

/// A command to a worker. Each command but the last has one reply.
pub(crate) enum WorkerCommand {
    /// Make a pool of this many connections and connect them.
    Open(PoolId, Box<PoolParts>, OpeningPart),
    /// Reopen closed connections, before a slice.
    Refresh(PoolId, OpeningPart),
    Run(PoolId, SliceShare),
    Close(PoolId),
}

/// One worker's part of a slice, in spans from its start.
#[derive(Debug, Clone)]
pub(crate) struct SliceShare {
    pub(crate) length_ns: u64,
    pub(crate) discard_ns: u64,
    pub(crate) requests_max: u64,
    pub(crate) schedule: schedule::ScheduleShare,
    pub(crate) part: Part,
    pub(crate) course: Option<CoursePlan>,
    /// State that all workers share.
    pub(crate) slice: Arc<SharedSlice>,
}

pub(crate) enum WorkerReply {
    /// To `Open` and `Refresh`: how many connections are open, how many of them are
    /// new, and the outcomes of failed attempts.
    Connected(usize, usize, Outcomes),
    /// To `Open`: the kernel refused an epoll set.
    Failed(EngineError),
    SliceOutcome(Box<SliceTally>),
}

/// Runs a worker until the engine is dropped.
pub(crate) fn work(
    cpus: &[usize],
    orders: &Receiver<WorkerCommand>,
    replies: &Sender<WorkerReply>,
    stop: &Arc<AtomicBool>,
) {
    if !cpus.is_empty() {
        // If the processor is not available any more, the thread stays unpinned.
        let _ = abx_sys::cpus::pin_thread(cpus);
    }
    // If this fails, requests are only sent some microseconds later, by the usual slack.
    let _ = abx_sys::clock::sharpen_timers();
    let mut pools: HashMap<PoolId, Box<dyn AnyPool>> = HashMap::new();
    while let Ok(order) = orders.recv() {
        let reply = match order {
            WorkerCommand::Open(id, parts, part) => match parts.pool() {
                Ok(pool) => connect(&mut **pools.entry(id).or_insert(pool), part, stop),
                Err(error) => WorkerReply::Failed(error),
            },
            WorkerCommand::Refresh(id, part) => connect(pool(&mut pools, id), part, stop),
            WorkerCommand::Run(id, share) => run(pool(&mut pools, id), &share, stop),
            WorkerCommand::Close(id) => {
                pools.remove(&id);
                continue;
            }
        };
        if replies.send(reply).is_err() {
            break;
        }
    }
}

fn pool(pools: &mut HashMap<PoolId, Box<dyn AnyPool>>, id: PoolId) -> &mut dyn AnyPool {
    let pool = pools.get_mut(&id);
    &mut **pool.expect("the engine names only pools that it opened")
}

fn connect(pool: &mut dyn AnyPool, part: OpeningPart, stop: &AtomicBool) -> WorkerReply {
    let (standing, opened, failures) = pool.connect_all(part, stop);
    WorkerReply::Connected(standing, opened, failures)
}

fn run(pool: &mut dyn AnyPool, share: &SliceShare, stop: &Arc<AtomicBool>) -> WorkerReply {
    let participants = SliceParticipants::of(&share.slice, share.part);
    let open_before = pool.standing();
    let scheduled = abx_sys::counters::thread_schedstat();
    let cpu = abx_sys::thread_cpu();
    let start = pool.now();
    let counted_from = start.plus(Nanos(share.discard_ns));
    let slice = WorkerSlice {
        start,
        end: start.plus(Nanos(share.length_ns)),
        counted_from,
        requests_max: share.requests_max,
        share: share.schedule,
        course: share.course,
    };
    let SliceOutcome {
        end,
        counted_until,
        stopped_responding,
    } = pool.run(slice, participants, stop);
    let cpu_ns = abx_sys::thread_cpu().since(cpu).0;
    let awake = pool.take_awake();
    let waiting_awake_ns = awake.on_cpu_ns.min(cpu_ns);
    let generator_cpu_ns = cpu_ns - waiting_awake_ns;
    let generator_wait_ns = scheduled
        .and_then(|before| Ok((before, abx_sys::counters::thread_schedstat()?)))
        .ok()
        .map(|(before, after)| after.wait.since(before.wait).0)
        // A thread that only waits for responses loses nothing while another has the processor.
        .map(|wait_ns| wait_ns.saturating_sub(awake.off_cpu_ns));
    let mut tally = pool.tally().clone();
    let runnable_ns = cpu_ns + generator_wait_ns.unwrap_or_default();
    tally.paused_ns = paused_ns(tally.paused_ns, pool.now().since(start).0, runnable_ns);
    WorkerReply::SliceOutcome(Box::new(SliceTally {
        tally,
        wall_ns: end.since(start).0,
        measured_ns: counted_until.since(counted_from).0,
        generator_cpu_ns,
        waiting_awake_ns,
        generator_wait_ns,
        busiest_worker_ns: generator_cpu_ns,
        stopped_responding,
        connections: open_before
            .zip(pool.standing())
            .map(|(before, after)| Connections {
                standing: after as u64,
                lost: before.saturating_sub(after) as u64,
            }),
    }))
}
