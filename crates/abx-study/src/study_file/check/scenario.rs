//! A load whose connections are users with a scenario, a file next to the study file.

use std::path::Path;

use super::scenario_file;
use crate::loads::user_scenario::UserScenario;
use crate::study_file::input::Templates;
use crate::study_file::key_position::KeyPosition;
use crate::study_file::mistake::{Diagnostic, short};
use crate::study_file::raw::RawOffer;

/// Reads the scenario of a load, if it has one.
///
/// # Errors
/// A load that has neither requests nor a scenario; a scenario that cannot be read.
pub fn users(
    raw: &RawOffer,
    here: &KeyPosition,
    files: Templates,
) -> Result<Option<UserScenario>, Diagnostic> {
    let Some(file) = &raw.scenario else {
        return if raw.requests.is_empty() {
            Err(here.fault(
                "`requests` is missing: add the requests, such as requests = [{ path = \
                 \"/\" }], or a `scenario`",
            ))
        } else {
            Ok(None)
        };
    };
    let here = here.key("scenario");
    let text = here.text(file, files, |file, error| {
        format!("the scenario `{file}` cannot be read ({error}): put it next to the study file")
    })?;
    // The files of bodies are next to the scenario.
    let path = Path::new(file);
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let beside = |body: &Path| files(&folder.join(body));
    let scenario = scenario_file::parse(&text, path, &beside).map_err(|error| {
        let file = short(file);
        here.fault(format!("the scenario `{file}` cannot be used: {error}"))
    })?;
    Ok(Some(scenario.users(file.clone())))
}
