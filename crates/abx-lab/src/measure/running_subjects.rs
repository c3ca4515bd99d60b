//! Subjects that run, side by side, and the slice that loads one of them.
//! Pilot and blocks are made of this.

use std::time::Duration;

use abx_engine::{Engine, EngineError, LoadPlan, PoolId, SliceEnd, SlicePlan, Stopper};
use abx_evidence::record::{BlockSubject, Histograms, InUse, SliceRecord};
use abx_sys::Nanos;

use crate::measure::meter::{Meter, Troubles};
use crate::process::subject_process::{Place, PlaceError};
use crate::process::verify::VerifyError;
use crate::study::Load;

/// The first part of a slice that is not counted: a tenth.
const DISCARDED: u64 = 10;
/// How often a subject that answers nothing is looked at, and after what time
/// again, before it counts as one that runs.
const END_LOOKS: u32 = 50;
const END_LOOK_EVERY: Duration = Duration::from_millis(10);

/// Why a study cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Halt {
    /// The person stopped it.
    #[error("stopped")]
    Interrupted,
    /// A subject is not there, not right, or gone.
    #[error("{error}")]
    Subject {
        /// Which one.
        name: String,
        /// Why.
        error: Box<PlaceError>,
    },
    /// The subjects do not answer alike.
    #[error("{0}")]
    Answers(Box<VerifyError>),
    /// No rate can be derived from what the subjects answer.
    #[error(
        "no rate can be found for the load `{load}`: a subject answered nothing that was right; \
         try each alone with `abx run`"
    )]
    NoRate {
        /// The load.
        load: String,
    },
    /// abx itself cannot go on.
    #[error("{0}")]
    Engine(#[from] EngineError),
}

/// Subjects that run, with everything to load and watch them.
pub struct Bench<'a> {
    /// Makes the load.
    pub engine: &'a mut Engine,
    /// Reads what they use.
    pub meter: Meter,
    /// The subjects in the order of the study.
    pub places: Vec<Place>,
    /// Their names.
    pub names: Vec<String>,
    /// The most memory of each that was seen.
    rss_bytes_max: Vec<Option<u64>>,
    /// The memory of each before any load.
    memory_at_rest: Vec<Option<u64>>,
    /// What slices find of the subjects' files in memory; what the load at hand asks for.
    pub cache: Cache,
    /// Whether the person stopped the study.
    stopper: Stopper,
}

/// A pool that was opened.
pub struct Opened {
    /// The pool.
    pub pool: PoolId,
    /// Connections that could not be made.
    pub missing: u64,
    /// From the first try to connect to the end of the last one.
    pub open_ns: u64,
}

/// One slice as measured.
pub struct Measured {
    /// For the record.
    pub record: SliceRecord,
    /// Times of its requests.
    pub times: Histograms,
    /// What the machine counted of its troubles meanwhile.
    pub troubles: Troubles,
    /// Pages of the subject's files that were in memory although they had been
    /// dropped; `None` where they were not, or could not be counted.
    pub resident_pages: Option<InUse>,
}

/// What a slice finds of the files that abx made for its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// What those before it left in memory.
    Left,
    /// Nothing, as far as the kernel can be brought to it. Such a slice counts
    /// from its begin, since its first requests are those that meet the disk.
    Cold,
}

impl Cache {
    /// What a load asks for.
    #[must_use]
    pub fn of(load: &Load) -> Cache {
        match load.cold_cache {
            true => Cache::Cold,
            false => Cache::Left,
        }
    }

    /// The first part of a slice of this length that is not counted, in ns.
    #[must_use]
    pub fn discard_ns(self, slice_ns: u64) -> u64 {
        match self {
            Cache::Left => slice_ns / DISCARDED,
            Cache::Cold => 0,
        }
    }
}

/// What slices gave together, in verified answers per second, over so many
/// connections that send.
#[must_use]
pub fn throughput(slices: &[SliceRecord], connections: u32) -> f64 {
    let ok: u64 = slices.iter().map(|slice| slice.ok).sum();
    let ns: u64 = slices.iter().map(|slice| slice.connection_ns).sum();
    f64::from(connections) * ok as f64 / (ns.max(1) as f64 / 1e9)
}

impl<'a> Bench<'a> {
    /// Subjects that are up, in the order of the study.
    pub fn new(
        engine: &'a mut Engine,
        meter: Meter,
        places: Vec<Place>,
        names: Vec<String>,
    ) -> Bench<'a> {
        Bench {
            stopper: engine.stopper(),
            cache: Cache::Left,
            rss_bytes_max: vec![None; places.len()],
            memory_at_rest: vec![None; places.len()],
            engine,
            meter,
            places,
            names,
        }
    }

    /// Looks how much memory each subject has.
    pub fn note_memory(&mut self) {
        for (subject, most) in self.rss_bytes_max.iter_mut().enumerate() {
            *most = (*most).max(self.meter.rss_bytes(subject));
        }
    }

    /// Opens a pool.
    ///
    /// # Errors
    /// [`Halt::Engine`].
    pub fn open(&mut self, plan: &LoadPlan) -> Result<Opened, Halt> {
        let began = Nanos::now();
        let (pool, report) = self.engine.open(plan)?;
        Ok(Opened {
            pool,
            missing: (plan.connections as usize).saturating_sub(report.standing) as u64,
            open_ns: Nanos::now().since(began).0,
        })
    }

    /// Holds the connections of one subject's pool, which say nothing, for a
    /// while; answers how many stand then. None is opened again.
    ///
    /// # Errors
    /// As [`Bench::slice`].
    pub fn hold(&mut self, subject: usize, pool: PoolId, ns: u64) -> Result<u64, Halt> {
        let plan = SlicePlan {
            end: SliceEnd::AfterNs(ns),
            discard_ns: 0,
        };
        let slice = self.engine.slice(pool, &plan)?;
        if self.stopper.is_stopped() {
            return Err(Halt::Interrupted);
        }
        self.check(subject)?;
        Ok(slice.connections.map_or(0, |found| found.standing))
    }

    /// Memory of a subject that nobody has loaded in this block yet, without
    /// pages of files: what was read first.
    pub fn memory_at_rest(&mut self, subject: usize) -> Option<u64> {
        let read = || {
            let memory = self.meter.proportional_memory(subject)?;
            Some(memory.without_files_bytes())
        };
        let known = self.memory_at_rest[subject].or_else(read);
        self.memory_at_rest[subject] = known;
        known
    }

    /// Loads one subject for a while.
    ///
    /// # Errors
    /// [`Halt::Interrupted`]; [`Halt::Subject`] when the subject has ended;
    /// [`Halt::Engine`].
    pub fn slice(&mut self, subject: usize, pool: PoolId, ns: u64) -> Result<Measured, Halt> {
        let reopened = self.refresh(pool)?;
        let resident_pages = match self.cache {
            Cache::Left => None,
            Cache::Cold => self.places[subject].drop_files(),
        };
        let plan = SlicePlan {
            end: SliceEnd::AfterNs(ns),
            discard_ns: self.cache.discard_ns(ns),
        };
        let before = self.meter.before(subject);
        let slice = self.engine.slice(pool, &plan)?;
        let after = self.meter.after(subject);
        if self.stopper.is_stopped() {
            return Err(Halt::Interrupted);
        }
        self.check(subject)?;
        let window = self.meter.window(&before, &after, subject);
        let mut record = SliceRecord::of(&self.names[subject], &slice);
        record.reopened = reopened;
        window.note(&mut record);
        Ok(Measured {
            record,
            times: Histograms::of(slice.tally),
            troubles: window.troubles,
            resident_pages,
        })
    }

    fn refresh(&mut self, pool: PoolId) -> Result<u64, Halt> {
        Ok(self.engine.refresh(pool)?.opened as u64)
    }

    /// Whether a subject still runs.
    ///
    /// # Errors
    /// [`Halt::Subject`].
    pub fn check(&mut self, subject: usize) -> Result<(), Halt> {
        let checked = self.places[subject].check();
        checked.map_err(|error| self.blame(subject, error))
    }

    /// Whether a subject answered anything in a slice: one that does not has nothing
    /// to be compared by.
    ///
    /// # Errors
    /// [`Halt::Subject`].
    pub fn check_answers(&self, subject: usize, slice: &SliceRecord) -> Result<(), Halt> {
        if !slice.stopped_answering {
            return Ok(());
        }
        let mut outcomes = slice.outcomes.clone();
        outcomes.merge(&slice.discarded);
        let error = PlaceError::Silent {
            name: self.names[subject].clone(),
            outcomes: outcomes
                .iter()
                .map(|(outcome, count)| format!("{} {count}", outcome.name()))
                .collect::<Vec<_>>()
                .join(", "),
        };
        Err(self.blame(subject, error))
    }

    /// As [`Bench::check`], for a subject that answers nothing any more: its
    /// sockets are closed some moments before anybody hears that it has ended.
    ///
    /// # Errors
    /// As [`Bench::check`]; [`Halt::Interrupted`].
    pub fn look_for_its_end(&mut self, subject: usize) -> Result<(), Halt> {
        for _ in 0..END_LOOKS {
            self.check(subject)?;
            self.rest(END_LOOK_EVERY)?;
        }
        self.check(subject)
    }

    /// An error together with the subject that it is about.
    #[must_use]
    pub fn blame(&self, subject: usize, error: PlaceError) -> Halt {
        Halt::Subject {
            name: self.names[subject].clone(),
            error: Box::new(error),
        }
    }

    /// Rests, and is woken by a stop.
    ///
    /// # Errors
    /// [`Halt::Interrupted`].
    pub fn rest(&self, span: Duration) -> Result<(), Halt> {
        let step = Duration::from_millis(50);
        let mut left = span;
        while !left.is_zero() {
            if self.stopper.is_stopped() {
                return Err(Halt::Interrupted);
            }
            std::thread::sleep(left.min(step));
            left = left.saturating_sub(step);
        }
        Ok(())
    }

    /// Stops every subject; `died` is the one that had ended by itself.
    #[must_use]
    pub fn stop_all(mut self, died: Option<&str>) -> Vec<(String, BlockSubject)> {
        let places = std::mem::take(&mut self.places);
        let ends = places.into_iter().enumerate().map(|(subject, place)| {
            let name = self.names[subject].clone();
            let cpu = self.meter.cpu(subject);
            let mut end = place.stop(died == Some(&name));
            end.rss_bytes_max = self.rss_bytes_max[subject];
            end.cpu_s = cpu.map(abx_sys::Nanos::as_secs_f64);
            (name, end)
        });
        ends.collect()
    }
}
