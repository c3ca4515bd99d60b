//! What a fault's table means: something that can be done, under a load of the file
//! whose rate is fixed.

use std::collections::BTreeMap;

use abx_engine::schedule::Arrivals;
use abx_evidence::Shape;
use abx_evidence::record::Whom;
use abx_model::TimeText;
use abx_sys::process::Signal;

use super::contrast::check_known;
use super::name::check_name;
use crate::loads::load::Load;
use crate::loads::rates::RateSpec;
use crate::servers::fault::{Fault, Strike};
use crate::study_file::key_position::KeyPosition;
use crate::study_file::mistake::{Diagnostic, Mistake};
use crate::study_file::raw::{RawAction, RawFault, RawFaultSignal, RawWhom};
use crate::study_file::unit;

/// The faults of a file, `list` being where they stand.
///
/// # Errors
/// The first that cannot be done.
pub fn faults(
    raw: Vec<RawFault>,
    list: &KeyPosition,
    loads: &[Load],
) -> Result<Vec<Fault>, Diagnostic> {
    let mut seen = BTreeMap::new();
    let mut faults = Vec::new();
    for (index, raw) in raw.into_iter().enumerate() {
        let here = list.item(index);
        let first = seen.insert(raw.name.clone(), index);
        check_name(first, &raw.name, list, &here.key("name"))?;
        if loads.iter().any(|load| load.name == raw.name) {
            let name = raw.name;
            return Err(here.key("name").fault(Mistake::FaultNamedAsLoad(name)));
        }
        faults.push(fault(raw, &here, loads)?);
    }
    Ok(faults)
}

fn fault(raw: RawFault, here: &KeyPosition, loads: &[Load]) -> Result<Fault, Diagnostic> {
    let time = |key: &str, text: &TimeText| here.key(key).read(|key| unit::time(key, &text.0));
    let [at, within] = [time("at", &raw.at)?, time("within", &raw.within)?];
    let delayed_after = raw.delayed_after.as_ref();
    let delayed_after = delayed_after.map(|text| time("delayed_after", text));
    if at >= within {
        return Err(here.key("at").fault(Mistake::FaultBeyondEnd {
            at: raw.at.0,
            within: raw.within.0,
        }));
    }
    check_load(&raw.load, &here.key("load"), loads)?;
    Ok(Fault {
        strike: strike(&raw, here)?,
        name: raw.name,
        load: raw.load,
        at,
        within,
        delayed_after: delayed_after.transpose()?.unwrap_or(Fault::DELAYED_AFTER),
    })
}

/// Refuses a load that is not there, or offers less while the subject answers less.
fn check_load(name: &str, here: &KeyPosition, loads: &[Load]) -> Result<(), Diagnostic> {
    let known: Vec<&str> = loads.iter().map(|load| load.name.as_str()).collect();
    check_known("load", name, &known, here)?;
    let result = loads.iter().filter(|load| load.name == name);
    let is_fixed = |load: &Load| match load.rate {
        RateSpec::AsPaced => {
            !matches!(load.pacing.arrivals, Arrivals::Closed | Arrivals::Replay(_))
        }
        RateSpec::Share { .. } => true,
        RateSpec::Objective { .. } | RateSpec::Found { .. } => false,
    };
    for load in result {
        if load.shape != Shape::Request {
            return Err(here.fault(Mistake::FaultOfShape(name.to_owned())));
        }
        if !is_fixed(load) {
            return Err(here.fault(Mistake::FaultWithoutRate(name.to_owned())));
        }
    }
    Ok(())
}

fn strike(raw: &RawFault, here: &KeyPosition) -> Result<Strike, Diagnostic> {
    match (raw.action, raw.signal, raw.whom) {
        (Some(action), None, None) => Ok(match action {
            RawAction::Restart => Strike::Restart,
            RawAction::Reload => Strike::Reload,
        }),
        (None, Some(signal), Some(whom)) => Ok(Strike::Signal(of_kernel(signal), whose(whom))),
        (Some(_), ..) => Err(here.key("action").fault(Mistake::FaultTwice)),
        (None, None, None) => Err(here.fault(Mistake::FaultOfNothing)),
        (None, signal, _) => {
            let [key, example] = match signal {
                None => ["signal", "signal = \"SEGV\""],
                Some(_) => ["whom", "whom = \"worker\""],
            };
            Err(here.fault(Mistake::Missing {
                key: key.to_owned(),
                example: Some(example.to_owned()),
            }))
        }
    }
}

fn whose(whom: RawWhom) -> Whom {
    match whom {
        RawWhom::Worker => Whom::Worker,
        RawWhom::Supervisor => Whom::Supervisor,
        RawWhom::Tree => Whom::Tree,
    }
}

fn of_kernel(signal: RawFaultSignal) -> Signal {
    match signal {
        RawFaultSignal::Segv => Signal::Segv,
        RawFaultSignal::Kill => Signal::Kill,
        RawFaultSignal::Abrt => Signal::Abrt,
        RawFaultSignal::Term => Signal::Term,
        RawFaultSignal::Int => Signal::Int,
        RawFaultSignal::Quit => Signal::Quit,
        RawFaultSignal::Hup => Signal::Hup,
        RawFaultSignal::Usr1 => Signal::Usr1,
        RawFaultSignal::Usr2 => Signal::Usr2,
        RawFaultSignal::Stop => Signal::Stop,
        RawFaultSignal::Cont => Signal::Cont,
    }
}
