//! Remarks below the sentence of a verdict: how firm it is, which rounds were disturbed, and
//! whether the CPU cost settles it.

use abx_verdict::{Bounds, Comparison, Metric, Role, StudyRecord, Verdict};

use crate::words::ratio::ShownRatio;
use crate::words::style::Style;
use crate::words::units::{percent, plural};
use crate::words::verdict::{interval, is_open, sentence, word};

pub(crate) fn remarks(record: &StudyRecord, comparison: &Comparison) -> Vec<String> {
    let mut remarks = Vec::new();
    if comparison.fragile {
        remarks.push(fragile(comparison));
    }
    if comparison.shifted().is_some() {
        remarks.push(
            "Other activity on the machine affected one side more than the other: measure again \
             at a quieter time."
                .to_owned(),
        );
    } else {
        remarks.extend(without_disturbed(comparison));
    }
    // Within the margin, not even a comparison on its own would claim a direction.
    remarks.extend(within_margin(record, comparison).or_else(|| among_many(comparison)));
    remarks.extend(settled_by_cost(record, comparison));
    if record.measured.settings.aa {
        remarks.extend(against_itself(comparison));
    }
    remarks
}

/// The result without disturbed rounds; `None` if it has the same digits and verdict.
fn without_disturbed(comparison: &Comparison) -> Option<String> {
    let undisturbed = comparison.undisturbed.as_ref()?;
    let result = |verdict: Verdict, bounds: [f64; 3]| {
        let shown = ShownRatio::of(verdict, comparison.at_least, bounds);
        format!("{} ({}): {}", shown.in_words(), shown.detail, word(verdict))
    };
    let Bounds { ratio, low, high } = undisturbed.bounds;
    let without = result(undisturbed.verdict, [ratio, low, high]);
    let with = comparison.bounds();
    if with.is_some_and(|with| result(comparison.verdict, with) == without) {
        return None;
    }
    let (were, them) = match undisturbed.rounds_left_out {
        1 => ("was", "it"),
        _ => ("were", "them"),
    };
    Some(format!(
        "{} {were} disturbed by other activity; without {them}, the ratio is {without}.",
        plural(undisturbed.rounds_left_out, "round")
    ))
}

/// The verdicts that differ by another method or without disturbed rounds, or else that another
/// method gives another ratio.
fn fragile(comparison: &Comparison) -> String {
    let second = comparison.second_verdict;
    let second = second.map(|verdict| (verdict, "by another sound method"));
    let undisturbed = comparison.undisturbed.as_ref();
    let undisturbed = undisturbed.map(|undisturbed| {
        // The true ratio may lie beyond a bound, so a bound within the margin is not "same".
        let verdict = match undisturbed.verdict {
            Verdict::Equivalent if comparison.at_least => Verdict::Inconclusive,
            verdict => verdict,
        };
        (verdict, "without disturbed rounds")
    });
    let others = second.into_iter().chain(undisturbed);
    let others = others.filter(|(verdict, _)| *verdict != comparison.verdict);
    let others: Vec<String> = others
        .map(|(verdict, how)| format!("{} {how}", word(verdict)))
        .collect();
    let mut text = match &others[..] {
        [] => "Fragile: another sound method gives another ratio from the same blocks.".to_owned(),
        others => format!(
            "Fragile: the verdict is {}, but {}.",
            word(comparison.verdict),
            others.join(" and ")
        ),
    };
    if let Some(bounds) = &comparison.hodges_lehmann {
        let robust = interval(bounds);
        text.push_str(&format!(" With less weight on single blocks: {robust}."));
    }
    text
}

/// The verdict on CPU per response, if it is decided and the one on throughput is not.
fn settled_by_cost(record: &StudyRecord, comparison: &Comparison) -> Option<String> {
    let is_open =
        comparison.verdict == Verdict::Inconclusive && comparison.metric == Metric::Throughput;
    let mut others = record.conclusions.comparisons.iter().filter(|_| is_open);
    let cost = others.find(|other| {
        other.metric == Metric::ServerCpu
            && (&other.subject, &other.baseline, &other.load)
                == (&comparison.subject, &comparison.baseline, &comparison.load)
    })?;
    let is_settled = cost.verdict.is_decided();
    let role = match cost.role {
        Role::Primary => "",
        Role::Exploratory => "Exploratory: ",
    };
    is_settled.then(|| format!("{role}{}", sentence(record, cost, &Style::plain())))
}

/// A remark on a difference that would be certain on its own, and may be chance among many.
fn among_many(comparison: &Comparison) -> Option<String> {
    may_be_chance(comparison)
        .then(|| "Alone, this would be a difference; among all pairs it may be chance.".to_owned())
}

/// Whether the interval excludes 1, and the comparison is undecided only because it is one of
/// many.
pub(crate) fn may_be_chance(comparison: &Comparison) -> bool {
    let is_above = comparison.low.is_some_and(|low| low > 1.0);
    let is_below = comparison.high.is_some_and(|high| high < 1.0);
    let is_alone = comparison.together == 1 && comparison.too_few_blocks;
    (is_above || is_below) && !is_alone && is_open(comparison)
}

/// Why a comparison is undecided although its whole interval lies within the margin: it is a
/// bound, or with several subjects "same" needs more confidence than the interval's.
fn within_margin(record: &StudyRecord, comparison: &Comparison) -> Option<String> {
    let share = record.measured.settings.margin;
    let [_, low, high] = comparison.bounds()?;
    let is_within = low * (1.0 + share) > 1.0 && high < 1.0 + share;
    if !is_within || !is_open(comparison) {
        return None;
    }
    Some(if comparison.at_least {
        format!(
            "The interval lies within the margin of {}, but the true difference may lie beyond it.",
            percent(share)
        )
    } else {
        "Alone, this would be the same; among several subjects, that takes a narrower interval."
            .to_owned()
    })
}

fn against_itself(comparison: &Comparison) -> Vec<String> {
    let mut remarks =
        vec!["This compares a subject with itself: there is no true difference.".to_owned()];
    if matches!(comparison.verdict, Verdict::Faster | Verdict::Slower) {
        remarks.push(
            "The verdict is a false alarm, caused by the machine or the method (expected in at most \
             1 of 20 studies)."
                .to_owned(),
        );
    }
    if let Some(share) = comparison.detectable {
        remarks.push(format!(
            "The smallest difference that {} detect on this machine in 4 of 5 studies: {}.",
            plural(comparison.blocks as u64, "block"),
            percent(share)
        ));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use abx_verdict::Undisturbed;

    use super::*;

    /// `new` compared with `old`, 1.1 times as fast.
    fn study() -> (StudyRecord, Comparison) {
        let record = StudyRecord::judged(abx_fixtures::pair());
        let comparison = record.conclusions.comparisons[0].clone();
        (record, comparison)
    }

    #[test]
    fn a_fragile_comparison_names_both_verdicts() {
        // Method: another verdict by the second method, without disturbed rounds and by both; a
        // bound, which is never "same"; and only another ratio.
        let (_, comparison) = study();
        let report = |second_verdict, undisturbed: Option<Verdict>, at_least| {
            fragile(&Comparison {
                second_verdict,
                undisturbed: undisturbed.map(|verdict| Undisturbed {
                    bounds: Bounds {
                        ratio: 1.02,
                        low: 0.98,
                        high: 1.06,
                    },
                    verdict,
                    rounds_left_out: 3,
                }),
                hodges_lehmann: None,
                at_least,
                fragile: true,
                ..comparison.clone()
            })
        };
        let (open, same) = (Some(Verdict::Inconclusive), Some(Verdict::Equivalent));
        let faster = Some(Verdict::Faster);
        let method = "Fragile: the verdict is faster, but undecided by another sound method";
        assert_eq!(report(open, faster, false), format!("{method}."));
        assert_eq!(
            report(None, same, false),
            "Fragile: the verdict is faster, but same without disturbed rounds."
        );
        assert_eq!(
            report(open, same, true),
            format!("{method} and undecided without disturbed rounds.")
        );
        assert_eq!(
            report(None, faster, false),
            "Fragile: another sound method gives another ratio from the same blocks."
        );
    }

    #[test]
    fn disturbed_rounds_that_change_nothing_are_not_mentioned() {
        // Method: the same figures and verdict without them; another upper bound; another
        // verdict; and a comparison that is "at least" with and without them.
        let (_, comparison) = study();
        let report = |high, verdict, at_least| {
            without_disturbed(&Comparison {
                ratio: Some(1.12),
                low: Some(1.08),
                high: Some(1.16),
                verdict: Verdict::Faster,
                at_least,
                undisturbed: Some(Undisturbed {
                    bounds: Bounds {
                        ratio: 1.12,
                        low: 1.08,
                        high,
                    },
                    verdict,
                    rounds_left_out: 1,
                }),
                ..comparison.clone()
            })
        };
        let head = "1 round was disturbed by other activity; without it, the ratio is";
        let (faster, open) = (Verdict::Faster, Verdict::Inconclusive);
        assert_eq!(report(1.1601, faster, false), None);
        let other = report(1.17, faster, false).unwrap();
        assert_eq!(other, format!("{head} 1.12 (1.08 to 1.17): faster."));
        let other = report(1.16, open, false).unwrap();
        assert_eq!(other, format!("{head} 1.12 (1.08 to 1.16): undecided."));
        assert_eq!(report(1.16, faster, true), None);
        let bound = report(1.16, open, true).unwrap();
        let expected = format!("{head} 1.12 (1.08 to 1.16, or beyond): undecided.");
        assert_eq!(bound, expected);
    }

    #[test]
    fn an_undecided_interval_within_the_margin_has_a_reason() {
        // Method: among several subjects, and as a bound. Without this reason: one end of the
        // interval beyond the margin of 3 %, a decided verdict, and too few blocks.
        let (record, comparison) = study();
        let undecided = |[ratio, low, high]: [f64; 3]| Comparison {
            ratio: Some(ratio),
            low: Some(low),
            high: Some(high),
            verdict: Verdict::Inconclusive,
            ..comparison.clone()
        };
        let within = undecided([1.0, 0.98, 1.02]);
        let alone = within_margin(&record, &within).unwrap();
        assert!(alone.starts_with("Alone, this would be"), "{alone}");
        let bound = Comparison {
            at_least: true,
            ..within.clone()
        };
        let bound = within_margin(&record, &bound).unwrap();
        assert!(bound.contains("may lie beyond it"), "{bound}");
        let others = [
            undecided([1.0, 0.96, 1.02]),
            undecided([1.0, 0.98, 1.04]),
            Comparison {
                verdict: Verdict::Equivalent,
                ..within.clone()
            },
            Comparison {
                too_few_blocks: true,
                ..within
            },
        ];
        for other in others {
            assert_eq!(within_margin(&record, &other), None, "{other:?}");
        }
    }
}
