use crate::findings::prelude::*;
use abx_evidence::record::ResponseRecord;

rule! {
    in Load |load| responses_differ(load.view.study, load.view.load);
    UnequalResponses [Note]
        "the two sides send different bodies, so the ratio includes that difference",
        "make all subjects send the same bytes";
}

fn responses_differ(record: &Measured, load: &LoadRecord) -> Vec<Finding> {
    let baseline = &record.settings.baseline;
    let Some(expected) = load.responses.get(baseline) else {
        return Vec::new();
    };
    let differs = |(response, expected): &(&ResponseRecord, &ResponseRecord)| {
        let both = response.sha256.as_ref().zip(expected.sha256.as_ref());
        both.is_some_and(|(hash, expected)| hash != expected)
    };
    let findings = load.responses.iter().filter_map(|(subject, responses)| {
        let mut pairs = responses.iter().zip(expected);
        let (response, expected) = pairs.find(differs)?;
        let message = format!(
            "the subjects send different bodies ({baseline}: {} bytes, {subject}: {} bytes): the \
             ratio includes that difference",
            expected.body_bytes, response.body_bytes
        );
        let finding = finding(message);
        Some(finding.about(subject))
    });
    findings.collect()
}
