//! One load as each subject of a block is offered it: verified and planned.

use abx_engine::{Asked, LoadPlan, RequestPlan};
use abx_sys::Nanos;

use crate::measure::running_subjects::{Cache, Halt};
use crate::process::question::question;
use crate::process::subject_process::{Place, PlaceError};
use crate::process::verify::{Verified, agree, verify};
use crate::study::subject::{Subject, sources};
use crate::study::{Load, Request, Study};

/// One load as it will be offered to each subject, in the order of the study.
pub struct RaisedLoad {
    /// The plans.
    pub plans: Vec<LoadPlan>,
    /// What each subject answered to each request.
    pub verified: Vec<Vec<Verified>>,
    /// Whether the bodies of all requests are compared.
    pub bodies_compared: bool,
    /// What its slices find in memory.
    pub cache: Cache,
    /// What a server that does nothing is offered; `None` without one.
    pub ceiling: Option<RaisedCeiling>,
}

/// The ceiling of one load.
#[derive(Debug, Clone)]
pub struct RaisedCeiling {
    /// Its place behind those of the subjects.
    pub place: usize,
    /// What it is offered.
    pub plan: LoadPlan,
}

/// Verifies what all subjects answer to one load, and plans it for each.
///
/// # Errors
/// [`Halt::Subject`], [`Halt::Answers`].
pub fn raise_load(
    study: &Study,
    load: &Load,
    places: &[Place],
    seed: u64,
) -> Result<RaisedLoad, Halt> {
    // Messages are drawn from it, and are the same in every block.
    let seed = match load.shape.is_websocket() {
        true => study.seed,
        false => seed,
    };
    let mut plans: Vec<LoadPlan> = places
        .iter()
        .map(|place| LoadPlan {
            address: place.address,
            sources: sources(
                place.address,
                load.connections,
                load.keep_alive,
                &study.local_addresses,
            ),
            connections: load.connections,
            requests: Vec::with_capacity(load.requests.len()),
            keep_alive: load.keep_alive,
            verify_every: load.verify_every,
            shape: load.shape.plan(),
            timeout_ns: Nanos::from(load.timeout).0,
            seed,
            pipeline: load.pipeline,
            pacing: load.pacing.clone(),
        })
        .collect();
    let mut verified: Vec<Vec<Verified>> = places.iter().map(|_| Vec::new()).collect();
    let mut bodies_compared = true;
    for request in &load.requests {
        let answers = ask_all(study, load, request, places, seed)?;
        let named: Vec<(&str, &Verified)> = study
            .subjects
            .iter()
            .map(|subject| subject.name.as_str())
            .zip(answers.iter().map(|(_, answer)| answer))
            .collect();
        let is_compared =
            agree(&named, &load.body).map_err(|error| Halt::Answers(Box::new(error)))?;
        bodies_compared &= is_compared;
        for (subject, (asked, answer)) in answers.into_iter().enumerate() {
            plans[subject].requests.push(Asked {
                request: asked,
                expect: answer.expectation(is_compared),
                weight: request.weight,
            });
            verified[subject].push(answer);
        }
    }
    Ok(RaisedLoad {
        plans,
        verified,
        bodies_compared,
        cache: Cache::of(load),
        ceiling: None,
    })
}

/// What each subject answers to one request.
fn ask_all(
    study: &Study,
    load: &Load,
    request: &Request,
    places: &[Place],
    seed: u64,
) -> Result<Vec<(RequestPlan, Verified)>, Halt> {
    let mut answers = Vec::with_capacity(places.len());
    for (subject, place) in study.subjects.iter().zip(places) {
        let asked = question(load, request, subject, place.address, seed);
        let answer = verify(&subject.name, place.address, &asked, load.timeout)
            .map_err(|error| halt(subject, error.into()))?;
        answers.push((asked.request, answer));
    }
    Ok(answers)
}

/// An error together with the subject that it is about.
pub fn halt(subject: &Subject, error: PlaceError) -> Halt {
    Halt::Subject {
        name: subject.name.clone(),
        error: Box::new(error),
    }
}
