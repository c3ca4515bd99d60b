//! A search for the commit that changed a server: its result, and the commits that were tried.

use std::time::Duration;

use abx_verdict::bisect::{
    BisectConclusion, BisectRecord, BisectTask, BlockRatios, CommitRecord, TrialOutcome,
    TrialRecord, repeat_command,
};
use abx_verdict::{Bounds, Sense, StudyRecord, Verdict};

use crate::document::{Document, DocumentPart, Table, pages, sections_text};
use crate::html::charts::{
    Backdrop, Bar, BarEnd, Scale, axis, bar_table, cell, name_cell, picture_cell, plain,
};
use crate::html::markup::{Markup, element, note};
use crate::html::page::Page;
use crate::sections::measured::how_measured::labelled;
use crate::sections::why::first_why;
use crate::words::metrics::metric_name;
use crate::words::ratio_scale::RatioScale;
use crate::words::style::{LINE, Style};
use crate::words::units::{
    self, NO_INTERVAL, UNKNOWN, count, date, is_drawable, minutes, percent, plural,
};
use crate::words::verdict::interval;
use crate::words::wrap::{clean, clean_name, columns};

/// A search for a commit, ready to be printed, with the comparison that confirmed the commit if
/// that is at hand.
#[must_use]
pub fn bisect_text(
    record: &BisectRecord,
    confirmed: Option<&StudyRecord>,
    style: &Style,
) -> String {
    let documents = [
        result(record),
        Document::from_iter(ends(record)),
        confirmed.map(first_why).unwrap_or_default(),
        tried(record, style),
        Document::from_iter(skipped(record)),
        Document::from_iter(labelled(record.label.as_deref())),
        repeat(record),
    ];
    sections_text(documents.into_iter().filter(|part| !part.is_empty()), style)
}

/// The same as an HTML page.
#[must_use]
pub fn bisect_html(record: &BisectRecord, confirmed: Option<&StudyRecord>) -> String {
    let mut result = result(record);
    result.append(Document::from_iter(ends(record)));
    let mut rest = Document::from_iter(skipped(record));
    rest.append(Document::from_iter(labelled(record.label.as_deref())));
    rest.append(repeat(record));
    let sections = pages([
        ("result", "Result", result),
        ("why", "Why", confirmed.map(first_why).unwrap_or_default()),
        ("tried", "Commits", tried(record, &LINE)),
        ("rest", "More", rest),
    ]);
    let [good, bad] = record.revisions.each_ref().map(|name| clean_name(name));
    let subtitle = format!(
        "{}, abx {}.",
        date(record.started_unix_ms),
        clean_name(&record.abx_version)
    );
    Page::new(format!("From {good} to {bad}"), &subtitle, sections).html()
}

/// The result of the last step, and how far the search is. A step takes `each_step` on average;
/// `None` if none has been measured yet.
#[must_use]
pub fn bisect_line(record: &BisectRecord, each_step: Option<Duration>) -> String {
    let step = record.trials.last().map(|trial| step(record, trial));
    let texts: Vec<String> = step.into_iter().chain(left(record, each_step)).collect();
    texts.join("; ")
}

/// The commits between which the search continues, unless it is over.
fn left(record: &BisectRecord, each_step: Option<Duration>) -> Option<String> {
    let Ok(BisectTask::Try { .. }) = record.next_task() else {
        return None;
    };
    let search = record.search();
    let mut trials = record.trials.iter().rev();
    let good = trials.find(|trial| trial.outcome == TrialOutcome::LikeGood);
    let good = good.map_or(0, |trial| trial.position);
    let bad = search.suspects().last()?;
    let steps = search.steps_left();
    let time = each_step.map(|each| minutes(each * steps));
    Some(format!(
        "between {} and {}, {} left, about {}{}",
        name_at(record, good),
        name_at(record, *bad),
        plural(search.untried().count() as u64, "commit"),
        plural(steps.into(), "step"),
        time.map_or_else(String::new, |time| format!(", {time}"))
    ))
}

fn step(record: &BisectRecord, trial: &TrialRecord) -> String {
    let name = name_at(record, trial.position);
    match (&trial.why, trial.ratios.bounds) {
        (Some(why), _) => format!("{name} is skipped: {}", first_line(why)),
        (None, Some(bounds)) => format!("{name} is {}: {}", word(trial.outcome), interval(&bounds)),
        (None, None) => format!("{name} is {}", word(trial.outcome)),
    }
}

/// The conclusion in a sentence or two.
fn result(record: &BisectRecord) -> Document {
    let mut document = Document::default();
    match &record.conclusion {
        None => document.paragraph(
            "Unfinished: run the same command again to continue with the next commit.".to_owned(),
        ),
        Some(BisectConclusion::Culprit { position }) => {
            document.paragraph(culprit(record, *position));
            document.append(described(record, *position));
        }
        Some(BisectConclusion::NotConfirmed { position }) => {
            document.paragraph(not_confirmed(record, *position));
            document.append(described(record, *position));
        }
        Some(BisectConclusion::NothingToFind) => document.paragraph(nothing(record)),
        Some(BisectConclusion::Spread { position }) => document.paragraph(format!(
            "No single commit: the change is spread over several. {} is like neither GOOD nor \
             BAD, so a part of the change is older and a part is newer.",
            name_at(record, *position)
        )),
        Some(BisectConclusion::Undecided { position }) => document.paragraph(format!(
            "Undecided: the blocks do not show whether {} is like GOOD or BAD. Set a longer \
             `--budget`, or measure on a quieter machine.",
            name_at(record, *position)
        )),
        Some(BisectConclusion::AllSkipped { suspects }) => {
            document.paragraph(format!(
                "The change is in one of {}, of which all but the last were skipped:",
                plural(suspects.len() as u64, "commit")
            ));
            for position in suspects {
                document.append(described(record, *position));
            }
        }
    }
    document
}

fn culprit(record: &BisectRecord, position: usize) -> String {
    let bounds = confirmed_bounds(record);
    let name = name_at(record, position);
    let metric = metric_name(record.metric);
    match bounds {
        Some(bounds) => format!(
            "{name} {}: {} times the {metric} of its parent.",
            effect(record, bounds.ratio),
            interval(&bounds)
        ),
        None => format!("{name} changed the {metric}."),
    }
}

/// The ratio of the commit to its parent, with its interval.
fn confirmed_bounds(record: &BisectRecord) -> Option<Bounds> {
    record.confirmation.as_ref()?.bounds()
}

fn not_confirmed(record: &BisectRecord, position: usize) -> String {
    let bounds = confirmed_bounds(record);
    let measured = bounds.map_or_else(String::new, |bounds| {
        format!(": {} times its parent", interval(&bounds))
    });
    format!(
        "No single commit: the change is spread, or it comes from a build's memory layout. The \
         search led to {}, and two builds of it do not differ for certain from two builds of its \
         parent{measured}.",
        name_at(record, position)
    )
}

fn nothing(record: &BisectRecord) -> String {
    let ends = record.ends.as_ref().map(|ends| &ends.ratios);
    let blocks = ends.map_or(0, |ratios| ratios.per_block.len() as u64);
    let ratio = ends.and_then(|ratios| ratios.bounds);
    let ratio = ratio.map_or_else(|| NO_INTERVAL.to_owned(), |bounds| interval(&bounds));
    format!(
        "Nothing to find: {} and {} do not differ for certain by {} or more. The ratio of their \
         {} is {ratio} over {}. Name commits that are further apart, set a smaller `--by`, or set \
         a longer `--budget`.",
        clean_name(&record.revisions[0]),
        clean_name(&record.revisions[1]),
        percent(record.by),
        metric_name(record.metric),
        plural(blocks, "block")
    )
}

/// The effect of a change by this ratio, in words.
fn effect(record: &BisectRecord, ratio: f64) -> &'static str {
    match (record.direction(ratio), record.metric.sense()) {
        (Verdict::Slower, _) => "made the server slower",
        (Verdict::Faster, _) => "made the server faster",
        (Verdict::More, Sense::Cost) => "made the server need more",
        _ => "made the server need less",
    }
}

/// Hash, date and subject line of a commit.
fn described(record: &BisectRecord, position: usize) -> Document {
    let Some(commit) = record.commits.get(position) else {
        return Document::default();
    };
    let lines = [
        format!("commit {}", clean_name(&commit.commit)),
        format!("date   {}", clean_name(&commit.author_date)),
        format!("       {}", clean_name(&commit.subject_line)),
    ];
    let lines = lines.map(|line| format!("  {line}\n"));
    Document(vec![DocumentPart::Verbatim(lines.concat())])
}

/// The ratio of the two ends; `None` if the conclusion has it already.
fn ends(record: &BisectRecord) -> Option<String> {
    if record.conclusion == Some(BisectConclusion::NothingToFind) {
        return None;
    }
    let bounds = record.ends.as_ref()?.ratios.bounds?;
    let [good, bad] = record.revisions.each_ref().map(|name| clean_name(name));
    let between = record.commits.len().saturating_sub(1) as u64;
    Some(format!(
        "From {good} to {bad}, over {}, it is {} times the {}.",
        plural(between, "commit"),
        interval(&bounds),
        metric_name(record.metric)
    ))
}

/// A commit that was tried.
struct TriedCommit<'a> {
    position: usize,
    ratios: &'a BlockRatios,
    /// The end that it is like.
    is: &'static str,
}

/// Every commit that was tried, in the order of the history, with BAD at the end.
fn tried_commits(record: &BisectRecord) -> Vec<TriedCommit<'_>> {
    let trials = record.trials.iter().map(|trial| TriedCommit {
        position: trial.position,
        ratios: &trial.ratios,
        is: word(trial.outcome),
    });
    let last = record.commits.len().saturating_sub(1);
    let ends = record.ends.iter().map(|ends| TriedCommit {
        position: last,
        ratios: &ends.ratios,
        is: "BAD itself",
    });
    let mut commits: Vec<TriedCommit> = trials.chain(ends).collect();
    commits.sort_by_key(|commit| commit.position);
    commits
}

/// The commits that were tried, as a table and as bars.
fn tried(record: &BisectRecord, style: &Style) -> Document {
    let commits = tried_commits(record);
    if commits.is_empty() {
        return Document::default();
    }
    let rows = commits.iter().map(|commit| row(record, commit));
    let headers = ["commit", "ratio to GOOD", "95 % interval", "blocks", "is"];
    let mut text = Document::from(Table::new(headers, rows));
    let bars = bars(record, &commits, style);
    if !bars.is_empty() {
        text.0.push(DocumentPart::Gap);
        text.0.push(DocumentPart::Verbatim(bars));
        text.note(format!(
            "● ratio to GOOD, ┣━┫ 95 % interval, │ 1.00, ░ changes below --by ({}); log scale",
            percent(record.by)
        ));
    }
    let mut out = Document::default();
    out.picture(bar_page(record, &commits), text);
    out
}

/// The ratio and the ends of the interval of a commit, if they can be drawn.
fn drawn(commit: &TriedCommit) -> Option<[f64; 3]> {
    let bounds = commit.ratios.bounds?;
    let values = [bounds.ratio, bounds.low, bounds.high];
    values.into_iter().all(is_drawable).then_some(values)
}

/// A bar of characters for each commit with an interval.
fn bars(record: &BisectRecord, commits: &[TriedCommit], style: &Style) -> String {
    let label =
        |commit: &TriedCommit| format!("{} {}", name_at(record, commit.position), commit.is);
    let bars = commits.iter();
    let bars = bars.filter_map(|commit| Some((label(commit), drawn(commit)?)));
    let bars: Vec<(String, [f64; 3])> = bars.collect();
    let widest = bars.iter().map(|(label, _)| columns(label)).max();
    let Some(widest) = widest else {
        return String::new();
    };
    let width = style.columns().min(BARS_WIDTH).saturating_sub(widest + 4);
    let values = bars.iter().map(|(_, values)| *values);
    let scale = RatioScale::of(values, record.by, width.max(BAR_WIDTH_MIN));
    let line = |(label, values): &(String, [f64; 3])| {
        let line = format!("  {label:widest$}  {}", scale.bar(*values, false));
        format!("{}\n", line.trim_end())
    };
    let lines: String = bars.iter().map(line).collect();
    format!("{lines}  {:widest$}  {}\n", "", scale.axis())
}

/// Columns of bars and their labels, at most.
const BARS_WIDTH: usize = 80;
const BAR_WIDTH_MIN: usize = 11;

/// The commits as a table of a page, with a bar and a dot for each block in the last column.
fn bar_page(record: &BisectRecord, commits: &[TriedCommit]) -> Markup {
    let band = [1.0 / (1.0 + record.by), 1.0 + record.by];
    let values = commits.iter().filter_map(drawn).flatten().chain(band);
    let Some(scale) = Scale::log_around(values) else {
        return Markup::new();
    };
    let rows = commits.iter().map(|commit| {
        let [name, ratio, interval, blocks, is] = row(record, commit);
        let values = drawn(commit);
        let bar = Bar {
            backdrop: Backdrop {
                band: Some(band),
                rule: Some(1.0),
                ..Backdrop::default()
            },
            dots: { commit.ratios.per_block.iter().copied() }
                .filter(|ratio| is_drawable(*ratio))
                .collect(),
            point: values.map(|[ratio, ..]| ratio),
            ends: values.map(|[_, low, high]| [low, high].map(|end| BarEnd::new(end, false))),
        };
        [
            name_cell("who", &name),
            cell("verdict", &is),
            cell("ratio", &format!("{ratio} ({interval})")),
            cell("figure", &blocks),
            picture_cell(bar.markup(scale)),
        ]
    });
    let headers = [
        "commit",
        "is",
        "ratio to GOOD (interval)",
        "blocks",
        "ratio, log scale",
    ];
    let table = bar_table("Commits that were tried", headers, rows, axis(scale, plain));
    let legend = format!(
        "Diamond: ratio; bar: its 95 % interval. Dots below: single blocks. Hatched: changes below \
         `--by` ({}).",
        percent(record.by)
    );
    let parts: [Markup; 2] = [element("figure").add(table).into(), note(&legend).into()];
    parts.into_iter().collect()
}

fn row(record: &BisectRecord, tried: &TriedCommit) -> [String; 5] {
    let TriedCommit {
        position,
        ratios,
        is,
    } = *tried;
    let commit = record.commits.get(position);
    let title = commit.map_or("", |commit| &commit.subject_line);
    let name = format!(
        "{} {}",
        name_at(record, position),
        begin(&clean_name(title))
    );
    let [ratio, ends] = match &ratios.bounds {
        Some(bounds) => {
            let [ratio, low, high] = units::ratios([bounds.ratio, bounds.low, bounds.high]);
            [ratio, format!("{low} to {high}")]
        }
        None => [UNKNOWN, UNKNOWN].map(str::to_owned),
    };
    let blocks = match ratios.per_block.len() as u64 {
        0 => UNKNOWN.to_owned(),
        some => count(some),
    };
    [name, ratio, ends, blocks, is.to_owned()]
}

/// Why commits were skipped.
fn skipped(record: &BisectRecord) -> Vec<String> {
    let texts = record.trials.iter().filter_map(|trial| {
        let why = first_line(trial.why.as_deref()?);
        let name = name_at(record, trial.position);
        Some(format!("Skipped {name}: {why}"))
    });
    texts.collect()
}

/// The command that compares the commit with its parent again.
fn repeat(record: &BisectRecord) -> Document {
    let position = match record.conclusion {
        Some(
            BisectConclusion::Culprit { position } | BisectConclusion::NotConfirmed { position },
        ) => position,
        _ => return Document::default(),
    };
    let mut document = Document::default();
    let (Some(commit), Some(confirmation)) = (record.commits.get(position), &record.confirmation)
    else {
        return document;
    };
    let parent = CommitRecord::shortened(&confirmation.parent);
    // A commit of the working tree has no hash of its own.
    let is_tree = position + 1 == record.commits.len() && record.revisions[1] == ".";
    let commit = if is_tree { "." } else { commit.short() };
    let words = repeat_command(&record.command, &record.revisions, [parent, commit]);
    document.paragraph("Compare it with its parent again:");
    let line = format!("  {}\n", clean(&shell_words::join(words)));
    document.0.push(DocumentPart::Verbatim(line));
    document
}

fn word(outcome: TrialOutcome) -> &'static str {
    match outcome {
        TrialOutcome::LikeGood => "like GOOD",
        TrialOutcome::LikeBad => "like BAD",
        TrialOutcome::LikeNeither => "like neither",
        TrialOutcome::Undecided => "undecided",
        TrialOutcome::Skipped => "skipped",
    }
}

fn name_at(record: &BisectRecord, position: usize) -> String {
    let commit = record.commits.get(position);
    commit.map_or_else(|| UNKNOWN.to_owned(), |commit| clean_name(commit.short()))
}

/// The beginning of a subject line: its end matters less.
fn begin(title: &str) -> String {
    match title.char_indices().nth(TITLE) {
        Some((end, _)) => format!("{}…", title[..end].trim_end()),
        None => title.to_owned(),
    }
}

fn first_line(text: &str) -> String {
    let line = clean(text).lines().next().unwrap_or_default().to_owned();
    // The record has the lines of output that follow.
    match line.split_once("; the end of its output") {
        Some((line, _)) => line.to_owned(),
        None => line,
    }
}

/// Letters of a subject line in a table.
const TITLE: usize = 32;
