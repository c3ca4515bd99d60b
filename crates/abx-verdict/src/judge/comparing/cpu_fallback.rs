//! Processor time per response, by which two are compared if the generator or a
//! service was the limit and their throughput shows nothing about them.

use crate::findings::bottleneck::Bottleneck;
use crate::findings::limits::compared::who_was_the_limit;
use crate::judge::metric::Metric;
use crate::judge::values::{Rounds, Values};
use crate::view::OfferView;
use abx_evidence::{Finding, Level, Limits};
use abx_stats::paired::PairedMean;

/// Throughput and processor time of one load, with what limited the throughput.
pub(crate) struct CpuFallback<'a> {
    view: &'a OfferView<'a>,
    limit: Bottleneck,
    cpu: Values<'a>,
}

impl<'a> CpuFallback<'a> {
    pub(crate) fn of(view: &'a OfferView<'a>) -> CpuFallback<'a> {
        CpuFallback {
            view,
            limit: Bottleneck::of(view),
            cpu: Values::under(view, Metric::ServerCpu, Rounds::All),
        }
    }

    /// Whether this pair's throughput shows nothing: it is the generator's, or there is none
    /// in some block.
    pub(crate) fn is_void(&self, pair: [&str; 2], speed: &Values) -> bool {
        let limit = self.limit_of(pair, speed);
        !speed.are_whole(pair) || limit.is_some_and(|finding| finding.level == Level::Void)
    }

    /// What limited this pair; `None` if nothing did, or if one has no throughput in
    /// some block.
    fn limit_of(&self, pair: [&str; 2], speed: &Values) -> Option<Finding> {
        let logs = speed.are_whole(pair).then(|| speed.log_ratios(pair))?;
        let ratio = PairedMean::of(&logs).ok()?.mean().exp();
        who_was_the_limit(&self.limit, pair, Some(ratio))
    }

    /// Why this pair is compared by processor time; `None` where its throughput is, or
    /// where that time is not known of both in every block.
    pub(crate) fn reason(&self, pair: [&str; 2], speed: &Values) -> Option<Finding> {
        let finding = self.limit_of(pair, speed)?;
        if finding.level != Level::Void || !self.cpu.are_whole(pair) {
            return None;
        }
        let message = format!(
            "{}; CPU per response is compared instead, and nothing is claimed about throughput: {}",
            finding.message,
            pair.map(|name| self.room(name)).join(", and ")
        );
        let reason = Finding {
            message,
            limits: Limits::Throughput,
            ..finding
        };
        let reason = reason.at(Level::Bound).about(pair[0]);
        Some(reason.under(&self.view.load.name))
    }

    /// The processor time of each response.
    pub(crate) fn values(self) -> Values<'a> {
        self.cpu
    }

    /// Between which rates a subject's own limit lies, as far as its processor time shows.
    fn room(&self, name: &str) -> String {
        let measured = self
            .view
            .subject(name)
            .and_then(|subject| subject.throughput());
        let Some(measured) = measured else {
            return format!("{name} has no throughput");
        };
        let least = format!("{name} can serve at least {measured:.0} responses/s");
        match self.limit.at_all_its_time(name, measured) {
            Some(most) => format!("{least} ({most:.0} if each went on taking as much CPU)"),
            None => least,
        }
    }
}

/// Why processor time does not stand in for the throughput of a pair that was limited by
/// something else than its subjects; empty where it could.
pub(crate) fn why_not(view: &OfferView, pair: [&str; 2]) -> &'static str {
    let cpu = Values::under(view, Metric::ServerCpu, Rounds::All);
    if cpu.are_whole(pair) {
        ""
    } else {
        "; CPU per response is not compared instead: abx did not read it for both in every block"
    }
}
