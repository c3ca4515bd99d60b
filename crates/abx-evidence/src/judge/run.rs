//! A run, read for what limits its figures.

use crate::findings::acknowledgements::Echoes;
use crate::findings::held::not_held;
use crate::findings::listeners::missed;
use crate::findings::pace::{Pace, PaceLimits};
use crate::findings::{GENERATOR_BUSY, SUBJECT_BUSY, failures};
use crate::measure::share::share;
use crate::measure::tally::SliceTally;
use crate::record::finding::Finding;
use crate::record::finding_id::FindingId;
use crate::record::run::RunRecord;

/// Reads a run for what limits its figures.
#[must_use]
pub fn judge_run(record: &RunRecord, slice: &SliceTally) -> Vec<Finding> {
    let outcomes = &record.requests.outcomes;
    let mut found: Vec<Finding> = failures::exhausted(outcomes).collect();
    found.extend(failures::failed_requests(
        &record.settings.url,
        record.settings.exchange.shape,
        outcomes,
        record.requests.hashed,
    ));
    found.extend(failures::stopped_answering(
        &record.settings.url,
        u64::from(slice.stopped_answering),
        1,
    ));
    let server_is_busy = record.server.as_ref().is_some_and(|side| {
        let all = side.busy / record.machine.cpus.max(1) as f64;
        all.max(side.busiest_thread.unwrap_or_default()) >= SUBJECT_BUSY
    });
    let threads = record.settings.threads.max(1) as u64;
    let wait = slice
        .generator_wait_ns
        .and_then(|wait| share(wait, slice.wall_ns * threads));
    let generator_busy = record.generator.busy + wait.unwrap_or_default();
    found.extend(pace(record, slice, server_is_busy, wait));
    found.extend(not_held(&record.settings.url, record.held.into_iter()));
    found.extend(delayed(record));
    found.extend(missed(&record.settings.url, record.broadcasts.as_ref()));
    // Who thinks or asks for a rate does not ask for all that there is.
    let is_saturating = record.settings.arrivals.is_saturating();
    if is_saturating && generator_busy >= GENERATOR_BUSY && !server_is_busy {
        found.push(Finding::new(
            FindingId::GeneratorBound,
            format!(
                "the generator used or waited for {:.0} % of its processor: the server may be able \
                 to answer more",
                100.0 * generator_busy
            ),
        )
        .with_remedy("add a thread (`-t`) on a processor of its own"));
    }
    if record.answer.sha256.is_none() {
        found.push(
            Finding::new(
                FindingId::BodyVaries,
                "bodies differ from answer to answer: only the status was checked",
            )
            .with_remedy("ask for a path whose answer is always the same"),
        );
    }
    if record.server.is_none() {
        found.push(Finding::new(
            FindingId::NotChecked,
            "the server's processor time and memory were not checked: no process of this machine \
             that we may look at listens there",
        )
        .with_remedy("run on the server's machine, as the same user"));
    }
    if record.interrupted {
        found.push(
            Finding::new(FindingId::Interrupted, "the run was stopped before its end")
                .with_remedy("let it run to its end"),
        );
    }
    found.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    found
}

fn delayed(record: &RunRecord) -> Option<Finding> {
    let echoes = Echoes {
        who: &record.settings.url,
        exchange: &record.settings.exchange,
        arrivals: &record.settings.arrivals,
        service_p50_us: record.service_time_us.p50,
        server_busy: record.server.as_ref().map(|server| server.busy),
    };
    echoes.delayed()
}

fn pace(
    record: &RunRecord,
    slice: &SliceTally,
    is_subject_bound: bool,
    wait: Option<f64>,
) -> Vec<Finding> {
    let unanswered = record.requests.outcomes.unanswered() + slice.tally.unsent;
    let pace = Pace {
        who: &record.settings.url,
        offered: record.offered,
        unanswered,
        response: &record.response_time_us,
        lateness: &record.generator.lateness_us,
        loop_lag: &record.generator.loop_lag_us,
        limits: PaceLimits {
            is_subject_bound,
            generator: Some(record.generator.busy),
            wait,
            steal: None,
        },
    };
    pace.findings().collect()
}
