//! Turns a file as written into its meaning: reads texts with units, and checks that names are
//! unique and that parts fit together. The first fault ends the check.

use abx_engine::schedule::{Amount, Arrivals, PerSecond};
use abx_engine::{HttpVersion, Pacing};
use abx_evidence::{ExpectedStatus, Shape};
use abx_model::LoadOptions;
use abx_model::load_keys::KeyMistake;
use abx_sys::Nanos;

use super::contrast::{check_known, contrasts};
use super::fault::faults;
use super::name::TakenNames;
use super::replay::replayed;
use super::request::requested;
use super::scenario::users;
use super::service::{check_used, leading, services};
use super::shape::{rows, shapes};
use super::subject as check_subject;
use super::tls::tls;
use crate::loads::load::{ExpectBody, Load};
use crate::loads::rates::{Rate, RateSpec, SHARES, Spacing};
use crate::loads::shape::SWITCHED;
use crate::loads::sweep::SweepSpec;
use crate::requests::request_spec::RequestSpec;
use crate::servers::launch::Template;
use crate::study::GeneratedFile;
use crate::study_file::input::Templates;
use crate::study_file::key_position::KeyPosition;
use crate::study_file::mistake::{Diagnostic, short};
use crate::study_file::model::{RunSpec, StudyFile, StudyRows, SubjectSpec};
use crate::study_file::raw::{
    RawArrivals, RawFile, RawOffer, RawRate, RawRates, RawSchema, RawStudy, RawSubject,
};
use crate::study_file::raw_request::RawExpect;
use crate::study_file::unit;

/// The default number of connections.
const CONNECTIONS: u32 = 50;

/// The meaning of a file that has correct keys and types.
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
    let file_list = top.key("file");
    let mut generated = TakenNames::none(&file_list);
    let study = StudyFile {
        name,
        margin: margin.transpose()?,
        budget: top.key("budget").time(raw.budget.as_ref())?,
        blocks: raw.blocks,
        slice: top.key("slice").time(raw.slice.as_ref())?,
        why: raw.why,
        interleave: raw.interleave,
        pin: raw.pin,
        wait: raw.wait,
        threads: raw.threads,
        seed: raw.seed,
        files: files(raw.file, &file_list, &mut generated)?,
        subjects,
        services,
        loads: rows.loads,
        positions: rows.positions,
        faults,
        contrasts,
        baseline: raw.baseline,
    };
    if let Some(baseline) = &study.baseline {
        let subjects = study.subjects.iter();
        let known: Vec<&str> = subjects.map(|subject| subject.name.as_str()).collect();
        check_known("subject", baseline, &known, &top.key("baseline"))?;
    }
    check_targets(&study, &generated, top)?;
    check_used(&study.services, study.launches(), &top.key("service"))?;
    Ok(study)
}

/// Refuses a cold load unless abx generates files for every subject.
fn check_cold(raw: &RawStudy, top: &KeyPosition) -> Result<(), Diagnostic> {
    let is_cold = |load: &RawOffer| load.cold_cache == Some(true);
    let Some(index) = raw.load.iter().position(is_cold) else {
        return Ok(());
    };
    let here = top.key("load").item(index).key("cold_cache");
    if raw.file.is_empty() {
        return Err(here.fault(
            "`cold_cache` applies to files that abx generates, and there are none: add a [[file]]",
        ));
    }
    if raw.subject.iter().all(|subject| subject.address.is_none()) {
        return Ok(());
    }
    Err(here.fault(
        "`cold_cache` applies to files that abx generates, and a subject at an `address` has none: \
         start it by `command`",
    ))
}

/// Refuses a subject with `http2` if a load uses anything other than HTTP.
fn check_http2(raw: &[RawSubject], loads: &[Load], list: &KeyPosition) -> Result<(), Diagnostic> {
    let Some(index) = raw.iter().position(|subject| subject.http2) else {
        return Ok(());
    };
    let is_other =
        |load: &&Load| load.shape != Shape::Request || load.version == HttpVersion::Http10;
    match loads.iter().find(is_other) {
        None => Ok(()),
        Some(load) => Err(list.item(index).key("http2").fault(format!(
            "`http2` is for loads of HTTP/1.1, and all subjects use {} under `{}`: leave it out",
            load.exchange().protocol,
            load.name
        ))),
    }
}

/// Refuses a template that would overwrite a generated file.
fn check_targets(
    study: &StudyFile,
    generated: &TakenNames,
    top: &KeyPosition,
) -> Result<(), Diagnostic> {
    for (index, subject) in study.subjects.iter().enumerate() {
        let RunSpec::Launch(launch) = &subject.server.run else {
            continue;
        };
        let here = top.key("subject").item(index).key("templates");
        for Template { target, .. } in &launch.templates {
            generated.check_free(&target.to_string_lossy(), &here)?;
        }
    }
    Ok(())
}

/// The generated files of a study, whose paths are added to `paths`.
fn files(
    raw: Vec<RawFile>,
    list: &KeyPosition,
    paths: &mut TakenNames,
) -> Result<Vec<GeneratedFile>, Diagnostic> {
    let mut files = Vec::new();
    for (index, raw) in raw.into_iter().enumerate() {
        let here = list.item(index).key("path");
        let bytes = raw.bytes;
        for text in here.read(|key| unit::numbered(key, &raw.path, raw.count))? {
            let path = here.read(|key| unit::path_below(key, &text))?;
            paths.take(index, &path.to_string_lossy(), &here)?;
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
    let mut names = TakenNames::none(list);
    let mut subjects = Vec::new();
    for (index, raw) in raw.into_iter().enumerate() {
        let here = list.item(index);
        names.take_name(index, &raw.name)?;
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
    let (mut tables, mut names) = (TakenNames::none(list), TakenNames::none(list));
    let mut rows = StudyRows::default();
    for (index, raw) in raw.into_iter().enumerate() {
        let here = list.item(index);
        tables.take_name(index, &raw.name)?;
        let (table, key) = (raw.name.clone(), here.key("name"));
        for (position, load) in sweep(raw, &here, files)?.into_iter().enumerate() {
            names.take(index, &load.name, &key)?;
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
    let slo = raw.slo.as_ref();
    let objective = slo.map(|text| here.key("slo").read(|_| unit::objective(text)));
    let (shapes, version) = shapes(&raw, here)?;
    let key_mistake = |wrong: KeyMistake| here.key(wrong.key).fault(wrong.why);
    let is_http2 = version == HttpVersion::Http2;
    let pipeline = raw.in_flight.window(is_http2).map_err(key_mistake)?;
    let at = here.key("connections");
    let connections = rows(raw.connections.as_ref(), CONNECTIONS, &at, "number")?;
    let keep_alive = raw.keep_alive.unwrap_or(true);
    raw.opening.check(keep_alive).map_err(key_mistake)?;
    raw.in_flight
        .check(keep_alive, &raw.sessions)
        .map_err(key_mistake)?;
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
    let has_lengths = shapes.len() > 1;
    let rows = shapes.into_iter().flat_map(|shape| {
        let mut load = Load {
            shape,
            ..load.clone()
        };
        if let Some(message) = shape.message().filter(|_| has_lengths) {
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

/// Which responses are correct: the status if the file has one, and the body.
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

/// The rates of a load, and how their requests are laid out.
fn rates(raw: &RawOffer, here: &KeyPosition) -> Result<(Vec<Rate>, Spacing), Diagnostic> {
    let key = here.key("rate");
    let fixed = |per_s: f64| {
        let rate = Amount::try_from(per_s).and_then(PerSecond::try_from);
        rate.map(Rate::Fixed)
            .map_err(|error| format!("`rate`: {error}"))
    };
    let share = |text: &str| {
        // Without this filter, a number in quotes would be a rate too.
        let share = Rate::parse(text).filter(|_| text.ends_with('%'));
        share.ok_or_else(|| {
            format!(
                "`rate`: `{}` is not a percentage of the slowest subject's throughput: write a \
                 number and %, such as \"50%\", at most 200%; rates per second are written without \
                 quotes",
                short(text)
            )
        })
    };
    let rates: Vec<Rate> = match &raw.rate {
        None => Vec::new(),
        Some(RawRates::PerSecond(per_s)) => vec![key.read(|_| fixed(*per_s))?],
        Some(RawRates::Words(text)) if text == "auto" => SHARES.map(Rate::Share).into(),
        Some(RawRates::Words(text)) => vec![key.read(|_| share(text))?],
        Some(RawRates::Sweep(list)) => list
            .iter()
            .enumerate()
            .map(|(index, raw)| {
                key.item(index).read(|_| match raw {
                    RawRate::PerSecond(per_s) => fixed(*per_s),
                    RawRate::Share(text) => share(text),
                })
            })
            .collect::<Result<_, _>>()?,
    };
    for (index, rate) in rates.iter().enumerate() {
        if rates[..index].contains(rate) {
            return Err(key.fault(format!(
                "`rate` lists {} twice: each rate gives one row, so list it once",
                rate.name()
            )));
        }
    }
    let has_rate = !rates.is_empty() || raw.slo.is_some();
    let spacing = match raw.arrivals {
        Some(RawArrivals::Closed) if has_rate => {
            return Err(key.fault(
                "`rate` is for open loops, and `arrivals` is closed: leave out one of the two",
            ));
        }
        Some(RawArrivals::Constant | RawArrivals::Poisson) if !has_rate => {
            let wrong = "these `arrivals` need a rate: add one, such as rate = 2000";
            return Err(here.key("arrivals").fault(wrong));
        }
        Some(RawArrivals::Poisson) => Spacing::Poisson,
        _ => Spacing::Constant,
    };
    if !rates.is_empty() && raw.slo.is_some() {
        let wrong = "`slo` finds its own rates: leave `rate` out, or write a second [[load]]";
        return Err(here.key("slo").fault(wrong));
    }
    Ok((rates, spacing))
}

/// The pacing of a closed loop; rates replace its arrivals later.
fn pacing(raw: &RawOffer, here: &KeyPosition) -> Result<Pacing, Diagnostic> {
    here.key("think").time(raw.sessions.think.as_ref())?;
    Ok(Pacing {
        arrivals: Arrivals::Closed,
        connections_over_time: None,
        think_ns: Nanos::from(raw.sessions.think_time()).0,
        session_calls: raw.sessions.calls,
    })
}
