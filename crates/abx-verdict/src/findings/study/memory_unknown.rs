use crate::findings::prelude::*;

rule! {
    MemoryUnknown [Note]
        "the memory per connection is not known for every subject in every block",
        "hold more connections (`connections`), and let abx start the subjects on this machine";
}

pub(crate) fn memory_unknown(load: &LoadRecord) -> Finding {
    let message = "the memory per connection is not known for every subject in every block: abx \
     could not read it, or it did not grow";
    finding(message).under(&load.name)
}
