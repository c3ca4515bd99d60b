use crate::findings::prelude::*;

rule! {
    NoResponses [Void]
        "a subject gave no verified response in a whole block",
        "check the outcomes of that block in the record, and try the subject alone with `abx run`";
}

/// Reports that a subject gave no verified response in the `silent` blocks of `blocks`.
pub(crate) fn no_responses(subject: &str, silent: &[u32], blocks: usize) -> Option<Finding> {
    let first = silent.first()?;
    let message = format!(
        "{subject} gave no verified response in {} of {}, first in block {}",
        silent.len(),
        counted(blocks as u64, "block"),
        first + 1
    );
    Some(finding(message).about(subject))
}
