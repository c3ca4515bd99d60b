//! How a study was measured, and why it ended.

use std::time::Duration;

use abx_evidence::Waiting;
use abx_evidence::record::{
    Contrast, Interleave, LoadRecord, Machine, RevisionRecord, Settled, StudyEnd, SubjectRecord,
};
use abx_verdict::{StudyRecord, settled_early};

use crate::document::{Document, DocumentPart, Table};
use crate::sections::measured::scope::{briefly, not_varied};
use crate::words::fleet::agents;
use crate::words::load::{alone, arrivals, exchange, hashed, keep_alive, requests};
use crate::words::metrics::rate_name;
use crate::words::prose::prose;
use crate::words::units::{
    GLUE, UNKNOWN, bytes, count, date, listed, minutes, moment, nanos, or_unknown, percent, plural,
    seconds,
};
use crate::words::verdict::name;
use crate::words::wrap::{clean, clean_name};

pub(crate) fn measured(record: &StudyRecord) -> String {
    let complete = record.measured.complete_blocks().count();
    let broken = record.measured.blocks.len() - complete;
    let incomplete = match broken {
        0 => String::new(),
        _ => format!(
            " and {} incomplete (not judged)",
            plural(broken as u64, "block")
        ),
    };
    format!(
        "{}. {}{incomplete} in {}, seed {}, abx {}.{}",
        ended(record).trim_end_matches(['.', ':', ' ']),
        plural(complete as u64, "block"),
        span(record.measured.elapsed_s),
        record.measured.seed,
        clean_name(&record.measured.abx_version),
        settled_loads(record)
    )
}

/// A sentence after a space: the loads that had enough blocks early, and for each other load the
/// number of subjects that had; empty without any.
fn settled_loads(record: &StudyRecord) -> String {
    let loads = &record.measured.loads;
    let early = settled_early(&record.measured).filter_map(|load| {
        let blocks = load.settled_as_a_whole()?.blocks;
        Some(format!("{} ({blocks})", name(&load.name)))
    });
    let subjects = loads.iter().filter_map(|load| {
        let of_subject = |settled: &&Settled| settled.subject.is_some();
        let count = load.settled.iter().filter(of_subject).count();
        let place = if loads.len() > 1 {
            format!(" under {}", name(&load.name))
        } else {
            String::new()
        };
        let is_early = settled_early(&record.measured).any(|early| early.name == load.name);
        (count > 0 && !is_early).then(|| format!("{}{place}", plural(count as u64, "subject")))
    });
    let settled: Vec<String> = early.chain(subjects).collect();
    if settled.is_empty() {
        return String::new();
    }
    format!(" Decided after fewer blocks: {}.", settled.join(", "))
}

/// When and how it ended, the versions of subjects, and how they took turns.
pub(crate) fn conduct(record: &StudyRecord) -> Document {
    let fleet = record.measured.fleet.as_ref();
    let fleet = fleet.map(|fleet| format!("Load from agents: {}.", agents(fleet)));
    let turns = alone(record).map(|load| turns(record, load));
    let lines = [
        Some(measured(record)),
        labelled(record.measured.label.as_deref()),
        fleet,
        Some(versions(record)),
        Some(built_from(record)),
    ];
    let lines = lines.into_iter().flatten().chain(turns);
    lines.filter(|line| !line.is_empty()).collect()
}

/// [`conduct`] without the agents and the turns of subjects.
pub(crate) fn conduct_briefly(record: &StudyRecord) -> Document {
    let label = labelled(record.measured.label.as_deref());
    let lines = [measured(record)].into_iter().chain(label);
    let lines = lines.chain([versions(record), built_from(record)]);
    lines.filter(|line| !line.is_empty()).collect()
}

/// The label that the user gave a record.
pub(crate) fn labelled(label: Option<&str>) -> Option<String> {
    Some(format!("Label: {}", clean_name(label?)))
}

/// The versions that subjects report; empty if none reports any.
fn versions(record: &StudyRecord) -> String {
    let mut by_version: Vec<(String, Vec<String>)> = Vec::new();
    for subject in &record.measured.subjects {
        let Some(version) = subject.version.as_deref().map(clean_name) else {
            continue;
        };
        match by_version.iter_mut().find(|(other, _)| *other == version) {
            Some((_, names)) => names.push(name(&subject.name)),
            None => by_version.push((version, vec![name(&subject.name)])),
        }
    }
    let texts = by_version.into_iter().map(|(version, names)| {
        let verb = if names.len() == 1 { "is" } else { "are" };
        format!("{} {verb} {version}", listed(&names))
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() {
        return String::new();
    }
    format!("Reported versions: {}.", texts.join("; "))
}

/// The commits that subjects were built from; empty if none was built from one.
fn built_from(record: &StudyRecord) -> String {
    let texts = record.measured.subjects.iter().filter_map(|subject| {
        let revision = subject.revision.as_ref()?;
        let title = clean_name(&revision.title);
        Some(format!(
            "{} is {} ({title})",
            name(&subject.name),
            commit(revision)
        ))
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() {
        return String::new();
    }
    format!("Revisions: {}.", texts.join(", "))
}

/// A commit's short hash, and whether the working tree had changes on top of it.
fn commit(revision: &RevisionRecord) -> String {
    let hash = &revision.commit;
    let short = hash.get(..HASH_DIGITS).unwrap_or(hash);
    match revision.changes {
        Some(_) => format!("{short} with changes"),
        None => short.to_owned(),
    }
}

/// In seconds, from two minutes on in minutes.
fn span(span_s: f64) -> String {
    match Duration::try_from_secs_f64(span_s) {
        Ok(long) if long.as_secs() >= 120 => minutes(long).replace(' ', &GLUE.to_string()),
        _ => seconds(span_s),
    }
}

/// When the study was measured, for how long, and on which machine.
pub(crate) fn when_and_where(record: &StudyRecord) -> String {
    let measured = &record.measured;
    let machine = &measured.machine;
    let complete = measured.complete_blocks().count() as u64;
    let span = span(measured.elapsed_s);
    let ended = match measured.end {
        StudyEnd::Precision
        | StudyEnd::Certain
        | StudyEnd::Settled
        | StudyEnd::Decided
        | StudyEnd::Blocks => String::new(),
        _ => format!("{}. ", ended(record).trim_end_matches(['.', ':', ' '])),
    };
    format!(
        "{ended}{} UTC, {} in {}, on {}. {}",
        moment(measured.started_unix_ms),
        plural(complete, "block"),
        span,
        machine_briefly(machine),
        briefly(record)
    )
}

/// Processor, number of CPUs and kernel.
pub(crate) fn machine_briefly(machine: &Machine) -> String {
    let mut parts = Vec::new();
    parts.extend(machine.cpu_model.as_deref().map(clean_name));
    parts.push(plural(machine.cpus as u64, "CPU"));
    let kernel = machine.kernel.as_deref().map(clean_name);
    parts.extend(kernel.map(|kernel| format!("Linux {kernel}")));
    parts.join(", ")
}

pub(crate) fn measured_briefly(record: &StudyRecord) -> Document {
    let rest = "`--full` prints all numbers and remedies, `abx explain NAME` explains a name.";
    [not_varied(record), measured(record), rest.to_owned()]
        .into_iter()
        .collect()
}

fn ended(record: &StudyRecord) -> String {
    let settings = &record.measured.settings;
    // The finding about a failure has the whole text.
    let first_line = |text: &str| clean(text).lines().next().unwrap_or_default().to_owned();
    match &record.measured.end {
        StudyEnd::Running => "Unfinished: abx was killed, or is still measuring".to_owned(),
        StudyEnd::Precision => format!(
            "Stopped: every interval is narrow enough for the margin of {}",
            percent(settings.margin)
        ),
        StudyEnd::Certain if record.conclusions.primary().count() < 2 => {
            "Stopped: the difference is clear (the 99.9 % interval excludes 1)".to_owned()
        }
        StudyEnd::Certain => format!(
            "Stopped: each difference is clear (its 99.9 % interval excludes 1), or its 97 % interval \
             is narrow enough for the margin of {}",
            percent(settings.margin)
        ),
        StudyEnd::Settled => {
            "Stopped: each 99.9 % interval lies on one side of its limit".to_owned()
        }
        StudyEnd::Decided => "Stopped: this step of `abx bisect` is decided".to_owned(),
        StudyEnd::Blocks => "Stopped: the requested blocks are complete".to_owned(),
        StudyEnd::Budget => format!("Stopped by the budget of {}", span(settings.budget_s)),
        StudyEnd::Invalid => {
            "Stopped: after these failures no comparison can get a result".to_owned()
        }
        StudyEnd::Interrupted => "Interrupted".to_owned(),
        StudyEnd::Failed { why } => {
            format!("Stopped early: {}", first_line(why))
        }
        StudyEnd::SubjectFailed { subject, how } => format!(
            "Stopped early: {} could not continue: {}",
            name(subject),
            first_line(how)
        ),
        StudyEnd::ServiceFailed { how, .. } => format!("Stopped early: {}", first_line(how)),
    }
}

fn repeating(record: &StudyRecord) -> String {
    let mut words = record.measured.command.clone();
    let has_seed = |word: &String| word == "--seed" || word.starts_with("--seed=");
    if !words.iter().any(has_seed) {
        words.extend(["--seed".to_owned(), record.measured.seed.to_string()]);
    }
    shell_words::join(words)
}

fn turns(record: &StudyRecord, load: &LoadRecord) -> String {
    let Some(pilot) = &load.pilot else {
        return String::new();
    };
    let interval = match pilot.interleave {
        Interleave::Slices => "slices",
        Interleave::Trials => "trials",
    };
    let mut text = format!(
        "{} of {} (the first {} not counted), {} per block, warm-up {}.",
        if record.measured.loads.len() > 1 {
            format!("{}: {interval}", name(&load.name))
        } else {
            format!("Interleaving: {interval}")
        },
        nanos(pilot.slice_ns),
        nanos(pilot.discard_ns),
        plural(pilot.rounds.into(), "round"),
        nanos(pilot.warm_up_ns),
    );
    if let Some(reason) = &pilot.interleave_reason {
        text.push_str(&format!(
            " They are {interval}, because {}.",
            prose(&clean_name(reason), &[])
        ));
    }
    if let Some(reason) = &pilot.slice_reason {
        let reason = prose(&clean_name(reason), &[]);
        text.push_str(&format!(" They are longer than usual, because {reason}."));
    }
    if pilot.shortened {
        text.push_str(
            " Each block has less of this load than usual, so that the study fits into its budget.",
        );
    }
    for (cut_short, how) in [
        (false, "Still warming up when the pilot ended"),
        (
            true,
            "May not have settled, because the pilot ran out of time",
        ),
    ] {
        let unsettled = pilot
            .subjects
            .iter()
            .filter(|(_, pilot_subject)| {
                !pilot_subject.settled && pilot_subject.cut_short == cut_short
            })
            .map(|(subject, _)| name(subject));
        let names: Vec<String> = unsettled.collect();
        if !names.is_empty() {
            text.push_str(&format!(" {how}: {}.", names.join(", ")));
        }
    }
    text
}

pub(crate) fn subtitle(record: &StudyRecord) -> String {
    let complete = record.measured.complete_blocks().count() as u64;
    format!(
        "{}, {} in {}, abx {}.",
        date(record.measured.started_unix_ms),
        plural(complete, "block"),
        seconds(record.measured.elapsed_s),
        record.measured.abx_version
    )
}

/// How a study was measured, and how to repeat it, on a page.
pub(crate) fn how_measured(record: &StudyRecord) -> Document {
    let loads_measured = &record.measured.loads;
    let ended = format!("{}.", ended(record).trim_end_matches('.'));
    let turns = loads_measured.iter().map(|load| turns(record, load));
    let mut out: Document = std::iter::once(ended).chain(turns).collect();
    out.0.push(DocumentPart::Verbatim(repeating(record)));
    out.note(
        "This command repeats the order of the slices; the machine behaves differently each time.",
    );
    let tables = [
        Some(subjects(record)),
        revisions(record),
        Some(loads(record)),
        Some(Table::pairs("Settings", settings(record))),
        Some(Table::pairs("Machine", machine(&record.measured.machine))),
    ];
    let tables = tables.into_iter().flatten();
    tables.for_each(|table| out.append(table.into()));
    for load in loads_measured {
        if let Some(pilot) = pilot(record, load) {
            let title = format!("What the pilot found for {}", name(&load.name));
            out.folded(title, pilot.into());
        }
    }
    out
}

fn subjects(record: &StudyRecord) -> Table {
    let row = |subject: &SubjectRecord| {
        let mut how = match (&subject.address, &subject.connected_to) {
            (Some(url), Some(there)) if !url.contains(there) => {
                format!("was running at {url}, loaded at {there}")
            }
            (Some(url), _) => format!("was running at {url}"),
            (None, _) => shell_words::join(&subject.command),
        };
        if subject.http2 {
            how.push_str(", over HTTP/2");
        }
        let mut version = subject
            .version
            .clone()
            .unwrap_or_else(|| UNKNOWN.to_owned());
        if let Some(meant) = &subject.stand_in_for {
            version.push_str(&format!(" (stands in for {meant})"));
        }
        vec![name(&subject.name), version, how]
    };
    Table::new(
        ["subject", "reported version", "command"],
        record.measured.subjects.iter().map(row),
    )
    .captioned("Subjects")
    .of_words()
}

/// The commits that subjects were built from, if any was.
fn revisions(record: &StudyRecord) -> Option<Table> {
    let row = |subject: &SubjectRecord| {
        let revision = subject.revision.as_ref()?;
        let built = match &revision.build[..] {
            [] => "its checkout".to_owned(),
            commands => commands.join(", then "),
        };
        Some(vec![
            name(&subject.name),
            commit(revision),
            revision.author_date.clone(),
            clean_name(&revision.title),
            clean_name(&built),
        ])
    };
    let rows: Vec<Vec<String>> = record.measured.subjects.iter().filter_map(row).collect();
    let headers = [
        "subject",
        "commit",
        "author date",
        "subject line",
        "built by",
    ];
    let is_empty = rows.is_empty();
    let table = Table::new(headers, rows).captioned("Revisions").of_words();
    (!is_empty).then_some(table)
}

fn loads(record: &StudyRecord) -> Table {
    let row = |load: &LoadRecord| {
        let settings = &load.settings;
        let mut offered = vec![plural(settings.connections.into(), "connection")];
        offered.push(arrivals(&settings.arrivals).unwrap_or_else(|| "closed loop".to_owned()));
        offered.extend(exchange(&settings.exchange));
        offered.push(keep_alive(settings.keep_alive));
        let has_own = settings
            .requests
            .iter()
            .any(|request_settings| request_settings.status.is_some());
        let status = if has_own {
            format!(
                "status {}, or the status set for the request",
                settings.status
            )
        } else {
            format!("status {}", settings.status)
        };
        let compared = if settings.bodies_compared {
            format!("{status} and body")
        } else {
            status
        };
        let correct = format!(
            "{compared} within {}, {} bodies hashed",
            seconds(settings.timeout.as_secs_f64()),
            hashed(settings)
        );
        vec![
            name(&load.name),
            offered.join(", "),
            requests(settings),
            correct,
        ]
    };
    Table::new(
        ["load", "offered", "requests", "correct responses have"],
        record.measured.loads.iter().map(row),
    )
    .captioned("Loads")
    .of_words()
}

fn pilot(record: &StudyRecord, load: &LoadRecord) -> Option<Table> {
    let pilot = load.pilot.as_ref()?;
    let row = |subject: &SubjectRecord| {
        let pilot_subject = pilot.subjects.get(&subject.name)?;
        Some(vec![
            name(&subject.name),
            count(pilot_subject.throughput_per_s.round() as u64),
            seconds(pilot_subject.warm_up_ns as f64 / 1e9),
            if pilot_subject.settled { "yes" } else { "no" }.to_owned(),
            or_unknown(pilot_subject.background_cpu, percent),
        ])
    };
    let headers = [
        "subject",
        rate_name(load.settings.exchange.shape),
        "warm-up",
        "settled",
        "CPU after its slice",
    ];
    Some(
        Table::new(headers, record.measured.subjects.iter().filter_map(row))
            .captioned(format!("Pilot of {}", name(&load.name))),
    )
}

fn settings(record: &StudyRecord) -> Vec<(&'static str, String)> {
    let settings = &record.measured.settings;
    let blocks = settings.blocks.map(|blocks| plural(blocks.into(), "block"));
    let compared = match &settings.contrasts[..] {
        [] => ("baseline", name(&settings.baseline)),
        declared => ("compared", contrasts(declared)),
    };
    let fleet = record.measured.fleet.as_ref();
    let fleet = fleet.map(|fleet| ("agents", agents(fleet)));
    let rows = vec![
        compared,
        ("margin", percent(settings.margin)),
        (
            "blocks requested",
            blocks.unwrap_or_else(|| "as many as precision needs".to_owned()),
        ),
        ("budget", seconds(settings.budget_s)),
        ("generator threads", count(settings.threads as u64)),
        ("CPUs of the subjects", cpu_list(&settings.subject_cpus)),
        ("CPUs of the generator", cpu_list(&settings.generator_cpus)),
        ("generator waits", waits(&settings.waiting)),
        ("seed", record.measured.seed.to_string()),
    ];
    let label = record.measured.label.as_deref();
    let label = label.map(|label| ("label", clean_name(label)));
    rows.into_iter().chain(fleet).chain(label).collect()
}

fn contrasts(declared: &[Contrast]) -> String {
    let text = |contrast: &Contrast| {
        let [subject, baseline] = contrast.pair().map(name);
        match &contrast.loads[..] {
            [] => format!("{subject} ÷ {baseline}"),
            loads => {
                let loads: Vec<String> = loads.iter().map(|load| name(load)).collect();
                format!("{subject} ÷ {baseline} under {}", loads.join(", "))
            }
        }
    };
    let texts: Vec<String> = declared.iter().map(text).collect();
    texts.join("; ")
}

fn waits(waiting: &Waiting) -> String {
    let how = waiting.wait.name().to_owned();
    match &waiting.asleep_because {
        Some(why) => format!("{how}: {why}"),
        None => how,
    }
}

pub(crate) fn machine(machine: &Machine) -> Vec<(&'static str, String)> {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| NOT_READ.to_owned());
    let number = |value: Option<u64>| value.map_or_else(|| NOT_READ.to_owned(), count);
    let is_virtual = machine
        .is_virtual
        .map(|yes| if yes { "yes" } else { "no" }.to_owned());
    let ports = machine
        .local_ports
        .map(|(first, last)| format!("{first} to {last}"));
    let memory = machine.memory_bytes.map(|size| bytes(size as f64));
    vec![
        ("processor", text(&machine.cpu_model)),
        ("CPUs that abx may use", count(machine.cpus as u64)),
        ("memory", text(&memory)),
        ("kernel", text(&machine.kernel)),
        ("virtual machine", text(&is_virtual)),
        ("clock source", text(&machine.clocksource)),
        ("frequency governor", text(&machine.governor)),
        (
            "longest listen queue",
            number(machine.somaxconn.map(u64::from)),
        ),
        ("local ports", text(&ports)),
        ("descriptors per process", number(machine.descriptors_max)),
    ]
}

fn cpu_list(cpus: &[usize]) -> String {
    let texts: Vec<String> = cpus.iter().map(usize::to_string).collect();
    texts.join(", ")
}

/// Digits of a commit's hash that distinguish it.
const HASH_DIGITS: usize = 9;
const NOT_READ: &str = "not checked";

/// The command, the conduct and the machine, folded.
pub(crate) fn how_measured_folded(record: &StudyRecord) -> Document {
    let mut inside = Document(vec![DocumentPart::Verbatim(repeating(record))]);
    inside.append(conduct(record));
    let machine = &record.measured.machine;
    let mut parts = vec![plural(machine.cpus as u64, "processor")];
    parts.extend(machine.cpu_model.clone());
    let kernel = machine.kernel.as_ref();
    parts.extend(kernel.map(|kernel| format!("Linux {kernel}")));
    inside.paragraph(format!("Machine: {}.", parts.join(", ")));
    let mut out = Document::default();
    out.folded("How it was measured, and how to repeat it", inside);
    out
}
