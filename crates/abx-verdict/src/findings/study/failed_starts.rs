use crate::findings::prelude::*;
use abx_evidence::record::FailedStart;

rule! {
    in Study |study| failed_starts(study.record);
    SubjectFailed [Void]
        "a subject could not continue",
        "read its log, and try it alone with `abx run`";
}

fn failed_starts(record: &Measured) -> impl Iterator<Item = Finding> {
    let failed = record.failed_starts().filter(|_| record.is_comparison());
    failed.map(
        |FailedStart {
             subject,
             block,
             why,
         }| {
            let number = block + 1;
            let message = format!(
                "{subject} failed at the start of block {number}, and was not measured after that: \
             {why}"
            );
            finding(message).about(subject)
        },
    )
}
