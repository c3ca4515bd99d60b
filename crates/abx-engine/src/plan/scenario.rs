//! The steps of users' sessions, in order.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use abx_evidence::ExpectedStatus;
use abx_sys::Nanos;

use super::extraction::Extraction;
use super::text_template::TextTemplate;
use crate::random::Random;

/// The index of the value with the user's number, which counts from 0.
pub const USER: usize = 0;
/// The index of the value with the session's number. The trial before the load has number 0.
pub const SESSION: usize = 1;
/// The names of the values at `USER` and `SESSION`.
pub const OWN_VALUES: [&str; 2] = ["user", "session"];

/// The script of a load's users, for all of its subjects.
#[derive(Debug)]
pub struct ScenarioScript {
    pub values: Vec<Option<String>>,
    /// The steps of a session, at least one.
    pub steps: Vec<ScenarioStep>,
    /// Whether a session keeps the cookies that it receives.
    pub keeps_cookies: bool,
    /// The most bytes that are kept of a body from which values are taken.
    pub body_max: usize,
    /// The number of the next session. Numbers are unique over all subjects and slices.
    pub next_session: Arc<AtomicU64>,
}

/// The scenario of one pool's users.
#[derive(Debug, Clone)]
pub struct ScenarioUsers {
    pub script: Arc<ScenarioScript>,
    /// The host name that the server receives.
    pub host: String,
}

impl ScenarioUsers {
    /// Whether its users pause.
    #[must_use]
    pub fn has_pauses(&self) -> bool {
        self.script.steps.iter().any(|step| step.think.is_some())
    }
}

impl PartialEq for ScenarioUsers {
    fn eq(&self, other: &ScenarioUsers) -> bool {
        Arc::ptr_eq(&self.script, &other.script) && self.host == other.host
    }
}

impl Eq for ScenarioUsers {}

/// One request of a session.
#[derive(Debug, Clone)]
pub struct ScenarioStep {
    pub name: String,
    pub method: String,
    /// Path and query, or a whole URL of the server, whose host is ignored.
    pub path: TextTemplate,
    /// Further headers in order.
    pub headers: Vec<(String, TextTemplate)>,
    /// The body, mostly empty.
    pub body: TextTemplate,
    pub status: ExpectedStatus,
    /// The pause before it, if any.
    pub think: Option<ThinkTime>,
    /// Values of its response that later steps need.
    pub extract: Vec<Extraction>,
}

/// How long a user pauses: uniformly distributed from `least` to `most`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThinkTime {
    pub least: Nanos,
    /// At least `least`.
    pub most: Nanos,
}

impl ThinkTime {
    pub(crate) fn draw(self, random: &mut Random) -> Nanos {
        let range = self.most.since(self.least).0;
        self.least.plus(Nanos(random.below(range + 1)))
    }
}
