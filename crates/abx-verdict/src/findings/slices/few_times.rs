use crate::findings::prelude::*;
use abx_evidence::Figure;

rule! {
    in Subject |subject| few_times(subject);
    FewTimes [Note]
        "a run has too few requests for a quantile of its response times",
        "send more requests (`-n`, `-d`)";
}

fn few_times(subject: &SubjectContext) -> Option<Finding> {
    let (view, summary) = (subject.view, subject.summary);
    let requests = view.sums.outcomes.sent();
    if view.study.is_comparison() {
        return None;
    }
    let (lowest, _) = Figure::QUANTILES.into_iter().find(|(figure, share)| {
        let is_shown = summary.response_time_us.figure(*figure).is_some();
        is_shown && requests as f64 * (1.0 - share) < 1.0
    })?;
    let message = format!(
        "the response times from {} upwards are the slowest of only {requests} {}",
        lowest.name(),
        view.load.settings.exchange.shape.units()
    );
    Some(finding(message).of_times())
}
