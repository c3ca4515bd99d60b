use crate::findings::machine::other_programs::listed;
use crate::findings::prelude::*;
use abx_evidence::record::Disturbance;
use abx_stats::stop::blocks_for_verdict;

rule! {
    in Load |load| disturbed(load.view);
    DisturbedRounds [Note]
        "rounds were disturbed from outside; they are marked but still count",
        "run at a quieter time, or measure more blocks, which even out disturbances of all \
         subjects";
}

fn disturbed(view: &OfferView) -> Option<Finding> {
    let (disturbed, total) = view.disturbed_rounds();
    (view.study.is_comparison() && disturbed > 0).then(|| {
        let (clean, blocks) = view.clean_blocks();
        let fewest = blocks_for_verdict(view.study.is_ordered());
        let unchecked = if clean < fewest && blocks >= fewest {
            format!(
                "; their effect is unknown: {} of {blocks} blocks have no undisturbed part",
                blocks - clean
            )
        } else {
            String::new()
        };
        let is_seen = |kind: &Disturbance| {
            let mut rounds = view.parts().flat_map(|part| &part.rounds);
            rounds.any(|round| round.disturbed.contains(kind))
        };
        let kinds = Disturbance::ALL.into_iter().filter(is_seen);
        let causes: Vec<&str> = kinds
            .map(|kind| match kind {
                Disturbance::Steal => "the hypervisor",
                Disturbance::Wait => "other programs",
                Disturbance::Paused => "a pause of abx itself",
            })
            .collect();
        let were = if disturbed == 1 { "was" } else { "were" };
        finding(format!(
            "{disturbed} of {total} rounds {were} disturbed from outside, by {}; they still \
             count{unchecked}",
            listed(&causes)
        ))
    })
}
