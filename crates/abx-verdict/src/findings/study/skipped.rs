use crate::findings::prelude::*;

rule! {
    in Study |study| skipped(study.record);
    Skipped [Note]
        "a subject was not measured because something that it needs is missing",
        "provide what it needs";
}

fn skipped(record: &Measured) -> impl Iterator<Item = Finding> {
    record.skipped.iter().map(|subject| {
        let message = format!(
            "{} was not measured: it needs {}; results hold for the others only",
            subject.name, subject.needs
        );
        finding(message).with_remedy(&subject.how)
    })
}
