//! What stands below the sentence of a verdict: how firm it is, what was disturbed, and what else
//! settles it.

use abx_verdict::{Comparison, Metric, Role, StudyRecord, Verdict};

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
    } else if let Some(other) = &comparison.undisturbed {
        let rounds = other.rounds_left_out;
        let were = if rounds == 1 { "was" } else { "were" };
        remarks.push(format!(
            "{} {were} disturbed by other activity; without {}, the ratio is {}: {}.",
            plural(rounds, "round"),
            if rounds == 1 { "it" } else { "them" },
            interval(&other.bounds),
            word(other.verdict)
        ));
    }
    // Within the margin, a direction would be claimed of none alone either.
    remarks.extend(within_margin(record, comparison).or_else(|| among_many(comparison)));
    remarks.extend(settled_by_cost(record, comparison));
    if record.measured.settings.aa {
        remarks.extend(against_itself(comparison));
    }
    remarks
}

/// Which verdict, or else ratio, other sound ways to read the same blocks give.
fn fragile(comparison: &Comparison) -> String {
    let second = comparison.second_verdict;
    let second = second.map(|other| (other, "by another sound method"));
    let undisturbed = comparison.undisturbed.as_ref();
    let undisturbed = undisturbed.map(|other| {
        // A bound may lie further out, so nothing within the margin makes it the same.
        let verdict = match other.verdict {
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
    if let Some(other) = &comparison.hodges_lehmann {
        let other = interval(other);
        text.push_str(&format!(" With less weight on single blocks: {other}."));
    }
    text
}

/// What the cost of a response settles, where the rates are open still: by the verdict of that
/// comparison, which is held to what is judged together.
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

/// That a difference would stand alone, and may be chance among many.
fn among_many(comparison: &Comparison) -> Option<String> {
    let excludes = comparison.low? > 1.0 || comparison.high? < 1.0;
    let is_alone = comparison.together == 1 && comparison.too_few_blocks;
    (excludes && !is_alone && is_open(comparison))
        .then(|| "Alone, this would be a difference; among all pairs it may be chance.".to_owned())
}

/// Why a comparison is undecided whose whole interval lies within the margin: it is a bound, or
/// with several subjects "same" is held to more confidence than that of the interval.
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
    use abx_verdict::{Bounds, Undisturbed};

    use super::*;

    /// `new` beside `old`, 1.1 times as fast.
    fn study() -> (StudyRecord, Comparison) {
        let record = StudyRecord::judged(abx_fixtures::pair());
        let comparison = record.conclusions.comparisons[0].clone();
        (record, comparison)
    }

    #[test]
    fn what_is_fragile_names_both_verdicts() {
        // Method: another verdict by the second method, without disturbed rounds and by both; a
        // bound, which is never the same; and another ratio alone.
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
    fn an_undecided_interval_within_the_margin_has_a_reason() {
        // Method: among several subjects, and as a bound. Without this reason: an end beyond the
        // margin of 3 %, a verdict, and too few blocks.
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
