//! Starts the subjects of a block side by side. A thread per subject sends probes from the
//! subject's start on, so that no other start adds to the time until it is ready.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use abx_engine::{EngineError, Stopper};
use abx_evidence::record::BlockSubject;
use abx_sys::Nanos;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::measure::running_subjects::Abort;
use crate::process::pending::Pending;
use crate::process::probe::Probe;
use crate::process::server_process::ServerProcess;
use crate::run_study::context::StudyContext;
use abx_study::subject::Subject;

/// The subjects of a block before any load.
#[derive(Default)]
pub struct Participants {
    /// The subjects that are ready, in the order of the study.
    pub subjects: Vec<Subject>,
    pub processes: Vec<ServerProcess>,
    /// The records of subjects that failed.
    pub failed: Vec<(String, BlockSubject)>,
}

/// A subject that did not get ready.
pub struct UnreadySubject {
    /// Its process, if it still exists.
    pub process: Option<ServerProcess>,
    pub abort: Abort,
}

impl Participants {
    /// Stops a subject that failed, and notes its failure for the record of the block.
    pub fn note_failure(&mut self, name: &str, process: Option<ServerProcess>, why: String) {
        let not_started = || BlockSubject {
            end: "not started".to_owned(),
            ..BlockSubject::default()
        };
        let subject = BlockSubject {
            failed_start: Some(why),
            ..process.map_or_else(not_started, ServerProcess::stop)
        };
        self.failed.push((name.to_owned(), subject));
    }

    /// Removes a subject that was ready and has failed since.
    pub fn leave_out(&mut self, name: &str, why: String) {
        let place = self
            .subjects
            .iter()
            .position(|subject| subject.name == name);
        let process = place.map(|place| {
            self.subjects.remove(place);
            self.processes.remove(place)
        });
        self.note_failure(name, process, why);
    }
}

/// The state of the wait for a subject.
enum WaitReport {
    Lasts {
        place: usize,
        waited: Duration,
        at_most: Duration,
    },
    Over {
        place: usize,
    },
}

/// The wait until one subject is ready, on a thread of its own.
struct SubjectWait<'a> {
    place: usize,
    subject: &'a Subject,
    /// The probe that shows that it is ready; `None` if there is none.
    probe: Option<Probe>,
    stopper: Stopper,
    deadline: Option<Nanos>,
    reports: Sender<WaitReport>,
}

impl SubjectWait<'_> {
    fn run(self, mut process: ServerProcess) -> Result<ServerProcess, Box<UnreadySubject>> {
        let place = self.place;
        let on_pending = |pending: Pending| {
            let report = match pending {
                Pending::Ready {
                    waited, at_most, ..
                } => WaitReport::Lasts {
                    place,
                    waited,
                    at_most,
                },
                _ => WaitReport::Over { place },
            };
            // There is no receiver any more if the study has ended.
            let _ = self.reports.send(report);
        };
        let Subject { name, source, .. } = self.subject;
        let ready = match &self.probe {
            Some(probe) => {
                process.wait_ready(source, probe, &self.stopper, self.deadline, &on_pending)
            }
            None => Ok(()),
        };
        on_pending(Pending::Over);
        let ready = ready.map_err(|error| Abort::subject(name, error));
        let ready = if self.stopper.is_stopped() {
            ready.and(Err(Abort::Interrupted))
        } else {
            ready
        };
        match ready {
            Ok(()) => Ok(process),
            Err(abort) => Err(Box::new(UnreadySubject {
                process: Some(process),
                abort,
            })),
        }
    }
}

impl StudyContext<'_> {
    /// Starts subjects in this order, by their indices in the study, and waits until each is ready.
    /// The results are in the order of the study.
    pub fn start_subjects(
        &self,
        order: &[usize],
        random: &mut ChaCha8Rng,
    ) -> Vec<(usize, Result<ServerProcess, Box<UnreadySubject>>)> {
        let (reports, wait_reports) = channel();
        let mut ended = thread::scope(|scope| {
            let waits: Vec<_> = order
                .iter()
                .map(|place| {
                    let wait = self.start_subject(*place, &reports, random);
                    let wait = wait.and_then(|(process, wait)| {
                        let thread = thread::Builder::new();
                        let thread = thread.spawn_scoped(scope, move || wait.run(process));
                        thread.map_err(|source| {
                            Box::new(UnreadySubject {
                                process: None,
                                abort: EngineError::no_thread(source).into(),
                            })
                        })
                    });
                    (*place, wait)
                })
                .collect();
            drop(reports);
            self.report_waits(order, &wait_reports);
            let results = waits.into_iter().map(|(place, wait)| {
                let result = wait.and_then(|thread| thread.join().expect("a wait does not panic"));
                (place, result)
            });
            results.collect::<Vec<_>>()
        });
        ended.sort_by_key(|(place, _)| *place);
        ended
    }

    fn start_subject<'s>(
        &'s self,
        place: usize,
        reports: &Sender<WaitReport>,
        random: &mut ChaCha8Rng,
    ) -> Result<(ServerProcess, SubjectWait<'s>), Box<UnreadySubject>> {
        // How many draws a free port takes depends on the machine, and must not change later draws.
        let mut port_random = ChaCha8Rng::seed_from_u64(random.random());
        let mut draw = |below: u32| port_random.random_range(0..below.max(1));
        let subject = &self.study.subjects[place];
        let mut start = self.start_context(&mut draw);
        let process = ServerProcess::start(&subject.name, &subject.source, &mut start);
        let process = process.map_err(|error| UnreadySubject {
            process: None,
            abort: Abort::subject(&subject.name, error),
        })?;
        let wait = SubjectWait {
            place,
            subject,
            probe: self.readiness_probe(subject, process.address),
            stopper: self.generator.stopper(),
            deadline: self.deadline,
            reports: reports.clone(),
        };
        Ok((process, wait))
    }

    /// Reports the wait for the first subject in the order of starts that is not ready yet, until
    /// all waits are over.
    fn report_waits(&self, order: &[usize], wait_reports: &Receiver<WaitReport>) {
        let mut waiting = order.to_vec();
        for report in wait_reports {
            match report {
                WaitReport::Over { place } => waiting.retain(|other| *other != place),
                WaitReport::Lasts {
                    place,
                    waited,
                    at_most,
                } if waiting.first() == Some(&place) => (self.on_pending)(Pending::Ready {
                    subject: &self.study.subjects[place].name,
                    waited,
                    at_most,
                }),
                WaitReport::Lasts { .. } => {}
            }
        }
        (self.on_pending)(Pending::Over);
    }
}
