//! One load, verified and planned for each subject of a block.

use abx_engine::{LoadPlan, Patience, RequestPlan, Stopper, WeightedRequest, try_session};

use crate::measure::running_subjects::{Abort, Cache};
use crate::process::pending::{PENDING_FROM, Pending, while_pending};
use crate::process::probe::{Probe, host};
use crate::process::server_process::{ServerProcess, ServerProcessError};
use crate::process::verify::{Verified, agree, verify};
use abx_study::subject::{Subject, local_ports, sources};
use abx_study::user_scenario::UserScenario;
use abx_study::{Load, Study};

/// The plans of one load, in the order of the study's subjects.
pub struct SubjectPlans {
    pub plans: Vec<LoadPlan>,
    /// The response of each subject to each request.
    pub verified: Vec<Vec<Verified>>,
    /// Whether the bodies of all requests are compared.
    pub bodies_compared: bool,
    pub cache: Cache,
    /// The plan of a server that does nothing, if there is one.
    pub ceiling: Option<PlannedCeiling>,
}

#[derive(Debug, Clone)]
pub struct PlannedCeiling {
    /// The position of its server, after the positions of the subjects.
    pub index: usize,
    pub plan: LoadPlan,
}

/// Verifies the responses of these subjects of a study to one load, and plans it for each.
///
/// # Errors
/// [`Abort::Subject`], [`Abort::Responses`], [`Abort::Interrupted`].
pub fn plan_load(
    study: &Study,
    load: &Load,
    (subjects, processes): (&[Subject], &[ServerProcess]),
    stopper: &Stopper,
    on_pending: &dyn Fn(Pending),
    seed: u64,
) -> Result<SubjectPlans, Abort> {
    // WebSocket messages are drawn from the seed, and must be the same in every block.
    let seed = if load.shape.is_websocket() {
        study.seed
    } else {
        seed
    };
    let mut plans: Vec<LoadPlan> = subjects
        .iter()
        .zip(processes)
        .map(|(subject, process)| plan_for(study, load, subject, process, seed))
        .collect();
    if let Some(scenario) = &load.scenario {
        for ((subject, process), plan) in subjects.iter().zip(processes).zip(&plans) {
            check_session(scenario, subject, process, plan, stopper)?;
        }
        return Ok(SubjectPlans {
            verified: plans.iter().map(|_| Vec::new()).collect(),
            plans,
            bodies_compared: false,
            cache: Cache::of(load),
            ceiling: None,
        });
    }
    let mut verified: Vec<Vec<Verified>> = processes.iter().map(|_| Vec::new()).collect();
    let mut bodies_compared = true;
    for request in &load.requests {
        let probe_of = |subject: &Subject, process: &ServerProcess| {
            Probe::of_load(load, request, subject, process.address, seed)
        };
        let patience = Patience {
            timeout: load.timeout,
            stopper: Some(stopper),
            on_wait: None,
        };
        let responses = verify_all(subjects, processes, probe_of, patience, on_pending)?;
        let named: Vec<(&str, &Verified)> = subjects
            .iter()
            .map(|subject| subject.name.as_str())
            .zip(responses.iter().map(|(_, response)| response))
            .collect();
        let is_compared =
            agree(&named, &load.body).map_err(|error| Abort::Responses(Box::new(error)))?;
        bodies_compared &= is_compared;
        for (subject, (sent, response)) in responses.into_iter().enumerate() {
            plans[subject].requests.push(WeightedRequest {
                request: sent,
                expect: response.expectation(is_compared),
                weight: request.weight,
            });
            verified[subject].push(response);
        }
    }
    Ok(SubjectPlans {
        plans,
        verified,
        bodies_compared,
        cache: Cache::of(load),
        ceiling: None,
    })
}

/// The plan of a subject, without requests: they are added once they are verified.
fn plan_for(
    study: &Study,
    load: &Load,
    subject: &Subject,
    process: &ServerProcess,
    seed: u64,
) -> LoadPlan {
    LoadPlan {
        options: load.options,
        opening_limit: None,
        address: process.address,
        tls: subject
            .tls_name()
            .map(|name| load.tls.plan(name, load.version_for(subject))),
        buffer_bytes: None,
        sources: sources(
            process.address,
            load.connections,
            load.keep_alive,
            &study.local_addresses,
            local_ports(),
        ),
        requests: Vec::with_capacity(load.requests.len()),
        shape: load.shape,
        open_within_ns: None,
        timeline: None,
        log: None,
        seed,
        pipeline: load.pipeline,
        pacing: load.pacing.clone(),
        scenario: load
            .scenario
            .as_ref()
            .map(|scenario| scenario.load(host(subject, process.address))),
    }
}

/// Runs a single session, in which every step has to succeed.
fn check_session(
    scenario: &UserScenario,
    subject: &Subject,
    process: &ServerProcess,
    plan: &LoadPlan,
    stopper: &Stopper,
) -> Result<(), Abort> {
    let tally = try_session(plan, stopper)?;
    if stopper.is_stopped() {
        return Err(Abort::Interrupted);
    }
    let mut steps = tally.steps.iter().enumerate();
    let failed = steps.find_map(|(number, step)| Some((number, step.first_failure.as_ref()?)));
    let Some((number, why)) = failed else {
        return Ok(());
    };
    let (step, request) = scenario.step(number);
    // The text begins with a number that means nothing to the reader.
    let why = why.split_once(": ").map_or(why.as_str(), |(_, why)| why);
    let error = ServerProcessError::Session {
        name: subject.name.clone(),
        step: step.into(),
        request: request.into(),
        why: why.into(),
        output: process.output(),
    };
    Err(Abort::subject(&subject.name, error))
}

/// The response of each subject to one request.
fn verify_all(
    subjects: &[Subject],
    processes: &[ServerProcess],
    probe_of: impl Fn(&Subject, &ServerProcess) -> Probe,
    patience: Patience,
    on_pending: &dyn Fn(Pending),
) -> Result<Vec<(RequestPlan, Verified)>, Abort> {
    let mut responses = Vec::with_capacity(processes.len());
    for (subject, process) in subjects.iter().zip(processes) {
        let probe = probe_of(subject, process);
        let (name, at_most) = (subject.name.as_str(), patience.timeout);
        let response = while_pending(on_pending, |notify| {
            let on_wait = |waited| {
                if waited >= PENDING_FROM {
                    notify(Pending::Verification {
                        subject: name,
                        waited,
                        at_most,
                    });
                }
            };
            let patience = Patience {
                on_wait: Some(&on_wait),
                ..patience
            };
            verify(name, process.address, &probe, patience)
        });
        let response = response.map_err(|error| {
            let error = error.with_output(|| process.output());
            Abort::subject(name, error)
        })?;
        responses.push((probe.request, response));
    }
    Ok(responses)
}
