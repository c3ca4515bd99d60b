//! What a service's table means.

use std::collections::BTreeMap;
use std::time::Duration;

use super::name::check_name;
use super::subject::{LaunchTable, needs, words};
use crate::servers::launch::{Launch, ReadinessRule};
use crate::servers::service::{HealthCheck, SeedCommand, ServiceRestart, leading_words, needed};
use crate::study_file::input::Templates;
use crate::study_file::key_position::KeyPosition;
use crate::study_file::mistake::{Diagnostic, Mistake};
use crate::study_file::model::{RunSpec, ServerSpec, ServiceSpec};
use crate::study_file::raw::{RawRestart, RawService, RawServiceReady, RawSubject};
use crate::study_file::unit;

/// How long a service may take to be filled, unless the file says more.
const SEED_WITHIN: Duration = Duration::from_secs(120);

/// What the tables of services mean. Each may use those before it.
///
/// # Errors
/// The first fault.
pub fn services(
    raw: Vec<RawService>,
    top: &KeyPosition,
    subjects: &[RawSubject],
    templates: Templates,
) -> Result<Vec<ServiceSpec>, Diagnostic> {
    let list = &top.key("service");
    let mut seen = BTreeMap::new();
    let mut services: Vec<ServiceSpec> = Vec::new();
    for (index, raw) in raw.into_iter().enumerate() {
        let here = list.item(index);
        let (name, key) = (raw.name.clone(), here.key("name"));
        check_name(seen.insert(name.clone(), index), &name, list, &key)?;
        // Messages and folders name both alike.
        let subject = subjects
            .iter()
            .position(|raw_subject| raw_subject.name == name);
        check_name(subject, &name, &top.key("subject"), &key)?;
        let leading = leading(&services);
        services.push(service(raw, &here, templates, &leading)?);
    }
    Ok(services)
}

/// The words that lead to these services.
pub fn leading(services: &[ServiceSpec]) -> Vec<String> {
    let each = services.iter();
    each.flat_map(|service| leading_words(&service.name, &service.launch().ports))
        .collect()
}

/// Refuses a service that no subject uses.
///
/// # Errors
/// [`Mistake::ServiceUnused`].
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
        Some(index) => {
            let name = services[index].name.clone();
            Err(list.item(index).fault(Mistake::ServiceUnused(name)))
        }
    }
}

fn service(
    raw: RawService,
    here: &KeyPosition,
    templates: Templates,
    leading: &[String],
) -> Result<ServiceSpec, Diagnostic> {
    if raw.from.stand_in_for.is_some() {
        let key = here.key("from").key("stand_in_for");
        return Err(key.fault(Mistake::OnlyOfSubjects(key.name())));
    }
    if raw.from.git.is_some() {
        let key = here.key("from").key("git");
        return Err(key.fault(Mistake::OnlyOfSubjects(key.name())));
    }
    check_ports(&raw.ports, &here.key("ports"))?;
    let table = LaunchTable {
        from: &raw.from,
        command: &raw.command,
        ports: &raw.ports,
        env: &raw.env,
        templates: &raw.templates,
        stop: raw.stop.as_ref(),
    };
    let known = table.known_words(leading);
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let launch = table.launch(here, templates, leading)?;
    let (rule, health) = ready(raw.ready.as_ref(), &here.key("ready"), &known)?;
    let seed_within = here.key("seed_within");
    let within = seed_within.time(raw.seed_within.as_ref())?;
    let seed = match (&raw.seed, within) {
        (None, Some(_)) => return Err(seed_within.fault(Mistake::NoSeed)),
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
            needs: needs(&raw.from, &here.key("from"))?,
            run: RunSpec::Launch(Launch {
                ready: rule,
                ..launch
            }),
        },
        name: raw.name,
        health,
        seed,
        restart: match raw.restart {
            None | Some(RawRestart::Study) => ServiceRestart::Study,
            Some(RawRestart::Block) => ServiceRestart::Block,
        },
    })
}

/// Names of ports: valid, and each once.
fn check_ports(ports: &[String], list: &KeyPosition) -> Result<(), Diagnostic> {
    let mut seen = BTreeMap::new();
    for (index, name) in ports.iter().enumerate() {
        let first = seen.insert(name, index);
        check_name(first, name, list, &list.item(index))?;
    }
    Ok(())
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
        (Some(_), Some(_)) => return Err(here.key("check").fault(Mistake::TwoChecks)),
        (Some(command), None) => HealthCheck::Command(words(command, &here.key("check"), known)?),
        (None, Some(path)) => {
            rule.path = Some(here.key("path").read(|key| unit::url_path(key, path))?);
            rule.status = raw.status;
            HealthCheck::Request
        }
        (None, None) => HealthCheck::Port,
    };
    if raw.status.is_some() && health != HealthCheck::Request {
        Err(here.key("status").fault(Mistake::StatusWithoutPath))
    } else {
        Ok((rule, health))
    }
}
