//! Faults in words: what is done, what it costs each subject, and who loses more.

use abx_evidence::record::{FaultAction, FaultRecord, Whom};
use abx_evidence::{FaultSummary, LostDifference, MeanInterval, StudyRecord, Verdict};

use super::load::arrivals;
use super::style::Style;
use super::table::Table;
use super::units::{UNKNOWN, figure, nanos, or_unknown, plural, seconds};
use super::verdict::{name, painted};
use super::wrap::clean_name;

/// What is done, when and under what.
pub(crate) fn heading(record: &StudyRecord, fault: &FaultRecord) -> String {
    let load = record.measured.load(&fault.load);
    let offer = load.map_or(String::new(), |load| {
        let connections = plural(load.settings.connections.into(), "connection");
        let rate = arrivals(&load.settings.arrivals).unwrap_or_default();
        format!(" ({connections}, {rate})")
    });
    format!(
        "After {}: {}, {} into slices of {}, under {}{offer}:",
        name(&fault.name),
        action(&fault.action),
        nanos(fault.at_ns),
        nanos(fault.within_ns),
        name(&fault.load)
    )
}

/// What is done.
pub(crate) fn action(action: &FaultAction) -> String {
    match action {
        FaultAction::Signal { signal, whom } => {
            let whom = match whom {
                Whom::Worker => "a random worker",
                Whom::Supervisor => "the supervisor",
                Whom::Tree => "every process",
            };
            format!("{} to {whom}", clean_name(signal))
        }
        FaultAction::Reload => "the configuration is reloaded".to_owned(),
        FaultAction::Restart => "the subject is stopped and started again".to_owned(),
    }
}

/// What one fault cost each subject.
pub(crate) fn fault_table(record: &StudyRecord, fault: &FaultRecord) -> Table<5> {
    let all = record.conclusions.faults.iter();
    let rows = all.filter(|one| one.fault == fault.name).map(|one| {
        let subject = clean_name(&one.subject);
        if one.left_out.is_some() {
            let word = match has_failed(fault, &one.subject) {
                true => "failed",
                false => "left out",
            };
            let [delayed, recovers, back] = [UNKNOWN; 3].map(str::to_owned);
            return [subject, word.to_owned(), delayed, recovers, back];
        }
        [
            subject,
            or_unknown(one.lost, |lost| mean(&lost)),
            or_unknown(one.delayed, requests),
            recovery(one, fault),
            format!("{} of {}", one.back, one.times),
        ]
    });
    Table::new(["subject", "lost", "delayed", "recovers in", "back"], rows)
}

fn has_failed(fault: &FaultRecord, subject: &str) -> bool {
    let mut all = fault.left_out.iter();
    all.any(|one| one.failed && one.subject == subject)
}

/// What the columns of that table mean.
pub(crate) const FAULT_LEGEND: &str = "lost: requests without a right response for each fault \
     (mean, 95% interval). delayed: those whose right response was late (mean). recovers in: from \
     the fault to the last request that was lost or delayed (geometric mean). back: after how many \
     faults as many processes ran as before.";

fn recovery(one: &FaultSummary, fault: &FaultRecord) -> String {
    match one.recovery_s {
        Some(span) => seconds(span),
        None if one.times == 0 => UNKNOWN.to_owned(),
        None => {
            let room = nanos(fault.within_ns.saturating_sub(fault.at_ns));
            let beyond = one.times - one.recovered;
            format!("not within {room} ({beyond} of {})", one.times)
        }
    }
}

/// A mean with its interval.
pub(crate) fn mean(one: &MeanInterval) -> String {
    match one.low.zip(one.high) {
        Some((low, high)) => {
            // Fewer than none cannot be lost.
            let ends = [one.mean, low.max(0.0), high].map(requests);
            let [mean, low, high] = ends;
            format!("{mean} ({low} to {high})")
        }
        None => requests(one.mean),
    }
}

/// A mean number of requests: to a tenth where there are few.
fn requests(mean: f64) -> String {
    match mean {
        0.0 => "0".to_owned(),
        few if few.abs() < 100.0 => format!("{few:.1}"),
        many => format!(
            "{}{}",
            if many < 0.0 { "-" } else { "" },
            figure(many.abs())
        ),
    }
}

/// By how many requests one subject loses more than another, in a sentence.
pub(crate) fn lost_sentence(one: &LostDifference, style: &Style) -> String {
    let [subject, baseline] = [&one.subject, &one.baseline].map(|text| name(text));
    let place = name(&one.fault);
    let MeanInterval { mean, low, high } = one.requests;
    let verdict = painted(one.verdict, style);
    let [low, high] = [low, high].map(|end| end.unwrap_or(mean));
    if [mean, low, high] == [0.0; 3] {
        return format!("{subject} and {baseline} lose equally many requests for each {place}.");
    }
    let (word, [center, low, high]) = match mean < 0.0 {
        true => ("fewer", [-mean, -high, -low]),
        false => ("more", [mean, low, high]),
    };
    let said = format!(
        "{subject} loses {} requests {word} than {baseline} ({} to {}) for each {place}",
        requests(center),
        requests(low),
        requests(high)
    );
    match one.verdict {
        Verdict::Less | Verdict::More => format!("{said}: {verdict}."),
        _ => format!("Cannot tell whether {said}: {verdict}."),
    }
}
