//! Replays the inputs that `fuzz/kept` keeps for fuzz targets, and changes of them.
//!
//! A fuzzer finds inputs by coverage, which takes hours and an instrumented build. What it found is
//! kept, so that the tests of each crate run the same bodies over it within a second. Start at
//! [`replay`].

mod changed_inputs;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use changed_inputs::ChangedInputs;

/// Calls the body of a fuzz target with each input that is kept for it, and then with `changed`
/// inputs that are changed by chance, from one seed.
///
/// # Panics
/// If the body does, with the input as text; or if nothing is kept for the target.
pub fn replay(target: &str, changed: usize, body: impl Fn(&[u8])) {
    let kept = kept(target);
    for input in &kept {
        call(target, input, &body);
    }
    let mut inputs = ChangedInputs::of(&kept);
    for _ in 0..changed {
        call(target, &inputs.changed(), &body);
    }
}

/// The same for a body that takes text: each input up to the first byte that is no UTF-8, as
/// fuzzers cut it.
///
/// # Panics
/// As [`replay`].
pub fn replay_text(target: &str, changed: usize, body: impl Fn(&str)) {
    replay(target, changed, |bytes| body(text(bytes)));
}

/// The folder of a target's kept inputs.
fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/kept")
        .join(target)
}

/// What is kept for a target, in the order of names.
fn kept(target: &str) -> Vec<Vec<u8>> {
    let folder = folder(target);
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    let inputs = files.iter().filter_map(|file| fs::read(file).ok());
    let inputs: Vec<Vec<u8>> = inputs.collect();
    assert!(!inputs.is_empty(), "{} keeps no input", folder.display());
    inputs
}

fn call(target: &str, input: &[u8], body: &impl Fn(&[u8])) {
    // The body's own message is printed before.
    let is_held = catch_unwind(AssertUnwindSafe(|| body(input))).is_ok();
    assert!(
        is_held,
        "{target} breaks its promise for b\"{}\"",
        input.escape_ascii()
    );
}

fn text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn every_kept_input_and_so_many_changes_are_called() {
        // Method: a body that counts its calls, for a target that keeps some inputs.
        let calls = Cell::new(0);
        replay("expectation", 50, |_| calls.set(calls.get() + 1));
        assert_eq!(calls.get(), kept("expectation").len() + 50);
    }

    #[test]
    fn a_body_that_panics_fails_the_test() {
        // Method: a body that refuses one of the kept inputs, and a target that does not exist.
        let input = kept("expectation").pop();
        let refuses = |bytes: &[u8]| assert_ne!(Some(bytes), input.as_deref());
        assert!(catch_unwind(AssertUnwindSafe(|| replay("expectation", 0, refuses))).is_err());
        assert!(catch_unwind(|| replay("no-such-target", 0, |_| {})).is_err());
    }

    #[test]
    fn text_ends_before_the_first_byte_that_is_none() {
        // Method: whole text, text with half a letter at its end, and no text.
        for (bytes, expected) in [
            (&b"a\xc3\xa4"[..], "a\u{e4}"),
            (b"a\xc3", "a"),
            (b"\xff", ""),
        ] {
            assert_eq!(text(bytes), expected);
        }
    }
}
