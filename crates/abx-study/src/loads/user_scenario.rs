//! A scenario as the load of a study: the actions of each of its users, over and over.

use std::sync::Arc;
use std::time::Duration;

use abx_engine::{ScenarioScript, ScenarioUsers};
use abx_evidence::ExpectedStatus;
use abx_evidence::record::{RequestSettings, ScenarioSettings};

use crate::requests::request_spec::RequestSpec;

/// The actions of users.
#[derive(Debug, Clone)]
pub struct UserScenario {
    file: String,
    sha256: String,
    /// The path of each step as it is written.
    paths: Vec<String>,
    pub(super) timeout: Duration,
    script: Arc<ScenarioScript>,
}

impl PartialEq for UserScenario {
    /// Equal only if they share one script, because the script numbers the sessions.
    fn eq(&self, other: &UserScenario) -> bool {
        Arc::ptr_eq(&self.script, &other.script)
    }
}

impl UserScenario {
    /// The content of a file: its name, the hash of its text, the path of each step as it is
    /// written, how long a step may take, and the steps.
    pub(crate) fn new(
        file: String,
        sha256: String,
        paths: Vec<String>,
        timeout: Duration,
        script: ScenarioScript,
    ) -> UserScenario {
        UserScenario {
            file,
            sha256,
            paths,
            timeout,
            script: Arc::new(script),
        }
    }

    /// Whether users pause, so that their pauses set how many sessions there are.
    #[must_use]
    pub fn has_pauses(&self) -> bool {
        self.script.steps.iter().any(|step| step.think.is_some())
    }

    /// The users of a server that is addressed by this host.
    pub fn load(&self, host: String) -> ScenarioUsers {
        ScenarioUsers {
            script: Arc::clone(&self.script),
            host,
        }
    }

    /// A step's name, and its request as it is written.
    pub fn step(&self, number: usize) -> (&str, String) {
        let step = &self.script.steps[number];
        let request = format!("{} {}", step.method, self.paths[number]);
        (&step.name, request)
    }

    /// Its settings in the record.
    #[must_use]
    pub fn settings(&self) -> ScenarioSettings {
        ScenarioSettings {
            file: self.file.clone(),
            sha256: self.sha256.clone(),
            steps: self
                .script
                .steps
                .iter()
                .map(|step| step.name.clone())
                .collect(),
        }
    }

    /// Its steps as requests, with the names of values as they stand in the file.
    #[must_use]
    pub fn requests(&self) -> Vec<RequestSettings> {
        let steps = self.script.steps.iter().zip(&self.paths);
        let request = |(step, path): (&abx_engine::ScenarioStep, &String)| RequestSettings {
            method: step.method.clone(),
            path: path.clone(),
            weight: 1,
            body: None,
            status: (step.status != ExpectedStatus::default()).then_some(step.status),
        };
        steps.map(request).collect()
    }

    /// The request that shows that a server is ready: any response counts, because a single step
    /// need not be correct by itself.
    pub(super) fn readiness(&self) -> RequestSpec {
        let first = self.paths.first().filter(|path| !path.contains('{'));
        RequestSpec {
            path: Some(first.map_or("/", String::as_str).to_owned()),
            is_logged: true,
            ..RequestSpec::default()
        }
    }
}
