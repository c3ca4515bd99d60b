//! How abx starts a subject, detects that it is ready, and stops it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use abx_evidence::record::IMAGE;
use abx_sys::process::Signal;
use serde::{Deserialize, Serialize};

use crate::servers::container::{ContainerEngine, ContainerImage};
use crate::servers::placeholder::{FilledWord, PlaceholderValues, fill, placeholders};
use crate::servers::program;

/// How abx starts and stops a subject. Texts may hold the placeholders of
/// docs/reference/study-file.md; `{port}` stands in one of them, unless it is a container, whose
/// environment has it as `PORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The argument list, not empty. For a container, the arguments for its image; empty to use
    /// those of the image.
    pub command: Vec<String>,
    /// The image of its container; `None` for a command of this machine.
    pub image: Option<ContainerImage>,
    /// The names of its further ports, each for `{port.NAME}`.
    pub ports: Vec<String>,
    /// Further variables of its environment.
    pub environment: Vec<(String, String)>,
    /// Files written into its folder before each start.
    pub templates: Vec<Template>,
    /// The name that its certificate is for, if it uses TLS.
    pub tls_name: Option<String>,
    pub ready: ReadinessRule,
    pub stop: Stop,
    /// The program name of its workers; `None` for every process without children but
    /// the main one.
    pub worker: Option<String>,
    /// The signal by which its main process reloads its configuration, if it has one.
    pub reload: Option<Signal>,
    /// The folder that it starts in: that of its study; `None` is the one abx was started in.
    pub folder: Option<PathBuf>,
    /// The folder in which it was built, if it was.
    pub build: Option<PathBuf>,
    /// The checkout that it starts in, if it is a revision; `None` for [`Launch::folder`].
    pub checkout: Option<PathBuf>,
}

/// A file written before each start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Its path in the subject's folder: relative, and never above it.
    pub target: PathBuf,
    pub text: String,
}

/// When a subject is ready: after three correct responses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadinessRule {
    /// The path of the request; `None` for the first request of the first load.
    pub path: Option<String>,
    /// The status that shows it; `None` for that of the first load.
    pub status: Option<u16>,
    /// How long it may take from its start.
    pub within: Duration,
}

/// How a command is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// The signal that requests it.
    pub signal: Signal,
    /// How long it may take; then everything that is left is killed.
    pub within: Duration,
}

/// A launch with every placeholder filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilledLaunch {
    pub command: Vec<String>,
    /// Further variables of its environment.
    pub environment: Vec<(String, String)>,
    pub templates: Vec<Template>,
}

impl Default for ReadinessRule {
    /// Three correct responses of the load itself within 30 s.
    fn default() -> ReadinessRule {
        ReadinessRule {
            path: None,
            status: None,
            within: Duration::from_secs(30),
        }
    }
}

impl Launch {
    /// SIGTERM, and 5 s to end.
    pub const STOP: Stop = Stop {
        signal: Signal::Term,
        within: Duration::from_secs(5),
    };

    /// A command with the default limits: 30 s to get ready, 5 s to end.
    #[must_use]
    pub fn new(command: Vec<String>) -> Launch {
        Launch {
            command,
            image: None,
            ports: Vec::new(),
            environment: Vec::new(),
            templates: Vec::new(),
            tls_name: None,
            ready: ReadinessRule::default(),
            stop: Launch::STOP,
            worker: None,
            reload: None,
            folder: None,
            build: None,
            checkout: None,
        }
    }

    /// A container of this image, with these words for it.
    #[must_use]
    pub fn of_image(name: String, words: Vec<String>) -> Launch {
        Launch {
            image: Some(ContainerImage {
                name,
                stop_signal: None,
            }),
            ..Launch::new(words)
        }
    }

    /// Its argument list as records have it: an image is the first word.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let image = self
            .image
            .iter()
            .map(|image| format!("{IMAGE}{}", image.name));
        image.chain(self.command.iter().cloned()).collect()
    }

    /// The folder that it starts in.
    #[must_use]
    pub fn start_folder(&self) -> PathBuf {
        self.checkout.clone().unwrap_or_else(|| self.study_folder())
    }

    /// The folder that `{study}` names.
    #[must_use]
    pub fn study_folder(&self) -> PathBuf {
        let current = || std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        self.folder.clone().unwrap_or_else(current)
    }

    /// The program, if it is missing: for a container, the container engine. A program in the
    /// subject's own folder is not missing, because it is created at the start.
    #[must_use]
    pub fn missing_program(&self) -> Option<String> {
        if self.image.is_some() {
            return ContainerEngine::here().err().map(|none| none.sought);
        }
        let filled = |port: u16, dir: &str| {
            let launch = self.fill(port, Path::new(dir), &[]);
            launch.command.into_iter().next()
        };
        // The path of a program in the subject's folder changes with that folder.
        let program = filled(0, "/")?;
        if filled(1, "/x").as_ref() != Some(&program) {
            return None;
        }
        let path = match self.environment.iter().rfind(|(name, _)| name == "PATH") {
            Some((_, path)) => path.into(),
            None => std::env::var_os("PATH").unwrap_or_default(),
        };
        program::find(&program, &path, &self.start_folder())
            .is_none()
            .then_some(program)
    }

    /// The words in braces of all its texts.
    pub fn placeholders(&self) -> impl Iterator<Item = &str> {
        let environment = self.environment.iter().map(|(_, value)| value);
        let templates = self.templates.iter().map(|template| &template.text);
        let texts = self.command.iter().chain(environment).chain(templates);
        texts.flat_map(|text| placeholders(text).map(|placeholder| placeholder.word))
    }

    /// Fills in every placeholder for a start on `port` with `dir` as its folder; `paths` are the
    /// values of placeholders such as `{port.NAME}`.
    #[must_use]
    pub fn fill(&self, port: u16, dir: &Path, paths: &[FilledWord]) -> FilledLaunch {
        let study = self.study_folder();
        let abx = std::env::current_exe().ok();
        let values = PlaceholderValues {
            port,
            dir,
            study: &study,
            abx: abx.as_deref(),
            build: self.build.as_deref(),
            paths,
        };
        let fill = |text: &String| fill(text, &values);
        let templates = self.templates.iter();
        let environment = self.environment.iter();
        FilledLaunch {
            command: self.command.iter().map(fill).collect(),
            environment: environment
                .map(|(name, value)| (name.clone(), fill(value)))
                .collect(),
            templates: templates
                .map(|template| Template {
                    target: template.target.clone(),
                    text: fill(&template.text),
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_filled_and_nothing_else_is_touched() {
        // Method: each placeholder in each place that may hold one.
        let launch = Launch {
            environment: vec![("A".into(), "{study}/x".into())],
            templates: vec![Template {
                target: "n.conf".into(),
                text: "listen {port}; {build}".into(),
            }],
            folder: Some("/s".into()),
            build: Some("/b".into()),
            ..Launch::new(vec!["./x".into(), "{dir}/n.conf".into(), "{}".into()])
        };
        let filled = launch.fill(81, Path::new("/d"), &[]);
        assert_eq!(filled.command, ["./x", "/d/n.conf", "{}"]);
        assert_eq!(filled.environment, [("A".into(), "/s/x".into())]);
        assert_eq!(filled.templates[0].text, "listen 81; /b");
    }

    #[test]
    fn a_program_is_missing_if_neither_path_nor_template_provides_it() {
        // Method: a program that exists, one that does not, one that a template creates, and one
        // that the launch's own PATH does not contain.
        let missing = |program: &str| Launch::new(vec![program.into()]).missing_program();
        assert_eq!(missing("sh"), None);
        assert_eq!(missing("no-such-program"), Some("no-such-program".into()));
        assert_eq!(missing("{dir}/made"), None);
        let elsewhere = Launch {
            environment: vec![("PATH".into(), "/nowhere".into())],
            ..Launch::new(vec!["sh".into()])
        };
        assert_eq!(elsewhere.missing_program(), Some("sh".into()));
    }
}
