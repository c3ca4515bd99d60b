//! CPU time per response, by which a pair is compared if the generator or a service was the
//! limit, so that throughput shows nothing about the subjects.

use crate::findings::bottleneck::Bottleneck;
use crate::findings::limits::compared::who_was_the_limit;
use crate::judge::metric::Metric;
use crate::judge::values::{Rounds, Values};
use crate::view::OfferView;
use abx_evidence::{Finding, Level, Limits};
use abx_stats::paired::PairedMean;

/// The CPU time under one load, and the limit of throughput there.
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

    /// Whether this pair's throughput shows nothing: something else limited it, or a block has
    /// none.
    pub(crate) fn is_void(&self, pair: [&str; 2], speed: &Values) -> bool {
        let limit = self.limit_of(pair, speed);
        !speed.are_complete(pair) || limit.is_some_and(|finding| finding.level == Level::Void)
    }

    /// What limited this pair; `None` if nothing did, or if a subject has no throughput in some
    /// block.
    fn limit_of(&self, pair: [&str; 2], speed: &Values) -> Option<Finding> {
        let logs = speed.are_complete(pair).then(|| speed.log_ratios(pair))?;
        let ratio = PairedMean::of(&logs).ok()?.mean().exp();
        who_was_the_limit(&self.limit, pair, Some(ratio))
    }

    /// Why this pair is compared by CPU time; `None` if it is compared by throughput, or if the
    /// CPU time of either is unknown in some block.
    pub(crate) fn reason(&self, pair: [&str; 2], speed: &Values) -> Option<Finding> {
        let finding = self.limit_of(pair, speed)?;
        if finding.level != Level::Void || !self.cpu.are_complete(pair) {
            return None;
        }
        let message = format!(
            "{}; CPU per response is compared instead, and throughput has no verdict: {}",
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

    /// The CPU time per response.
    pub(crate) fn values(self) -> Values<'a> {
        self.cpu
    }

    /// The rates between which a subject's own limit lies, as far as its CPU time shows.
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
            Some(most) => format!("{least} ({most:.0} if the CPU per response stayed the same)"),
            None => least,
        }
    }
}

/// Why CPU time does not replace the throughput of a pair that something other than its subjects
/// limited; empty if it can.
pub(crate) fn why_not(view: &OfferView, pair: [&str; 2]) -> &'static str {
    let cpu = Values::under(view, Metric::ServerCpu, Rounds::All);
    if cpu.are_complete(pair) {
        ""
    } else {
        "; CPU per response cannot be compared instead: abx could not read it for both in every \
         block"
    }
}
