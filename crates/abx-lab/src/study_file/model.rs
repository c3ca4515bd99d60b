//! What a study file says, with every default filled in.

use std::path::PathBuf;
use std::time::Duration;

use abx_evidence::record::Interleave;
use abx_evidence::stats::Margin;
use abx_sys::process::Signal;

use crate::study::{ExpectBody, Pin};

/// A study as its file describes it. What flags may also say is `None` where
/// the file is silent.
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
    /// A fixed length of slices.
    pub slice: Option<Duration>,
    /// How subjects take turns.
    pub interleave: Option<Interleave>,
    /// Who uses which processors.
    pub pin: Option<Pin>,
    /// Worker threads of the generator.
    pub threads: Option<u16>,
    /// What all randomness is drawn from.
    pub seed: Option<u64>,
    /// Files that are made in each subject's folder.
    pub files: Vec<FileSpec>,
    /// The servers under test, at least one, in the order of the file.
    pub subjects: Vec<SubjectSpec>,
    /// The loads, at least one.
    pub loads: Vec<LoadSpec>,
}

/// A file made from the seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSpec {
    /// Its path in the subject's folder: relative, and never above it.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
}

/// A server under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectSpec {
    /// Its name; no other subject has it.
    pub name: String,
    /// How it is obtained.
    pub origin: Origin,
    /// How it comes to run.
    pub run: RunSpec,
}

/// How a subject comes to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunSpec {
    /// abx starts it and stops it.
    Launch(LaunchSpec),
    /// It is running at this `http://` URL, and abx leaves it alone. The host
    /// is not looked up yet.
    Address(String),
}

/// How abx starts and stops a subject. `{port}` stands in the command, in the
/// environment or in a template; see [`super::fill`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchSpec {
    /// The argument list, not empty, with placeholders.
    pub command: Vec<String>,
    /// Further variables of its environment, with placeholders.
    pub environment: Vec<(String, String)>,
    /// Files written into its folder before each start.
    pub templates: Vec<Template>,
    /// When it is ready.
    pub ready: ReadySpec,
    /// How it is stopped.
    pub stop: StopSpec,
}

/// A file written before each start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Its path in the subject's folder: relative, and never above it.
    pub target: PathBuf,
    /// Its text, with placeholders.
    pub text: String,
}

/// When a subject is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadySpec {
    /// What is asked; `None` for the first request of the first load.
    pub path: Option<String>,
    /// How long it may take.
    pub within: Duration,
    /// The status that tells it; `None` for that of the first load.
    pub status: Option<u16>,
}

/// How a subject is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopSpec {
    /// The signal.
    pub signal: Signal,
    /// How long it may take after that; then it is killed.
    pub within: Duration,
}

/// How a subject is obtained.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// What is needed, in the order in which it is to be had; empty when the
    /// program is simply there.
    pub needs: Vec<Need>,
    /// The server that was meant, when this one stands in for it.
    pub stand_in_for: Option<String>,
}

/// One thing that a subject needs. Lists are not empty, and neither are their words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// Packages of the system.
    Packages(Vec<String>),
    /// Packages of npm.
    Npm(Vec<String>),
    /// Packages of the Python Package Index.
    Pypi(Vec<String>),
    /// Artifacts of Maven.
    Maven(Vec<String>),
    /// Crates with a program.
    Cargo(Vec<String>),
    /// It is built.
    Build {
        /// The argument list; `{study}` is the study's folder.
        command: Vec<String>,
        /// Where it runs: below the study's folder, or that folder itself when empty.
        folder: PathBuf,
    },
    /// The user has to bring it.
    Bring {
        /// The program that must be there: a name on `PATH` or a path.
        program: String,
        /// How a person gets it.
        how: String,
    },
}

/// One load, or one for each entry of `connections`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadSpec {
    /// Its name; no other load has it.
    pub name: String,
    /// Connections: not empty, and each number once. More than one is a sweep.
    pub connections: Vec<u32>,
    /// What is asked, at least one; several are mixed by their weights.
    pub requests: Vec<RequestSpec>,
    /// Whether a connection serves more than one request.
    pub keep_alive: bool,
    /// How long a request may take.
    pub timeout: Duration,
    /// Of how many answers one has its body hashed; 0 is never.
    pub verify_every: u32,
    /// The right status.
    pub status: u16,
    /// Which bodies are right.
    pub body: ExpectBody,
}

/// One request of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestSpec {
    /// Path and query.
    pub path: String,
    /// Its share among the load's requests, at least 1.
    pub weight: u32,
    /// The method.
    pub method: String,
    /// Further headers, in the order of their names.
    pub headers: Vec<(String, String)>,
    /// The body, mostly empty.
    pub body: Vec<u8>,
}
