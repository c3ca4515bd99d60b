//! The needs of one subject, and those that it has.

use std::path::{Path, PathBuf};

use abx_study::subject::Source;

use super::environment::Environment;
use super::missing::{Missing, Remedy};
use super::step::ProvisionStep;
use super::system::System;

/// The needs of one subject, as the survey of packages found them.
#[derive(Debug, Clone)]
pub struct Provision {
    pub(super) subject: String,
    pub(super) steps: Vec<PlannedStep>,
    pub(super) missing: Vec<Missing>,
    pub(super) environment: Environment,
    pub(super) cache: PathBuf,
    pub(super) system: System,
}

/// A step with the environment that the steps before it make.
#[derive(Debug, Clone)]
pub(super) struct PlannedStep {
    pub(super) step: ProvisionStep,
    pub(super) environment: Environment,
}

impl Provision {
    /// The subject's name.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// The missing needs, in the order in which they are to be installed.
    #[must_use]
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// Variables that the subject is started with, in place of those of abx:
    /// `PATH`, `NODE_PATH`, `CLASSPATH`, each only when it gains something.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, String)> {
        self.environment.variables()
    }

    /// The program that the user has to bring and that is not there, if there is one.
    #[must_use]
    pub fn brought(&self) -> Option<&Missing> {
        let mut missing = self.missing.iter();
        missing.find(|missing| matches!(missing.remedy, Remedy::Bring(_)))
    }

    /// Gives the server the environment and the build that it needs. Its own table of the
    /// environment comes last and wins.
    pub fn equip(&self, source: &mut Source) {
        if let Source::Command(launch) = source {
            let pairs = std::mem::take(&mut launch.environment);
            launch.environment = self.environment().into_iter().chain(pairs).collect();
            launch.build = self.build().map(Path::to_owned);
        }
    }

    /// The folder that `{build}` stands for, when the subject is built. It is
    /// there when nothing is missing.
    #[must_use]
    pub fn build(&self) -> Option<&Path> {
        let mut steps = self.steps.iter().rev();
        steps.find_map(|planned| planned.step.build_folder())
    }
}
