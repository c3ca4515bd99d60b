//! CPU time and memory of services while subjects were loaded: a table for each load.

use abx_verdict::{ServiceUse, Summary};

use crate::document::Table;
use crate::words::units::{bytes, figure, or_unknown, whole_percent};
use crate::words::wrap::clean_name;

pub(crate) const SERVICES_LEGEND: &str = "services: their CPU time per response of the subject \
     that was loaded, the share of the servers' CPUs that they used meanwhile, and their memory.";

/// A row for each service and subject; `None` without services.
pub(crate) fn services_table(summaries: &[&Summary]) -> Option<Table> {
    let row = |summary: &Summary, used: &ServiceUse| {
        [
            format!(
                "{} for {}",
                clean_name(&used.service),
                clean_name(&summary.subject)
            ),
            or_unknown(used.cpu_us_per_request, figure),
            or_unknown(used.busy, whole_percent),
            or_unknown(used.rss_bytes, |size| bytes(size as f64)),
        ]
    };
    let rows = summaries.iter().flat_map(|summary| {
        let services = summary.services.iter();
        services.map(move |used| row(summary, used))
    });
    let table = Table::new(["service", "CPU µs", "busy", "memory"], rows);
    (!table.rows.is_empty()).then_some(table)
}
