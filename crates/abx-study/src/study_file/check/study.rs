//! From the file as written to what it means: texts with units, names that
//! must be unique, and what must fit together. The first fault ends it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use abx_engine::schedule::{Amount, Arrivals, PerSecond};
use abx_engine::{HttpVersion, Pacing};
use abx_evidence::record::Interleave;
use abx_evidence::{ExpectedStatus, Shape};
use abx_model::LoadOptions;
use abx_model::load_keys::KeyMistake;
use abx_sys::Nanos;

use super::contrast::{check_known, contrasts};
use super::fault::faults;
use super::name::{check_free, check_name};
use super::replay::replayed;
use super::request::requested;
use super::scenario::users;
use super::service::{check_used, leading, services};
use super::shape::shapes;
use super::subject as check_subject;
use super::tls::tls;
use crate::loads::load::{ExpectBody, Load};
use crate::loads::rates::{Rate, RateSpec, SHARES, Spacing};
use crate::loads::shape::SWITCHED;
use crate::loads::sweep::SweepSpec;
use crate::requests::request_spec::RequestSpec;
use crate::servers::launch::Template;
use crate::study::{GeneratedFile, Pin, WaitChoice};
use crate::study_file::input::Templates;
use crate::study_file::key_position::KeyPosition;
use crate::study_file::mistake::{Diagnostic, Mistake};
use crate::study_file::model::{RunSpec, StudyFile, StudyRows, SubjectSpec};
use crate::study_file::raw::{
    RawArrivals, RawConnections, RawFile, RawInterleave, RawOffer, RawPin, RawRate, RawRates,
    RawSchema, RawStudy, RawSubject, RawWait,
};
use crate::study_file::raw_request::RawExpect;
use crate::study_file::unit;

/// What a file means that has the right keys and types.
///
/// # Errors
/// The first fault.
pub fn check(
    raw: RawStudy,
    name: String,
    top: &KeyPosition,
    templates: Templates,
) -> Result<StudyFile, Diagnostic> {
    let RawSchema::One = raw.schema;
    check_cold(&raw, top)?;
    let margin = raw.margin.as_ref();
    let margin = margin.map(|share| top.key("margin").read(|key| unit::margin(key, &share.0)));
    let slice = raw.slice.as_ref();
    let slice = slice.map(|raw_slice| top.key("slice").read(|key| unit::time(key, &raw_slice.0)));
    let rows = loads(raw.load, &top.key("load"), templates)?;
    check_http2(&raw.subject, &rows.loads, &top.key("subject"))?;
    let services = services(raw.service, top, &raw.subject, templates)?;
    let leading = leading(&services);
    let subjects = subjects(raw.subject, &top.key("subject"), templates, &leading)?;
    let faults = faults(raw.fault, &top.key("fault"), &rows.loads)?;
    let contrasts = contrasts(
        raw.contrast,
        &top.key("contrast"),
        &subjects,
        &rows,
        &faults,
    )?;
    let study = StudyFile {
        name,
        margin: margin.transpose()?,
        budget: top.key("budget").time(raw.budget.as_ref())?,
        blocks: raw.blocks,
        slice: slice.transpose()?,
        why: raw.why,
        interleave: raw.interleave.map(|turns| match turns {
            RawInterleave::Slices => Interleave::Slices,
            RawInterleave::Trials => Interleave::Trials,
        }),
        pin: raw.pin.map(|pin| match pin {
            RawPin::Split => Pin::Split,
            RawPin::Shared => Pin::Shared,
        }),
        wait: raw.wait.map(|wait| match wait {
            RawWait::Auto => WaitChoice::Auto,
            RawWait::Awake => WaitChoice::Awake,
            RawWait::Asleep => WaitChoice::Asleep,
        }),
        threads: raw.threads,
        seed: raw.seed,
        files: files(raw.file, &top.key("file"))?,
        subjects,
        services,
        loads: rows.loads,
        positions: rows.positions,
        faults,
        contrasts,
        baseline: raw.baseline,
    };
    if let Some(baseline) = &study.baseline {
        let known: Vec<&str> = study
            .subjects
            .iter()
            .map(|subject| subject.name.as_str())
            .collect();
        check_known("subject", baseline, &known, &top.key("baseline"))?;
    }
    check_targets(&study, top)?;
    check_used(&study.services, study.launches(), &top.key("service"))?;
    Ok(study)
}

/// Refuses a cold load where abx has made no file for each subject.
fn check_cold(raw: &RawStudy, top: &KeyPosition) -> Result<(), Diagnostic> {
    let is_cold = |load: &RawOffer| load.cold_cache == Some(true);
    let Some(index) = raw.load.iter().position(is_cold) else {
        return Ok(());
    };
    let here = top.key("load").item(index).key("cold_cache");
    if raw.file.is_empty() {
        return Err(here.fault(Mistake::ColdWithoutFiles));
    }
    if raw
        .subject
        .iter()
        .any(|raw_subject| raw_subject.address.is_some())
    {
        Err(here.fault(Mistake::ColdAddress))
    } else {
        Ok(())
    }
}

/// Refuses a subject that is to be asked in HTTP/2 where a load says something else than HTTP.
fn check_http2(raw: &[RawSubject], loads: &[Load], list: &KeyPosition) -> Result<(), Diagnostic> {
    let Some(index) = raw.iter().position(|subject| subject.http2) else {
        return Ok(());
    };
    let is_other =
        |load: &&Load| load.shape != Shape::Request || load.version == HttpVersion::Http10;
    match loads.iter().find(is_other) {
        None => Ok(()),
        Some(load) => {
            let wrong = Mistake::Http2Elsewhere(load.name.clone(), load.exchange().protocol);
            Err(list.item(index).key("http2").fault(wrong))
        }
    }
}

/// Refuses a template that would be written over a made file.
fn check_targets(study: &StudyFile, top: &KeyPosition) -> Result<(), Diagnostic> {
    let files = study.files.iter().enumerate();
    let made: BTreeMap<&PathBuf, usize> = files.map(|(index, file)| (&file.path, index)).collect();
    for (index, subject) in study.subjects.iter().enumerate() {
        let RunSpec::Launch(launch) = &subject.server.run else {
            continue;
        };
        let here = top.key("subject").item(index).key("templates");
        for Template { target, .. } in &launch.templates {
            let first = made.get(target).copied();
            check_free(first, &target.to_string_lossy(), &top.key("file"), &here)?;
        }
    }
    Ok(())
}

fn files(raw: Vec<RawFile>, list: &KeyPosition) -> Result<Vec<GeneratedFile>, Diagnostic> {
    let mut seen = BTreeMap::new();
    let mut files = Vec::new();
    for (index, raw) in raw.into_iter().enumerate() {
        let here = list.item(index).key("path");
        let bytes = raw.bytes;
        for text in here.read(|key| unit::numbered(key, &raw.path, raw.count))? {
            let path = here.read(|key| unit::path_below(key, &text))?;
            check_free(seen.insert(path.clone(), index), &text, list, &here)?;
            files.push(GeneratedFile { path, bytes });
        }
    }
    Ok(files)
}

fn subjects(
    raw: Vec<RawSubject>,
    list: &KeyPosition,
    templates: Templates,
    leading: &[String],
) -> Result<Vec<SubjectSpec>, Diagnostic> {
    let mut seen = BTreeMap::new();
    let mut subjects = Vec::new();
    for (index, raw) in raw.into_iter().enumerate() {
        let here = list.item(index);
        let first = seen.insert(raw.name.clone(), index);
        check_name(first, &raw.name, list, &here.key("name"))?;
        subjects.push(check_subject::subject(raw, &here, templates, leading)?);
    }
    Ok(subjects)
}

/// The loads of a file's tables.
fn loads(
    raw: Vec<RawOffer>,
    list: &KeyPosition,
    files: Templates,
) -> Result<StudyRows, Diagnostic> {
    let (mut seen, mut names) = (BTreeMap::new(), BTreeMap::new());
    let mut rows = StudyRows::default();
    for (index, raw) in raw.into_iter().enumerate() {
        let here = list.item(index);
        let first = seen.insert(raw.name.clone(), index);
        check_name(first, &raw.name, list, &here.key("name"))?;
        let table = raw.name.clone();
        for (position, load) in sweep(raw, &here, files)?.into_iter().enumerate() {
            let first = names.insert(load.name.clone(), index);
            check_free(first, &load.name, list, &here.key("name"))?;
            rows.loads.push(load);
            rows.positions.push(position);
            rows.tables.push(table.clone());
        }
    }
    Ok(rows)
}

/// The load of a table, or one for each entry of its `connections`.
fn sweep(mut raw: RawOffer, here: &KeyPosition, files: Templates) -> Result<Vec<Load>, Diagnostic> {
    let pacing = pacing(&raw, here)?;
    let (rates, spacing) = rates(&raw, here)?;
    let objective = raw
        .slo
        .as_ref()
        .map(|text| here.key("slo").read(|_| unit::objective(text)));
    let (shapes, version) = shapes(&raw, here)?;
    let key_mistake = |wrong: KeyMistake| here.key(wrong.key).fault(Mistake::Key(wrong.why));
    let pipeline = raw
        .in_flight
        .window(version == HttpVersion::Http2)
        .map_err(key_mistake)?;
    let connections = connections(raw.connections.as_ref(), here)?;
    let keep_alive = raw.keep_alive.unwrap_or(true);
    raw.opening.check(keep_alive).map_err(key_mistake)?;
    let users = users(&raw, here, files)?;
    let log = replayed(&mut raw, here, files)?;
    let list = here.key("requests");
    let requests = raw.requests.into_iter().enumerate();
    let may_vary = shapes[0] == Shape::Request;
    let requests = requests.map(|(index, raw)| requested(raw, may_vary, &list.item(index), files));
    let requests: Vec<Vec<RequestSpec>> = requests.collect::<Result<_, _>>()?;
    let timeout = here.key("timeout").time(raw.opening.timeout.as_ref())?;
    let (status, body) = expected(raw.expect.unwrap_or_default(), &here.key("expect"))?;
    let usual = Load::default();
    let mut load = Load {
        options: LoadOptions {
            connections: connections[0],
            ..LoadOptions::of(&raw.opening, &raw.checks, keep_alive)
        },
        name: raw.name,
        shape: shapes[0],
        requests: requests.concat(),
        version,
        pipeline: pipeline.unwrap_or(usual.pipeline),
        tls: tls(raw.tls, &here.key("tls"), files)?,
        pacing,
        rate: RateSpec::AsPaced,
        cold_cache: raw.cold_cache.unwrap_or(usual.cold_cache),
        status: status_of(shapes[0], status),
        body,
        log: None,
        scenario: None,
    };
    if let Some(users) = users {
        users.onto(&mut load, timeout);
    }
    if let Some(log) = log {
        log.onto(&mut load, status.is_some());
    }
    let sweep = SweepSpec {
        connections,
        rates,
        objective: objective.transpose()?,
        spacing,
    };
    let several = shapes.len() > 1;
    let rows = shapes.into_iter().flat_map(|shape| {
        let mut load = Load {
            shape,
            ..load.clone()
        };
        if let Some(message) = shape.message().filter(|_| several) {
            load.name.push_str(&format!("-b{}", message.bytes));
        }
        rows_of(&load, &sweep)
    });
    Ok(rows.collect())
}

fn status_of(shape: Shape, expected: Option<ExpectedStatus>) -> ExpectedStatus {
    if shape.is_websocket() {
        return SWITCHED;
    }
    expected.unwrap_or_else(|| Load::default().status)
}

/// A load for each position of its sweep, named after its connections if there are several.
fn rows_of(load: &Load, sweep: &SweepSpec) -> Vec<Load> {
    let is_sweep = sweep.connections.len() > 1;
    sweep.loads(load, |connections| {
        if is_sweep {
            format!("{}-c{connections}", load.name)
        } else {
            load.name.clone()
        }
    })
}

/// Which answers are right: the status where it is told, and the body.
fn expected(
    raw: RawExpect,
    here: &KeyPosition,
) -> Result<(Option<ExpectedStatus>, ExpectBody), Diagnostic> {
    let status = raw.status.as_ref();
    let status = status.map(|status| here.key("status").read(|key| unit::status(key, status)));
    let body = match &raw.body {
        None => ExpectBody::Same,
        Some(body) => here.key("body").read(|_| unit::expect_body(body))?,
    };
    Ok((status.transpose()?, body))
}

/// The numbers of connections of a load, each once.
fn connections(raw: Option<&RawConnections>, here: &KeyPosition) -> Result<Vec<u32>, Diagnostic> {
    let connections = match raw {
        None => vec![50],
        Some(RawConnections::One(number)) => vec![*number],
        Some(RawConnections::Sweep(sweep)) => sweep.clone(),
    };
    let mut seen = BTreeSet::new();
    for (index, number) in connections.iter().enumerate() {
        if !seen.insert(*number) {
            let here = here.key("connections").item(index);
            return Err(here.fault(Mistake::ConnectionsTwice(*number)));
        }
    }
    Ok(connections)
}

/// The rates of a load, and how their requests are laid out.
fn rates(raw: &RawOffer, here: &KeyPosition) -> Result<(Vec<Rate>, Spacing), Diagnostic> {
    let key = here.key("rate");
    let number = |number: f64| {
        let exact = Amount::try_from(number).and_then(PerSecond::try_from);
        exact
            .map(Rate::Fixed)
            .map_err(|error| Mistake::Rate(error.to_string()))
    };
    let share = |text: &str| {
        // A number in quotes would read as a rate too: one way to write each.
        let share = Rate::parse(text).filter(|_| text.ends_with('%'));
        share.ok_or_else(|| Mistake::RateShare(text.to_owned()))
    };
    let rates: Vec<Rate> = match &raw.rate {
        None => Vec::new(),
        Some(RawRates::PerSecond(value)) => vec![key.read(|_| number(*value))?],
        Some(RawRates::Words(text)) if text == "auto" => SHARES.map(Rate::Share).into(),
        Some(RawRates::Words(text)) => vec![key.read(|_| share(text))?],
        Some(RawRates::Sweep(list)) => list
            .iter()
            .enumerate()
            .map(|(index, raw_rate)| {
                key.item(index).read(|_| match raw_rate {
                    RawRate::PerSecond(value) => number(*value),
                    RawRate::Share(text) => share(text),
                })
            })
            .collect::<Result<_, _>>()?,
    };
    for (index, rate) in rates.iter().enumerate() {
        if rates[..index].contains(rate) {
            return Err(key.fault(Mistake::RateTwice(rate.name())));
        }
    }
    let has_rate = !rates.is_empty() || raw.slo.is_some();
    let spacing = match raw.arrivals {
        Some(RawArrivals::Closed) if has_rate => return Err(key.fault(Mistake::ClosedRate)),
        Some(RawArrivals::Constant | RawArrivals::Poisson) if !has_rate => {
            return Err(here.key("arrivals").fault(Mistake::NoRate));
        }
        Some(RawArrivals::Poisson) => Spacing::Poisson,
        _ => Spacing::Constant,
    };
    if !rates.is_empty() && raw.slo.is_some() {
        return Err(here.key("slo").fault(Mistake::RateAndObjective));
    }
    Ok((rates, spacing))
}

/// When a connection that is free sends its next request, but for rates.
fn pacing(raw: &RawOffer, here: &KeyPosition) -> Result<Pacing, Diagnostic> {
    here.key("think").time(raw.sessions.think.as_ref())?;
    Ok(Pacing {
        arrivals: Arrivals::Closed,
        connections_over_time: None,
        think_ns: Nanos::from(raw.sessions.think_time()).0,
        session_calls: raw.sessions.calls,
    })
}
