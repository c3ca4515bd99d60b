use crate::findings::bottleneck::GENERATOR_BUSY;
use crate::findings::prelude::*;
use crate::view::ceilings::Ceiling;
use crate::view::summary::Summary;

rule! {
    in Study |study| near_ceiling(study.record, study.summaries, study.ceilings);
    NearCeiling [Note]
        "a subject came close to the throughput that the generator gets from a server that does \
         nothing",
        "add a thread (`-t`) on a CPU of its own, or make the subject do more per request";
}

/// The share of the ceiling from which on a throughput may be the generator's.
/// Source: docs/explain/statistics/response-times.md, "Who is the limit".
const NEAR: f64 = 0.70;

fn near_ceiling(study: &Measured, summaries: &[Summary], ceilings: &[Ceiling]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for summary in summaries {
        let mut ceilings = ceilings.iter();
        let ceiling = ceilings.find(|ceiling| ceiling.load == summary.load);
        let Some((throughput, ceiling)) = summary.throughput_per_s.zip(ceiling) else {
            continue;
        };
        let part = throughput / ceiling.throughput_per_s;
        if part < NEAR || is_of_its_server(study, ceiling) {
            continue;
        }
        let message = format!(
            "{} served {:.0} % of the requests/s that the generator gets from a server that does \
             nothing ({:.0} requests/s): it may be able to serve more",
            summary.subject,
            100.0 * part,
            ceiling.throughput_per_s
        );
        let finding = finding(message);
        findings.push(finding.about(&summary.subject).under(&summary.load));
    }
    findings
}

/// Whether a ceiling tells nothing of the generator: where it had time to spare, the limit was
/// something else, such as a server that encrypts, or the way there and back of one request.
fn is_of_its_server(study: &Measured, ceiling: &Ceiling) -> bool {
    let load = study.load(&ceiling.load);
    let is_encrypted = load.is_some_and(|load| load.settings.tls.is_some());
    ceiling
        .generator_busy
        .map_or(is_encrypted, |busy| busy < GENERATOR_BUSY)
}
