//! Reads a study for what limits its claims; a run is one too. Each finding has a
//! fixed name, figures, and a remedy that a person can carry out. [`findings`] is the
//! list; each file holds those of one theme.

pub(crate) mod acknowledgements;
mod bottleneck;
mod ceiling;
pub(crate) mod closes;
mod cold_cache;
mod descriptors;
pub(crate) mod failures;
mod faults;
mod fleet;
mod frequency;
pub(crate) mod held;
pub(crate) mod listeners;
mod machine;
mod network;
mod opening;
pub(crate) mod pace;
mod responses;
mod services;
mod slices;
mod steady;
mod strain;
mod unread;

use crate::measure::outcome::Outcome;
use crate::measure::share::share;
use crate::measure::sum::sum;
use crate::record::finding::{Finding, Level};
use crate::record::finding_id::FindingId;
use crate::record::{
    Interleave, LoadRecord, Measured, SliceRecord, StudyEnd, SubjectRecord, runs_container,
};
use crate::view::ceilings::Ceiling;
use crate::view::summary::Summary;
use crate::view::{OfferView, StudyView, SubjectView};
use abx_model::LoadShape;
use abx_stats::stop::blocks_for_verdict;

use acknowledgements::{Echoes, ResponseParts};
use ceiling::near_ceiling;
use cold_cache::cold_cache;
use descriptors::descriptors;
use faults::of_faults;
use fleet::of_fleet;
use frequency::frequency;
use machine::{disturbed, machine};
use network::ConnectionReadings;
use opening::{lacked, not_opened};
use pace::{Pace, PaceLimits};
use responses::{responses_differ, varying};
use slices::{few_times, little, silent, uneven};
use steady::{never_steady, unsettled, warm_up_counted};
use strain::{Saturation, strain};
use unread::unread;

pub(crate) use bottleneck::{Bottleneck, GENERATOR_BUSY, SUBJECT_BUSY};
pub(crate) use machine::named as programs_named;
pub(crate) use machine::{FOREIGN_MAX, STEAL_MAX, WAIT_MAX};

/// All findings of a study but those that depend on a ratio.
pub(crate) fn findings(
    study: &StudyView,
    summaries: &[Summary],
    ceilings: &[Ceiling],
) -> Vec<Finding> {
    let record = study.study;
    let each = study
        .loads
        .iter()
        .flat_map(|view| match view.load.settings.exchange.shape {
            LoadShape::Connections => of_connections(view),
            _ => of_load(view, summaries),
        });
    let mut findings: Vec<Finding> = each.collect();
    findings.extend(frequency(record));
    findings.extend(near_ceiling(record, summaries, ceilings));
    findings.extend(of_faults(record));
    if record.is_comparison() {
        findings.extend(record.subjects.iter().flat_map(subject_findings));
        findings.extend(failures::failed_starts(record));
        findings.extend(compared(record));
    }
    findings.extend(whole(record));
    findings
}

/// What limits figures of one load.
fn of_load(view: &OfferView, summaries: &[Summary]) -> Vec<Finding> {
    let load = view.load;
    let limit = Bottleneck::of(view);
    let is_saturating = load.settings.arrivals.is_saturating();
    let each = view.by_name().into_iter();
    let mut findings: Vec<Finding> = each
        .flat_map(|subject| match subject.sums.slices {
            0 => {
                Vec::from_iter(stopped_responding(subject).map(|finding| finding.under(&load.name)))
            }
            _ => of_subject(subject, &limit, summary(summaries, subject)),
        })
        .collect();
    let disturbances = machine(view);
    if is_saturating {
        findings.extend(limit.beside_services(load, view.study.is_comparison()));
    }
    if is_saturating && disturbances.is_empty() {
        // Else a subject that wanted to run and could not would be taken for idle.
        findings.extend(limit.notes(load));
    }
    findings.extend(disturbances);
    findings.extend(unread(view));
    if view.study.is_comparison() {
        findings.extend(disturbed(view));
    } else if is_saturating {
        findings.extend(limit.alone(load));
    }
    findings.extend(varying(load));
    findings.extend(responses_differ(view.study, load));
    findings.extend(unsettled(view));
    findings.extend(turns(load));
    findings
}

/// What limits figures of one subject under one load.
fn of_subject(subject: &SubjectView, limit: &Bottleneck, summary: &Summary) -> Vec<Finding> {
    let load = subject.load;
    let mut findings = outcomes(subject);
    findings.extend(stopped_responding(subject));
    if load.settings.arrivals.is_saturating() {
        findings.extend(little(subject));
        findings.extend(silent(subject));
        findings.extend(uneven(subject));
        findings.extend(never_steady(subject));
    }
    if !subject.study.is_comparison() {
        findings.extend(warm_up_counted(subject));
        findings.extend(few_times(subject, summary));
    }
    findings.extend(not_opened(subject));
    findings.extend(lacked(subject));
    findings.extend(ConnectionReadings::of(subject).findings());
    findings.extend(descriptors(subject));
    findings.extend(cold_cache(subject));
    let saturation = if limit.busy(subject.subject).is_subject_bound() {
        Saturation::Saturated
    } else {
        Saturation::HadTime
    };
    findings.extend(strain(subject, saturation));
    findings.extend(not_resumed(summary, load));
    findings.extend(delayed(summary, load));
    findings.extend(missed(summary));
    findings.extend(pace(summary, pace_limits(subject, limit)));
    if load.settings.objective.is_some() {
        findings.retain(|finding| !is_of_overload(finding));
    }
    let under = findings
        .into_iter()
        .map(|finding| finding.under(&load.name));
    under.collect()
}

/// What limits figures of connections that say nothing: there are no slices.
fn of_connections(view: &OfferView) -> Vec<Finding> {
    let each = view.subjects.iter().flat_map(|subject| {
        let mut findings = Vec::from_iter(held::of_subject(subject));
        findings.extend(not_opened(subject));
        findings.extend(lacked(subject));
        findings.extend(ConnectionReadings::of(subject).findings());
        findings.extend(descriptors(subject));
        findings
    });
    each.map(|finding| finding.under(&view.load.name)).collect()
}

/// Whether one subject's echoes or responses wait for acknowledgements.
fn delayed(summary: &Summary, load: &LoadRecord) -> Option<Finding> {
    let echoes = Echoes {
        who: &summary.subject,
        exchange: &load.settings.exchange,
        arrivals: &load.settings.arrivals,
        service_p50_us: summary.service_time_us.p50,
        server_busy: summary.server_busy,
    };
    let parts = ResponseParts {
        who: &summary.subject,
        shape: load.settings.exchange.shape,
        phases: summary.phases.as_ref(),
        server_busy: summary.server_busy,
    };
    let found_finding = echoes.delayed().or_else(|| parts.delayed());
    found_finding.map(|finding| finding.about(&summary.subject))
}

/// Whether one subject's sessions were not resumed, as they should have been.
fn not_resumed(summary: &Summary, load: &LoadRecord) -> Option<Finding> {
    let tls = load.settings.tls.as_ref();
    tls.filter(|tls| tls.resumption)?;
    let found_finding = closes::not_resumed(&summary.subject, summary.handshakes_resumed?);
    found_finding.map(|finding| finding.about(&summary.subject))
}

/// Whether listeners of one subject miss broadcasts.
fn missed(summary: &Summary) -> Option<Finding> {
    let found_finding = listeners::missed(&summary.subject, summary.broadcasts.as_ref());
    found_finding.map(|finding| finding.about(&summary.subject))
}

fn summary<'a>(summaries: &'a [Summary], subject: &SubjectView) -> &'a Summary {
    let mut summaries = summaries.iter();
    let summary = summaries
        .find(|summary| summary.load == subject.load.name && summary.subject == subject.subject);
    summary.expect("each subject is described under each load")
}

/// What a rate above a subject's capacity is there to bring about. The
/// objective judges it; that the generator was the reason limits it as ever.
fn is_of_overload(finding: &Finding) -> bool {
    match finding.id {
        FindingId::TimesAtLeast => true,
        FindingId::FailedRequests
        | FindingId::StoppedResponding
        | FindingId::OfferedRateNotReached
        | FindingId::Queued => finding.level != Level::Bound,
        _ => false,
    }
}

/// How one subject's load kept its pace.
fn pace(summary: &Summary, limits: PaceLimits) -> Vec<Finding> {
    let unsent = summary.offered.map_or(0, |offered| offered.unsent);
    let pace = Pace {
        who: &summary.subject,
        offered: summary.offered,
        without_response: summary.outcomes.without_response().saturating_add(unsent),
        response: &summary.response_time_us,
        lateness: &summary.lateness_us,
        loop_lag: &summary.loop_lag_us,
        limits,
    };
    pace.findings()
        .map(|finding| finding.about(&summary.subject))
        .collect()
}

fn pace_limits(subject: &SubjectView, limit: &Bottleneck) -> PaceLimits {
    let sums = &subject.sums;
    let threads = subject.study.settings.threads.max(1) as u64;
    let capacity = sums
        .window_ns
        .saturating_mul(processors(subject.study) as u64);
    PaceLimits {
        is_subject_bound: limit.busy(subject.subject).is_subject_bound(),
        generator: share(sums.busiest_worker_ns, sums.wall_ns),
        wait: sums
            .generator_wait_ns
            .and_then(|wait| share(wait, sums.wall_ns.saturating_mul(threads))),
        steal: sums.steal_ns.and_then(|steal| share(steal, capacity)),
        paused: share(sums.paused_ns, sums.wall_ns),
    }
}

/// How many processors the study used.
fn processors(record: &Measured) -> usize {
    let mut cpus = record.settings.subject_cpus.clone();
    cpus.extend(&record.settings.generator_cpus);
    cpus.sort_unstable();
    cpus.dedup();
    cpus.len()
}

fn outcomes(subject_view: &SubjectView) -> Vec<Finding> {
    let (subject, sums) = (subject_view.subject, &subject_view.sums);
    let shape = subject_view.load.settings.exchange.shape;
    // A failure counts wherever in the slice its request began.
    let mut outcomes = sums.outcomes.clone();
    outcomes.merge(&sums.discarded);
    let statuses = subject_view.wrong_statuses();
    let failed = failures::failed_requests(subject, shape, &outcomes, &statuses, sums.hashed);
    failures::exhausted(&outcomes)
        .chain(failed)
        .chain(closes::not_kept(
            subject,
            sums.closing,
            outcomes.completed(),
        ))
        .chain(closes::resent(subject, &outcomes))
        .map(|finding| finding.about(subject))
        .collect()
}

/// Whether a subject left so much unanswered that it was not loaded any further, in the
/// pilot or in blocks.
fn stopped_responding(subject_view: &SubjectView) -> Option<Finding> {
    let subject = subject_view.subject;
    let finding = match subject_view.load.failure_in_pilot(subject) {
        Some(how) => {
            let message = format!("{subject} {how}; it was not measured");
            Some(Finding::new(FindingId::StoppedResponding, message))
        }
        None => {
            let stopped = |slice: &&SliceRecord| slice.stopped_responding;
            let warm_ups = subject_view.warm_ups().filter(stopped).count() as u64;
            let count = subject_view.sums.stopped_responding + warm_ups;
            let sums = [&subject_view.sums.outcomes, &subject_view.sums.discarded];
            let slices = sums.map(|outcomes| outcomes.count(Outcome::Timeout));
            let without_response = sum(subject_view.warm_ups().map(timeouts).chain(slices));
            failures::stopped_responding(
                subject,
                [count, subject_view.sums.slices + warm_ups],
                [
                    without_response,
                    subject_view.load.settings.connections.into(),
                ],
            )
        }
    };
    finding.map(|finding| finding.about(subject))
}

/// Requests of a slice that had no response in time, its uncounted part included.
fn timeouts(slice: &SliceRecord) -> u64 {
    let both = [&slice.outcomes, &slice.discarded];
    sum(both.map(|outcomes| outcomes.count(Outcome::Timeout)))
}

/// How subjects took turns, when not as asked.
fn turns(load: &LoadRecord) -> Option<Finding> {
    let pilot = load.pilot.as_ref()?;
    let reason = pilot.interleave_reason.as_ref()?;
    (pilot.interleave == Interleave::Trials).then(|| {
        Finding::new(
            FindingId::RanAsTrials,
            format!("each subject was loaded for one long period: {reason}"),
        )
        .under(&load.name)
    })
}

fn subject_findings(subject: &SubjectRecord) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !subject.is_kept() {
        findings.push(
            Finding::new(
                FindingId::NotRestarted,
                format!(
                    "{} was already running and was not restarted: the interval does not cover \
                     how its speed varies from start to start",
                    subject.name
                ),
            )
            .about(&subject.name),
        );
    }
    if runs_container(&subject.command) {
        let name = &subject.name;
        findings.push(
            Finding::new(
                FindingId::UnkeptContainer,
                format!(
                    "the command of {name} runs a container itself: its CPU time and memory may \
                     be those of the command alone"
                ),
            )
            .about(name),
        );
    }
    if let Some(meant) = &subject.stand_in_for {
        let name = &subject.name;
        findings.push(
            Finding::new(
                FindingId::StandIn,
                format!("{name} stands in for {meant}: results hold for {name} only"),
            )
            .about(name),
        );
    }
    findings
}

/// Findings about what comparisons rest on.
fn compared(record: &Measured) -> Vec<Finding> {
    let mut findings = Vec::new();
    let settings = &record.settings;
    let are_shared = settings
        .subject_cpus
        .iter()
        .any(|cpu| settings.generator_cpus.contains(cpu));
    if are_shared {
        findings.push(Finding::new(
            FindingId::SharedCpus,
            "subjects and generator shared CPUs: each took time from the other",
        ));
    }
    let blocks = record.complete_blocks().count();
    let fewest = blocks_for_verdict(record.is_ordered());
    if blocks < fewest {
        findings.push(Finding::new(
            FindingId::FewBlocks,
            format!("{blocks} blocks were measured, and a verdict needs {fewest}"),
        ));
    }
    findings
}

/// Findings about the study as a whole.
fn whole(record: &Measured) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(record.skipped.iter().map(|skipped_subject| {
        Finding::new(
            FindingId::Skipped,
            format!(
                "{} was not measured: it needs {}; results hold for the others only",
                skipped_subject.name, skipped_subject.needs
            ),
        )
        .with_remedy(&skipped_subject.how)
    }));
    findings.extend(services::died(record));
    findings.extend(of_fleet(record));
    match &record.end {
        StudyEnd::SubjectFailed { subject, how } => findings.push(
            Finding::new(
                FindingId::SubjectFailed,
                format!("{subject} could not go on: {how}"),
            )
            .about(subject),
        ),
        StudyEnd::ServiceFailed { how, .. } => findings.push(Finding::new(
            FindingId::ServiceFailed,
            format!("the study ended early: {how}"),
        )),
        StudyEnd::Failed { why } => findings.push(Finding::new(
            FindingId::StudyFailed,
            format!("the study ended early: {why}"),
        )),
        StudyEnd::Interrupted => findings.push(Finding::new(
            FindingId::Interrupted,
            "the measurement was stopped before it was complete",
        )),
        _ => {}
    }
    findings
}
