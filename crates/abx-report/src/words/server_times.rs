//! What subjects say of their own time, in `Server-Timing`: a table for each load.

use abx_evidence::{MeanInterval, StudyRecord};

use super::table::Table;
use super::units::{UNKNOWN, count, figure};
use super::wrap::clean_name;

/// What stands below the table.
pub(crate) const SERVER_TIMES_LEGEND: &str = "server timings: durations that subjects themselves \
     gave in the header Server-Timing of the responses that are verified: the mean over blocks, \
     and its interval. Below them, subject less baseline.";

/// A row for each name and subject under a load, then for each name and pair; `None` where no
/// subject gave any.
pub(crate) fn server_times_table(record: &StudyRecord, load: &str) -> Option<Table<4>> {
    let found = &record.conclusions;
    let times = found.server_times.iter().filter(|one| one.load == load);
    let times = times.map(|one| {
        let name = format!("{} of {}", clean_name(&one.name), clean_name(&one.subject));
        row(name, &one.us, count(one.count))
    });
    let pairs = found.server_time_differences.iter();
    let pairs = pairs.filter(|one| one.load == load).map(|one| {
        let [name, subject, baseline] =
            [&one.name, &one.subject, &one.baseline].map(|text| clean_name(text));
        row(
            format!("{name} of {subject} less {baseline}"),
            &one.us,
            UNKNOWN.to_owned(),
        )
    });
    let headers = ["server timing", "mean µs", "95 % interval", "responses"];
    let table = Table::new(headers, times.chain(pairs));
    (!table.rows.is_empty()).then_some(table)
}

fn row(name: String, us: &MeanInterval, responses: String) -> [String; 4] {
    let ends = us.low.zip(us.high);
    let interval = ends.map(|(low, high)| format!("{} to {}", figure(low), figure(high)));
    let interval = interval.unwrap_or_else(|| UNKNOWN.to_owned());
    [name, figure(us.mean), interval, responses]
}
