//! The file in which a study is saved: what was measured, with what was concluded
//! from it; [`run`] has that of a run. `docs/record-format.md` explains each key. Readers ignore keys that they
//! do not know.

mod digits;
pub(crate) mod run;
pub(crate) mod schema;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::judge::capacities::Capacity;
use crate::judge::comparison::Comparison;
use crate::judge::conclusions::Conclusions;
use crate::judge::families::Families;
use crate::judge::faults::{FaultSummary, LostDifference};
use crate::judge::judge;
use crate::judge::past_baseline::Unpaired;
use crate::judge::ranking::Ranking;
use crate::judge::scope::Scope;
use crate::judge::server_times::{ServerTime, ServerTimeDifference};
use crate::judge::sweeps::Sweep;
use crate::judge::verdict::Verdict;
use crate::record::finding::{Level, Status, Validity};
use crate::record::{
    BlockRecord, FaultRecord, FleetRecord, LoadRecord, Machine, Measured, PastBaseline,
    STUDY_SCHEMA, ServiceRecord, Settings, SkippedSubject, StudyEnd, SubjectRecord,
};
use crate::view::ceilings::Ceiling;
use crate::view::summary::Summary;

/// A study as it is saved.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyRecord {
    pub measured: Measured,
    pub conclusions: Conclusions,
}

impl StudyRecord {
    /// A study with what is concluded from it.
    #[must_use]
    pub fn judged(measured: Measured) -> StudyRecord {
        let conclusions = judge(&measured);
        StudyRecord {
            measured,
            conclusions,
        }
    }

    /// Whether no claim is possible: findings rule out a verdict, and nothing else that was
    /// asked for is decided. Of a server alone: whether findings void every load.
    #[must_use]
    pub fn is_without_claim(&self) -> bool {
        let past = self.conclusions.past_comparisons.iter();
        let primary = self
            .conclusions
            .primary()
            .map(|comparison| comparison.verdict);
        let verdicts: Vec<Verdict> = primary
            .chain(past.map(|unpaired| unpaired.verdict))
            .collect();
        if self.measured.is_comparison() {
            return verdicts.contains(&Verdict::Invalid)
                && !verdicts.iter().any(|verdict| verdict.is_decided());
        }
        let findings = &self.conclusions.validity.findings;
        let is_void = |load: &LoadRecord| {
            let names = self
                .measured
                .subjects
                .iter()
                .map(|subject| subject.name.as_str());
            names.into_iter().all(|name| {
                let mut touching = findings
                    .iter()
                    .filter(|finding| finding.touches(&load.name, [name; 2]));
                touching.any(|finding| finding.level == Level::Void)
            })
        };
        let mut loads = self.measured.loads.iter();
        loads.all(is_void) && self.conclusions.validity.status == Status::Invalid
    }
}

/// The keys of the file. What scripts look for first, whether measured or
/// concluded, stands at the top; the other conclusions have an object of their own.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StudyRecord")]
struct RecordFile<'a> {
    #[schemars(description = "The schema of a study.", extend("const" = STUDY_SCHEMA))]
    schema: Cow<'a, str>,
    /// The version of abx that measured.
    abx_version: Cow<'a, str>,
    /// The command line that started the study.
    command: Cow<'a, [String]>,
    /// When it started, in milliseconds since 1970-01-01 UTC.
    started_unix_ms: u64,
    /// How long it took, in seconds.
    elapsed_s: f64,
    /// What all randomness of the study was drawn from.
    seed: u64,
    /// How the study was conducted.
    settings: Cow<'a, Settings>,
    /// Where it was conducted.
    machine: Cow<'a, Machine>,
    /// The servers under test, in the order in which they were named.
    subjects: Cow<'a, [SubjectRecord]>,
    /// The servers that they need, in the order in which they were started.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    services: Cow<'a, [ServiceRecord]>,
    /// Subjects of the study that were not measured, for want of what they need.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    skipped: Cow<'a, [SkippedSubject]>,
    /// The loads, in the order in which they were named.
    loads: Cow<'a, [LoadRecord]>,
    /// What is done to subjects on purpose, in the order in which it was named.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    faults: Cow<'a, [FaultRecord]>,
    /// The machines that made the load; absent when it was made by abx's own process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fleet: Option<Cow<'a, FleetRecord>>,
    /// Why the study ended.
    end: Cow<'a, StudyEnd>,
    /// What was concluded of the pairs that were asked for, under each load and by each
    /// metric, the primary ones first.
    #[serde(serialize_with = "digits::rounded")]
    comparisons: Cow<'a, [Comparison]>,
    /// What limits the conclusions.
    validity: Cow<'a, Validity>,
    /// What else was concluded.
    #[serde(serialize_with = "digits::rounded")]
    conclusions: OtherConclusions<'a>,
    /// The subject of an older record that it is compared with, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    past_baseline: Option<Cow<'a, PastBaseline>>,
    /// Everything that was measured.
    blocks: Cow<'a, [BlockRecord]>,
}

/// Conclusions beside comparisons and validity.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Conclusions")]
struct OtherConclusions<'a> {
    /// What was not varied.
    scope: Cow<'a, Scope>,
    /// How many families of claims there are, each judged by itself.
    families: Families,
    /// The order of the subjects under each load, where there are more than two.
    rankings: Cow<'a, [Ranking]>,
    /// Loads that differ in one number only, read together.
    sweeps: Cow<'a, [Sweep]>,
    /// The highest rate at which each subject keeps to each objective.
    capacities: Cow<'a, [Capacity]>,
    /// What the generator got from a server that does nothing, for each load
    /// that was offered to one.
    ceilings: Cow<'a, [Ceiling]>,
    /// One for each load and subject.
    summaries: Cow<'a, [Summary]>,
    /// What subjects said of their own time in `Server-Timing`.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    server_times: Cow<'a, [ServerTime]>,
    /// Where that differs between the pairs of the primary comparisons.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    server_time_differences: Cow<'a, [ServerTimeDifference]>,
    /// What was done on purpose: one for each fault and subject.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    faults: Cow<'a, [FaultSummary]>,
    /// By how many requests each subject loses more than its baseline, for each fault.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    lost_to_faults: Cow<'a, [LostDifference]>,
    /// Each subject beside that of the older record, under each load.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    past_comparisons: Cow<'a, [Unpaired]>,
}

impl<'a> From<&'a StudyRecord> for RecordFile<'a> {
    fn from(record: &'a StudyRecord) -> RecordFile<'a> {
        let StudyRecord {
            measured,
            conclusions,
        } = record;
        RecordFile {
            schema: STUDY_SCHEMA.into(),
            abx_version: (&measured.abx_version).into(),
            command: (&measured.command).into(),
            started_unix_ms: measured.started_unix_ms,
            elapsed_s: measured.elapsed_s,
            seed: measured.seed,
            settings: Cow::Borrowed(&measured.settings),
            machine: Cow::Borrowed(&measured.machine),
            subjects: (&measured.subjects).into(),
            services: (&measured.services).into(),
            skipped: (&measured.skipped).into(),
            loads: (&measured.loads).into(),
            faults: (&measured.faults).into(),
            fleet: measured.fleet.as_ref().map(Cow::Borrowed),
            end: Cow::Borrowed(&measured.end),
            comparisons: (&conclusions.comparisons).into(),
            validity: Cow::Borrowed(&conclusions.validity),
            conclusions: OtherConclusions {
                scope: Cow::Borrowed(&conclusions.scope),
                families: conclusions.families,
                rankings: (&conclusions.rankings).into(),
                sweeps: (&conclusions.sweeps).into(),
                capacities: (&conclusions.capacities).into(),
                ceilings: (&conclusions.ceilings).into(),
                summaries: (&conclusions.summaries).into(),
                server_times: (&conclusions.server_times).into(),
                server_time_differences: (&conclusions.server_time_differences).into(),
                faults: (&conclusions.faults).into(),
                lost_to_faults: (&conclusions.lost_to_faults).into(),
                past_comparisons: (&conclusions.past_comparisons).into(),
            },
            past_baseline: measured.past_baseline.as_ref().map(Cow::Borrowed),
            blocks: (&measured.blocks).into(),
        }
    }
}

impl Serialize for StudyRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RecordFile::from(self).serialize(serializer)
    }
}

/// Reads what was measured and judges it: what a file says was concluded is passed over.
impl<'de> Deserialize<'de> for StudyRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<StudyRecord, D::Error> {
        Measured::deserialize(deserializer).map(StudyRecord::judged)
    }
}

impl JsonSchema for StudyRecord {
    fn schema_name() -> Cow<'static, str> {
        RecordFile::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        RecordFile::json_schema(generator)
    }
}
