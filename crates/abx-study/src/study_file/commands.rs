//! The commands that abx runs for a study file: the list that a user sees before trusting the file.

use std::path::Path;

use sha2::{Digest, Sha256};

use super::model::{Need, RunSpec, ServerSpec, StudyFile};
use crate::servers::launch::Launch;
use crate::servers::service::HealthCheck;

/// A command that abx runs for a study file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyCommand {
    /// Its purpose, and its subject or service, such as `seed of db`.
    pub purpose: String,
    /// The command as written, with its words quoted for a shell.
    pub text: String,
}

impl StudyFile {
    /// Every command that abx runs for the file, and the packages that `--install` installs: those
    /// of its services, then those of its subjects.
    #[must_use]
    pub fn commands(&self) -> Vec<StudyCommand> {
        let mut commands = Vec::new();
        for service in &self.services {
            add_server(&mut commands, &service.name, &service.server);
            if let HealthCheck::Command(words) = &service.health {
                let purpose = format!("health check of {}", service.name);
                commands.push(command(purpose, words));
            }
            if let Some(seed) = &service.seed {
                commands.push(command(format!("seed of {}", service.name), &seed.command));
            }
        }
        for subject in &self.subjects {
            add_server(&mut commands, &subject.name, &subject.server);
        }
        commands
    }

    /// The SHA-256 of its commands, in hexadecimal: their words, environment and files, and the
    /// study's folder, from which they are started.
    #[must_use]
    pub fn commands_digest(&self, folder: &Path) -> String {
        let mut text = format!("{folder:?}");
        let servers = self.subjects.iter().map(|subject| &subject.server);
        for server in servers.chain(self.services.iter().map(|service| &service.server)) {
            text.push_str(&format!("{:?}{:?}", server.needs, server.revision));
            if let RunSpec::Launch(launch) = &server.run {
                let Launch {
                    command,
                    image,
                    environment,
                    templates,
                    ..
                } = launch;
                text.push_str(&format!("{command:?}{image:?}{environment:?}{templates:?}"));
            }
        }
        for service in &self.services {
            text.push_str(&format!("{:?}{:?}", service.health, service.seed));
        }
        abx_model::hex(&Sha256::digest(text))
    }
}

/// The commands that obtain and start a server.
fn add_server(commands: &mut Vec<StudyCommand>, name: &str, server: &ServerSpec) {
    let installed = server.needs.iter().filter_map(installation);
    commands.extend(installed.map(|(what, words)| command(format!("{what} of {name}"), words)));
    for build in server.revision.iter().flat_map(|revision| &revision.build) {
        commands.push(StudyCommand {
            purpose: format!("build of {name}"),
            text: build.clone(),
        });
    }
    if let RunSpec::Launch(launch) = &server.run {
        let mut started = command(name.to_owned(), &launch.command);
        if let Some(image) = &launch.image {
            started.text = format!("{} {}", image.name, started.text)
                .trim_end()
                .to_owned();
        }
        if !launch.environment.is_empty() {
            let variables = launch.environment.iter().map(|(name, _)| name.as_str());
            let variables = variables.collect::<Vec<_>>().join(", ");
            started.text.push_str(&format!(" (with {variables} set)"));
        }
        commands.push(started);
    }
}

/// The packages that are installed for a need, if any: installers run the code of packages.
fn installation(need: &Need) -> Option<(&'static str, &[String])> {
    match need {
        Need::Packages(list) => Some(("system packages", list)),
        Need::Npm(list) => Some(("npm packages", list)),
        Need::Pypi(list) => Some(("pypi packages", list)),
        Need::Maven(list) => Some(("maven packages", list)),
        Need::Cargo(list) => Some(("cargo packages", list)),
        Need::Build { command, .. } => Some(("build", command)),
        Need::Image(_) | Need::Bring { .. } => None,
    }
}

fn command(purpose: String, words: &[String]) -> StudyCommand {
    StudyCommand {
        purpose,
        text: shell_words::join(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study_file;

    const STUDY: &str = r#"
        [[service]]
        name = "db"
        command = ["./db", "{port}"]
        ready.check = ["./ping", "{port}"]
        seed = ["./fill", "a b"]
        [[subject]]
        name = "new"
        from.build.command = ["make", "new"]
        from.pypi = ["flask"]
        command = ["./new", "--port={port}", "--db={service.db.port}"]
        env = { LD_PRELOAD = "x.so" }
        [[subject]]
        name = "old"
        address = "http://127.0.0.1:8080/"
        [[load]]
        name = "l"
        connections = 1
        requests = [{ path = "/" }]
    "#;

    fn read(text: &str) -> StudyFile {
        let none = |_: &Path| Err(std::io::ErrorKind::NotFound.into());
        study_file::parse(text, Path::new("study.toml"), &none).unwrap()
    }

    #[test]
    fn every_command_is_shown_and_values_of_variables_are_not() {
        // Method: a service with a health check and a seed, packages, a build, a variable, and a
        // subject that is not started.
        let commands = read(STUDY).commands().into_iter();
        let lines = commands.map(|command| format!("{}: {}", command.purpose, command.text));
        assert_eq!(
            lines.collect::<Vec<_>>(),
            [
                "db: ./db {port}",
                "health check of db: ./ping {port}",
                "seed of db: ./fill 'a b'",
                "pypi packages of new: flask",
                "build of new: make new",
                "new: ./new '--port={port}' '--db={service.db.port}' (with LD_PRELOAD set)",
            ]
        );
    }

    #[test]
    fn the_digest_covers_all_that_commands_depend_on_and_nothing_else() {
        // Method: change the load, then each part that a command depends on, then the folder.
        let digest = |text: &str| read(text).commands_digest(Path::new("/study"));
        let first = digest(STUDY);
        assert_eq!(
            digest(&STUDY.replace("connections = 1", "connections = 2")),
            first
        );
        for (from, to) in [
            ("x.so", "y.so"),
            ("./fill", "./empty"),
            ("./ping", "./pong"),
            ("\"make\", \"new\"", "\"make\", \"all\""),
            ("./new", "./newer"),
        ] {
            assert_ne!(digest(&STUDY.replace(from, to)), first, "{from}");
        }
        assert_ne!(read(STUDY).commands_digest(Path::new("/other")), first);
    }
}
