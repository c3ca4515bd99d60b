//! Pairs of subjects that are compared together: from blocks to ratios, and from ratios and
//! findings to verdicts.

use crate::findings::bottleneck::Bottleneck;
use crate::findings::limits::compared::who_was_the_limit;
use crate::findings::open_loop::kept_up::held_by_rate;
use crate::findings::responses::no_responses::no_responses;
use crate::findings::rule::new_finding;
use crate::findings::validity::Limited;
use crate::judge::capacities::RateGrid;
use crate::judge::comparing::cpu_fallback::why_not;
use crate::judge::comparison::{Bounds, Comparison, Role, Undisturbed};
use crate::judge::metric::Metric;
use crate::judge::values::{BlockValue, Known, Rounds, Values};
use crate::judge::verdict::{Assessment, ClaimFamily, Required, Verdict, assess_as};
use crate::view::faults::FaultView;
use crate::view::{OfferView, margin};
use abx_evidence::record::Measured;
use abx_evidence::{Finding, FindingId, Level, Limits};
use abx_stats::paired::{BLOCKS_MIN, PairedMean};
use abx_stats::stop::{blocks_for_verdict, blocks_needed};
use abx_stats::student::Confidence;
use abx_stats::{Margin, StatsError, power};

/// The conditions under which subjects are compared.
pub(crate) enum ComparedUnder<'a> {
    Load(&'a OfferView<'a>),
    /// Several rates with one objective.
    Grid(RateGrid<'a>),
    /// Starts, which belong to no load.
    Starts,
    Fault(FaultView<'a>),
}

/// Pairs of subjects that are judged together by one metric.
pub(crate) struct ComparisonFamily<'a> {
    pub(crate) study: &'a Measured,
    pub(crate) compared_under: &'a ComparedUnder<'a>,
    pub(crate) metric: Metric,
    /// The step to which the metric belongs, if any.
    pub(crate) step: Option<&'a str>,
    pub(crate) values: Values<'a>,
    /// The limit of throughput under this load.
    pub(crate) limit: &'a Bottleneck,
    /// All findings except those about a single comparison.
    pub(crate) study_findings: &'a [Finding],
}

/// A comparison that is not assessed yet, with the log ratios of its blocks.
pub(super) struct Draft {
    comparison: Comparison,
    findings: Vec<Finding>,
    pub(super) log_ratios: Vec<f64>,
    /// The lowest and the highest log ratio that the values of each block permit.
    pub(super) log_ratio_bounds: [Vec<f64>; 2],
}

impl Draft {
    pub(super) fn is_void(&self) -> bool {
        self.comparison.verdict == Verdict::Invalid
    }

    pub(super) fn width(&self) -> f64 {
        width(&self.log_ratio_bounds)
    }
}

/// The mean distance over blocks between the bounds of log ratios.
pub(super) fn width([low, high]: &[Vec<f64>; 2]) -> f64 {
    let sum: f64 = high.iter().zip(low).map(|(high, low)| high - low).sum();
    sum / low.len().max(1) as f64
}

impl<'a> ComparisonFamily<'a> {
    /// Compares each pair, the first with the second.
    pub(crate) fn compare(
        &self,
        pairs: &[([&'a str; 2], Role)],
        claims: ClaimFamily,
    ) -> Vec<Limited<Comparison>> {
        let drafts: Vec<Draft> = pairs
            .iter()
            .map(|(pair, role)| self.draft(*pair, *role))
            .collect();
        // A void comparison claims nothing, so the others need no more evidence.
        let together = drafts.iter().filter(|draft| !draft.is_void()).count();
        // A counted metric needs only as many blocks as show a spread.
        let claims = if self.metric.is_counted() {
            ClaimFamily {
                blocks: BLOCKS_MIN,
                ..claims
            }
        } else {
            claims
        };
        let mut assessed = self.assess(&drafts, claims).into_iter();
        let finish = |draft: Draft| {
            let mut findings = draft.findings;
            let of = match draft.comparison.verdict {
                Verdict::Invalid => draft.comparison,
                _ => {
                    let result = assessed.next().expect("one per claim");
                    self.settle(&mut findings, &draft.comparison, result.as_ref().ok());
                    let draft = Comparison {
                        together,
                        ..draft.comparison
                    };
                    self.finish(draft, result, &findings)
                }
            };
            Limited { of, findings }
        };
        drafts.into_iter().map(finish).collect()
    }

    pub(super) fn margin(&self) -> Margin {
        margin(self.study)
    }

    fn load(&self) -> Option<&'a OfferView<'a>> {
        match self.compared_under {
            ComparedUnder::Load(view) => Some(view),
            ComparedUnder::Grid(_) | ComparedUnder::Starts | ComparedUnder::Fault(_) => None,
        }
    }

    fn load_name(&self) -> &'a str {
        match self.compared_under {
            ComparedUnder::Load(view) => &view.load.name,
            ComparedUnder::Grid(grid) => &grid.name,
            ComparedUnder::Starts => "",
            ComparedUnder::Fault(view) => &view.fault.name,
        }
    }

    fn draft(&self, pair: [&str; 2], role: Role) -> Draft {
        let [subject, baseline] = pair;
        let log_ratios = self.values.log_ratios(pair);
        let findings = self.findings(pair, &log_ratios);
        let is_void = findings.iter().any(|finding| finding.level == Level::Void);
        let ratio = |log: &f64| Some(log.exp()).filter(|ratio| ratio.is_finite() && *ratio > 0.0);
        let comparison = Comparison {
            metric: self.metric,
            role,
            load: self.load_name().to_owned(),
            subject: subject.to_owned(),
            baseline: baseline.to_owned(),
            step: self.step.map(str::to_owned),
            ratio: None,
            low: None,
            high: None,
            confidence: Confidence::PRINTED.share(),
            blocks: log_ratios.len(),
            per_block: log_ratios.iter().map(ratio).collect(),
            together: 1,
            p_adjusted: None,
            verdict: if is_void {
                Verdict::Invalid
            } else {
                Verdict::Inconclusive
            },
            at_least: false,
            fragile: false,
            second_verdict: None,
            blocks_more: None,
            too_few_blocks: false,
            detectable: None,
            hodges_lehmann: None,
            undisturbed: None,
            findings: Vec::new(),
            own_findings: Vec::new(),
        };
        Draft {
            comparison,
            findings,
            log_ratios,
            log_ratio_bounds: self.values.log_ratio_bounds(pair),
        }
    }

    /// The findings that limit one comparison.
    fn findings(&self, pair: [&str; 2], log_ratios: &[f64]) -> Vec<Finding> {
        let limits = |finding: &Finding| match finding.limits {
            Limits::All => true,
            // `times_at_least` decides for each quantile whether it is a bound.
            Limits::Times => {
                self.metric.is_response_time() && finding.id != FindingId::TimesAtLeast
            }
            // States why CPU time is compared; throughput has its own findings.
            Limits::Throughput => self.metric == Metric::ServerCpu,
        };
        let mut findings: Vec<Finding> = self
            .study_findings
            .iter()
            .filter(|finding| limits(finding) && finding.touches(self.load_name(), pair))
            .cloned()
            .collect();
        let mean = PairedMean::of(log_ratios).ok();
        let ratio = mean.map(|mean| mean.mean().exp());
        if let ComparedUnder::Fault(view) = self.compared_under {
            findings.extend(self.recovered_unseen(view, pair, ratio));
        }
        if let (ComparedUnder::Grid(grid), Some(ratio)) = (self.compared_under, ratio) {
            let [subject, baseline] = pair;
            let by_size = if ratio >= 1.0 {
                [baseline, subject]
            } else {
                pair
            };
            let beyond = grid.beyond(by_size);
            findings.extend(beyond.map(|finding| finding.under(&grid.name)));
            findings.extend(grid.short());
        }
        let Some(view) = self.load() else {
            return findings;
        };
        let load = view.load;
        if self.metric == Metric::Throughput {
            let silent = pair.iter().filter_map(|name| self.no_responses(view, name));
            findings.extend(silent);
            let limit = who_was_the_limit(self.limit, pair, ratio).map(|mut finding| {
                if finding.level == Level::Void {
                    finding.message.push_str(why_not(view, pair));
                }
                finding.under(&load.name)
            });
            findings.extend(limit);
            findings.extend(held_by_rate(view, pair, ratio));
        }
        if self.metric.is_response_time() {
            findings.extend(self.times_at_least(view, pair, ratio));
        }
        findings
    }

    /// Completes a comparison by its assessment.
    fn finish(
        &self,
        draft: Comparison,
        assessed: Result<Assessment, StatsError>,
        findings: &[Finding],
    ) -> Comparison {
        let mut assessment = match assessed {
            Ok(assessment) => assessment,
            Err(error) => {
                // Fewer than two blocks have no spread, so there is no interval.
                let fewest = blocks_for_verdict(self.study.is_ordered());
                let blocks_more = blocks_needed(draft.blocks, fewest, f64::INFINITY, self.margin());
                let too_few_blocks = matches!(error, StatsError::TooFewBlocks { .. });
                return Comparison {
                    blocks_more: too_few_blocks.then_some(blocks_more),
                    too_few_blocks,
                    ..draft
                };
            }
        };
        let sense = self.metric.sense();
        assessment.verdict = assessment.verdict.in_sense(sense);
        assessment.second_verdict = assessment
            .second_verdict
            .map(|verdict| verdict.in_sense(sense));
        let undisturbed = self.undisturbed(&draft, assessment.required);
        let is_bound = |finding: &Finding| {
            finding.level == Level::Bound && finding.limits != Limits::Throughput
        };
        let draft = Comparison {
            at_least: findings.iter().any(is_bound) && !self.metric.is_counted(),
            ..draft
        };
        fill(draft, &assessment, undisturbed)
    }

    /// The result without disturbed rounds, by the same required evidence. Only throughput, and
    /// CPU time in its place, are known by round.
    fn undisturbed(&self, comparison: &Comparison, required: Required) -> Option<Undisturbed> {
        let pair = [comparison.subject.as_str(), comparison.baseline.as_str()];
        let is_by_round = match self.metric {
            Metric::Throughput => true,
            Metric::ServerCpu => comparison.role == Role::Primary,
            _ => false,
        };
        let view = self.load().filter(|_| is_by_round)?;
        let rounds_left_out = view.disturbed_rounds().0;
        if rounds_left_out == 0 {
            return None;
        }
        let values = Values::under(view, self.metric, Rounds::Undisturbed);
        let mut log_ratios = values.log_ratios(pair);
        log_ratios.retain(|log_ratio| log_ratio.is_finite());
        if log_ratios.len() < required.blocks {
            // Too few for a verdict that could contradict that of all rounds.
            return None;
        }
        let assessment = assess_as(&log_ratios, required, self.margin()).ok()?;
        Some(Undisturbed {
            bounds: bounds(&assessment)?,
            verdict: assessment.verdict.in_sense(self.metric.sense()),
            rounds_left_out,
        })
    }

    /// Reports blocks in which a subject gave no verified response, so that they have no ratio. A
    /// subject that is not loaded any more is already reported as failed.
    fn no_responses(&self, view: &OfferView, subject: &str) -> Option<Finding> {
        let subject_view = view
            .subject(subject)
            .filter(|subject| !subject.has_failed())?;
        let blocks = &subject_view.blocks;
        let silent: Vec<u32> = blocks
            .iter()
            .zip(self.values.of(subject))
            .filter(|(_, value)| !value.is_some_and(BlockValue::is_positive))
            .map(|(block, _)| block.block.index)
            .collect();
        let finding = no_responses(subject, &silent, blocks.len())?;
        Some(finding.under(&view.load.name))
    }

    /// Reports that a recovery is only known to have ended before the next request. If that
    /// concerns only the faster subject, the direction stands.
    fn recovered_unseen(
        &self,
        view: &FaultView,
        [subject, baseline]: [&str; 2],
        ratio: Option<f64>,
    ) -> Option<Finding> {
        let (slower, faster) = if ratio? >= 1.0 {
            (subject, baseline)
        } else {
            (baseline, subject)
        };
        let unseen = |who: &str| self.values.count(who, Known::AtMost);
        let (level, who) = match (unseen(slower), unseen(faster)) {
            (0, 0) => return None,
            (0, _) => (Level::Bound, faster),
            _ => (Level::Void, slower),
        };
        let fault = &view.fault.name;
        let message = format!(
            "{who} had recovered before the next request in {} of {} blocks under {fault}: its \
             recovery took at most the time between two requests",
            unseen(who),
            self.values.blocks()
        );
        let finding = new_finding(FindingId::FaultUnfelt, message).at(level);
        Some(finding.about(who).under(fault))
    }
}

fn fill(
    draft: Comparison,
    assessment: &Assessment,
    undisturbed: Option<Undisturbed>,
) -> Comparison {
    let claimed = |verdict| match verdict {
        // The true ratio may lie further from 1, so it is not known to lie inside the margin.
        Verdict::Equivalent if draft.at_least => Verdict::Inconclusive,
        verdict => verdict,
    };
    let verdict = claimed(assessment.verdict);
    let second_verdict = assessment.second_verdict.map(claimed);
    let undisturbed_verdict = undisturbed
        .as_ref()
        .map(|undisturbed| claimed(undisturbed.verdict));
    let mut others = [undisturbed_verdict, second_verdict].into_iter().flatten();
    let fragile = assessment.is_pulled || others.any(|other| other != verdict);
    let bounds = bounds(assessment);
    Comparison {
        ratio: bounds.map(|bounds| bounds.ratio),
        low: bounds.map(|bounds| bounds.low),
        high: bounds.map(|bounds| bounds.high),
        p_adjusted: Some(assessment.p_adjusted),
        verdict,
        fragile,
        second_verdict: second_verdict.filter(|second| *second != verdict),
        // A bound is never equivalent, so only a direction settles it.
        blocks_more: if draft.at_least {
            assessment.blocks_to_direction
        } else {
            assessment.blocks_more
        },
        too_few_blocks: assessment.blocks < assessment.required.blocks,
        detectable: detectable(assessment),
        hodges_lehmann: assessment.hodges_lehmann.map(Bounds::from),
        undisturbed,
        ..draft
    }
}

/// The interval, if both its ends are numbers: that of a few blocks that are far apart
/// reaches from 0 to infinity.
fn bounds(assessment: &Assessment) -> Option<Bounds> {
    (assessment.low > 0.0 && assessment.high.is_finite()).then_some(Bounds {
        ratio: assessment.ratio,
        low: assessment.low,
        high: assessment.high,
    })
}

/// The difference that as many blocks of the same spread show in 4 of 5 studies.
fn detectable(assessment: &Assessment) -> Option<f64> {
    power::detectable(
        (assessment.high / assessment.low).ln() / 2.0,
        assessment.blocks,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::verdict::assess;

    #[test]
    fn an_interval_needs_two_finite_ends_above_zero() {
        // Method: blocks 10 % apart; then with a lower end of 0, and with an infinite upper end.
        let sound = assess(&[0.1, 0.11, 0.09], Margin::DEFAULT).unwrap();
        let interval = bounds(&sound).unwrap();
        assert!(interval.low < interval.ratio && interval.ratio < interval.high);
        let from_nothing = Assessment { low: 0.0, ..sound };
        let to_infinity = Assessment {
            high: f64::INFINITY,
            ..sound
        };
        assert_eq!(bounds(&from_nothing), None);
        assert_eq!(bounds(&to_infinity), None);
    }
}
