use crate::findings::prelude::*;
use abx_stats::stop::blocks_for_verdict;

rule! {
    in Study |study| few_blocks(study.record);
    FewBlocks [Note]
        "fewer blocks were measured than a verdict needs",
        "allow more time (`--budget`), or set more blocks (`--blocks`)";
}

fn few_blocks(record: &Measured) -> Option<Finding> {
    let blocks = record.complete_blocks().count();
    let fewest = blocks_for_verdict(record.is_ordered());
    let were = if blocks == 1 { "was" } else { "were" };
    let measured = counted(blocks as u64, "block");
    let message = format!("{measured} {were} measured, and a verdict needs {fewest}");
    let are_few = record.is_comparison() && blocks < fewest;
    are_few.then(|| finding(message))
}
