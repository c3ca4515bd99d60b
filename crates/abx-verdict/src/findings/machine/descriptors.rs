use crate::findings::prelude::*;

rule! {
    in Connections |subject| descriptors(subject.view);
    DescriptorsLow [Note, Bound]
        "a subject came close to its limit of file descriptors; if it reached the limit, the \
         ratio is a bound",
        "raise the subject's limit of open files (`ulimit -n`, or `LimitNOFILE=` of its service)";
    GeneratorDescriptorsLow [Note, Bound]
        "a thread of the generator came close to its limit of file descriptors; if it reached the \
         limit, the ratio is a bound",
        "raise `ulimit -n`, add threads (`-t`), or use fewer connections";
}

/// Descriptors in use, as a share of the limit.
const DESCRIPTORS_MAX: f64 = 0.90;
/// The most descriptors that a server needs for its own files, in addition to connections.
const DESCRIPTORS_OWN: u64 = 64;

fn descriptors(subject_view: &SubjectView) -> Vec<Finding> {
    let nearest = |pick: fn(&SubjectReadings) -> Option<InUse>| {
        subject_view
            .readings()
            .filter_map(pick)
            .reduce(InUse::nearer)
    };
    let subject = subject_view.subject;
    let connections = u64::from(subject_view.load.settings.connections);
    let of_subject = nearest(|readings| readings.descriptors).and_then(|in_use| {
        let needed = connections
            .max(in_use.count)
            .saturating_add(DESCRIPTORS_OWN);
        let remedy = format!(
            "raise the subject's limit of open files (`ulimit -n`, or `LimitNOFILE=` of its \
             service) to at least {needed}"
        );
        low(FindingId::DescriptorsLow, subject, in_use, remedy)
    });
    let of_generator = nearest(|readings| readings.generator_descriptors).and_then(|in_use| {
        let remedy = format!(
            "raise `ulimit -n` to at least {}, add threads (`-t`), or use fewer connections",
            in_use.count.saturating_add(in_use.count / 4)
        );
        low(
            FindingId::GeneratorDescriptorsLow,
            "a thread of the generator",
            in_use,
            remedy,
        )
    });
    of_subject.into_iter().chain(of_generator).collect()
}

fn low(id: FindingId, who: &str, in_use: InUse, remedy: String) -> Option<Finding> {
    let limit = in_use.limit?;
    let part = in_use.share().filter(|part| *part > DESCRIPTORS_MAX)?;
    // A process at the limit may have refused connections.
    let (level, more) = if in_use.count >= limit {
        (Level::Bound, ": it could not have opened more")
    } else {
        (Level::Note, "")
    };
    let message = format!(
        "{who} had {} of {limit} file descriptors open ({:.0} %){more}",
        in_use.count,
        100.0 * part
    );
    let finding = new_finding(id, message).at(level);
    Some(finding.with_remedy(remedy))
}
