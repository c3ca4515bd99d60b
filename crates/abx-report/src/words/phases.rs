//! Where the time of requests goes, as tables of times in µs.

use abx_evidence::record::LoadRecord;
use abx_evidence::{Phase, PhaseTime, PhaseTimes, StudyRecord};

use super::load::alone;
use super::table::Table;
use super::units::{count, figure, or_unknown, whole_percent};
use super::verdict::place;
use super::wrap::clean_name;

/// A phase with its mean, its share and its quantiles.
pub(crate) fn cells(times: &PhaseTimes, phase: Phase) -> [String; 5] {
    let of = times.phase(phase);
    let share = of.p50_us.map(|_| times.share(phase));
    [
        phase.name().to_owned(),
        mean(of),
        or_unknown(share, whole_percent),
        or_unknown(of.p50_us, time),
        or_unknown(of.p99_us, time),
    ]
}

/// A time in µs, of which those below 1.5 are not told apart.
fn time(time_us: u64) -> String {
    match time_us {
        0 | 1 => "<2".to_owned(),
        _ => count(time_us),
    }
}

/// The mean, where any request had the phase.
fn mean(of: PhaseTime) -> String {
    or_unknown(of.p50_us.map(|_| of.mean_us), figure)
}

/// The same, each table with its heading.
pub(crate) fn telling(record: &StudyRecord) -> impl Iterator<Item = (String, Table<6>)> {
    alone(record).filter_map(|load| {
        let found = under(record, load);
        let is_telling = found.iter().any(|(_, times)| times.is_telling());
        is_telling.then(|| {
            let heading = format!(
                "Where the time goes {}, on average:",
                place(record, &load.name)
            );
            (heading, means(&found))
        })
    })
}

/// The subjects whose times were recorded under a load.
fn under<'a>(record: &'a StudyRecord, load: &'a LoadRecord) -> Vec<(&'a str, &'a PhaseTimes)> {
    let summaries = record.conclusions.under(&load.name);
    let known = summaries.filter_map(|one| Some((one.subject.as_str(), one.phases.as_ref()?)));
    known.collect()
}

fn means(found: &[(&str, &PhaseTimes)]) -> Table<6> {
    let row = |(subject, times): &(&str, &PhaseTimes)| {
        let [waiting, connect, first_byte, body] = Phase::ALL.map(|one| mean(times.phase(one)));
        let subject = clean_name(subject);
        let requests = count(times.requests);
        [subject, waiting, connect, first_byte, body, requests]
    };
    let [waiting, connect, first_byte, body] = Phase::ALL.map(|one| format!("{} µs", one.name()));
    Table::new(
        [
            "subject".to_owned(),
            waiting,
            connect,
            first_byte,
            body,
            "responses".to_owned(),
        ],
        found.iter().map(row),
    )
}

/// What the phases are.
pub(crate) const LEGEND: &str = "waiting: until the request is sent and earlier responses on its \
                                 connection are complete; connect: opening a connection for it; \
                                 first byte: until the first byte of the response; body: until \
                                 the last. -: no request had this phase, or too few for a p99.";
/// Stands where nothing was.
pub(crate) const NOT_RECORDED: &str = "Where the time goes: not recorded. It is timed for the responses that `--verify-every` \
     samples.";
