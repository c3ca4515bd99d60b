//! Faults in words: what is done, what it costs each subject, and which loses more.

use abx_evidence::record::{FaultAction, FaultRecord, Whom};
use abx_verdict::{
    FaultMoment, FaultSummary, LostDifference, MeanInterval, StudyRecord, fault_course,
};

use crate::document::{
    CaptionedFigure, CellDetail, Document, Matrix, MatrixHeader, MatrixRow, Table,
};
use crate::html::charts::{
    Plot, PlotAxis, PlotCaption, PlotPoint, Scale, Stroke, Subjects, plain, share_text,
};
use crate::words::load::arrivals;
use crate::words::ratio::Further;
use crate::words::style::{ReportExtent, Style};
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
    let fault_summaries = record.conclusions.faults.iter();
    let rows = fault_summaries
        .filter(|fault_summary| fault_summary.fault == fault.name)
        .map(|fault_summary| {
            let subject = clean_name(&fault_summary.subject);
            if fault_summary.left_out.is_some() {
                let word = left_out(fault_summary, fault);
                let [delayed, recovers, back] = [UNKNOWN; 3].map(str::to_owned);
                return [subject, word.to_owned(), delayed, recovers, back];
            }
            [
                subject,
                or_unknown(fault_summary.lost, |lost| mean(&lost, fault_summary.due)),
                or_unknown(fault_summary.delayed, requests),
                recovery(fault_summary, fault),
                format!("{} of {}", fault_summary.back, fault_summary.times),
            ]
        });
    Table::new(["subject", "lost", "delayed", "recovers in", "back"], rows)
}

/// Why a subject has no figures.
fn left_out(summary: &FaultSummary, fault: &FaultRecord) -> &'static str {
    let mut left_outs = fault.left_out.iter();
    let has_failed =
        left_outs.any(|left_out| left_out.failed && left_out.subject == summary.subject);
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

/// That intervals of lost requests end where they cannot reach further, if any would.
fn cut_ends(fault_summaries: &[FaultSummary]) -> String {
    let any = |is_cut: &dyn Fn(&FaultSummary, &MeanInterval) -> bool| {
        let mut fault_summaries = fault_summaries.iter();
        fault_summaries.any(|summary| summary.lost.is_some_and(|lost| is_cut(summary, &lost)))
    };
    let below = any(&|_, lost| lost.low.is_some_and(|low| low < 0.0));
    let beyond = any(&|summary, lost| {
        let ends = lost.high.zip(summary.due);
        ends.is_some_and(|(high, due)| high > due)
    });
    let cuts = [
        (below, "; an end below 0 is given as 0"),
        (beyond, "; no end is above the number of requests due"),
    ];
    let cuts = cuts.into_iter().filter(|(is_cut, _)| *is_cut);
    cuts.map(|(_, text)| text).collect()
}

fn recovery(fault_summary: &FaultSummary, fault: &FaultRecord) -> String {
    match fault_summary.recovery_s {
        // Before the next request, at least once.
        Some(span) if fault_summary.unseen > 0 => {
            format!("at most {}", seconds(span))
        }
        Some(span) => seconds(span),
        None if fault_summary.times == 0 => UNKNOWN.to_owned(),
        None => {
            let room = nanos(fault.within_ns.saturating_sub(fault.at_ns));
            let beyond = fault_summary.times - fault_summary.recovered;
            format!("not within {room} ({beyond} of {})", fault_summary.times)
        }
    }
}

/// A mean number of lost requests with its interval, of so many that were due.
fn mean(mean_interval: &MeanInterval, due: Option<f64>) -> String {
    match mean_interval.low.zip(mean_interval.high) {
        Some((low, high)) => {
            // Neither fewer than none nor more than were due can be lost; the legend states that
            // this is cut.
            let high = due.map_or(high, |due| high.min(due));
            let ends = [mean_interval.mean, low.max(0.0), high].map(requests);
            let [mean, low, high] = ends;
            if low == high {
                return mean;
            }
            format!("{mean} ({low} to {high})")
        }
        None => requests(mean_interval.mean),
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
fn lost_sentence(lost_difference: &LostDifference, style: &Style) -> String {
    let [subject, baseline] =
        [&lost_difference.subject, &lost_difference.baseline].map(|text| name(text));
    let place = name(&lost_difference.fault);
    let MeanInterval { mean, low, high } = lost_difference.requests;
    let verdict = if lost_difference.too_few_blocks {
        style.paint(TOO_FEW_BLOCKS, tint(lost_difference.verdict))
    } else {
        painted(lost_difference.verdict, style)
    };
    let blocks = plural(lost_difference.blocks as u64, "block");
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
    let is_open = !lost_difference.verdict.is_directed();
    let size = requests(mean.abs());
    if is_open && ["0", "0.0"].contains(&size.as_str()) {
        return format!(
            "{subject} and {baseline} lose the same number of requests per {place} on average \
             {interval}: {verdict}."
        );
    }
    let message =
        format!("{subject} loses {size} {word} requests than {baseline} {interval} per {place}");
    format!("{message}: {verdict}.")
}

/// What one fault cost, and which subject lost more.
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
    for lost_difference in lost.filter(is_shown) {
        out.paragraph(lost_sentence(lost_difference, style));
    }
    out
}

/// Every fault, on a page with a picture; nothing without any. Only in full with the losses that
/// are undecided.
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

/// What fits on a screen: one fault in full, several in one table of what each cost each subject,
/// and the losses that differ.
pub(crate) fn faults_briefly(record: &StudyRecord, style: &Style) -> Document {
    let faults_done = &record.measured.faults;
    if faults_done.len() < 2 || record.conclusions.faults.is_empty() {
        return faults(record, ReportExtent::Brief, style);
    }
    let of = |fault: &FaultRecord, subject: &str| {
        let mut summaries = record.conclusions.faults.iter();
        let summary = summaries.find(|other| other.fault == fault.name && other.subject == subject);
        summary.map_or(String::new(), |summary| cost(summary, fault, style))
    };
    let subjects = record.measured.subjects.iter();
    let rows = subjects.map(|subject| {
        let cells = faults_done.iter().map(|fault| of(fault, &subject.name));
        MatrixRow::of_figures(name(&subject.name), cells)
    });
    let names = faults_done.iter().map(|fault| name(&fault.name));
    let mut out = Document::default();
    out.heading(COSTS);
    out.append(Document::from(Matrix {
        caption: COSTS.to_owned(),
        headers: names.map(MatrixHeader::named).collect(),
        rows: rows.collect(),
        legend: costs_legend(record),
        detail: CellDetail::Whole,
    }));
    for differences in lost_alike(record) {
        out.paragraph(lost_sentence_of_all(&differences, style));
    }
    out
}

/// What one fault cost one subject: `4.2, 8 ms`, with a star if processes were missing.
fn cost(summary: &FaultSummary, fault: &FaultRecord, style: &Style) -> String {
    if summary.left_out.is_some() {
        return left_out(summary, fault).to_owned();
    }
    let lost = or_unknown(summary.lost, |lost| requests(lost.mean));
    let lost = lost.trim_end_matches(".0");
    let recovery = match summary.recovery_s {
        Some(span) if summary.unseen > 0 => {
            format!("{}{}", Further::AtMost.sign(style), seconds(span))
        }
        Some(span) => seconds(span),
        None => format!(">{}", nanos(fault.within_ns.saturating_sub(fault.at_ns))),
    };
    let star = if summary.back < summary.times {
        "*"
    } else {
        ""
    };
    format!("{lost}, {recovery}{star}")
}

/// What each fault was.
fn costs_legend(record: &StudyRecord) -> String {
    let faults = record.measured.faults.iter();
    let each = faults.map(|fault| format!("{}: {}", name(&fault.name), action(&fault.action)));
    let mut summaries = record.conclusions.faults.iter();
    let is_missing =
        |summary: &FaultSummary| summary.left_out.is_none() && summary.back < summary.times;
    let star = if summaries.any(is_missing) {
        "; * not all processes ran again each time"
    } else {
        ""
    };
    format!("{}{star}.", each.collect::<Vec<_>>().join("; "))
}

/// The losses that differ, those together that one fault, baseline and direction have in common.
fn lost_alike(record: &StudyRecord) -> Vec<Vec<&LostDifference>> {
    let mut groups: Vec<Vec<&LostDifference>> = Vec::new();
    let lost = record.conclusions.lost_to_faults.iter();
    for difference in lost.filter(|difference| difference.verdict.is_directed()) {
        let key = |other: &LostDifference| {
            let names = [&other.fault, &other.baseline].map(String::clone);
            (names, other.verdict)
        };
        let same = |group: &&mut Vec<&LostDifference>| key(group[0]) == key(difference);
        match groups.iter_mut().find(same) {
            Some(group) => group.push(difference),
            None => groups.push(vec![difference]),
        }
    }
    groups
}

/// One sentence for subjects that lose more, or fewer, requests to a fault than a baseline.
fn lost_sentence_of_all(differences: &[&LostDifference], style: &Style) -> String {
    let [first, .., last] = differences else {
        let only = differences.iter().map(|only| lost_sentence(only, style));
        return only.collect();
    };
    let names: Vec<String> = differences
        .iter()
        .map(|other| name(&other.subject))
        .collect();
    let names = names[..names.len() - 1].join(", ");
    let sizes = differences.iter().map(|other| other.requests.mean.abs());
    let [least, most] = [
        sizes.clone().fold(f64::INFINITY, f64::min),
        sizes.fold(0.0, f64::max),
    ]
    .map(requests);
    let size = if least == most {
        least
    } else {
        format!("{least} to {most}")
    };
    let word = if first.requests.mean < 0.0 {
        "fewer"
    } else {
        "more"
    };
    format!(
        "{names} and {} lose {size} {word} requests than {} per {}: {}.",
        name(&last.subject),
        name(&first.baseline),
        name(&first.fault),
        painted(first.verdict, style)
    )
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
    let first = moments().map(|fault_moment| fault_moment.since_ns).min()?;
    let last = moments().map(|fault_moment| fault_moment.since_ns).max()?;
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
        "s from the fault to when requests were due",
        Scale::linear(low, high),
        8,
        plain,
    );
    let label = "requests with a correct response in time";
    let y = PlotAxis::new(label, Scale::linear(0.0, 1.0), 5, share_text);
    let mut plot = Plot::new(caption, [x, y], 200.0);
    plot.rule_x("even", 0.0);
    for (place, course) in &courses {
        let points = course.iter().map(|fault_moment| PlotPoint {
            x: fault_moment.since_ns as f64 / 1e9,
            y: fault_moment.in_time,
        });
        plot.curve(*place, Stroke::Solid, &points.collect::<Vec<_>>());
    }
    let rows = courses.iter().flat_map(|(place, course)| {
        let subject = subjects.iter().find(|(number, _)| number == place);
        let subject = subject.map_or(String::new(), |(_, subject)| name(subject));
        let disturbed = course
            .iter()
            .filter(|fault_moment| fault_moment.in_time < 1.0);
        disturbed.map(move |fault_moment| {
            vec![
                subject.clone(),
                format!("{:.2}", fault_moment.since_ns as f64 / 1e9),
                whole_percent(fault_moment.in_time),
                whole_percent(fault_moment.failed),
            ]
        })
    });
    let headers = ["subject", "s from the fault", "in time", "lost"];
    let table = Table::new(headers, rows.collect::<Vec<_>>()).captioned(format!(
        "Intervals around {at} with lost or delayed requests"
    ));
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
    fn what_is_open_is_never_told_as_equal() {
        // Method: no difference in any block, one of nothing on average, one that is open and
        // one that is not, and a single block.
        let report = |requests, verdict| {
            let MeanInterval { mean, low, high } = requests;
            let lost_difference = LostDifference {
                fault: "crash".to_owned(),
                subject: "a".to_owned(),
                baseline: "b".to_owned(),
                requests: MeanInterval { mean, low, high },
                confidence: 0.97,
                blocks: if low.is_none() { 1 } else { 6 },
                verdict,
                too_few_blocks: low.is_none(),
            };
            lost_sentence(&lost_difference, &Style::plain())
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
            "a and b lose the same number of requests per crash on average (-0.8 to 0.8): undecided."
        );
        assert_eq!(
            report(with(-0.7, -2.2, 0.8), open),
            "a loses 0.7 fewer requests than b (-0.8 to 2.2) per crash: undecided."
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
    fn a_recovery_that_nobody_saw_is_at_most_what_is_said() {
        // Method: seen after every fault, unseen after one of six and after all, and beyond the
        // slice in one.
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
            let fault_summary = FaultSummary {
                recovery_s: (recovered == 6).then_some(0.001),
                recovered,
                unseen,
                ..crash()
            };
            recovery(&fault_summary, &fault).replace('\u{a0}', " ")
        };
        assert_eq!(report(0, 6), "1 ms");
        assert_eq!(report(1, 6), "at most 1 ms");
        assert_eq!(report(6, 6), "at most 1 ms");
        assert_eq!(report(5, 5), "not within 3 s (1 of 6)");
    }

    #[test]
    fn no_fewer_requests_than_none_and_no_more_than_were_due_are_lost() {
        // Method: an interval within 0 to the 200 requests due, and beyond each end; where
        // it is not known how many were due, and of a single block. Each with the legend.
        let below = "; an end below 0 is given as 0";
        let beyond = "; no end is above the number of requests due";
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
            let fault_summary = FaultSummary {
                lost: Some(lost),
                due,
                ..crash()
            };
            assert_eq!(mean(&lost, due), expected);
            assert_eq!(cut_ends(&[fault_summary]), cut, "{expected}");
        }
    }

    #[test]
    fn subjects_that_lose_alike_share_a_sentence() {
        // Method: one subject, and three that lose fewer requests than the same baseline.
        let difference = |subject: &str, mean: f64| LostDifference {
            fault: "restart".to_owned(),
            subject: subject.to_owned(),
            baseline: "old".to_owned(),
            requests: MeanInterval {
                mean,
                low: Some(mean - 1.0),
                high: Some(mean + 1.0),
            },
            confidence: 0.97,
            blocks: 6,
            verdict: Verdict::Less,
            too_few_blocks: false,
        };
        let all = [("a", -7.3), ("b", -21.7), ("c", -9.0)];
        let all = all.map(|(name, mean)| difference(name, mean));
        let [first, second, third] = &all;
        let style = Style::plain();
        assert_eq!(
            lost_sentence_of_all(&[first, second, third], &style),
            "a, b and c lose 7.3 to 21.7 fewer requests than old per restart: less."
        );
        assert_eq!(
            lost_sentence_of_all(&[first], &style),
            lost_sentence(first, &style)
        );
    }
}
