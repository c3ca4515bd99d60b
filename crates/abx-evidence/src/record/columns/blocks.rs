//! The rows of a block: its slices, and the readings of each subject. Start at [`BlockForm`], the
//! form in which blocks are read, and [`RoundsForm`], the form in which loads are written.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, Serializer};

use super::cell::{Cell, ColumnError, Row, columns, is_default};
use crate::measure::course::Course;
use crate::measure::distribution::phases::PhaseSums;
use crate::measure::held::Held;
use crate::measure::opening::ConnectionOpening;
use crate::measure::outcome::Outcomes;
use crate::record::bounded::SLICES_MAX;
use crate::record::{
    BlockLoad, BlockRecord, BlockService, BlockSubject, Calibration, Disturbance, FaultSlice,
    Histograms, LedgerRecord, OtherProgram, Round, SliceRecord, SubjectReadings,
};

columns! {
    /// Sums of phases as columns.
    PhaseColumns of PhaseSums {
        /// Responses in the sample.
        requests: u64,
        /// The sum of the times from the intended send to the turn of the request.
        waiting_ns: u64,
        /// The sum of the times that requests took to open their own connections.
        connect_ns: u64,
        /// The sum of the times from the turn of the request to the first byte of its response.
        first_byte_ns: u64,
        /// The sum of the times from the first byte to the last one.
        body_ns: u64,
    }
}

columns! {
    /// How connections were opened, as columns.
    OpeningColumns of ConnectionOpening {
        /// Requested connections.
        asked: u64,
        /// Connections that were open when the opening had ended.
        standing: u64,
        /// The time from the first attempt to connect to the end of the last one.
        open_ns: u64,
        /// The outcomes of the others.
        failures: Outcomes,
    }
}

columns! {
    /// The results of held connections, as columns.
    HeldColumns of Held {
        /// Requested connections.
        asked: u64,
        /// Connections that were still open at the end of the hold time.
        standing: u64,
        /// Connections that had been open and were gone by then.
        lost: u64,
        /// The time from the first attempt to connect to the end of the last handshake.
        open_ns: u64,
        /// The server's memory before its first connections; `None` if not readable.
        memory_before_bytes: Option<u64>,
        /// The server's memory with the connections that were still open; `None` if not readable.
        memory_after_bytes: Option<u64>,
    }
}

/// The rounds of a load, in order: how many slices each has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
struct RoundColumns {
    /// How many slices each round has.
    slices: Vec<usize>,
    /// The disturbances of each round from outside; omitted if there were none.
    #[serde(default, skip_serializing_if = "is_default")]
    disturbed: Vec<Vec<Disturbance>>,
}

/// Readings of subjects over a load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
struct SideColumns {
    /// The subjects.
    subjects: Vec<String>,
    /// The readings of each subject.
    readings: <SubjectReadings as Cell>::Column,
}

/// One load of a block, as a file has it.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BlockLoad")]
pub(in crate::record) struct RoundsForm<'a> {
    /// The load's name.
    load: Cow<'a, str>,
    /// The rounds in order.
    rounds: RoundColumns,
    /// The slices of all rounds in order: one list per counter, with
    /// one value per slice. Lists of only zero, null or false are omitted.
    slices: <SliceRecord as Cell>::Column,
    /// The times of each subject's counted requests.
    histograms: Cow<'a, BTreeMap<String, Histograms>>,
    /// The load over time, by subject; only a run has it.
    #[serde(default, skip_serializing_if = "is_default")]
    courses: Cow<'a, BTreeMap<String, Course>>,
    /// Samples of each subject's CPU time, taken after the slices; omitted if nothing was
    /// sampled.
    #[serde(default, skip_serializing_if = "is_default")]
    ledgers: Cow<'a, BTreeMap<String, LedgerRecord>>,
    /// The other readings of each subject.
    sides: SideColumns,
}

impl<'a> RoundsForm<'a> {
    fn of(load: &'a BlockLoad) -> RoundsForm<'a> {
        let rounds = &load.rounds;
        let slices = rounds.iter().flat_map(|round| &round.slices);
        RoundsForm {
            load: Cow::Borrowed(&load.load),
            rounds: RoundColumns {
                slices: rounds.iter().map(|round| round.slices.len()).collect(),
                disturbed: Cell::column(
                    rounds.iter().map(|round| round.disturbed.clone()).collect(),
                ),
            },
            slices: Cell::column(slices.cloned().collect()),
            histograms: Cow::Borrowed(&load.histograms),
            courses: Cow::Borrowed(&load.courses),
            ledgers: Cow::Borrowed(&load.ledgers),
            sides: SideColumns {
                subjects: load.sides.keys().cloned().collect(),
                readings: Cell::column(load.sides.values().cloned().collect()),
            },
        }
    }

    fn rows(self) -> Result<BlockLoad, ColumnError> {
        let RoundColumns {
            slices: counts,
            disturbed,
        } = self.rounds;
        let disturbed: Vec<Vec<Disturbance>> = Cell::cells(disturbed, counts.len())
            .map_err(|error| error.within("disturbed").within("rounds"))?;
        let total = counts
            .iter()
            .fold(0, |sum: usize, count| sum.saturating_add(*count));
        if total > SLICES_MAX {
            let why = format!("it has more than {SLICES_MAX} slices");
            return Err(ColumnError::new(why).within("slices").within("rounds"));
        }
        let slices: Vec<SliceRecord> =
            Cell::cells(self.slices, total).map_err(|error| error.within("slices"))?;
        let mut slices = slices.into_iter();
        let rounds = counts.into_iter().zip(disturbed);
        let rounds = rounds.map(|(count, disturbed)| Round {
            disturbed,
            slices: slices.by_ref().take(count).collect(),
        });
        let SideColumns { subjects, readings } = self.sides;
        let readings: Vec<SubjectReadings> = Cell::cells(readings, subjects.len())
            .map_err(|error| error.within("readings").within("sides"))?;
        Ok(BlockLoad {
            load: self.load.into_owned(),
            rounds: rounds.collect(),
            histograms: self.histograms.into_owned(),
            courses: self.courses.into_owned(),
            ledgers: self.ledgers.into_owned(),
            sides: subjects.into_iter().zip(readings).collect(),
        })
    }
}

impl Serialize for BlockLoad {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RoundsForm::of(self).serialize(serializer)
    }
}

impl JsonSchema for BlockLoad {
    fn schema_name() -> Cow<'static, str> {
        RoundsForm::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        RoundsForm::json_schema(generator)
    }
}

/// A block as it is read: its loads still in columns.
#[derive(Deserialize)]
pub(in crate::record) struct BlockForm {
    index: u32,
    seed: u64,
    complete: bool,
    order: Vec<String>,
    subjects: BTreeMap<String, BlockSubject>,
    #[serde(default)]
    services: BTreeMap<String, BlockService>,
    loads: Vec<RoundsForm<'static>>,
    #[serde(default)]
    faults: Vec<FaultSlice>,
    #[serde(default)]
    missing_agents: Vec<u32>,
    canaries: Vec<Calibration>,
    #[serde(default)]
    other_programs: Vec<OtherProgram>,
}

impl TryFrom<BlockForm> for BlockRecord {
    type Error = String;

    fn try_from(form: BlockForm) -> Result<BlockRecord, String> {
        let index = form.index;
        let load = |form: RoundsForm<'static>| {
            let name = form.load.clone();
            form.rows()
                .map_err(|error| format!("block {index}, load `{name}`, {error}"))
        };
        Ok(BlockRecord {
            index,
            seed: form.seed,
            complete: form.complete,
            order: form.order,
            subjects: form.subjects,
            services: form.services,
            loads: form.loads.into_iter().map(load).collect::<Result<_, _>>()?,
            faults: form.faults,
            missing_agents: form.missing_agents,
            canaries: form.canaries,
            other_programs: form.other_programs,
        })
    }
}
