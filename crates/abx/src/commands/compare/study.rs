//! From the command line of `abx compare` to a study: subjects, a study file, or neither.

use std::path::Path;

use abx_evidence::record::{Interleave, SkippedSubject};
use abx_lab::provision::{self, Missing, Provision};
use abx_lab::study_file::{self, ServiceSpec, StudyFile, SubjectSpec};
use abx_lab::{
    CeilingServer, Launch, Load, PilotEffort, Pin, Scheme, Source, Study, StudyService, Subject,
    SubjectError, WaitChoice, catalog, without_placeholders,
};
use abx_stats::Margin;

use super::extent::Extent;
use super::flags::{Compare, InterleaveName, PilotName, PinName};
use super::named_study::NamedStudy;
use super::revisions;
use super::skipped::skip;
use super::trust::confirm;
use crate::flags::load::seed_from_clock;
use crate::ui::end::{Failure, notify};
use crate::ui::invocation;
use crate::ui::invocation::own_program;

/// The study that the words describe. Nothing is started.
pub fn study(compare: &Compare) -> Result<Study, Failure> {
    let named = if compare.rev.is_empty() {
        NamedStudy::of(&compare.words)?
    } else {
        None
    };
    let study = match named {
        Some(named) => from_file(&named.path, &named.extent, compare)?,
        None => from_words(compare)?,
    };
    Ok(with_server_times(study, compare))
}

/// The requested part of a study. Nothing is started.
pub fn part_of(path: &Path, extent: &Extent, compare: &Compare) -> Result<Study, Failure> {
    let study = from_file(path, extent, compare)?;
    Ok(with_server_times(study, compare))
}

/// Applies the flags for the start and the stop of servers to any kind of study.
fn with_server_times(mut study: Study, compare: &Compare) -> Study {
    for subject in &mut study.subjects {
        if let Source::Command(launch) = &mut subject.source {
            launch.ready.within = compare.ready_within.unwrap_or(launch.ready.within);
            launch.stop.within = compare.stop_within.unwrap_or(launch.stop.within);
        }
    }
    study
}

fn from_words(compare: &Compare) -> Result<Study, Failure> {
    compare.trust.refuse_without_file()?;
    if compare.rev.is_empty() {
        revisions::check_without(compare)?;
    }
    if compare.load.stages_last().is_some() {
        return Err(Failure::usage(
            "stages take longer than a slice lasts: use them with `abx run`, one server at a time",
        ));
    }
    let subjects = subjects(compare)?;
    have_images(&subjects, compare)?;
    Ok(Study {
        contrasts: Vec::new(),
        loads: loads(compare, &subjects)?,
        faults: Vec::new(),
        subjects,
        aa: compare.aa,
        margin: compare.margin.unwrap_or(Margin::DEFAULT),
        budget: compare.budget,
        blocks: compare.blocks,
        slice: compare.slice,
        rounds: compare.rounds,
        cold: compare.cold,
        ceiling: ceiling(compare)?,
        interleave: interleave(compare).unwrap_or(Interleave::Slices),
        files: Vec::new(),
        local_addresses: compare.generator.local_address.clone(),
        threads: compare.generator.threads.map(usize::from),
        pin: pin(compare).unwrap_or(Pin::Split),
        wait: compare.generator.wait().unwrap_or(WaitChoice::Auto),
        seed: compare.generator.seed(),
        command: invocation::recorded(),
        name: None,
        label: compare.label.text(),
        services: Vec::new(),
        skipped: Vec::new(),
        ordered_time: None,
        pilot: pilot(compare),
        why: compare.why,
    })
}

/// The loads for subjects on the command line.
fn loads(compare: &Compare, subjects: &[Subject]) -> Result<Vec<Load>, Failure> {
    let is_encrypted = subjects.iter().any(|subject| subject.tls_name().is_some());
    let scheme = compare.load.shape.scheme(subjects)?;
    if let Some(file) = &compare.scenario {
        if scheme != Scheme::Http || !compare.http2_for.is_empty() {
            return Err(Failure::usage(
                "a scenario sends HTTP/1.1 requests: give http:// or https:// subjects, and no \
                 --http2-for",
            ));
        }
        return compare.load.of_users(file, is_encrypted);
    }
    let loads = compare.load.loads(scheme, is_encrypted, None)?;
    if !compare.output.quiet {
        compare.load.hint(is_encrypted).into_iter().for_each(notify);
    }
    let mut requests = loads.iter().flat_map(|load| &load.requests);
    let takes_own_path = requests.any(|request| request.path.is_none());
    match subjects.iter().find(|subject| has_placeholder(subject)) {
        Some(subject) if takes_own_path => Err(Failure::usage(format!(
            "the URL of {} has a placeholder, which would be sent as it is: give the path by \
             --path, or write %7B and %7D for the braces",
            subject.name
        ))),
        _ => Ok(loads),
    }
}

/// Whether the URL of a running server has a placeholder.
fn has_placeholder(subject: &Subject) -> bool {
    match &subject.source {
        Source::Address(target) => without_placeholders(&target.path) != target.path,
        Source::Command(_) => false,
    }
}

/// Refuses flags for settings that a study file has itself.
fn refuse_flags_with_file(compare: &Compare) -> Result<(), Failure> {
    if let Some((flag, key)) = compare.load.given().next() {
        return Err(Failure::usage(format!(
            "{flag} cannot be combined with a study file, which sets the load: set `{key}` in its \
             [[load]]"
        )));
    }
    if compare.scenario.is_some() {
        return Err(Failure::usage(
            "--scenario cannot be combined with a study file, which sets the load: set `scenario` in \
             its [[load]]",
        ));
    }
    if !compare.http2_for.is_empty() {
        return Err(Failure::usage(
            "--http2-for cannot be combined with a study file: set `http2 = true` in its \
             [[subject]]",
        ));
    }
    if !compare.rev.is_empty() {
        return Err(Failure::usage(
            "--rev cannot be combined with a study file, which has its own subjects: set \
             `from.git` in a [[subject]]",
        ));
    }
    if let Some(flag) = compare.build.given() {
        return Err(Failure::usage(format!(
            "{flag} cannot be combined with a study file, which describes builds by `from.git` in \
             a [[subject]]: leave {flag} out"
        )));
    }
    if compare.aa {
        return Err(Failure::usage(
            "--aa compares one subject of the command line with itself, and a study file has its \
             own subjects: leave one of them out",
        ));
    }
    Ok(())
}

fn from_file(path: &Path, extent: &Extent, compare: &Compare) -> Result<Study, Failure> {
    refuse_flags_with_file(compare)?;
    let (mut file, folder) = study_file::read(path).map_err(Failure::usage)?;
    extent.cut(&mut file)?;
    let builds = |subject: &SubjectSpec| subject.server.revision.is_some();
    let runs = !compare.plan || file.subjects.iter().any(builds);
    if extent.is_built_in() {
        compare.trust.refuse_without_file()?;
    } else if runs {
        confirm(path, (&file, &folder), compare.trust)?;
    }
    let skipped = skip(&mut file, &folder, extent.absent)?;
    if let [only] = &file.subjects[..] {
        return Err(at(path, only, &alone(&skipped)));
    }
    let provisions = provide(path, &file, &folder, extent, compare)?;
    let subjects = file
        .in_order()
        .into_iter()
        .map(|spec| subject(path, spec, &folder, (&provisions, compare)))
        .collect::<Result<Vec<Subject>, Failure>>()?;
    let services = file
        .services
        .iter()
        .map(|spec| service(path, spec, &folder, (&provisions, compare)))
        .collect::<Result<Vec<StudyService>, Failure>>()?;
    Ok(Study {
        subjects,
        services,
        contrasts: file.contrasts,
        loads: file.loads,
        faults: file.faults,
        aa: false,
        margin: compare.margin.or(file.margin).unwrap_or(Margin::DEFAULT),
        budget: compare.budget.or(file.budget),
        blocks: compare.blocks.or(file.blocks),
        slice: compare.slice.or(file.slice),
        rounds: compare.rounds,
        cold: compare.cold,
        ceiling: ceiling(compare)?,
        interleave: interleave(compare)
            .or(file.interleave)
            .unwrap_or(Interleave::Slices),
        files: file.files,
        local_addresses: compare.generator.local_address.clone(),
        threads: compare.generator.threads.or(file.threads).map(usize::from),
        pin: pin(compare).or(file.pin).unwrap_or(Pin::Split),
        wait: compare
            .generator
            .wait()
            .or(file.wait)
            .unwrap_or(WaitChoice::Auto),
        seed: compare
            .generator
            .seed
            .or(file.seed)
            .unwrap_or_else(seed_from_clock),
        command: invocation::recorded(),
        name: Some(file.name),
        label: compare.label.text(),
        skipped,
        ordered_time: None,
        pilot: pilot(compare),
        why: compare.why || file.why,
    })
}

/// Why a single subject, the only one of the study or the only one left, is not compared.
fn alone(skipped: &[SkippedSubject]) -> String {
    let alternative = "or start it yourself and load it alone with `abx run URL`";
    let names: Vec<&str> = skipped
        .iter()
        .map(|subject| subject.name.as_str())
        .collect();
    if names.is_empty() {
        format!("one subject alone cannot be compared: add a second [[subject]], {alternative}")
    } else {
        format!(
            "no other subject is left, and one alone cannot be compared: provide what {} needs \
             (above), {alternative}",
            names.join(" or ")
        )
    }
}

/// Provides what the subjects need. Missing needs are installed now if that was requested;
/// otherwise the failure lists them. A plan starts no server, so it needs nothing.
fn provide(
    path: &Path,
    file: &StudyFile,
    folder: &Path,
    extent: &Extent,
    compare: &Compare,
) -> Result<Vec<Provision>, Failure> {
    let cache = provision::cache_folder();
    let needed = provision::survey(file, folder, &cache);
    let missing: Vec<_> = needed.iter().flat_map(Provision::missing).collect();
    if missing.is_empty() || compare.plan {
        return Ok(needed);
    }
    if compare.install {
        provision::install(&needed, &mut |line| notify(line)).map_err(Failure::usage)?;
        return Ok(provision::survey(file, folder, &cache));
    }
    Err(Failure::usage(format!(
        "{}: something that its subjects need is missing:\n{}\nTo install what abx can install: \
         {} --install",
        study_file::file(path).display(),
        lines(&missing),
        extent.command
    )))
}

/// Checks that the images of subjects on the command line are there. Missing images are pulled now
/// if that was requested; otherwise the failure lists them.
fn have_images(subjects: &[Subject], compare: &Compare) -> Result<(), Failure> {
    let needed = provision::survey_images(subjects, &provision::cache_folder());
    if needed.is_empty() && compare.install {
        return Err(Failure::usage(
            "--install needs an image, or a study file, which lists the needs of its subjects: \
             give one",
        ));
    }
    let missing: Vec<_> = needed.iter().flat_map(Provision::missing).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if compare.install {
        return provision::install(&needed, &mut |line| notify(line)).map_err(Failure::usage);
    }
    Err(Failure::usage(format!(
        "something that a subject needs is missing:\n{}\nTo have abx pull images: add --install",
        lines(&missing)
    )))
}

/// The missing needs, and their remedies.
fn lines(missing: &[&Missing]) -> String {
    let lines = missing.iter().map(|missing| {
        format!(
            "  {}: {}\n    {}",
            missing.subject, missing.what, missing.remedy
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A subject of a study file; fails if its program is missing.
fn subject(
    path: &Path,
    spec: &SubjectSpec,
    folder: &Path,
    (provisions, compare): (&[Provision], &Compare),
) -> Result<Subject, Failure> {
    let mut subject = spec
        .subject(folder)
        .map_err(|error| at(path, spec, &error.to_string()))?;
    equip(&spec.name, &mut subject.source, provisions);
    if let Some(source) = &spec.server.revision {
        return revisions::built(subject, source, folder, compare.output.quiet).map_err(
            |failure| Failure {
                message: at(path, spec, &failure.message).message,
                ..failure
            },
        );
    }
    match missing_program(&subject.source, compare) {
        None => Ok(subject),
        Some(missing) => Err(at(path, spec, &missing)),
    }
}

/// A service of a study file; fails if its program is missing.
fn service(
    path: &Path,
    spec: &ServiceSpec,
    folder: &Path,
    (provisions, compare): (&[Provision], &Compare),
) -> Result<StudyService, Failure> {
    let mut service = spec.service(folder);
    equip(&spec.name, &mut service.source, provisions);
    match missing_program(&service.source, compare) {
        None => Ok(service),
        Some(missing) => Err(at_line(
            path,
            spec.server.line,
            "service",
            &spec.name,
            &missing,
        )),
    }
}

/// Makes a server use what was installed for it.
fn equip(name: &str, source: &mut Source, provisions: &[Provision]) {
    let mut provisions = provisions.iter();
    if let Some(provision) = provisions.find(|provision| provision.subject() == name) {
        provision.equip(source);
    }
}

/// The error for a server whose program is missing. A plan starts no program.
fn missing_program(source: &Source, compare: &Compare) -> Option<String> {
    let Source::Command(launch) = source else {
        return None;
    };
    if compare.plan {
        return None;
    }
    let program = launch.missing_program()?;
    Some(format!(
        "`command`: program `{program}` not found, or not executable: install it, give its full \
         path, make it executable (chmod +x), or set its origin in `from`"
    ))
}

/// A failure at the line where a study file defines a subject.
fn at(path: &Path, spec: &SubjectSpec, message: &str) -> Failure {
    at_line(path, spec.server.line, "subject", &spec.name, message)
}

fn at_line(path: &Path, line: usize, kind: &str, name: &str, message: &str) -> Failure {
    let file = study_file::file(path);
    Failure::usage(format!(
        "{}:{line}: {kind} \"{name}\": {message}",
        file.display()
    ))
}

/// The built-in server that does nothing.
fn ceiling(compare: &Compare) -> Result<Option<CeilingServer>, Failure> {
    // Agents on other machines cannot reach a server that abx starts for this machine alone.
    let is_left_out = compare.no_ceiling || compare.fleet.is_used();
    (!is_left_out).then(invocation::ceiling_server).transpose()
}

fn interleave(compare: &Compare) -> Option<Interleave> {
    compare.interleave.map(|interleave| match interleave {
        InterleaveName::Slices => Interleave::Slices,
        InterleaveName::Trials => Interleave::Trials,
    })
}

fn pilot(compare: &Compare) -> PilotEffort {
    compare.pilot.map_or(PilotEffort::Usual, PilotName::effort)
}

fn pin(compare: &Compare) -> Option<Pin> {
    compare.pin.map(|pin| match pin {
        PinName::Split => Pin::Split,
        PinName::Shared => Pin::Shared,
    })
}

/// The failure for a word that is not a subject; it may also be a misspelled study.
fn not_a_subject(error: SubjectError) -> Failure {
    match &error {
        SubjectError::Unnamed(text) => Failure::usage(format!(
            "{error}; it is not a built-in study either: {}",
            catalog::meant(text)
        )),
        _ => Failure::usage(error),
    }
}

fn subjects(compare: &Compare) -> Result<Vec<Subject>, Failure> {
    let mut subjects = if compare.rev.is_empty() {
        compare
            .words
            .iter()
            .map(|text| Subject::parse(text))
            .collect::<Result<Vec<_>, _>>()
            .map_err(not_a_subject)?
    } else {
        revisions::subjects(compare)?
    };
    for name in &compare.http2_for {
        let subject = subjects.iter_mut().find(|subject| subject.name == *name);
        let subject = subject.ok_or_else(|| {
            Failure::usage(format!(
                "--http2-for: no subject is named `{name}`: name it as in '{name}=URL'"
            ))
        })?;
        subject.http2 = true;
    }
    match (compare.aa, subjects.len()) {
        (false, 0) => return built_in(),
        (true, 1) => {
            let again = Subject {
                name: format!("{}-again", subjects[0].name),
                ..subjects[0].clone()
            };
            subjects.push(again);
        }
        (true, count) => {
            return Err(Failure::usage(format!(
                "--aa compares one subject with itself, and {count} were given: give one"
            )));
        }
        (false, 1) => {
            return Err(Failure::usage(
                "one subject alone cannot be compared: add a second one, load it alone with \
                 `abx run`, or compare it with itself with --aa",
            ));
        }
        (false, _) => {}
    }
    for (index, subject) in subjects.iter().enumerate() {
        if subjects[..index]
            .iter()
            .any(|other| other.name == subject.name)
        {
            return Err(Failure::usage(format!(
                "two subjects are named `{}`: give each its own name, as in `name=...`",
                subject.name
            )));
        }
    }
    Ok(subjects)
}

/// Two process models of the built-in server: no other software is needed.
fn built_in() -> Result<Vec<Subject>, Failure> {
    let program = own_program()?;
    let program = program.to_string_lossy();
    let subject = |model: &str| {
        let words = [&program, "serve", "--port", "{port}", "--model", model];
        let launch = Launch::new(words.map(str::to_owned).into());
        Subject::new(model.to_owned(), Source::Command(launch))
    };
    Ok(vec![subject("event"), subject("thread")])
}
