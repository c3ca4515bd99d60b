//! Templates of the lines that tools print, with holes for their numbers, and how a template is
//! matched against text: spaces and line breaks do not matter, every unit does.
//!
//! `{elapsed:f3}` is a hole for the key `elapsed`: a number with three decimals. A leading number,
//! before the first words, is read after these words have matched.

use crate::figure::PrintedFigure;
use crate::report::{FigureKey, LoadTool, PrintedWord, WordKey};
use crate::text::{Digits, LetterStream, NumberTrouble, Numeral, numeral};

/// The template text of a line, with its place in the order of lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowText {
    pub(super) order: u8,
    /// Whether these words are so common that they do not begin a report.
    pub(super) is_weak: bool,
    /// Whether the line may be repeated.
    pub(super) repeats: bool,
    pub(super) text: &'static str,
}

/// A line that only this tool prints.
pub(super) const fn row(order: u8, text: &'static str) -> RowText {
    RowText {
        order,
        is_weak: false,
        repeats: false,
        text,
    }
}

/// A line of common words, which only continues a report.
pub(super) const fn weak(order: u8, text: &'static str) -> RowText {
    RowText {
        is_weak: true,
        ..row(order, text)
    }
}

/// A weak line that may be repeated.
pub(super) const fn again(order: u8, text: &'static str) -> RowText {
    RowText {
        repeats: true,
        ..weak(order, text)
    }
}

/// A parsed template, ready to be matched.
#[derive(Debug)]
pub(super) struct LineTemplate {
    pub(super) tool: LoadTool,
    pub(super) row: RowText,
    /// The text before the first hole.
    pub(super) label: String,
    /// The hole before the label, if any.
    leads: Option<Hole>,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    Hole(Hole),
}

#[derive(Debug, Clone, Copy)]
struct Hole {
    gives: Gives,
    shape: Shape,
}

#[derive(Debug, Clone, Copy)]
enum Gives {
    Figure(FigureKey),
    Quantile(f64),
    Word(WordKey),
    /// A status; the next number is the number of responses with it.
    Status,
    StatusCount,
    Nothing,
}

#[derive(Debug, Clone, Copy)]
enum Shape {
    Number(Digits, f64),
    /// A time and its unit.
    Time,
    /// A size and its unit, which tools use for powers of 1000 and of 1024.
    Size,
    Word,
}

/// The values that a template matched.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    pub(super) end: usize,
    pub(super) figures: Vec<(FigureKey, PrintedFigure)>,
    pub(super) quantiles: Vec<(f64, PrintedFigure)>,
    pub(super) words: Vec<(WordKey, PrintedWord)>,
    pub(super) statuses: Vec<(u16, PrintedFigure)>,
    status: Option<u16>,
}

/// Why a line with a matching label cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Misfit {
    Words,
    /// A number is cut off, or can be read in two ways.
    Number(NumberTrouble),
    /// The number has digits on the next line, or another unit.
    Unit,
}

impl LineTemplate {
    pub(super) fn new(tool: LoadTool, row: RowText) -> LineTemplate {
        let mut pieces = pieces(row.text);
        let leads = match pieces.first() {
            Some(Piece::Hole(hole)) => Some(*hole),
            _ => None,
        };
        if leads.is_some() {
            pieces.remove(0);
        }
        let label = match pieces.first() {
            Some(Piece::Text(label)) => label.clone(),
            _ => String::new(),
        };
        LineTemplate {
            tool,
            row,
            label,
            leads,
            pieces: pieces.split_off(1),
        }
    }

    /// Matches the rest of the template from `at`, the end of its label, which begins at `start`.
    pub(super) fn read(
        &self,
        stream: &LetterStream,
        start: usize,
        at: usize,
    ) -> Result<Found, Misfit> {
        let mut matched = Found {
            end: at,
            ..Found::default()
        };
        if let Some(hole) = self.leads {
            let from = number_before(stream, start).ok_or(Misfit::Words)?;
            let end = matched.fill(stream, from, hole)?;
            if end != start {
                return Err(Misfit::Words);
            }
            matched.end = at;
        }
        for (index, piece) in self.pieces.iter().enumerate() {
            let at = matched.end;
            match piece {
                Piece::Text(text) => match stream.after(at, text) {
                    Some(end) => matched.end = end,
                    // The text after the label belongs to another line, or is damaged.
                    None if index == 0 => return Err(Misfit::Words),
                    None => return Err(Misfit::Unit),
                },
                Piece::Hole(hole) => {
                    let end = matched.fill(stream, at, *hole)?;
                    let is_last = index + 1 == self.pieces.len();
                    if is_last && hole.is_bare() && continues(stream, end) {
                        return Err(Misfit::Unit);
                    }
                    matched.end = end;
                }
            }
        }
        Ok(matched)
    }

    /// Whether the line counts failed requests.
    pub(super) fn counts_failures(&self) -> bool {
        use FigureKey::{Failed, Not2xx, Status4xx, Status5xx, Succeeded, TimedOut};
        let keys = [Failed, Not2xx, Status4xx, Status5xx, Succeeded, TimedOut];
        let holes = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Hole(hole) => Some(hole),
            Piece::Text(_) => None,
        });
        holes.chain(&self.leads).any(|hole| match hole.gives {
            Gives::Figure(key) => keys.contains(&key),
            _ => false,
        })
    }
}

impl Hole {
    /// Whether no unit follows the number.
    fn is_bare(self) -> bool {
        matches!(self.shape, Shape::Number(..))
    }
}

impl Found {
    /// Reads the value of a hole, and returns where the text continues.
    fn fill(&mut self, stream: &LetterStream, at: usize, hole: Hole) -> Result<usize, Misfit> {
        let word = |(word, end): (String, usize)| {
            let line = stream.get(at).map_or(0, |glyph| glyph.line());
            (PrintedWord { word, line }, end)
        };
        let (figure, end) = match hole.shape {
            Shape::Word => {
                let (word, end) = word(stream.word(at));
                if stream.is_cut_at(end) {
                    return Err(Misfit::Number(NumberTrouble::Cut));
                }
                if let Gives::Word(key) = hole.gives
                    && !word.word.is_empty()
                {
                    self.words.push((key, word));
                }
                return Ok(end);
            }
            Shape::Number(digits, unit) => {
                let number = numeral(stream, at, digits).map_err(Misfit::of)?;
                let end = number.end;
                (figure(number, unit, unit), end)
            }
            Shape::Time => {
                let number = numeral(stream, at, Digits::Any).map_err(Misfit::of)?;
                let (unit, end) = unit_of(stream, number.end, TIMES).ok_or(Misfit::Unit)?;
                (figure(number, unit, unit), end)
            }
            Shape::Size => {
                let number = numeral(stream, at, Digits::Any).map_err(Misfit::of)?;
                let (power, end) = unit_of(stream, number.end, SIZES).ok_or(Misfit::Unit)?;
                let figure = figure(number, 1000f64.powf(power), 1024f64.powf(power));
                (figure, end)
            }
        };
        match hole.gives {
            Gives::Figure(key) => self.figures.push((key, figure)),
            Gives::Quantile(percent) => self.quantiles.push((percent, figure)),
            Gives::Status => self.status = Some(figure.value as u16),
            Gives::StatusCount => self.statuses.extend(self.status.map(|code| (code, figure))),
            Gives::Word(_) | Gives::Nothing => {}
        }
        Ok(end)
    }
}

impl Misfit {
    fn of(trouble: NumberTrouble) -> Misfit {
        match trouble {
            NumberTrouble::Missing => Misfit::Words,
            other => Misfit::Number(other),
        }
    }
}

/// A number and the range that prints this way, truncated or rounded, in a unit between these two.
fn figure(number: Numeral, low_unit: f64, high_unit: f64) -> PrintedFigure {
    PrintedFigure {
        value: number.value * low_unit,
        low: (number.value - number.step).max(0.0) * low_unit,
        high: (number.value + number.step) * high_unit,
        line: number.line,
        printed: number.printed,
    }
}

/// The start of the number that ends at this place.
fn number_before(stream: &LetterStream, end: usize) -> Option<usize> {
    let mut start = end;
    while let Some(before) = start.checked_sub(1)
        && let Some(glyph) = stream.get(before)
        && (glyph.letter.is_ascii_digit() || matches!(glyph.letter, '.' | ',' | '\''))
    {
        start = before;
        if glyph.is_first {
            break;
        }
    }
    (start < end).then_some(start)
}

/// Whether digits other than a percentage follow: an unexpected number, or the rest of a number
/// that a line break divides.
fn continues(stream: &LetterStream, end: usize) -> bool {
    let last = end.checked_sub(1).and_then(|at| stream.get(at));
    let Some((last, next)) = last.zip(stream.get(end)) else {
        return false;
    };
    if !next.is_first && (next.letter.is_alphanumeric() || next.letter == '?') {
        return true;
    }
    if next.line() > last.line() + 1 || !matches!(next.letter, '0'..='9' | '.' | ',') {
        return false;
    }
    match numeral(stream, end, Digits::Any) {
        Ok(number) => stream
            .get(number.end)
            .is_none_or(|glyph| glyph.letter != '%'),
        Err(_) => true,
    }
}

/// The unit at this place, and where it ends.
fn unit_of(stream: &LetterStream, at: usize, units: &[(&str, f64)]) -> Option<(f64, usize)> {
    units.iter().find_map(|(name, worth)| {
        let end = stream.after(at, name)?;
        let is_whole = match stream.get(end) {
            Some(next) => next.is_first || !next.letter.is_alphanumeric(),
            None => !stream.is_cut_at(end),
        };
        is_whole.then_some((*worth, end))
    })
}

pub(super) const TIMES: &[(&str, f64)] = &[
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("μs", 1e-6),
    ("msecs", 1e-3),
    ("msec", 1e-3),
    ("ms", 1e-3),
    ("seconds", 1.0),
    ("secs", 1.0),
    ("sec", 1.0),
    ("s", 1.0),
    ("min", 60.0),
    ("m", 60.0),
    ("h", 3600.0),
];

/// The powers of 1000 or 1024.
const SIZES: &[(&str, f64)] = &[
    ("bytes", 0.0),
    ("kib", 1.0),
    ("mib", 2.0),
    ("gib", 3.0),
    ("tib", 4.0),
    ("kb", 1.0),
    ("mb", 2.0),
    ("gb", 3.0),
    ("tb", 4.0),
    ("b", 0.0),
];

fn pieces(text: &str) -> Vec<Piece> {
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (before, inner) = rest.split_once('{').unwrap_or((rest, ""));
        let plain: String = before
            .chars()
            .filter(|char| !char.is_whitespace())
            .collect();
        if !plain.is_empty() {
            out.push(Piece::Text(plain.to_ascii_lowercase()));
        }
        let (hole, after) = inner.split_once('}').unwrap_or(("", ""));
        if let Some((gives, shape)) = hole.split_once(':') {
            out.push(Piece::Hole(Hole {
                gives: gives_of(gives).expect("a template names a key"),
                shape: shape_of(shape).expect("a template names a shape"),
            }));
        }
        rest = after;
    }
    out
}

fn gives_of(name: &str) -> Option<Gives> {
    let quantile = || name.strip_prefix('q')?.parse().ok().map(Gives::Quantile);
    match name {
        "" => Some(Gives::Nothing),
        "status" => Some(Gives::Status),
        "responses" => Some(Gives::StatusCount),
        _ => FigureKey::named(name)
            .map(Gives::Figure)
            .or_else(|| WordKey::named(name).map(Gives::Word))
            .or_else(quantile),
    }
}

fn shape_of(name: &str) -> Option<Shape> {
    let number = |digits, unit| Some(Shape::Number(digits, unit));
    match name {
        "i" => number(Digits::Whole, 1.0),
        "d" => number(Digits::Any, 1.0),
        "f1" => number(Digits::Fixed(1), 1.0),
        "f2" => number(Digits::Fixed(2), 1.0),
        "f3" => number(Digits::Fixed(3), 1.0),
        "f4" => number(Digits::Fixed(4), 1.0),
        "ms" => number(Digits::Any, 1e-3),
        "ms0" => number(Digits::Fixed(0), 1e-3),
        "ms1" => number(Digits::Fixed(1), 1e-3),
        "ms3" => number(Digits::Fixed(3), 1e-3),
        "K1" => number(Digits::Fixed(1), 1024.0),
        "K2" => number(Digits::Fixed(2), 1024.0),
        "t" => Some(Shape::Time),
        "b" => Some(Shape::Size),
        "w" => Some(Shape::Word),
        _ => None,
    }
}
