//! What a study or run did not vary, read from its record: an interval holds for repeats
//! with all of this as it was.

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
    /// That of what was measured.
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
        let is_cold = |is_cold: bool| {
            let mut loads = study.loads.iter();
            loads.any(|load| load.settings.cold_cache == is_cold)
        };
        Scope {
            routes,
            started,
            left_running: study.subjects.len() - started,
            subject_cpus: are_all_started.then_some(settings.subject_cpus.len()),
            generator_cpus: settings.generator_cpus.len(),
            agents: { study.fleet.as_ref() }.map_or(0, |fleet| fleet.agents.len()),
            cpu_sharing: CpuSharing::of(study).filter(|_| are_all_started),
            warm_caches: is_cold(false),
            cold_files: is_cold(true),
        }
    }
}

impl Route {
    fn to(subject: &SubjectRecord, study: &Measured) -> Route {
        // What abx starts is loaded at 127.0.0.1.
        if subject.is_kept() {
            return Route::Loopback;
        }
        let there = subject.connected_to.as_deref();
        if there.is_some_and(|there| there.starts_with("unix:")) {
            return Route::UnixSocket;
        }
        let Some(ip) = address(subject) else {
            return Route::NotRecorded;
        };
        let roles = &study.machine.roles;
        let is_here = roles.contains(&MachineRole::Subjects);
        match study.subjects.len() {
            _ if ip.is_loopback() => Route::Loopback,
            _ if are_agents_elsewhere(study) => Route::Network,
            _ if roles.is_empty() && study.fleet.is_none() => Route::NotRecorded,
            _ if !is_here => Route::Network,
            // Whose machine it is was recorded for all together.
            1 => Route::OwnAddress,
            _ => Route::NotRecorded,
        }
    }
}

/// Whether the load came from other machines than the one of the record.
fn are_agents_elsewhere(study: &Measured) -> bool {
    let mut agents = study.fleet.iter().flat_map(|fleet| &fleet.agents);
    agents.any(|agent| !agent.is_here)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// The address that a subject was loaded at.
fn address(subject: &SubjectRecord) -> Option<IpAddr> {
    if let Some(there) = &subject.connected_to {
        return Some(there.parse::<SocketAddr>().ok()?.ip());
    }
    let url = subject.address.as_deref()?;
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?']).next()?;
    let parsed = host.parse::<SocketAddr>().map(|there| there.ip());
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
        let is_of_both = |core: &Vec<usize>| has(core, subjects) && has(core, generator);
        if cores.iter().any(is_of_both) {
            Some(CpuSharing::Siblings)
        } else {
            Some(CpuSharing::Apart)
        }
    }
}
