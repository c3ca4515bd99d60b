//! The steps of users' sessions, in order.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use abx_evidence::ExpectedStatus;
use abx_sys::Nanos;

use super::extraction::Extraction;
use super::text_template::TextTemplate;
use crate::random::Random;

/// The number of the value that identifies users, from 0.
pub const USER: usize = 0;
/// The number of the value that identifies sessions. The trial before the load has 0.
pub const SESSION: usize = 1;
/// The names of these two.
pub const OWN_VALUES: [&str; 2] = ["user", "session"];

/// The script of a load's users, for all of its subjects.
#[derive(Debug)]
pub struct ScenarioScript {
    pub values: Vec<Option<String>>,
    /// The steps of a session, at least one.
    pub steps: Vec<ScenarioStep>,
    /// Whether a session keeps the cookies that it is given.
    pub keeps_cookies: bool,
    /// How much is kept of a body that values are taken from, in bytes.
    pub body_max: usize,
    /// The number of the next session: no two have the same, for any subject at any time.
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
    /// Path and query, or a whole URL of the server, of which only these two are used.
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

/// How long a user pauses: any time from the shortest to the longest, as likely as another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThinkTime {
    pub least: Nanos,
    /// The longest, which is not below.
    pub most: Nanos,
}

impl ThinkTime {
    pub(crate) fn draw(self, random: &mut Random) -> Nanos {
        let room = self.most.since(self.least).0;
        self.least.plus(Nanos(random.below(room + 1)))
    }
}
