//! The outputs of one record, and readers of their verdicts and rankings.

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
    /// The brief report: it has a grid if the study compares much.
    pub grid: String,
    /// The full report: all sentences and rankings.
    pub full: String,
    pub markdown: String,
    pub html: String,
}

/// A verdict that was read from an output.
#[derive(Debug)]
pub struct PrintedVerdict {
    pub place: &'static str,
    /// The index of the comparison in the record.
    pub index: usize,
    pub mark: Option<String>,
    pub word: Option<String>,
}

/// A ranking that was read from an output.
#[derive(Default)]
pub struct PrintedRanking {
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

    /// The least number of places that have each primary verdict.
    pub fn places_min(&self) -> usize {
        if self.has_grid() { 5 } else { 4 }
    }

    fn has_grid(&self) -> bool {
        self.html.contains("<table class=\"matrix\">")
    }

    /// Every verdict in every output.
    pub fn verdicts(&self, record: &StudyRecord) -> Vec<PrintedVerdict> {
        let mut verdicts = if self.has_grid() {
            overview(record, &self.full)
        } else {
            sentences(record, "sentences", self.full.lines(), "")
        };
        let bullets = self.markdown.lines().filter(|line| is_bullet(line));
        let bullets: Vec<String> = bullets.map(|line| line.replace('\\', "")).collect();
        let bullets = bullets.iter().map(String::as_str);
        verdicts.extend(sentences(record, "Markdown sentences", bullets, "- "));
        verdicts.extend(markdown_lists(record, &self.markdown));
        verdicts.extend(cards(record, &self.html));
        verdicts.extend(html_rows(&self.html));
        verdicts.extend(overview(record, &self.grid));
        if self.has_grid() {
            verdicts.extend(grid(record, &self.grid));
            verdicts.extend(markdown_tables(record, &self.markdown));
            verdicts.extend(html_matrix(record, &self.html));
        }
        verdicts
    }

    /// Sentences that give an interval beside a bound, although the interval reaches beyond it.
    pub fn bounds_with_intervals(&self) -> Vec<String> {
        let has_interval = |line: &str, bound: &str| {
            let (_, after) = line.split_once(bound)?;
            let (ratio, _) = after.split_once('×')?;
            let detail = after.split_once('(')?.1.split(')').next()?;
            Some(ratio.parse::<f64>().is_ok() && detail.contains(" to "))
        };
        let is_wrong = |line: &&str| {
            let mut bounds = ["at least ", "at most "].into_iter();
            bounds.any(|bound| has_interval(line, bound) == Some(true))
        };
        let texts = [&self.grid, &self.full, &self.markdown];
        let lines = texts.into_iter().flat_map(|text| text.lines());
        lines.filter(is_wrong).map(str::to_owned).collect()
    }

    /// The rankings of each output that has them.
    pub fn rankings(&self, record: &StudyRecord) -> [(&'static str, Vec<PrintedRanking>); 2] {
        let lines = self
            .full
            .lines()
            .filter(|line| line.starts_with("Ranking by "));
        let mut in_text: Vec<PrintedRanking> = lines.map(ranking_line).collect();
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

/// The record without its slices, which fill most of a page but have no verdict.
fn without_slices(record: &StudyRecord) -> StudyRecord {
    let mut bare = record.clone();
    bare.measured.blocks.clear();
    bare
}

fn index_of(record: &StudyRecord, comparison: &Comparison) -> usize {
    let mut comparisons = record.conclusions.comparisons.iter();
    comparisons
        .position(|other| std::ptr::eq(other, comparison))
        .expect("a comparison of the record")
}

/// The primary comparison of a pair under a load, by CPU time or by another metric.
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

/// The pair that a row names.
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
    line.split([' ', ',', ':', ';', '(', ')', '*', '\u{a0}'])
        .map(|word| word.trim_end_matches("'s").trim_end_matches('.'))
        .filter(|word| !word.is_empty())
        .collect()
}

fn is_bullet(line: &str) -> bool {
    let mark = line.strip_prefix("- ").and_then(|rest| rest.chars().next());
    mark.is_some_and(|mark| MARKS.contains(mark)) && line.contains(" **")
}

/// Reads sentences after their marks. The names in a sentence identify its primary comparison; if
/// several sentences have the same names, their order decides.
fn sentences<'a>(
    record: &StudyRecord,
    place: &'static str,
    lines: impl Iterator<Item = &'a str>,
    before_mark: &str,
) -> Vec<PrintedVerdict> {
    let has_several_loads = record.measured.loads.len() > 1;
    let lines: Vec<&str> = lines.collect();
    let mut is_used = vec![false; lines.len()];
    let mut verdicts = Vec::new();
    for comparison in record.conclusions.primary() {
        let names_load = has_several_loads && !comparison.load.is_empty();
        let is_of = |line: &str| {
            let words = tokens(line);
            let at = |name: &str| words.iter().position(|word| *word == name);
            let is_under = !names_load || at(&comparison.load).is_some();
            let order = at(&comparison.subject).zip(at(&comparison.baseline));
            is_under && order.is_some_and(|(subject, baseline)| subject < baseline)
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
        verdicts.push(PrintedVerdict {
            place,
            index: index_of(record, comparison),
            mark: mark.flatten().map(String::from),
            word: word_of(line),
        });
    }
    verdicts
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

/// The sentences of the first screen, each about one pair under the loads that it names.
fn overview(record: &StudyRecord, text: &str) -> Vec<PrintedVerdict> {
    let mut verdicts = Vec::new();
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
                verdicts.extend(comparison.map(|comparison| PrintedVerdict {
                    place: "overview",
                    index: index_of(record, comparison),
                    mark: None,
                    word: Some(word.clone()),
                }));
            }
        }
    }
    verdicts
}

/// The cells of the terminal's matrix.
fn grid(record: &StudyRecord, text: &str) -> Vec<PrintedVerdict> {
    match record.measured.pairs()[..] {
        [_] => grid_of_loads(record, text),
        _ => grid_of_pairs(record, text),
    }
}

/// The index of a row's comparison, if the study has one pair. Rows of the same load are in the
/// order of their comparisons; `previous_loads` are those of the rows above.
fn of_row(record: &StudyRecord, load: &str, previous_loads: &[String]) -> usize {
    let nth = previous_loads.iter().filter(|name| *name == load).count();
    let mut comparisons = record
        .conclusions
        .primary()
        .filter(|comparison| comparison.load == load);
    let comparison = comparisons.nth(nth).expect("the comparison of a row");
    index_of(record, comparison)
}

/// The rows of the only pair, which end in mark and word.
fn grid_of_loads(record: &StudyRecord, text: &str) -> Vec<PrintedVerdict> {
    let mut previous_loads: Vec<String> = Vec::new();
    let mut verdicts = Vec::new();
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
        verdicts.push(PrintedVerdict {
            place: "grid",
            index: of_row(record, load, &previous_loads),
            mark: Some(mark),
            word: Some(word),
        });
        previous_loads.push(load.to_owned());
    }
    verdicts
}

/// The mark of a cell and the word after it, without the letters that the legend explains.
fn mark_and_word(cell: &str) -> Option<(String, String)> {
    // The dash of an interval has no blank before it.
    let last_mark = MARKS
        .chars()
        .filter_map(|mark| cell.rfind(&format!(" {mark} ")))
        .max();
    let cell = match last_mark {
        Some(at) => &cell[at + 1..],
        None if cell.starts_with(|first: char| MARKS.contains(first)) => cell,
        None => return None,
    };
    let (mark, word) = cell.split_once(' ')?;
    let word = word.trim_end_matches(['~', 'c', 'b', '\\']).trim();
    let word = word.trim_matches('*').split(',').next()?;
    Some((mark.to_owned(), word.to_owned()))
}

/// The cells of pairs, by the columns in which headers end.
fn grid_of_pairs(record: &StudyRecord, text: &str) -> Vec<PrintedVerdict> {
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
fn grid_cell(record: &StudyRecord, cell: &TableCell) -> Option<PrintedVerdict> {
    let pair = pair_of(record, &cell.row)?;
    let at = cell.text.rfind(|letter| MARKS.contains(letter))?;
    let mark = cell.text[at..].chars().next()?;
    let is_cpu = cell.text[at..].contains('c') || cell.header.contains("CPU");
    let load = column_load(record, &cell.header).expect("a load above each column");
    let comparison = find(record, [&pair[0], &pair[1]], load, is_cpu);
    Some(PrintedVerdict {
        place: "grid",
        index: index_of(record, comparison.expect("the comparison of a cell")),
        mark: Some(mark.to_string()),
        word: None,
    })
}

/// The table of ranks, which has a column per ranking.
fn rankings_of_ranks(record: &StudyRecord, text: &str) -> Vec<PrintedRanking> {
    if !text.contains(RANKS) {
        return Vec::new();
    }
    let lines: Vec<Vec<char>> = text.lines().map(|line| line.chars().collect()).collect();
    let subjects = record.measured.subjects.iter();
    let subjects: Vec<String> = subjects.map(|subject| subject.name.clone()).collect();
    let mut rankings: Vec<(String, PrintedRanking)> = Vec::new();
    for cell in cells_below(&lines, &subjects, RANKS) {
        if cell.text.is_empty() {
            continue;
        }
        let column = rankings
            .iter()
            .position(|(header, _)| *header == cell.header)
            .unwrap_or_else(|| {
                rankings.push((cell.header.clone(), PrintedRanking::default()));
                rankings.len() - 1
            });
        let ranking = &mut rankings[column].1;
        let (best, worst) = read_ranks(&cell.text);
        if best == 1 {
            ranking.first.push(cell.row.clone());
        }
        ranking.ranks.push((cell.row, best, worst));
    }
    // The first row may lack a cell, if its subject is not compared under each load.
    rankings.sort_by_key(|(header, _)| {
        let load = column_load(record, header);
        let mut of_record = record.conclusions.rankings.iter();
        of_record.position(|ranking| load == Some(ranking.load.as_str()))
    });
    rankings.into_iter().map(|(_, ranking)| ranking).collect()
}

const RANKS: &str = "Possible ranks";

/// The load or fault whose name begins a header.
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
fn markdown_tables(record: &StudyRecord, markdown: &str) -> Vec<PrintedVerdict> {
    let mut verdicts = Vec::new();
    let mut headers: Vec<String> = Vec::new();
    let mut previous_loads: Vec<String> = Vec::new();
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
            let index = match &pair {
                Some(pair) => {
                    let column = header.split('`').nth(1).expect("the load of a column");
                    let is_cpu = header.contains("CPU") || cell.ends_with('c');
                    let comparison = find(record, [&pair[0], &pair[1]], column, is_cpu);
                    index_of(record, comparison.expect("the comparison of a cell"))
                }
                None => of_row(record, load, &previous_loads),
            };
            previous_loads.push(load.to_owned());
            verdicts.push(PrintedVerdict {
                place: "Markdown table",
                index,
                mark: Some(mark),
                word: Some(word),
            });
        }
    }
    verdicts
}

/// The tables of Markdown that have a line per comparison: the primary comparisons unless a
/// matrix has them, then the others.
fn markdown_lists(record: &StudyRecord, markdown: &str) -> Vec<PrintedVerdict> {
    let rows = markdown.split("|  | where | metric |").skip(1);
    let rows = rows.flat_map(|table| {
        table
            .lines()
            .skip(2)
            .take_while(|line| line.starts_with('|'))
    });
    let rows: Vec<&str> = rows.collect();
    let first = record.conclusions.comparisons.len() - rows.len();
    let verdict = |(index, row): (usize, &str)| {
        let cells: Vec<&str> = row.trim_matches(['|', ' ']).split(" | ").collect();
        let comparison = &record.conclusions.comparisons[index];
        assert_eq!(
            cells[0].replace('\\', ""),
            format!("{} ÷ {}", comparison.subject, comparison.baseline)
        );
        let (mark, word) = mark_and_word(cells[5]).expect("a mark and a word");
        PrintedVerdict {
            place: "Markdown list",
            index,
            mark: Some(mark),
            word: Some(word),
        }
    };
    (first..).zip(rows).map(verdict).collect()
}

/// The text between two others.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    Some(rest.split_once(end)?.0)
}

/// The cards of the page.
fn cards(record: &StudyRecord, html: &str) -> Vec<PrintedVerdict> {
    let cards = html.split("<li class=\"verdict ").skip(1);
    let lines: Vec<String> = cards
        .map(|card| {
            let mark = between(card, "aria-hidden=\"true\">", "<").expect("the mark of a card");
            let text = between(card, "<p>", "</p>").expect("the sentence of a card");
            let line = format!("{mark} {}", text.replace("&#39;", "'"));
            format!("- {}", line.trim_start())
        })
        .collect();
    sentences(record, "cards", lines.iter().map(String::as_str), "- ")
}

/// The cells of the page's matrix, whose links have the indices of their comparisons.
fn html_matrix(record: &StudyRecord, html: &str) -> Vec<PrintedVerdict> {
    let matrix = between(html, "<table class=\"matrix\">", "</table>").unwrap_or_default();
    let mut verdicts = Vec::new();
    for row in matrix.split("<tr>").skip(2) {
        let name = between(row, "scope=\"row\">", " <small>").unwrap_or_default();
        let name = name.trim_start_matches("<bdi>").trim_end_matches("</bdi>");
        for cell in row.split("<td class=\"cell ").skip(1) {
            let Some(index) = between(cell, "#ratio-", "\"") else {
                continue;
            };
            let index: usize = index.parse().expect("the index of a comparison");
            let comparison = &record.conclusions.comparisons[index];
            match pair_of(record, name) {
                Some(pair) => assert_eq!(
                    [&pair[0], &pair[1]],
                    [&comparison.subject, &comparison.baseline]
                ),
                None => assert_eq!(name, comparison.load),
            }
            verdicts.push(PrintedVerdict {
                place: "matrix",
                index,
                mark: between(cell, "aria-hidden=\"true\">", "<").map(str::to_owned),
                word: cell.split('"').next().map(|class| class.replace('-', " ")),
            });
        }
    }
    verdicts
}

/// The rows of the page's pictures of ratios, which have the indices of their comparisons.
fn html_rows(html: &str) -> Vec<PrintedVerdict> {
    let rows = html.split(" id=\"ratio-").skip(1);
    let verdict = |row: &str| {
        let cell = between(row, "class=\"verdict\">", "</td>")?;
        let word = cell.split_once("</span>")?.1;
        Some(PrintedVerdict {
            place: "rows",
            index: row.split('"').next()?.parse().ok()?,
            mark: between(cell, "aria-hidden=\"true\">", "<").map(str::to_owned),
            word: word.split([',', '<']).next().map(str::to_owned),
        })
    };
    rows.filter_map(verdict).collect()
}

/// A line that ends in `1-2 a, 3 b; tied for first: a, b.`
fn ranking_line(line: &str) -> PrintedRanking {
    let (_, places) = line
        .rsplit_once(": ")
        .filter(|(before, _)| !before.contains("first"))
        .unwrap_or_else(|| {
            let (before, _) = line.split_once("; ").expect("the end of the places");
            before.rsplit_once(": ").expect("the start of the places")
        });
    let ranks = places.trim_end_matches('.').split(", ").map(|place| {
        let (ranks, name) = place.split_once(' ').expect("ranks and a name");
        let (best, worst) = read_ranks(ranks);
        (name.to_owned(), best, worst)
    });
    let first = line.split_once("first: ").map_or("", |(_, names)| names);
    let first = first.trim_end_matches('.').split(", ").map(str::to_owned);
    PrintedRanking {
        ranks: ranks.collect(),
        first: first.filter(|name| !name.is_empty()).collect(),
    }
}

fn ranking_table(section: &str) -> PrintedRanking {
    let (table, _) = section.split_once("</table>").expect("the end of a table");
    let mut ranking = PrintedRanking::default();
    for row in table.split("<tr>").skip(2) {
        let cells = row.split("</t").map(|cell| {
            let (_, text) = cell.rsplit_once('>').expect("the text of a cell");
            text
        });
        let cells: Vec<&str> = cells.take(3).collect();
        let name = cells[0].to_owned();
        if !cells[2].is_empty() {
            ranking.first.push(name.clone());
        }
        let (best, worst) = read_ranks(cells[1]);
        ranking.ranks.push((name, best, worst));
    }
    ranking
}

/// The best and the worst rank of `2` or `2-4`.
fn read_ranks(text: &str) -> (usize, usize) {
    let (best, worst) = text.split_once('-').unwrap_or((text, text));
    let rank = |rank: &str| {
        let parsed = rank.parse::<usize>();
        parsed.unwrap_or_else(|_| panic!("not a rank in `{text}`"))
    };
    (rank(best), rank(worst))
}

const MARKS: &str = "▲▼=?–";
