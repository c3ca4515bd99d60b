//! Faults: the action, its cost for each subject, and which subject loses more requests.

use abx_evidence::record::{FaultAction, FaultRecord, Whom};
use abx_verdict::{
    FaultMoment, FaultSummary, LostDifference, MeanInterval, StudyRecord, Verdict, fault_course,
};

use crate::document::{
    CaptionedFigure, CellDetail, Document, Matrix, MatrixHeader, MatrixRow, Table,
};
use crate::html::charts::{
    Plot, PlotAxis, PlotCaption, PlotPoint, Scale, Stroke, Subjects, plain, share_text,
};
use crate::words::load::arrivals;
use crate::words::ratio::Further;
use crate::words::style::{ReportExtent, Style, mark};
use crate::words::units::{
    GLUE, NO_INTERVAL, UNKNOWN, figure, nanos, or_unknown, plural, seconds, whole_percent,
};
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
    let row = |summary: &FaultSummary| {
        let subject = clean_name(&summary.subject);
        if summary.left_out.is_some() {
            let word = left_out(summary, fault);
            let [delayed, recovers, back] = [UNKNOWN; 3].map(str::to_owned);
            return [subject, word.to_owned(), delayed, recovers, back];
        }
        [
            subject,
            or_unknown(summary.lost, |lost| mean(&lost, summary.due)),
            or_unknown(summary.delayed, requests),
            recovery(summary, fault),
            format!("{} of {}", summary.back, summary.times),
        ]
    };
    let summaries = record.conclusions.faults.iter();
    let rows = summaries.filter(|summary| summary.fault == fault.name);
    let headers = ["subject", "lost", "delayed", "recovers in", "back"];
    Table::new(headers, rows.map(row))
}

/// Why a subject has no figures.
fn left_out(summary: &FaultSummary, fault: &FaultRecord) -> &'static str {
    let mut subjects = fault.left_out.iter();
    let has_failed =
        subjects.any(|left_out| left_out.failed && left_out.subject == summary.subject);
    if has_failed { "failed" } else { "left out" }
}

fn fault_legend(record: &StudyRecord) -> String {
    let cut = cut_ends(&record.conclusions.faults);
    format!(
        "lost: requests without a correct response per fault (mean, 95{GLUE}% interval{cut}). \
         delayed: correct responses that were late (mean). recovers in: from the fault to the \
         last lost or delayed request (geometric mean). back: faults after which all processes \
         ran again."
    )
}

/// Remarks on the cuts of intervals of lost requests, at zero and at the requests due; empty if
/// there are none.
fn cut_ends(summaries: &[FaultSummary]) -> String {
    let any = |is_cut: &dyn Fn(&FaultSummary, &MeanInterval) -> bool| {
        let mut summaries = summaries.iter();
        summaries.any(|summary| summary.lost.is_some_and(|lost| is_cut(summary, &lost)))
    };
    let below = any(&|_, lost| lost.low.is_some_and(|low| low < 0.0));
    let beyond = any(&|summary, lost| {
        let ends = lost.high.zip(summary.due);
        ends.is_some_and(|(high, due)| high > due)
    });
    let cuts = [
        (below, "; cut at 0"),
        (beyond, "; cut at the number of requests due"),
    ];
    let cuts = cuts.into_iter().filter(|(is_cut, _)| *is_cut);
    cuts.map(|(_, text)| text).collect()
}

fn recovery(summary: &FaultSummary, fault: &FaultRecord) -> String {
    match summary.recovery_s {
        // At least one recovery was complete before the next request was due.
        Some(span) if summary.unseen > 0 => {
            format!("at most {}", seconds(span))
        }
        Some(span) => seconds(span),
        None if summary.times == 0 => UNKNOWN.to_owned(),
        None => {
            let room = nanos(fault.within_ns.saturating_sub(fault.at_ns));
            let beyond = summary.times - summary.recovered;
            format!("not within {room} ({beyond} of {})", summary.times)
        }
    }
}

/// The mean number of lost requests with its interval. No request is lost that was not due.
fn mean(lost: &MeanInterval, due: Option<f64>) -> String {
    match lost.low.zip(lost.high) {
        Some((low, high)) => {
            // The interval is cut at zero and at the requests due; the legend states that.
            let high = due.map_or(high, |due| high.min(due));
            let [mean, low, high] = [lost.mean, low.max(0.0), high].map(requests);
            if low == high {
                return mean;
            }
            format!("{mean} ({low} to {high})")
        }
        None => requests(lost.mean),
    }
}

/// A mean number of requests, to a tenth below 100.
fn requests(mean: f64) -> String {
    let sign = if mean < 0.0 { "\u{2212}" } else { "" };
    match mean.abs() {
        0.0 => "0".to_owned(),
        few if few < 100.0 => format!("{sign}{few:.1}"),
        many => format!("{sign}{}", figure(many)),
    }
}

/// How many more requests one subject loses than another, in a sentence.
fn lost_sentence(difference: &LostDifference, style: &Style) -> String {
    let [subject, baseline] = [&difference.subject, &difference.baseline].map(|text| name(text));
    let place = name(&difference.fault);
    let MeanInterval { mean, low, high } = difference.requests;
    let verdict = if difference.too_few_blocks {
        style.paint(TOO_FEW_BLOCKS, tint(difference.verdict))
    } else {
        painted(difference.verdict, style)
    };
    let blocks = plural(difference.blocks as u64, "block");
    let ends = low.zip(high);
    if (mean, ends) == (0.0, Some((0.0, 0.0))) {
        return format!(
            "{subject} and {baseline} lost the same number of requests after {place} in each of \
             {blocks}: {verdict}."
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
    let is_open = !difference.verdict.is_directed();
    let size = requests(mean.abs());
    if is_open && ["0", "0.0"].contains(&size.as_str()) {
        return format!(
            "{subject} and {baseline} lose the same number of requests per {place} on average \
             {interval}: {verdict}."
        );
    }
    format!(
        "{subject} loses {size} {word} requests than {baseline} {interval} per {place}: {verdict}."
    )
}

/// The costs of one fault, and which subject lost more requests.
fn of_fault(
    record: &StudyRecord,
    fault: &FaultRecord,
    extent: ReportExtent,
    style: &Style,
) -> Document {
    let heading = heading(record, fault);
    let table = fault_table(record, fault).captioned(&heading);
    let mut out = Document::default();
    out.heading(heading);
    out.table(Some(table), "");
    let lost = record.conclusions.lost_to_faults.iter();
    let lost = lost.filter(|difference| difference.fault == fault.name);
    let is_shown = |difference: &&LostDifference| {
        extent == ReportExtent::Full || difference.verdict.is_directed()
    };
    for difference in lost.filter(is_shown) {
        out.paragraph(lost_sentence(difference, style));
    }
    out
}

/// Every fault, on a page with a plot; nothing without faults. Only the full extent has undecided
/// losses.
pub(crate) fn faults(record: &StudyRecord, extent: ReportExtent, style: &Style) -> Document {
    let measured = &record.measured;
    if measured.faults.is_empty() || record.conclusions.faults.is_empty() {
        return Document::default();
    }
    let subjects = Subjects::of(record);
    let faults = measured.faults.iter().enumerate().map(|(number, fault)| {
        let mut out = Document::default();
        let picture = picture(record, (number, fault), &subjects);
        out.figures(picture.into_iter().collect());
        out.append(of_fault(record, fault, extent, style));
        out
    });
    Document::joined(faults).explained(&fault_legend(record))
}

/// A single fault as in [`faults`]; of several, the costs in one table that fits on a screen.
pub(crate) fn faults_briefly(record: &StudyRecord, style: &Style) -> Document {
    let measured_faults = &record.measured.faults;
    if measured_faults.len() < 2 || record.conclusions.faults.is_empty() {
        return faults(record, ReportExtent::Brief, style);
    }
    let cell = |fault: &FaultRecord, subject: &str| {
        let mut summaries = record.conclusions.faults.iter();
        let summary = summaries.find(|other| other.fault == fault.name && other.subject == subject);
        summary.map_or(String::new(), |summary| {
            let mut lost = record.conclusions.lost_to_faults.iter();
            let lost = lost.find(|lost| lost.fault == fault.name && lost.subject == subject);
            let verdict = lost.map(|lost| lost.verdict);
            cost((summary, verdict), fault, style)
        })
    };
    let subjects = record.measured.subjects.iter();
    let rows = subjects.map(|subject| {
        let cells = measured_faults.iter();
        let cells = cells.map(|fault| cell(fault, &subject.name));
        MatrixRow::of_figures(name(&subject.name), cells)
    });
    let names = measured_faults.iter().map(|fault| name(&fault.name));
    let mut out = Document::default();
    out.heading(COSTS);
    out.append(Document::from(Matrix {
        caption: COSTS.to_owned(),
        headers: names.map(MatrixHeader::named).collect(),
        rows: rows.collect(),
        legend: costs_legend(record),
        detail: CellDetail::Whole,
    }));
    out
}

/// The cost of a fault for a subject: `4.2▼, 8 ms`, with the mark of its verdict, and a star if
/// processes were missing.
fn cost(
    (summary, verdict): (&FaultSummary, Option<Verdict>),
    fault: &FaultRecord,
    style: &Style,
) -> String {
    if summary.left_out.is_some() {
        return left_out(summary, fault).to_owned();
    }
    let lost = or_unknown(summary.lost, |lost| requests(lost.mean));
    let lost = lost.trim_end_matches(".0");
    let verdict = verdict.filter(|verdict| verdict.is_directed());
    let verdict = verdict.map_or("", mark);
    let recovery = match summary.recovery_s {
        Some(span) if summary.unseen > 0 => {
            format!("{}{}", Further::AtMost.sign(style), seconds(span))
        }
        Some(span) => seconds(span),
        None if summary.times == 0 => return UNKNOWN.to_owned(),
        None => format!(">{}", nanos(fault.within_ns.saturating_sub(fault.at_ns))),
    };
    let star = if summary.back < summary.times {
        "*"
    } else {
        ""
    };
    format!("{lost}{verdict}, {recovery}{star}")
}

/// The action of each fault, and the meanings of marks and of the star.
fn costs_legend(record: &StudyRecord) -> String {
    let faults = record.measured.faults.iter();
    let actions = faults.map(|fault| format!("{}: {}", name(&fault.name), action(&fault.action)));
    let mut summaries = record.conclusions.faults.iter();
    let is_missing =
        |summary: &FaultSummary| summary.left_out.is_none() && summary.back < summary.times;
    let star = if summaries.any(is_missing) {
        "; * not all processes ran again each time"
    } else {
        ""
    };
    let mut lost = record.conclusions.lost_to_faults.iter();
    let marks = if lost.any(|lost| lost.verdict.is_directed()) {
        "; ▲ fewer, ▼ more requests lost than by the baseline"
    } else {
        ""
    };
    format!("{}{marks}{star}.", actions.collect::<Vec<_>>().join("; "))
}

/// A plot of the share of requests with a correct response in time around a fault.
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
    let first = moments().map(|moment| moment.since_ns).min()?;
    let last = moments().map(|moment| moment.since_ns).max()?;
    let at = name(&fault.name);
    let caption = PlotCaption {
        id: format!("fault-{number}"),
        title: format!("Requests served in time around {at}"),
        description: format!(
            "The share of the requests due that had a correct response in time, by due time \
             before and after {at}, by subject."
        ),
    };
    let [low, high] = [first, last].map(|ns| ns as f64 / 1e9);
    let x = PlotAxis::new(
        "due time of requests after the fault, s",
        Scale::linear(low, high),
        8,
        plain,
    );
    let label = "requests with a correct response in time";
    let y = PlotAxis::new(label, Scale::linear(0.0, 1.0), 5, share_text);
    let mut plot = Plot::new(caption, [x, y], 200.0);
    plot.rule_x("even", 0.0);
    for (place, course) in &courses {
        let points = course.iter().map(|moment| PlotPoint {
            x: moment.since_ns as f64 / 1e9,
            y: moment.in_time,
        });
        plot.curve(*place, Stroke::Solid, &points.collect::<Vec<_>>());
    }
    let rows = courses.iter().flat_map(|(place, course)| {
        let subject = subjects.iter().find(|(number, _)| number == place);
        let subject = subject.map_or(String::new(), |(_, subject)| name(subject));
        let disturbed = course.iter().filter(|moment| moment.in_time < 1.0);
        disturbed.map(move |moment| {
            vec![
                subject.clone(),
                format!("{:.2}", moment.since_ns as f64 / 1e9),
                whole_percent(moment.in_time),
                whole_percent(moment.failed),
            ]
        })
    });
    let headers = ["subject", "s from the fault", "in time", "lost"];
    let table = Table::new(headers, rows.collect::<Vec<_>>())
        .captioned(format!("Periods around {at} with lost or delayed requests"));
    Some(CaptionedFigure {
        title: Some(format!("Around {at}")),
        legend: subjects.legend(courses.iter().map(|(place, _)| *place)),
        body: plot.svg(),
        note: "Median over blocks; the vertical line is the fault. The rest up to the top was \
               lost or delayed."
            .to_owned(),
        table: Some(table),
    })
}

const INTERVALS: u64 = 120;
const COSTS: &str = "Requests lost per fault, and the time to recover:";

#[cfg(test)]
mod tests {
    use abx_verdict::Verdict;

    use super::*;

    #[test]
    fn an_undecided_difference_of_losses_is_never_reported_as_equal() {
        // Method: no difference in any block, none on average, an undecided and a decided one,
        // and a single block.
        let report = |requests: MeanInterval, verdict| {
            let is_single = requests.low.is_none();
            let difference = LostDifference {
                fault: "crash".to_owned(),
                subject: "a".to_owned(),
                baseline: "b".to_owned(),
                requests,
                confidence: 0.97,
                blocks: if is_single { 1 } else { 6 },
                verdict,
                too_few_blocks: is_single,
            };
            lost_sentence(&difference, &Style::plain())
        };
        let with = |mean, low, high| MeanInterval {
            mean,
            low: Some(low),
            high: Some(high),
        };
        let open = Verdict::Inconclusive;
        assert_eq!(
            report(with(0.0, 0.0, 0.0), open),
            "a and b lost the same number of requests after crash in each of 6 blocks: undecided."
        );
        assert_eq!(
            report(with(0.0, -0.8, 0.8), open),
            "a and b lose the same number of requests per crash on average (−0.8 to 0.8): undecided."
        );
        assert_eq!(
            report(with(-0.7, -2.2, 0.8), open),
            "a loses 0.7 fewer requests than b (−0.8 to 2.2) per crash: undecided."
        );
        assert_eq!(
            report(with(4.2, 3.0, 5.4), Verdict::More),
            "a loses 4.2 more requests than b (3.0 to 5.4) per crash: more."
        );
        let single = MeanInterval {
            mean: 2.0,
            low: None,
            high: None,
        };
        assert_eq!(
            report(single, open),
            "a loses 2.0 more requests than b in 1 block, no interval yet, per crash: undecided, too \
             few blocks."
        );
    }

    /// Six crashes without figures.
    fn crash() -> FaultSummary {
        FaultSummary {
            fault: "crash".to_owned(),
            subject: "a".to_owned(),
            left_out: None,
            times: 6,
            lost: None,
            due: None,
            delayed: None,
            recovery_s: None,
            recovered: 0,
            back: 6,
            unfelt: 0,
            unseen: 0,
        }
    }

    #[test]
    fn a_recovery_before_the_next_request_is_an_upper_bound() {
        // Method: seen after every fault, unseen after one of six and after all, and beyond the
        // slice after one.
        let fault = FaultRecord {
            name: "crash".to_owned(),
            load: "steady".to_owned(),
            action: FaultAction::Restart,
            at_ns: 500_000_000,
            within_ns: 3_500_000_000,
            delayed_after_ns: 100_000_000,
            left_out: Vec::new(),
        };
        let report = |unseen, recovered| {
            let summary = FaultSummary {
                recovery_s: (recovered == 6).then_some(0.001),
                recovered,
                unseen,
                ..crash()
            };
            recovery(&summary, &fault).replace('\u{a0}', " ")
        };
        assert_eq!(report(0, 6), "1 ms");
        assert_eq!(report(1, 6), "at most 1 ms");
        assert_eq!(report(6, 6), "at most 1 ms");
        assert_eq!(report(5, 5), "not within 3 s (1 of 6)");
    }

    #[test]
    fn an_interval_of_lost_requests_is_cut_at_zero_and_at_the_requests_due() {
        // Method: an interval between 0 and the 200 requests due, and beyond each end; with an
        // unknown number of requests due, and of a single block. Each with its legend.
        let below = "; cut at 0";
        let beyond = "; cut at the number of requests due";
        let table = [
            (Some([150.0, 190.0]), Some(200.0), "170 (150 to 190)", ""),
            (Some([-9.0, 190.0]), Some(200.0), "170 (0 to 190)", below),
            (
                Some([150.0, 230.0]),
                Some(200.0),
                "170 (150 to 200)",
                beyond,
            ),
            (Some([150.0, 230.0]), None, "170 (150 to 230)", ""),
            (None, Some(200.0), "170", ""),
        ];
        for (ends, due, expected, cut) in table {
            let lost = MeanInterval {
                mean: 170.0,
                low: ends.map(|[low, _]| low),
                high: ends.map(|[_, high]| high),
            };
            let summary = FaultSummary {
                lost: Some(lost),
                due,
                ..crash()
            };
            assert_eq!(mean(&lost, due), expected);
            assert_eq!(cut_ends(&[summary]), cut, "{expected}");
        }
    }
}
