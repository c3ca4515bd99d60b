//! All checks of reports: of each report alone, and of all together.

mod arithmetic;
mod figures;
mod generator;
mod impossible;
mod pairs;
mod quantiles;
mod responses;
mod runs;

use crate::finding::{AuditFinding, merged};
use crate::report::ToolReport;

pub(crate) use figures::{rounded, share};
pub(crate) use generator::in_flight;
pub(crate) use pairs::{DISTINGUISHED, QUIET, differ, ratio, runs};

/// All findings, the most severe first.
pub(crate) fn findings(reports: &[ToolReport]) -> Vec<AuditFinding> {
    let alone = reports.iter().flat_map(|report| {
        let checks = [
            responses::check(report),
            arithmetic::check(report),
            impossible::check(report),
            generator::check(report),
            runs::check(report),
            quantiles::check(report),
        ];
        checks.into_iter().flatten()
    });
    merged(alone.chain(pairs::check(reports)).collect())
}
