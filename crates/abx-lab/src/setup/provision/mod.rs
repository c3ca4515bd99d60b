//! What subjects need on this machine: what of it is missing, and having it.
//!
//! [`survey`] looks and changes nothing; [`install`] has what is missing. What
//! is not a package of the system goes into folders of the cache, each named for
//! its content and complete or worth nothing, and [`Provision::environment`]
//! tells subjects where that is. A need becomes steps (`step`); `recipe` knows
//! the commands that fill folders, `packages` those of the system, `command`
//! runs them.

mod command;
mod content_hash;
mod environment;
mod folder;
mod images;
mod install;
mod interrupt;
mod missing;
mod packages;
mod policy;
mod pom;
mod recipe;
mod step;
mod system;
#[cfg(test)]
mod tests;

use std::env;
use std::path::{Path, PathBuf};

pub use command::CommandError;
pub use install::{FailedCommand, InstallError, install};
pub use missing::{Missing, Remedy};

use environment::Environment;
use step::{Owner, ProvisionStep};
use system::System;

use abx_study::study_file::{Need, RunSpec, ServerSpec, StudyFile};
use abx_study::subject::{Source, Subject};

/// What one subject needs, as a [`survey`] found it.
#[derive(Debug, Clone)]
pub struct Provision {
    subject: String,
    steps: Vec<PlannedStep>,
    missing: Vec<Missing>,
    environment: Environment,
    cache: PathBuf,
    system: System,
}

/// A step with the environment that the steps before it make.
#[derive(Debug, Clone)]
struct PlannedStep {
    step: ProvisionStep,
    environment: Environment,
}

impl Provision {
    /// The subject's name.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// What was not there, in the order in which it is to be had.
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

    /// Gives the server the environment and the build that it needs. What its
    /// own table says of the environment comes last and wins.
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

/// Looks what each service and subject of a study needs and has: one [`Provision`] for each
/// that needs something, in the order of the study, services first. `folder` is the
/// study's, `cache` mostly [`cache_folder`].
///
/// Nothing is changed or fetched. The system's package database is asked,
/// python3 whether it can make environments, and all files of builds are read.
#[must_use]
pub fn survey(study: &StudyFile, folder: &Path, cache: &Path) -> Vec<Provision> {
    survey_on(&System::here(), study, folder, cache)
}

/// The same for subjects of a command line, which need images and nothing else that abx
/// could have.
#[must_use]
pub fn survey_images(subjects: &[Subject], cache: &Path) -> Vec<Provision> {
    let server = |subject: &Subject| {
        let Source::Command(launch) = &subject.source else {
            return None;
        };
        let image = launch.image.as_ref()?;
        let server = ServerSpec {
            line: 0,
            needs: vec![Need::Image(image.name.clone())],
            run: RunSpec::Launch(launch.clone()),
        };
        Some((subject.name.clone(), server))
    };
    let system = System::here();
    subjects
        .iter()
        .filter_map(server)
        .map(|(name, server)| provision(&system, (&name, &server), Path::new("/"), cache))
        .collect()
}

/// Where installations and builds are kept: `$XDG_CACHE_HOME/abx`, else
/// `~/.cache/abx`, else in the folder for temporary files.
#[must_use]
pub fn cache_folder() -> PathBuf {
    let absolute = |name: &str| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .unwrap_or_else(env::temp_dir)
        .join("abx")
}

fn survey_on(system: &System, study: &StudyFile, folder: &Path, cache: &Path) -> Vec<Provision> {
    // Commands run in other folders than abx does.
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (folder, cache) = (absolute(folder), absolute(cache));
    let subjects = study
        .subjects
        .iter()
        .map(|subject| (&*subject.name, &subject.server));
    let services = study
        .services
        .iter()
        .map(|service| (&*service.name, &service.server));
    services
        .chain(subjects)
        .filter(|(_, server)| !server.needs.is_empty())
        .map(|named| provision(system, named, &folder, &cache))
        .collect()
}

fn provision(
    system: &System,
    (name, server): (&str, &ServerSpec),
    study: &Path,
    cache: &Path,
) -> Provision {
    let owner = Owner {
        subject: name,
        study,
        cache,
    };
    let mut steps: Vec<ProvisionStep> = Vec::new();
    for need in &server.needs {
        let next = ProvisionStep::of(need, owner, &steps);
        steps.extend(next);
    }
    let mut missing: Vec<Missing> = Vec::new();
    let mut environment = Environment::new(&system.path);
    let mut planned = Vec::new();
    for step in steps {
        let mut missings = step.missing(name, &environment, system);
        if missing.is_empty() {
            missings.extend(step.missing_program(name, &environment));
        }
        // A tool may be among the packages that are missing already.
        missings
            .retain(|this_missing| !missing.iter().any(|other| other.what == this_missing.what));
        missing.extend(missings);
        let before = environment.clone();
        step.add_to(&mut environment);
        planned.push(PlannedStep {
            step,
            environment: before,
        });
    }
    Provision {
        subject: name.to_owned(),
        steps: planned,
        missing,
        environment,
        cache: cache.to_owned(),
        system: system.clone(),
    }
}
