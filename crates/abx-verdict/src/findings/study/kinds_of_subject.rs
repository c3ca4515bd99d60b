use crate::findings::prelude::*;
use abx_evidence::record::runs_container;

rule! {
    in Study |study| of_subjects(study.record);
    NotRestarted [Note]
        "a subject was already running, so the interval does not include the variation between \
         starts",
        "give its command instead of its URL";
    UnkeptContainer [Note]
        "the command of a subject starts a container, whose processes may not belong to that \
         command: CPU time and memory may miss them, and they may outlive the study",
        "use `image:NAME` instead of that command, or `from.image` in a study file";
    StandIn [Note]
        "a subject stands in for another that was not available",
        "measure the original if it is available";
}

fn of_subjects(record: &Measured) -> impl Iterator<Item = Finding> {
    let subjects = record.subjects.iter().filter(|_| record.is_comparison());
    subjects.flat_map(|subject| {
        let findings = [
            not_restarted(subject),
            unkept_container(subject),
            stand_in(subject),
        ];
        let findings = findings.into_iter().flatten();
        findings.map(|finding| finding.about(&subject.name))
    })
}

fn not_restarted(subject: &SubjectRecord) -> Option<Finding> {
    let message = format!(
        "{} was already running and was not restarted: the interval excludes the variation between \
         starts",
        subject.name
    );
    (!subject.is_kept()).then(|| new_finding(FindingId::NotRestarted, message))
}

fn unkept_container(subject: &SubjectRecord) -> Option<Finding> {
    let message = format!(
        "the command of {} runs a container itself: its CPU time and memory may be those of the \
         command alone",
        subject.name
    );
    runs_container(&subject.command).then(|| new_finding(FindingId::UnkeptContainer, message))
}

fn stand_in(subject: &SubjectRecord) -> Option<Finding> {
    let (name, meant) = (&subject.name, subject.stand_in_for.as_ref()?);
    let message = format!("{name} stands in for {meant}: results hold for {name} only");
    Some(new_finding(FindingId::StandIn, message))
}
