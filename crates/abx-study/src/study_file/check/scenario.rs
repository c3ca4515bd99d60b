//! A load whose connections are users with a scenario, which stands beside the study file.

use std::path::Path;

use super::scenario_file;
use crate::loads::user_scenario::UserScenario;
use crate::study_file::input::Templates;
use crate::study_file::key_position::KeyPosition;
use crate::study_file::mistake::{Diagnostic, Mistake};
use crate::study_file::raw::RawOffer;
use crate::study_file::unit;

/// Reads the scenario of a load, where it has one.
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
            Err(here.fault(Mistake::NothingAsked))
        } else {
            Ok(None)
        };
    };
    let here = here.key("scenario");
    let path = here.read(|key| unit::path_below(key, file))?;
    let wrong = |why: String| {
        let file = file.clone();
        here.fault(Mistake::ScenarioFile { file, why })
    };
    let text = files(&path).map_err(|error| {
        wrong(format!(
            "it cannot be read ({error}): put it beside the study file"
        ))
    })?;
    // Its bodies stand beside it.
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let beside = |body: &Path| files(&folder.join(body));
    let read =
        scenario_file::parse(&text, &path, &beside).map_err(|error| wrong(error.to_string()))?;
    Ok(Some(read.users(file.clone())))
}
