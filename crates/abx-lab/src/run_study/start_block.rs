//! The raising of a block's subjects: every one started, ready and verified.

use abx_evidence::record::CEILING;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::measure::meter::Meter;
use crate::measure::planned_load::{RaisedLoad, halt, raise_load};
use crate::measure::running_subjects::{Bench, Halt};
use crate::process::question::{question, readiness};
use crate::process::subject_process::Place;
use crate::run_study::ceiling;
use crate::run_study::context::Stage;

/// A block's subjects, up and verified, with what each load asks of them.
pub struct Raised<'a> {
    /// The subjects.
    pub bench: Bench<'a>,
    /// The order in which they were started.
    pub order: Vec<String>,
    /// The loads in the order of the study.
    pub loads: Vec<RaisedLoad>,
}

impl Stage<'_> {
    /// Starts every subject, waits until each is ready, and verifies what they answer.
    ///
    /// # Errors
    /// [`Halt`]; whatever was started is stopped again.
    pub fn raise(&mut self, random: &mut ChaCha8Rng) -> Result<Raised<'_>, Halt> {
        let study = self.study;
        let mut order: Vec<usize> = (0..study.subjects.len()).collect();
        order.shuffle(random);
        let mut places: Vec<Option<Place>> = study.subjects.iter().map(|_| None).collect();
        for subject in &order {
            // How many draws a free port takes depends on the machine, and must
            // not change what is drawn afterwards.
            let mut own = ChaCha8Rng::seed_from_u64(random.random());
            let mut draw = |below: u32| own.random_range(0..below.max(1));
            let mut ground = self.ground(&mut draw);
            let one = &study.subjects[*subject];
            let place = Place::start(one, &mut ground).map_err(|error| halt(one, error))?;
            places[*subject] = Some(place);
        }
        let mut places: Vec<Place> = places.into_iter().flatten().collect();
        let stopper = self.engine.stopper();
        for (subject, place) in study.subjects.iter().zip(&mut places) {
            let Some(load) = self.loads.first() else {
                break;
            };
            let Some(request) = load.requests.first() else {
                break;
            };
            let first = question(load, request, subject, place.address, study.seed);
            let question = readiness(subject, first);
            let ready = place.wait_ready(subject, &question, &stopper);
            ready.map_err(|error| halt(subject, error))?;
            if stopper.is_stopped() {
                return Err(Halt::Interrupted);
            }
        }
        let mut loads = { self.loads.iter() }
            .map(|load| raise_load(study, load, &places, random.random()))
            .collect::<Result<Vec<_>, _>>()?;
        let seed = random.random();
        if let Some(ceiling) = &study.ceiling {
            ceiling::raise(self, ceiling, &mut places, &mut loads, seed)?;
        }
        let meter = Meter::new(places.iter().map(Place::tree).collect(), &self.split);
        let mut names: Vec<String> = study.subjects.iter().map(|one| one.name.clone()).collect();
        names.resize(places.len(), CEILING.to_owned());
        Ok(Raised {
            order: order
                .iter()
                .map(|subject| names[*subject].clone())
                .collect(),
            bench: Bench::new(&mut self.engine, meter, places, names),
            loads,
        })
    }
}
