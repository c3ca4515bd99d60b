//! The first screen of a study that compares much: the decided comparisons in sentences, and all
//! verdicts at a glance.

use abx_verdict::{Comparison, Metric, Place, Ranking, StudyRecord, Verdict};

use crate::document::{CellDetail, Document};
use crate::sections::compared::decided::{decided_groups, largest};
use crate::sections::compared::grid::matrix;
use crate::sections::compared::questions::{self, PairsOfQuestion, questions};
use crate::words::metrics::metric_under;
use crate::words::style::{ReportExtent, Style};
use crate::words::units::{count, plural};
use crate::words::verdict::{BLOCKS_SHOWN_MAX, more_blocks, name, sentence_of_all, word};

/// The number of comparisons by verdict.
fn headline(record: &StudyRecord) -> String {
    let comparisons: Vec<&Comparison> = record.conclusions.primary().collect();
    let times = |is: &dyn Fn(Verdict) -> bool| {
        let verdicts = comparisons.iter().map(|comparison| comparison.verdict);
        verdicts.filter(|verdict| is(*verdict)).count()
    };
    let loads = plural(record.measured.loads.len() as u64, "load");
    if let [[subject, baseline]] = record.measured.pairs()[..] {
        // A fault and a search for rates are compared, too.
        let (within, among) = if comparisons.len() == record.measured.loads.len() {
            ("under", loads)
        } else {
            ("in", plural(comparisons.len() as u64, "comparison"))
        };
        let counts = VERDICTS.into_iter().filter_map(|verdict| {
            let times = times(&|other| other == verdict);
            (times > 0).then(|| format!("{} {within} {times}", word(verdict)))
        });
        let counts: Vec<String> = counts.collect();
        return format!(
            "{} compared with {} {within} {among}: {}.",
            name(subject),
            name(baseline),
            counts.join(", ")
        );
    }
    let is_decided = |verdict: Verdict| verdict.is_decided();
    let mut counts = vec![format!(
        "{} of {} decided",
        count(times(&is_decided) as u64),
        plural(comparisons.len() as u64, "comparison")
    )];
    for (verdict, words) in [
        (Verdict::Inconclusive, "undecided"),
        (Verdict::Invalid, "without a result"),
    ] {
        let times = times(&|other| other == verdict);
        if times > 0 {
            counts.push(format!("{} {words}", count(times as u64)));
        }
    }
    let servers = plural(record.measured.subjects.len() as u64, "server");
    format!("{servers}, {loads}: {}.", counts.join(", "))
}

const VERDICTS: [Verdict; 7] = [
    Verdict::Faster,
    Verdict::Slower,
    Verdict::Less,
    Verdict::More,
    Verdict::Equivalent,
    Verdict::Inconclusive,
    Verdict::Invalid,
];

/// The number of blocks that a verdict still needs; `None` if there are enough.
fn lacking(record: &StudyRecord) -> Option<String> {
    let mut primary = record.conclusions.primary();
    let comparison = primary.find(|comparison| comparison.too_few_blocks)?;
    let lacking = crate::words::verdict::lacking(record, comparison);
    Some(format!("Too few blocks: {lacking}."))
}

/// The primary comparisons of these pairs, in the order of the pairs.
fn of_pairs<'a>(
    record: &'a StudyRecord,
    pairs: &[[&str; 2]],
) -> impl Iterator<Item = &'a Comparison> {
    let of = |pair: &[&str; 2]| {
        let pair = pair.map(str::to_owned);
        let primary = record.conclusions.primary();
        primary.filter(move |other| [&other.subject, &other.baseline] == [&pair[0], &pair[1]])
    };
    pairs.iter().flat_map(of).collect::<Vec<_>>().into_iter()
}

/// The result in sentences; only its head and leaders if the questions stand above the rows of
/// the matrix.
pub(crate) fn overview_of_text(
    record: &StudyRecord,
    extent: ReportExtent,
    style: &Style,
) -> Document {
    if !questions::head_rows(record) {
        return overview(record, extent, style);
    }
    decided_and_first(record)
}

/// The number of comparisons by verdict, and the subjects in first place.
pub(crate) fn decided_and_first(record: &StudyRecord) -> Document {
    let mut out = head(record);
    out.append(leaders(record).into_iter().collect());
    out
}

/// The result in sentences: its head, the decided comparisons of each question, and the leaders.
pub(crate) fn overview(record: &StudyRecord, extent: ReportExtent, style: &Style) -> Document {
    let mut out = head(record);
    let questions = questions(record);
    let most = match (extent, questions.len()) {
        (ReportExtent::Full, _) => usize::MAX,
        (_, 0 | 1) => SENTENCES_MAX,
        _ => PER_QUESTION_MAX,
    };
    let (sentences, left_out) = in_sentences(record, &questions, most, style);
    out.append(sentences);
    if left_out > 0 {
        let more = plural(left_out as u64, "more decided comparison");
        out.note(format!("{more} in the table."));
    }
    out.append(leaders(record).into_iter().collect());
    out
}

/// The sentences on the first screen of a page, and all sentences, to be folded.
pub(crate) fn overview_of_page(record: &StudyRecord, style: &Style) -> [Document; 2] {
    let questions = questions(record);
    let shown = &questions[..questions.len().min(PAGE_SENTENCES_MAX)];
    let per_question = PAGE_SENTENCES_MAX / shown.len().max(1);
    let mut first = head(record);
    first.append(in_sentences(record, shown, per_question, style).0);
    let (mut whole, _) = in_sentences(record, &questions, usize::MAX, style);
    whole.append(leaders(record).into_iter().collect());
    [first, whole]
}

/// The number of comparisons by verdict, and of blocks that a verdict still needs.
fn head(record: &StudyRecord) -> Document {
    let head = std::iter::once(headline(record)).chain(lacking(record));
    head.collect()
}

/// Questions with at most `most` sentences each, and the number of decided comparisons in none.
fn in_sentences(
    record: &StudyRecord,
    questions: &[PairsOfQuestion],
    most: usize,
    style: &Style,
) -> (Document, usize) {
    let mut out = Document::default();
    let mut left_out = 0;
    for (question, pairs) in questions {
        let (shown, others) = largest(decided_groups(of_pairs(record, pairs)), most);
        left_out += others;
        if let Some(question) = question {
            out.title(*question);
            if shown.is_empty() {
                out.paragraph(undecided_pairs(pairs));
            }
        }
        for group in &shown {
            out.paragraph(sentence_of_all(record, &group.comparisons, style));
        }
    }
    (out, left_out)
}

fn undecided_pairs(pairs: &[[&str; 2]]) -> String {
    let texts = pairs.iter().map(|pair| {
        let [subject, baseline] = pair.map(name);
        format!("{subject} ÷ {baseline}")
    });
    let texts: Vec<String> = texts.collect();
    format!("Not decided: {}.", texts.join(", "))
}

/// Sentences of a study without questions.
const SENTENCES_MAX: usize = 4;
/// Sentences of one question.
const PER_QUESTION_MAX: usize = 2;
/// Sentences on the first screen of a page.
const PAGE_SENTENCES_MAX: usize = 3;

/// The subjects in first place, with their loads; `None` if no first place is certain.
fn leaders(record: &StudyRecord) -> Option<String> {
    let mut groups: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
    for ranking in &record.conclusions.rankings {
        let [first, not_excluded] = first(ranking);
        let tied = first.len() + not_excluded.len();
        if !(1..=LEADERS_MAX).contains(&tied) || tied == ranking.places.len() {
            continue;
        }
        let by = match ranking.metric {
            Metric::Throughput => String::new(),
            metric => format!(" ({})", metric_under(record, &ranking.load, metric)),
        };
        let not_excluded: Vec<String> = not_excluded.into_iter().map(name).collect();
        let others = match &not_excluded[..] {
            [] => String::new(),
            names => format!(" ({} not excluded)", names.join(", ")),
        };
        let load = format!("{}{by}{others}", name(&ranking.load));
        match groups.iter_mut().find(|(names, _)| *names == first) {
            Some((_, loads)) => loads.push(load),
            None => groups.push((first, vec![load])),
        }
    }
    let texts = groups.iter().map(|(names, loads)| {
        let names: Vec<String> = names.iter().map(|text| name(text)).collect();
        let names = match &names[..] {
            [only] => only.clone(),
            several => format!("{} (shared)", several.join(", ")),
        };
        format!("{names} under {}", loads.join(", "))
    });
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| format!("First place: {}.", texts.join("; ")))
}

/// The subjects that share the first place, and the subjects that are merely not excluded from it:
/// by their averages, they are behind a subject that is certainly not first. Both sorted by name.
fn first(ranking: &Ranking) -> [Vec<&str>; 2] {
    let places = &ranking.places;
    let ahead = places.iter().take_while(|place| place.tied_for_first);
    // Averages and comparisons may rest on different blocks.
    let ahead = match ahead.count() {
        0 => places.len(),
        count => count,
    };
    let (ahead, behind) = places.split_at(ahead);
    [ahead, behind].map(tied_for_first)
}

fn tied_for_first(places: &[Place]) -> Vec<&str> {
    let tied = places.iter().filter(|place| place.tied_for_first);
    let mut names: Vec<&str> = tied.map(|place| place.subject.as_str()).collect();
    names.sort_unstable();
    names
}

/// If more subjects share the first place, no subject leads.
const LEADERS_MAX: usize = 2;

/// All verdicts at a glance, with their intervals in a full report; nothing if they are few.
pub(crate) fn at_a_glance(record: &StudyRecord, extent: ReportExtent, style: &Style) -> Document {
    let Some(mut matrix) = matrix(record, style) else {
        return Document::default();
    };
    if (extent, matrix.detail) == (ReportExtent::Full, CellDetail::Mark) {
        matrix.detail = CellDetail::Interval;
    }
    let mut out = Document::from(matrix);
    out.append(deciding(record).into_iter().collect());
    out
}

/// How many more blocks half of the undecided comparisons need; `None` if that is more than reports
/// state, or not known.
pub(crate) fn deciding(record: &StudyRecord) -> Option<String> {
    let primary = record.conclusions.primary();
    let undecided = primary.filter(|comparison| comparison.verdict == Verdict::Inconclusive);
    let more = undecided.map(|comparison| comparison.blocks_more.unwrap_or(u32::MAX));
    let mut more: Vec<u32> = more.collect();
    more.sort_unstable();
    let middle = *more.get(more.len().checked_sub(1)? / 2)?;
    if middle > BLOCKS_SHOWN_MAX {
        return None;
    }
    let blocks = more_blocks(record, middle);
    Some(match more.len() {
        1 => format!("About {blocks} would decide the undecided comparison."),
        _ => format!("About {blocks} would decide half of the undecided comparisons."),
    })
}

pub(crate) const OVERVIEW_REST: &str = "More: `--full` or `--html FILE`; `abx explain NAME` for a \
                                        name in this report.";
