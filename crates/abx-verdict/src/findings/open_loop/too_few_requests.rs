use crate::findings::prelude::*;

rule! {
    TooFewRequests [Note]
        "blocks have too few requests to compare their response times",
        "raise the rate (`-r`), or lengthen the slices (`--slice`)";
}

pub(crate) fn too_few_requests(load: &LoadRecord, needed: u64) -> Finding {
    let shape = load.settings.exchange.shape;
    let remedy = match shape {
        LoadShape::Scenario => ": use more users (-c) or longer slices (--slice)",
        _ => "",
    };
    let message = format!(
        "response times need {needed} {} per block, and there were fewer{remedy}",
        shape.units()
    );
    finding(message).under(&load.name)
}
