//! Properties of any output of a command, checked by the fuzz target and by property tests.

use abx_sys::Nanos;

use super::{LINE_MAX, MARKERS_MAX, MarkerLines, TooManyMarkers};

/// The names of markers, and the rest of the output.
type Split = Result<(Vec<String>, Vec<u8>), TooManyMarkers>;

/// Reads bytes as the output of a command: at once, and in pieces whose length is the first byte.
/// Pieces change nothing, and no byte is lost except those of markers.
///
/// # Panics
/// If a property does not hold.
pub fn any_bytes(bytes: &[u8]) {
    let Some((length, output)) = bytes.split_first() else {
        return;
    };
    let at_once = split(&[output]);
    let pieces: Vec<&[u8]> = output.chunks(usize::from(*length).max(1)).collect();
    assert_eq!(at_once, split(&pieces), "pieces change what is read");
    let Ok((names, rest)) = at_once else {
        return;
    };
    assert!(names.len() <= MARKERS_MAX);
    for name in names {
        assert!(!name.is_empty() && name.trim() == name, "{name:?}");
        assert!(!name.contains('\n'), "{name:?}");
    }
    let lines = output.split_inclusive(|byte| *byte == b'\n');
    let others: Vec<&[u8]> = lines.filter(|line| !is_marker(line)).collect();
    assert_eq!(rest, others.concat(), "a line is lost");
}

fn split(pieces: &[&[u8]]) -> Split {
    let mut rest = Vec::new();
    let mut other = |bytes: &[u8]| rest.extend_from_slice(bytes);
    let mut lines = MarkerLines::new(Nanos(0));
    for piece in pieces {
        lines.take(Nanos(1), piece, &mut other)?;
    }
    let markers = lines.finish(&mut other)?.into_iter();
    Ok((markers.map(|marker| marker.name).collect(), rest))
}

/// Whether a complete line is a marker's.
fn is_marker(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line);
    let name = text.strip_prefix("marker ");
    line.len() <= LINE_MAX && name.is_some_and(|name| !name.trim().is_empty())
}
