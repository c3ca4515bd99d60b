//! What users of a scenario do. Plain data, checked by who makes it.

use std::net::IpAddr;

use abx_sys::{Nanos, ServerAddress};

use crate::plan::{LoadPlan, ScenarioStep, ScenarioUsers, SliceEnd, TlsPlan};

/// What users do, each in sessions one behind the other.
#[derive(Debug, Clone)]
pub struct ScenarioPlan {
    pub address: ServerAddress,
    /// How connections are encrypted; `None` for not at all.
    pub tls: Option<TlsPlan>,
    /// Local addresses that connections come from, in turn; empty lets the kernel choose.
    pub sources: Vec<IpAddr>,
    /// What the server is told that it is called.
    pub host: String,
    /// How many users there are, at least one.
    pub users: u32,
    /// When they begin no further session.
    pub end: SliceEnd,
    /// The values that a session begins with, those of [`crate::OWN_VALUES`] first, whatever stands
    /// there; `None` for those that a response will give.
    pub values: Vec<Option<String>>,
    /// The steps of a session, at least one.
    pub steps: Vec<ScenarioStep>,
    /// Whether a session keeps the cookies that it is given.
    pub keeps_cookies: bool,
    /// How much is kept of a body that values are taken from, in bytes.
    pub body_max: usize,
    /// How long a step may take from when it is due, its connection's making included.
    pub timeout: Nanos,
    /// What pauses are drawn from.
    pub seed: u64,
}

impl ScenarioPlan {
    /// What the users of a load do, without an end.
    pub(crate) fn of_load(load: &LoadPlan, scenario: &ScenarioUsers) -> ScenarioPlan {
        let script = &scenario.script;
        ScenarioPlan {
            address: load.address,
            tls: load.tls.clone(),
            sources: load.sources.clone(),
            host: scenario.host.clone(),
            users: load.connections,
            end: SliceEnd::AfterNs(u64::MAX),
            values: script.values.clone(),
            steps: script.steps.clone(),
            keeps_cookies: script.keeps_cookies,
            body_max: script.body_max,
            timeout: Nanos(load.timeout_ns()),
            seed: load.seed,
        }
    }
}
