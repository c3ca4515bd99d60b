//! A service: a server that all subjects of a block need, such as a database. abx starts
//! it before them and stops it after them; it is not compared.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::servers::launch::Launch;
use crate::servers::placeholder::FilledWord;
use crate::servers::subject::Source;

/// A server that subjects need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyService {
    pub name: String,
    /// How it is started and stopped: always a [`Source::Command`].
    pub source: Source,
    /// The check that shows that it is ready.
    pub health: HealthCheck,
    /// The command that fills it with data after each start.
    pub seed: Option<SeedCommand>,
    /// How long one start of it serves.
    pub restart: ServiceRestart,
}

/// The check that shows that a service is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HealthCheck {
    Port,
    /// It responds to a request as the readiness rule of its launch requires.
    Request,
    /// This argument list ends with exit code 0.
    Command(Vec<String>),
}

/// The command that fills a service with data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedCommand {
    /// The argument list, not empty.
    pub command: Vec<String>,
    /// How long it may take.
    pub within: Duration,
}

/// How long one start of a service serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServiceRestart {
    /// The whole study, unless the service ends by itself.
    Study,
    /// One block.
    Block,
}

impl StudyService {
    /// How it is started and stopped.
    #[must_use]
    pub fn launch(&self) -> &Launch {
        match &self.source {
            Source::Command(launch) => launch,
            Source::Address(_) => unreachable!("a service is started"),
        }
    }
}

/// The placeholders of a service of this name and ports, whose folder is `dir`.
#[must_use]
pub fn leads(name: &str, ports: &[(Option<&str>, u16)], dir: &str) -> Vec<FilledWord> {
    let port = |(further, number): &(Option<&str>, u16)| {
        let word = match further {
            None => format!("service.{name}.port"),
            Some(port) => format!("service.{name}.port.{port}"),
        };
        (word, number.to_string())
    };
    let dir = (format!("service.{name}.dir"), dir.to_owned());
    ports.iter().map(port).chain([dir]).collect()
}

/// The words that lead to a service with these further ports.
#[must_use]
pub fn leading_words(name: &str, further: &[String]) -> Vec<String> {
    let ports = further.iter().map(|port| (Some(port.as_str()), 0));
    let ports: Vec<_> = std::iter::once((None, 0)).chain(ports).collect();
    leads(name, &ports, "")
        .into_iter()
        .map(|(word, _)| word)
        .collect()
}

/// Whether a launch has a word that leads to the service with this name and these further
/// ports.
#[must_use]
pub fn names(launch: &Launch, service: &str, ports: &[String]) -> bool {
    let leading = leading_words(service, ports);
    let mut words = launch.placeholders();
    words.any(|word| leading.iter().any(|lead| lead == word))
}

/// The services that subjects with the launches `by` need, directly or through another service.
/// `services` are in the order of the study, with their launches.
#[must_use]
pub fn needed<'a, 'b>(
    services: &[(&'a str, &'b Launch)],
    by: impl Iterator<Item = &'b Launch>,
) -> BTreeSet<&'a str> {
    let by: Vec<&Launch> = by.collect();
    let mut needed: Vec<(&str, &Launch)> = Vec::new();
    // A service uses only those before it.
    for service in services.iter().rev() {
        let mut users = by
            .iter()
            .copied()
            .chain(needed.iter().map(|(_, launch)| *launch));
        if users.any(|launch| names(launch, service.0, &service.1.ports)) {
            needed.push(*service);
        }
    }
    needed.into_iter().map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_needed_directly_or_through_another_service() {
        // Method: a cache in front of a database, and a service that no subject names; a subject
        // that names only the cache, by its second port.
        let launch = |text: &str| Launch::new(vec!["x".into(), text.into()]);
        let (database, lonely) = (launch("{port}"), launch("{port}"));
        let cache = Launch {
            ports: vec!["stats".into()],
            ..launch("{port} {service.db.dir}")
        };
        let services = [("db", &database), ("cache", &cache), ("lonely", &lonely)];
        let needed = |text: &str| {
            let subject = launch(text);
            let names = needed(&services, [&subject].into_iter());
            Vec::from_iter(names).join(" ")
        };
        assert_eq!(needed("{service.cache.port.stats}"), "cache db");
        assert_eq!(needed("{service.db.port}"), "db");
        assert_eq!(needed("{service.cache.port.other}"), "");
    }
}
