//! The property that must hold for any text, for the fuzz target and property tests.

use super::{Expectation, KnownNames};

/// Reads a text as an expectation. An expectation is equal to itself after it is
/// written and read again; an error has a place within the text.
///
/// # Panics
/// If the property does not hold.
pub fn any_text(text: &str) {
    let known = KnownNames {
        subjects: ["old", "new", "127.0.0.1:8081"].map(str::to_owned).into(),
        loads: ["small", "c50"].map(str::to_owned).into(),
    };
    match Expectation::parse(text, &known) {
        Ok(expectation) => {
            let again = Expectation::parse(&expectation.to_string(), &known);
            assert_eq!(
                again.as_ref(),
                Ok(&expectation),
                "written out it is another"
            );
        }
        Err(error) => {
            let marked = text.get(error.place.clone());
            assert!(marked.is_some(), "no such place: {error:?}");
            let lines = error.to_string().lines().count();
            assert_eq!(lines, 3, "what, words and marks: {error}");
        }
    }
}
