//! Numbers as tools print them and people retype them: with a decimal point or comma, with
//! separated thousands. An ambiguous number is an error, never a guess.

use super::stream::LetterStream;

/// How a tool prints a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Digits {
    /// Without a fraction.
    Whole,
    /// With this many digits in the fraction.
    Fixed(usize),
    /// With any number of digits in the fraction.
    Any,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Numeral {
    pub(crate) printed: String,
    pub(crate) value: f64,
    /// The value of the last digit's unit; 0 for a count.
    pub(crate) step: f64,
    pub(crate) line: usize,
    /// Where the text continues.
    pub(crate) end: usize,
}

/// Why a number cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberTrouble {
    /// There is no number.
    Missing,
    /// The text ends within the number.
    Cut,
    /// The separators can be read in two ways, or in none.
    Ambiguous,
}

/// Reads the number at this place.
pub(crate) fn numeral(
    stream: &LetterStream,
    at: usize,
    digits: Digits,
) -> Result<Numeral, NumberTrouble> {
    let mut printed = String::new();
    let mut place = at;
    while let Some(glyph) = stream.get(place)
        && (glyph.letter.is_ascii_digit() || matches!(glyph.letter, '.' | ',' | '\''))
        && (place == at || !glyph.is_first)
    {
        printed.push(glyph.letter);
        place += 1;
    }
    while printed.ends_with(['.', ',', '\'']) {
        printed.pop();
        place -= 1;
    }
    if !printed.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(NumberTrouble::Missing);
    }
    if stream.is_cut_at(place) {
        return Err(NumberTrouble::Cut);
    }
    let plain = plain(&printed, digits).ok_or(NumberTrouble::Ambiguous)?;
    let value: f64 = plain.parse().map_err(|_| NumberTrouble::Ambiguous)?;
    if value > LARGEST {
        return Err(NumberTrouble::Ambiguous);
    }
    let fraction = plain
        .split_once('.')
        .map_or(0, |(_, fraction)| fraction.len());
    let step = match digits {
        Digits::Whole => 0.0,
        _ => 10f64.powi(-i32::try_from(fraction).unwrap_or(i32::MAX)),
    };
    Ok(Numeral {
        printed,
        value,
        step,
        line: stream.get(at).map_or(0, |glyph| glyph.line()),
        end: place,
    })
}

/// No count of a load generator is larger.
const LARGEST: f64 = 1e15;

/// The number as Rust parses it, if it can be read in one way only.
fn plain(printed: &str, digits: Digits) -> Option<String> {
    let groups: Vec<&str> = printed.split(['.', ',', '\'']).collect();
    let separators: Vec<char> = printed
        .chars()
        .filter(|char| !char.is_ascii_digit())
        .collect();
    if groups.iter().any(|group| group.is_empty()) {
        return None;
    }
    let (Some(last), Some(separator)) = (groups.last(), separators.last()) else {
        return Some(printed.to_owned());
    };
    let are_alike = |characters: &[char]| characters.windows(2).all(|pair| pair[0] == pair[1]);
    let are_thousands = |groups: &[&str]| {
        let first = groups[0];
        let begins = (1..=3).contains(&first.len()) && !first.starts_with('0');
        begins && groups[1..].iter().all(|group| group.len() == 3)
    };
    let whole = || (are_alike(&separators) && are_thousands(&groups)).then(|| groups.concat());
    let with_fraction = || {
        let integer = &groups[..groups.len() - 1];
        let before = &separators[..separators.len() - 1];
        let is_fraction = integer.len() == 1
            || (are_alike(before) && are_thousands(integer) && before[0] != *separator);
        (is_fraction && *separator != '\'').then(|| format!("{}.{last}", integer.concat()))
    };
    if matches!(digits, Digits::Whole | Digits::Fixed(0)) {
        return whole();
    }
    if separators.len() > 1 {
        return with_fraction().or_else(whole);
    }
    // One separator and three digits: thousands, or a fraction.
    let may_be_thousands = whole().is_some();
    let is_usual = match digits {
        Digits::Fixed(usual) => last.len() == usual,
        _ => *separator == '.',
    };
    if may_be_thousands && !is_usual {
        None
    } else {
        with_fraction()
    }
}

#[cfg(test)]
mod tests {
    use super::super::clean::lines;
    use super::*;

    fn read(text: &str, digits: Digits) -> Result<(f64, f64), NumberTrouble> {
        let stream = LetterStream::new(&lines(&format!("{text} ")));
        numeral(&stream, 0, digits).map(|numeral| (numeral.value, numeral.step))
    }

    #[test]
    fn numbers_are_read_in_one_way_or_not_at_all() {
        // Method: points, commas, thousands, and ambiguous separators.
        use Digits::{Any, Fixed, Whole};
        let table = [
            ("5000", Whole, Some((5000.0, 0.0))),
            ("5,000", Whole, Some((5000.0, 0.0))),
            ("1.585.000", Whole, Some((1_585_000.0, 0.0))),
            ("1'585'000", Whole, Some((1_585_000.0, 0.0))),
            ("5.00", Whole, None),
            ("0.900", Fixed(3), Some((0.9, 0.001))),
            ("0,900", Fixed(3), Some((0.9, 0.001))),
            ("1,084", Fixed(3), Some((1.084, 0.001))),
            ("1,084", Fixed(2), None),
            ("1.084", Fixed(2), None),
            ("5,555.34", Fixed(2), Some((5555.34, 0.01))),
            ("5.555,34", Fixed(2), Some((5555.34, 0.01))),
            ("1,5", Any, Some((1.5, 0.1))),
            ("1.234", Any, Some((1.234, 0.001))),
            ("1,234", Any, None),
            ("0,234", Any, Some((0.234, 0.001))),
            ("87", Any, Some((87.0, 1.0))),
            ("1.2.3", Any, None),
            ("1..2", Any, None),
        ];
        for (text, digits, expected) in table {
            assert_eq!(read(text, digits).ok(), expected, "{text} {digits:?}");
        }
        assert_eq!(read("x", Any), Err(NumberTrouble::Missing));
    }

    #[test]
    fn a_number_at_the_end_of_a_text_may_be_cut() {
        // Method: the same digits with and without a line end after them.
        let cut = LetterStream::new(&lines("50"));
        assert_eq!(numeral(&cut, 0, Digits::Whole), Err(NumberTrouble::Cut));
        let whole = LetterStream::new(&lines("50\n"));
        assert!(numeral(&whole, 0, Digits::Whole).is_ok());
    }
}
