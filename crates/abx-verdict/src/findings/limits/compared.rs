//! Which side limited the throughputs of one comparison.

use super::{generator_bound, service_bound};
use crate::findings::bottleneck::Bottleneck;
use crate::findings::prelude::*;

/// The finding that a service or the generator limited a comparison, given its ratio.
pub(crate) fn who_was_the_limit(
    limit: &Bottleneck,
    [subject, baseline]: [&str; 2],
    ratio: Option<f64>,
) -> Option<Finding> {
    let (faster, slower) = if ratio? >= 1.0 {
        (subject, baseline)
    } else {
        (baseline, subject)
    };
    let of_service = service_bound::between(limit, faster, slower);
    match of_service {
        Some(finding) if finding.level > Level::Note => Some(finding),
        other => generator_bound::between(limit, faster, slower).or(other),
    }
}
