//! Replays the kept inputs of fuzz targets (`fuzz/kept`), and changes of them.
//!
//! A fuzzer finds inputs by coverage, which takes hours and an instrumented build. The repository
//! keeps them, so that the tests of each crate run the same bodies over them within a second.
//! Start at [`replay`].

mod changed_inputs;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use changed_inputs::ChangedInputs;

/// Calls the body of a fuzz target with each of its kept inputs, then with `changed` random
/// changes of them from a fixed seed.
///
/// # Panics
/// If the body panics, with the input as text; or if the target has no kept input.
pub fn replay(target: &str, changed: usize, body: impl Fn(&[u8])) {
    let kept = kept_inputs(target);
    for input in &kept {
        call(target, input, &body);
    }
    let mut inputs = ChangedInputs::of(&kept);
    for _ in 0..changed {
        call(target, &inputs.changed(), &body);
    }
}

/// Replays a target whose body takes text. Each input ends before its first byte that is not
/// UTF-8, as in fuzzers.
///
/// # Panics
/// As [`replay`].
pub fn replay_text(target: &str, changed: usize, body: impl Fn(&str)) {
    replay(target, changed, |bytes| body(text(bytes)));
}

fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/kept")
        .join(target)
}

/// The kept inputs of a target, in the order of their names.
fn kept_inputs(target: &str) -> Vec<Vec<u8>> {
    let folder = folder(target);
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    let inputs: Vec<Vec<u8>> = files
        .iter()
        .filter_map(|file| fs::read(file).ok())
        .collect();
    assert!(!inputs.is_empty(), "{} keeps no input", folder.display());
    inputs
}

fn call(target: &str, input: &[u8], body: &impl Fn(&[u8])) {
    // The panic hook has already printed the body's own message.
    let result = catch_unwind(AssertUnwindSafe(|| body(input)));
    assert!(
        result.is_ok(),
        "{target} breaks its promise for b\"{}\"",
        input.escape_ascii()
    );
}

fn text(bytes: &[u8]) -> &str {
    let mut chunks = bytes.utf8_chunks();
    chunks.next().map_or("", |chunk| chunk.valid())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn replay_calls_the_body_with_every_kept_and_changed_input() {
        // Method: a body that counts its calls, for a target with kept inputs.
        let calls = Cell::new(0);
        replay("expectation", 50, |_| calls.set(calls.get() + 1));
        assert_eq!(calls.get(), kept_inputs("expectation").len() + 50);
    }

    #[test]
    fn a_body_that_panics_fails_the_test() {
        // Method: a body that panics for one of the kept inputs, and a target that does not exist.
        let refused = kept_inputs("expectation").pop();
        let body = |bytes: &[u8]| assert_ne!(Some(bytes), refused.as_deref());
        assert!(catch_unwind(AssertUnwindSafe(|| replay("expectation", 0, body))).is_err());
        assert!(catch_unwind(|| replay("no-such-target", 0, |_| {})).is_err());
    }

    #[test]
    fn text_ends_before_the_first_invalid_byte() {
        // Method: valid text, text that ends within a character, and no text.
        for (bytes, expected) in [
            (&b"a\xc3\xa4"[..], "a\u{e4}"),
            (b"a\xc3", "a"),
            (b"\xff", ""),
        ] {
            assert_eq!(text(bytes), expected);
        }
    }
}
