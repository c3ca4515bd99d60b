//! Starts a block's subjects, waits until they are ready, and verifies their responses.

use abx_evidence::record::{BlockSubject, CEILING};
use abx_sys::ServerAddress;
use rand::Rng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::measure::meter::Meter;
use crate::measure::planned_load::{SubjectPlans, plan_load};
use crate::measure::running_subjects::{Abort, RunningSubjects};
use crate::process::probe::Probe;
use crate::process::server_process::ServerProcess;
use crate::run_study::block::ceiling;
use crate::run_study::block::start_subjects::{Participants, UnreadySubject};
use crate::run_study::context::StudyContext;
use abx_study::Load;
use abx_study::subject::Subject;

/// A block's subjects, started and verified, with the plans of each load for them.
pub struct StartedBlock<'a> {
    pub running: RunningSubjects<'a>,
    pub order: Vec<String>,
    /// The loads in the order of the study.
    pub loads: Vec<SubjectPlans>,
    /// The records of subjects that failed before any load.
    pub failed: Vec<(String, BlockSubject)>,
}

/// Which subjects take part in a block.
#[derive(Clone, Copy)]
pub struct SubjectStarts<'a> {
    /// The names of the subjects that do not.
    pub left_out: &'a [String],
    /// How many subjects must be left after failures.
    pub fewest: usize,
}

impl StudyContext<'_> {
    /// Waits until a subject's response is correct.
    ///
    /// # Errors
    /// [`Abort::Subject`], [`Abort::Interrupted`].
    pub fn wait_ready(&self, subject: &Subject, process: &mut ServerProcess) -> Result<(), Abort> {
        let Some(probe) = self.readiness_probe(subject, process.address) else {
            return Ok(());
        };
        let stopper = self.generator.stopper();
        let ready = process.wait_ready(
            &subject.source,
            &probe,
            &stopper,
            self.deadline,
            self.on_pending,
        );
        ready.map_err(|error| Abort::subject(&subject.name, error))?;
        if stopper.is_stopped() {
            Err(Abort::Interrupted)
        } else {
            Ok(())
        }
    }

    /// The probe that shows that a subject is ready; `None` without a request.
    pub(in crate::run_study) fn readiness_probe(
        &self,
        subject: &Subject,
        address: ServerAddress,
    ) -> Option<Probe> {
        let load = self.loads.first()?;
        let request = load.requests.first()?;
        let probe = Probe::of_load(load, request, subject, address, self.study.seed);
        Some(probe.readiness(subject))
    }

    /// Starts services, then every subject, waits until each is ready, and verifies their
    /// responses.
    ///
    /// # Errors
    /// [`Abort`]; every process that was started is stopped again.
    pub fn start_block(&mut self, random: &mut ChaCha8Rng) -> Result<StartedBlock<'_>, Abort> {
        let every_subject = SubjectStarts {
            left_out: &[],
            fewest: self.study.subjects.len(),
        };
        self.start_block_of(every_subject, random)
    }

    /// Starts a block of some subjects. It leaves out subjects that fail, as long as enough are
    /// left.
    ///
    /// # Errors
    /// As [`StudyContext::start_block`].
    pub fn start_block_of(
        &mut self,
        starts: SubjectStarts,
        random: &mut ChaCha8Rng,
    ) -> Result<StartedBlock<'_>, Abort> {
        let study = self.study;
        self.start_services(random)?;
        let mut order: Vec<usize> = (0..study.subjects.len()).collect();
        order.shuffle(random);
        order.retain(|place| !starts.left_out.contains(&study.subjects[*place].name));
        let mut present = self.ready(starts, &order, random)?;
        let seeds: Vec<u64> = self.loads.iter().map(|_| random.random()).collect();
        let mut loads = loop {
            match self.plan_loads(&present, &seeds) {
                Ok(loads) => break loads,
                Err(abort) => {
                    let left = present.subjects.len() - 1;
                    let (name, why) = self.continues_without(abort, left, starts.fewest)?;
                    present.leave_out(&name, why);
                }
            }
        };
        let Participants {
            subjects,
            mut processes,
            failed,
        } = present;
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
        let mut names: Vec<String> = subjects.into_iter().map(|subject| subject.name).collect();
        names.resize(processes.len(), CEILING.to_owned());
        let mut running = RunningSubjects::new(&mut *self.generator, meter, processes, names);
        running.services = Some(&mut self.services);
        running.profiler = self.profiler.as_mut();
        running.deadline = deadline;
        running.on_pending = on_pending;
        let name = |place: &usize| study.subjects[*place].name.clone();
        Ok(StartedBlock {
            order: order.iter().map(name).collect(),
            running,
            loads,
            failed,
        })
    }

    /// Starts subjects in this order and waits until each is ready or has failed.
    fn ready(
        &mut self,
        starts: SubjectStarts,
        order: &[usize],
        random: &mut ChaCha8Rng,
    ) -> Result<Participants, Abort> {
        let mut present = Participants::default();
        let mut failures = Vec::new();
        for (place, started) in self.start_subjects(order, random) {
            match started {
                Ok(process) => {
                    present.subjects.push(self.study.subjects[place].clone());
                    present.processes.push(process);
                }
                Err(failure) => failures.push(*failure),
            }
        }
        let left = present.subjects.len();
        for UnreadySubject { process, abort } in failures {
            let (name, why) = self.continues_without(abort, left, starts.fewest)?;
            present.note_failure(&name, process, why);
        }
        Ok(present)
    }

    /// The name of a subject that failed before any load, and why, if the block continues without
    /// it. The block does so if at least `fewest` others are left and no service is the cause.
    fn continues_without(
        &mut self,
        abort: Abort,
        left: usize,
        fewest: usize,
    ) -> Result<(String, String), Abort> {
        self.services.check()?;
        match abort {
            Abort::Subject { name, error } if left >= fewest && !self.is_over() => {
                Ok((name, error.to_string()))
            }
            abort => Err(abort),
        }
    }

    fn plan_loads(
        &self,
        present: &Participants,
        seeds: &[u64],
    ) -> Result<Vec<SubjectPlans>, Abort> {
        let stopper = self.generator.stopper();
        let subjects = (&present.subjects[..], &present.processes[..]);
        let plan = |(load, seed): (&Load, &u64)| {
            plan_load(self.study, load, subjects, &stopper, self.on_pending, *seed)
        };
        self.loads.iter().zip(seeds).map(plan).collect()
    }
}
