//! One need of a subject: how abx checks for it, and how it is installed.

use std::path::{Path, PathBuf};

use super::environment::Environment;
use super::images;
use super::missing::{Missing, Remedy};
use super::packages;
use super::recipe::{Recipe, Sources};
use super::system::System;
use abx_study::program::find;
use abx_study::study_file::Need;

/// A step towards a need on this machine.
#[derive(Debug, Clone)]
pub enum ProvisionStep {
    Image(String),
    Packages(Vec<String>),
    /// The tool that a recipe runs.
    Tool(Tool),
    Folder(Recipe),
    Bring {
        /// A name on `PATH`, or a path.
        program: String,
        /// How a person gets it.
        how: String,
        study: PathBuf,
    },
    /// The need cannot be installed as the study file has it.
    Impossible {
        what: String,
        /// How to change the study file.
        how: String,
    },
}

/// The package installer of a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    Npm,
    Python,
    Maven,
    Cargo,
}

/// The owner of the needs.
#[derive(Debug, Clone, Copy)]
pub struct Owner<'a> {
    pub subject: &'a str,
    pub study: &'a Path,
    pub cache: &'a Path,
}

impl ProvisionStep {
    /// The steps towards a need, which follow the steps `before`.
    pub fn of(need: &Need, owner: Owner, before: &[ProvisionStep]) -> Vec<ProvisionStep> {
        let cache = owner.cache;
        let with = |tool: Tool, recipe: Recipe| {
            vec![ProvisionStep::Tool(tool), ProvisionStep::Folder(recipe)]
        };
        match need {
            Need::Image(name) => vec![ProvisionStep::Image(name.clone())],
            Need::Packages(list) => vec![ProvisionStep::Packages(list.clone())],
            Need::Npm(list) => with(Tool::Npm, Recipe::npm(list, cache)),
            Need::Pypi(list) => with(Tool::Python, Recipe::pypi(list, cache)),
            Need::Cargo(list) => with(Tool::Cargo, Recipe::cargo(list, cache)),
            Need::Maven(list) => match Recipe::maven(list, cache) {
                Ok(recipe) => with(Tool::Maven, recipe),
                Err(text) => vec![ProvisionStep::Impossible {
                    what: format!("the artifact `{text}`"),
                    how: "write it in from.maven as group:artifact:version".to_owned(),
                }],
            },
            Need::Build { command, folder } => {
                vec![ProvisionStep::build(command, folder, owner, before)]
            }
            Need::Bring { program, how } => vec![ProvisionStep::Bring {
                program: program.clone(),
                how: how.clone(),
                study: owner.study.to_owned(),
            }],
        }
    }

    fn build(
        command: &[String],
        folder: &Path,
        owner: Owner,
        before: &[ProvisionStep],
    ) -> ProvisionStep {
        let sources = Sources {
            command: command.to_vec(),
            study: owner.study.to_owned(),
            folder: owner.study.join(folder),
            before: before.iter().flat_map(ProvisionStep::names).collect(),
        };
        match Recipe::build(owner.subject, sources, owner.cache) {
            Ok(recipe) => ProvisionStep::Folder(recipe),
            Err(error) => ProvisionStep::Impossible {
                what: "its build".to_owned(),
                how: error.to_string(),
            },
        }
    }

    /// The names that distinguish it from other steps of its kind.
    fn names(&self) -> Vec<String> {
        match self {
            ProvisionStep::Packages(list) => list.clone(),
            ProvisionStep::Folder(recipe) => {
                let name = recipe.folder.path().file_name().unwrap_or_default();
                vec![name.to_string_lossy().into_owned()]
            }
            ProvisionStep::Image(_)
            | ProvisionStep::Tool(_)
            | ProvisionStep::Bring { .. }
            | ProvisionStep::Impossible { .. } => Vec::new(),
        }
    }

    /// Its missing part. This changes nothing, and does not use the network.
    pub fn missing(
        &self,
        subject: &str,
        environment: &Environment,
        system: &System,
    ) -> Vec<Missing> {
        let item = |what: String, remedy: Remedy| {
            vec![Missing {
                subject: subject.to_owned(),
                what,
                remedy,
            }]
        };
        match self {
            ProvisionStep::Image(name) => images::missing(subject, name, system),
            ProvisionStep::Packages(list) => packages::missing(subject, list, system),
            ProvisionStep::Tool(tool) => tool.missing(subject, environment, system),
            ProvisionStep::Folder(recipe) if recipe.is_complete() => Vec::new(),
            ProvisionStep::Folder(recipe) => item(
                recipe.what.clone(),
                Remedy::Install(recipe.commands.clone()),
            ),
            ProvisionStep::Bring {
                program: name,
                how,
                study,
            } => match find(name, environment.path().as_ref(), study) {
                Some(_) => Vec::new(),
                None => item(format!("the program {name}"), Remedy::Bring(how.clone())),
            },
            ProvisionStep::Impossible { what, how } => {
                item(what.clone(), Remedy::ByHand(how.clone()))
            }
        }
    }

    /// The program of a build, if it is missing. This is checked only if nothing that may bring the
    /// program is missing.
    pub fn missing_program(&self, subject: &str, environment: &Environment) -> Option<Missing> {
        let ProvisionStep::Folder(recipe) = self else {
            return None;
        };
        recipe.sources()?;
        if recipe.is_complete() {
            return None;
        }
        let name = recipe.commands.first()?.first()?;
        if find(name, environment.path().as_ref(), recipe.directory()).is_some() {
            return None;
        }
        Some(Missing {
            subject: subject.to_owned(),
            what: format!("the program {name}, which builds it"),
            remedy: Remedy::ByHand(
                "install it, or name the package that has it in from.packages".to_owned(),
            ),
        })
    }

    /// Adds the folders in which later steps and the subject find its results.
    pub fn add_to(&self, environment: &mut Environment) {
        match self {
            ProvisionStep::Packages(_) => environment.add_system_servers(),
            ProvisionStep::Folder(recipe) => recipe.add_to(environment),
            ProvisionStep::Image(_)
            | ProvisionStep::Tool(_)
            | ProvisionStep::Bring { .. }
            | ProvisionStep::Impossible { .. } => {}
        }
    }

    /// The folder into which a build writes.
    pub fn build_folder(&self) -> Option<&Path> {
        match self {
            ProvisionStep::Folder(recipe) => recipe.sources().map(|_| recipe.folder.path()),
            _ => None,
        }
    }
}

impl Tool {
    fn program(self) -> &'static str {
        match self {
            Tool::Npm => "npm",
            Tool::Python => "python3",
            Tool::Maven => "mvn",
            Tool::Cargo => "cargo",
        }
    }

    /// The package of Debian that contains it.
    fn package(self) -> &'static str {
        match self {
            Tool::Npm => "npm",
            Tool::Python => "python3-venv",
            Tool::Maven => "maven",
            Tool::Cargo => "cargo",
        }
    }

    fn missing(self, subject: &str, environment: &Environment, system: &System) -> Vec<Missing> {
        let path = environment.path();
        let is_there = match self {
            // Debian's package of Python lacks the modules that create environments.
            Tool::Python => {
                let arguments = ["-c", "import ensurepip, venv"];
                system.output(self.program(), &arguments, &path).is_some()
            }
            Tool::Npm | Tool::Maven | Tool::Cargo => {
                find(self.program(), path.as_ref(), Path::new("/")).is_some()
            }
        };
        if is_there {
            return Vec::new();
        }
        if system.has_packages() {
            let missing = packages::missing(subject, &[self.package().to_owned()], system);
            if !missing.is_empty() {
                return missing;
            }
        }
        let what = match self {
            Tool::Python => "a python3 that can create environments (venv, ensurepip)".to_owned(),
            Tool::Npm | Tool::Maven | Tool::Cargo => format!("the program {}", self.program()),
        };
        vec![Missing {
            subject: subject.to_owned(),
            what,
            remedy: Remedy::ByHand("install it, and add it to PATH".to_owned()),
        }]
    }
}
