//! Checks a service's table.

use std::time::Duration;

use super::name::TakenNames;
use super::subject::{LaunchTable, needs, words};
use crate::servers::launch::{Launch, ReadinessRule};
use crate::servers::service::{HealthCheck, SeedCommand, ServiceRestart, leading_words, needed};
use crate::study_file::input::Templates;
use crate::study_file::key_position::KeyPosition;
use crate::study_file::mistake::Diagnostic;
use crate::study_file::model::{RunSpec, ServerSpec, ServiceSpec};
use crate::study_file::raw::{RawService, RawServiceReady, RawSubject};
use crate::study_file::unit;

/// How long a service may take to be filled, unless the file allows more.
const SEED_WITHIN: Duration = Duration::from_secs(120);

/// The services of these tables. Each may use those before it.
pub fn services(
    raw: Vec<RawService>,
    top: &KeyPosition,
    subjects: &[RawSubject],
    templates: Templates,
) -> Result<Vec<ServiceSpec>, Diagnostic> {
    let list = &top.key("service");
    let subject_list = &top.key("subject");
    let mut subject_names = TakenNames::none(subject_list);
    for (index, subject) in subjects.iter().enumerate() {
        subject_names.note(index, &subject.name);
    }
    let mut names = TakenNames::none(list);
    let mut services: Vec<ServiceSpec> = Vec::new();
    for (index, raw) in raw.into_iter().enumerate() {
        let here = list.item(index);
        names.take_name(index, &raw.name)?;
        // Messages and folders use the names of both.
        subject_names.check_free(&raw.name, &here.key("name"))?;
        let leading = leading(&services);
        services.push(service(raw, &here, templates, &leading)?);
    }
    Ok(services)
}

/// The words that lead to these services.
pub fn leading(services: &[ServiceSpec]) -> Vec<String> {
    services
        .iter()
        .flat_map(|service| leading_words(&service.name, &service.launch().ports))
        .collect()
}

/// Refuses a service that no subject uses.
///
/// # Errors
/// The first unused service.
pub fn check_used<'a>(
    services: &'a [ServiceSpec],
    subjects: impl Iterator<Item = &'a Launch>,
    list: &KeyPosition,
) -> Result<(), Diagnostic> {
    let launches: Vec<_> = services
        .iter()
        .map(|service| (service.name.as_str(), service.launch()))
        .collect();
    let needed = needed(&launches, subjects);
    match services
        .iter()
        .position(|service| !needed.contains(service.name.as_str()))
    {
        None => Ok(()),
        Some(index) => Err(list.item(index).fault(format!(
            "no subject uses it: write {{service.{}.port}} in the command that needs it, or \
                 leave it out",
            services[index].name
        ))),
    }
}

fn service(
    raw: RawService,
    here: &KeyPosition,
    templates: Templates,
    leading: &[String],
) -> Result<ServiceSpec, Diagnostic> {
    here.key("from").refuse(&["stand_in_for", "git"], |key| {
        format!("`from.{key}` is only for subjects: leave it out")
    })?;
    let list = here.key("ports");
    let mut ports = TakenNames::none(&list);
    for (index, name) in raw.ports.iter().enumerate() {
        ports.take_name_at(index, name, &list.item(index))?;
    }
    let table = LaunchTable {
        server: &raw.server,
        command: &raw.command,
        ports: &raw.ports,
    };
    let known = table.known_words(leading);
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let launch = table.launch(here, templates, leading)?;
    let (rule, health) = ready(raw.ready.as_ref(), &here.key("ready"), &known)?;
    let seed_within = here.key("seed_within");
    let within = seed_within.time(raw.seed_within.as_ref())?;
    let seed = match (&raw.seed, within) {
        (None, Some(_)) => {
            return Err(seed_within.fault(
                "`seed_within` is for `seed`, and there is none: leave it out, or add `seed`",
            ));
        }
        (None, None) => None,
        (Some(command), within) => Some(SeedCommand {
            command: words(command, &here.key("seed"), &known)?,
            within: within.unwrap_or(SEED_WITHIN),
        }),
    };
    Ok(ServiceSpec {
        server: ServerSpec {
            revision: None,
            line: here.key("command").line(),
            needs: needs(&raw.server.from, &here.key("from"))?,
            run: RunSpec::Launch(Launch {
                ready: rule,
                ..launch
            }),
        },
        name: raw.name,
        health,
        seed,
        restart: raw.restart.unwrap_or(ServiceRestart::Study),
    })
}

fn ready(
    raw: Option<&RawServiceReady>,
    here: &KeyPosition,
    known: &[&str],
) -> Result<(ReadinessRule, HealthCheck), Diagnostic> {
    let mut rule = ReadinessRule::default();
    let Some(raw) = raw else {
        return Ok((rule, HealthCheck::Port));
    };
    if let Some(within) = here.key("within").time(raw.within.as_ref())? {
        rule.within = within;
    }
    let health = match (&raw.check, &raw.path) {
        (Some(_), Some(_)) => {
            let wrong = "both `check` and `path`: leave out one of them";
            return Err(here.key("check").fault(wrong));
        }
        (Some(command), None) => HealthCheck::Command(words(command, &here.key("check"), known)?),
        (None, Some(path)) => {
            rule.path = Some(here.key("path").read(|key| unit::url_path(key, path))?);
            rule.status = raw.status;
            HealthCheck::Request
        }
        (None, None) => HealthCheck::Port,
    };
    if raw.status.is_some() && health != HealthCheck::Request {
        let wrong = "`status` is that of a request: add `path`, or leave `status` out";
        Err(here.key("status").fault(wrong))
    } else {
        Ok((rule, health))
    }
}
