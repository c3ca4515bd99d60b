//! A load that replays an access log: the log sets the requests, and their times.

use abx_engine::schedule::ReplaySpeed;

use super::request::added_headers;
use crate::access_log::{AccessLog, ReplayedLog};
use crate::loads::load::Load;
use crate::study_file::input::Templates;
use crate::study_file::key_position::KeyPosition;
use crate::study_file::mistake::{Diagnostic, short};
use crate::study_file::raw::RawOffer;
use crate::study_file::raw_request::RawRequest;

/// A log next to the study file.
pub struct FiledLog {
    file: String,
    log: ReplayedLog,
}

/// Takes the log out of a load that replays one.
///
/// # Errors
/// The first key that sets requests or their times along with the log; a log that cannot be read or
/// replayed.
pub fn replayed(
    raw: &mut RawOffer,
    here: &KeyPosition,
    files: Templates,
) -> Result<Option<FiledLog>, Diagnostic> {
    let list = here.key("requests");
    check_alone(&raw.requests, &list)?;
    let [request] = &mut raw.requests[..] else {
        return Ok(None);
    };
    let Some(file) = request.replay.take() else {
        return Ok(None);
    };
    let of_log =
        |key: &str| format!("a replayed log sets the requests and their times: leave `{key}` out");
    here.refuse(&["rate", "slo", "arrivals", "think", "calls"], of_log)?;
    let here = list.item(0);
    let of_requests = [
        "path", "urls", "file", "count", "weight", "method", "body", "form", "template",
    ];
    here.refuse(&of_requests, of_log)?;
    let headers = added_headers(request, &here, files)?;
    let mut log = read(&file, request, &here, files)?;
    for request in &mut log.requests {
        request.add_headers(&headers);
    }
    raw.requests.clear();
    Ok(Some(FiledLog { file, log }))
}

impl FiledLog {
    /// Makes a load replay it; if `has_status`, the load's own status is expected of all requests.
    pub fn onto(self, load: &mut Load, has_status: bool) {
        self.log.onto(load, &self.file, has_status);
    }
}

/// Refuses other requests next to a log, and the keys of a log without one.
fn check_alone(requests: &[RawRequest], list: &KeyPosition) -> Result<(), Diagnostic> {
    for (index, request) in requests.iter().enumerate() {
        let here = list.item(index);
        if request.replay.is_none() {
            here.refuse(&["speed", "replay_methods"], |key| {
                format!(
                    "`{key}` is for a replayed log, and there is none: add replay = \"access.log\""
                )
            })?;
        } else if requests.len() > 1 {
            return Err(here.key("replay").fault(
                "a replayed log excludes other requests: leave them out, or move them to another \
                 load",
            ));
        }
    }
    Ok(())
}

fn read(
    file: &str,
    request: &RawRequest,
    here: &KeyPosition,
    files: Templates,
) -> Result<ReplayedLog, Diagnostic> {
    let speed = request.speed.map_or(Ok(ReplaySpeed::RECORDED), |number| {
        let speed = ReplaySpeed::try_from(number);
        speed.map_err(|wrong| here.key("speed").fault(format!("`speed`: {wrong}")))
    })?;
    let here = here.key("replay");
    let text = here.text(file, files, |file, error| {
        format!(
            "the log `{file}` cannot be read ({error}): put it next to the study file, as plain \
             text"
        )
    })?;
    let mut log = AccessLog::of(request.replay_methods.unwrap_or_default());
    let read = text.lines().try_for_each(|line| log.take(line.as_bytes()));
    let replayed = read.and_then(|()| log.replayed(speed));
    replayed.map_err(|wrong| here.fault(format!("the log `{}`: {wrong}", short(file))))
}
