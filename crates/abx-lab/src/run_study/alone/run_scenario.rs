//! Users with sessions, on one server: a trial of one session, then the load.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use abx_engine::{HttpVersion, ScenarioPlan, Stopper, try_scenario};
use abx_evidence::scenario::{
    SCENARIO_SCHEMA, ScenarioEnd, ScenarioRecord, ScenarioTally, StepRecord,
};
use abx_sys::conditions::Conditions;
use abx_sys::{Nanos, ProcTree};

use crate::process::listener;
use crate::run_study::context::waiting::{self, CpuAssignment};
use crate::run_study::context::worker_threads::Room;
use crate::run_study::context::{PrepareError, check_descriptors, split, this_machine};
use abx_study::study_file::scenario::ScenarioFile;
use abx_study::subject::{Target, local_ports, sources};
use abx_study::tls::TlsSpec;
use abx_study::{Pin, WaitChoice};

/// What is asked for.
#[derive(Debug, Clone)]
pub struct ScenarioRun {
    pub target: Target,
    /// How connections to it are encrypted, when its URL says that they are.
    pub tls: TlsSpec,
    /// The file that says what a session is.
    pub path: PathBuf,
    pub file: ScenarioFile,
    /// How many users there are.
    pub users: u32,
    /// When they begin no further session.
    pub end: ScenarioEnd,
    /// How long a step may take; `None` for what the file says.
    pub timeout: Option<Duration>,
    /// Threads; `None` for one on each of the generator's processors.
    pub threads: Option<usize>,
    /// How they wait for responses.
    pub wait: WaitChoice,
    /// Local addresses that connections come from; empty for the usual ones.
    pub local_addresses: Vec<IpAddr>,
    /// What pauses are drawn from.
    pub seed: u64,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// The version of abx, for the record.
    pub version: String,
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The system does not allow it.
    #[error("{0}")]
    Prepare(#[from] PrepareError),
    /// A step fails without any load.
    #[error(
        "{url}: step \"{step}\" ({request}) failed before the load: {why}. One session is made \
         first, without pauses, and has to succeed: correct the scenario or the server"
    )]
    Trial {
        url: String,
        step: String,
        request: String,
        why: String,
    },
    /// Somebody stopped it during the trial.
    #[error("stopped before anything was measured")]
    Stopped,
}

/// Makes one session as a trial, then has the users make theirs.
///
/// # Errors
/// [`ScenarioError`] when there was no load. What happens under it is in the record.
pub fn run_scenario(run: ScenarioRun, stopper: &Stopper) -> Result<ScenarioRecord, ScenarioError> {
    let plan = plan(&run)?;
    let machine = this_machine()?;
    let trial = try_scenario(&plan, stopper).map_err(PrepareError::Engine)?;
    check_trial(&run, &trial)?;
    if stopper.is_stopped() {
        return Err(ScenarioError::Stopped);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let started_ms = now.unwrap_or_default().as_millis();
    let mut tree = listener::tree(run.target.address);
    let cpu = |tree: &mut Option<ProcTree>| tree.as_mut()?.cpu().ok();
    let before = cpu(&mut tree);
    let ran = abx_engine::run_scenario(&plan, stopper).map_err(PrepareError::Engine)?;
    let server = before.zip(cpu(&mut tree));
    let tally = ran.tally;
    let counted_s = match run.end {
        ScenarioEnd::AfterNs(span) => Nanos(span).min(ran.elapsed).as_secs_f64(),
        ScenarioEnd::AfterSessions(_) => ran.elapsed.as_secs_f64(),
    };
    let steps = plan.steps.iter().zip(&run.file.paths);
    let steps = steps.zip(tally.steps).map(|((step, path), counted)| {
        StepRecord::of(&step.name, (&step.method, path), step.status, counted)
    });
    Ok(ScenarioRecord {
        schema: SCENARIO_SCHEMA.to_owned(),
        abx_version: run.version,
        started_unix_ms: u64::try_from(started_ms).unwrap_or(u64::MAX),
        command: run.command,
        url: run.target.url,
        scenario: run.path.display().to_string(),
        scenario_sha256: run.file.sha256,
        seed: run.seed,
        users: run.users,
        end: run.end,
        elapsed_s: ran.elapsed.as_secs_f64(),
        interrupted: stopper.is_stopped(),
        sessions: tally.sessions,
        sessions_per_s: (counted_s > 0.0).then(|| tally.completed_in_time as f64 / counted_s),
        session_us: abx_evidence::Times::of(&tally.session),
        session_without_think_us: abx_evidence::Times::of(&tally.session_without_think),
        connections: tally.connections,
        steps: steps.collect(),
        generator: ran.cost,
        machine,
        server_cpu_s: server.map(|(before, after)| after.since(before).as_secs_f64()),
    })
}

/// Refuses a scenario of which a step failed in its trial.
fn check_trial(run: &ScenarioRun, trial: &ScenarioTally) -> Result<(), ScenarioError> {
    let steps = run.file.steps.iter().zip(&run.file.paths);
    let failed = steps.zip(&trial.steps).find_map(|(step, counted)| {
        let (_, why) = counted.first_failure.as_ref()?;
        Some((step, why))
    });
    let Some(((step, path), why)) = failed else {
        return match trial.sessions.cut_off {
            0 => Ok(()),
            _ => Err(ScenarioError::Stopped),
        };
    };
    // It has a number that means nothing to a person here.
    let why = why.split_once(": ").map_or(why.as_str(), |(_, why)| why);
    Err(ScenarioError::Trial {
        url: run.target.url.clone(),
        step: step.name.clone(),
        request: format!("{} {path}", step.method),
        why: why.to_owned(),
    })
}

/// Takes processors and descriptors, and says what the users do.
fn plan(run: &ScenarioRun) -> Result<ScenarioPlan, PrepareError> {
    let prepare = |what| move |source| PrepareError::System { what, source };
    let descriptors = abx_sys::limits::raise_descriptor_limit()
        .map_err(prepare("the limit of file descriptors"))?;
    let allowed = abx_sys::cpus::allowed().map_err(prepare("the list of processors"))?;
    let address = run.target.address;
    let is_server_here = listener::is_here(address);
    let split = split(&abx_sys::cpus::cores(&allowed), Pin::Split, is_server_here);
    let room = Room {
        cpus: split.generator.len(),
        connections: Some(run.users as usize),
        quota: Conditions::read(&split.generator).quota,
        is_server_here,
    };
    let threads = room.threads(run.threads);
    // The threads share one table of descriptors.
    check_descriptors(run.users, 1, descriptors.soft)?;
    let waiting = waiting::decide(
        run.wait,
        &CpuAssignment {
            threads,
            generator: split.generator.clone(),
            subjects: waiting::cpus_of([address].into_iter()),
        },
    )?;
    let tls = run
        .target
        .is_encrypted
        .then(|| run.tls.plan(run.target.name(), HttpVersion::Http11));
    Ok(ScenarioPlan {
        address,
        tls,
        sources: sources(
            address,
            run.users,
            false,
            &run.local_addresses,
            local_ports(),
        ),
        host: run.target.host.clone(),
        users: run.users,
        end: run.end,
        values: run.file.values.clone(),
        steps: run.file.steps.clone(),
        keeps_cookies: run.file.keeps_cookies,
        body_max: run.file.body_max,
        timeout: run.timeout.unwrap_or(run.file.timeout).into(),
        seed: run.seed,
        threads,
        cpus: split.generator,
        wait: waiting.wait,
    })
}
