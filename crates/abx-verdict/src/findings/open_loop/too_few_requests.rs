use crate::findings::prelude::*;

rule! {
    TooFewRequests [Note]
        "blocks have too few requests to compare their response times",
        "raise the rate (`-r`), or lengthen the slices (`--slice`)";
}

pub(crate) fn too_few_requests(load: &LoadRecord, needed: u64) -> Finding {
    let shape = load.settings.exchange.shape;
    let message = format!(
        "response times need {needed} {} per block, and there were fewer",
        shape.units()
    );
    let finding = finding(message).under(&load.name);
    match shape {
        // The scenario sets when requests are sent.
        LoadShape::Scenario => {
            finding.with_remedy("use more users (`-c`), or lengthen the slices (`--slice`)")
        }
        _ => finding,
    }
}
