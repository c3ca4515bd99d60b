use crate::findings::bottleneck::is_of_its_server;
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

/// From this share of the ceiling on, a throughput may be the generator's.
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
        let load = study.load(&ceiling.load);
        if part < NEAR || load.is_some_and(|load| is_of_its_server(load, ceiling)) {
            continue;
        }
        let shape = load.map_or_else(Default::default, |load| load.settings.exchange.shape);
        let units = shape.units();
        let message = format!(
            "{} served {:.0} % of the {units}/s that the generator gets from a server that does \
             nothing ({:.0} {units}/s): it may be able to serve more",
            summary.subject,
            100.0 * part,
            ceiling.throughput_per_s
        );
        let finding = finding(message);
        findings.push(finding.about(&summary.subject).under(&summary.load));
    }
    findings
}
