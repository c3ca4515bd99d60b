//! One server under one load: the everyday measurement, without a comparison.

use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use abx_engine::{
    Asked, Backend, Engine, EngineError, EnginePlan, LoadPlan, SliceEnd, SlicePlan, Stopper,
};
use abx_evidence::{
    Broadcasts, GeneratorSide, Held, LoadShape, Offered, PhaseTimes, RUN_SCHEMA, Requests,
    RunRecord, RunSettings, ServerSide, SliceTally, Times, judge_run,
};
use abx_sys::cpus::Split;
use abx_sys::tree::ThreadTimes;
use abx_sys::{Nanos, ProcTree};

use crate::measure::machine;
use crate::process::listener;
use crate::process::probe::Probe;
use crate::process::verify::{Verified, VerifyError, agree, verify};
use crate::run_study::context::{PrepareError, check_descriptors};
use crate::study::subject::{Target, sources};
use crate::study::{Load, RequestSpec, arrivals};

/// What a run is asked to do.
#[derive(Debug, Clone)]
pub struct RunPlan {
    /// The server.
    pub target: Target,
    /// What is asked.
    pub request: RequestSpec,
    /// How it is offered; requests of its own are not looked at.
    pub load: Load,
    /// When it ends.
    pub end: RunEnd,
    /// Worker threads; `None` for one on each of the generator's processors,
    /// and at most one for each connection.
    pub threads: Option<usize>,
    /// What moves the bytes.
    pub backend: Backend,
    /// Local addresses that connections come from; empty for the usual ones.
    pub local_addresses: Vec<IpAddr>,
    /// What randomness is drawn from.
    pub seed: u64,
}

/// When a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// After this time.
    After(Duration),
    /// After this many requests.
    AfterRequests(u64),
}

/// Why a run did not begin.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The system does not allow it.
    #[error("{0}")]
    Prepare(#[from] PrepareError),
    /// The server does not answer as it should.
    #[error("{0}")]
    Answer(#[from] VerifyError),
    /// abx itself cannot go on.
    #[error("{0}")]
    Engine(#[from] EngineError),
}

/// Loads one server once.
///
/// # Errors
/// [`RunError`] when nothing was measured. What happens under load is in the record.
pub fn run(
    run: &RunPlan,
    version: &str,
    on_stopper: &mut dyn FnMut(Stopper),
) -> Result<RunRecord, RunError> {
    let prepare = |what| move |source| PrepareError::System { what, source };
    let descriptors = abx_sys::limits::raise_descriptor_limit()
        .map_err(prepare("the limit of file descriptors"))?;
    let allowed = abx_sys::cpus::allowed().map_err(prepare("the list of processors"))?;
    let cpus = Split::of(&abx_sys::cpus::cores(&allowed)).generator;
    let most = run.load.connections as usize;
    let threads = run.threads.unwrap_or(cpus.len()).min(most);
    check_descriptors(run.load.connections, threads, descriptors.soft)?;
    let (plan, verified) = plan_load(run)?;
    let mut engine = Engine::start(&EnginePlan {
        threads,
        cpus,
        backend: run.backend,
    })?;
    let stopper = engine.stopper();
    on_stopper(stopper.clone());
    let memory_before_bytes = run.load.shape.hold_ns().and_then(|_| memory(&run.target));
    let opening = Nanos::now();
    let (pool, report) = engine.open(&plan)?;
    let open_ns = Nanos::now().since(opening).0;

    let started = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut server = ServerProcess::find(&run.target);
    let slice = engine.slice(
        pool,
        &SlicePlan {
            end: match run.end {
                RunEnd::After(span) => SliceEnd::AfterNs(Nanos::from(span).0),
                RunEnd::AfterRequests(count) => SliceEnd::AfterRequests(count),
            },
            discard_ns: 0,
        },
    )?;
    let server = server.as_mut().and_then(|server| server.used(&slice));
    let mut record = new_record(run, &slice, &verified, threads, server);
    if run.load.shape.hold_ns().is_some() {
        let standing = slice.connections.map_or(0, |found| found.standing);
        record.held = Some(Held {
            asked: run.load.connections.into(),
            standing,
            lost: (report.standing as u64).saturating_sub(standing),
            open_ns,
            memory_before_bytes,
            memory_after_bytes: memory(&run.target),
        });
    }
    record.settings.backend = Some(pool.backend().name().to_owned());
    record.abx_version = version.to_owned();
    record.started_unix_ms =
        u64::try_from(started.unwrap_or_default().as_millis()).unwrap_or(u64::MAX);
    record.machine = machine::describe(allowed.len(), descriptors);
    record.interrupted = stopper.is_stopped();
    record.findings = judge_run(&record, &slice);
    Ok(record)
}

fn plan_load(run: &RunPlan) -> Result<(LoadPlan, Verified), VerifyError> {
    let (target, load) = (&run.target, &run.load);
    let request = run
        .request
        .plan(load.version, &target.host, Some(&target.path));
    let probe = Probe {
        request,
        status: load.status,
        shape: load.shape,
        seed: run.seed,
    };
    let verified = verify(&target.host, target.address, &probe, load.timeout)?;
    let bodies_compared = agree(&[(&target.host, &verified)], &load.body)?;
    let plan = LoadPlan {
        address: target.address,
        sources: sources(
            target.address,
            load.connections,
            load.keep_alive,
            &run.local_addresses,
        ),
        connections: load.connections,
        requests: vec![Asked {
            request: probe.request,
            expect: verified.expectation(bodies_compared),
            weight: 1,
        }],
        keep_alive: load.keep_alive,
        verify_every: load.verify_every,
        shape: load.shape,
        timeout_ns: Nanos::from(load.timeout).0,
        seed: run.seed,
        pipeline: load.pipeline,
        pacing: load.pacing.clone(),
    };
    Ok((plan, verified))
}

/// Memory of the processes that serve the target, without pages of files and
/// with those that they share counted once; `None` when they cannot be seen.
fn memory(target: &Target) -> Option<u64> {
    let memory = listener::tree(target.address)?.proportional_memory().ok()?;
    Some(memory.without_files_bytes())
}

/// The process that serves the target, when it is on this machine.
struct ServerProcess {
    tree: ProcTree,
    before: Nanos,
    threads: Option<ThreadTimes>,
}

impl ServerProcess {
    fn find(target: &Target) -> Option<ServerProcess> {
        let mut tree = listener::tree(target.address)?;
        let threads = tree.thread_times().ok();
        let before = tree.cpu().ok()?;
        Some(ServerProcess {
            tree,
            before,
            threads,
        })
    }

    fn used(&mut self, slice: &SliceTally) -> Option<ServerSide> {
        let used = self.tree.cpu().ok()?.since(self.before);
        let root = self.tree.root();
        let threads = self.threads.as_ref().zip(self.tree.thread_times().ok());
        let busiest = threads.map(|(before, after)| after.busiest_since(before));
        let completed = slice.tally.outcomes.completed();
        Some(ServerSide {
            process_id: root.pid,
            name: root.name()?,
            cpu_s: used.as_secs_f64(),
            cpu_us_per_request: per_request_us(used.0, completed),
            rss_bytes: self.tree.rss_bytes().ok(),
            busy: used.0 as f64 / slice.wall_ns.max(1) as f64,
            busiest_thread: busiest.map(|span| span.0 as f64 / slice.wall_ns.max(1) as f64),
        })
    }
}

fn per_request_us(ns: u64, completed: u64) -> Option<f64> {
    (completed > 0).then(|| ns as f64 / 1e3 / completed as f64)
}

fn new_record(
    run: &RunPlan,
    slice: &SliceTally,
    verified: &Verified,
    threads: usize,
    server: Option<ServerSide>,
) -> RunRecord {
    let tally = &slice.tally;
    let (ok, completed) = (tally.outcomes.ok(), tally.outcomes.completed());
    let arrivals = arrivals(&run.load.pacing);
    RunRecord {
        schema: RUN_SCHEMA.to_owned(),
        abx_version: String::new(),
        started_unix_ms: 0,
        settings: RunSettings {
            url: run.target.url.clone(),
            method: run.request.method.clone(),
            connections: run.load.connections,
            exchange: run.load.exchange(),
            arrivals: arrivals.clone(),
            threads,
            backend: None,
            duration_s: match run.end {
                RunEnd::After(span) => Some(span.as_secs_f64()),
                RunEnd::AfterRequests(_) => None,
            },
            requests: match run.end {
                RunEnd::After(_) => None,
                RunEnd::AfterRequests(count) => Some(count),
            },
            keep_alive: run.load.keep_alive,
            timeout_s: run.load.timeout.as_secs_f64(),
            verify_every: run.load.verify_every,
        },
        machine: abx_evidence::record::Machine::default(),
        answer: verified.record(),
        elapsed_s: slice.wall_ns as f64 / 1e9,
        interrupted: false,
        requests: Requests {
            sent: tally.outcomes.sent(),
            completed,
            ok,
            hashed: tally.hashed,
            outcomes: tally.outcomes.clone(),
        },
        offered: Offered::of(&arrivals, tally),
        throughput_per_s: slice.throughput_per_s(&arrivals),
        response_time_us: Times::bounded(&tally.response, &tally.response_at_least),
        service_time_us: Times::bounded(&tally.service, &tally.service_at_least),
        phases: PhaseTimes::of(&tally.phases),
        bytes: tally.bytes,
        body_bytes: tally.body_bytes,
        connects: tally.connects,
        silent: tally.silent,
        broadcasts: (run.load.shape.kind() == LoadShape::Broadcast).then(|| Broadcasts::of(tally)),
        held: None,
        generator: GeneratorSide {
            cpu_s: slice.generator_cpu_ns as f64 / 1e9,
            cpu_us_per_request: per_request_us(slice.generator_cpu_ns, completed),
            busy: slice.busiest_worker_ns as f64 / slice.wall_ns.max(1) as f64,
            wait_s: slice.generator_wait_ns.map(|ns| ns as f64 / 1e9),
            lateness_us: Times::of(&tally.lateness),
            loop_lag_us: Times::of(&tally.loop_lag),
        },
        server,
        findings: Vec::new(),
    }
}
