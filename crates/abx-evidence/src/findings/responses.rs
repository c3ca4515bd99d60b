//! Findings about what subjects answered before the load.

use crate::record::finding::Finding;
use crate::record::finding_id::FindingId;
use crate::record::{LoadRecord, Measured, ResponseRecord};

/// Subjects that answer one request with bodies that differ from time to time.
pub(super) fn varying(load: &LoadRecord) -> impl Iterator<Item = Finding> {
    let varies =
        |responses: &[ResponseRecord]| responses.iter().any(|response| response.sha256.is_none());
    let subjects = load.responses.iter().filter(move |pair| varies(pair.1));
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
pub(super) fn responses_differ(record: &Measured, load: &LoadRecord) -> Vec<Finding> {
    let baseline = &record.settings.baseline;
    let Some(expected) = load.responses.get(baseline) else {
        return Vec::new();
    };
    let differs = |responses: &&ResponseRecord, expected: &ResponseRecord| {
        let both = responses.sha256.as_ref().zip(expected.sha256.as_ref());
        both.is_some_and(|(text, other)| text != other)
    };
    let result = load.responses.iter().filter_map(|(subject, responses)| {
        let pairs = responses.iter().zip(expected);
        let (response, expected) =
            { pairs }.find(|(response, expected)| differs(response, expected))?;
        let message = format!(
            "the subjects answer with different bodies ({baseline}: {} bytes, {subject}: {} \
             bytes): the ratio includes that difference",
            expected.body_bytes, response.body_bytes
        );
        let finding = Finding::new(FindingId::UnequalResponses, message);
        Some(finding.about(subject).under(&load.name))
    });
    result.collect()
}
