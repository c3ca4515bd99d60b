use crate::findings::open_loop::pace::Pace;
use crate::findings::open_loop::unknown_times::UnknownTimes;
use crate::findings::prelude::*;
use abx_evidence::Figure;

rule! {
    in Subject |subject| times_at_least(&Pace::of(subject));
    TimesAtLeast [Bound, Note, Void]
        "quantiles of response times include requests without a response, so they are only bounds",
        "offer less load, or allow more time per request (`--timeout`)";
}

fn times_at_least(pace: &Pace) -> Option<Finding> {
    let bounded = Figure::QUANTILES.map(|(figure, _)| figure);
    let names: Vec<&str> = bounded
        .into_iter()
        .filter(|figure| pace.response.is_at_least(*figure))
        .map(Figure::name)
        .collect();
    let unknown = UnknownTimes {
        requests: pace.without_response,
        unsent: pace.offered.map_or(0, |offered| offered.unsent),
    };
    let message = format!(
        "{}, so its {} {} at least what is shown",
        unknown.text(pace.who),
        names.join(", "),
        if names.len() == 1 { "is" } else { "are" }
    );
    (!names.is_empty()).then(|| {
        let finding = finding(message);
        unknown.remedied(finding).of_times()
    })
}
