//! A subject of an older record, which can no longer be run, as the baseline of a study.
//!
//! [`past_baseline`] looks whether the two can be compared at all, and takes out of
//! the old record what the comparison needs, so that the new one can be judged
//! again without it. [`judge`](crate::judge()) compares; docs/explain/statistics/older-records.md.

use crate::findings::bottleneck::Bottleneck;
use crate::findings::open_loop::kept_up::kept_up;
use crate::judge::judge;
use crate::judge::past_baseline::limiting::{is_one_sided, limiting};
use crate::judge::past_baseline::offer::same as same_offer;
use crate::judge::past_baseline::reference::candidates;
use crate::judge::past_baseline::{Difference, Fingerprint};
use crate::view::{OfferView, StudyView, SubjectView};
use abx_evidence::record::{Measured, PastBaseline, PastMeasurement, SubjectRecord};
use abx_evidence::{Finding, Level};
use abx_stats::stop::BLOCKS_ORDERED;

/// A subject of an older study.
#[derive(Debug, Clone, Copy)]
pub struct PastSubject<'a> {
    /// Where the older record was read from, for messages and the new record.
    pub record: &'a str,
    pub study: &'a Measured,
    /// The subject's name; `None` when the study has only one.
    pub name: Option<&'a str>,
}

/// Why nothing can be compared with an older record.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PastBaselineError {
    /// The record has no such subject, or several and none was named.
    #[error(
        "{record} has {}: name one, as in `--against {record}:{}`",
        list(has),
        first(has)
    )]
    Subject {
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
        record: String,
        differences: Vec<Difference>,
    },
    /// It was measured under another load.
    #[error(
        "{record} was not measured under the load {load}: {difference}. Offer the same now, by \
         flags or in the study file"
    )]
    Load {
        record: String,
        load: String,
        /// The first key that differs.
        difference: Difference,
    },
    /// It has too few blocks for a verdict, however many are measured now.
    #[error(
        "{record} has {got} complete block(s) of {subject} under the load {load}, and a verdict \
         needs {BLOCKS_ORDERED} on each side: name a record that has more"
    )]
    FewBlocks {
        record: String,
        subject: String,
        load: String,
        got: usize,
    },
    /// The record itself makes no claim about the subject.
    #[error(
        "{record} has no result for {subject}: {}. Name a record with correct responses",
        message.trim_end_matches('.')
    )]
    NoClaim {
        record: String,
        subject: String,
        message: String,
    },
}

/// Takes from an older study what a comparison of the study `now` with its
/// subject needs. `now` may be without blocks.
///
/// # Errors
/// [`PastBaselineError`] when the two cannot be compared, whatever is measured now.
pub fn past_baseline(now: &Measured, past: PastSubject) -> Result<PastBaseline, PastBaselineError> {
    let then = past.study;
    let subject = subject_of(past)?;
    let differences = Fingerprint::of(then).differences(&Fingerprint::of(now));
    if !differences.is_empty() {
        return Err(PastBaselineError::Machine {
            record: past.record.to_owned(),
            differences,
        });
    }
    let view = StudyView::of(then);
    let findings = judge(then).validity.findings;
    let loads = now.loads.iter().map(|load| {
        let same = same_offer(load, &then.loads).map_err(|difference| PastBaselineError::Load {
            record: past.record.to_owned(),
            load: load.name.clone(),
            difference,
        })?;
        let limiting = limiting(&findings, &same.name, &subject.name);
        let under = view.load(&same.name);
        let pair = under.and_then(|load| Some((load, load.subject(&subject.name)?)));
        let (under, subject_view) = pair.expect("both are of that study");
        let mut past_measurement = past_load(past.record, under, subject_view, limiting)?;
        past_measurement.load.clone_from(&load.name);
        past_measurement.beside = candidates(under, &subject.name, &now.subjects);
        Ok(past_measurement)
    });
    Ok(PastBaseline {
        record: past.record.to_owned(),
        started_unix_ms: then.started_unix_ms,
        abx_version: then.abx_version.clone(),
        subject: subject.clone(),
        loads: loads.collect::<Result<_, _>>()?,
    })
}

/// The subject that was asked for.
fn subject_of(past: PastSubject<'_>) -> Result<&SubjectRecord, PastBaselineError> {
    let then = past.study;
    let subject = match (past.name, &then.subjects[..]) {
        (Some(name), _) => then.subject(name),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    subject.ok_or_else(|| PastBaselineError::Subject {
        record: past.record.to_owned(),
        has: then
            .subjects
            .iter()
            .map(|subject| subject.name.clone())
            .collect(),
    })
}

/// What the subject gave under one load, when that carries a claim; `findings` are
/// those that limit it.
fn past_load(
    record: &str,
    load: &OfferView,
    subject: &SubjectView,
    mut findings: Vec<Finding>,
) -> Result<PastMeasurement, PastBaselineError> {
    let name = subject.subject;
    if let Some(void) = findings.iter().find(|finding| finding.level == Level::Void) {
        return Err(no_claim(record, name, &void.message));
    }
    findings.retain(|finding| finding.level == Level::Bound || is_one_sided(finding));
    let throughputs_per_s = subject.block_throughputs();
    if throughputs_per_s.len() < BLOCKS_ORDERED {
        return Err(PastBaselineError::FewBlocks {
            record: record.to_owned(),
            subject: name.to_owned(),
            load: subject.load.name.clone(),
            got: throughputs_per_s.len(),
        });
    }
    let is_rate = |rate: &f64| *rate > 0.0 && rate.is_finite();
    if let Some(block) = throughputs_per_s.iter().position(|rate| !is_rate(rate)) {
        let message = format!("it gave no verified answer in block {block}");
        return Err(no_claim(record, name, &message));
    }
    Ok(PastMeasurement {
        load: subject.load.name.clone(),
        throughputs_per_s,
        is_generator_bound: Bottleneck::of(load).is_generator_bound(name),
        kept_up_with: kept_up(subject).map(|offered| offered.planned),
        responses: subject
            .load
            .responses
            .get(name)
            .cloned()
            .unwrap_or_default(),
        findings,
        beside: Vec::new(),
    })
}

fn no_claim(record: &str, subject: &str, message: &str) -> PastBaselineError {
    PastBaselineError::NoClaim {
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
