use crate::findings::prelude::*;
use abx_evidence::record::Round;

rule! {
    in Load |load| paused(load.view);
    GeneratorPaused [Note]
        "abx itself stopped for a quarter of a second or more, for example because of a signal or \
         because the machine was suspended",
        "do not stop abx or suspend the machine during a measurement, and measure again";
}

pub(in crate::findings) fn paused(view: &OfferView) -> Option<Finding> {
    let rounds = || view.parts().flat_map(|part| &part.rounds);
    let is_paused = |round: &&Round| round.slices.iter().any(|slice| slice.paused_ns > 0);
    let paused_s = view.sums().paused_ns as f64 / 1e9;
    let place = match (rounds().filter(is_paused).count(), rounds().count()) {
        (0, _) => return None,
        (_, 1) => String::new(),
        (paused, total) => format!(", in {paused} of {total} rounds"),
    };
    let message = format!(
        "abx itself was paused for {paused_s:.1} s{place}: the throughput and the response times \
         that it measured then are those of the pause and not of a server"
    );
    Some(finding(message))
}
