//! The content of a study file, with every default filled in.

use std::path::{Path, PathBuf};
use std::time::Duration;

use abx_evidence::record::{Contrast, Interleave};
use abx_stats::Margin;

use crate::loads::load::Load;
use crate::servers::fault::Fault;
use crate::servers::launch::Launch;
use crate::servers::service::{HealthCheck, SeedCommand, ServiceRestart, StudyService, needed};
use crate::servers::subject::{Source, Subject, SubjectError, Target};
use crate::study::{GeneratedFile, Pin, WaitChoice};

/// A study as its file describes it. A setting that flags may also have is `None` if the file has
/// none.
#[derive(Debug, Clone)]
pub struct StudyFile {
    /// The folder's name for a `study.toml`, else the file's name without `.toml`.
    pub name: String,
    /// The subject that the others are compared with; one of [`StudyFile::subjects`].
    pub baseline: Option<String>,
    /// The smallest difference that matters.
    pub margin: Option<Margin>,
    /// The wall time that the study may take.
    pub budget: Option<Duration>,
    /// A fixed number of blocks.
    pub blocks: Option<u32>,
    pub slice: Option<Duration>,
    pub interleave: Option<Interleave>,
    /// Whether subjects are sampled after their slices.
    pub why: bool,
    pub pin: Option<Pin>,
    /// How the generator waits for responses.
    pub wait: Option<WaitChoice>,
    /// Worker threads of the generator.
    pub threads: Option<u16>,
    /// The seed of all randomness.
    pub seed: Option<u64>,
    /// Files that are made in each subject's folder.
    pub files: Vec<GeneratedFile>,
    /// The servers under test, at least one, in the order of the file.
    pub subjects: Vec<SubjectSpec>,
    /// The services of the subjects, in the order in which they are started.
    pub services: Vec<ServiceSpec>,
    /// The pairs of [`StudyFile::subjects`] that are compared under [`StudyFile::loads`]; empty to
    /// compare each subject with the baseline.
    pub contrasts: Vec<Contrast>,
    /// The loads, at least one; a sweep is several.
    pub loads: Vec<Load>,
    /// For each of the loads, its position in its sweep, from 0.
    pub positions: Vec<usize>,
    /// The faults of subjects, under [`StudyFile::loads`].
    pub faults: Vec<Fault>,
}

/// The loads of a file: one for each table, or the rows of its sweep.
#[derive(Default)]
pub struct StudyRows {
    pub loads: Vec<Load>,
    /// For each of them, its position in its sweep.
    pub positions: Vec<usize>,
    /// For each of them, the name of its table.
    pub tables: Vec<String>,
}

/// A server under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectSpec {
    /// Its name; no other subject has it.
    pub name: String,
    /// How it is obtained and comes to run.
    pub server: ServerSpec,
    /// The server that was meant, when this one stands in for it.
    pub stand_in_for: Option<String>,
    /// Whether it uses HTTP/2 under loads of HTTP/1.1.
    pub http2: bool,
}

/// A server that subjects need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceSpec {
    /// Its name; no other service and no subject has it.
    pub name: String,
    /// How it is obtained and comes to run: always by a launch.
    pub server: ServerSpec,
    /// The check that shows that it is ready.
    pub health: HealthCheck,
    /// The command that fills it with data after each start.
    pub seed: Option<SeedCommand>,
    /// How long one start of it serves.
    pub restart: ServiceRestart,
}

/// How a server is obtained, started, found ready and stopped: the whole description of a subject
/// or service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSpec {
    /// The line of the file with its start, for messages.
    pub line: usize,
    /// The needs, in the order in which they are installed; empty if nothing has to be installed.
    pub needs: Vec<Need>,
    /// The revision that it is built from, if it is one.
    pub revision: Option<RevisionSpec>,
    pub run: RunSpec,
}

/// A revision of a git repository. No text is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionSpec {
    /// The repository or a folder in it, from the study's folder.
    pub repository: PathBuf,
    /// The name by which git finds the commit, or `.` for the working tree.
    pub name: String,
    /// The commands that build it, in order.
    pub build: Vec<String>,
}

/// How a server comes to run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a study has a few, and nearly all are launches"
)]
pub enum RunSpec {
    /// abx starts it and stops it.
    Launch(Launch),
    /// It is running at this `http://` URL, and abx leaves it alone. The host is not yet resolved.
    Address(String),
}

/// One thing that a server needs. Lists are not empty, and neither are their words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// The image of its container.
    Image(String),
    Packages(Vec<String>),
    Npm(Vec<String>),
    /// Packages of the Python Package Index.
    Pypi(Vec<String>),
    Maven(Vec<String>),
    Cargo(Vec<String>),
    Build {
        /// The argument list; `{study}` is the study's folder, `{build}` the folder for its output.
        command: Vec<String>,
        /// The folder in which it runs, below the study's folder; empty for that folder itself.
        folder: PathBuf,
    },
    /// The user has to bring it.
    Bring {
        /// The program that must be there: a name on `PATH` or a path.
        program: String,
        /// How the user gets it.
        how: String,
    },
}

impl StudyFile {
    /// The subjects with the baseline first, which is where a [`Study`](crate::study::Study) has it.
    #[must_use]
    pub fn in_order(&self) -> Vec<&SubjectSpec> {
        let is_baseline = |subject: &&SubjectSpec| Some(&subject.name) == self.baseline.as_ref();
        let (mut order, others): (Vec<_>, Vec<_>) = self.subjects.iter().partition(is_baseline);
        order.extend(others);
        order
    }

    /// Leaves out every subject that is not named, with its contrasts. If the baseline is left out,
    /// the first remaining subject takes its place.
    ///
    /// # Errors
    /// The first name that no subject has.
    pub fn keep_subjects<'a>(&mut self, names: &'a [String]) -> Result<(), &'a str> {
        let is_known = |name: &String| self.subjects.iter().any(|subject| subject.name == *name);
        if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
            return Err(unknown);
        }
        self.subjects
            .retain(|subject| names.contains(&subject.name));
        let stays = |name: &str| names.iter().any(|kept| kept == name);
        self.contrasts
            .retain(|contrast| contrast.pair().into_iter().all(stays));
        self.keep_needed_services();
        Ok(())
    }

    /// Leaves out services that no subject needs any more.
    fn keep_needed_services(&mut self) {
        let services: Vec<_> = self
            .services
            .iter()
            .map(|service| (service.name.as_str(), service.launch()))
            .collect();
        let needed = needed(&services, self.launches());
        let needed: Vec<String> = needed.into_iter().map(str::to_owned).collect();
        self.services
            .retain(|service| needed.contains(&service.name));
    }

    /// The launches of the subjects that abx starts.
    pub fn launches(&self) -> impl Iterator<Item = &Launch> {
        let runs = self.subjects.iter().map(|subject| &subject.server.run);
        runs.filter_map(|run| match run {
            RunSpec::Launch(launch) => Some(launch),
            RunSpec::Address(_) => None,
        })
    }

    /// Leaves out every load that is not named.
    ///
    /// # Errors
    /// The first name that no load has.
    pub fn keep_loads<'a>(&mut self, names: &'a [String]) -> Result<(), &'a str> {
        let is_known = |name: &String| self.loads.iter().any(|load| load.name == *name);
        if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
            return Err(unknown);
        }
        let loads = std::mem::take(&mut self.loads).into_iter();
        let pairs = loads.zip(std::mem::take(&mut self.positions));
        let kept = pairs.filter(|(load, _)| names.contains(&load.name));
        (self.loads, self.positions) = kept.unzip();
        self.keep_contrasts();
        Ok(())
    }

    /// Leaves out the parts of contrasts and faults that refer to loads that are left out.
    fn keep_contrasts(&mut self) {
        let loads = &self.loads;
        self.faults
            .retain(|fault| loads.iter().any(|load| load.name == fault.load));
        let faults = &self.faults;
        let remains = |name: &str| {
            let of_loads = loads.iter().any(|load| load.name == name);
            of_loads || faults.iter().any(|fault| fault.name == name)
        };
        self.contrasts.retain_mut(|contrast| {
            let is_everywhere = contrast.loads.is_empty();
            contrast.loads.retain(|name| remains(name));
            is_everywhere || !contrast.loads.is_empty()
        });
    }

    /// Leaves out all positions of sweeps except the first ones and those under which a fault
    /// occurs.
    pub fn keep_first_positions(&mut self) {
        let loads = std::mem::take(&mut self.loads).into_iter();
        let pairs = loads.zip(std::mem::take(&mut self.positions));
        let faults = &self.faults;
        let is_struck = |load: &Load| faults.iter().any(|fault| fault.load == load.name);
        let kept = pairs.filter(|(load, position)| *position == 0 || is_struck(load));
        (self.loads, self.positions) = kept.unzip();
        self.keep_contrasts();
    }
}

impl SubjectSpec {
    /// The subject as a study takes it; `folder` is the study's. A host is looked up.
    ///
    /// # Errors
    /// [`SubjectError`] for a URL that leads nowhere.
    pub fn subject(&self, folder: &Path) -> Result<Subject, SubjectError> {
        Ok(Subject {
            name: self.name.clone(),
            source: self.server.source(folder)?,
            stand_in_for: self.stand_in_for.clone(),
            http2: self.http2,
            revision: None,
        })
    }
}

impl ServiceSpec {
    /// How it is started.
    #[must_use]
    pub fn launch(&self) -> &Launch {
        match &self.server.run {
            RunSpec::Launch(launch) => launch,
            RunSpec::Address(_) => unreachable!("a service is started"),
        }
    }

    /// The service as a study takes it; `folder` is the study's.
    #[must_use]
    pub fn service(&self, folder: &Path) -> StudyService {
        StudyService {
            name: self.name.clone(),
            source: Source::Command(Launch {
                folder: Some(folder.to_owned()),
                ..self.launch().clone()
            }),
            health: self.health.clone(),
            seed: self.seed.clone(),
            restart: self.restart,
        }
    }
}

impl ServerSpec {
    /// The server as a study takes it; `folder` is the study's. A host is looked up.
    ///
    /// # Errors
    /// [`SubjectError`] for a URL that leads nowhere.
    pub fn source(&self, folder: &Path) -> Result<Source, SubjectError> {
        Ok(match &self.run {
            RunSpec::Address(url) => Source::Address(Target::parse(url)?),
            RunSpec::Launch(launch) => Source::Command(Launch {
                folder: Some(folder.to_owned()),
                ..launch.clone()
            }),
        })
    }
}
