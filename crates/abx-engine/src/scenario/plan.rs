//! What users of a scenario do. Plain data, checked by who makes it.

use std::net::IpAddr;

use abx_evidence::scenario::ScenarioEnd;
use abx_evidence::{ExpectedStatus, Wait};
use abx_sys::{Nanos, ServerAddress};

use super::extraction::Extraction;
use super::text_template::TextTemplate;
use crate::plan::TlsPlan;
use crate::random::Random;

/// The number of the value that tells users apart, from 0.
pub const USER: usize = 0;
/// The number of the value that tells sessions apart. The trial before the load has 0.
pub const SESSION: usize = 1;
/// What these two are called.
pub const OWN_VALUES: [&str; 2] = ["user", "session"];

/// What users do, each in sessions one behind the other.
#[derive(Debug, Clone)]
pub struct ScenarioPlan {
    /// Where the server listens.
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
    pub end: ScenarioEnd,
    /// The values that a session begins with, those of [`OWN_VALUES`] first, whatever stands
    /// there; `None` for those that an answer will give.
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
    /// Threads that share the users, at least one.
    pub threads: usize,
    /// Processors that they are pinned to, each to one in turn; empty for all.
    pub cpus: Vec<usize>,
    /// How they wait for answers.
    pub wait: Wait,
}

/// One request of a session.
#[derive(Debug, Clone)]
pub struct ScenarioStep {
    /// What it is called.
    pub name: String,
    /// The method.
    pub method: String,
    /// Path and query, or a whole URL of the server, of which those are taken.
    pub path: TextTemplate,
    /// Further headers in order.
    pub headers: Vec<(String, TextTemplate)>,
    /// The body, mostly empty.
    pub body: TextTemplate,
    /// The right status.
    pub status: ExpectedStatus,
    /// The pause before it, if any.
    pub think: Option<ThinkTime>,
    /// What later steps need of its answer.
    pub extract: Vec<Extraction>,
}

/// How long a user pauses: any time from the shortest to the longest, as likely as another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThinkTime {
    /// The shortest.
    pub least: Nanos,
    /// The longest, which is not below.
    pub most: Nanos,
}

impl ThinkTime {
    pub(super) fn draw(self, random: &mut Random) -> Nanos {
        let room = self.most.since(self.least).0;
        self.least.plus(Nanos(random.below(room + 1)))
    }
}
