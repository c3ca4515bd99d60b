//! Starts a block's subjects: each one is up, ready and verified.

use abx_evidence::record::CEILING;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::measure::meter::Meter;
use crate::measure::planned_load::{PlannedLoad, plan_load};
use crate::measure::running_subjects::{Abort, RunningSubjects};
use crate::process::probe::Probe;
use crate::process::server_process::ServerProcess;
use crate::run_study::ceiling;
use crate::run_study::context::StudyContext;
use crate::study::subject::Subject;

/// A block's subjects, up and verified, with what each load asks of them.
pub struct StartedBlock<'a> {
    /// The subjects.
    pub running: RunningSubjects<'a>,
    /// The order in which they were started.
    pub order: Vec<String>,
    /// The loads in the order of the study.
    pub loads: Vec<PlannedLoad>,
}

impl StudyContext<'_> {
    /// Waits until a subject answers rightly.
    ///
    /// # Errors
    /// [`Abort::Subject`], [`Abort::Interrupted`].
    pub fn wait_ready(&self, subject: &Subject, process: &mut ServerProcess) -> Result<(), Abort> {
        let first = self.loads.first();
        let Some((load, request)) = first.and_then(|load| Some((load, load.requests.first()?)))
        else {
            return Ok(());
        };
        let stopper = self.generator.stopper();
        let first = Probe::of_load(load, request, subject, process.address, self.study.seed);
        let ready = process.wait_ready(
            &subject.source,
            &first.readiness(subject),
            &stopper,
            self.deadline,
            self.on_pending,
        );
        ready.map_err(|error| Abort::subject(&subject.name, error))?;
        match stopper.is_stopped() {
            true => Err(Abort::Interrupted),
            false => Ok(()),
        }
    }

    /// Has services run, starts every subject, waits until each is ready, and verifies what they answer.
    ///
    /// # Errors
    /// [`Abort`]; whatever was started is stopped again.
    pub fn start_block(&mut self, random: &mut ChaCha8Rng) -> Result<StartedBlock<'_>, Abort> {
        let study = self.study;
        self.start_services(random)?;
        let mut order: Vec<usize> = (0..study.subjects.len()).collect();
        order.shuffle(random);
        let mut processes: Vec<Option<ServerProcess>> =
            study.subjects.iter().map(|_| None).collect();
        for subject in &order {
            // How many draws a free port takes depends on the machine, and must
            // not change what is drawn afterwards.
            let mut own = ChaCha8Rng::seed_from_u64(random.random());
            let mut draw = |below: u32| own.random_range(0..below.max(1));
            let mut start = self.start_context(&mut draw);
            let one = &study.subjects[*subject];
            let process = ServerProcess::start(&one.name, &one.source, &mut start)
                .map_err(|error| Abort::subject(&one.name, error))?;
            processes[*subject] = Some(process);
        }
        let mut processes: Vec<ServerProcess> = processes.into_iter().flatten().collect();
        let stopper = self.generator.stopper();
        for (subject, process) in study.subjects.iter().zip(&mut processes) {
            self.wait_ready(subject, process)?;
        }
        let mut loads = { self.loads.iter() }
            .map(|load| {
                plan_load(
                    study,
                    load,
                    (&study.subjects, &processes),
                    &stopper,
                    self.on_pending,
                    random.random(),
                )
            })
            .collect::<Result<Vec<_>, _>>()?;
        let seed = random.random();
        if let Some(ceiling) = &study.ceiling {
            ceiling::start_ceilings(self, ceiling, &mut processes, &mut loads, seed)?;
        }
        let (deadline, on_pending) = (self.deadline, self.on_pending);
        let meter = Meter::new(
            processes.iter().map(ServerProcess::tree).collect(),
            &self.split,
        );
        let meter = meter.with_services(self.services.trees());
        let mut names: Vec<String> = study.subjects.iter().map(|one| one.name.clone()).collect();
        names.resize(processes.len(), CEILING.to_owned());
        let mut running = RunningSubjects::new(&mut *self.generator, meter, processes, names);
        running.services = Some(&mut self.services);
        running.deadline = deadline;
        running.on_pending = on_pending;
        Ok(StartedBlock {
            order: order
                .iter()
                .map(|subject| running.names[*subject].clone())
                .collect(),
            running,
            loads,
        })
    }
}
