//! The conditions that a study or run did not vary, from its record. Its intervals hold for
//! repetitions under the same conditions.

use std::net::{IpAddr, SocketAddr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use abx_evidence::record::{MachineRole, Measured, SubjectRecord};

/// The conditions that a study or run did not vary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Scope {
    /// The routes to its servers, each once.
    pub routes: Vec<Route>,
    /// Servers that abx started again for each block.
    pub started: usize,
    /// Servers that abx did not start, so that all blocks have the same start of them.
    pub left_running: usize,
    /// The number of CPUs of the servers; `None` if abx did not set them.
    pub subject_cpus: Option<usize>,
    /// The number of CPUs of the generator; 0 if agents made the load.
    pub generator_cpus: usize,
    /// The number of agents that made the load; 0 if abx's own process made it.
    #[serde(default, skip_serializing_if = "is_none")]
    pub agents: usize,
    /// The relation of these CPUs; `None` if abx did not set those of the servers, or if the
    /// record does not have the CPUs of each core.
    pub cpu_sharing: Option<CpuSharing>,
    /// Whether any load was offered with the files in memory.
    pub warm_caches: bool,
    /// Whether any load was offered with the files dropped from memory.
    pub cold_files: bool,
}

/// The route to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// Through the loopback interface.
    Loopback,
    /// Through a Unix socket.
    UnixSocket,
    /// To another address of the generator's machine.
    OwnAddress,
    /// To another machine.
    Network,
    /// Not in the record.
    NotRecorded,
}

/// The relation of the CPUs of servers and generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpuSharing {
    /// Both use some of the same CPUs.
    Shared,
    /// They have different threads of a core (SMT siblings), for at least one core.
    Siblings,
    /// No core has threads of both.
    Apart,
}

impl Scope {
    /// The scope of a study or run.
    #[must_use]
    pub fn of(study: &Measured) -> Scope {
        let settings = &study.settings;
        let mut routes = Vec::new();
        for subject in &study.subjects {
            let route = Route::to(subject, study);
            if !routes.contains(&route) {
                routes.push(route);
            }
        }
        let started = study
            .subjects
            .iter()
            .filter(|subject| subject.is_kept())
            .count();
        let are_all_started = started == study.subjects.len();
        let has_load = |cold_cache: bool| {
            let mut loads = study.loads.iter();
            loads.any(|load| load.settings.cold_cache == cold_cache)
        };
        Scope {
            routes,
            started,
            left_running: study.subjects.len() - started,
            subject_cpus: are_all_started.then_some(settings.subject_cpus.len()),
            generator_cpus: settings.generator_cpus.len(),
            agents: study.fleet.as_ref().map_or(0, |fleet| fleet.agents.len()),
            cpu_sharing: CpuSharing::of(study).filter(|_| are_all_started),
            warm_caches: has_load(false),
            cold_files: has_load(true),
        }
    }
}

impl Route {
    fn to(subject: &SubjectRecord, study: &Measured) -> Route {
        // abx loads the servers that it starts at 127.0.0.1.
        if subject.is_kept() {
            return Route::Loopback;
        }
        let peer = subject.connected_to.as_deref();
        if peer.is_some_and(|peer| peer.starts_with("unix:")) {
            return Route::UnixSocket;
        }
        let Some(ip) = address(subject) else {
            return Route::NotRecorded;
        };
        let roles = &study.machine.roles;
        if ip.is_loopback() {
            Route::Loopback
        } else if are_agents_elsewhere(study) {
            Route::Network
        } else if roles.is_empty() && study.fleet.is_none() {
            Route::NotRecorded
        } else if !roles.contains(&MachineRole::Subjects) {
            Route::Network
        } else if study.subjects.len() == 1 {
            Route::OwnAddress
        } else {
            // The roles of the machine do not state which of several subjects run on it.
            Route::NotRecorded
        }
    }
}

/// Whether any agent made its load on a machine other than that of the record.
fn are_agents_elsewhere(study: &Measured) -> bool {
    let mut agents = study.fleet.iter().flat_map(|fleet| &fleet.agents);
    agents.any(|agent| !agent.is_here)
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// The address at which a subject was loaded.
fn address(subject: &SubjectRecord) -> Option<IpAddr> {
    if let Some(peer) = &subject.connected_to {
        return Some(peer.parse::<SocketAddr>().ok()?.ip());
    }
    let url = subject.address.as_deref()?;
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?']).next()?;
    let parsed = host.parse::<SocketAddr>().map(|address| address.ip());
    parsed.or_else(|_| host.parse::<IpAddr>()).ok()
}

impl CpuSharing {
    fn of(study: &Measured) -> Option<CpuSharing> {
        let settings = &study.settings;
        let (subjects, generator) = (&settings.subject_cpus, &settings.generator_cpus);
        if subjects.iter().any(|cpu| generator.contains(cpu)) {
            return Some(CpuSharing::Shared);
        }
        let cores = study.machine.cores.as_ref()?;
        let has = |core: &[usize], cpus: &[usize]| core.iter().any(|cpu| cpus.contains(cpu));
        let is_shared = |core: &Vec<usize>| has(core, subjects) && has(core, generator);
        if cores.iter().any(is_shared) {
            Some(CpuSharing::Siblings)
        } else {
            Some(CpuSharing::Apart)
        }
    }
}
