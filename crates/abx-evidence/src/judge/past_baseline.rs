//! A study beside a subject of an older record, which can no longer be run.
//!
//! [`against()`] looks whether the two can be compared at all, and takes out of
//! the old record what the comparison needs, so that the new one can be judged
//! again without it. [`judge_against`] compares; docs/statistics.md, section 13.

mod fingerprint;
mod offer;
mod unpaired;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::findings::Bottleneck;
use crate::findings::finding::{Finding, Level, Limits};
use crate::judge::throughput::block_throughputs;
use crate::record::finding_id::FindingId;
use crate::record::{AnswerRecord, LoadRecord, StudyRecord, SubjectRecord};
use crate::stats::stop::BLOCKS_FOR_VERDICT;

pub use fingerprint::{Difference, Fingerprint};
pub use unpaired::{Unpaired, judge_against, may_stop_against};

/// Findings about two subjects of the old study, of which one is asked for: the
/// new comparison has its own of these.
const OF_PAIRS: [FindingId; 4] = [
    FindingId::GeneratorBound,
    FindingId::HeldByRate,
    FindingId::BothKeptUp,
    FindingId::Unpaired,
];

/// Notes about the machine that void what is not measured side by side: what
/// hits all subjects alike in one study hits one side alone here.
const ONE_SIDED: [FindingId; 3] = [
    FindingId::Steal,
    FindingId::ForeignCpu,
    FindingId::GeneratorWait,
];

/// The comparison with a subject of an older record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PastBaseline {
    /// Where the older record was read from.
    pub record: String,
    /// When that study started, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// The version of abx that measured it.
    pub abx_version: String,
    /// The subject, as it was then.
    pub subject: SubjectRecord,
    /// What it gave then: one for each load of the new study.
    pub loads: Vec<PastLoad>,
    /// What was concluded: one for each load and each subject measured now.
    pub comparisons: Vec<Unpaired>,
}

/// What the older study's subject gave under one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PastLoad {
    /// The load's name in the new study.
    pub load: String,
    /// Verified answers per second in each block, all above zero.
    pub throughputs_per_s: Vec<f64>,
    /// Whether the generator was its limit.
    pub is_generator_bound: bool,
    /// Requests that were due in an open loop, when it answered all of them.
    pub kept_up_with: Option<u64>,
    /// What it answered before the load, in the order of the requests.
    pub answers: Vec<AnswerRecord>,
    /// What made its throughput a bound then, and what else the machine did.
    pub findings: Vec<Finding>,
}

/// Which subject of which record.
#[derive(Debug, Clone, Copy)]
pub struct PastSubject<'a> {
    /// Where the record was read from, for messages and the new record.
    pub record: &'a str,
    /// The subject's name; `None` when the record has only one.
    pub name: Option<&'a str>,
}

/// Why nothing can be compared with an older record.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AgainstError {
    /// The record has no such subject, or several and none was named.
    #[error(
        "{record} has {}: name one, as in `--against {record}:{}`",
        list(has),
        first(has)
    )]
    Subject {
        /// Where the record was read from.
        record: String,
        /// The subjects that there are.
        has: Vec<String>,
    },
    /// It was measured on another machine, or on other processors of it.
    #[error(
        "{record} was not measured as this study would be: {}. What differs would be in the \
         ratio: compare where it was measured, or measure both sides now",
        texts(differences)
    )]
    Machine {
        /// Where the record was read from.
        record: String,
        /// What differs.
        differences: Vec<Difference>,
    },
    /// It was measured under another load.
    #[error(
        "{record} was not measured under the load {load}: {difference}. Offer the same now, by \
         flags or in the study file"
    )]
    Load {
        /// Where the record was read from.
        record: String,
        /// The load's name.
        load: String,
        /// The first key that differs.
        difference: Difference,
    },
    /// It has too few blocks for a verdict, however many are measured now.
    #[error(
        "{record} has {got} complete block(s) of {subject} under the load {load}, and a verdict \
         needs {BLOCKS_FOR_VERDICT} on each side: name a record that has more"
    )]
    FewBlocks {
        /// Where the record was read from.
        record: String,
        /// The subject.
        subject: String,
        /// The load's name.
        load: String,
        /// Blocks that there are.
        got: usize,
    },
    /// The record itself makes no claim about the subject.
    #[error(
        "{record} makes no claim about {subject}: {}. Name a record in which it answered rightly",
        message.trim_end_matches('.')
    )]
    NoClaim {
        /// Where the record was read from.
        record: String,
        /// The subject.
        subject: String,
        /// What forbids it.
        message: String,
    },
}

/// Takes from the record `then` what a comparison of the study `now` with its
/// subject needs. `now` may be without blocks; `then` has been judged.
///
/// Nothing is concluded yet: see [`judge_against`].
///
/// # Errors
/// [`AgainstError`] when the two cannot be compared, whatever is measured now.
pub fn against(
    now: &StudyRecord,
    then: &StudyRecord,
    past: PastSubject,
) -> Result<PastBaseline, AgainstError> {
    let subject = subject_of(then, past)?;
    let differences = Fingerprint::of(then).differences(&Fingerprint::of(now));
    if !differences.is_empty() {
        return Err(AgainstError::Machine {
            record: past.record.to_owned(),
            differences,
        });
    }
    let loads = now.loads.iter().map(|load| {
        let same = offer::same(load, &then.loads).map_err(|difference| AgainstError::Load {
            record: past.record.to_owned(),
            load: load.name.clone(),
            difference,
        })?;
        past_load(load, then, same, subject, past.record)
    });
    Ok(PastBaseline {
        record: past.record.to_owned(),
        started_unix_ms: then.started_unix_ms,
        abx_version: then.abx_version.clone(),
        subject: subject.clone(),
        loads: loads.collect::<Result<_, _>>()?,
        comparisons: Vec::new(),
    })
}

/// The subject that was asked for.
fn subject_of<'a>(
    then: &'a StudyRecord,
    past: PastSubject,
) -> Result<&'a SubjectRecord, AgainstError> {
    let found = match (past.name, &then.subjects[..]) {
        (Some(name), _) => then.subject(name),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    found.ok_or_else(|| AgainstError::Subject {
        record: past.record.to_owned(),
        has: then.subjects.iter().map(|one| one.name.clone()).collect(),
    })
}

/// What the subject gave under one load, when that carries a claim.
fn past_load(
    now: &LoadRecord,
    then: &StudyRecord,
    load: &LoadRecord,
    subject: &SubjectRecord,
    record: &str,
) -> Result<PastLoad, AgainstError> {
    let name = &subject.name;
    let mut findings = limiting(&then.validity.findings, &load.name, name);
    if let Some(void) = findings.iter().find(|one| one.level == Level::Void) {
        return Err(no_claim(record, name, &void.message));
    }
    findings.retain(|one| one.level == Level::Bound || is_one_sided(one));
    let throughputs_per_s = block_throughputs(then, load, name);
    if throughputs_per_s.len() < BLOCKS_FOR_VERDICT {
        return Err(AgainstError::FewBlocks {
            record: record.to_owned(),
            subject: name.clone(),
            load: load.name.clone(),
            got: throughputs_per_s.len(),
        });
    }
    let is_rate = |rate: &f64| *rate > 0.0 && rate.is_finite();
    if let Some(block) = throughputs_per_s.iter().position(|rate| !is_rate(rate)) {
        let message = format!("it gave no verified answer in block {block}");
        return Err(no_claim(record, name, &message));
    }
    Ok(PastLoad {
        load: now.name.clone(),
        throughputs_per_s,
        is_generator_bound: Bottleneck::of(then, load).is_generator_bound(name),
        kept_up_with: offer::kept_up_with(then, load, name),
        answers: load.answers.get(name).cloned().unwrap_or_default(),
        findings,
    })
}

/// The findings that limit what is said of one subject under one load.
fn limiting(all: &[Finding], load: &str, subject: &str) -> Vec<Finding> {
    let touching = all.iter().filter(|one| {
        one.limits == Limits::All
            && one.touches(load, [subject, subject])
            && !OF_PAIRS.contains(&one.id)
    });
    touching.cloned().collect()
}

fn is_one_sided(finding: &Finding) -> bool {
    ONE_SIDED.contains(&finding.id)
}

fn no_claim(record: &str, subject: &str, message: &str) -> AgainstError {
    AgainstError::NoClaim {
        record: record.to_owned(),
        subject: subject.to_owned(),
        message: message.to_owned(),
    }
}

fn list(names: &[String]) -> String {
    match names {
        [] => "no subject".to_owned(),
        [only] => format!("the subject {only} alone"),
        _ => format!("the subjects {}", names.join(", ")),
    }
}

fn first(names: &[String]) -> &str {
    names.first().map_or("NAME", String::as_str)
}

fn texts(differences: &[Difference]) -> String {
    let each = differences.iter().map(ToString::to_string);
    each.collect::<Vec<_>>().join("; ")
}
