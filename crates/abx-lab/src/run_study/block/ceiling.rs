//! The ceiling: a server that does nothing except respond, loaded in the same blocks and in the
//! same way as the subjects, over TLS if they use it. The generator's throughput with it is the
//! most that it could reach with any server.

use abx_engine::{HttpVersion, LoadPlan, Patience, Stopper, TlsPlan, TlsTrust, WeightedRequest};
use abx_evidence::record::CEILING;
use abx_evidence::{ExpectedStatus, Shape};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::measure::planned_load::{PlannedCeiling, SubjectPlans};
use crate::measure::running_subjects::Abort;
use crate::process::probe::Probe;
use crate::process::server_process::{ServerProcess, ServerProcessError, StartContext};
use crate::process::verify::verify;
use crate::run_study::context::StudyContext;
use abx_study::launch::Launch;
use abx_study::subject::{Source, Subject, local_ports, sources};
use abx_study::{CeilingServer, Load, RequestSpec};

/// The kind of a server; one server serves all loads of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CeilingKind {
    page_bytes: u64,
    is_encrypted: bool,
}

impl CeilingKind {
    /// The kind for a load; `None` if it has no ceiling.
    fn of(load: &Load, planned: &SubjectPlans) -> Option<CeilingKind> {
        let mut plans = planned.plans.iter();
        let first = plans.next()?;
        let is_encrypted = first.tls.is_some();
        // If only some subjects used TLS or HTTP/2, the ceiling would be no bound for the others.
        let is_shared = plans.all(|plan| {
            plan.tls.is_some() == is_encrypted && uses_http2(plan) == uses_http2(first)
        });
        let page_bytes = page_bytes(load, planned)?;
        (is_shared && has_ceiling(load)).then_some(CeilingKind {
            page_bytes,
            is_encrypted,
        })
    }
}

fn null_server(ceiling: &CeilingServer, kind: CeilingKind) -> Subject {
    let word = |word: &String| word.replace("{bytes}", &kind.page_bytes.to_string());
    let encrypted = ceiling.encrypted.iter().filter(|_| kind.is_encrypted);
    let command = ceiling.command.iter().chain(encrypted);
    let launch = Launch::new(command.map(word).collect());
    Subject::new(CEILING.to_owned(), Source::Command(launch))
}

fn uses_http2(plan: &LoadPlan) -> bool {
    version(plan) == Some(HttpVersion::Http2)
}

/// The HTTP version that all requests of a plan have.
fn version(plan: &LoadPlan) -> Option<HttpVersion> {
    let first = plan.requests.first();
    first.map(|weighted_request| weighted_request.request.version)
}

/// Whether a load has a ceiling: it must be saturating and consist of HTTP requests whose responses
/// have bodies. The server that does nothing does not support WebSocket.
fn has_ceiling(load: &Load) -> bool {
    load.shape == Shape::Request
        && load.settings(false).arrivals.is_saturating()
        && load.requests.iter().all(|request| request.method != "HEAD")
}

/// The mean length of the responses, by the weights of the requests.
fn page_bytes(load: &Load, planned: &SubjectPlans) -> Option<u64> {
    let responses = planned.verified.first()?;
    let weighted = load
        .requests
        .iter()
        .zip(responses)
        .map(|(request, response)| {
            let weight = u64::from(request.weight);
            (weight * response.record().body_bytes, weight)
        });
    let (bytes, weights) = weighted.fold((0, 0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    bytes.checked_div(weights)
}

/// Starts a server of each kind, adds it to the subjects' processes, and assigns it to its loads.
///
/// # Errors
/// [`Abort`]; the processes that were started stop when they are dropped.
pub fn start_ceilings(
    context: &StudyContext,
    ceiling: &CeilingServer,
    processes: &mut Vec<ServerProcess>,
    loads: &mut [SubjectPlans],
    seed: u64,
) -> Result<(), Abort> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut started: Vec<(CeilingKind, usize)> = Vec::new();
    for (load, planned) in context.loads.iter().zip(loads) {
        let Some(kind) = CeilingKind::of(load, planned) else {
            continue;
        };
        let known = started.iter().find(|(other, _)| *other == kind);
        let index = match known {
            Some((_, index)) => *index,
            None => {
                let server = null_server(ceiling, kind);
                let like = planned.plans.first();
                processes.push(start(context, &server, (load, like), &mut random)?);
                started.push((kind, processes.len() - 1));
                processes.len() - 1
            }
        };
        let stopper = context.generator.stopper();
        planned.ceiling = plan(&processes[index], load, &planned.plans, &stopper)?
            .map(|plan| PlannedCeiling { index, plan });
    }
    Ok(())
}

fn start(
    context: &StudyContext,
    subject: &Subject,
    (load, like): (&Load, Option<&LoadPlan>),
    random: &mut ChaCha8Rng,
) -> Result<ServerProcess, Abort> {
    let failed = |error: ServerProcessError| Abort::subject(&subject.name, error);
    let mut draw = |below: u32| random.random_range(0..below.max(1));
    let mut start_context = StartContext {
        files: &[],
        ..context.start_context(&mut draw)
    };
    let mut process =
        ServerProcess::start(&subject.name, &subject.source, &mut start_context).map_err(failed)?;
    let Some(request) = load.requests.first() else {
        return Ok(process);
    };
    let readiness = probe(load, request, &process, like);
    let stopper = context.generator.stopper();
    process
        .wait_ready(
            &subject.source,
            &readiness,
            &stopper,
            context.deadline,
            context.on_pending,
        )
        .map_err(failed)?;
    if stopper.is_stopped() {
        return Err(Abort::Interrupted);
    }
    Ok(process)
}

/// The probe of the ceiling, with the HTTP version and the TLS of a subject's plan. Each response of
/// the ceiling has status 200.
fn probe(
    load: &Load,
    request: &RequestSpec,
    process: &ServerProcess,
    like: Option<&LoadPlan>,
) -> Probe {
    let version = like.and_then(version).unwrap_or(load.version);
    Probe {
        request: request.plan(version, &process.address.to_string(), None),
        status: ExpectedStatus::default(),
        is_logged: false,
        shape: Shape::Request,
        seed: 0,
        tls: like.and_then(ceiling_tls),
    }
}

/// The encryption of connections to the ceiling: that of a subject's plan, except that any
/// certificate is trusted, since the ceiling's is self-signed.
fn ceiling_tls(like: &LoadPlan) -> Option<TlsPlan> {
    let tls = like.tls.clone()?;
    Some(TlsPlan {
        trust: TlsTrust::Anyone,
        ..tls
    })
}

/// The first subject's plan, directed to the ceiling.
fn plan(
    process: &ServerProcess,
    load: &Load,
    plans: &[LoadPlan],
    stopper: &Stopper,
) -> Result<Option<LoadPlan>, Abort> {
    let (Some(like), Some(request)) = (plans.first(), load.requests.first()) else {
        return Ok(None);
    };
    let ceiling_probe = probe(load, request, process, Some(like));
    let patience = Patience {
        timeout: load.timeout,
        stopper: Some(stopper),
        on_wait: None,
    };
    let response = verify(CEILING, process.address, &ceiling_probe, patience);
    let response = response.map_err(|error| Abort::subject(CEILING, error))?;
    let (connections, ports) = (load.connections, local_ports());
    let default_sources = sources(process.address, connections, load.keep_alive, &[], ports);
    Ok(Some(LoadPlan {
        address: process.address,
        tls: ceiling_tls(like),
        // Addresses that the user requested reach the ceiling, too, since it is on loopback.
        sources: if like.sources.is_empty() {
            default_sources
        } else {
            like.sources.clone()
        },
        requests: vec![WeightedRequest {
            request: ceiling_probe.request,
            expect: response.expectation(true),
            weight: 1,
        }],
        ..like.clone()
    }))
}
