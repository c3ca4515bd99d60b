//! Parses expectations such as `server_cpu: new <= 1.1 * old @ small`.

use std::ops::Range;

use super::statement::{Expectation, RatioExpectation, Sign, Threshold};
use crate::judge::metric::Metric;
use abx_evidence::{Goal, ObjectiveError, is_hidden};

/// The names that an expectation may use: those of a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownNames {
    pub subjects: Vec<String>,
    pub loads: Vec<String>,
}

/// A text that is not an expectation, with the mistake and its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}\n  {}\n  {}", harmless(.text), marks(.text, .place))]
pub struct ExpectationError {
    /// The text.
    pub text: String,
    /// The wrong bytes of the text; empty if something is missing.
    pub place: Range<usize>,
    /// The mistake, and how to correct it.
    pub what: String,
}

impl Expectation {
    /// Reads `[METRIC:] SUBJECT (>=|<=|>|<) [FACTOR *] SUBJECT [@ LOAD]`, or goals such as
    /// `p99<50ms,errors<0.1% [@ LOAD]`. Every name must be known. The factor is 1 if it is
    /// missing.
    ///
    /// # Errors
    /// [`ExpectationError`] with the place and the known names.
    pub fn parse(text: &str, known: &KnownNames) -> Result<Expectation, ExpectationError> {
        let words = Words { text, known };
        if words.begins_with_goal() {
            words.threshold().map(Expectation::Threshold)
        } else {
            words.read().map(Expectation::Ratio)
        }
    }

    /// The expectation that no subject is slower than its baseline by more than this share.
    ///
    /// # Errors
    /// The valid range, for a share below 0 or from 1 on.
    pub fn not_slower(share: f64) -> Result<Expectation, String> {
        if (0.0..1.0).contains(&share) {
            Ok(Expectation::NotSlower { share })
        } else {
            Err("write a share from 0% to 99%, such as 3%".to_owned())
        }
    }
}

struct Words<'a> {
    text: &'a str,
    known: &'a KnownNames,
}

type Parsed<T> = Result<T, ExpectationError>;

impl Words<'_> {
    /// Whether the first name is that of a goal, and not of a subject.
    fn begins_with_goal(&self) -> bool {
        let end = self.text.find(['<', '>', '=']).unwrap_or(self.text.len());
        let name = self.text[..end].trim();
        Goal::is_known(name) && !self.is_subject(name)
    }

    /// `GOAL[,GOAL...] [@ LOAD]`.
    fn threshold(&self) -> Parsed<Threshold> {
        let (goals, load) = self.split_load(0..self.text.len())?;
        let text = &self.text[goals.clone()];
        match text.parse() {
            Ok(objective) => Ok(Threshold { objective, load }),
            Err(error) => {
                let error: ObjectiveError = error;
                Err(self.wrong(goals, harmless(&error.to_string())))
            }
        }
    }

    fn read(&self) -> Parsed<RatioExpectation> {
        let (place, sign) = self.sign()?;
        let left = self.trimmed(0..place.start);
        let right = place.end..self.text.len();
        let (metric, subject) = self.left(left)?;
        let (factor, rest) = self.factor(right)?;
        let (other, load) = self.right(rest.clone())?;
        if subject == other {
            let what = format!("`{other}` is compared with itself: name two subjects");
            return Err(self.wrong(rest, what));
        }
        if let (Some(metric), Some(_)) = (metric, &load)
            && metric.is_of_a_start()
        {
            let what = format!(
                "{} does not depend on a load: leave out `@` and the load",
                metric.id()
            );
            return Err(self.wrong(rest, what));
        }
        Ok(RatioExpectation {
            metric,
            subject,
            sign,
            factor,
            other,
            load,
        })
    }

    /// The only comparison sign, and its place.
    fn sign(&self) -> Parsed<(Range<usize>, Sign)> {
        let is_sign = |letter| matches!(letter, '<' | '>');
        let Some(start) = self.text.find(is_sign) else {
            let end = self.text.len();
            let what = format!("the comparison sign is missing (>=, <=, > or <): {FORM}");
            return Err(self.wrong(end..end, what));
        };
        let rest = &self.text[start..];
        let (sign, length) = match (rest.starts_with('>'), rest[1..].starts_with('=')) {
            (true, true) => (Sign::AtLeast, 2),
            (true, false) => (Sign::Above, 1),
            (false, true) => (Sign::AtMost, 2),
            (false, false) => (Sign::Below, 1),
        };
        let end = start + length;
        if let Some(second) = self.text[end..].find(is_sign) {
            let second = end + second;
            let what = format!("there is a second comparison sign: {FORM}");
            return Err(self.wrong(second..second + 1, what));
        }
        Ok((start..end, sign))
    }

    /// `[METRIC:] SUBJECT`. A name from a URL may have a colon too.
    fn left(&self, place: Range<usize>) -> Parsed<(Option<Metric>, String)> {
        let text = &self.text[place.clone()];
        let Some(colon) = text.find(':').filter(|_| !self.is_subject(text)) else {
            return Ok((None, self.subject(place)?));
        };
        let word = self.trimmed(place.start..place.start + colon);
        let rest = self.trimmed(place.start + colon + 1..place.end);
        let id = &self.text[word.clone()];
        let metric = nameable().find(|metric| metric.id() == id);
        if metric.is_none() && self.is_subject(&self.text[rest.clone()]) {
            let text = nameable().map(Metric::id).collect::<Vec<_>>().join(", ");
            let what = format!("`{}` is not a metric: choose from {text}", harmless(id));
            return Err(self.wrong(word, what));
        }
        match metric {
            Some(_) => Ok((metric, self.subject(rest)?)),
            None => Ok((None, self.subject(place)?)),
        }
    }

    /// `[FACTOR *]`, and the place of the rest.
    fn factor(&self, place: Range<usize>) -> Parsed<(f64, Range<usize>)> {
        let Some(star) = self.text[place.clone()].find('*') else {
            return Ok((1.0, self.trimmed(place)));
        };
        let number = self.trimmed(place.start..place.start + star);
        let word = &self.text[number.clone()];
        let factor: Option<f64> = word.parse().ok();
        match factor.filter(|factor| factor.is_finite() && *factor > 0.0) {
            Some(factor) => Ok((factor, self.trimmed(place.start + star + 1..place.end))),
            None => {
                let what = format!(
                    "`{}` is not a factor: write a number above zero, such as 0.97",
                    harmless(word)
                );
                Err(self.wrong(number, what))
            }
        }
    }

    /// `SUBJECT [@ LOAD]`.
    fn right(&self, place: Range<usize>) -> Parsed<(String, Option<String>)> {
        let at = self.text[place.clone()].find('@');
        let end = at.map_or(place.end, |at| place.start + at);
        let subject = self.subject(self.trimmed(place.start..end))?;
        let (_, load) = self.split_load(place)?;
        Ok((subject, load))
    }

    /// The place of everything before `@ LOAD`, and the load.
    fn split_load(&self, place: Range<usize>) -> Parsed<(Range<usize>, Option<String>)> {
        let Some(at) = self.text[place.clone()].find('@') else {
            return Ok((self.trimmed(place), None));
        };
        let word = self.trimmed(place.start + at + 1..place.end);
        let load = &self.text[word.clone()];
        if !self.known.loads.iter().any(|text| text == load) {
            let what = unknown("load", load, &self.known.loads);
            return Err(self.wrong(word, what));
        }
        let before = self.trimmed(place.start..place.start + at);
        Ok((before, Some(load.to_owned())))
    }

    fn subject(&self, place: Range<usize>) -> Parsed<String> {
        let name = &self.text[place.clone()];
        if self.is_subject(name) {
            return Ok(name.to_owned());
        }
        let what = unknown("subject", name, &self.known.subjects);
        Err(self.wrong(place, what))
    }

    fn is_subject(&self, name: &str) -> bool {
        self.known.subjects.iter().any(|subject| subject == name)
    }

    /// The place without blanks at its ends.
    fn trimmed(&self, place: Range<usize>) -> Range<usize> {
        let text = &self.text[place.clone()];
        let start = place.start + text.len() - text.trim_start().len();
        start..start + text.trim().len()
    }

    fn wrong(&self, place: Range<usize>, what: String) -> ExpectationError {
        ExpectationError {
            text: self.text.to_owned(),
            place,
            what,
        }
    }
}

fn unknown(kind: &str, name: &str, known: &[String]) -> String {
    let known = known.join(", ");
    match name {
        "" => format!("a {kind} is missing: choose from {known}"),
        name => format!("`{}` is not a {kind}: choose from {known}", harmless(name)),
    }
}

/// The text on one line, with the same number of characters.
fn harmless(text: &str) -> String {
    let is_harmful = |letter: char| letter.is_control() || is_hidden(letter);
    text.replace(is_harmful, "\u{fffd}")
}

/// A line with marks under the place.
fn marks(text: &str, place: &Range<usize>) -> String {
    let before = text[..place.start].chars().count();
    let wrong = text[place.clone()].chars().count();
    format!("{}{}", " ".repeat(before), "^".repeat(wrong.max(1)))
}

const FORM: &str = "write `SUBJECT >= FACTOR * SUBJECT`, with `METRIC:` before it or `@ LOAD` \
                    after it if you mean one; or a threshold such as `p99<50ms,errors<0.1%`";

/// Metrics that can be named: expectations cannot name a step of a scenario.
fn nameable() -> impl Iterator<Item = Metric> {
    let metrics = Metric::ALL.into_iter();
    metrics.filter(|metric| !metric.is_of_a_step())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::expectation::fuzz;

    fn known() -> KnownNames {
        KnownNames {
            subjects: ["old", "new", "127.0.0.1:8081"].map(str::to_owned).into(),
            loads: ["small-c10", "large"].map(str::to_owned).into(),
        }
    }

    fn read(text: &str) -> Result<String, ExpectationError> {
        Expectation::parse(text, &known()).map(|expectation| expectation.to_string())
    }

    #[test]
    fn expectations_are_read_in_every_form() {
        // Method: each form with its canonical text.
        let table = [
            ("new >= 0.97 * old", "new >= 0.97 * old"),
            ("new>=0.97*old@large", "new >= 0.97 * old @ large"),
            (" new  <  1.0*old ", "new < old"),
            (
                "server_cpu: new <= 1.1 * old @ small-c10",
                "server_cpu: new <= 1.1 * old @ small-c10",
            ),
            ("127.0.0.1:8081 > 2 * old", "127.0.0.1:8081 > 2 * old"),
            (
                "memory:127.0.0.1:8081 > .5 * old",
                "memory: 127.0.0.1:8081 > 0.5 * old",
            ),
            ("ready_time: old<=1e1*new", "ready_time: old <= 10 * new"),
            (" p99 < 50ms ", "p99<50ms"),
            ("errors<0.1%@large", "errors<0.1% @ large"),
            ("p50<1s, p99.9<1500ms", "p50<1s,p99.9<1.5s"),
        ];
        for (text, expected) in table {
            assert_eq!(read(text).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn a_wrong_expectation_shows_the_place_and_what_is_known() {
        // Method: each mistake once, with the marked words and a part of the message.
        let table = [
            ("", "", "the comparison sign is missing"),
            ("new = old", "", "the comparison sign is missing"),
            ("nw >= 0.97 * old", "nw", "choose from old, new"),
            ("new >= 0.97 * od", "od", "choose from old, new"),
            (">= 1 * old", "", "a subject is missing"),
            ("new >=", "", "a subject is missing"),
            (
                "cpu: new <= 1.1 * old",
                "cpu",
                "choose from throughput, resp",
            ),
            ("a:b <= 1.1 * old", "a:b", "choose from old, new"),
            ("memory: a <= 1.1 * old", "a", "choose from old, new"),
            ("new >= 3% * old", "3%", "a number above zero"),
            ("new >= -1 * old", "-1", "a number above zero"),
            ("new >= inf * old", "inf", "a number above zero"),
            ("new >= NaN * old", "NaN", "a number above zero"),
            (
                "new >= 1 * old @ tiny",
                "tiny",
                "choose from small-c10, large",
            ),
            ("new >= 1 * old @", "", "a load is missing"),
            ("new >= 1 * new", "new", "two subjects"),
            ("new > 1 * old < 2", "<", "a second comparison sign"),
            ("p99<50", "p99<50", "a number and us, ms or s"),
            ("p99>50ms", "p99>50ms", "is not a goal"),
            ("p99<=50ms", "p99<=50ms", "is not a goal"),
            ("errors<1", "errors<1", "`errors<` and a percentage"),
            ("p98<5ms", "p98", "choose from old, new"),
            ("p99<5ms @ tiny", "tiny", "choose from small-c10, large"),
            ("p99<5ms,p99<6ms", "p99<5ms,p99<6ms", "two limits"),
            (
                "ready_time: new < old @ large",
                "old @ large",
                "does not depend on a load",
            ),
        ];
        for (text, place, message) in table {
            let error = read(text).unwrap_err();
            assert_eq!(&text[error.place.clone()], place, "{error}");
            assert!(error.to_string().contains(message), "{error}");
        }
        let error = read("nöw\n>= 0.97 * old").unwrap_err().to_string();
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(lines[1..], ["  nöw\u{fffd}>= 0.97 * old", "  ^^^"]);
        let error = read("é = old").unwrap_err().to_string();
        assert_eq!(error.lines().last(), Some("         ^"));
    }

    #[test]
    fn a_share_of_slowness_is_below_one() {
        // Method: both ends of the range, and values beyond them.
        assert!(Expectation::not_slower(0.0).is_ok());
        let three = Expectation::not_slower(0.03).unwrap();
        assert_eq!(three.to_string(), "not slower by more than 3 %");
        for share in [1.0, -0.01, f64::NAN] {
            assert!(Expectation::not_slower(share).is_err(), "{share}");
        }
    }

    #[test]
    fn saved_fuzz_inputs_are_an_expectation_or_an_error() {
        // Method: the fuzz target's body, on saved inputs and mutations of them.
        abx_corpus::replay_text("expectation", 2_000, fuzz::any_text);
    }

    proptest! {
        #[test]
        fn any_text_is_an_expectation_or_an_error_with_a_place(text in any::<String>()) {
            // Method: the fuzz target's body, on any text.
            fuzz::any_text(&text);
        }

        #[test]
        fn words_in_any_order_are_an_expectation_or_an_error_with_a_place(
            words in prop::collection::vec(
                prop::sample::select(vec![
                    "old", "new", "127.0.0.1:8081", ">=", "<", "=", "*", "@", ":", " ", "é",
                    "0.97", "1e400", "small", "memory", "ready_time", "\n", "p99", "errors",
                    "50ms", "1%", ",",
                ]),
                0..12,
            ),
        ) {
            // Method: the fuzz target's body, on its own words thrown together.
            fuzz::any_text(&words.concat());
            fuzz::any_text(&words.join(" "));
        }
    }
}
