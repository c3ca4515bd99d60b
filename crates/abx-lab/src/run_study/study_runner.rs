//! How a study runs: the pilot, then blocks until enough is known or the budget is used up. The
//! measurements are on disk after every block, before anything is concluded from them.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use abx_engine::{LoadGenerator, Stopper};
use abx_evidence::Measured;
use abx_evidence::record::{LoadRecord, LoadSettings, PilotRecord, StudyEnd};
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
use crate::run_study::context::{PrepareError, StudyContext, descriptors_needed};
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
    /// Given a handle, before anything is started, that stops the study.
    pub on_stopper: &'a mut dyn FnMut(Stopper),
    /// The version of abx, for the record.
    pub version: &'a str,
    /// The expectations for the ratios, which then decide when the study ends.
    pub limits: &'a [Expectation],
    /// Whether the blocks so far are enough, which then decides in place of verdicts and limits.
    pub until: Option<&'a dyn Fn(&StudyRecord) -> bool>,
    /// The generator of the load; `None` for threads of this process.
    pub generator: Option<Box<dyn LoadGenerator>>,
    /// The record of this study that it continues, which had ended early.
    pub resumed: Option<Measured>,
}

/// A study that has ended, one way or the other.
pub struct StudyOutcome {
    /// The measurements and conclusions.
    pub record: StudyRecord,
    /// The error that ended it before its time.
    pub error: Option<StudyError>,
}

/// Runs a study.
///
/// # Errors
/// [`StudyError::Prepare`], [`StudyError::Resume`] and [`StudyError::Store`] when nothing was started. What
/// goes wrong later is in [`StudyOutcome::error`], beside everything that was
/// measured until then.
pub fn run_study(study: &Study, around: StudyEnvironment) -> Result<StudyOutcome, StudyError> {
    let watch = RefCell::new(around.watch);
    let notify = |progress: StudyProgress| (watch.borrow_mut())(progress);
    let on_pending = |pending: Pending| notify(StudyProgress::Pending(pending));
    let (program, keeper_arguments) = (around.program.clone(), around.keeper_arguments);
    let mut context = match around.generator {
        Some(generator) => {
            StudyContext::prepare_elsewhere(study, program, keeper_arguments, generator)?
        }
        None => StudyContext::prepare(study, program, keeper_arguments)?,
    };
    let fresh = new_record(study, around.version, &context);
    let Resumption {
        measured,
        loads,
        grids,
        before,
    } = Resumption::of(study, fresh, around.resumed)?;
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
    around.store.save(&record)?;
    (around.on_stopper)(context.generator.stopper());
    let started = Instant::now();
    context.on_pending = &on_pending;
    // Blocks whose number was requested may take any time.
    let ends = Nanos::now().plus(study.budget().into());
    context.deadline = study.blocks.is_none().then_some(ends);
    let mut runner = StudyRunner {
        study,
        limits: around.limits,
        until: around.until,
        context,
        record,
        store: around.store,
        watch: &notify,
        started,
        before,
        grids,
        around: Duration::ZERO,
    };
    let ended = runner.run();
    runner.context.services.stop();
    let saved = runner.conclude(&ended);
    // A block that is cut takes nothing from those before it.
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

/// With so many subjects left there is still something to compare.
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
    /// How long the study had taken before, if it continues one.
    before: Duration,
    pub(super) grids: RateGrids,
    /// The time for starting and stopping the subjects in each block.
    pub(super) around: Duration,
}

impl StudyRunner<'_> {
    /// The pilot and then blocks, until there is a reason to stop.
    fn run(&mut self) -> Result<StudyEnd, StudyError> {
        let mut loads = self.record.measured.loads.iter();
        if loads.any(|load| load.pilot.is_none()) {
            (self.watch)(StudyProgress::Pilot);
            self.with_one_load(StudyRunner::find_rates)?;
            self.with_one_load(StudyRunner::pilot)?;
        }
        let is_hopeless_already = is_hopeless(&judge(&self.record.measured));
        loop {
            let began = Instant::now();
            let block = self.block().or_else(|abort| self.note_death(abort));
            self.record.measured.fleet = self.context.generator.fleet();
            self.record.measured.elapsed_s = (self.before + self.started.elapsed()).as_secs_f64();
            self.store.save_somewhere(&self.record)?;
            block?;
            self.record.conclusions = judge(&self.record.measured);
            let next_block = began.elapsed().mul_f64(self.settle());
            (self.watch)(StudyProgress::Block {
                record: &self.record,
                next_block,
            });
            let spent = TimeSpent {
                whole: self.started.elapsed(),
                next_block,
            };
            if is_hopeless_already {
                // The others have their figures now, and no subject to be compared with.
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

    /// Notes the loads that have blocks enough; the part of the last block's time that
    /// another one will take without them. Another rule that ends the study may need every load.
    fn settle(&mut self) -> f64 {
        let before = self.block_takes();
        if self.until.is_none() {
            let settled = newly_settled(self.study, self.limits, &self.record);
            for (name, settled) in settled {
                let mut loads = self.record.measured.loads.iter_mut();
                if let Some(load) = loads.find(|load| load.name == name) {
                    load.settled.push(settled);
                }
            }
        }
        self.block_takes().div_duration_f64(before)
    }

    /// Judges the measurements so far and saves them once more, now with the conclusions.
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
        self.record.measured.elapsed_s = (self.before + self.started.elapsed()).as_secs_f64();
        self.record.measured.fleet = self.context.generator.fleet();
        self.record.conclusions = judge(&self.record.measured);
        self.store.save_somewhere(&self.record)
    }

    /// Does it again where a machine that made a part of the load was lost meanwhile. Each is
    /// lost once, and without any there is no load.
    fn with_one_load(
        &mut self,
        what: impl Fn(&mut Self) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        loop {
            match what(self) {
                Err(Abort::LoadLost) => {}
                ended => return ended,
            }
        }
    }

    /// Continues if a service exited, unless services do so too often, and with less load if a
    /// machine that made a part of it was lost.
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

    /// Replaces the loads whose rate depends on the subjects by loads at the rates that are found.
    fn find_rates(&mut self) -> Result<(), Abort> {
        let mut loads = self.context.loads.iter();
        if !loads.any(|load| load.rate.is_unresolved()) {
            return Ok(());
        }
        let mut random = self.random(u64::MAX - 1);
        let open = self.context.loads.clone();
        let StartedBlock {
            mut running, loads, ..
        } = self.context.start_block(&mut random)?;
        let mut search = RateSearch::default();
        let each = open.iter().zip(&loads);
        let result: Result<Vec<Vec<Load>>, Abort> = each
            .map(|(load, started)| {
                running.begin_load(started.cache);
                search.loads(&mut running, load, &started.plans)
            })
            .collect();
        let _ = running.stop_all(None);
        self.context.services.note_used();
        if !search.capacities.is_empty() {
            (self.watch)(StudyProgress::Capacities(&search.capacities));
        }
        self.context.loads = result?.into_iter().flatten().collect();
        self.record.measured.loads = load_records(&self.study.subjects, &self.context.loads);
        Ok(())
    }

    fn pilot(&mut self) -> Result<(), Abort> {
        let mut random = self.random(u64::MAX);
        let trials = self.too_many_at_once();
        let began = Instant::now();
        let offered = self.context.loads.clone();
        let StartedBlock {
            mut running, loads, ..
        } = self.context.start_block(&mut random)?;
        let names = running.names.clone();
        let starting = began.elapsed();
        let share = PilotShare::of(self.study, &offered, self.started.elapsed());
        // The rates of a list that abx made are measured alike: one pilot is for all.
        let mut lists: Vec<(LoadSettings, PilotRecord)> = Vec::new();
        for (place, (load, started)) in self
            .record
            .measured
            .loads
            .iter_mut()
            .zip(&loads)
            .enumerate()
        {
            let list = list_of(&load.settings);
            let known = lists
                .iter()
                .find(|(load_settings, _)| list.as_ref() == Some(load_settings));
            let is_known = known.is_some();
            let pilot_record = match (known, load.settings.exchange.hold_ns) {
                (Some((_, pilot_record)), _) => pilot_record.clone(),
                (None, Some(hold_ns)) => {
                    idle_connections::pilot(&mut running, &started.plans, hold_ns)?
                }
                (None, None) => {
                    running.begin_load(started.cache);
                    let terms = PilotOptions {
                        effort: self.study.pilot.under(place == 0),
                        within_ns: share.part(place, self.started.elapsed()),
                        trials_because: trials[place].clone(),
                    };
                    pilot(&mut running, self.study, &started.plans, terms)?
                }
            };
            if let (false, Some(list)) = (is_known, list) {
                lists.push((list, pilot_record.clone()));
            }
            load.pilot = Some(pilot_record);
            load.settings.bodies_compared = started.bodies_compared;
        }
        let stops = Instant::now();
        let _ = running.stop_all(None);
        self.around = starting + stops.elapsed();
        self.context.services.note_used();
        note_responses(&mut self.record.measured, &names, &loads);
        self.fit_blocks();
        self.report_duration();
        self.failure_in_pilot().map_or(Ok(()), Err)
    }

    /// The failure of the first subject in the pilot, when all of them failed.
    fn failure_in_pilot(&self) -> Option<Abort> {
        let measured = &self.record.measured;
        let has_no_subject = |load: &LoadRecord| {
            let mut subjects = measured.subjects.iter();
            subjects.all(|subject| load.failure_in_pilot(&subject.name).is_some())
        };
        if !measured.loads.iter().all(has_no_subject) {
            return None;
        }
        let each = measured.loads.iter().flat_map(|load| {
            let subjects = measured.subjects.iter();
            subjects
                .filter_map(|subject| Some((&subject.name, load.failure_in_pilot(&subject.name)?)))
        });
        each.map(|(name, how)| {
            let error = ServerProcessError::WithoutResponse {
                name: name.clone(),
                how: how.to_owned(),
            };
            Abort::subject(name, error)
        })
        .next()
    }

    /// For each load why the pools of all subjects do not fit at once, if they do not.
    fn too_many_at_once(&self) -> Vec<Option<String>> {
        let servers = (self.study.subjects.len(), self.study.ceiling.is_some());
        let descriptors = (
            self.context.descriptors.soft,
            self.context.generator.threads(),
        );
        let reason = |load: &Load| {
            if load.shape.hold_ns().is_some() {
                // One subject's connections are closed before the next one's are opened.
                return None;
            }
            too_many(load.connections, servers, descriptors)
        };
        let loads = self.context.loads.iter();
        loads.map(reason).collect()
    }

    /// The subjects that a block does not start: those that failed at an earlier start, and
    /// those that have blocks enough under every load. Faults need all of them.
    fn left_out(&self) -> Vec<String> {
        let measured = &self.record.measured;
        let failed = measured.failed_starts();
        let failed = failed.map(|start| start.subject.to_owned());
        let is_settled = |name: &str| {
            let mut loads = measured.loads.iter();
            measured.faults.is_empty() && loads.all(|load| load.is_settled_for(name))
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
        if self.around.is_zero() {
            // It continues a record, without a pilot.
            self.around = began.elapsed();
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
        let loads: Vec<BlockPart> = loads
            .filter_map(|(load, offered)| {
                BlockPart::of(load, self.grids.grid(load, offered), measured, names)
            })
            .collect();
        let cold_ns = self.study.cold.map_or(0, |cold| Nanos::from(cold).0);
        let mut on_moment = |moment: RoundEvent, load: &str, rounds| {
            (self.watch)(match moment {
                RoundEvent::RoundBegins(round) => StudyProgress::Round {
                    block: index,
                    load: (loads.len() > 1).then_some(load),
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
        } = measure(started, &loads, cold_ns, &mut random, &mut on_moment);
        block.index = index;
        block.seed = seed;
        if ended.is_ok() {
            let added = self.add_faults(&mut block, &mut random);
            ended = added.map_err(|abort| self.context.blame(abort));
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

    /// Randomness for one purpose: the same study and purpose give the same.
    fn random(&self, purpose: u64) -> ChaCha8Rng {
        let mut random = ChaCha8Rng::seed_from_u64(self.study.seed);
        random.set_stream(purpose);
        random
    }
}

/// Why so many connections to each of so many subjects, and to the ceiling's server if there is
/// one, do not fit into so many descriptors of each of so many threads, if they do not.
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
    fn the_server_of_the_ceiling_takes_descriptors_and_is_no_subject() {
        // Method: the fewest descriptors that hold 12 subjects, which hold no ceiling besides.
        let limit = descriptors_needed(1_200, 2);
        assert_eq!(too_many(100, (12, false), (limit, 2)), None);
        let reason = too_many(100, (12, true), (limit, 2)).unwrap();
        let expected = "100 connections to each of 12 subjects do not fit";
        assert!(reason.starts_with(expected), "{reason}");
        let alone = too_many(10_000, (1, true), (limit, 2)).unwrap();
        assert!(alone.contains("to the subject do not fit"), "{alone}");
    }
}
