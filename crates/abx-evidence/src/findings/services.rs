//! What services, which subjects need, did to a study.

use crate::record::Measured;
use crate::record::finding::Finding;
use crate::record::finding_id::FindingId;

/// Services that ended while subjects were loaded: those blocks are not judged.
pub(super) fn died(record: &Measured) -> impl Iterator<Item = Finding> {
    record.services.iter().filter_map(|service| {
        let blocks = record.blocks.iter();
        let ends: Vec<&str> = blocks
            .filter_map(|block| block.services.get(&service.name)?.died.as_deref())
            .collect();
        let first = ends.first()?;
        let blocks = match ends.len() {
            1 => "one block, which is not judged".to_owned(),
            many => format!("{many} blocks, which are not judged"),
        };
        let name = &service.name;
        let message = format!("the service {name} ended under load ({first}) in {blocks}");
        Some(Finding::new(FindingId::ServiceFailed, message))
    })
}
