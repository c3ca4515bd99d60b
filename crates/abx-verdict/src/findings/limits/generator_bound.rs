use crate::findings::bottleneck::Bottleneck;
use crate::findings::prelude::*;

rule! {
    in Load |load| alone(load);
    GeneratorBound [Bound, Void]
        "the generator was the limit: if it limited the faster subject, the ratio is a bound, and \
         the true one may be further from 1; if it limited the slower one or both, there is no \
         ratio of throughputs, and CPU per response is compared instead if it is known",
        "add a thread (`-t`) on a CPU of its own, make the subject do more per request, or use a \
         machine with more CPUs";
}

fn alone<'a>(load: &'a OfferContext) -> impl Iterator<Item = Finding> + 'a {
    let limit = load.limit;
    let is_alone = !load.view.study.is_comparison() && load.is_saturating();
    let subjects = limit.subjects.iter();
    subjects
        .filter(move |(_, busy)| is_alone && busy.is_generator_bound())
        .map(move |(subject, _)| bound(limit, subject, ""))
}

/// Reports that the generator limited the throughput of `who`, which may be higher; `lead` states
/// the consequence for a ratio.
fn bound(limit: &Bottleneck, who: &str, lead: &str) -> Finding {
    let busy = limit.busy(who);
    let units = limit.shape.units();
    let rate = busy.throughput_per_s;
    let rate = rate.map_or_else(String::new, |rate| format!(" at {rate:.0} {units}/s"));
    let ceiling = limit.ceiling_per_s.map_or_else(String::new, |rate| {
        format!(" (it reaches {rate:.0} {units}/s with a server that does nothing)")
    });
    let spare = match busy.subject {
        Some(_) => format!("{who} had time to spare{rate}: {who} could have done more"),
        None => format!("it is not known whether {who} had time to spare{rate}"),
    };
    let percent = 100.0 * busy.generator.unwrap_or_default();
    let message =
        format!("the generator used {percent:.0} % of its CPU{ceiling} and {spare}{lead}");
    finding(message).at(Level::Bound).about(who)
}

/// The consequence for a ratio: the same words in every comparison of the faster subject, so that
/// the comparisons share one finding.
const LARGER: &str = ", so its true lead may be larger than measured";

pub(super) fn between(limit: &Bottleneck, faster: &str, slower: &str) -> Option<Finding> {
    let busy = |name: &str| limit.busy(name);
    let percent = |name: &str| 100.0 * busy(name).generator.unwrap_or_default();
    let are_bound = [faster, slower].map(|name| busy(name).is_generator_bound());
    match are_bound {
        [false, false] => None,
        [true, false] => Some(bound(limit, faster, LARGER)),
        [true, true] => Some(
            finding(format!(
                "the generator was the limit for both {faster} and {slower} (it used \
                     {:.0} % and {:.0} % of its CPU): their throughput is the generator's",
                percent(faster),
                percent(slower)
            ))
            .at(Level::Void),
        ),
        [false, true] => Some(
            finding(format!(
                "the generator was the limit for {slower}, which served less than {faster} (the \
                 generator used {:.0} % of its CPU), so {slower} may be the faster one",
                percent(slower)
            ))
            .at(Level::Void)
            .about(slower),
        ),
    }
}
