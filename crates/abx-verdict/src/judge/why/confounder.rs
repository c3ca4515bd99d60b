//! Differences between the responses of two subjects that cost CPU time by themselves.

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
    /// Bytes of bodies.
    BodyBytes,
    /// Bytes of everything else: heads, chunk sizes and framing.
    HeaderBytes,
    /// Connections that were opened.
    Connections,
}

/// The smallest difference in bytes that counts. It must also be this share of the larger number.
const BYTES_MIN: f64 = 8.0;
const SHARE_MIN: f64 = 0.005;
/// The smallest difference in connections per response that counts: one per thousand responses.
const CONNECTIONS_MIN: f64 = 0.001;

pub(super) fn confounders(sums: [&Sums; 2]) -> Vec<Confounder> {
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
    let body = per_response(|sums| sums.body_bytes).filter(differ_in_bytes);
    let header = per_response(|sums| sums.bytes.saturating_sub(sums.body_bytes));
    let header = header.filter(differ_in_bytes);
    let connections = per_response(|sums| sums.connects).filter(differ_in_connections);
    let kinds = [
        (ConfounderKind::BodyBytes, body),
        (ConfounderKind::HeaderBytes, header),
        (ConfounderKind::Connections, connections),
    ];
    let differing = kinds.into_iter().filter_map(|(what, per_response)| {
        Some(Confounder {
            what,
            per_response: per_response?,
        })
    });
    differing.collect()
}
