//! The file in which a study is saved: its measurements and the conclusions from them.
//! `docs/reference/record-format.md` explains each key.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::file::digits;
use crate::file::run::{RUN_SCHEMA, RunView};
use crate::findings::validity::{Status, Validity};
use crate::judge::comparison::Comparison;
use crate::judge::conclusions::Conclusions;
use crate::judge::judge;
use crate::judge::verdict::Verdict;
use crate::view::summary::Summary;
use abx_evidence::Level;
use abx_evidence::record::{LoadRecord, Measured, STUDY_SCHEMA};

/// A study as it is saved.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyRecord {
    pub measured: Measured,
    pub conclusions: Conclusions,
}

impl StudyRecord {
    /// A study with its conclusions.
    #[must_use]
    pub fn judged(measured: Measured) -> StudyRecord {
        let conclusions = judge(&measured);
        StudyRecord {
            measured,
            conclusions,
        }
    }

    /// The study from the JSON of its file. The conclusions there are ignored.
    ///
    /// Other crates use the code that this function and [`StudyRecord::to_json`] make, as with
    /// [`Measured::from_json`].
    ///
    /// # Errors
    /// The text is not JSON, or not a record of a study or run.
    pub fn from_json(text: &str) -> Result<StudyRecord, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The JSON of the file, on one line.
    ///
    /// # Panics
    /// Never: every key is a string.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("every key is a string")
    }

    /// Its parts if it is a run.
    #[must_use]
    pub fn run(&self) -> Option<RunView<'_>> {
        RunView::of(&self.measured, &self.conclusions)
    }

    /// Whether no claim is possible: findings rule out a requested verdict, and no other is
    /// decided. For a single server: whether findings void every load.
    #[must_use]
    pub fn is_without_claim(&self) -> bool {
        let primary = self.conclusions.primary();
        let verdicts: Vec<Verdict> = primary.map(|comparison| comparison.verdict).collect();
        if self.measured.is_comparison() {
            return verdicts.contains(&Verdict::Invalid)
                && !verdicts.iter().any(|verdict| verdict.is_decided());
        }
        let findings = &self.conclusions.validity.findings;
        let is_void = |load: &LoadRecord| {
            self.measured.subjects.iter().all(|subject| {
                let mut touching = findings
                    .iter()
                    .filter(|finding| finding.touches(&load.name, [subject.name.as_str(); 2]));
                touching.any(|finding| finding.level == Level::Void)
            })
        };
        let mut loads = self.measured.loads.iter();
        loads.all(is_void) && self.conclusions.validity.status == Status::Invalid
    }
}

/// The keys of the file. The keys that scripts look for first are at the top.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StudyRecord")]
struct RecordFile<'a> {
    #[schemars(description = "The schema of a study, or of a run.", extend("enum" = [STUDY_SCHEMA, RUN_SCHEMA]))]
    schema: &'static str,
    /// The figures of a run.
    #[serde(flatten)]
    run: Option<&'a Summary>,
    /// The comparisons of the requested pairs, under each load and by each
    /// metric, the primary ones first.
    #[serde(serialize_with = "digits::rounded")]
    comparisons: &'a [Comparison],
    /// The limits of the conclusions.
    validity: &'a Validity,
    /// The other conclusions.
    #[serde(serialize_with = "digits::rounded")]
    conclusions: &'a Conclusions,
    #[serde(flatten)]
    measured: &'a Measured,
}

impl Serialize for StudyRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let run = self.run().map(|run| run.summary);
        RecordFile {
            schema: run.map_or(STUDY_SCHEMA, |_| RUN_SCHEMA),
            run,
            comparisons: &self.conclusions.comparisons,
            validity: &self.conclusions.validity,
            conclusions: &self.conclusions,
            measured: &self.measured,
        }
        .serialize(serializer)
    }
}

/// The most pairs of a subject and a load that are judged: a hundred times as many as the largest
/// known study has.
const PAIRS_MAX: usize = 10_000;
/// The most subjects that are judged: rankings compare each with each. The largest known study has
/// 31.
const SUBJECTS_MAX: usize = 300;

/// Reads the measurements and judges them. The conclusions in the file are ignored.
impl<'de> Deserialize<'de> for StudyRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<StudyRecord, D::Error> {
        let measured = Measured::deserialize(deserializer)?;
        let pairs = measured.subjects.len() * measured.loads.len();
        if pairs > PAIRS_MAX {
            let why = format!("its subjects have more than {PAIRS_MAX} loads together");
            return Err(D::Error::custom(why));
        }
        if measured.subjects.len() > SUBJECTS_MAX {
            let why = format!("it has more than {SUBJECTS_MAX} subjects");
            return Err(D::Error::custom(why));
        }
        Ok(StudyRecord::judged(measured))
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
