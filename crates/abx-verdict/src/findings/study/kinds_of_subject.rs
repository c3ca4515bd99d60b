use crate::findings::prelude::*;
use abx_evidence::record::runs_container;

rule! {
    in Study |study| each(study.record);
    NotRestarted [Note]
        "a subject was already running: the interval does not include how its speed varies from \
         start to start",
        "give its command instead of its address";
    UnkeptContainer [Note]
        "the command of a subject runs a container itself: what runs in it may be no process of \
         that command, so its CPU time, memory and CPUs may be those of the command alone, and \
         it may go on when the study ends",
        "write `image:NAME` in place of that command, or `from.image` in a study file";
    StandIn [Note]
        "a subject stands in for another that was not available",
        "measure the one that is meant where it can be had";
}

fn each(record: &Measured) -> impl Iterator<Item = Finding> {
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
        "{} was already running and was not restarted: the interval does not cover how its speed \
         varies from start to start",
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
