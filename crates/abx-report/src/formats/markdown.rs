//! GitHub-flavoured Markdown: a summary for a pull request or a job's page.

use abx_evidence::{Comparison, ExpectationResult, Finding, Level, Role, RunRecord, StudyRecord};

use crate::markdown::{code, details, escape, fenced, quoting, row};
use crate::reports::run::run_text;
use crate::sections::compared::alone::{CURVE_LEGEND, curve_table, is_alone, sentences};
use crate::sections::compared::expectations::{headline, like, outcome, overall, reason};
use crate::sections::compared::faults::faults_text;
use crate::sections::compared::findings::{Cause, LoadCount, causes};
use crate::sections::compared::grid;
use crate::sections::compared::grid::verdict_matrix;
use crate::sections::compared::overview::lacking;
use crate::sections::compared::past_baseline::past_baseline;
use crate::sections::compared::summaries::under;
use crate::sections::compared::sweeps::{capacities_text, sweeps_text};
use crate::sections::measured::how_measured::{how_measured_text, repeating};
use crate::sections::measured::{phases, scope};
use crate::words::metrics::{capitalized, metric_of};
use crate::words::ratio::ratio_cells;
use crate::words::style::{ReportExtent, Style, mark};
use crate::words::units::{figure, percent};
use crate::words::verdict::{instead_of_throughput, place, remarks, sentence, word_of};

const STYLE: Style = Style {
    width: 100_000,
    ..Style::plain()
};

/// A study in Markdown: verdicts, at a glance where they are many, expectations,
/// figures, findings, and how to have the same again.
#[must_use]
pub fn study_markdown(record: &StudyRecord, answers: &[ExpectationResult]) -> String {
    let loads = match record.measured.loads.len() {
        0 | 1 => LoadCount::One,
        _ => LoadCount::Several,
    };
    let sections = [
        heading(record, answers),
        expectations(record, answers),
        primary(record),
        beyond_pairs(record),
        scope(record),
        figures(record),
        phases::study_phases(record).markdown(),
        also_compared(record),
        findings(
            &record.conclusions.validity.findings,
            loads,
            grid::is_needed(record),
        ),
        reproduce(record),
    ];
    joined(&sections)
}

/// A run in Markdown: its report as it stands on the terminal, and its findings.
#[must_use]
pub fn run_markdown(record: &RunRecord) -> String {
    let url = code(&record.settings.url);
    let headline = match record.throughput_per_s {
        Some(throughput) => format!("{} verified responses/s from {url}", figure(throughput)),
        None => format!("{url}: nothing was measured"),
    };
    let bare = RunRecord {
        findings: Vec::new(),
        ..record.clone()
    };
    let sections = [
        format!("### abx: {headline}\n"),
        findings(&record.findings, LoadCount::One, false),
        fenced(&run_text(&bare, ReportExtent::Full, &Style::plain())),
    ];
    joined(&sections)
}

fn joined(sections: &[String]) -> String {
    let sections = sections.iter().filter(|section| !section.is_empty());
    let all: Vec<&str> = sections.map(String::as_str).collect();
    STYLE.finish(&all.join("\n"))
}

/// The answer to what was expected, else the question that a study answers.
fn heading(record: &StudyRecord, answers: &[ExpectationResult]) -> String {
    if let (Some(text), Some(standing)) = (headline(answers), overall(answers)) {
        return format!("### {} abx: {}\n", mark(like(standing)), escape(&text));
    }
    if is_alone(record) {
        return "### abx: how much can the server serve?\n".to_owned();
    }
    "### abx: which server is faster?\n".to_owned()
}

fn verdicts(record: &StudyRecord) -> String {
    let mut out = String::new();
    for one in record.conclusions.primary() {
        let mark = mark(one.verdict);
        let said = quoting(&sentence(record, one, &STYLE));
        out.push_str(&format!("- {mark} **{said}**\n"));
        for remark in remarks(record, one) {
            out.push_str(&format!("  - {}\n", quoting(&remark)));
        }
    }
    if let Some(text) = instead_of_throughput(record) {
        out.push_str(&format!("\n{}\n", escape(text)));
    }
    if is_alone(record) {
        let said = sentences(record).into_iter();
        return said
            .map(|text| format!("- **{}**\n", escape(&text)))
            .collect();
    }
    match out.is_empty() && record.measured.past_baseline.is_none() {
        true => "**Nothing was compared.**\n".to_owned(),
        false => out,
    }
}

/// What is said of older records, sweeps, capacities and faults, as on the terminal.
fn beyond_pairs(record: &StudyRecord) -> String {
    let style = Style::plain();
    let text = [
        past_baseline(record, &style),
        sweeps_text(record, &style),
        capacities_text(record, &style),
        faults_text(record, &style),
    ];
    let text = text.concat();
    match text.is_empty() {
        true => text,
        false => fenced(&text),
    }
}

/// What was not varied, and how often any of several families is wrong.
fn scope(record: &StudyRecord) -> String {
    let scope = std::iter::once(scope::of_study(record));
    let lines = scope.chain(scope::of_all(record));
    let lines: Vec<String> = lines.map(|line| escape(&line) + "\n").collect();
    lines.join("\n")
}

fn expectations(record: &StudyRecord, answers: &[ExpectationResult]) -> String {
    if answers.is_empty() {
        return String::new();
    }
    let mut rows = vec![
        ["expected", "where", "", "measured"].map(str::to_owned),
        ["---"; 4].map(str::to_owned),
    ];
    rows.extend(answers.iter().map(|answer| {
        let place = match answer.load.as_str() {
            "" => String::new(),
            load => place(record, load),
        };
        [
            code(&answer.expected),
            escape(&place),
            format!("**{}**", outcome(&answer.standing)),
            quoting(&reason(record, answer)),
        ]
    }));
    rows.iter().map(|cells| row(cells)).collect()
}

/// What was asked, in words and figures: at a glance where it is much, and each
/// answer out of the way.
fn primary(record: &StudyRecord) -> String {
    let each = format!(
        "{}\n{}",
        verdicts(record),
        comparisons(record, Role::Primary)
    );
    match verdict_matrix(record) {
        matrix if matrix.is_empty() => each,
        matrix => {
            let lacking =
                lacking(record).map_or_else(String::new, |text| format!("\n{}\n", escape(&text)));
            let each = details("Each verdict in words", &each);
            format!("{matrix}{lacking}\n{each}")
        }
    }
}

/// A table of comparisons of one role; empty without any.
fn comparisons(record: &StudyRecord, role: Role) -> String {
    let all = record
        .conclusions
        .comparisons
        .iter()
        .filter(|one| one.role == role);
    let rows: Vec<String> = all.map(|one| row(&comparison(record, one))).collect();
    if rows.is_empty() {
        return String::new();
    }
    let headers = ["", "where", "metric", "ratio", "interval", "verdict"].map(str::to_owned);
    let line = ["---", "---", "---", "---:", "---", "---"].map(str::to_owned);
    row(&headers) + &row(&line) + &rows.concat()
}

fn comparison(record: &StudyRecord, one: &Comparison) -> [String; 6] {
    let [ratio, interval] = ratio_cells(one);
    let place = match one.load.as_str() {
        "" => String::new(),
        load => place(record, load),
    };
    let fragile = if one.fragile { ", fragile" } else { "" };
    [
        escape(&format!("{} / {}", one.subject, one.baseline)),
        escape(&place),
        escape(&metric_of(record, one)),
        ratio,
        interval,
        format!("{}{fragile}", word_of(one)),
    ]
}

/// Every subject under each load; if there is one subject, each load in one table.
fn figures(record: &StudyRecord) -> String {
    let is_curve = is_alone(record) && record.measured.loads.len() > 1;
    if let Some(table) = curve_table(record, &STYLE).filter(|_| is_curve) {
        let legend = escape(CURVE_LEGEND);
        return format!("{}\n{legend}\n", table.markdown());
    }
    let each = { record.measured.loads.iter() }.map(|load| under(record, load, &STYLE).markdown());
    each.collect::<Vec<_>>().join("\n")
}

/// What else was compared, out of the way.
fn also_compared(record: &StudyRecord) -> String {
    let table = comparisons(record, Role::Exploratory);
    if table.is_empty() {
        return table;
    }
    let confidence = record
        .conclusions
        .comparisons
        .first()
        .map_or(0.95, |one| one.confidence);
    details(
        &format!(
            "Also compared ({} intervals; with this many intervals, one may miss by chance)",
            percent(confidence)
        ),
        &table,
    )
}

/// What limits the result, an entry per cause and the notes folded away; in a study that
/// compares much it names only whom each cause concerns and where.
fn findings(all: &[Finding], loads: LoadCount, is_counted: bool) -> String {
    let entry = |cause: &Cause| {
        let seen = match is_counted {
            true => vec![cause.text()],
            false => cause.messages(loads),
        };
        let seen: Vec<String> = seen.iter().map(|text| quoting(text)).collect();
        let remedies = cause.remedies();
        let remedies = remedies
            .iter()
            .map(|remedy| format!("<br>→ {}", quoting(&capitalized(remedy))));
        let (level, seen) = (level(cause.level), seen.join("<br>"));
        format!("- **{level}** {seen}{}\n", remedies.collect::<String>())
    };
    let causes = causes(all);
    let (notes, limits): (Vec<&Cause>, Vec<&Cause>) =
        causes.iter().partition(|cause| cause.level == Level::Note);
    let [notes_text, limits_text] =
        [&notes, &limits].map(|causes| causes.iter().map(|cause| entry(cause)).collect::<String>());
    let kinds: Vec<String> = notes.iter().map(|cause| cause.counted()).collect();
    let folded =
        (!notes.is_empty()).then(|| details(&format!("Notes: {}", kinds.join(", ")), &notes_text));
    let parts = [Some(limits_text), folded].into_iter().flatten();
    let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Note => "NOTE",
        Level::Bound => "BOUND",
        Level::Void => "VOID",
    }
}

fn reproduce(record: &StudyRecord) -> String {
    let mut text = fenced(&repeating(record));
    text.push('\n');
    for line in how_measured_text(record, &STYLE).lines() {
        text.push_str(&format!("- {}\n", escape(line)));
    }
    let machine = &record.measured.machine;
    let mut about = vec![format!("{} processors", machine.cpus)];
    about.extend(machine.cpu_model.clone());
    about.extend(
        machine
            .kernel
            .as_ref()
            .map(|kernel| format!("Linux {kernel}")),
    );
    text.push_str(&format!("- Machine: {}.\n", escape(&about.join(", "))));
    details("How it was measured, and how to repeat it", &text)
}
