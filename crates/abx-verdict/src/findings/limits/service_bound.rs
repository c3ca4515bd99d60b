use crate::findings::bottleneck::Bottleneck;
use crate::findings::prelude::*;

rule! {
    in Load |load| by_subject(load);
    ServiceBound [Note, Bound, Void]
        "a service that subjects need was the limit, or used most of the CPUs that it shares with \
         them: if it limited the faster subject, the ratio is a bound; if it limited both, there \
         is no ratio of throughputs, and CPU per response is compared instead if it is known",
        "give the service more CPUs, make the subjects query it less, or compare CPU per response, \
         which excludes the service";
}

fn by_subject<'a>(load: &'a OfferContext) -> impl Iterator<Item = Finding> + 'a {
    let (limit, is_comparison) = (load.limit, load.view.study.is_comparison());
    let subjects = limit.subjects.iter().filter(|_| load.is_saturating());
    subjects.filter_map(move |(subject, busy)| {
        let message = match busy.bound_service() {
            Some(_) if is_comparison => None,
            Some((index, part)) => Some(format!(
                "the service {} ({:.0} % busy) was the limit for {subject}",
                limit.services.get(index)?,
                100.0 * part
            )),
            None => busy
                .services
                .most_of_full(busy.subject)
                .map(|[total, part]| {
                    format!(
                        "services used {:.0} % of the servers' CPUs while {subject} was loaded \
                         (these CPUs were {:.0} % busy): this is the throughput of subject and \
                         services together; CPU per response excludes the services",
                        100.0 * part,
                        100.0 * total
                    )
                }),
        };
        let finding = finding(message?);
        Some(finding.about(subject))
    })
}

/// The finding that a service limited either subject of a comparison, or both.
pub(super) fn between(limit: &Bottleneck, faster: &str, slower: &str) -> Option<Finding> {
    let bound = |name: &str| limit.busy(name).bound_service();
    let described = |(index, busy): (usize, f64)| {
        let name = limit.services.get(index).map_or("", String::as_str);
        format!("the service {name} ({:.0} % busy)", 100.0 * busy)
    };
    match [bound(faster), bound(slower)] {
        [None, None] => None,
        [Some(service), None] => Some(
            finding(format!(
                "{} was the limit for {faster}: {faster} could have done more with a faster \
                 service",
                described(service)
            ))
            .at(Level::Bound)
            .about(faster),
        ),
        [None, Some(service)] => Some(
            finding(format!(
                "{} was the limit for {slower}: the ratio includes the work that {slower} requests \
                 from it",
                described(service)
            ))
            .about(slower),
        ),
        [Some(service), Some(other)] => Some(
            finding(format!(
                "{} was the limit for {faster}, and {} for {slower}: their throughput is that of \
                 the services",
                described(service),
                described(other)
            ))
            .at(Level::Void),
        ),
    }
}
