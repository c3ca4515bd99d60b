//! Reads a study for what limits its claims. Each finding has a fixed name,
//! figures, and a remedy that a person can carry out.

use std::collections::BTreeMap;

use crate::comparison::disturbed_rounds;
use crate::failures;
use crate::finding::{Finding, Level};
use crate::record::{AnswerRecord, Interleave, LoadRecord, StudyEnd, StudyRecord, SubjectRecord};
use crate::stats::stop::BLOCKS_FOR_VERDICT;
use crate::summary::{Sums, share, sums_by_subject};

/// A subject this busy is the limit, whatever the generator does.
pub(crate) const SUBJECT_BUSY: f64 = 0.95;
/// A generator this busy is the limit, unless the subject is.
pub(crate) const GENERATOR_BUSY: f64 = 0.90;
/// Little's law may be off by this much before it is noted, and before it voids.
const LITTLE_NOTE: f64 = 0.03;
const LITTLE_VOID: f64 = 0.20;
/// Little's law needs slices of this many response times.
const LITTLE_TURNS_MIN: f64 = 10.0;
/// Connections that sent nothing in a slice, as a share.
const SILENT_NOTE: f64 = 0.01;
const SILENT_VOID: f64 = 0.10;
/// Processor time that is neither ours nor the subjects', as a share of all.
const FOREIGN_MAX: f64 = 0.03;
const STEAL_MAX: f64 = 0.01;
/// Time for which the generator was ready and did not run.
const WAIT_MAX: f64 = 0.05;
/// Processor time of subjects that should idle, as a share of one processor.
const BACKGROUND_MAX: f64 = 0.01;

/// Who held the throughput back, for each subject of one load.
pub(crate) struct Limit(BTreeMap<String, Busy>);

#[derive(Debug, Clone, Copy, Default)]
struct Busy {
    subject: Option<f64>,
    generator: Option<f64>,
}

impl Busy {
    fn is_subject_bound(self) -> bool {
        self.subject.is_some_and(|busy| busy >= SUBJECT_BUSY)
    }

    fn is_generator_bound(self) -> bool {
        !self.is_subject_bound() && self.generator.is_some_and(|busy| busy >= GENERATOR_BUSY)
    }
}

impl Limit {
    pub(crate) fn of(record: &StudyRecord, load: &LoadRecord) -> Limit {
        let cpus = record.settings.subject_cpus.len().max(1) as u64;
        let sums = sums_by_subject(record, &load.name);
        let busy = sums.into_iter().map(|(subject, sums)| {
            let all = sums
                .server_cpu_ns
                .and_then(|cpu| share(cpu, sums.wall_ns * cpus));
            let thread_ns: Option<u64> = record
                .block_loads(&load.name)
                .map(|part| part.sides.get(&subject)?.busiest_thread_ns)
                .sum();
            let thread = thread_ns.and_then(|cpu| share(cpu, sums.wall_ns));
            let busy = Busy {
                subject: all.into_iter().chain(thread).reduce(f64::max),
                generator: generator_busy(&sums, record.settings.threads),
            };
            (subject, busy)
        });
        Limit(busy.collect())
    }

    /// What the generator's limit means for one comparison, given its ratio.
    pub(crate) fn finding(
        &self,
        [subject, baseline]: [&str; 2],
        ratio: Option<f64>,
    ) -> Option<Finding> {
        let (faster, slower) = if ratio? >= 1.0 {
            (subject, baseline)
        } else {
            (baseline, subject)
        };
        let busy = |name: &str| self.0.get(name).copied().unwrap_or_default();
        let percent = |name: &str| 100.0 * busy(name).generator.unwrap_or_default();
        let remedy = "add a thread (`-t`) on a processor of its own, make the subject do more \
                      for each request, or run on a machine with more processors";
        let bound = [faster, slower].map(|name| busy(name).is_generator_bound());
        match bound {
            [false, false] => None,
            [true, false] => Some(
                Finding::new(
                    "generator_bound",
                    Level::Bound,
                    format!(
                        "the generator used {:.0} % of its processor and {faster} had time to \
                         spare: {faster} could have answered more",
                        percent(faster)
                    ),
                    remedy,
                )
                .about(faster),
            ),
            [true, true] => Some(Finding::new(
                "generator_bound",
                Level::Void,
                format!(
                    "the generator was the limit for both {faster} and {slower} (it used {:.0} % \
                     and {:.0} % of its processor): their throughput is the generator's",
                    percent(faster),
                    percent(slower)
                ),
                remedy,
            )),
            [false, true] => Some(
                Finding::new(
                    "generator_bound",
                    Level::Void,
                    format!(
                        "the generator was the limit for {slower}, the slower of the two (it used \
                         {:.0} % of its processor), so {slower} may be the faster one",
                        percent(slower)
                    ),
                    remedy,
                )
                .about(slower),
            ),
        }
    }

    fn notes(&self, load: &LoadRecord) -> impl Iterator<Item = Finding> {
        self.0.iter().filter_map(|(subject, busy)| {
            let idle = busy.subject.is_some() && !busy.is_subject_bound();
            (idle && !busy.is_generator_bound()).then(|| {
                Finding::new(
                    "not_saturated",
                    Level::Note,
                    format!(
                        "neither {subject} ({:.0} % busy) nor the generator ({:.0} %) was at its \
                         limit: throughput is connections over response time here",
                        100.0 * busy.subject.unwrap_or_default(),
                        100.0 * busy.generator.unwrap_or_default()
                    ),
                    "raise `-c` to find the most that it can serve",
                )
                .about(subject)
                .under(&load.name)
            })
        })
    }
}

/// The share of its processor that the generator used or waited for: a
/// generator that others keep from its processor is a limit too.
fn generator_busy(sums: &Sums, threads: usize) -> Option<f64> {
    let waited = sums.generator_wait_ns.unwrap_or_default() / threads.max(1) as u64;
    share(sums.busiest_worker_ns + waited, sums.wall_ns)
}

/// All findings of a study but those that depend on a ratio.
pub(crate) fn findings(record: &StudyRecord) -> Vec<Finding> {
    let mut found = Vec::new();
    for load in &record.loads {
        for (subject, sums) in &sums_by_subject(record, &load.name) {
            if sums.slices == 0 {
                continue;
            }
            let about = outcomes(subject, sums)
                .into_iter()
                .chain(little(load, subject, sums))
                .chain(silent(load, subject, sums))
                .chain(listen_overflows(record, load, subject))
                .chain(disconnected(record, load, subject));
            found.extend(about.map(|finding| finding.under(&load.name)));
        }
        let disturbances = machine(record, load);
        if disturbances.is_empty() {
            // Else a subject that wanted to run and could not would be taken for idle.
            found.extend(Limit::of(record, load).notes(load));
        }
        found.extend(disturbances);
        found.extend(unread(record, load));
        found.extend(disturbed(record, load));
        found.extend(varying(load));
        found.extend(answers_differ(record, load));
        found.extend(unsettled(load));
        found.extend(turns(load));
    }
    found.extend(record.subjects.iter().flat_map(subject_findings));
    found.extend(whole(record));
    found
}

fn outcomes(subject: &str, sums: &Sums) -> Vec<Finding> {
    // A failure counts wherever in the slice its request began.
    let mut all = sums.outcomes.clone();
    all.merge(&sums.discarded);
    let failed = failures::failed_requests(subject, &all, sums.hashed);
    let stopped = failures::stopped_answering(subject, sums.stopped_answering, sums.slices);
    failures::exhausted(&all)
        .chain(failed)
        .chain(stopped)
        .map(|finding| finding.about(subject))
        .collect()
}

/// Little's law: the connections that were busy on average, by response times
/// and rate, against those that were asked for.
fn little(load: &LoadRecord, subject: &str, sums: &Sums) -> Option<Finding> {
    let connections = f64::from(load.settings.connections);
    let turns = sums.outcomes.completed() as f64 / (connections * sums.slices.max(1) as f64);
    if turns < LITTLE_TURNS_MIN || sums.outcomes.completed() < sums.outcomes.sent() {
        return None;
    }
    // All requests that were sent within the window, over the window: what was
    // in flight at its start is missed, what is in flight at its end is in.
    let pilot = load.pilot.as_ref()?;
    let window_ns = sums.slices * pilot.slice_ns.checked_sub(pilot.discard_ns)?;
    let busy = share(sums.response_ns_sum, window_ns)?;
    let off = (busy - connections).abs() / connections;
    // Fewer than asked for is another load. More is an effect of the slice's
    // edges: answers in flight at its end wait longer on a machine that is busy.
    let level = if busy < (1.0 - LITTLE_VOID) * connections {
        Level::Void
    } else {
        Level::Note
    };
    (off > LITTLE_NOTE).then(|| {
        Finding::new(
            "little_law",
            level,
            format!(
                "{subject} had {busy:.1} requests in flight on average (rate times mean response \
                 time) where {connections} were asked for"
            ),
            "use longer slices (`--slice`), or fewer connections",
        )
        .about(subject)
    })
}

fn silent(load: &LoadRecord, subject: &str, sums: &Sums) -> Option<Finding> {
    let chances = u64::from(load.settings.connections) * sums.slices;
    let part = share(sums.silent, chances)?;
    let level = if part > SILENT_VOID {
        Level::Void
    } else {
        Level::Note
    };
    (part > SILENT_NOTE).then(|| {
        Finding::new(
            "slices_too_short",
            level,
            format!(
                "{:.1} % of the connections to {subject} sent nothing in a slice",
                100.0 * part
            ),
            "use longer slices (`--slice`)",
        )
        .about(subject)
    })
}

fn listen_overflows(record: &StudyRecord, load: &LoadRecord, subject: &str) -> Option<Finding> {
    let sides = record
        .block_loads(&load.name)
        .filter_map(|part| part.sides.get(subject));
    let overflows: u64 = sides.filter_map(|side| side.listen_overflows).sum();
    (overflows > 0).then(|| {
        Finding::new(
            "listen_overflows",
            Level::Note,
            format!(
                "the kernel turned {overflows} connections away while {subject} was loaded, \
                 because a listen queue of this machine was full"
            ),
            "raise the subject's backlog and `net.core.somaxconn`, or offer fewer connections",
        )
        .about(subject)
    })
}

fn disconnected(record: &StudyRecord, load: &LoadRecord, subject: &str) -> Option<Finding> {
    let sides = record
        .block_loads(&load.name)
        .filter_map(|part| part.sides.get(subject));
    let missing: u64 = sides.map(|side| side.not_connected).sum();
    (missing > 0).then(|| {
        Finding::new(
            "not_connected",
            Level::Note,
            format!("{missing} connections to {subject} could not be opened before the load"),
            "raise the limit of connections of the subject, or offer fewer",
        )
        .about(subject)
    })
}

/// What else ran on the machine, under one load.
fn machine(record: &StudyRecord, load: &LoadRecord) -> Vec<Finding> {
    let all = Sums::of_load(record, load);
    let mut cpus = record.settings.subject_cpus.clone();
    cpus.extend(&record.settings.generator_cpus);
    cpus.sort_unstable();
    cpus.dedup();
    let capacity = all.window_ns * cpus.len() as u64;
    let quiet = "close other programs, or run on a machine of your own";
    let mut found = Vec::new();
    let mut look = |id: &str, part: Option<f64>, most: f64, what: &str, remedy: &str| {
        if let Some(part) = part.filter(|part| *part > most) {
            let message = format!("{what} {:.1} % of the time", 100.0 * part);
            found.push(Finding::new(id, Level::Note, message, remedy).under(&load.name));
        }
    };
    look(
        "steal",
        all.steal_ns.and_then(|steal| share(steal, capacity)),
        STEAL_MAX,
        "the hypervisor gave our processors to others",
        "run at a quieter time, or on a machine of your own",
    );
    let known = all
        .server_cpu_ns
        .zip(all.others_cpu_ns)
        .map(|(server, others)| server + others + all.generator_cpu_ns);
    let foreign = all
        .busy_ns
        .zip(known)
        .map(|(busy, known)| busy.saturating_sub(known));
    look(
        "foreign_cpu",
        foreign.and_then(|foreign| share(foreign, capacity)),
        FOREIGN_MAX,
        "other programs had our processors",
        quiet,
    );
    let threads = record.settings.threads.max(1) as u64;
    look(
        "generator_wait",
        all.generator_wait_ns
            .and_then(|wait| share(wait, all.wall_ns * threads)),
        WAIT_MAX,
        "the generator was ready to run and had to wait",
        quiet,
    );
    look(
        "background_work",
        all.others_cpu_ns
            .and_then(|others| share(others, all.window_ns)),
        BACKGROUND_MAX,
        "subjects that should have been idle worked, by one processor's measure,",
        "compare by `--interleave trials`, in which background work meets its own subject",
    );
    found
}

/// What could not be read is said, never taken for zero.
fn unread(record: &StudyRecord, load: &LoadRecord) -> Vec<Finding> {
    let all = Sums::of_load(record, load);
    let mut sides = record
        .block_loads(&load.name)
        .flat_map(|part| part.sides.values());
    let mounted = "run where /proc is mounted";
    let looks = [
        (
            all.busy_ns.is_none() || all.steal_ns.is_none(),
            "steal and foreign processor time were not checked: /proc/stat cannot be read",
            mounted,
        ),
        (
            all.server_cpu_ns.is_none() || all.others_cpu_ns.is_none(),
            "the processor time of at least one subject was not checked: who was its limit is \
             known of the generator only, and foreign and background work are not known",
            "let abx start the subjects, on this machine",
        ),
        (
            all.generator_wait_ns.is_none(),
            "whether the generator had to wait for its processor was not checked: \
             /proc/thread-self/schedstat cannot be read",
            "run on a kernel with scheduler statistics",
        ),
        (
            sides.any(|side| side.listen_overflows.is_none()),
            "full listen queues were not checked: /proc/net/netstat cannot be read",
            mounted,
        ),
    ];
    let unread = looks.into_iter().filter(|(is_unread, ..)| *is_unread);
    unread
        .map(|(_, message, remedy)| {
            Finding::new("not_checked", Level::Note, message, remedy).under(&load.name)
        })
        .collect()
}

/// Subjects that had not settled when their warm-up was measured.
fn unsettled(load: &LoadRecord) -> impl Iterator<Item = Finding> {
    let subjects = load.pilot.iter().flat_map(|pilot| &pilot.subjects);
    subjects
        .filter(|(_, found)| !found.settled)
        .map(|(subject, _)| {
            Finding::new(
                "not_settled",
                Level::Note,
                format!(
                    "{subject} had not settled within the pilot: it may still warm up while it \
                     is measured"
                ),
                "look whether it gets faster for longer than a second, with `abx run -d 60s`",
            )
            .about(subject)
            .under(&load.name)
        })
}

/// Rounds that something from outside disturbed; they are marked and stay in.
fn disturbed(record: &StudyRecord, load: &LoadRecord) -> Option<Finding> {
    let (disturbed, all) = disturbed_rounds(record, load);
    (disturbed > 0).then(|| {
        Finding::new(
            "disturbed_rounds",
            Level::Note,
            format!(
                "{disturbed} of {all} rounds were disturbed from outside, by the hypervisor or by \
                 other programs; they count all the same"
            ),
            "run at a quieter time; more blocks even out what hits all subjects alike",
        )
        .under(&load.name)
    })
}

/// How subjects took turns, when not as asked.
fn turns(load: &LoadRecord) -> Option<Finding> {
    let pilot = load.pilot.as_ref()?;
    let reason = pilot.interleave_reason.as_ref()?;
    (pilot.interleave == Interleave::Trials).then(|| {
        Finding::new(
            "ran_as_trials",
            Level::Note,
            format!("each subject was loaded in one long stretch: {reason}"),
            "expect wider intervals than with slices; more blocks narrow them",
        )
        .under(&load.name)
    })
}

fn subject_findings(subject: &SubjectRecord) -> Vec<Finding> {
    let mut found = Vec::new();
    if !subject.is_kept() {
        found.push(
            Finding::new(
                "not_restarted",
                Level::Note,
                format!(
                    "{} was running already and was not restarted: how much its speed differs \
                     from start to start is not covered by the interval",
                    subject.name
                ),
                "give its command instead of its address",
            )
            .about(&subject.name),
        );
    }
    found
}

/// Subjects that answer one request with bodies that differ from time to time.
fn varying(load: &LoadRecord) -> impl Iterator<Item = Finding> {
    let varies = |answers: &[AnswerRecord]| answers.iter().any(|one| one.sha256.is_none());
    let subjects = load.answers.iter().filter(move |one| varies(one.1));
    subjects.map(|(subject, _)| {
        let message = format!(
            "{subject} answers the same request with bodies that differ: only its status was \
             checked"
        );
        let remedy = "compare on a path whose answer is always the same";
        Finding::new("body_varies", Level::Note, message, remedy)
            .about(subject)
            .under(&load.name)
    })
}

/// Subjects whose body is not the baseline's.
fn answers_differ(record: &StudyRecord, load: &LoadRecord) -> Vec<Finding> {
    let baseline = &record.settings.baseline;
    let Some(expected) = load.answers.get(baseline) else {
        return Vec::new();
    };
    let differs = |answers: &&AnswerRecord, expected: &AnswerRecord| {
        let both = answers.sha256.as_ref().zip(expected.sha256.as_ref());
        both.is_some_and(|(one, other)| one != other)
    };
    let found = load.answers.iter().filter_map(|(subject, answers)| {
        let pairs = answers.iter().zip(expected);
        let (answer, expected) = { pairs }.find(|(answer, expected)| differs(answer, expected))?;
        let message = format!(
            "the subjects answer with different bodies ({baseline}: {} bytes, {subject}: {} \
             bytes): the ratio holds that difference too",
            expected.body_bytes, answer.body_bytes
        );
        let remedy = "let all subjects answer the same bytes";
        let finding = Finding::new("unequal_responses", Level::Note, message, remedy);
        Some(finding.about(subject).under(&load.name))
    });
    found.collect()
}

/// Findings about the study as a whole.
fn whole(record: &StudyRecord) -> Vec<Finding> {
    let mut found = Vec::new();
    let settings = &record.settings;
    let are_shared = settings
        .subject_cpus
        .iter()
        .any(|cpu| settings.generator_cpus.contains(cpu));
    if are_shared {
        found.push(Finding::new(
            "shared_cpus",
            Level::Bound,
            "subjects and generator shared processors: each took time from the other",
            "leave out `--pin shared`, on a machine with at least two processors",
        ));
    }
    match &record.end {
        StudyEnd::SubjectFailed { subject, how } => found.push(
            Finding::new(
                "subject_failed",
                Level::Void,
                format!("{subject} could not go on: {how}"),
                "look at its log, and try it alone with `abx run`",
            )
            .about(subject),
        ),
        StudyEnd::Failed { why } => found.push(Finding::new(
            "study_failed",
            Level::Note,
            format!("the study ended before its time: {why}"),
            "mend that, and judge this as a study with fewer blocks",
        )),
        StudyEnd::Interrupted => found.push(Finding::new(
            "interrupted",
            Level::Note,
            "the study was stopped before its end",
            "judge it as one with fewer blocks",
        )),
        _ => {}
    }
    let blocks = record.complete_blocks().count();
    if blocks < BLOCKS_FOR_VERDICT {
        found.push(Finding::new(
            "few_blocks",
            Level::Note,
            format!("{blocks} blocks were measured, and a verdict needs {BLOCKS_FOR_VERDICT}"),
            "give more time (`--budget`) or more blocks (`--blocks`)",
        ));
    }
    found
}
