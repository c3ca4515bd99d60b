//! Call chains with their sample counts, in the format that tools for flame graphs read.

use abx_verdict::StudyRecord;

/// A line `subject;load;outermost;…;innermost COUNT` for each sampled call chain, all blocks
/// together; empty without samples.
pub(crate) fn study_folded(record: &StudyRecord) -> String {
    let measured = &record.measured;
    let mut out = String::new();
    for subject in &measured.subjects {
        for load in &measured.loads {
            let blocks = measured.block_loads(&load.name);
            let mut ledgers = blocks.filter_map(|block| block.ledgers.get(&subject.name));
            let Some(first) = ledgers.next() else {
                continue;
            };
            let mut stacks = first.ledger.stacks.clone();
            ledgers.for_each(|ledger| stacks.merge(&ledger.ledger.stacks));
            out.push_str(&stacks.to_text(&[&subject.name, &load.name]));
        }
    }
    out
}
