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
    let mut found: Vec<Finding> = each.collect();
    found.extend(frequency(record));
    found.extend(near_ceiling(record, summaries, ceilings));
    found.extend(of_faults(record));
    if record.is_comparison() {
        found.extend(record.subjects.iter().flat_map(subject_findings));
        found.extend(failures::failed_starts(record));
        found.extend(compared(record));
    }
    found.extend(whole(record));
    found
}

/// What limits figures of one load.
fn of_load(view: &OfferView, summaries: &[Summary]) -> Vec<Finding> {
    let load = view.load;
    let limit = Bottleneck::of(view);
    let is_saturating = load.settings.arrivals.is_saturating();
    let each = view.by_name().into_iter();
    let mut found: Vec<Finding> = each
        .flat_map(|own| match own.sums.slices {
            0 => Vec::from_iter(stopped_responding(own).map(|one| one.under(&load.name))),
            _ => of_subject(own, &limit, summary(summaries, own)),
        })
        .collect();
    let disturbances = machine(view);
    if is_saturating {
        found.extend(limit.beside_services(load, view.study.is_comparison()));
    }
    if is_saturating && disturbances.is_empty() {
        // Else a subject that wanted to run and could not would be taken for idle.
        found.extend(limit.notes(load));
    }
    found.extend(disturbances);
    found.extend(unread(view));
    if view.study.is_comparison() {
        found.extend(disturbed(view));
    } else if is_saturating {
        found.extend(limit.alone(load));
    }
    found.extend(varying(load));
    found.extend(responses_differ(view.study, load));
    found.extend(unsettled(view));
    found.extend(turns(load));
    found
}

/// What limits figures of one subject under one load.
fn of_subject(own: &SubjectView, limit: &Bottleneck, summary: &Summary) -> Vec<Finding> {
    let load = own.load;
    let mut found = outcomes(own);
    found.extend(stopped_responding(own));
    if load.settings.arrivals.is_saturating() {
        found.extend(little(own));
        found.extend(silent(own));
        found.extend(uneven(own));
        found.extend(never_steady(own));
    }
    if !own.study.is_comparison() {
        found.extend(warm_up_counted(own));
        found.extend(few_times(own, summary));
    }
    found.extend(not_opened(own));
    found.extend(lacked(own));
    found.extend(ConnectionReadings::of(own).findings());
    found.extend(descriptors(own));
    found.extend(cold_cache(own));
    let saturation = if limit.busy(own.subject).is_subject_bound() {
        Saturation::Saturated
    } else {
        Saturation::HadTime
    };
    found.extend(strain(own, saturation));
    found.extend(not_resumed(summary, load));
    found.extend(delayed(summary, load));
    found.extend(missed(summary));
    found.extend(pace(summary, pace_limits(own, limit)));
    if load.settings.objective.is_some() {
        found.retain(|finding| !is_of_overload(finding));
    }
    let under = found.into_iter().map(|finding| finding.under(&load.name));
    under.collect()
}

/// What limits figures of connections that say nothing: there are no slices.
fn of_connections(view: &OfferView) -> Vec<Finding> {
    let each = view.subjects.iter().flat_map(|own| {
        let mut found = Vec::from_iter(held::of_subject(own));
        found.extend(not_opened(own));
        found.extend(lacked(own));
        found.extend(ConnectionReadings::of(own).findings());
        found.extend(descriptors(own));
        found
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
    let found = echoes.delayed().or_else(|| parts.delayed());
    found.map(|finding| finding.about(&summary.subject))
}

/// Whether one subject's sessions were not resumed, as they should have been.
fn not_resumed(summary: &Summary, load: &LoadRecord) -> Option<Finding> {
    let tls = load.settings.tls.as_ref();
    tls.filter(|tls| tls.resumption)?;
    let found = closes::not_resumed(&summary.subject, summary.handshakes_resumed?);
    found.map(|finding| finding.about(&summary.subject))
}

/// Whether listeners of one subject miss broadcasts.
fn missed(summary: &Summary) -> Option<Finding> {
    let found = listeners::missed(&summary.subject, summary.broadcasts.as_ref());
    found.map(|finding| finding.about(&summary.subject))
}

fn summary<'a>(summaries: &'a [Summary], own: &SubjectView) -> &'a Summary {
    let mut summaries = summaries.iter();
    let own = summaries.find(|one| one.load == own.load.name && one.subject == own.subject);
    own.expect("each subject is described under each load")
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
        without_response: summary.outcomes.without_response() + unsent,
        response: &summary.response_time_us,
        lateness: &summary.lateness_us,
        loop_lag: &summary.loop_lag_us,
        limits,
    };
    pace.findings()
        .map(|finding| finding.about(&summary.subject))
        .collect()
}

fn pace_limits(own: &SubjectView, limit: &Bottleneck) -> PaceLimits {
    let sums = &own.sums;
    let threads = own.study.settings.threads.max(1) as u64;
    let capacity = sums.window_ns * processors(own.study) as u64;
    PaceLimits {
        is_subject_bound: limit.busy(own.subject).is_subject_bound(),
        generator: share(sums.busiest_worker_ns, sums.wall_ns),
        wait: sums
            .generator_wait_ns
            .and_then(|wait| share(wait, sums.wall_ns * threads)),
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

fn outcomes(own: &SubjectView) -> Vec<Finding> {
    let (subject, sums) = (own.subject, &own.sums);
    let shape = own.load.settings.exchange.shape;
    // A failure counts wherever in the slice its request began.
    let mut all = sums.outcomes.clone();
    all.merge(&sums.discarded);
    let statuses = own.wrong_statuses();
    let failed = failures::failed_requests(subject, shape, &all, &statuses, sums.hashed);
    failures::exhausted(&all)
        .chain(failed)
        .chain(closes::not_kept(subject, sums.closing, all.completed()))
        .chain(closes::resent(subject, &all))
        .map(|finding| finding.about(subject))
        .collect()
}

/// Whether a subject left so much unanswered that it was not loaded any further, in the
/// pilot or in blocks.
fn stopped_responding(own: &SubjectView) -> Option<Finding> {
    let subject = own.subject;
    let finding = match own.load.failure_in_pilot(subject) {
        Some(how) => {
            let message = format!("{subject} {how}; it was not measured");
            Some(Finding::new(FindingId::StoppedResponding, message))
        }
        None => {
            let stopped = |slice: &&SliceRecord| slice.stopped_responding;
            let warm_ups = own.warm_ups().filter(stopped).count() as u64;
            let count = own.sums.stopped_responding + warm_ups;
            let without_response = own.warm_ups().map(timeouts).sum::<u64>()
                + own.sums.outcomes.count(Outcome::Timeout)
                + own.sums.discarded.count(Outcome::Timeout);
            failures::stopped_responding(
                subject,
                [count, own.sums.slices + warm_ups],
                [without_response, own.load.settings.connections.into()],
            )
        }
    };
    finding.map(|finding| finding.about(subject))
}

/// Requests of a slice that had no response in time, its uncounted part included.
fn timeouts(slice: &SliceRecord) -> u64 {
    let both = [&slice.outcomes, &slice.discarded];
    both.map(|one| one.count(Outcome::Timeout)).iter().sum()
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
    let mut found = Vec::new();
    if !subject.is_kept() {
        found.push(
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
        found.push(
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
        found.push(
            Finding::new(
                FindingId::StandIn,
                format!("{name} stands in for {meant}: results hold for {name} only"),
            )
            .about(name),
        );
    }
    found
}

/// Findings about what comparisons rest on.
fn compared(record: &Measured) -> Vec<Finding> {
    let mut found = Vec::new();
    let settings = &record.settings;
    let are_shared = settings
        .subject_cpus
        .iter()
        .any(|cpu| settings.generator_cpus.contains(cpu));
    if are_shared {
        found.push(Finding::new(
            FindingId::SharedCpus,
            "subjects and generator shared CPUs: each took time from the other",
        ));
    }
    let blocks = record.complete_blocks().count();
    let fewest = blocks_for_verdict(record.is_ordered());
    if blocks < fewest {
        found.push(Finding::new(
            FindingId::FewBlocks,
            format!("{blocks} blocks were measured, and a verdict needs {fewest}"),
        ));
    }
    found
}

/// Findings about the study as a whole.
fn whole(record: &Measured) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(record.skipped.iter().map(|one| {
        Finding::new(
            FindingId::Skipped,
            format!(
                "{} was not measured: it needs {}; results hold for the others only",
                one.name, one.needs
            ),
        )
        .with_remedy(&one.how)
    }));
    found.extend(services::died(record));
    found.extend(of_fleet(record));
    match &record.end {
        StudyEnd::SubjectFailed { subject, how } => found.push(
            Finding::new(
                FindingId::SubjectFailed,
                format!("{subject} could not go on: {how}"),
            )
            .about(subject),
        ),
        StudyEnd::ServiceFailed { how, .. } => found.push(Finding::new(
            FindingId::ServiceFailed,
            format!("the study ended early: {how}"),
        )),
        StudyEnd::Failed { why } => found.push(Finding::new(
            FindingId::StudyFailed,
            format!("the study ended early: {why}"),
        )),
        StudyEnd::Interrupted => found.push(Finding::new(
            FindingId::Interrupted,
            "the measurement was stopped before it was complete",
        )),
        _ => {}
    }
    found
}
