//! What else differs between the responses of two subjects.

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

/// Responses that differ by so many bytes, or by such a share of the more, differ.
const BYTES_MIN: f64 = 8.0;
const SHARE_MIN: f64 = 0.005;
/// Connections per response that are worth a word: one for a thousand responses.
const CONNECTIONS_MIN: f64 = 0.001;

pub(super) fn confounders(sums: [&Sums; 2]) -> Vec<Confounder> {
    let per_response = |count: fn(&Sums) -> u64| {
        let each = sums.map(|sums| share(count(sums), sums.outcomes.completed()));
        Some([each[0]?, each[1]?])
    };
    let of_bytes = |[one, other]: &[f64; 2]| {
        let apart = (one - other).abs();
        apart >= BYTES_MIN && apart >= SHARE_MIN * one.max(*other)
    };
    let of_connections = |[one, other]: &[f64; 2]| (one - other).abs() >= CONNECTIONS_MIN;
    let body = per_response(|sums| sums.body_bytes).filter(of_bytes);
    let header = per_response(|sums| sums.bytes.saturating_sub(sums.body_bytes)).filter(of_bytes);
    let connections = per_response(|sums| sums.connects).filter(of_connections);
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
