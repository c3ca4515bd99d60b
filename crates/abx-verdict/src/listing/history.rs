//! The entry of each record in a list, read from its JSON without the measurements, which are
//! most of it.

use serde::{Deserialize, Serialize};

use crate::bisect::{BisectConclusion, BisectRecord, CommitRecord};
use crate::file::run::{OLD_RUN_SCHEMA, RUN_SCHEMA};
use crate::judge::comparison::Role;
use crate::judge::metric::Metric;
use crate::judge::verdict::Verdict;
use crate::listing::fingerprint::Fingerprint;
use abx_evidence::record::{Machine, STUDY_SCHEMA};
use abx_evidence::{OUTPUT_SCHEMA, OutputHead};

/// A list of records, newest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct History {
    #[serde(flatten)]
    pub head: OutputHead,
    pub folder: String,
    /// The listed records.
    pub entries: Vec<Entry>,
    /// The number of further records.
    pub left_out: usize,
    /// The number of omitted studies that failed before anything was measured.
    pub unmeasured: usize,
    /// Files in the folder that are not records of this version.
    pub unread: Vec<UnreadFile>,
}

/// One record in the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Its id, which can replace its path on command lines.
    pub id: String,
    /// Its file's name in the folder.
    pub file: String,
    /// Its description.
    #[serde(flatten)]
    pub outline: Outline,
}

/// A file that is not a record of this version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnreadFile {
    /// Its name in the folder.
    pub file: String,
    /// Why it cannot be read.
    pub why: String,
}

/// A short description of a record.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outline {
    pub kind: RecordKind,
    /// The name of the study file, if there was one.
    pub study: Option<String>,
    /// The text that a person gave the record.
    pub label: Option<String>,
    /// When it started, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// How long it took, in seconds.
    pub elapsed_s: Option<f64>,
    pub subjects: Vec<OutlineSubject>,
    /// The names of the loads, each after the name of its scenario's file.
    pub loads: Vec<String>,
    /// The primary comparisons of a study, or the culprit of a search.
    pub comparisons: Vec<OutlineComparison>,
    /// Complete blocks.
    pub blocks: usize,
    /// Whether anything was measured: a block was begun, or the ends of a search were compared.
    pub is_measured: bool,
    /// Verified responses, messages or sessions per second of a run.
    pub throughput_per_s: Option<f64>,
    /// The search, if it is one for a commit.
    pub search: Option<OutlineSearch>,
    pub machine: Fingerprint,
    /// The seed of its randomness; `None` if the record does not have it.
    pub seed: Option<u64>,
    /// The version of abx that measured.
    pub abx_version: String,
}

/// The kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    Study,
    /// One server, loaded once.
    Run,
    /// A search for the commit that changed a server.
    Bisect,
}

/// A search for a commit, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutlineSearch {
    /// The commits after GOOD, up to BAD.
    pub commits: usize,
    /// How it ended; `None` before that.
    pub conclusion: Option<BisectConclusion>,
}

/// A subject that was measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutlineSubject {
    /// Its name; of a run, its URL.
    pub name: String,
    /// The version that it reported.
    pub version: Option<String>,
    /// The command that started it; empty for a server that was already running.
    pub command: Vec<String>,
    /// The address of a server that was already running.
    pub address: Option<String>,
}

/// The result of one comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutlineComparison {
    pub load: String,
    pub subject: String,
    pub baseline: String,
    pub metric: Metric,
    pub ratio: Option<f64>,
    /// The interval's lower end.
    pub low: Option<f64>,
    /// The interval's upper end.
    pub high: Option<f64>,
    pub verdict: Verdict,
    /// The number of blocks on which it rests.
    #[serde(default)]
    pub blocks: usize,
}

/// Why a file is not a record of this version.
#[derive(Debug, thiserror::Error)]
pub enum OutlineError {
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error(
        "its schema is `{0}`, and this version knows `{STUDY_SCHEMA}` and `{RUN_SCHEMA}`: read it with \
         the version of abx that wrote it"
    )]
    Schema(String),
    /// The file is output of a kind that lists omit.
    #[error("it is not a study, a run or a search for a commit: abx lists only these")]
    Kind,
}

impl Outline {
    /// Reads the outline of a record.
    ///
    /// # Errors
    /// [`OutlineError`] if the text is not a record of this version.
    pub fn read(json: &str) -> Result<Outline, OutlineError> {
        let Schema { schema, kind } = serde_json::from_str(json)?;
        match schema.as_str() {
            STUDY_SCHEMA => Ok(serde_json::from_str::<StudyOutline>(json)?.outline()),
            RUN_SCHEMA => Ok(Outline {
                kind: RecordKind::Run,
                ..serde_json::from_str::<StudyOutline>(json)?.outline()
            }),
            OLD_RUN_SCHEMA => {
                let old: OldRunOutline = serde_json::from_str(json)?;
                Ok(Outline {
                    kind: RecordKind::Run,
                    throughput_per_s: old.throughput_per_s,
                    ..old.measured.outline()
                })
            }
            OUTPUT_SCHEMA if kind.as_deref() == Some("bisect") => {
                Ok(outline_of_search(serde_json::from_str(json)?))
            }
            OUTPUT_SCHEMA => Err(OutlineError::Kind),
            _ => Err(OutlineError::Schema(schema)),
        }
    }

    /// The number of each verdict, in the order of their first appearance.
    #[must_use]
    pub fn verdicts(&self) -> Vec<(Verdict, usize)> {
        let mut counts: Vec<(Verdict, usize)> = Vec::new();
        for OutlineComparison { verdict, .. } in &self.comparisons {
            match counts.iter_mut().find(|(known, _)| known == verdict) {
                Some((_, count)) => *count += 1,
                None => counts.push((*verdict, 1)),
            }
        }
        counts
    }
}

#[derive(Deserialize)]
struct Schema {
    schema: String,
    kind: Option<String>,
}

fn outline_of_search(record: BisectRecord) -> Outline {
    let subject = |name: &String| OutlineSubject {
        name: name.clone(),
        ..OutlineSubject::default()
    };
    let ends = record.ends.iter().map(|ends| &ends.ratios);
    let trials = record.trials.iter().map(|trial| &trial.ratios);
    let confirmations = record.confirmation.iter();
    let first_pair = confirmations.filter_map(|confirmation| confirmation.pairs.first());
    let compared = ends
        .chain(trials)
        .chain(first_pair.map(|pair| &pair.ratios));
    Outline {
        kind: RecordKind::Bisect,
        study: None,
        started_unix_ms: record.started_unix_ms,
        elapsed_s: Some(record.elapsed_s),
        subjects: record.revisions.iter().map(subject).collect(),
        loads: Vec::new(),
        comparisons: culprit(&record).into_iter().collect(),
        blocks: compared.map(|ratios| ratios.per_block.len()).sum(),
        is_measured: record.ends.is_some(),
        throughput_per_s: None,
        search: Some(OutlineSearch {
            commits: record.commits.len().saturating_sub(1),
            conclusion: record.conclusion,
        }),
        machine: Fingerprint::default(),
        seed: None,
        abx_version: record.abx_version,
        label: record.label,
    }
}

/// The culprit of a search, compared with its parent.
fn culprit(record: &BisectRecord) -> Option<OutlineComparison> {
    let Some(BisectConclusion::Culprit { position }) = record.conclusion else {
        return None;
    };
    let confirmation = record.confirmation.as_ref()?;
    let bounds = confirmation.bounds()?;
    let first_pair = confirmation.pairs.first();
    Some(OutlineComparison {
        load: String::new(),
        subject: record.commits.get(position)?.short().to_owned(),
        baseline: CommitRecord::shortened(&confirmation.parent).to_owned(),
        metric: record.metric,
        ratio: Some(bounds.ratio),
        low: Some(bounds.low),
        high: Some(bounds.high),
        verdict: record.direction(bounds.ratio),
        blocks: first_pair.map_or(0, |pair| pair.ratios.per_block.len()),
    })
}

/// The keys of a study that an outline needs; the others are skipped.
#[derive(Deserialize)]
struct StudyOutline {
    abx_version: String,
    #[serde(default)]
    study: Option<String>,
    #[serde(default)]
    label: Option<String>,
    started_unix_ms: u64,
    elapsed_s: f64,
    seed: u64,
    settings: Fingerprint,
    machine: Machine,
    subjects: Vec<OutlineSubject>,
    loads: Vec<OfferOutline>,
    /// Only in runs.
    throughput_per_s: Option<f64>,
    #[serde(default)]
    comparisons: Vec<ComparisonKeys>,
    blocks: Vec<BlockOutline>,
}

#[derive(Deserialize)]
struct OfferOutline {
    name: String,
    #[serde(default)]
    settings: OfferSettings,
}

#[derive(Default, Deserialize)]
struct OfferSettings {
    scenario: Option<ScenarioOutline>,
}

#[derive(Deserialize)]
struct ScenarioOutline {
    file: String,
}

impl OfferOutline {
    /// Its name, after the name of its scenario's file.
    fn outline(self) -> String {
        match self.settings.scenario {
            Some(ScenarioOutline { file }) => {
                let file = file.rsplit('/').next().unwrap_or_default();
                format!("{file} {}", self.name)
            }
            None => self.name,
        }
    }
}

#[derive(Deserialize)]
struct ComparisonKeys {
    role: Role,
    #[serde(flatten)]
    outline: OutlineComparison,
}

#[derive(Deserialize)]
struct BlockOutline {
    complete: bool,
}

impl StudyOutline {
    fn outline(self) -> Outline {
        let comparisons = self.comparisons.into_iter();
        let primary = comparisons.filter(|comparison| comparison.role == Role::Primary);
        Outline {
            kind: RecordKind::Study,
            study: self.study,
            label: self.label,
            started_unix_ms: self.started_unix_ms,
            elapsed_s: Some(self.elapsed_s),
            subjects: self.subjects,
            loads: self.loads.into_iter().map(OfferOutline::outline).collect(),
            comparisons: primary.map(|comparison| comparison.outline).collect(),
            blocks: self.blocks.iter().filter(|block| block.complete).count(),
            is_measured: !self.blocks.is_empty(),
            throughput_per_s: self.throughput_per_s,
            search: None,
            machine: Fingerprint {
                subject_cpus: self.settings.subject_cpus,
                generator_cpus: self.settings.generator_cpus,
                wait: self.settings.wait,
                ..Fingerprint::of_machine(&self.machine, self.settings.threads)
            },
            seed: Some(self.seed),
            abx_version: self.abx_version,
        }
    }
}

/// The keys of a run in its old schema that an outline needs.
#[derive(Deserialize)]
struct OldRunOutline {
    throughput_per_s: Option<f64>,
    measured: StudyOutline,
}
