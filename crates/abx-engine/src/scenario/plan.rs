//! The plan of a scenario's users: plain data, checked by the code that makes it.

use std::net::IpAddr;

use abx_sys::{Nanos, ServerAddress};

use crate::plan::{LoadPlan, ScenarioStep, ScenarioUsers, SliceEnd, TlsPlan};

/// The plan of users, each with one session after the other.
#[derive(Debug, Clone)]
pub struct ScenarioPlan {
    pub address: ServerAddress,
    /// How connections are encrypted; `None` for not at all.
    pub tls: Option<TlsPlan>,
    /// Local addresses that connections come from, in turn; empty lets the kernel choose.
    pub sources: Vec<IpAddr>,
    /// The host name that the server receives.
    pub host: String,
    /// How many users there are, at least one.
    pub users: u32,
    /// When users begin no further session.
    pub end: SliceEnd,
    /// The values with which a session begins. Those of [`crate::OWN_VALUES`] come first and are
    /// overwritten; `None` for values that a response will give.
    pub values: Vec<Option<String>>,
    /// The steps of a session, at least one.
    pub steps: Vec<ScenarioStep>,
    /// Whether a session keeps the cookies that it receives.
    pub keeps_cookies: bool,
    /// The most bytes that are kept of a body from which values are taken.
    pub body_max: usize,
    /// The limit for a step, from when it is due. It includes the connect.
    pub timeout: Nanos,
    /// The seed of the pauses.
    pub seed: u64,
}

impl ScenarioPlan {
    /// The plan for the users of a load, without an end.
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
