use crate::findings::prelude::*;
use crate::findings::slices::turns::{TURNS_MIN, ends_by_number, turns};
use abx_evidence::record::Interleave;

rule! {
    in Subject |subject| uneven(subject.view);
    UnevenService [Note]
        "throughput by the counted time and throughput by the connections' time differ by a tenth \
         or more, block by block",
        "use longer slices (`--slice`), or trials (`--interleave trials`)";
}

/// By so much two ways to count the same responses may differ from block to block.
const UNEVEN_MIN: f64 = 0.10;

/// Whether a block's responses over its counted time are another throughput than the
/// connections' own clocks show, as when a subject serves one connection for long and then
/// the others: a slice then holds parts of such turns, by chance.
///
/// Method: the absolute difference of the two logarithms, a mean over blocks. Source:
/// docs/explain/statistics/blocks.md, "The completion clock".
fn uneven(subject_view: &SubjectView) -> Option<Finding> {
    let (load, subject) = (subject_view.load, subject_view.subject);
    let is_of_requests = load.settings.arrivals.is_saturating()
        && load.settings.exchange.shape != LoadShape::Scenario;
    if !is_of_requests || ends_by_number(load) || turns(subject_view) < TURNS_MIN {
        return None;
    }
    // A pause of abx itself delays every response, which is none of the subject's doing.
    let blocks = subject_view
        .blocks
        .iter()
        .filter(|block| block.sums.paused_ns == 0);
    let each = blocks.map(|block| {
        let counted = share(block.sums.outcomes.ok(), block.sums.measured_ns)? * 1e9;
        let differs = (block.throughput()? / counted).ln().abs();
        differs
            .is_finite()
            .then_some((differs, counted, block.throughput()?))
    });
    let each: Vec<(f64, f64, f64)> = each.collect::<Option<_>>()?;
    let sum: f64 = each.iter().map(|(differs, ..)| differs).sum();
    let (_, counted, clocked) = each
        .iter()
        .max_by(|parts, other| parts.0.total_cmp(&other.0))?;
    let message = format!(
        "what {subject} serves depends on how it is counted: in one block {counted:.0} {}/s came \
         in the counted time, and the connections' own time gives {clocked:.0}/s, as if the server \
         served its connections in long turns",
        load.settings.exchange.shape.units()
    );
    let pilot = load.pilot.as_ref();
    let finding = match pilot.map(|pilot| pilot.interleave) {
        Some(Interleave::Trials) => finding(message).with_remedy("use longer trials (`--slice`)"),
        _ => finding(message),
    };
    (sum / each.len() as f64 > UNEVEN_MIN).then_some(finding)
}
