//! Comparisons of response times if some are only known to lie between two bounds, or have no
//! upper bound. Start at [`ComparisonFamily::assess`].

use super::family::{ComparisonFamily, Draft, width};
use crate::findings::open_loop::unknown_times::UnknownTimes;
use crate::findings::rule::new_finding;
use crate::judge::comparison::Comparison;
use crate::judge::metric::Metric;
use crate::judge::verdict::{Assessment, ClaimFamily, assess_together};
use crate::view::OfferView;
use abx_evidence::{Figure, Finding, FindingId, Level};
use abx_stats::StatsError;

/// A ratio whose bounds are at most this far apart, as a logarithm, is printed as it is: half of
/// the last of three digits.
const EXACT_WITHIN: f64 = 0.005;

impl ComparisonFamily<'_> {
    /// Assesses the drafts that are not void. If response times are only known to lie between two
    /// bounds, the claims hold at both of them.
    pub(super) fn assess(
        &self,
        drafts: &[Draft],
        claims: ClaimFamily,
    ) -> Vec<Result<Assessment, StatsError>> {
        let sound = || drafts.iter().filter(|draft| !draft.is_void());
        let assess = |log_ratios: fn(&Draft) -> &[f64]| {
            let comparisons: Vec<&[f64]> = sound().map(log_ratios).collect();
            assess_together(&comparisons, self.margin(), claims)
        };
        let as_measured = assess(|draft| &draft.log_ratios);
        if sound().all(|draft| draft.width() <= 0.0) {
            return as_measured;
        }
        let bounds = assess(|draft| &draft.log_ratio_bounds[0])
            .into_iter()
            .zip(assess(|draft| &draft.log_ratio_bounds[1]));
        let results = as_measured.into_iter().zip(bounds).zip(sound());
        let assessed = results.map(|((result, (low, high)), draft)| {
            let assessment = result?;
            if draft.width() <= 0.0 {
                return Ok(assessment);
            }
            let between = assessment.between([low?, high?]);
            let is_exact = draft.width() <= EXACT_WITHIN;
            Ok(Assessment {
                ratio: if is_exact {
                    assessment.ratio
                } else {
                    between.ratio
                },
                ..between
            })
        });
        assessed.collect()
    }

    /// Lowers findings about bounded response times to notes, unless the ratio is a bound: one
    /// without an upper bound, or a direction. Any other verdict holds at both bounds already.
    pub(super) fn settle(
        &self,
        findings: &mut [Finding],
        draft: &Comparison,
        assessment: Option<&Assessment>,
    ) {
        let pair = [draft.subject.as_str(), draft.baseline.as_str()];
        let is_open = pair.into_iter().any(|name| self.values.are_at_least(name));
        if is_open || assessment.is_some_and(|assessment| assessment.verdict.is_directed()) {
            return;
        }
        for finding in findings {
            if finding.id == FindingId::TimesAtLeast && finding.level == Level::Bound {
                finding.level = Level::Note;
            }
        }
    }

    /// Reports that a quantile depends on requests whose response time is unknown. The direction
    /// stands if only the slower subject's quantile has no upper bound, or if both have one.
    pub(super) fn times_at_least(
        &self,
        view: &OfferView,
        [subject, baseline]: [&str; 2],
        ratio: Option<f64>,
    ) -> Option<Finding> {
        let (slower, faster) = if ratio? >= 1.0 {
            (subject, baseline)
        } else {
            (baseline, subject)
        };
        let metric = figure(self.metric)?.name();
        let width = width(&self.values.log_ratio_bounds([subject, baseline]));
        let (level, who, effect) = if self.values.are_at_least(faster) {
            let effect = format!("its {metric} may be longer than that of {slower}");
            (Level::Void, faster, effect)
        } else if self.values.are_at_least(slower) {
            let effect = format!("its {metric} may be longer than measured");
            (Level::Bound, slower, effect)
        } else if width > EXACT_WITHIN {
            let who = if self.values.is_bracketed(slower) {
                slower
            } else {
                faster
            };
            let percent = 100.0 * width.exp_m1();
            let effect = format!("the ratio of {metric} is known to within {percent:.1} %");
            (Level::Bound, who, effect)
        } else {
            return None;
        };
        let unknown = UnknownTimes::of(view.subject(who)?);
        let message = format!("{}, so {effect}", unknown.text(who));
        let finding = new_finding(FindingId::TimesAtLeast, message).at(level);
        let finding = unknown.remedied(finding);
        Some(finding.about(who).under(&view.load.name).of_times())
    }
}

/// The quantile of a metric of response times; `None` for any other metric.
fn figure(metric: Metric) -> Option<Figure> {
    let share = metric.quantile()?;
    let mut quantiles = Figure::QUANTILES.into_iter();
    let (figure, _) = quantiles.find(|(_, quantile)| *quantile == share)?;
    Some(figure)
}
