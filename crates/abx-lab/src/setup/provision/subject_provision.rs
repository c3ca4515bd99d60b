//! The needs of one subject, and which of them are missing.

use std::path::{Path, PathBuf};

use abx_study::subject::Source;

use super::environment::Environment;
use super::missing::{Missing, Remedy};
use super::step::ProvisionStep;
use super::system::System;

/// The needs of one subject at the time of the survey.
#[derive(Debug, Clone)]
pub struct Provision {
    pub(super) subject: String,
    pub(super) steps: Vec<PlannedStep>,
    pub(super) missing: Vec<Missing>,
    pub(super) environment: Environment,
    pub(super) cache: PathBuf,
    pub(super) system: System,
}

/// A step with the environment that earlier steps result in.
#[derive(Debug, Clone)]
pub(super) struct PlannedStep {
    pub(super) step: ProvisionStep,
    pub(super) environment: Environment,
}

impl Provision {
    /// The name of the subject.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// The missing needs, in the order in which they have to be installed.
    #[must_use]
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// Variables that replace those of abx when the subject starts: `PATH`, `NODE_PATH` and
    /// `CLASSPATH`, each only if the installation adds something to it.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, String)> {
        self.environment.variables()
    }

    /// The missing program that the user has to bring, if there is one.
    #[must_use]
    pub fn brought(&self) -> Option<&Missing> {
        let mut missing = self.missing.iter();
        missing.find(|missing| matches!(missing.remedy, Remedy::Bring(_)))
    }

    /// Gives the server the environment and the build that it needs. The environment of its launch
    /// comes last and wins.
    pub fn equip(&self, source: &mut Source) {
        if let Source::Command(launch) = source {
            launch.environment.splice(0..0, self.environment());
            launch.build = self.build().map(Path::to_owned);
        }
    }

    /// The folder that `{build}` stands for, if the subject is built. It exists if nothing is
    /// missing.
    #[must_use]
    pub fn build(&self) -> Option<&Path> {
        let mut steps = self.steps.iter().rev();
        steps.find_map(|planned| planned.step.build_folder())
    }
}
