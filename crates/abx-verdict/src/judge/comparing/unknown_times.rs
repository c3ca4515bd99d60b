//! Comparisons of response times of which some are only known to lie between two ends, or have
//! no upper end. Start at [`ComparisonFamily::assess`].

use super::family::{ComparisonFamily, Draft, width};
use crate::findings::open_loop::unknown_times::UnknownTimes;
use crate::findings::rule::new_finding;
use crate::judge::comparison::Comparison;
use crate::judge::metric::Metric;
use crate::judge::verdict::{Assessment, ClaimFamily, assess_together};
use crate::view::OfferView;
use abx_evidence::{Figure, Finding, FindingId, Level};
use abx_stats::StatsError;

/// A ratio that is known to within this, as a logarithm, is printed as it is: half of the last
/// of three digits.
const EXACT_WITHIN: f64 = 0.005;

impl ComparisonFamily<'_> {
    /// Assesses what is not void. Where response times are only known to lie between two
    /// ends, what is claimed holds at both of them.
    pub(super) fn assess(
        &self,
        drafts: &[Draft],
        together: ClaimFamily,
    ) -> Vec<Result<Assessment, StatsError>> {
        let claims = || drafts.iter().filter(|draft| !draft.is_void());
        let of = |logs: fn(&Draft) -> &[f64]| {
            let values: Vec<&[f64]> = claims().map(logs).collect();
            assess_together(&values, self.margin(), together)
        };
        let as_measured = of(|draft| &draft.log_ratios);
        if claims().all(|draft| draft.width() <= 0.0) {
            return as_measured;
        }
        let ends = of(|draft| &draft.ends[0])
            .into_iter()
            .zip(of(|draft| &draft.ends[1]));
        let each = as_measured.into_iter().zip(ends).zip(claims());
        let assessed = each.map(|((result, (low, high)), draft)| {
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

    /// A direction that holds at both ends of what response times may be is a bound. Any other
    /// verdict takes both ends into account already.
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

    /// Whether a quantile depends on requests whose response time is unknown. If only the
    /// slower subject's has no upper end, or each has one, the direction stands.
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
        let width = width(&self.values.log_ratio_ends([subject, baseline]));
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

/// The quantile that a metric is; `None` for any other metric.
fn figure(metric: Metric) -> Option<Figure> {
    let share = metric.quantile()?;
    let mut quantiles = Figure::QUANTILES.into_iter();
    let (figure, _) = quantiles.find(|(_, other)| *other == share)?;
    Some(figure)
}
