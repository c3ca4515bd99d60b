//! What users of a load do in each session: its steps, in order.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use abx_evidence::ExpectedStatus;
use abx_sys::Nanos;

use super::extraction::Extraction;
use super::text_template::TextTemplate;
use crate::random::Random;

/// The number of the value that tells users apart, from 0.
pub const USER: usize = 0;
/// The number of the value that tells sessions apart. The trial before the load has 0.
pub const SESSION: usize = 1;
/// What these two are called.
pub const OWN_VALUES: [&str; 2] = ["user", "session"];

/// What users of a load do, for all of its subjects.
#[derive(Debug)]
pub struct ScenarioScript {
    pub values: Vec<Option<String>>,
    /// The steps of a session, at least one.
    pub steps: Vec<ScenarioStep>,
    /// Whether a session keeps the cookies that it is given.
    pub keeps_cookies: bool,
    /// How much is kept of a body that values are taken from, in bytes.
    pub body_max: usize,
    /// The number of the next session: no two have the same, whoever is loaded and when.
    pub next_session: Arc<AtomicU64>,
}

/// What the users of one pool do.
#[derive(Debug, Clone)]
pub struct ScenarioUsers {
    pub script: Arc<ScenarioScript>,
    /// What the server is told that it is called.
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
    /// Path and query, or a whole URL of the server, of which those are taken.
    pub path: TextTemplate,
    /// Further headers in order.
    pub headers: Vec<(String, TextTemplate)>,
    /// The body, mostly empty.
    pub body: TextTemplate,
    pub status: ExpectedStatus,
    /// The pause before it, if any.
    pub think: Option<ThinkTime>,
    /// What later steps need of its response.
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
