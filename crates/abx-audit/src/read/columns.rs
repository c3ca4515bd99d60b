//! Separates reports that are side by side. If many lines contain the same words several times
//! at the same places, each column is a separate text.

use std::collections::{BTreeMap, BTreeSet};

use super::scan::LineTemplates;
use crate::text::TextLine;

/// A line that contains the same words several times.
struct Repeated {
    /// The index among the lines.
    index: usize,
    words: String,
    starts: Vec<usize>,
}

/// The passages of a text, column by column.
pub(super) fn apart(lines: &[TextLine], templates: &LineTemplates) -> Vec<Vec<TextLine>> {
    let words: BTreeSet<String> = templates.words().filter(|words| words.len() > 2).collect();
    let expanded: Vec<Vec<char>> = lines.iter().map(|line| expand(&line.text)).collect();
    let repeated: Vec<Repeated> = expanded
        .iter()
        .enumerate()
        .filter_map(|(index, line)| repeated(index, line, &words))
        .filter(|repeated| {
            let mut starts = repeated.starts[1..].iter();
            let line = &expanded[repeated.index];
            has_mark(&lines[repeated.index].text) || starts.all(|start| is_apart(line, *start))
        })
        .collect();
    let mut passages = Vec::new();
    let mut next = 0;
    for region in regions(&repeated) {
        let Some(count) = count(region) else {
            continue;
        };
        let used: Vec<&Repeated> = region
            .iter()
            .filter(|repeated| repeated.starts.len() == count)
            .collect();
        let (Some(first), Some(last)) = (used.first(), used.last()) else {
            continue;
        };
        if first.index < next {
            continue;
        }
        let from = begin(lines, first.index, next);
        let borders = borders(&used, count);
        let is_right = |index: usize| {
            let starts = starts(&expanded[index], &words);
            match &borders {
                Some(borders) => starts.iter().any(|start| {
                    let mut near = borders.iter();
                    near.any(|border| start.abs_diff(*border) <= INDENT)
                }),
                None => starts.iter().any(|start| *start > 0) && has_mark(&lines[index].text),
            }
        };
        let end = end(lines, last.index, is_right);
        passages.push(closed(lines[next..from].to_vec(), lines[from].number));
        let mut columns = vec![Vec::new(); count];
        for index in from..end {
            let place = used.binary_search_by_key(&index, |repeated| repeated.index);
            let repeated = place.ok().map(|place| used[place]);
            let cuts = match (&borders, repeated) {
                (Some(borders), _) => near(&expanded[index], borders),
                (None, Some(repeated)) => repeated.starts[1..].to_vec(),
                (None, None) => at_marks(&lines[index].text, count),
            };
            for (column, text) in cut(&expanded[index], &cuts, count).into_iter().enumerate() {
                columns[column].push(TextLine {
                    number: lines[index].number,
                    text,
                });
            }
        }
        let last_line = lines[end - 1].number;
        passages.extend(columns.into_iter().map(|column| closed(column, last_line)));
        next = end;
    }
    passages.push(lines[next..].to_vec());
    passages
}

/// A passage after which the text continues, so its last number is not cut off.
fn closed(mut passage: Vec<TextLine>, number: usize) -> Vec<TextLine> {
    let text = String::new();
    passage.push(TextLine { number, text });
    passage
}

/// A line as a terminal shows it, with spaces for tabs.
fn expand(text: &str) -> Vec<char> {
    let mut out = Vec::new();
    for letter in text.chars() {
        match letter {
            '\t' => out.resize((out.len() / TAB + 1) * TAB, ' '),
            other => out.push(other),
        }
    }
    out
}

/// Where the words of any tool's line begin in this one.
fn starts(line: &[char], words: &BTreeSet<String>) -> Vec<usize> {
    let text: String = line.iter().map(char::to_ascii_lowercase).collect();
    let is_first = |start: &usize| {
        let before = text[..*start].chars().next_back();
        before.is_none_or(|before| before.is_whitespace() || before == '|')
    };
    let places = places(line);
    words
        .iter()
        .flat_map(|words| text.match_indices(words.as_str()))
        .map(|(start, _)| start)
        .filter(is_first)
        .map(|start| places.partition_point(|place| *place < start))
        .collect()
}

/// The first byte of each letter of a line.
fn places(line: &[char]) -> Vec<usize> {
    let starts = line.iter().scan(0, |end, letter| {
        let start = *end;
        *end += letter.len_utf8();
        Some(start)
    });
    starts.collect()
}

/// The first words of a line that occur in it again.
fn repeated(index: usize, line: &[char], words: &BTreeSet<String>) -> Option<Repeated> {
    let text: String = line.iter().map(char::to_ascii_lowercase).collect();
    let mut seen = BTreeSet::new();
    let mut parts = text.split(|character: char| character.is_whitespace() || character == '|');
    if !parts.any(|part| !part.is_empty() && !seen.insert(part)) {
        return None;
    }
    let mut best: Option<(Vec<usize>, &String)> = None;
    for words in words {
        let is_whole = |start: &usize| {
            let before = text[..*start].chars().next_back();
            before.is_none_or(|before| !before.is_alphanumeric())
        };
        let starts: Vec<usize> = text
            .match_indices(words.as_str())
            .map(|(start, _)| start)
            .filter(is_whole)
            .collect();
        if starts.len() < 2 {
            continue;
        }
        let is_better = best.as_ref().is_none_or(|(other, longest)| {
            starts[0] < other[0] || (starts[0] == other[0] && words.len() > longest.len())
        });
        if is_better {
            best = Some((starts, words));
        }
    }
    let (starts, words) = best?;
    let places = places(line);
    let in_letters = |start: &usize| places.partition_point(|place| place < start);
    Some(Repeated {
        index,
        words: words.clone(),
        starts: starts.iter().map(in_letters).collect(),
    })
}

/// Groups of lines with only a few others between them.
fn regions(repeated: &[Repeated]) -> impl Iterator<Item = &[Repeated]> {
    repeated.chunk_by(|repeated, next| next.index - repeated.index <= FAR)
}

/// The number of columns that several different lines have.
fn count(region: &[Repeated]) -> Option<usize> {
    let mut words: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    for repeated in region {
        words
            .entry(repeated.starts.len())
            .or_default()
            .insert(&repeated.words);
    }
    let mut counts = words.iter().rev();
    let (count, _) = counts.find(|(_, words)| words.len() >= LINES_MIN)?;
    Some(*count)
}

/// Where the second and further columns begin, if that is the same in all lines.
fn borders(used: &[&Repeated], count: usize) -> Option<Vec<usize>> {
    let border = |column: usize| {
        let starts = || used.iter().map(|repeated| repeated.starts[column]);
        let (least, most) = (starts().min()?, starts().max()?);
        (most - least <= INDENT).then_some(least)
    };
    (1..count).map(border).collect()
}

/// The first line of the columns, above the first repeated line: the command, for example.
fn begin(lines: &[TextLine], first: usize, least: usize) -> usize {
    let mut from = first;
    while from > least && first - from < ABOVE && !lines[from - 1].text.trim().is_empty() {
        from -= 1;
    }
    from
}

/// The line after the columns, which include further lines with words on the right and the lines
/// directly below.
fn end(lines: &[TextLine], last: usize, is_right: impl Fn(usize) -> bool) -> usize {
    let mut last = last;
    while let Some(further) = (last + 1..lines.len().min(last + FAR)).find(|index| is_right(*index))
    {
        last = further;
    }
    let mut end = last + 1;
    while end < lines.len() && end - last <= ABOVE && !lines[end].text.trim().is_empty() {
        end += 1;
    }
    end
}

fn has_mark(text: &str) -> bool {
    text.trim_start().contains('\t') || text.contains('|')
}

fn is_apart(line: &[char], start: usize) -> bool {
    let before = &line[..start];
    let blanks = before
        .iter()
        .rev()
        .take_while(|character| character.is_whitespace())
        .count();
    blanks > 1 || before.ends_with(&['|', ' ']) || before.ends_with(&['|'])
}

/// The nearest places to these at which a word begins.
fn near(line: &[char], borders: &[usize]) -> Vec<usize> {
    let is_free = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| line.get(before));
        before.is_none_or(|before| before.is_whitespace() || *before == '|')
    };
    let nearest = |border: &usize| {
        let mut places = (0..=INDENT).flat_map(|gap| [border.saturating_sub(gap), border + gap]);
        places.find(|at| is_free(*at)).unwrap_or(*border)
    };
    borders.iter().map(nearest).collect()
}

/// The places after tabs or bars, as a terminal shows the line.
fn at_marks(text: &str, count: usize) -> Vec<usize> {
    let marks = |mark: char| -> Vec<usize> {
        let places = text
            .match_indices(mark)
            .map(|(at, _)| expand(&text[..=at]).len());
        places.take(count - 1).collect()
    };
    let tabs = marks('\t');
    if tabs.is_empty() { marks('|') } else { tabs }
}

/// The parts of a line, as many as there are columns.
fn cut(line: &[char], cuts: &[usize], count: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut from = 0;
    for to in cuts.iter().copied().chain([line.len()]) {
        let to = to.clamp(from, line.len());
        let part: String = line[from..to].iter().collect();
        parts.push(part.trim_end().trim_end_matches('|').to_owned());
        from = to;
    }
    parts.resize(count, String::new());
    parts
}

/// This many different lines must be repeated; a paragraph repeats one or two by chance.
const LINES_MIN: usize = 3;
/// Lines of one report differ in indentation by no more than this.
const INDENT: usize = 6;
const TAB: usize = 8;
/// Columns end where this many lines have no repeated words.
const FAR: usize = 15;
const ABOVE: usize = 3;
