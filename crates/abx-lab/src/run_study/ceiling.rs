//! The ceiling: a server that does nothing but answer, loaded in the same
//! blocks and in the same way as the subjects. What the generator gets from it
//! is the most that it could get from anybody.

use abx_engine::{Asked, LoadPlan};
use abx_evidence::record::CEILING;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::measure::planned_load::{RaisedCeiling, RaisedLoad, halt};
use crate::measure::running_subjects::Halt;
use crate::process::question::Question;
use crate::process::subject_process::{Ground, Place, PlaceError};
use crate::process::verify::verify;
use crate::run_study::context::Stage;
use crate::study::launch::Launch;
use crate::study::subject::{Source, Subject, sources};
use crate::study::{Ceiling, Load, Request};

/// The server that answers with pages of this length.
fn null_server(ceiling: &Ceiling, page_bytes: u64) -> Subject {
    let word = |word: &String| word.replace("{bytes}", &page_bytes.to_string());
    Subject {
        name: CEILING.to_owned(),
        source: Source::Command(Launch::new(ceiling.command.iter().map(word).collect())),
        stand_in_for: None,
    }
}

/// Whether a load has a ceiling: one that always asks in HTTP, by a method that
/// has an answer with a body. The server that does nothing speaks no WebSocket.
fn is_asked(load: &Load) -> bool {
    let is_http = !load.shape.is_websocket();
    is_http
        && load.settings(false).arrivals.is_saturating()
        && load.requests.iter().all(|one| one.method != "HEAD")
}

/// The mean length of what is answered, by the weights of the requests.
fn page_bytes(load: &Load, raised: &RaisedLoad) -> Option<u64> {
    let answers = raised.verified.first()?;
    let weighted = load.requests.iter().zip(answers).map(|(request, answer)| {
        let weight = u64::from(request.weight);
        (weight * answer.record().body_bytes, weight)
    });
    let (bytes, weights) = weighted.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    bytes.checked_div(weights)
}

/// Starts a server for each length of answers, behind the subjects' places, and
/// gives each load its own.
///
/// # Errors
/// [`Halt`]; the places that were started stop when they are dropped.
pub fn raise(
    stage: &Stage,
    ceiling: &Ceiling,
    places: &mut Vec<Place>,
    loads: &mut [RaisedLoad],
    seed: u64,
) -> Result<(), Halt> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut known: Vec<(u64, usize)> = Vec::new();
    for (load, raised) in stage.loads.iter().zip(loads) {
        let Some(bytes) = page_bytes(load, raised).filter(|_| is_asked(load)) else {
            continue;
        };
        let found = known.iter().find(|(length, _)| *length == bytes);
        let place = match found {
            Some((_, place)) => *place,
            None => {
                places.push(start(
                    stage,
                    &null_server(ceiling, bytes),
                    load,
                    &mut random,
                )?);
                known.push((bytes, places.len() - 1));
                places.len() - 1
            }
        };
        raised.ceiling =
            plan(&places[place], load, &raised.plans)?.map(|plan| RaisedCeiling { place, plan });
    }
    Ok(())
}

fn start(
    stage: &Stage,
    subject: &Subject,
    load: &Load,
    random: &mut ChaCha8Rng,
) -> Result<Place, Halt> {
    let failed = |error: PlaceError| halt(subject, error);
    let mut draw = |below: u32| random.random_range(0..below.max(1));
    let mut ground = Ground {
        files: &[],
        ..stage.ground(&mut draw)
    };
    let mut place = Place::start(subject, &mut ground).map_err(failed)?;
    let Some(request) = load.requests.first() else {
        return Ok(place);
    };
    let first = question(load, request, &place);
    let stopper = stage.engine.stopper();
    place
        .wait_ready(subject, &first, &stopper)
        .map_err(failed)?;
    if stopper.is_stopped() {
        return Err(Halt::Interrupted);
    }
    Ok(place)
}

/// What the ceiling is asked; everything that it answers has status 200.
fn question(load: &Load, request: &Request, place: &Place) -> Question {
    Question {
        request: request.plan(load.version, &place.address.to_string(), None),
        status: 200,
        shape: abx_engine::Shape::Request,
        seed: 0,
    }
}

/// The first subject's plan, led to the ceiling.
fn plan(place: &Place, load: &Load, plans: &[LoadPlan]) -> Result<Option<LoadPlan>, Halt> {
    let (Some(like), Some(request)) = (plans.first(), load.requests.first()) else {
        return Ok(None);
    };
    let asked = question(load, request, place);
    let answer = verify(CEILING, place.address, &asked, load.timeout);
    let answer = answer.map_err(|error| Halt::Subject {
        name: CEILING.to_owned(),
        error: Box::new(error.into()),
    })?;
    let few = sources(place.address, load.connections, load.keep_alive, &[]);
    Ok(Some(LoadPlan {
        address: place.address,
        // Addresses that were asked for lead to it too, since it is on loopback.
        sources: if like.sources.is_empty() {
            few
        } else {
            like.sources.clone()
        },
        requests: vec![Asked {
            request: asked.request,
            expect: answer.expectation(true),
            weight: 1,
        }],
        ..like.clone()
    }))
}
