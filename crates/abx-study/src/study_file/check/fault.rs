//! Checks a fault's table: a possible action under a load of the file whose rate is fixed.

use abx_engine::schedule::Arrivals;
use abx_evidence::Shape;
use abx_model::TimeText;

use super::contrast::check_known;
use super::name::TakenNames;
use crate::loads::load::Load;
use crate::loads::rates::RateSpec;
use crate::servers::fault::{Fault, Strike};
use crate::study_file::key_position::KeyPosition;
use crate::study_file::mistake::{Diagnostic, short};
use crate::study_file::raw::{RawAction, RawFault};
use crate::study_file::unit;

/// The faults of a file; `list` is their place in it.
///
/// # Errors
/// The first fault that is not possible.
pub fn faults(
    raw: Vec<RawFault>,
    list: &KeyPosition,
    loads: &[Load],
) -> Result<Vec<Fault>, Diagnostic> {
    let mut names = TakenNames::none(list);
    let mut faults = Vec::new();
    for (index, raw) in raw.into_iter().enumerate() {
        let here = list.item(index);
        names.take_name(index, &raw.name)?;
        if loads.iter().any(|load| load.name == raw.name) {
            return Err(here.key("name").fault(format!(
                "`{}` is already the name of a load, and reports list faults next to loads: give \
                 the fault another name",
                raw.name
            )));
        }
        faults.push(fault(raw, &here, loads)?);
    }
    Ok(faults)
}

fn fault(raw: RawFault, here: &KeyPosition, loads: &[Load]) -> Result<Fault, Diagnostic> {
    let time = |key: &str, text: &TimeText| here.key(key).read(|key| unit::time(key, &text.0));
    let [at, within] = [time("at", &raw.at)?, time("within", &raw.within)?];
    let delayed_after = here.key("delayed_after").time(raw.delayed_after.as_ref())?;
    if at >= within {
        return Err(here.key("at").fault(format!(
            "`at` is {}, but the slice ends after {} (`within`): set an earlier `at`",
            raw.at.0, raw.within.0
        )));
    }
    check_load(&raw.load, &here.key("load"), loads)?;
    Ok(Fault {
        strike: strike(&raw, here)?,
        name: raw.name,
        load: raw.load,
        at,
        within,
        delayed_after: delayed_after.unwrap_or(Fault::DELAYED_AFTER),
    })
}

/// Refuses an unknown load, and one whose rate falls if the subject responds more slowly.
fn check_load(name: &str, here: &KeyPosition, loads: &[Load]) -> Result<(), Diagnostic> {
    let known: Vec<&str> = loads.iter().map(|load| load.name.as_str()).collect();
    check_known("load", name, &known, here)?;
    let is_fixed = |load: &Load| match load.rate {
        RateSpec::AsPaced => {
            !matches!(load.pacing.arrivals, Arrivals::Closed | Arrivals::Replay(_))
        }
        RateSpec::Share { .. } => true,
        RateSpec::Objective { .. } | RateSpec::Found { .. } => false,
    };
    for load in loads.iter().filter(|load| load.name == name) {
        if load.shape != Shape::Request {
            return Err(here.fault(format!(
                "the load `{}` is not of shape `request`: faults are seen in requests, so name a \
                 load that is",
                short(name)
            )));
        }
        if !is_fixed(load) {
            return Err(here.fault(format!(
                "the load `{}` has no fixed rate, so it would offer less while a subject fails: \
                 add one to it, such as rate = 500",
                short(name)
            )));
        }
    }
    Ok(())
}

fn strike(raw: &RawFault, here: &KeyPosition) -> Result<Strike, Diagnostic> {
    match (raw.action, raw.signal, raw.whom) {
        (Some(RawAction::Restart), None, None) => Ok(Strike::Restart),
        (Some(RawAction::Reload), None, None) => Ok(Strike::Reload),
        (None, Some(signal), Some(whom)) => Ok(Strike::Signal(signal, whom)),
        (Some(_), ..) => Err(here.key("action").fault(
            "`action` does not go with `signal` or `whom`: leave out `action`, or the other two",
        )),
        (None, None, None) => Err(here.fault(
            "the fault does nothing: add signal = \"SEGV\" and whom = \"worker\", or action = \
             \"restart\"",
        )),
        (None, None, Some(_)) => {
            Err(here.fault("`signal` is missing: add it, for example signal = \"SEGV\""))
        }
        (None, Some(_), None) => {
            Err(here.fault("`whom` is missing: add it, for example whom = \"worker\""))
        }
    }
}
