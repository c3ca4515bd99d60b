//! Findings about what subjects answered before the load.

use crate::record::finding::Finding;
use crate::record::finding_id::FindingId;
use crate::record::{AnswerRecord, LoadRecord, Measured};

/// Subjects that answer one request with bodies that differ from time to time.
pub(super) fn varying(load: &LoadRecord) -> impl Iterator<Item = Finding> {
    let varies = |answers: &[AnswerRecord]| answers.iter().any(|one| one.sha256.is_none());
    let subjects = load.answers.iter().filter(move |one| varies(one.1));
    subjects.map(|(subject, _)| {
        let message = format!(
            "{subject} answers the same request with different bodies: only the status was \
             checked"
        );
        Finding::new(FindingId::BodyVaries, message)
            .about(subject)
            .under(&load.name)
    })
}

/// Subjects whose body is not the baseline's.
pub(super) fn answers_differ(record: &Measured, load: &LoadRecord) -> Vec<Finding> {
    let baseline = &record.settings.baseline;
    let Some(expected) = load.answers.get(baseline) else {
        return Vec::new();
    };
    let differs = |answers: &&AnswerRecord, expected: &AnswerRecord| {
        let both = answers.sha256.as_ref().zip(expected.sha256.as_ref());
        both.is_some_and(|(one, other)| one != other)
    };
    let found = load.answers.iter().filter_map(|(subject, answers)| {
        let pairs = answers.iter().zip(expected);
        let (answer, expected) = { pairs }.find(|(answer, expected)| differs(answer, expected))?;
        let message = format!(
            "the subjects answer with different bodies ({baseline}: {} bytes, {subject}: {} \
             bytes): the ratio includes that difference",
            expected.body_bytes, answer.body_bytes
        );
        let finding = Finding::new(FindingId::UnequalResponses, message);
        Some(finding.about(subject).under(&load.name))
    });
    found.collect()
}
