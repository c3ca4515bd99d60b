//! The figures behind verdicts: a table for each load, and notes on the figures that it leaves
//! out.

use abx_evidence::record::LoadRecord;
use abx_evidence::{Figure, Outcome};
use abx_verdict::{StudyRecord, Summary};

use crate::document::{CellDetail, Document, Matrix, MatrixHeader, MatrixRow, Table};
use crate::sections::compared::alone::{CURVE_LEGEND, curve_table, is_alone};
use crate::sections::each_load::each_load;
use crate::sections::measured::figures::{
    FIGURES_LEGEND, RowName, TIMES, WIDE_FIGURES_LEGEND, figures_table,
};
use crate::sections::measured::held::{HELD_LEGEND, held_table};
use crate::sections::measured::outcomes::wrong_statuses;
use crate::sections::measured::server_times::{
    SERVER_TIMES_LEGEND, server_times_at_a_glance, server_times_table,
};
use crate::sections::measured::services::{SERVICES_LEGEND, services_table};
use crate::words::load::{alone, offer, offered};
use crate::words::metrics::{rate_name, rate_of_all};
use crate::words::style::{LINE, Style};
use crate::words::times::{at_least_legend, time};
use crate::words::units::{
    TimeUnit, UNKNOWN, count, figure, or_unknown, plural, seconds, share, whole_percent,
};
use crate::words::verdict::{name, place};

/// The figures of every load.
pub(crate) fn summaries(record: &StudyRecord, style: &Style) -> Document {
    let mut out = Document::joined(alone(record).map(|load| under(record, load, style)));
    out.append(memory_of_all_loads(record));
    out
}

/// A note that all tables show the peak over all loads as memory, and which memory is compared;
/// empty unless several tables have memory.
fn memory_of_all_loads(record: &StudyRecord) -> Document {
    let mut out = Document::default();
    let summaries = record.conclusions.summaries.iter();
    let summaries = summaries.filter(|summary| summary.sent > 0 && summary.rss_bytes.is_some());
    let summaries: Vec<&Summary> = summaries.collect();
    if summaries.is_empty() || record.measured.loads.len() < 2 {
        return out;
    }
    let are_read = summaries.iter().all(|summary| summary.pss_bytes.is_some());
    let compared = if is_alone(record) {
        ""
    } else if are_read {
        " abx compares memory after each load, including memory left by earlier loads."
    } else {
        " If abx could not read a server's memory after each load, it compares this peak."
    };
    out.note(format!(
        "memory is the peak over all loads of a block.{compared}"
    ));
    out
}

/// The meaning of the columns; empty if nothing was measured.
pub(crate) fn summaries_legend(record: &StudyRecord, style: &Style) -> Document {
    let mut out = Document::default();
    let mut measured = record
        .conclusions
        .summaries
        .iter()
        .filter(|summary| summary.sent > 0)
        .peekable();
    if measured.peek().is_none() {
        return out;
    }
    let mut legend = FIGURES_LEGEND.to_owned();
    let lacks_figure = |summary: &Summary| {
        summary.server_cpu_us_per_request.is_none()
            || summary.server_busy.is_none()
            || summary.rss_bytes.is_none()
    };
    let summaries = record.conclusions.summaries.iter();
    let times = summaries.map(|summary| &summary.response_time_us);
    legend.push_str(&at_least_legend(times, &[Figure::P50, Figure::P99], style));
    if measured.any(lacks_figure) {
        legend.push_str(&format!(" {UNKNOWN}: not checked."));
    }
    out.note(legend);
    out
}

/// A table per metric with every subject under every load, for a text of many subjects and loads.
pub(crate) fn summaries_at_a_glance(record: &StudyRecord, style: &Style) -> Document {
    let summaries = record.conclusions.summaries.iter();
    let unit = TimeUnit::of(summaries.map(|summary| summary.response_time_us.p50));
    let mut out = Document::default();
    for load in alone(record) {
        let notes = left_out(record.conclusions.under(&load.name));
        out.paragraph(offer(record, load).trim_end_matches(':'));
        out.append(notes);
    }
    out.append(of_metric(
        record,
        format!("{}:", rate_of_all(record)),
        &|summary| or_unknown(summary.throughput_per_s, figure),
    ));
    let heading = format!("p99 response time, {}:", unit.sign());
    out.append(of_metric(record, heading, &|summary| {
        time(&summary.response_time_us, Figure::P99, unit, style)
    }));
    let heading = "CPU time per response, µs:".to_owned();
    out.append(of_metric(record, heading, &|summary| {
        or_unknown(summary.server_cpu_us_per_request, figure)
    }));
    out.note("`--html` and `--csv` have other times, memory and outcomes.");
    out
}

/// A table with one figure of each subject under each load.
fn of_metric(record: &StudyRecord, heading: String, show: &dyn Fn(&Summary) -> String) -> Document {
    let loads = &record.measured.loads;
    let headers = loads
        .iter()
        .map(|load| MatrixHeader::named(name(&load.name)));
    let rows = record.measured.subjects.iter().map(|subject| {
        let figures = loads.iter().map(|load| {
            let mut summaries = record.conclusions.under(&load.name);
            let summary = summaries.find(|summary| summary.subject == subject.name);
            summary.map_or(UNKNOWN.to_owned(), show)
        });
        MatrixRow::of_figures(name(&subject.name), figures)
    });
    let matrix = Matrix {
        caption: heading.clone(),
        headers: headers.collect(),
        rows: rows.collect(),
        legend: String::new(),
        detail: CellDetail::Whole,
    };
    let mut out = Document::default();
    out.heading(heading);
    out.append(matrix.into());
    out
}

/// Every subject under one load.
pub(crate) fn under(record: &StudyRecord, load: &LoadRecord, style: &Style) -> Document {
    let summaries: Vec<&Summary> = record.conclusions.under(&load.name).collect();
    let offer = offer(record, load);
    let caption = offer.trim_end_matches(':').to_owned();
    let mut out = Document::default();
    if let Some(table) = held_table(&summaries) {
        out.heading(offer);
        out.table(Some(table.captioned(caption)), HELD_LEGEND);
        return out;
    }
    if summaries.iter().all(|summary| summary.sent == 0) {
        out.paragraph(offer);
        out.note("nothing was measured");
        return out;
    }
    out.heading(offer);
    let unit = rate_name(load.settings.exchange.shape);
    let table = figures_table(&summaries, RowName::Subject, unit, style);
    out.table(Some(table.captioned(caption)), "");
    out.append(left_out(summaries.iter().copied()));
    out.append(below(record, load, &summaries));
    if let Some(text) = ceiling(record, load) {
        out.note(text);
    }
    out
}

/// The highest throughput that the generator reached with a server that does nothing; `None` if
/// that was not measured.
fn ceiling(record: &StudyRecord, load: &LoadRecord) -> Option<String> {
    let mut ceilings = record.conclusions.ceilings.iter();
    let ceiling = ceilings.find(|ceiling| ceiling.load == load.name)?;
    let busy = ceiling.generator_busy.map_or(String::new(), |busy| {
        format!("; generator {} busy", whole_percent(busy))
    });
    Some(format!(
        "ceiling: {} {} (a server that does nothing{busy})",
        figure(ceiling.throughput_per_s),
        rate_name(load.settings.exchange.shape)
    ))
}

/// Attempts that are in neither of the last two columns.
fn neither(summary: &Summary) -> Option<String> {
    let text = |(outcome, times): (Outcome, u64)| {
        let sequel = match outcome {
            Outcome::IdleClose | Outcome::RestClose => " (sent again)",
            _ => "",
        };
        format!("{} {}{sequel}", count(times), outcome.name())
    };
    let others: Vec<String> = summary
        .outcomes
        .iter()
        .filter(|(outcome, _)| *outcome != Outcome::Ok && !outcome.is_failure())
        .map(text)
        .collect();
    let (who, others) = (name(&summary.subject), others.join(", "));
    (!others.is_empty()).then(|| format!("{who}: neither ok nor failed: {others}."))
}

/// The unexpected statuses of one subject.
fn other_statuses(summary: &Summary) -> Option<String> {
    let wrong = wrong_statuses(&summary.wrong_statuses);
    let who = name(&summary.subject);
    (!wrong.is_empty()).then(|| format!("{who}: wrong status: {wrong}."))
}

/// The requests that were due to one subject and not sent.
fn unsent(summary: &Summary) -> Option<String> {
    let due = summary.offered.filter(|offered| offered.unsent > 0)?;
    Some(format!("{}: {}", name(&summary.subject), offered(&due)))
}

/// How long subjects were loaded, and which rare stalls may go unseen for that.
pub(crate) fn loaded(record: &StudyRecord) -> Document {
    let mut out = Document::default();
    for load in alone(record) {
        let spans = record
            .conclusions
            .under(&load.name)
            .map(|summary| summary.loaded_s)
            .filter(|loaded_s| *loaded_s > 0.0);
        let least = spans.clone().fold(f64::INFINITY, f64::min);
        let most = spans.fold(0.0, f64::max);
        if most <= 0.0 {
            continue;
        }
        let [shortest, longest] = [least, most].map(seconds);
        let span = if shortest == longest {
            shortest
        } else {
            format!("{shortest} to {longest}")
        };
        let under = if record.measured.loads.len() > 1 {
            format!(" {}", place(record, &load.name))
        } else {
            String::new()
        };
        let blocks = record.measured.block_loads(&load.name).count() as u64;
        out.paragraph(format!(
            "Each subject was loaded for {span}{under} in {}; stalls rarer than one in {} may go \
             unseen.",
            plural(blocks, "block"),
            seconds(least / 3.0)
        ));
    }
    out
}

/// A table for each load, or one of all loads of a single subject, with a legend and how long
/// subjects were loaded.
pub(crate) fn figures_of_page(record: &StudyRecord) -> Document {
    let several = record.measured.loads.len() > 1;
    let curve = curve_table(record, &LINE).filter(|_| several && is_alone(record));
    let mut out = Document::default();
    if curve.is_some() {
        out.table(curve, CURVE_LEGEND);
        for load in &record.measured.loads {
            let summaries: Vec<&Summary> = record.conclusions.under(&load.name).collect();
            out.append(below(record, load, &summaries));
        }
        out.append(left_out(record.conclusions.summaries.iter()));
    } else {
        out.append(each_load(record, |load| under(record, load, &LINE)));
    }
    if record.conclusions.any_sent() {
        let summaries = record.conclusions.summaries.iter();
        let times = summaries.map(|summary| &summary.response_time_us);
        let at_least = at_least_legend(times, &TIMES, &LINE);
        out.note(format!("{WIDE_FIGURES_LEGEND}{at_least}"));
        out.append(memory_of_all_loads(record));
    }
    out.append(loaded(record));
    out
}

/// Notes on attempts that the table does not show.
fn left_out<'a>(summaries: impl Iterator<Item = &'a Summary>) -> Document {
    let summaries: Vec<&Summary> = summaries.collect();
    let mut out = Document::default();
    for summary in &summaries {
        let notes = [neither(summary), other_statuses(summary)];
        notes.into_iter().flatten().for_each(|text| out.note(text));
    }
    let unsent: Vec<(&Summary, String)> = summaries
        .iter()
        .filter_map(|summary| Some((*summary, unsent(summary)?)))
        .collect();
    if unsent.len() > UNSENT_SHOWN {
        out.note(unsent_of_many(unsent.iter().map(|(summary, _)| *summary)));
    } else {
        unsent.into_iter().for_each(|(_, text)| out.note(text));
    }
    out
}

/// The requests that were due to several subjects and not sent, in one sentence.
fn unsent_of_many<'a>(summaries: impl Iterator<Item = &'a Summary>) -> String {
    let texts = summaries.filter_map(|summary| {
        let due = summary.offered?;
        let share = share(due.unsent, due.planned);
        Some(format!(
            "{} {} ({share})",
            name(&summary.subject),
            count(due.unsent)
        ))
    });
    format!(
        "Requests due but not sent: {}.",
        texts.collect::<Vec<_>>().join(", ")
    )
}

/// More subjects with unsent requests than this share a sentence.
const UNSENT_SHOWN: usize = 2;

/// The costs of services, and the server timings of subjects.
fn below(record: &StudyRecord, load: &LoadRecord, summaries: &[&Summary]) -> Document {
    let caption = offer(record, load);
    let captioned = |what: &str, table: Option<Table>| {
        let caption = format!("{what}, {}", caption.trim_end_matches(':'));
        Some(table?.captioned(caption))
    };
    let mut out = Document::default();
    let services = captioned("Services", services_table(summaries));
    out.table(services, SERVICES_LEGEND);
    let times = captioned("Server timings", server_times_table(record, &load.name));
    let mut timings = Document::default();
    timings.table(times, SERVER_TIMES_LEGEND);
    match server_times_at_a_glance(record, &load.name) {
        Some(matrix) => out.picture(timings.html(), matrix),
        None => out.append(timings),
    }
    out
}
