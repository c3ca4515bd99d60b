use crate::findings::prelude::*;
use crate::record::StudyEnd;

rule! {
    in Study |study| ended_early(study.record);
    Interrupted [Note]
        "the measurement was stopped before it was complete",
        "let it run to its end, or take it as a shorter measurement";
    StudyFailed [Note]
        "the study ended early because abx could not go on",
        "mend that, and judge this as a study with fewer blocks";
}

fn ended_early(record: &Measured) -> Option<Finding> {
    let early = |why| format!("the study ended early: {why}");
    Some(match &record.end {
        StudyEnd::SubjectFailed { subject, how } => {
            let message = format!("{subject} could not go on: {how}");
            Finding::new(FindingId::SubjectFailed, message).about(subject)
        }
        StudyEnd::ServiceFailed { how, .. } => Finding::new(FindingId::ServiceFailed, early(how)),
        StudyEnd::Failed { why } => Finding::new(FindingId::StudyFailed, early(why)),
        StudyEnd::Interrupted => {
            let message = "the measurement was stopped before it was complete";
            Finding::new(FindingId::Interrupted, message)
        }
        _ => return None,
    })
}
