use crate::findings::prelude::*;

rule! {
    in Study |study| died(study.record);
    ServiceFailed [Note]
        "a service that the subjects need ended under load, or could not be started, made ready \
         or seeded",
        "read its output; the blocks in which it ended are not judged";
}

fn died(record: &Measured) -> impl Iterator<Item = Finding> {
    record.services.iter().filter_map(|service| {
        let blocks = record.blocks.iter();
        let ends: Vec<&str> = blocks
            .filter_map(|block| block.services.get(&service.name)?.died.as_deref())
            .collect();
        let first = ends.first()?;
        let blocks = match ends.len() {
            1 => "one block, which is not judged".to_owned(),
            count => format!("{count} blocks, which are not judged"),
        };
        let name = &service.name;
        let message = format!("the service {name} ended under load ({first}) in {blocks}");
        Some(finding(message))
    })
}
