//! Differences between the responses of two subjects, which cost CPU time by themselves or were
//! paid for by services.

use abx_evidence::share;
use schemars::JsonSchema;
use serde::Serialize;

use crate::view::sums::Sums;

/// Something that differs between the responses of two subjects.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Confounder {
    pub what: ConfounderKind,
    /// The values of subject and baseline, per complete response.
    pub per_response: [f64; 2],
}

/// A possible difference between responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConfounderKind {
    /// Complete responses that failed a check.
    Failures,
    /// Bytes of bodies.
    BodyBytes,
    /// Bytes of everything else: heads, chunk sizes and framing.
    HeaderBytes,
    /// Connections that were opened.
    Connections,
    /// CPU time of all services, in µs, which that of the subjects does not include.
    ServiceCpu,
}

/// The smallest difference in bytes that counts. It must also be this share of the larger number.
const BYTES_MIN: f64 = 8.0;
const SHARE_MIN: f64 = 0.005;
/// The smallest difference in connections per response that counts: one per thousand responses.
const CONNECTIONS_MIN: f64 = 0.001;
/// The smallest difference in failures per response that counts.
const FAILURES_MIN: f64 = 0.005;
/// The smallest difference in the CPU time of services that counts: this share of the larger number,
/// and of the difference between the subjects.
const SERVICES_SHARE_MIN: f64 = 0.1;

/// `difference_us` is the difference of the subjects' own CPU time per response.
pub(super) fn confounders(sums: [&Sums; 2], difference_us: f64) -> Vec<Confounder> {
    let per_response = |count: fn(&Sums) -> u64| {
        let [subject, baseline] = sums.map(|sums| share(count(sums), sums.outcomes.completed()));
        Some([subject?, baseline?])
    };
    let differ_in_bytes = |[subject, baseline]: &[f64; 2]| {
        let difference = (subject - baseline).abs();
        difference >= BYTES_MIN && difference >= SHARE_MIN * subject.max(*baseline)
    };
    let differ_in_connections =
        |[subject, baseline]: &[f64; 2]| (subject - baseline).abs() >= CONNECTIONS_MIN;
    let failed = |sums: &Sums| sums.outcomes.completed().saturating_sub(sums.outcomes.ok());
    let failures = per_response(failed);
    let failures =
        failures.filter(|[subject, baseline]| (subject - baseline).abs() >= FAILURES_MIN);
    let body = per_response(|sums| sums.body_bytes).filter(differ_in_bytes);
    let header = per_response(|sums| sums.bytes.saturating_sub(sums.body_bytes));
    let header = header.filter(differ_in_bytes);
    // The CPU time of slices does not include connections that were opened between them.
    let connections = per_response(|sums| sums.connects_in_slices).filter(differ_in_connections);
    let services = services_us(sums).filter(|[subject, baseline]| {
        let compared = subject.max(*baseline).max(difference_us.abs());
        (subject - baseline).abs() >= SERVICES_SHARE_MIN * compared && compared > 0.0
    });
    let kinds = [
        (ConfounderKind::Failures, failures),
        (ConfounderKind::BodyBytes, body),
        (ConfounderKind::HeaderBytes, header),
        (ConfounderKind::Connections, connections),
        (ConfounderKind::ServiceCpu, services),
    ];
    let differing = kinds.into_iter().filter_map(|(what, per_response)| {
        Some(Confounder {
            what,
            per_response: per_response?,
        })
    });
    differing.collect()
}

/// CPU time of all services per response of each subject, in µs.
fn services_us(sums: [&Sums; 2]) -> Option<[f64; 2]> {
    let [subject, baseline] = sums.map(|sums| {
        let ns = share(sums.all_services_cpu_ns()?, sums.all_completed())?;
        Some(ns / 1e3)
    });
    Some([subject?, baseline?])
}
