//! Faults in words: what is done, what it costs each subject, and who loses more.

use abx_evidence::record::{FaultAction, FaultRecord, Whom};
use abx_evidence::{
    FaultMoment, FaultSummary, LostDifference, MeanInterval, StudyRecord, fault_course,
};

use crate::document::{Document, Table};
use crate::html::charts::{
    Plot, PlotAxis, PlotCaption, PlotPoint, Scale, Stroke, Subjects, plain, share_text,
};
use crate::html::markup::{CaptionedFigure, Markup, note};
use crate::words::load::arrivals;
use crate::words::style::Style;
use crate::words::units::{GLUE, NO_INTERVAL, UNKNOWN, figure, nanos, or_unknown, plural, seconds};
use crate::words::verdict::{TOO_FEW_BLOCKS, name, painted, tint};
use crate::words::wrap::clean_name;

fn heading(record: &StudyRecord, fault: &FaultRecord) -> String {
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

fn action(action: &FaultAction) -> String {
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

fn fault_table(record: &StudyRecord, fault: &FaultRecord) -> Table {
    let all = record.conclusions.faults.iter();
    let rows = all.filter(|one| one.fault == fault.name).map(|one| {
        let subject = clean_name(&one.subject);
        if one.left_out.is_some() {
            let word = if has_failed(fault, &one.subject) {
                "failed"
            } else {
                "left out"
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

fn fault_legend(record: &StudyRecord) -> String {
    let mut all = record.conclusions.faults.iter();
    let is_cut = all.any(|one| one.lost.and_then(|lost| lost.low) < Some(0.0));
    let cut = if is_cut {
        "; an end below 0 is given as 0"
    } else {
        ""
    };
    format!(
        "lost: requests without a right response for each fault (mean, 95{GLUE}% interval{cut}). \
         delayed: those whose right response was late (mean). recovers in: from the fault to the \
         last request that was lost or delayed (geometric mean). back: after how many faults as \
         many processes ran as before."
    )
}

fn recovery(one: &FaultSummary, fault: &FaultRecord) -> String {
    match one.recovery_s {
        // Before the next request, each time.
        Some(span) if one.unfelt == one.times => format!("at most {}", seconds(span)),
        Some(span) => seconds(span),
        None if one.times == 0 => UNKNOWN.to_owned(),
        None => {
            let room = nanos(fault.within_ns.saturating_sub(fault.at_ns));
            let beyond = one.times - one.recovered;
            format!("not within {room} ({beyond} of {})", one.times)
        }
    }
}

fn mean(one: &MeanInterval) -> String {
    match one.low.zip(one.high) {
        Some((low, high)) => {
            // Fewer than none cannot be lost; the legend says that this is cut.
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
fn lost_sentence(one: &LostDifference, style: &Style) -> String {
    let [subject, baseline] = [&one.subject, &one.baseline].map(|text| name(text));
    let place = name(&one.fault);
    let MeanInterval { mean, low, high } = one.requests;
    let verdict = if one.too_few_blocks {
        style.paint(TOO_FEW_BLOCKS, tint(one.verdict))
    } else {
        painted(one.verdict, style)
    };
    let blocks = plural(one.blocks as u64, "block");
    let ends = low.zip(high);
    if (mean, ends) == (0.0, Some((0.0, 0.0))) {
        return format!(
            "Neither {subject} nor {baseline} lost more requests than the other after {place} in \
             any of {blocks}: {verdict}."
        );
    }
    let (word, ends) = if mean < 0.0 {
        ("fewer", ends.map(|(low, high)| [-high, -low]))
    } else {
        ("more", ends.map(|(low, high)| [low, high]))
    };
    let interval = match ends.map(|ends| ends.map(requests)) {
        Some([low, high]) => format!("({low} to {high})"),
        None => format!("in {blocks}, {NO_INTERVAL},"),
    };
    let is_open = !one.verdict.is_directed();
    let size = requests(mean.abs());
    if is_open && ["0", "0.0"].contains(&size.as_str()) {
        return format!(
            "Cannot tell whether {subject} or {baseline} loses more requests for each {place}: \
             the difference is 0 {interval}: {verdict}."
        );
    }
    let said = format!(
        "{subject} loses {size} requests {word} than {baseline} {interval} for each {place}"
    );
    if is_open {
        format!("Cannot tell whether {said}: {verdict}.")
    } else {
        format!("{said}: {verdict}.")
    }
}

/// What one fault cost, and who lost more.
fn of_fault(record: &StudyRecord, fault: &FaultRecord, style: &Style) -> Document {
    let heading = heading(record, fault);
    let table = fault_table(record, fault).captioned(&heading);
    let mut out = Document::default();
    out.heading(heading);
    out.table(Some(table), "");
    let lost = record.conclusions.lost_to_faults.iter();
    for one in lost.filter(|one| one.fault == fault.name) {
        out.paragraph(lost_sentence(one, style));
    }
    out
}

/// Every fault; empty without any.
pub(crate) fn faults_text(record: &StudyRecord, style: &Style) -> String {
    if record.measured.faults.is_empty() || record.conclusions.faults.is_empty() {
        return String::new();
    }
    let faults = record.measured.faults.iter();
    let mut out = Document::joined(faults.map(|fault| of_fault(record, fault, style)));
    out.note(fault_legend(record));
    out.text(style)
}

/// A picture and a table for each fault; empty without any.
pub(crate) fn faults_html(record: &StudyRecord, subjects: &Subjects) -> Markup {
    let mut out = Markup::new();
    for (number, fault) in record.measured.faults.iter().enumerate() {
        let picture = picture(record, (number, fault), subjects);
        out.push_all(picture.map(CaptionedFigure::markup));
        out.push(of_fault(record, fault, &Style::plain()).html());
    }
    if !out.is_empty() {
        out.push(note(&fault_legend(record)));
    }
    out
}

/// The share of requests with a correct response in time around a fault.
fn picture(
    record: &StudyRecord,
    (number, fault): (usize, &FaultRecord),
    subjects: &Subjects,
) -> Option<CaptionedFigure> {
    let interval_ns = (fault.within_ns / INTERVALS).max(1);
    let course = |subject| fault_course(&record.measured, fault, subject, interval_ns);
    let courses = subjects
        .iter()
        .map(|(place, subject)| (place, course(subject)));
    let courses: Vec<(usize, Vec<FaultMoment>)> =
        courses.filter(|(_, course)| course.len() > 1).collect();
    let moments = || courses.iter().flat_map(|(_, course)| course);
    let first = moments().map(|one| one.since_ns).min()?;
    let last = moments().map(|one| one.since_ns).max()?;
    let at = name(&fault.name);
    let caption = PlotCaption {
        id: format!("fault-{number}"),
        title: format!("Requests answered in time around {at}"),
        description: format!(
            "The share of the requests due that had a right response in time, by when they were \
             due, before and after {at}, by subject."
        ),
    };
    let [low, high] = [first, last].map(|ns| ns as f64 / 1e9);
    let x = PlotAxis::new(
        "s from the fault to when requests were due",
        Scale::linear(low, high),
        8,
        plain,
    );
    let label = "requests answered rightly and in time";
    let y = PlotAxis::new(label, Scale::linear(0.0, 1.0), 5, share_text);
    let mut plot = Plot::new(caption, [x, y], 200.0);
    plot.rule_x("even", 0.0);
    for (place, course) in &courses {
        let points = course.iter().map(|one| PlotPoint {
            x: one.since_ns as f64 / 1e9,
            y: one.in_time,
        });
        plot.curve(*place, Stroke::Solid, &points.collect::<Vec<_>>());
    }
    let rows = courses.iter().flat_map(|(place, course)| {
        let subject = subjects.iter().find(|(number, _)| number == place);
        let subject = subject.map_or(String::new(), |(_, subject)| name(subject));
        let disturbed = course.iter().filter(|one| one.in_time < 1.0);
        disturbed.map(move |one| {
            vec![
                subject.clone(),
                format!("{:.2}", one.since_ns as f64 / 1e9),
                share_text(one.in_time),
                share_text(one.failed),
            ]
        })
    });
    let headers = ["subject", "s from the fault", "in time", "lost"];
    let table = Table::new(headers, rows.collect::<Vec<_>>()).captioned(format!(
        "Stretches around {at} with lost or delayed requests"
    ));
    Some(CaptionedFigure {
        title: Some(format!("Around {at}")),
        legend: subjects.legend(courses.iter().map(|(place, _)| *place)),
        body: plot.svg(),
        note: "Median over blocks; the vertical line is the fault. What is missing to the top was \
               lost or delayed."
            .to_owned(),
        table: Some(table),
    })
}

const INTERVALS: u64 = 120;

#[cfg(test)]
mod tests {
    use abx_evidence::Verdict;

    use super::*;

    #[test]
    fn what_is_open_is_never_told_as_equal() {
        // Method: no difference in any block, one of nothing on average, one that is open and
        // one that is not, and a single block.
        let told = |requests, verdict| {
            let MeanInterval { mean, low, high } = requests;
            let one = LostDifference {
                fault: "crash".to_owned(),
                subject: "a".to_owned(),
                baseline: "b".to_owned(),
                requests: MeanInterval { mean, low, high },
                confidence: 0.97,
                blocks: if low.is_none() { 1 } else { 6 },
                verdict,
                too_few_blocks: low.is_none(),
            };
            lost_sentence(&one, &Style::plain())
        };
        let with = |mean, low, high| MeanInterval {
            mean,
            low: Some(low),
            high: Some(high),
        };
        let open = Verdict::Inconclusive;
        assert_eq!(
            told(with(0.0, 0.0, 0.0), open),
            "Neither a nor b lost more requests than the other after crash in any of 6 blocks: \
             inconclusive."
        );
        assert_eq!(
            told(with(0.0, -0.8, 0.8), open),
            "Cannot tell whether a or b loses more requests for each crash: the difference is 0 \
             (-0.8 to 0.8): inconclusive."
        );
        assert_eq!(
            told(with(-0.7, -2.2, 0.8), open),
            "Cannot tell whether a loses 0.7 requests fewer than b (-0.8 to 2.2) for each crash: \
             inconclusive."
        );
        assert_eq!(
            told(with(4.2, 3.0, 5.4), Verdict::More),
            "a loses 4.2 requests more than b (3.0 to 5.4) for each crash: more."
        );
        let single = MeanInterval {
            mean: 2.0,
            low: None,
            high: None,
        };
        assert_eq!(
            told(single, open),
            "Cannot tell whether a loses 2.0 requests more than b in 1 block, no interval yet, \
             for each crash: too few blocks."
        );
    }

    #[test]
    fn a_recovery_that_nobody_saw_is_at_most_what_is_said() {
        // Method: felt in one fault of six, in none, and beyond the slice in one.
        let fault = FaultRecord {
            name: "crash".to_owned(),
            load: "steady".to_owned(),
            action: FaultAction::Restart,
            at_ns: 500_000_000,
            within_ns: 3_500_000_000,
            delayed_after_ns: 100_000_000,
            left_out: Vec::new(),
        };
        let told = |unfelt, recovered| {
            let one = FaultSummary {
                fault: "crash".to_owned(),
                subject: "a".to_owned(),
                left_out: None,
                times: 6,
                lost: None,
                delayed: None,
                recovery_s: (recovered == 6).then_some(0.001),
                recovered,
                back: 6,
                unfelt,
            };
            recovery(&one, &fault).replace('\u{a0}', " ")
        };
        assert_eq!(told(5, 6), "1 ms");
        assert_eq!(told(6, 6), "at most 1 ms");
        assert_eq!(told(5, 5), "not within 3 s (1 of 6)");
    }
}
