//! Prefixes that other programs put before each line: times and line numbers.

use super::text_line::TextLine;

/// Removes times and line numbers, in any order.
pub(super) fn strip(lines: &mut [TextLine]) {
    for _ in 0..PREFIXES_MOST {
        for line in lines.iter_mut() {
            if let Some(end) = time_end(&line.text) {
                line.text.drain(..end);
            }
        }
        strip_numbers(lines);
    }
}

/// The offset of the text after a date, a time, or both.
fn time_end(line: &str) -> Option<usize> {
    let mut scan = Scan { line, at: 0 };
    scan.skip(|letter| letter == ' ' || letter == '\t');
    let opens = scan.take(&['[', '(']);
    let has_date = scan.date();
    if has_date {
        scan.take(&['T', 't', '_', ':', ' ']);
    }
    if !scan.time() {
        return None;
    }
    let before_zone = scan.at;
    scan.take(&[' ']);
    if !scan.zone() {
        scan.at = before_zone;
    }
    if opens && !scan.take(&[']', ')']) {
        return None;
    }
    scan.take(&[':']);
    let next = line[scan.at..].chars().next();
    next.is_none_or(char::is_whitespace).then_some(())?;
    scan.take(&[' ', '\t']);
    Some(scan.at)
}

/// A place in a line; all letters before it are ASCII.
struct Scan<'a> {
    line: &'a str,
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Option<char> {
        let next = self.line[self.at..].chars().next();
        next.filter(char::is_ascii)
    }

    fn take(&mut self, letters: &[char]) -> bool {
        let is_here = self.peek().is_some_and(|next| letters.contains(&next));
        self.at += usize::from(is_here);
        is_here
    }

    /// Skips letters and returns their number.
    fn skip(&mut self, is_skipped: impl Fn(char) -> bool) -> usize {
        let start = self.at;
        while self.peek().is_some_and(&is_skipped) {
            self.at += 1;
        }
        self.at - start
    }

    fn digits(&mut self) -> usize {
        self.skip(|letter| letter.is_ascii_digit())
    }

    /// `2026-03-01`, `2026/03/01`, `01.03.2026`, `01/Mar/2026` or `Mar  1`.
    fn date(&mut self) -> bool {
        let start = self.at;
        let is_date = self.month_and_day() || {
            self.at = start;
            let parts = [self.digits(), self.separated(), self.separated()];
            parts.iter().all(|digits| *digits > 0)
        };
        if !is_date {
            self.at = start;
        }
        is_date
    }

    /// The length of a part of a date after its separator.
    fn separated(&mut self) -> usize {
        if !self.take(&['-', '/', '.']) {
            return 0;
        }
        self.skip(|letter| letter.is_ascii_alphanumeric() && !matches!(letter, 'T' | 't'))
    }

    fn month_and_day(&mut self) -> bool {
        let start = self.at;
        let is_month = self.skip(|letter| letter.is_ascii_alphabetic()) == 3;
        let is_month = is_month && MONTHS.contains(&&self.line[start..self.at]);
        is_month && self.skip(|letter| letter == ' ') > 0 && self.digits() > 0
    }

    /// `10:00:00`, with or without a fraction.
    fn time(&mut self) -> bool {
        let is_time = matches!(self.digits(), 1 | 2)
            && self.take(&[':'])
            && self.digits() == 2
            && self.take(&[':'])
            && self.digits() == 2;
        let end = self.at;
        if is_time && self.take(&['.', ',']) && self.digits() == 0 {
            self.at = end;
        }
        is_time
    }

    /// `Z`, `UTC`, `+02:00` or `+0200`.
    fn zone(&mut self) -> bool {
        if let Some(name) = ["Z", "UTC", "GMT"]
            .iter()
            .find(|name| self.line[self.at..].starts_with(**name))
        {
            self.at += name.len();
            return true;
        }
        if !self.take(&['+', '-']) {
            return false;
        }
        let hours = self.digits();
        match hours {
            2 if self.take(&[':']) => self.digits() == 2,
            other => other == 4,
        }
    }
}

/// A number that a program may have put in front of a line.
#[derive(Clone, Copy)]
struct LineNumber {
    value: f64,
    is_whole: bool,
    /// Whether a mark ends it, not only a space.
    has_mark: bool,
    /// The offset of the text after it.
    end: usize,
}

fn line_number(line: &str) -> Option<LineNumber> {
    let mut scan = Scan { line, at: 0 };
    scan.skip(|letter| letter == ' ' || letter == '\t');
    let start = scan.at;
    if scan.digits() == 0 {
        scan.at = start + file_name(&line[start..])?;
        (scan.digits() > 0).then_some(())?;
    }
    let digits = line[start..scan.at].rsplit([':', '-']).next()?;
    let from = scan.at - digits.len();
    let whole_end = scan.at;
    if !(scan.take(&['.']) && scan.digits() > 0) {
        scan.at = whole_end;
    }
    let number = &line[from..scan.at];
    let is_whole = scan.at == whole_end;
    let has_mark = is_whole && scan.take(&[':', '-', '|', '.', ')', '\t']);
    if !has_mark {
        let is_apart = scan.peek().is_none_or(|next| next == ' ' || next == '\t');
        is_apart.then_some(())?;
        let before_blanks = scan.at;
        if scan.skip(|letter| letter == ' ') > 0 && is_whole && scan.take(&['|', ':']) {
            return Some(LineNumber {
                value: number.parse().ok()?,
                is_whole,
                has_mark: true,
                end: scan.at,
            });
        }
        scan.at = before_blanks;
    }
    Some(LineNumber {
        value: number.parse().ok()?,
        is_whole,
        has_mark,
        end: scan.at,
    })
}

/// The length of `name:` or `name-` before the number, as `grep -Hn` prints it.
fn file_name(line: &str) -> Option<usize> {
    let word = line
        .split_whitespace()
        .next()
        .filter(|word| word.is_ascii())?;
    let is_number = |part: &str| part.starts_with(|first: char| first.is_ascii_digit());
    let ends = word.match_indices([':', '-']);
    let end = ends
        .map(|(at, _)| at + 1)
        .find(|end| is_number(&word[*end..]))?;
    let number = word[end..].find(|letter: char| !letter.is_ascii_digit());
    let mark = number.map(|number| &word[end + number..]);
    mark.is_some_and(|mark| mark.starts_with([':', '-']))
        .then_some(end)
}

/// Removes numbers before words if they rise from line to line.
fn strip_numbers(lines: &mut [TextLine]) {
    let numbers: Vec<Option<LineNumber>> =
        lines.iter().map(|line| line_number(&line.text)).collect();
    let mut start = 0;
    while start < lines.len() {
        let length = run_length(lines, &numbers, start);
        let run = start..start + length;
        if is_numbered(&lines[run.clone()], &numbers[run.clone()]) {
            for (line, number) in lines[run.clone()].iter_mut().zip(&numbers[run]) {
                line.text.drain(..number.map_or(0, |number| number.end));
            }
        }
        start += length.max(1);
    }
}

/// The number of lines from here with rising numbers, including blank lines between them.
fn run_length(lines: &[TextLine], numbers: &[Option<LineNumber>], start: usize) -> usize {
    let mut last: Option<LineNumber> = None;
    let mut end = start;
    for (line, number) in lines.iter().zip(numbers).skip(start) {
        match (number, last) {
            (None, Some(_)) if line.text.trim().is_empty() => {}
            (Some(number), None) if end == start => last = Some(*number),
            (Some(number), Some(before)) if follows(*number, before) => last = Some(*number),
            _ => break,
        }
        end += 1;
    }
    end - start
}

fn follows(number: LineNumber, before: LineNumber) -> bool {
    if number.has_mark != before.has_mark || number.is_whole != before.is_whole {
        return false;
    }
    match (number.has_mark, number.is_whole) {
        // A program such as grep may have printed only some of the lines.
        (true, _) => number.value > before.value,
        (false, true) => number.value == before.value + 1.0,
        (false, false) => number.value >= before.value,
    }
}

/// Whether these numbers were put before lines of words.
fn is_numbered(lines: &[TextLine], numbers: &[Option<LineNumber>]) -> bool {
    let rests: Vec<(LineNumber, &str)> = lines
        .iter()
        .zip(numbers)
        .filter_map(|(line, number)| {
            let number = (*number)?;
            Some((number, line.text[number.end..].trim_start()))
        })
        .collect();
    let least = match rests.first() {
        Some((number, _)) if number.has_mark => MARKED_LEAST,
        _ => BARE_LEAST,
    };
    let has_words = |rest: &str| {
        let is_word = |first: char| !first.is_ascii_digit() && first != '%' && first != '[';
        rest.starts_with(is_word) || time_end(rest).is_some()
    };
    let texts = || rests.iter().map(|(_, rest)| *rest);
    let filled = texts().filter(|rest| !rest.is_empty()).count();
    let worded = texts().filter(|rest| has_words(rest)).count();
    rests.len() >= least && filled > 0 && 2 * worded >= filled
}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
/// Enough for a time and the line numbers of two programs.
const PREFIXES_MOST: usize = 3;
/// From this many consecutive lines on, numbers with a mark are line numbers.
const MARKED_LEAST: usize = 3;
/// More for numbers before a space, because rows of tables may begin with such a number.
const BARE_LEAST: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_a_line_are_recognised() {
        // Method: times of logs, and numbers that only look like them.
        let table = [
            ("2026-03-01T10:00:00.0000000Z Total: 5", Some("Total: 5")),
            ("2026-03-01 10:00:00,123 Total: 5", Some("Total: 5")),
            ("[2026/03/01 10:00:00 +0200] Total: 5", Some("Total: 5")),
            ("01.03.2026 10:00:00  50% 5", Some(" 50% 5")),
            ("Mar  1 10:00:00 Total: 5", Some("Total: 5")),
            ("[01/Mar/2026:10:00:00 +0000] x", Some("x")),
            ("10:00:00.5\tTotal: 5", Some("Total: 5")),
            ("2026-03-01T10:00:00+02:00", Some("")),
            ("50% 5", None),
            ("10:00 x", None),
            ("Total: 5", None),
        ];
        for (line, expected) in table {
            let rest = time_end(line).map(|end| &line[end..]);
            assert_eq!(rest, expected, "{line:?}");
        }
    }

    #[test]
    fn only_line_numbers_are_removed() {
        // Method: numbers of cat, nl, grep and editors; a histogram, quantiles and rows of a table.
        let numbered = [
            "     1\ta\n     2\tb\n     3\tc",
            "1:a\n2:b\n9:c",
            "f.txt:1:a\nf.txt:2:b\nf.txt-3-c",
            " 9 | a\n10 | b\n11 | c",
            "1 a\n2 b\n3 c\n4\n5 c",
            "0.001 a\n0.002 b\n0.002 c\n1.5 d\n2.5 e",
        ];
        for text in numbered {
            let mut lines = super::super::clean::lines(text);
            strip(&mut lines);
            let texts = lines.iter().map(|line| line.text.trim());
            assert!(
                texts
                    .clone()
                    .all(|text| !text.contains(|letter: char| letter.is_ascii_digit())),
                "{text:?}: {:?}",
                texts.collect::<Vec<_>>()
            );
        }
        let kept = [
            "0.001 [1] x\n0.002 [2] x\n0.003 [3] x\n0.004 [5] x\n0.005 [1] x",
            "50% 1\n66% 2\n75% 3",
            "1 500\n2 900\n3 950\n4 960\n5 970",
            "1 a\n2 b",
        ];
        for text in kept {
            let mut lines = super::super::clean::lines(text);
            let before = lines.clone();
            strip(&mut lines);
            assert_eq!(lines, before);
        }
    }
}
