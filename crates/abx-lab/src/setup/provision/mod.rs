//! The needs of subjects on this machine: finds which are missing, and installs them.
//!
//! [`survey`] only looks; [`install`] installs what is missing. Packages of the system are
//! installed there. Everything else goes into folders of the cache, which are named for their
//! content and count only if they are complete. [`Provision::environment`] leads subjects to them.
//! A need becomes steps (`step`). `recipe` has the commands that fill folders, `packages` those of
//! the system, and `command` runs them.

pub(crate) mod command;
mod environment;
mod images;
mod install;
pub(crate) mod interrupt;
mod missing;
mod packages;
mod policy;
pub(crate) mod recipe;
mod step;
mod subject_provision;
mod system;

use std::path::{Path, PathBuf};

pub use command::CommandError;
pub use install::{FailedCommand, InstallError, install};
pub use missing::{Missing, Remedy};
pub use subject_provision::Provision;

use environment::Environment;
use step::{Owner, ProvisionStep};
use subject_provision::PlannedStep;
use system::System;

use crate::records::store::user_folder;
use abx_study::study_file::{Need, RunSpec, ServerSpec, StudyFile};
use abx_study::subject::{Source, Subject};

/// Finds the needs of each service and subject of a study, and which are missing: one [`Provision`]
/// for each that needs something, in the order of the study, services first. `folder` is the
/// study's, `cache` usually [`cache_folder`].
///
/// It changes and fetches nothing. It queries the system's package database, checks whether python3
/// can make environments, and reads all files of builds.
#[must_use]
pub fn survey(study: &StudyFile, folder: &Path, cache: &Path) -> Vec<Provision> {
    survey_on(&System::here(), study, folder, cache)
}

/// The provisions of subjects of a command line, for which abx can only fetch images.
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
            revision: None,
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

/// The folder of installations and builds: `$XDG_CACHE_HOME/abx`, or else `~/.cache/abx`, or else
/// one in the folder for temporary files.
#[must_use]
pub fn cache_folder() -> PathBuf {
    user_folder("XDG_CACHE_HOME", ".cache")
}

fn survey_on(system: &System, study: &StudyFile, folder: &Path, cache: &Path) -> Vec<Provision> {
    // Commands run in other folders than abx, so relative paths would differ.
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
        let mut new = step.missing(name, &environment, system);
        if missing.is_empty() {
            new.extend(step.missing_program(name, &environment));
        }
        // A tool may be among the packages that are missing already.
        new.retain(|item| !missing.iter().any(|known| known.what == item.what));
        missing.extend(new);
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

#[cfg(test)]
mod tests;
