use crate::findings::prelude::*;
use abx_evidence::record::StudyEnd;

rule! {
    in Study |study| ended_early(study.record);
    Interrupted [Note]
        "the measurement was stopped before it was complete",
        "continue a comparison with `abx compare --resume RECORD`, or treat it as a shorter \
         measurement";
    StudyFailed [Note]
        "the study ended early because abx could not continue",
        "fix the cause, and treat this as a study with fewer blocks";
}

fn ended_early(record: &Measured) -> Option<Finding> {
    let early = |why| format!("the study ended early: {why}");
    Some(match &record.end {
        StudyEnd::SubjectFailed { subject, how } => {
            let message = format!("{subject} could not continue: {how}");
            new_finding(FindingId::SubjectFailed, message).about(subject)
        }
        StudyEnd::ServiceFailed { how, .. } => new_finding(FindingId::ServiceFailed, early(how)),
        StudyEnd::Failed { why } => new_finding(FindingId::StudyFailed, early(why)),
        StudyEnd::Interrupted => {
            let message = "the measurement was stopped before it was complete";
            new_finding(FindingId::Interrupted, message)
        }
        _ => return None,
    })
}
