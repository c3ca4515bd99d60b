//! A load that replays an access log: the log says what is requested, and when.

use abx_engine::schedule::ReplaySpeed;

use super::request::added_headers;
use crate::access_log::{AccessLog, ReplayedLog, ReplayedMethods};
use crate::loads::load::Load;
use crate::study_file::input::Templates;
use crate::study_file::key_position::KeyPosition;
use crate::study_file::mistake::{Diagnostic, Mistake};
use crate::study_file::raw::RawOffer;
use crate::study_file::raw_request::{RawReplayMethods, RawRequest};
use crate::study_file::unit;

/// A log that stands beside the study file.
pub struct FiledLog {
    file: String,
    log: ReplayedLog,
}

/// Takes the log out of a load that replays one.
///
/// # Errors
/// The first key that says something of requests or their times beside it; a log that cannot
/// be read or replayed.
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
    for (is_given, key) in [
        (raw.rate.is_some(), "rate"),
        (raw.slo.is_some(), "slo"),
        (raw.arrivals.is_some(), "arrivals"),
        (raw.sessions.think.is_some(), "think"),
        (raw.sessions.calls.is_some(), "calls"),
    ] {
        if is_given {
            return Err(here.key(key).fault(Mistake::BesideReplay(key)));
        }
    }
    let here = list.item(0);
    check_beside(request, &here)?;
    let headers = added_headers(request, &here, files)?;
    let mut log = read(&file, request, &here, files)?;
    for request in &mut log.requests {
        request.add_headers(&headers);
    }
    raw.requests.clear();
    Ok(Some(FiledLog { file, log }))
}

impl FiledLog {
    /// Has a load replay it; a status that the load tells is expected of all requests.
    pub fn onto(self, load: &mut Load, tells_status: bool) {
        self.log.onto(load, &self.file, tells_status);
    }
}

/// Refuses other requests beside a log, and its keys where there is none.
fn check_alone(requests: &[RawRequest], list: &KeyPosition) -> Result<(), Diagnostic> {
    for (index, raw_request) in requests.iter().enumerate() {
        let here = list.item(index);
        if raw_request.replay.is_some() && requests.len() > 1 {
            return Err(here.key("replay").fault(Mistake::ReplayNotAlone));
        }
        for (is_given, key) in [
            (raw_request.speed.is_some(), "speed"),
            (raw_request.replay_methods.is_some(), "replay_methods"),
        ] {
            if is_given && raw_request.replay.is_none() {
                return Err(here.key(key).fault(Mistake::WithoutReplay(key)));
            }
        }
    }
    Ok(())
}

/// Refuses what the log says itself.
fn check_beside(request: &RawRequest, here: &KeyPosition) -> Result<(), Diagnostic> {
    for (is_given, key) in [
        (request.path.is_some(), "path"),
        (request.urls.is_some(), "urls"),
        (request.file.is_some(), "file"),
        (request.count.is_some(), "count"),
        (request.weight.is_some(), "weight"),
        (request.method.is_some(), "method"),
        (request.body.is_some(), "body"),
        (request.form.is_some(), "form"),
        (request.template.is_some(), "template"),
    ] {
        if is_given {
            return Err(here.key(key).fault(Mistake::BesideReplay(key)));
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
        speed.map_err(|wrong| here.key("speed").fault(Mistake::Speed(wrong.to_string())))
    })?;
    let methods = match request.replay_methods {
        None | Some(RawReplayMethods::Safe) => ReplayedMethods::Safe,
        Some(RawReplayMethods::All) => ReplayedMethods::All,
    };
    let here = here.key("replay");
    let path = here.read(|key| unit::path_below(key, file))?;
    let unread = |why: String| {
        let file = file.to_owned();
        here.fault(Mistake::Log { file, why })
    };
    let text = files(&path).map_err(|error| {
        unread(format!(
            "it cannot be read ({error}): put it beside the study file, as plain text"
        ))
    })?;
    let mut log = AccessLog::of(methods);
    let taken = text.lines().try_for_each(|line| log.take(line.as_bytes()));
    let replayed = taken.and_then(|()| log.replayed(speed));
    replayed.map_err(|wrong| unread(wrong.to_string()))
}
