//! How a study runs: the pilot, then blocks until enough is known or the budget is used up. The
//! measurements are on disk after every block, before anything is concluded from them.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use abx_engine::{LoadGenerator, Stopper};
use abx_evidence::Measured;
use abx_evidence::record::{LoadRecord, LoadSettings, PilotRecord, StudyEnd};
use abx_model::descriptors_needed;
use abx_sys::Nanos;
use abx_verdict::{Conclusions, Expectation, StudyRecord, is_hopeless, judge};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::measure::block::RoundEvent;
use crate::measure::idle_connections;
use crate::measure::pilot::{PilotOptions, pilot};
use crate::measure::rate_search::RateSearch;
use crate::measure::running_services::how;
use crate::measure::running_subjects::Abort;
use crate::process::pending::Pending;
use crate::process::server_process::ServerProcessError;
use crate::records::store::{Store, StoreError};
use crate::run_study::block::block_loading::BlockPart;
use crate::run_study::block::load_of_block::{MeasuredBlock, measure};
use crate::run_study::block::more_rates::{RateGrids, list_of};
use crate::run_study::block::start_block::{StartedBlock, SubjectStarts};
use crate::run_study::context::{PrepareError, StudyContext};
use crate::run_study::progress::StudyProgress;
use crate::run_study::resume::resumption::{ResumeError, Resumption};
use crate::run_study::study_record::{new_record, note_responses};
use crate::run_study::time::pilot_share::PilotShare;
use crate::run_study::time::stop_rule::{TimeSpent, newly_settled, reason_to_end, reason_to_stop};
use abx_study::load_records::load_records;
use abx_study::{Load, Study};

/// Why a study did not begin, or did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    #[error("{0}")]
    Prepare(#[from] PrepareError),
    #[error("{0}")]
    Resume(#[from] ResumeError),
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    Abort(#[from] Abort),
}

/// The environment of a study.
pub struct StudyEnvironment<'a> {
    /// The program that becomes a keeper when given `keeper_arguments`.
    pub program: PathBuf,
    pub keeper_arguments: &'a [&'a str],
    /// Where the record is kept.
    pub store: &'a mut Store,
    pub watch: &'a mut dyn FnMut(StudyProgress),
    /// Receives a handle that stops the study, before anything is started.
    pub on_stopper: &'a mut dyn FnMut(Stopper),
    /// The version of abx, for the record.
    pub version: &'a str,
    /// Expectations for the ratios. They decide when the study ends, if there are any.
    pub limits: &'a [Expectation],
    /// Whether the blocks so far are enough. It decides in place of verdicts and limits.
    pub until: Option<&'a dyn Fn(&StudyRecord) -> bool>,
    /// The generator of the load; `None` for threads of this process.
    pub generator: Option<Box<dyn LoadGenerator>>,
    /// The record of this study that ended early and is continued.
    pub resumed: Option<Measured>,
}

/// A study that has ended, early or not.
pub struct StudyOutcome {
    /// The measurements and conclusions.
    pub record: StudyRecord,
    /// The error that ended it early.
    pub error: Option<StudyError>,
}

/// Runs a study.
///
/// # Errors
/// [`StudyError::Prepare`], [`StudyError::Resume`] and [`StudyError::Store`] if nothing was
/// started. A later error is in [`StudyOutcome::error`], next to everything that was measured
/// until then.
pub fn run_study(study: &Study, environment: StudyEnvironment) -> Result<StudyOutcome, StudyError> {
    let watch = RefCell::new(environment.watch);
    let notify = |progress: StudyProgress| (watch.borrow_mut())(progress);
    let on_pending = |pending: Pending| notify(StudyProgress::Pending(pending));
    let (program, keeper_arguments) = (environment.program, environment.keeper_arguments);
    let mut context = match environment.generator {
        Some(generator) => {
            StudyContext::prepare_elsewhere(study, program, keeper_arguments, generator)?
        }
        None => StudyContext::prepare(study, program, keeper_arguments)?,
    };
    let fresh = new_record(study, environment.version, &context);
    let Resumption {
        measured,
        loads,
        grids,
        elapsed_before,
    } = Resumption::of(study, fresh, environment.resumed)?;
    context.loads = loads;
    let conclusions = if measured.blocks.is_empty() {
        Conclusions::default()
    } else {
        judge(&measured)
    };
    let record = StudyRecord {
        measured,
        conclusions,
    };
    environment.store.save(&record)?;
    (environment.on_stopper)(context.generator.stopper());
    let started = Instant::now();
    context.on_pending = &on_pending;
    // Blocks whose number was requested may take any time.
    let deadline = Nanos::now().plus(study.budget().into());
    context.deadline = study.blocks.is_none().then_some(deadline);
    let mut runner = StudyRunner {
        study,
        limits: environment.limits,
        until: environment.until,
        context,
        record,
        store: environment.store,
        watch: &notify,
        started,
        elapsed_before,
        grids,
        restart_time: Duration::ZERO,
    };
    let ended = runner.run();
    runner.context.services.stop();
    let saved = runner.conclude(&ended);
    // If the budget cuts off a block, the complete ones before it are a result.
    let has_blocks = runner.record.measured.complete_blocks().next().is_some();
    let is_budget = |error: &StudyError| matches!(error, StudyError::Abort(Abort::Budget));
    let error = ended
        .err()
        .filter(|error| !(has_blocks && is_budget(error)));
    Ok(StudyOutcome {
        record: runner.record,
        error: error.or(saved.err().map(StudyError::Store)),
    })
}

/// Fewer subjects cannot be compared.
const FEWEST_COMPARED: usize = 2;

pub(super) struct StudyRunner<'a> {
    pub(super) study: &'a Study,
    pub(super) limits: &'a [Expectation],
    pub(super) until: Option<&'a dyn Fn(&StudyRecord) -> bool>,
    pub(super) context: StudyContext<'a>,
    pub(super) record: StudyRecord,
    pub(super) store: &'a mut Store,
    pub(super) watch: &'a dyn Fn(StudyProgress),
    pub(super) started: Instant,
    /// How long the study took before it was continued.
    elapsed_before: Duration,
    pub(super) grids: RateGrids,
    /// The time for starting and stopping the subjects of a block.
    pub(super) restart_time: Duration,
}

impl StudyRunner<'_> {
    /// Runs the pilot and then blocks, until there is a reason to stop.
    fn run(&mut self) -> Result<StudyEnd, StudyError> {
        let mut loads = self.record.measured.loads.iter();
        if loads.any(|load| load.pilot.is_none()) {
            (self.watch)(StudyProgress::Pilot);
            self.repeat_if_load_lost(StudyRunner::find_rates)?;
            self.repeat_if_load_lost(StudyRunner::pilot)?;
        }
        let is_hopeless_already = is_hopeless(&judge(&self.record.measured));
        loop {
            let began = Instant::now();
            let block = self.block().or_else(|abort| self.note_death(abort));
            self.record.measured.fleet = self.context.generator.fleet();
            self.record.measured.elapsed_s = self.elapsed_s();
            self.store.save_somewhere(&self.record)?;
            block?;
            self.record.conclusions = judge(&self.record.measured);
            let next_block = began.elapsed().mul_f64(self.settle());
            (self.watch)(StudyProgress::Block {
                record: &self.record,
                next_block,
            });
            let spent = TimeSpent {
                elapsed: self.started.elapsed(),
                next_block,
            };
            if is_hopeless_already {
                // The pilot left nothing to compare. Subjects that work have their figures now.
                return Ok(StudyEnd::Invalid);
            }
            let end = match self.until {
                Some(until) => reason_to_end(self.study, until, &self.record, spent),
                None => reason_to_stop(self.study, self.limits, &self.record, spent),
            };
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    /// Notes which loads have enough blocks, and returns the ratio of the time of a block without
    /// them to that of the last one. No load is settled if `until` ends the study, since it may
    /// need every load.
    fn settle(&mut self) -> f64 {
        let before = self.block_duration();
        if self.until.is_none() {
            for (name, settled) in newly_settled(self.study, self.limits, &self.record) {
                let mut loads = self.record.measured.loads.iter_mut();
                if let Some(load) = loads.find(|load| load.name == name) {
                    load.settled.push(settled);
                }
            }
        }
        self.block_duration().div_duration_f64(before)
    }

    /// The time that the study has taken, including the time before it was continued.
    fn elapsed_s(&self) -> f64 {
        (self.elapsed_before + self.started.elapsed()).as_secs_f64()
    }

    /// Judges the measurements so far, and saves them once more with the conclusions.
    fn conclude(&mut self, ended: &Result<StudyEnd, StudyError>) -> Result<(), StoreError> {
        self.record.measured.end = match ended {
            Ok(end) => end.clone(),
            Err(StudyError::Abort(Abort::Subject { name, error })) => StudyEnd::SubjectFailed {
                subject: name.clone(),
                how: error.to_string(),
            },
            Err(StudyError::Abort(
                Abort::Service { name, error } | Abort::ServiceDied { name, error },
            )) => StudyEnd::ServiceFailed {
                service: name.clone(),
                how: error.to_string(),
            },
            Err(StudyError::Abort(Abort::Interrupted)) => StudyEnd::Interrupted,
            Err(StudyError::Abort(Abort::Budget)) => StudyEnd::Budget,
            Err(error) => StudyEnd::Failed {
                why: error.to_string(),
            },
        };
        self.record.measured.elapsed_s = self.elapsed_s();
        self.record.measured.fleet = self.context.generator.fleet();
        self.record.conclusions = judge(&self.record.measured);
        self.store.save_somewhere(&self.record)
    }

    /// Runs a step, and runs it again if a machine that made a part of the load was lost meanwhile.
    /// This ends: each machine is lost only once, and without any there is no load.
    fn repeat_if_load_lost(
        &mut self,
        step: impl Fn(&mut Self) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        loop {
            match step(self) {
                Err(Abort::LoadLost) => {}
                result => return result,
            }
        }
    }

    /// Lets the study continue after a service exited, unless services exit too often, or with
    /// less load after a machine that made a part of it was lost.
    fn note_death(&mut self, abort: Abort) -> Result<(), Abort> {
        if matches!(abort, Abort::LoadLost) {
            return Ok(());
        }
        if let Abort::ServiceDied { name, error } = &abort {
            (self.watch)(StudyProgress::ServiceDied {
                service: name,
                how: &how(error),
            });
        }
        self.context.note_death(abort)
    }

    /// Replaces the loads whose rate depends on the subjects by loads at the rates that it finds.
    fn find_rates(&mut self) -> Result<(), Abort> {
        let mut loads = self.context.loads.iter();
        if !loads.any(|load| load.rate.is_unresolved()) {
            return Ok(());
        }
        let mut random = self.random(u64::MAX - 1);
        let offered = self.context.loads.clone();
        let left_out = self.unneeded();
        let StartedBlock {
            mut running, loads, ..
        } = self.context.start_block(&mut random)?;
        let mut search = RateSearch::default();
        let resolved: Result<Vec<Vec<Load>>, Abort> = offered
            .iter()
            .zip(&loads)
            .zip(left_out)
            .map(|((load, started), left_out)| {
                running.begin_load(started.cache);
                search.left_out = left_out;
                search.loads(&mut running, load, &started.plans)
            })
            .collect();
        let _ = running.stop_all(None);
        self.context.services.note_used();
        if !search.capacities.is_empty() {
            (self.watch)(StudyProgress::Capacities(&search.capacities));
        }
        self.context.loads = resolved?.into_iter().flatten().collect();
        self.record.measured.loads = load_records(&self.study.subjects, &self.context.loads);
        Ok(())
    }

    fn pilot(&mut self) -> Result<(), Abort> {
        let mut random = self.random(u64::MAX);
        let left_out = self.unneeded();
        let trial_reasons = self.trial_reasons(&left_out);
        let began = Instant::now();
        let offered = self.context.loads.clone();
        let StartedBlock {
            mut running, loads, ..
        } = self.context.start_block(&mut random)?;
        let names = running.names.clone();
        let starting = began.elapsed();
        let share = PilotShare::of(self.study, &offered, self.started.elapsed());
        // The rates of a list that abx made share one pilot if they have the same subjects.
        let mut lists: Vec<((LoadSettings, &[usize]), PilotRecord)> = Vec::new();
        let records = self.record.measured.loads.iter_mut();
        for (place, (load, started)) in records.zip(&loads).enumerate() {
            let left_out = &left_out[place][..];
            let list = list_of(&load.settings).map(|settings| (settings, left_out));
            let known = lists
                .iter()
                .find(|(settings, _)| list.as_ref() == Some(settings));
            let is_known = known.is_some();
            let pilot_record = match (known, load.settings.exchange.hold_ns) {
                (Some((_, pilot_record)), _) => pilot_record.clone(),
                (None, Some(hold_ns)) => {
                    idle_connections::pilot(&mut running, &started.plans, left_out, hold_ns)?
                }
                (None, None) => {
                    running.begin_load(started.cache);
                    let options = PilotOptions {
                        effort: self.study.pilot.under(place == 0),
                        within_ns: share.part(place, self.started.elapsed()),
                        trials_because: trial_reasons[place].clone(),
                        left_out: left_out.to_vec(),
                    };
                    pilot(&mut running, self.study, &started.plans, options)?
                }
            };
            if let Some(list) = list
                && !is_known
            {
                lists.push((list, pilot_record.clone()));
            }
            load.pilot = Some(pilot_record);
            load.settings.bodies_compared = started.bodies_compared;
        }
        let stopping = Instant::now();
        let _ = running.stop_all(None);
        self.restart_time = starting + stopping.elapsed();
        self.context.services.note_used();
        note_responses(&mut self.record.measured, &names, &loads);
        self.fit_blocks();
        self.report_duration();
        self.failure_in_pilot().map_or(Ok(()), Err)
    }

    /// The first failure in the pilot, if every subject failed under every load.
    fn failure_in_pilot(&self) -> Option<Abort> {
        let measured = &self.record.measured;
        let has_no_subject = |load: &LoadRecord| {
            let subjects = measured.subjects.iter();
            let mut loaded = subjects.filter(|subject| !load.is_never_offered(&subject.name));
            loaded.all(|subject| load.failure_in_pilot(&subject.name).is_some())
        };
        if !measured.loads.iter().all(has_no_subject) {
            return None;
        }
        let mut failures = measured.loads.iter().flat_map(|load| {
            let subjects = measured.subjects.iter();
            subjects
                .filter_map(|subject| Some((&subject.name, load.failure_in_pilot(&subject.name)?)))
        });
        let (name, how) = failures.next()?;
        let error = ServerProcessError::WithoutResponse {
            name: name.clone(),
            how: how.to_owned(),
        };
        Some(Abort::subject(name, error))
    }

    /// The subjects that no verdict needs, by their places, for each load. A limit may need any.
    fn unneeded(&self) -> Vec<Vec<usize>> {
        let measured = &self.record.measured;
        let under = |load: &LoadRecord| {
            let subjects = measured.subjects.iter().enumerate();
            let unneeded = subjects.filter(|(_, subject)| {
                self.limits.is_empty() && !measured.is_needed(load, &subject.name)
            });
            unneeded.map(|(place, _)| place).collect()
        };
        measured.loads.iter().map(under).collect()
    }

    /// Why the connections to all subjects that are not left out cannot be open at once, for each
    /// load under which they cannot.
    fn trial_reasons(&self, left_out: &[Vec<usize>]) -> Vec<Option<String>> {
        let descriptors = (
            self.context.descriptors.soft,
            self.context.generator.threads(),
        );
        let reason = |(load, left_out): (&Load, &Vec<usize>)| {
            if load.shape.hold_ns().is_some() {
                // The connections to a subject are closed before those to the next are opened.
                return None;
            }
            let subjects = self.study.subjects.len() - left_out.len();
            let servers = (subjects, self.study.ceiling.is_some());
            too_many(load.connections, servers, descriptors)
        };
        let loads = self.context.loads.iter().zip(left_out);
        loads.map(reason).collect()
    }

    /// The subjects that a block does not start: those that failed at an earlier start, and, in a
    /// study without faults, those that have enough blocks under every load.
    fn left_out(&self) -> Vec<String> {
        let measured = &self.record.measured;
        let starts = measured.failed_starts();
        let failed = starts.map(|start| start.subject.to_owned());
        let is_settled = |name: &str| {
            let mut loads = measured.loads.iter();
            measured.faults.is_empty() && loads.all(|load| load.is_omitted(name))
        };
        let names = measured.subjects.iter().map(|subject| &subject.name);
        let settled = names.filter(|name| is_settled(name)).cloned();
        failed.chain(settled).collect()
    }

    /// Measures one block. Its measurements are in the record even if it fails.
    fn block(&mut self) -> Result<(), Abort> {
        let index = u32::try_from(self.record.measured.blocks.len()).unwrap_or(u32::MAX);
        let seed = self.random(u64::from(index)).random();
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let left_out = self.left_out();
        let starts = SubjectStarts {
            left_out: &left_out,
            fewest: FEWEST_COMPARED,
        };
        let offered = self.context.loads.clone();
        let began = Instant::now();
        let started = match self.context.start_block_of(starts, &mut random) {
            Ok(started) => started,
            Err(abort) => return Err(self.context.blame(abort)),
        };
        if self.restart_time.is_zero() {
            // The study continues a record, and ran no pilot.
            self.restart_time = began.elapsed();
        }
        for (subject, life) in &started.failed {
            if let Some(how) = &life.failed_start {
                (self.watch)(StudyProgress::LeftOut { subject, how });
            }
        }
        let names = &started.running.names;
        note_responses(&mut self.record.measured, names, &started.loads);
        let measured = &self.record.measured;
        let loads = measured.loads.iter().zip(&offered);
        let parts: Vec<BlockPart> = loads
            .filter_map(|(load, offered)| {
                BlockPart::of(load, self.grids.grid(load, offered), measured, names)
            })
            .collect();
        let cold_ns = self.study.cold.map_or(0, |cold| Nanos::from(cold).0);
        let mut on_event = |event: RoundEvent, load: &str, rounds| {
            (self.watch)(match event {
                RoundEvent::RoundBegins(round) => StudyProgress::Round {
                    block: index,
                    load: (parts.len() > 1).then_some(load),
                    round,
                    rounds,
                },
                RoundEvent::RoundEnded(slices) => StudyProgress::Slices(slices),
            });
        };
        let MeasuredBlock {
            mut block,
            further,
            mut ended,
        } = measure(started, &parts, cold_ns, &mut random, &mut on_event);
        block.index = index;
        block.seed = seed;
        if ended.is_ok() {
            let faults = self.add_faults(&mut block, &mut random);
            ended = faults.map_err(|abort| self.context.blame(abort));
            if let Err(Abort::ServiceDied { name, error }) = &ended
                && let Some(service) = block.services.get_mut(name)
            {
                service.died = Some(how(error));
            }
            block.complete = ended.is_ok();
        }
        self.context.services.note_used();
        let measured = &mut self.record.measured;
        measured.blocks.push(block);
        self.grids
            .follow(measured, &mut self.context.loads, further);
        ended
    }

    /// Randomness for one purpose. It depends only on the study's seed and the purpose.
    fn random(&self, purpose: u64) -> ChaCha8Rng {
        let mut random = ChaCha8Rng::seed_from_u64(self.study.seed);
        random.set_stream(purpose);
        random
    }
}

/// Why this many connections to each subject, and to the ceiling's server if there is one, do not
/// fit into the descriptors of the worker threads; `None` if they do. `limit` is per thread.
fn too_many(
    connections: u32,
    (subjects, has_ceiling): (usize, bool),
    (limit, threads): (u64, usize),
) -> Option<String> {
    let servers = subjects as u64 + u64::from(has_ceiling);
    let needed = descriptors_needed(u64::from(connections) * servers, threads);
    let each_server = match subjects {
        1 => "the subject".to_owned(),
        several => format!("each of {several} subjects"),
    };
    (needed > limit).then(|| {
        format!(
            "{connections} connections to {each_server} do not fit into {limit} file descriptors \
             per worker thread at once"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ceiling_takes_descriptors_and_is_no_subject() {
        // Method: the fewest descriptors for 12 subjects, which do not suffice for a ceiling, too.
        let limit = descriptors_needed(1_200, 2);
        assert_eq!(too_many(100, (12, false), (limit, 2)), None);
        let reason = too_many(100, (12, true), (limit, 2)).unwrap();
        let expected = "100 connections to each of 12 subjects do not fit";
        assert!(reason.starts_with(expected), "{reason}");
        let alone = too_many(10_000, (1, true), (limit, 2)).unwrap();
        assert!(alone.contains("to the subject do not fit"), "{alone}");
    }
}
