//! Separates lines `marker NAME` in the output of a command from the rest of that output.

#[cfg(any(test, fuzzing))]
pub mod fuzz;

use abx_sys::Nanos;
use abx_verdict::timer::Marker;

const BEGIN: &[u8] = b"marker ";
/// The longest line of a marker, in bytes; a longer line is output like any other.
const LINE_MAX: usize = 4096;
/// The most markers of one run: a longer table is of no use.
const MARKERS_MAX: usize = 10_000;

/// Reads the output of a command, in pieces of any length.
#[derive(Debug)]
pub struct MarkerLines {
    started: Nanos,
    /// An unfinished line that may be a marker's.
    line: Vec<u8>,
    /// Whether an unfinished line is not a marker's, and was handed on.
    is_other: bool,
    /// When the last piece came.
    last: Nanos,
    markers: Vec<Marker>,
}

/// A command prints more markers than a table can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyMarkers;

impl TooManyMarkers {
    /// The most markers that are allowed.
    pub const MOST: usize = MARKERS_MAX;
}

impl MarkerLines {
    /// The reader of a command that was started at this moment.
    pub fn new(started: Nanos) -> MarkerLines {
        MarkerLines {
            started,
            line: Vec::new(),
            is_other: false,
            last: started,
            markers: Vec::new(),
        }
    }

    /// Takes bytes that came at one moment, and hands on those of other lines.
    pub fn take(
        &mut self,
        at: Nanos,
        bytes: &[u8],
        other: &mut dyn FnMut(&[u8]),
    ) -> Result<(), TooManyMarkers> {
        self.last = at;
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_end = piece.ends_with(b"\n");
            if self.is_other {
                other(piece);
                self.is_other = !is_end;
                continue;
            }
            self.line.extend_from_slice(piece);
            if is_end {
                self.end_line(other)?;
            } else if !self.may_be_marker() {
                other(&self.line);
                self.line.clear();
                self.is_other = true;
            }
        }
        Ok(())
    }

    /// The markers, once the command has closed its output.
    pub fn finish(mut self, other: &mut dyn FnMut(&[u8])) -> Result<Vec<Marker>, TooManyMarkers> {
        if !self.line.is_empty() {
            self.end_line(other)?;
        }
        Ok(self.markers)
    }

    /// Whether the unfinished line can become a marker.
    fn may_be_marker(&self) -> bool {
        let line = &self.line;
        let begins = line.starts_with(BEGIN) || BEGIN.starts_with(line);
        begins && line.len() <= LINE_MAX
    }

    fn end_line(&mut self, other: &mut dyn FnMut(&[u8])) -> Result<(), TooManyMarkers> {
        let line = std::mem::take(&mut self.line);
        let name = line.strip_prefix(BEGIN).filter(|_| line.len() <= LINE_MAX);
        let name = name.map(|name| String::from_utf8_lossy(name).trim().to_owned());
        match name.filter(|name| !name.is_empty()) {
            None => other(&line),
            Some(_) if self.markers.len() >= MARKERS_MAX => return Err(TooManyMarkers),
            Some(name) => self.markers.push(Marker {
                name,
                at_ns: self.last.since(self.started).0,
            }),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The markers and the other output of pieces that come 1 ns after each other.
    fn read(pieces: &[&[u8]]) -> (Vec<(String, u64)>, String) {
        let mut rest = Vec::new();
        let mut other = |bytes: &[u8]| rest.extend_from_slice(bytes);
        let mut lines = MarkerLines::new(Nanos(100));
        for (at, piece) in (101..).zip(pieces) {
            lines.take(Nanos(at), piece, &mut other).unwrap();
        }
        let markers = lines.finish(&mut other).unwrap().into_iter();
        let pairs = markers.map(|marker| (marker.name, marker.at_ns)).collect();
        (pairs, String::from_utf8_lossy(&rest).into_owned())
    }

    #[test]
    fn a_marker_is_a_line_of_its_own() {
        // Method: lines that are markers, and lines that only resemble them.
        let text = "marker a\r\nhello\nmarker  two words \n marker no\nmarker\nmarker \nmarkers x\n\
                    say marker b\nmarker last";
        let (pairs, rest) = read(&[text.as_bytes()]);
        let names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "two words", "last"]);
        assert_eq!(
            rest,
            "hello\n marker no\nmarker\nmarker \nmarkers x\nsay marker b\n"
        );
    }

    #[test]
    fn a_marker_has_the_time_at_which_its_line_was_complete() {
        // Method: two markers in one piece, and one in two pieces. A prompt without the end of a
        // line is handed on at once.
        let mut handed = 0;
        let mut lines = MarkerLines::new(Nanos(0));
        let mut count = |bytes: &[u8]| handed += bytes.len();
        lines.take(Nanos(1), b"password: ", &mut count).unwrap();
        assert_eq!(handed, 10);
        let (pairs, _) = read(&[b"marker a\nmarker b\nmark", b"er c\n"]);
        let expected = [("a", 1_u64), ("b", 1), ("c", 2)].map(|(name, at)| (name.to_owned(), at));
        assert_eq!(pairs, expected);
    }

    #[test]
    fn a_line_that_is_too_long_is_output_and_too_many_markers_are_refused() {
        // Method: a line that is too long for a name, and one marker too many.
        let long = format!("marker {}\n", "x".repeat(LINE_MAX));
        assert_eq!(read(&[long.as_bytes()]), (vec![], long));
        let many = "marker a\n".repeat(MARKERS_MAX + 1);
        let mut lines = MarkerLines::new(Nanos(0));
        let result = lines.take(Nanos(1), many.as_bytes(), &mut |_| {});
        assert_eq!(result, Err(TooManyMarkers));
    }

    #[test]
    fn inputs_that_fuzzing_kept_are_output_or_markers() {
        // Method: the fuzz target's body, on kept inputs and mutations of them.
        abx_corpus::replay("marker_lines", 2_000, fuzz::any_bytes);
    }

    proptest! {
        #[test]
        fn any_split_of_the_bytes_gives_the_same(
            parts in prop::collection::vec("(marker )?[a-c \n]{0,6}", 0..12), length in any::<u8>(),
        ) {
            // Method: the fuzz target's body, on any text, at once and in pieces.
            fuzz::any_bytes(&[&[length], parts.concat().as_bytes()].concat());
        }

        #[test]
        fn any_bytes_except_markers_are_handed_on(
            parts in prop::collection::vec(prop_oneof![
                Just(b"marker ".to_vec()), Just(b"\n".to_vec()), Just(vec![b'x'; LINE_MAX]),
                prop::collection::vec(any::<u8>(), 0..6),
            ], 0..9),
            length in any::<u8>(),
        ) {
            // Method: the fuzz target's body, on bytes that are not text, and on long lines.
            fuzz::any_bytes(&[&[length], &parts.concat()[..]].concat());
        }
    }
}
