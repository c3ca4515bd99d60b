use crate::findings::prelude::*;

rule! {
    in Subject |subject| not_sampled(subject.view);
    NotSampled [Note]
        "`--why` could not sample what a subject runs",
        "run abx as root, or give the server's command, so that abx starts it with the same rights";
}

fn not_sampled(subject: &SubjectView) -> Option<Finding> {
    let blocks = subject.blocks.iter();
    let mut failures = blocks.filter_map(|block| block.ledger()?.failure.as_deref());
    let first = failures.next()?;
    let count = 1 + failures.count();
    Some(finding(format!(
        "{} could not be sampled in {count} of {}: {first}",
        subject.subject,
        counted(subject.blocks.len() as u64, "block")
    )))
}
