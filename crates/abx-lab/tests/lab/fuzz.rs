//! Properties of any text, checked by fuzz targets and by property tests.

use std::path::Path;

use abx_lab::scenario_file::{self, ScenarioFileError};
use abx_lab::study_file::{StudyFileError, parse};

/// Parses a text that is also the text of its templates. Any error has a line of the text, and a
/// message on a single line.
///
/// # Panics
/// If a property does not hold.
pub fn any_text(text: &str) {
    if let Err(error) = parse(text, Path::new("study.toml"), &|_| Ok(text.to_owned())) {
        check(text, error);
    }
}

/// As [`any_text`] for a scenario whose bodies are this text too. A scenario has a step.
///
/// # Panics
/// If a property does not hold.
pub fn any_scenario(text: &str) {
    match scenario_file::parse(text, Path::new("scenario.toml"), &|_| Ok(text.to_owned())) {
        Ok(read) => assert!(!read.steps.is_empty(), "a scenario without a step"),
        Err(ScenarioFileError::Content(error)) => check(text, error),
        Err(error) => panic!("nothing was read from disk: {error}"),
    }
}

fn check(text: &str, error: StudyFileError) {
    let StudyFileError::Content(faults) = error else {
        panic!("nothing was read from disk: {error}");
    };
    assert!(!faults.is_empty(), "an error without a fault");
    let lines = text.split('\n').count();
    for fault in faults {
        let message = fault.to_string();
        assert!((1..=lines).contains(&fault.line), "no such line: {message}");
        assert!(!message.contains('\n'), "more than one line: {message}");
    }
}
