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

/// The smallest mean difference between two ways to count the same responses that is reported.
const UNEVEN_MIN: f64 = 0.10;

/// Reports that a block's responses over its counted time are another throughput than the
/// connections' own clocks show. This happens if a subject serves one connection for a long time
/// and then the others, so that a slice has parts of such turns by chance.
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
    // A pause of abx itself delays every response, which the subject does not cause.
    let blocks = subject_view
        .blocks
        .iter()
        .filter(|block| block.sums.paused_ns == 0);
    let throughputs = blocks.map(|block| {
        let counted = share(block.sums.outcomes.ok(), block.sums.measured_ns)? * 1e9;
        let clocked = block.throughput()?;
        let difference = (clocked / counted).ln().abs();
        let is_known = difference.is_finite();
        is_known.then_some((difference, counted, clocked))
    });
    let throughputs: Vec<(f64, f64, f64)> = throughputs.collect::<Option<_>>()?;
    let sum: f64 = throughputs.iter().map(|(difference, ..)| difference).sum();
    let (_, counted, clocked) = throughputs
        .iter()
        .max_by(|block, other| block.0.total_cmp(&other.0))?;
    let message = format!(
        "the throughput of {subject} depends on how it is counted: in one block {counted:.0} {}/s \
         came in the counted time, and the connections' own time gives {clocked:.0}/s, as if the \
         server served its connections in long turns",
        load.settings.exchange.shape.units()
    );
    let pilot = load.pilot.as_ref();
    let finding = match pilot.map(|pilot| pilot.interleave) {
        Some(Interleave::Trials) => finding(message).with_remedy("use longer trials (`--slice`)"),
        _ => finding(message),
    };
    (sum / throughputs.len() as f64 > UNEVEN_MIN).then_some(finding)
}
