//! The report of a study: verdicts first, then the figures behind them, then
//! what limits them.

use abx_evidence::record::{Interleave, LoadRecord, LoadSettings, StudyEnd};
use abx_evidence::{Figure, LoadShape, Outcome, StudyRecord, Summary};

use crate::against::against;
use crate::arrivals::{arrivals, exchange, keep_alive, offered};
use crate::bar::bars;
use crate::beside::beside;
use crate::findings::{Loads, findings};
use crate::held::{held_legend, held_table};
use crate::metrics::rate_name;
use crate::phases;
use crate::ranking::rankings;
use crate::style::Style;
use crate::sweeps::{capacities, sweeps};
use crate::table::Table;
use crate::times::{at_least_legend, time};
use crate::units::{
    TimeUnit, UNKNOWN, bytes, count, figure, nanos, or_unknown, percent, plural, seconds,
    whole_percent,
};
use crate::verdict::{name, place, remarks, sentence};
use crate::wrap::{clean, clean_name, wrap};

/// The report of a study, ready to be printed.
#[must_use]
pub fn study_text(record: &StudyRecord, style: &Style) -> String {
    let loads = if record.loads.len() > 1 {
        Loads::Several
    } else {
        Loads::One
    };
    let mut sections = vec![
        verdicts(record, style) + &against(record, style),
        rankings(record, style),
        sweeps(record, style),
        capacities(record, style),
        tables(record, style),
        phases::of_study(record, style),
        bars(record, style),
        beside(record, style),
        loaded(record, style),
        findings(&record.validity.findings, loads, style),
        conduct(record, style),
    ];
    sections.retain(|section| !section.is_empty());
    style.finish(&sections.join("\n"))
}

fn verdicts(record: &StudyRecord, style: &Style) -> String {
    let is_alone = record.primary().next().is_none();
    if is_alone && record.against.is_some() {
        return String::new();
    }
    if is_alone {
        return "Nothing was compared.\n".to_owned();
    }
    let mut out = String::new();
    for one in record.primary() {
        out.push_str(&wrap(
            &sentence(record, one, style),
            "",
            "  ",
            style.columns(),
        ));
        for remark in remarks(record, one) {
            out.push_str(&wrap(&remark, "  ", "  ", style.columns()));
        }
    }
    out
}

/// A table for each load, and once what the columns mean.
fn tables(record: &StudyRecord, style: &Style) -> String {
    let figures = alone(record).map(|load| figures(record, load, style));
    let mut out = figures.collect::<Vec<_>>().join("\n");
    let mut measured = record
        .summaries
        .iter()
        .filter(|one| one.sent > 0)
        .peekable();
    if measured.peek().is_none() {
        return out;
    }
    let mut legend = "p50, p99: response time of half and of 99 % of the requests. CPU: the \
                      server's processor time for each answer. busy: share of its processors that \
                      it used. memory: the most of its processes together."
        .to_owned();
    let has_gap = |one: &Summary| {
        one.server_cpu_us_per_request.is_none()
            || one.server_busy.is_none()
            || one.rss_bytes.is_none()
    };
    let times = record.summaries.iter().map(|one| &one.response_time_us);
    legend.push_str(&at_least_legend(times, &[Figure::P50, Figure::P99], style));
    if measured.any(has_gap) {
        legend.push_str(&format!(" {UNKNOWN}: not checked."));
    }
    out.push_str(&wrap(&legend, "  ", "  ", style.columns()));
    out
}

/// Loads that are no rate of a grid: those are read together, as capacities.
pub(crate) fn alone(record: &StudyRecord) -> impl Iterator<Item = &LoadRecord> {
    let loads = record.loads.iter();
    loads.filter(|load| load.settings.objective.is_none())
}

/// Every subject under one load.
fn figures(record: &StudyRecord, load: &LoadRecord, style: &Style) -> String {
    let summaries: Vec<&Summary> = record
        .summaries
        .iter()
        .filter(|summary| summary.load == load.name)
        .collect();
    let mut out = wrap(&offer(record, load), "", "  ", style.columns());
    if let Some(table) = held_table(&summaries) {
        return out + &table.text(style.columns()) + &held_legend(style);
    }
    if summaries.iter().all(|summary| summary.sent == 0) {
        return out + "  nothing was measured\n";
    }
    let shape = load.settings.exchange.shape;
    out.push_str(&table(&summaries, shape, style).text(style.columns()));
    for summary in summaries {
        out.push_str(&neither(summary, style));
        out.push_str(&unsent(summary, style));
    }
    out + &ceiling(record, load, style)
}

/// What the generator could get at most; empty where that was not looked for.
fn ceiling(record: &StudyRecord, load: &LoadRecord, style: &Style) -> String {
    let Some(found) = record.ceilings.iter().find(|one| one.load == load.name) else {
        return String::new();
    };
    let busy = found.generator_busy.map_or(String::new(), |busy| {
        format!(", the generator {} busy", whole_percent(busy))
    });
    let text = format!(
        "ceiling: {} requests/s from a server that does nothing{busy}",
        figure(found.throughput_per_s)
    );
    wrap(&text, "  ", "  ", style.columns())
}

/// What is offered, as the heading of its figures.
pub(crate) fn offer(record: &StudyRecord, load: &LoadRecord) -> String {
    let settings = &load.settings;
    let mut parts = vec![plural(settings.connections.into(), "connection")];
    parts.extend(arrivals(&settings.arrivals));
    parts.push(requests(settings));
    let is_request = settings.exchange.shape == LoadShape::Request;
    parts.extend(is_request.then(|| keep_alive(settings.keep_alive)));
    parts.extend(exchange(&settings.exchange));
    let several = record.loads.len() > 1;
    let name = several.then(|| format!("{}: ", name(&load.name)));
    format!("{}{}:", name.unwrap_or_default(), parts.join(", "))
}

/// What was asked, with weights where there are several; of many the first ones.
pub(crate) fn requests(settings: &LoadSettings) -> String {
    let shown = match settings.requests.len() {
        few @ ..=REQUESTS_SHOWN => few,
        _ => REQUESTS_SHOWN - 1,
    };
    let each = settings.requests[..shown].iter().map(|one| {
        let path = clean_name(&one.path);
        let asked = match settings.exchange.shape {
            LoadShape::Request => format!("{} {path}", clean_name(&one.method)),
            _ => path,
        };
        match settings.requests.len() {
            1 => asked,
            _ => format!("{}× {asked}", one.weight),
        }
    });
    let more = settings.requests.len() - shown;
    let more = (more > 0).then(|| format!("and {more} more"));
    each.chain(more).collect::<Vec<_>>().join(", ")
}

/// Requests of a load that are named one by one.
const REQUESTS_SHOWN: usize = 10;

pub(crate) fn table(summaries: &[&Summary], shape: LoadShape, style: &Style) -> Table<9> {
    let unit = TimeUnit::of(summaries.iter().map(|one| one.response_time_us.p50));
    let headers = [
        "subject".to_owned(),
        rate_name(shape).to_owned(),
        format!("p50 {}", unit.sign()),
        format!("p99 {}", unit.sign()),
        "CPU µs".to_owned(),
        "busy".to_owned(),
        "memory".to_owned(),
        "ok".to_owned(),
        "failed".to_owned(),
    ];
    let row = |one: &&Summary| {
        [
            clean_name(&one.subject),
            or_unknown(one.throughput_per_s, figure),
            time(&one.response_time_us, Figure::P50, unit, style),
            time(&one.response_time_us, Figure::P99, unit, style),
            or_unknown(one.server_cpu_us_per_request, figure),
            or_unknown(one.server_busy, whole_percent),
            or_unknown(one.rss_bytes, |size| bytes(size as f64)),
            count(one.ok),
            count(one.outcomes.failed()),
        ]
    };
    Table {
        headers,
        rows: summaries.iter().map(row).collect(),
    }
}

/// Attempts that are in neither of the last two columns.
pub(crate) fn neither(summary: &Summary, style: &Style) -> String {
    let others: Vec<String> = summary
        .outcomes
        .iter()
        .filter(|(outcome, _)| *outcome != Outcome::Ok && !outcome.is_failure())
        .map(|(outcome, times)| format!("{} {}", count(times), outcome.name()))
        .collect();
    if others.is_empty() {
        return String::new();
    }
    let text = format!(
        "{}: neither ok nor failed: {}.",
        name(&summary.subject),
        others.join(", ")
    );
    wrap(&text, "  ", "  ", style.columns())
}

/// What was due to one subject and not sent; empty when there is nothing to say.
pub(crate) fn unsent(summary: &Summary, style: &Style) -> String {
    let Some(due) = summary.offered.filter(|offered| offered.unsent > 0) else {
        return String::new();
    };
    let text = format!("{}: {}", name(&summary.subject), offered(&due));
    wrap(&text, "  ", "  ", style.columns())
}

/// For how long subjects were loaded, and what may be unseen for that.
pub(crate) fn loaded(record: &StudyRecord, style: &Style) -> String {
    let mut out = String::new();
    for load in alone(record) {
        let spans = record
            .summaries
            .iter()
            .filter(|summary| summary.load == load.name)
            .map(|summary| summary.loaded_s);
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
        let under = if record.loads.len() > 1 {
            format!(" {}", place(record, &load.name))
        } else {
            String::new()
        };
        let blocks = record.block_loads(&load.name).count() as u64;
        let text = format!(
            "Each was loaded for {span}{under} in {}; a stall that comes less often than every {} \
             may be unseen.",
            plural(blocks, "block"),
            seconds(least / 3.0)
        );
        out.push_str(&wrap(&text, "", "  ", style.columns()));
    }
    out
}

/// How the study was conducted and why it ended.
pub(crate) fn conduct(record: &StudyRecord, style: &Style) -> String {
    let complete = record.complete_blocks().count();
    let broken = record.blocks.len() - complete;
    let incomplete = match broken {
        0 => String::new(),
        _ => format!(
            " and {} that did not end, not judged",
            plural(broken as u64, "block")
        ),
    };
    let text = format!(
        "{}. {}{incomplete} in {}, seed {}, abx {}.",
        ended(record).trim_end_matches(['.', ':', ' ']),
        plural(complete as u64, "block"),
        seconds(record.elapsed_s),
        record.seed,
        clean_name(&record.abx_version)
    );
    let mut out = wrap(&text, "", "  ", style.columns());
    out.push_str(&wrap(&versions(record), "", "  ", style.columns()));
    for load in alone(record) {
        out.push_str(&wrap(&turns(record, load), "", "  ", style.columns()));
    }
    out
}

/// What subjects say of themselves; empty when none says anything.
pub(crate) fn versions(record: &StudyRecord) -> String {
    let each = record.subjects.iter().filter_map(|subject| {
        let version = clean_name(subject.version.as_deref()?);
        Some(format!("{} is {version}", name(&subject.name)))
    });
    let all: Vec<String> = each.collect();
    if all.is_empty() {
        return String::new();
    }
    format!("By their own word: {}.", all.join(", "))
}

pub(crate) fn ended(record: &StudyRecord) -> String {
    let settings = &record.settings;
    // The finding about a failure has all of its text.
    let first_line = |text: &str| clean(text).lines().next().unwrap_or_default().to_owned();
    match &record.end {
        StudyEnd::Running => "Not at its end: saved under way".to_owned(),
        StudyEnd::Precision => format!(
            "Ended: every interval is as narrow as the margin of {} asks for",
            percent(settings.margin)
        ),
        StudyEnd::Certain if record.primary().count() < 2 => {
            "Ended: the difference is certain".to_owned()
        }
        StudyEnd::Certain => format!(
            "Ended: each difference is certain, or as narrow as the margin of {} asks for",
            percent(settings.margin)
        ),

        StudyEnd::Blocks => "Ended: the blocks that were ordered are measured".to_owned(),
        StudyEnd::Budget => format!(
            "Ended: the budget of {} is used up",
            seconds(settings.budget_s)
        ),
        StudyEnd::Interrupted => "Interrupted before its end".to_owned(),
        StudyEnd::Failed { why } => {
            format!("Ended before its time: {}", first_line(why))
        }
        StudyEnd::SubjectFailed { subject, how } => format!(
            "Ended before its time: {} could not go on: {}",
            name(subject),
            first_line(how)
        ),
    }
}

/// How subjects took turns under one load.
pub(crate) fn turns(record: &StudyRecord, load: &LoadRecord) -> String {
    let Some(pilot) = &load.pilot else {
        return String::new();
    };
    let stretch = match pilot.interleave {
        Interleave::Slices => "slices",
        Interleave::Trials => "trials",
    };
    let mut text = format!(
        "{} of {} (the first {} not counted), {} in a block, warm-up {}",
        if record.loads.len() > 1 {
            format!("{}: {stretch}", name(&load.name))
        } else {
            format!("Subjects took turns: {stretch}")
        },
        nanos(pilot.slice_ns),
        nanos(pilot.discard_ns),
        plural(pilot.rounds.into(), "round"),
        nanos(pilot.warm_up_ns),
    );
    if let Some(reason) = &pilot.interleave_reason {
        text.push_str(&format!("; {stretch} because {}", clean_name(reason)));
    }
    if let Some(reason) = &pilot.slice_reason {
        let how = match pilot.slice_choice {
            Some(_) => "chosen because",
            None => "lengthened because",
        };
        text.push_str(&format!("; {how} {}", clean_name(reason)));
    }
    if pilot.shortened {
        text.push_str("; less than usual, so that the study fits into its time");
    }
    let unsettled: Vec<String> = pilot
        .subjects
        .iter()
        .filter(|(_, one)| !one.settled)
        .map(|(subject, _)| name(subject))
        .collect();
    if !unsettled.is_empty() {
        text.push_str(&format!(
            "; not settled in the pilot: {}",
            unsettled.join(", ")
        ));
    }
    text + "."
}
