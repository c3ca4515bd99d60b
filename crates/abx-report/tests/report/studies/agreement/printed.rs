//! The outputs of one record, and readers of what they print.

use super::text_table::{TableCell, cells_below};
use crate::support::study_html;
use abx_report::{ReportExtent, Style, study_markdown, study_text};
use abx_verdict::{Comparison, Metric, StudyRecord};

/// So wide that no line is broken.
const WIDE: Style = Style {
    width: 100_000,
    ..Style::plain()
};

/// Each output as it is printed.
#[derive(Clone)]
pub struct Printed {
    /// What fits on a screen: a grid, if the study compares much.
    pub grid: String,
    /// All sentences and rankings.
    pub full: String,
    pub markdown: String,
    pub html: String,
}

/// A verdict that was read from an output.
pub struct Seen {
    pub place: &'static str,
    /// Of which comparison of the record.
    pub number: usize,
    pub mark: Option<String>,
    pub word: Option<String>,
}

/// A ranking that was read from an output.
pub struct ShownRanking {
    /// Each subject with its best and its worst rank.
    pub ranks: Vec<(String, usize, usize)>,
    pub first: Vec<String>,
}

impl Printed {
    pub fn of(record: &StudyRecord) -> Printed {
        Printed {
            grid: study_text(record, ReportExtent::Brief, &WIDE),
            full: study_text(record, ReportExtent::Full, &WIDE),
            markdown: study_markdown(record, &[]),
            html: study_html(&without_slices(record), &[]),
        }
    }

    /// In how many places each primary verdict stands at least.
    pub fn forms(&self) -> usize {
        if self.has_grid() { 5 } else { 4 }
    }

    fn has_grid(&self) -> bool {
        self.html.contains("<table class=\"matrix\">")
    }

    /// Every verdict in every output.
    pub fn verdicts(&self, record: &StudyRecord) -> Vec<Seen> {
        let mut seen = if self.has_grid() {
            overview(record, &self.full)
        } else {
            sentences(record, "sentences", self.full.lines(), "")
        };
        let bullets = self.markdown.lines().filter(|line| is_bullet(line));
        let bullets: Vec<String> = bullets.map(|line| line.replace('\\', "")).collect();
        let bullets = bullets.iter().map(String::as_str);
        seen.extend(sentences(record, "Markdown sentences", bullets, "- "));
        seen.extend(markdown_lists(record, &self.markdown));
        seen.extend(cards(record, &self.html));
        seen.extend(html_rows(&self.html));
        seen.extend(overview(record, &self.grid));
        if self.has_grid() {
            seen.extend(grid(record, &self.grid));
            seen.extend(markdown_tables(record, &self.markdown));
            seen.extend(html_matrix(record, &self.html));
        }
        seen
    }

    /// Sentences in which a bound stands beside an interval that reaches beyond it.
    pub fn bounds_beyond_themselves(&self) -> Vec<String> {
        let is_wrong = |line: &&str| {
            ["at least", "at most"].iter().any(|bound| {
                let after = line
                    .split_once(&format!("{bound} "))
                    .map(|(_, after)| after);
                after.is_some_and(|after| {
                    let is_ratio = after
                        .split_once('×')
                        .is_some_and(|(ratio, _)| ratio.parse::<f64>().is_ok());
                    let detail = after.split_once('(').map(|(_, detail)| detail);
                    let detail = detail.and_then(|detail| detail.split(')').next());
                    is_ratio && detail.is_some_and(|detail| detail.contains(" to "))
                })
            })
        };
        let texts = [&self.grid, &self.full, &self.markdown];
        let lines = texts.into_iter().flat_map(|text| text.lines());
        lines.filter(is_wrong).map(str::to_owned).collect()
    }

    /// The rankings of each output that has them.
    pub fn rankings(&self, record: &StudyRecord) -> [(&'static str, Vec<ShownRanking>); 2] {
        let lines = self
            .full
            .lines()
            .filter(|line| line.starts_with("Ranking by "));
        let mut in_text: Vec<ShownRanking> = lines.map(ranking_line).collect();
        if in_text.is_empty() {
            in_text = rankings_of_ranks(record, &self.full);
        }
        let sections = self.html.split("<caption>Ranking by ").skip(1);
        [
            ("terminal", in_text),
            ("page", sections.map(ranking_table).collect()),
        ]
    }
}

/// The record without its slices, of which most of a page is made, and no verdict.
fn without_slices(record: &StudyRecord) -> StudyRecord {
    let mut bare = record.clone();
    bare.measured.blocks.clear();
    bare
}

fn number_of(record: &StudyRecord, comparison: &Comparison) -> usize {
    let mut comparisons = record.conclusions.comparisons.iter();
    comparisons
        .position(|other| std::ptr::eq(other, comparison))
        .expect("what every output has here")
}

/// The comparison of a cell: its pair, its load, and whether it is of CPU time.
fn find<'a>(
    record: &'a StudyRecord,
    pair: [&str; 2],
    load: &str,
    is_cpu: bool,
) -> Option<&'a Comparison> {
    record.conclusions.primary().find(|comparison| {
        [&*comparison.subject, &*comparison.baseline] == pair
            && comparison.load == load
            && (comparison.metric == Metric::ServerCpu) == is_cpu
    })
}

/// The pair of a row by its name.
fn pair_of(record: &StudyRecord, name: &str) -> Option<[String; 2]> {
    let pairs = record.measured.pairs().into_iter();
    let mut pairs = pairs.map(|pair| pair.map(str::to_owned));
    match record.measured.only_baseline() {
        Some(_) => pairs.find(|[subject, _]| subject == name),
        None => pairs.find(|[subject, baseline]| format!("{subject} ÷ {baseline}") == name),
    }
}

/// The words of a sentence.
fn tokens(line: &str) -> Vec<&str> {
    let split = line.split([' ', ',', ':', ';', '(', ')', '*', '\u{a0}']);
    let everything = split.map(|word| word.trim_end_matches("'s").trim_end_matches('.'));
    everything.filter(|word| !word.is_empty()).collect()
}

fn is_bullet(line: &str) -> bool {
    let mark = line.strip_prefix("- ").and_then(|rest| rest.chars().next());
    mark.is_some_and(|mark| MARKS.contains(mark)) && line.contains(" **")
}

/// Reads sentences after their marks, each of which is of one primary comparison: by the names
/// in it, and of several with the same names by their order.
fn sentences<'a>(
    record: &StudyRecord,
    place: &'static str,
    lines: impl Iterator<Item = &'a str>,
    before_mark: &str,
) -> Vec<Seen> {
    let several = record.measured.loads.len() > 1;
    let lines: Vec<&str> = lines.collect();
    let mut is_used = vec![false; lines.len()];
    let mut seen = Vec::new();
    for comparison in record.conclusions.primary() {
        let is_of = |line: &str| {
            let words = tokens(line);
            let at = |name: &str| words.iter().position(|word| *word == name);
            let place = !several || at(&comparison.load).is_some() || comparison.load.is_empty();
            let order = at(&comparison.subject).zip(at(&comparison.baseline));
            place && order.is_some_and(|(subject, baseline)| subject < baseline)
        };
        let is_verdict = |line: &str| !line.starts_with(' ') && word_of(line).is_some();
        let mut candidates = lines.iter().zip(&mut is_used);
        let Some((line, is_used)) =
            candidates.find(|(line, is_used)| !**is_used && is_verdict(line) && is_of(line))
        else {
            continue;
        };
        *is_used = true;
        let mark = (!before_mark.is_empty()).then(|| line[before_mark.len()..].chars().next());
        seen.push(Seen {
            place,
            number: number_of(record, comparison),
            mark: mark.flatten().map(String::from),
            word: word_of(line),
        });
    }
    seen
}

/// The verdict that a sentence ends in.
fn word_of(line: &str) -> Option<String> {
    let line = line.trim_end_matches('*');
    if line.contains(": no result, because ") {
        return Some("no result".to_owned());
    }
    if [": undecided. ", ": undecided, too few blocks."]
        .iter()
        .any(|undecided| line.contains(undecided))
    {
        return Some("undecided".to_owned());
    }
    let (_, word) = line.strip_suffix('.')?.rsplit_once(": ")?;
    let words = ["faster", "slower", "less", "more", "same", "undecided"];
    words.contains(&word).then(|| word.to_owned())
}

/// The sentences of the first screen, each of one pair under the loads that it names.
fn overview(record: &StudyRecord, text: &str) -> Vec<Seen> {
    let mut seen = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with(' ')) {
        let Some(word) = word_of(line) else { continue };
        let words = tokens(line);
        let is_cpu = line.contains(" CPU per ");
        let at = |name: &str| words.iter().position(|word| *word == name);
        for [subject, baseline] in record.measured.pairs() {
            let order = at(subject).zip(at(baseline));
            if order.is_none_or(|(subject, baseline)| subject >= baseline) {
                continue;
            }
            let loads = record.measured.loads.iter();
            for load in loads.filter(|load| at(&load.name).is_some()) {
                let comparison = find(record, [subject, baseline], &load.name, is_cpu);
                seen.extend(comparison.map(|comparison| Seen {
                    place: "overview",
                    number: number_of(record, comparison),
                    mark: None,
                    word: Some(word.clone()),
                }));
            }
        }
    }
    seen
}

/// The cells of the terminal's matrix.
fn grid(record: &StudyRecord, text: &str) -> Vec<Seen> {
    match record.measured.pairs()[..] {
        [_] => grid_of_loads(record, text),
        _ => grid_of_pairs(record, text),
    }
}

/// The primary comparison of a row of the only pair: by the load, and of several rows of one load
/// by their order.
fn of_row(record: &StudyRecord, load: &str, before: &[String]) -> usize {
    let nth = before.iter().filter(|other| *other == load).count();
    let mut comparisons = record
        .conclusions
        .primary()
        .filter(|other| other.load == load);
    let comparison = comparisons.nth(nth).expect("the comparison of a row");
    number_of(record, comparison)
}

/// The rows of the only pair, which end in mark and word.
fn grid_of_loads(record: &StudyRecord, text: &str) -> Vec<Seen> {
    let mut loads: Vec<String> = Vec::new();
    let mut seen = Vec::new();
    for line in text.lines() {
        let Some(load) = line
            .split([' ', ','])
            .next()
            .filter(|name| !name.is_empty())
        else {
            continue;
        };
        let Some((mark, word)) = mark_and_word(line).filter(|_| line.contains("  ")) else {
            continue;
        };
        if record.conclusions.primary().all(|other| other.load != load) {
            continue;
        }
        seen.push(Seen {
            place: "grid",
            number: of_row(record, load, &loads),
            mark: Some(mark),
            word: Some(word),
        });
        loads.push(load.to_owned());
    }
    seen
}

/// The mark of a cell and the word after it, without the letters of the legend.
fn mark_and_word(cell: &str) -> Option<(String, String)> {
    // The dash of an interval has no blank before it.
    let at = MARKS
        .chars()
        .filter_map(|mark| cell.rfind(&format!(" {mark} ")))
        .max();
    let start = cell.chars().next().filter(|first| MARKS.contains(*first));
    let cell = match (at, start) {
        (Some(at), _) => &cell[at + 1..],
        (None, Some(_)) => cell,
        (None, None) => return None,
    };
    let (mark, word) = cell.split_once(' ')?;
    let word = word.trim_end_matches(['~', 'c', 'b', '\\']).trim();
    let word = word.trim_matches('*').split(',').next()?;
    Some((mark.to_owned(), word.to_owned()))
}

/// The cells of pairs, by the columns in which headers end.
fn grid_of_pairs(record: &StudyRecord, text: &str) -> Vec<Seen> {
    let lines: Vec<Vec<char>> = text.lines().map(|line| line.chars().collect()).collect();
    let rows: Vec<String> = record
        .measured
        .pairs()
        .iter()
        .map(
            |[subject, baseline]| match record.measured.only_baseline() {
                Some(_) => (*subject).to_owned(),
                None => format!("{subject} ÷ {baseline}"),
            },
        )
        .collect();
    cells_below(&lines, &rows, "")
        .into_iter()
        .filter_map(|cell| grid_cell(record, &cell))
        .collect()
}

/// The verdict of a cell, if it has one.
fn grid_cell(record: &StudyRecord, cell: &TableCell) -> Option<Seen> {
    let pair = pair_of(record, &cell.row)?;
    let at = cell.text.rfind(|letter| MARKS.contains(letter))?;
    let mark = cell.text[at..].chars().next()?;
    let is_cpu = cell.text[at..].contains('c') || cell.header.contains("CPU");
    let load = column_load(record, &cell.header).expect("a load above each column");
    let comparison = find(record, [&pair[0], &pair[1]], load, is_cpu);
    Some(Seen {
        place: "grid",
        number: number_of(record, comparison.expect("the comparison of a cell")),
        mark: Some(mark.to_string()),
        word: None,
    })
}

/// The table of ranks, a column per ranking.
fn rankings_of_ranks(record: &StudyRecord, text: &str) -> Vec<ShownRanking> {
    let lines: Vec<Vec<char>> = text.lines().map(|line| line.chars().collect()).collect();
    let subjects = record.measured.subjects.iter();
    let subjects: Vec<String> = subjects.map(|subject| subject.name.clone()).collect();
    let mut rankings: Vec<(String, ShownRanking)> = Vec::new();
    if !text.contains(RANKS) {
        return Vec::new();
    }
    for cell in cells_below(&lines, &subjects, RANKS) {
        if cell.text.is_empty() {
            continue;
        }
        if !rankings.iter().any(|(header, _)| *header == cell.header) {
            let empty = ShownRanking {
                ranks: Vec::new(),
                first: Vec::new(),
            };
            rankings.push((cell.header.clone(), empty));
        }
        let mut same = rankings.iter_mut();
        let (_, ranking) = same
            .find(|(header, _)| *header == cell.header)
            .expect("the ranking of a cell");
        let (best, worst) = read_ranks(&cell.text);
        if best == 1 {
            ranking.first.push(cell.row.clone());
        }
        ranking.ranks.push((cell.row, best, worst));
    }
    rankings.into_iter().map(|(_, ranking)| ranking).collect()
}

const RANKS: &str = "Possible ranks";

/// The load or fault whose name a header begins with.
fn column_load<'a>(record: &'a StudyRecord, header: &str) -> Option<&'a str> {
    let loads = record.measured.loads.iter().map(|load| load.name.as_str());
    let faults = record
        .measured
        .faults
        .iter()
        .map(|fault| fault.name.as_str());
    let named = loads.chain(faults).filter(|name| header.starts_with(name));
    named.max_by_key(|name| name.len())
}

/// The tables of Markdown that have a column per load.
fn markdown_tables(record: &StudyRecord, markdown: &str) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut headers: Vec<String> = Vec::new();
    let mut loads: Vec<String> = Vec::new();
    for line in markdown.lines() {
        if line.starts_with("|  | `") {
            headers = line.split(" | ").skip(1).map(str::to_owned).collect();
            continue;
        }
        let row = line.strip_prefix("| ").filter(|_| line.starts_with("| `"));
        let Some(row) = row.filter(|_| !headers.is_empty()) else {
            if !line.starts_with("| ---") {
                headers.clear();
            }
            continue;
        };
        let mut cells = row.trim_end_matches([' ', '|']).split(" | ");
        let name = cells.next().unwrap_or_default().replace('`', "");
        let pair = pair_of(record, &name);
        let load = name.split(',').next().unwrap_or_default();
        for (cell, header) in cells.zip(&headers) {
            let Some((mark, word)) = mark_and_word(cell) else {
                continue;
            };
            let column = header
                .split('`')
                .nth(1)
                .expect("what every output has here");
            let number = match &pair {
                Some(pair) => {
                    let is_cpu = header.contains("CPU") || cell.ends_with('c');
                    let comparison = find(record, [&pair[0], &pair[1]], column, is_cpu);
                    number_of(record, comparison.expect("the comparison of a cell"))
                }
                None => of_row(record, load, &loads),
            };
            loads.push(load.to_owned());
            seen.push(Seen {
                place: "Markdown table",
                number,
                mark: Some(mark),
                word: Some(word),
            });
        }
    }
    seen
}

/// The tables of Markdown that have a line per comparison: the primary ones unless a matrix has
/// them, then the others.
fn markdown_lists(record: &StudyRecord, markdown: &str) -> Vec<Seen> {
    let rows = markdown.split("|  | where | metric |").skip(1);
    let rows = rows.flat_map(|table| {
        table
            .lines()
            .skip(2)
            .take_while(|line| line.starts_with('|'))
    });
    let rows: Vec<&str> = rows.collect();
    let first = record.conclusions.comparisons.len() - rows.len();
    let seen = |(number, row): (usize, &str)| {
        let cells: Vec<&str> = row.trim_matches(['|', ' ']).split(" | ").collect();
        let comparison = &record.conclusions.comparisons[number];
        assert_eq!(
            cells[0].replace('\\', ""),
            format!("{} ÷ {}", comparison.subject, comparison.baseline)
        );
        let (mark, word) = mark_and_word(cells[5]).expect("what every output has here");
        Seen {
            place: "Markdown list",
            number,
            mark: Some(mark),
            word: Some(word),
        }
    };
    (first..).zip(rows).map(seen).collect()
}

/// The text between two others.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    Some(rest.split_once(end)?.0)
}

/// The cards of the page.
fn cards(record: &StudyRecord, html: &str) -> Vec<Seen> {
    let cards = html.split("<li class=\"verdict ").skip(1);
    let lines: Vec<String> = cards
        .map(|card| {
            let mark =
                between(card, "aria-hidden=\"true\">", "<").expect("what every output has here");
            let text = between(card, "<p>", "</p>").expect("what every output has here");
            format!("{mark} {}", text.replace("&#39;", "'"))
        })
        .collect();
    let lines = lines.iter().map(String::as_str);
    let marked = lines.map(|line| line.trim_start());
    let lines: Vec<String> = marked.map(|line| format!("- {line}")).collect();
    sentences(record, "cards", lines.iter().map(String::as_str), "- ")
}

/// The cells of the page's matrix, which lead to their comparisons by number.
fn html_matrix(record: &StudyRecord, html: &str) -> Vec<Seen> {
    let matrix = between(html, "<table class=\"matrix\">", "</table>").unwrap_or_default();
    let mut seen = Vec::new();
    for row in matrix.split("<tr>").skip(2) {
        let name = between(row, "scope=\"row\">", " <small>").unwrap_or_default();
        let name = name.trim_start_matches("<bdi>").trim_end_matches("</bdi>");
        for cell in row.split("<td class=\"cell ").skip(1) {
            let Some(number) = between(cell, "#ratio-", "\"") else {
                continue;
            };
            let number: usize = number.parse().expect("what every output has here");
            let comparison = &record.conclusions.comparisons[number];
            match pair_of(record, name) {
                Some(pair) => assert_eq!(
                    [&pair[0], &pair[1]],
                    [&comparison.subject, &comparison.baseline]
                ),
                None => assert_eq!(name, comparison.load),
            }
            seen.push(Seen {
                place: "matrix",
                number,
                mark: between(cell, "aria-hidden=\"true\">", "<").map(str::to_owned),
                word: cell.split('"').next().map(|class| class.replace('-', " ")),
            });
        }
    }
    seen
}

/// The rows of the page's pictures of ratios, which have the numbers of their comparisons.
fn html_rows(html: &str) -> Vec<Seen> {
    let rows = html.split(" id=\"ratio-").skip(1);
    let seen = |row: &str| {
        let cell = between(row, "class=\"verdict\">", "</td>")?;
        let word = cell.split_once("</span>")?.1;
        Some(Seen {
            place: "rows",
            number: row.split('"').next()?.parse().ok()?,
            mark: between(cell, "aria-hidden=\"true\">", "<").map(str::to_owned),
            word: word.split([',', '<']).next().map(str::to_owned),
        })
    };
    rows.filter_map(seen).collect()
}

/// `1-2 a, 3 b; tied for first: a, b.` after what it is by.
fn ranking_line(line: &str) -> ShownRanking {
    let (_, rest) = line
        .rsplit_once(": ")
        .filter(|(before, _)| !before.contains("first"))
        .unwrap_or_else(|| {
            let (before, _) = line.split_once("; ").expect("what every output has here");
            before
                .rsplit_once(": ")
                .expect("what every output has here")
        });
    let ranks = rest.trim_end_matches('.').split(", ").map(|place| {
        let (ranks, name) = place.split_once(' ').expect("what every output has here");
        let (best, worst) = read_ranks(ranks);
        (name.to_owned(), best, worst)
    });
    let first = line.split_once("first: ").map_or("", |(_, names)| names);
    let first = first.trim_end_matches('.').split(", ").map(str::to_owned);
    ShownRanking {
        ranks: ranks.collect(),
        first: first.filter(|name| !name.is_empty()).collect(),
    }
}

fn ranking_table(section: &str) -> ShownRanking {
    let table = section
        .split("</table>")
        .next()
        .expect("what every output has here");
    let rows = table.split("<tr>").skip(2).map(|row| {
        let cells = row.split("</t").map(|cell| {
            let (_, cell) = cell.rsplit_once('>').expect("what every output has here");
            cell
        });
        let cells: Vec<&str> = cells.take(3).collect();
        let (best, worst) = read_ranks(cells[1]);
        ((cells[0].to_owned(), best, worst), !cells[2].is_empty())
    });
    let rows: Vec<_> = rows.collect();
    let first = rows.iter().filter(|(_, is_first)| *is_first);
    ShownRanking {
        first: first.map(|((name, ..), _)| name.clone()).collect(),
        ranks: rows.into_iter().map(|(ranks, _)| ranks).collect(),
    }
}

/// `2` or `2-4`.
fn read_ranks(text: &str) -> (usize, usize) {
    let (best, worst) = text.split_once('-').unwrap_or((text, text));
    (
        best.parse().expect("what every output has here"),
        worst.parse().expect("what every output has here"),
    )
}

const MARKS: &str = "▲▼=?–";
