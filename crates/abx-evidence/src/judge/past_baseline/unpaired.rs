//! From the blocks of both sides to a ratio, an interval and a verdict.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{is_one_sided, limiting};
use crate::findings::Bottleneck;
use crate::judge::comparison::kept_up;
use crate::judge::metric::Metric;
use crate::judge::verdict::{Verdict, judge_interval};
use crate::record::finding::{Finding, Level, Limited, Validity};
use crate::record::finding_id::FindingId;
use crate::record::{PastBaseline, PastLoad};
use crate::stats::stop::{BLOCKS_FOR_VERDICT, Decision};
use crate::stats::student::Confidence;
use crate::stats::welch::{self, TwoSamples, Welch};
use crate::stats::{Margin, StatsError};
use crate::view::{LoadView, StudyView, SubjectView};

/// A subject measured now beside one measured then, under one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unpaired {
    /// What is compared.
    pub metric: Metric,
    /// The load's name in the new study.
    pub load: String,
    /// The subject measured now.
    pub subject: String,
    /// The subject measured then.
    pub baseline: String,
    /// Now over then; `None` when invalid, and when there is no interval or one
    /// without an end.
    pub ratio: Option<f64>,
    /// The interval's lower end.
    pub low: Option<f64>,
    /// The interval's upper end.
    pub high: Option<f64>,
    /// How often such intervals hold the truth, as a share, if the machine is
    /// the same on both sides.
    pub confidence: f64,
    /// How many blocks it rests on now.
    pub blocks: usize,
    /// How many it rests on then.
    pub blocks_then: usize,
    /// Degrees of freedom by Welch and Satterthwaite; `None` without an interval.
    pub degrees: Option<f64>,
    /// What it means.
    pub verdict: Verdict,
    /// Whether the true ratio may lie further from 1 than measured, as the
    /// faster side was held back.
    pub at_least: bool,
    /// How many blocks more, measured now, would settle it, when it is
    /// inconclusive; `None` also when no number would.
    pub blocks_more: Option<u32>,
    /// What limits it, [`FindingId::Unpaired`] always: numbers, from 0, of the
    /// record's `validity.findings`.
    pub findings: Vec<usize>,
}

/// What is concluded beside the older record; nothing when there is none.
#[derive(Debug, Default)]
pub(crate) struct BesidePast {
    /// One for each load and each subject measured now.
    comparisons: Vec<Limited<Unpaired>>,
    /// What limits them, and what forbids one.
    pub(crate) findings: Vec<Finding>,
}

impl BesidePast {
    /// Compares with the older record; `found` is what limits the rest of the study.
    pub(crate) fn of(study: &StudyView, found: &[Finding]) -> BesidePast {
        let mut beside = BesidePast::default();
        for pair in pairs(study) {
            match pair.both_kept_up() {
                Some(finding) => beside.findings.push(finding),
                None => {
                    let one = pair.compare(found);
                    beside.findings.extend(one.findings.iter().cloned());
                    beside.comparisons.push(one);
                }
            }
        }
        beside
    }

    /// The comparisons with their findings by number.
    pub(crate) fn numbered(self, validity: &Validity) -> Vec<Unpaired> {
        let each = self.comparisons.into_iter().map(|one| Unpaired {
            findings: validity.numbers(one.findings).0,
            ..one.of
        });
        each.collect()
    }
}

/// Whether the blocks so far settle every comparison with the older record;
/// `None` when there is no older record.
pub(crate) fn may_stop(study: &StudyView) -> Option<Decision> {
    study.study.past_baseline.as_ref()?;
    let compared = pairs(study).filter(|pair| pair.both_kept_up().is_none());
    let decisions = compared.map(|pair| {
        let decided = welch::decide(pair.logs().sides(), pair.margin());
        // A block without a verified answer has no logarithm: nothing is settled by it.
        decided.unwrap_or(Decision::Continue)
    });
    Some(
        decisions
            .reduce(Decision::and)
            .unwrap_or(Decision::Continue),
    )
}

/// One subject measured now, under one load, with the other side.
struct UnpairedSubject<'a> {
    against: &'a PastBaseline,
    past: &'a PastLoad,
    /// The load, measured now.
    load: &'a LoadView<'a>,
    /// The subject, measured now.
    now: &'a SubjectView<'a>,
}

/// The logarithms of both sides' throughputs.
struct Logs {
    now: Vec<f64>,
    then: Vec<f64>,
}

impl Logs {
    fn sides(&self) -> TwoSamples<'_> {
        TwoSamples {
            now: &self.now,
            then: &self.then,
        }
    }
}

/// Every load with every subject; none without an older record.
fn pairs<'a>(study: &'a StudyView<'a>) -> impl Iterator<Item = UnpairedSubject<'a>> {
    let loads = study.loads.iter().filter_map(|load| {
        let against = study.study.past_baseline.as_ref()?;
        let mut loads = against.loads.iter();
        let past = loads.find(|past| past.load == load.load.name)?;
        Some((load, against, past))
    });
    loads.flat_map(move |(load, against, past)| {
        let subjects = load.subjects.iter();
        subjects.map(move |now| UnpairedSubject {
            against,
            past,
            load,
            now,
        })
    })
}

impl UnpairedSubject<'_> {
    fn margin(&self) -> Margin {
        Margin::new(self.now.study.settings.margin).unwrap_or(Margin::DEFAULT)
    }

    fn logs(&self) -> Logs {
        let now = self.now.block_throughputs();
        let logs = |rates: &[f64]| rates.iter().map(|rate| rate.ln()).collect();
        Logs {
            now: logs(&now),
            then: logs(&self.past.throughputs_per_s),
        }
    }

    fn compare(&self, all: &[Finding]) -> Limited<Unpaired> {
        let logs = self.logs();
        let welch = Welch::of(logs.sides());
        let ratio = welch.ok().map(|one| one.interval(COMPUTED).center.exp());
        let findings = self.findings(all, &logs.now, ratio);
        let is_void = findings.iter().any(|one| one.level == Level::Void);
        let is_limiting =
            |one: &Finding| one.level == Level::Bound && one.id != FindingId::Unpaired;
        let empty = Unpaired {
            metric: Metric::Throughput,
            load: self.now.load.name.clone(),
            subject: self.now.subject.to_owned(),
            baseline: self.against.subject.name.clone(),
            ratio: None,
            low: None,
            high: None,
            confidence: Confidence::PRINTED.share(),
            blocks: logs.now.len(),
            blocks_then: logs.then.len(),
            degrees: None,
            verdict: Verdict::Invalid,
            at_least: findings.iter().any(is_limiting),
            blocks_more: None,
            findings: Vec::new(),
        };
        let of = match is_void {
            true => empty,
            false => self.fill(empty, &logs, welch),
        };
        Limited { of, findings }
    }

    fn fill(&self, empty: Unpaired, logs: &Logs, welch: Result<Welch, StatsError>) -> Unpaired {
        let Ok(welch) = welch else {
            return Unpaired {
                verdict: Verdict::Inconclusive,
                blocks_more: Some(BLOCKS_FOR_VERDICT.saturating_sub(empty.blocks) as u32),
                ..empty
            };
        };
        let interval = welch.interval(COMPUTED);
        let is_enough = empty.blocks.min(empty.blocks_then) >= BLOCKS_FOR_VERDICT;
        let verdict = match judge_interval(&interval, self.margin()) {
            _ if !is_enough => Verdict::Inconclusive,
            // The truth may lie further out, so nothing bounds it from that side.
            Verdict::Equivalent if empty.at_least => Verdict::Inconclusive,
            verdict => verdict,
        };
        let more = welch::blocks_more(logs.sides(), self.margin());
        let ratios = interval.ratios(Confidence::PRINTED.share());
        let is_finite = ratios.low > 0.0 && ratios.high.is_finite();
        let known = |value: f64| is_finite.then_some(value);
        Unpaired {
            ratio: known(ratios.ratio),
            low: known(ratios.low),
            high: known(ratios.high),
            degrees: Some(welch.degrees()),
            verdict,
            blocks_more: more
                .unwrap_or_default()
                .filter(|_| verdict == Verdict::Inconclusive),
            ..empty
        }
    }

    /// All that limits this comparison, of `all` that limits the study and beside.
    fn findings(&self, all: &[Finding], logs_now: &[f64], ratio: Option<f64>) -> Vec<Finding> {
        let (name, load) = (self.now.subject, &self.now.load.name);
        let mut found = limiting(all, load, name);
        let mut one_sided = one_sided("now", &found);
        one_sided.extend(self::one_sided("then", &self.past.findings));
        let bounds = self.past.findings.iter().filter(|one| !is_one_sided(one));
        found.extend(bounds.map(|one| Finding {
            message: format!("then: {}", one.message),
            subject: None,
            load: Some(load.clone()),
            ..one.clone()
        }));
        let own = [
            self.no_answers(logs_now),
            self.generator_bound(ratio),
            self.held_by_rate(ratio),
            self.answers_differ(),
            Some(self.unpaired()),
        ];
        let own = own.into_iter().flatten().chain(one_sided);
        found.extend(own.map(|one| one.about(name).under(load)));
        found
    }

    fn no_answers(&self, logs_now: &[f64]) -> Option<Finding> {
        let silent = logs_now.iter().filter(|log| !log.is_finite()).count();
        (silent > 0).then(|| {
            let message = format!(
                "{} gave no verified answer in {silent} of {} blocks",
                self.now.subject,
                logs_now.len()
            );
            let remedy = "look at the outcomes in the record, and try it alone with `abx run`";
            Finding::new(FindingId::NoAnswers, message).with_remedy(remedy)
        })
    }

    /// What the generator's limit means, on either side, given the ratio.
    fn generator_bound(&self, ratio: Option<f64>) -> Option<Finding> {
        let now = Bottleneck::of(self.load).is_generator_bound(self.now.subject);
        let sides = [("now", now), ("then", self.past.is_generator_bound)];
        let [faster, slower] = if ratio? >= 1.0 {
            sides
        } else {
            [sides[1], sides[0]]
        };
        let (level, message) = match (faster, slower) {
            ((_, false), (_, false)) => return None,
            ((when, true), (_, false)) => (
                Level::Bound,
                format!(
                    "the generator was the limit {when}, for the faster side, which could have \
                     answered more"
                ),
            ),
            ((_, true), (_, true)) => (
                Level::Void,
                "the generator was the limit now and then: both throughputs are the generator's"
                    .to_owned(),
            ),
            ((_, false), (when, true)) => (
                Level::Void,
                format!(
                    "the generator was the limit {when}, for the slower side, which may be the \
                     faster one"
                ),
            ),
        };
        let remedy = "measure both sides now, with a thread more (`-t`) on a processor of its own";
        let finding = Finding::new(FindingId::GeneratorBound, message).at(level);
        Some(finding.with_remedy(remedy))
    }

    /// In an open loop: that both sides answered all that was offered.
    fn both_kept_up(&self) -> Option<Finding> {
        let [planned, _] = self.kept_up();
        self.past.kept_up_with.zip(planned)?;
        let message = format!(
            "{} kept up with what it was offered, as {} did then: throughput tells nothing about \
             them here",
            self.now.subject, self.against.subject.name
        );
        let remedy = "find the most that each can serve with a closed loop";
        let finding = Finding::new(FindingId::BothKeptUp, message).with_remedy(remedy);
        Some(finding.about(self.now.subject).under(&self.now.load.name))
    }

    /// In an open loop: that the faster side answered all that was offered.
    fn held_by_rate(&self, ratio: Option<f64>) -> Option<Finding> {
        let [now, then] = self.kept_up();
        let (when, planned) = if ratio? >= 1.0 {
            ("now", now)
        } else {
            ("then", then)
        };
        let message = format!(
            "the faster side ({when}) kept up with what it was offered ({} requests): it may be \
             able to answer more",
            planned?
        );
        let remedy = "find the most that each can serve with a closed loop";
        Some(Finding::new(FindingId::HeldByRate, message).with_remedy(remedy))
    }

    /// What was due now and then, where all of it was answered.
    fn kept_up(&self) -> [Option<u64>; 2] {
        let now = kept_up(self.now).map(|offered| offered.planned);
        [now, self.past.kept_up_with]
    }

    fn answers_differ(&self) -> Option<Finding> {
        let answers = self.now.load.answers.get(self.now.subject)?;
        let mut pairs = answers.iter().zip(&self.past.answers);
        let (now, then) = pairs.find(|(now, then)| {
            let hashes = now.sha256.as_ref().zip(then.sha256.as_ref());
            hashes.is_some_and(|(now, then)| now != then)
        })?;
        let message = format!(
            "the two sides answer with different bodies (then {} bytes, now {} bytes): the ratio \
             holds that difference too",
            then.body_bytes, now.body_bytes
        );
        let remedy = "let both answer the same bytes";
        Some(Finding::new(FindingId::UnequalResponses, message).with_remedy(remedy))
    }

    /// What every such comparison must say.
    fn unpaired(&self) -> Finding {
        let ms = self.now.study.started_unix_ms;
        let apart = apart(ms.abs_diff(self.against.started_unix_ms));
        let message = format!(
            "{} was measured {apart} after {}, not side by side: whatever changed on the machine \
             in between is in the ratio and not in its interval, so this is weaker evidence",
            self.now.subject, self.against.subject.name
        );
        Finding::new(FindingId::Unpaired, message)
    }
}

/// What the machine did to one side alone.
fn one_sided(when: &str, findings: &[Finding]) -> Vec<Finding> {
    let found = findings.iter().filter(|one| is_one_sided(one));
    found
        .map(|one| {
            let message = format!("{} {when}, which hit this side alone", one.message);
            Finding::new(FindingId::DisturbedAlone, message)
        })
        .collect()
}

/// A span as people say it.
fn apart(ms: u64) -> String {
    let minutes = ms / 60_000;
    let (number, noun) = match minutes {
        0 => return "less than a minute".to_owned(),
        1..120 => (minutes, "minute"),
        120..2_880 => (minutes / 60, "hour"),
        _ => (minutes / 1_440, "day"),
    };
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

const COMPUTED: Confidence = Confidence::COMPUTED;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_the_unit_that_people_use() {
        // Method: both sides of each border.
        const MINUTE: u64 = 60_000;
        let table = [
            (MINUTE - 1, "less than a minute"),
            (MINUTE, "1 minute"),
            (119 * MINUTE, "119 minutes"),
            (120 * MINUTE, "2 hours"),
            (47 * 60 * MINUTE, "47 hours"),
            (49 * 60 * MINUTE, "2 days"),
        ];
        for (span, text) in table {
            assert_eq!(apart(span), text);
        }
    }
}
