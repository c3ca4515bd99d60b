//! From the blocks of both sides to a ratio, an interval and a verdict.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::claims::{Claim, Sides, claims, decide_together};
use super::limiting::{is_one_sided, limiting};
use super::reference::{Reference, SessionReference, reference};
use crate::findings::bottleneck::Bottleneck;
use crate::findings::open_loop::kept_up::kept_up;
use crate::findings::rule::new_finding;
use crate::findings::validity::{Limited, Validity};
use crate::judge::comparison::Bounds;
use crate::judge::metric::Metric;
use crate::judge::verdict::Verdict;
use crate::view::{OfferView, StudyView, SubjectView};
use abx_evidence::record::{Measured, PastBaseline, PastMeasurement};
use abx_evidence::{Finding, FindingId, Level};
use abx_stats::stop::{BLOCKS_ORDERED, Decision};
use abx_stats::student::Confidence;
use abx_stats::welch::Welch;
use abx_stats::{Margin, StatsError};

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
    /// How often such intervals hold the truth, as a share, if what was measured beside both
    /// sides felt the machine as they did; without that, if the machine is the same.
    pub confidence: f64,
    /// How many blocks it rests on now.
    pub blocks: usize,
    /// How many it rests on then.
    pub blocks_then: usize,
    /// What was measured beside both sides and is in the ratio; `None` when nothing was, and
    /// then nothing is claimed.
    #[serde(default)]
    pub reference: Option<SessionReference>,
    /// Degrees of freedom by Welch and Satterthwaite; `None` without an interval.
    pub degrees: Option<f64>,
    /// With how many comparisons it was judged together, itself among them; 0 when nothing
    /// is claimed.
    #[serde(default)]
    pub together: usize,
    /// How often blocks without any difference would look at least so different, adjusted
    /// for those judged together; `None` when nothing is claimed.
    #[serde(default)]
    pub p_adjusted: Option<f64>,
    /// What it means.
    pub verdict: Verdict,
    /// Whether the true ratio may lie further from 1 than measured, as the
    /// faster side was held back.
    pub at_least: bool,
    /// Whether another honest way of reading the same blocks gives another verdict.
    #[serde(default)]
    pub fragile: bool,
    /// The Hodges-Lehmann ratio and its interval.
    #[serde(default)]
    pub hodges_lehmann: Option<Bounds>,
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
    pub(crate) fn of(study: &StudyView, findings: &[Finding]) -> BesidePast {
        let mut beside = BesidePast::default();
        for load in &study.loads {
            let (kept, pairs): (Vec<_>, Vec<_>) = pairs(study, load)
                .into_iter()
                .map(|pair| (pair.both_kept_up(), pair))
                .partition(|(finding, _)| finding.is_some());
            beside
                .findings
                .extend(kept.into_iter().filter_map(|(finding, _)| finding));
            let pairs: Vec<UnpairedSubject> = pairs.into_iter().map(|(_, pair)| pair).collect();
            let compared = compare(&pairs, findings);
            let of_pairs = compared
                .iter()
                .flat_map(|limited| limited.findings.iter().cloned());
            beside.findings.extend(of_pairs);
            beside.comparisons.extend(compared);
        }
        beside
    }

    /// The comparisons with their findings by number.
    pub(crate) fn numbered(self, validity: &Validity) -> Vec<Unpaired> {
        let each = self.comparisons.into_iter().map(|limited| Unpaired {
            findings: validity.numbers(limited.findings).0,
            ..limited.of
        });
        each.collect()
    }
}

/// Whether the blocks so far settle every comparison with the older record;
/// `None` when there is no older record.
pub(crate) fn may_stop(study: &StudyView) -> Option<Decision> {
    study.study.past_baseline.as_ref()?;
    let loads = study.loads.iter().map(|load| {
        let pairs = pairs(study, load).into_iter();
        let compared: Vec<Sides> = pairs
            .filter(|pair| pair.both_kept_up().is_none())
            .map(|pair| pair.sides())
            .collect();
        let sides: Vec<&Sides> = compared.iter().collect();
        (!sides.is_empty()).then(|| decide_together(&sides, margin(study.study)))
    });
    Some(Decision::of_parts(loads.flatten()))
}

fn margin(study: &Measured) -> Margin {
    Margin::new(study.settings.margin).unwrap_or(Margin::DEFAULT)
}

/// One subject measured now, under one load, with the other side.
struct UnpairedSubject<'a> {
    against: &'a PastBaseline,
    past: &'a PastMeasurement,
    load: &'a OfferView<'a>,
    now: &'a SubjectView<'a>,
    /// What was measured beside both.
    reference: Option<Reference>,
}

/// Every subject of a load; none without an older record.
fn pairs<'a>(study: &'a StudyView<'a>, load: &'a OfferView<'a>) -> Vec<UnpairedSubject<'a>> {
    let Some(against) = &study.study.past_baseline else {
        return Vec::new();
    };
    let mut loads = against.loads.iter();
    let Some(past) = loads.find(|past| past.load == load.load.name) else {
        return Vec::new();
    };
    let each = load.subjects.iter().map(|now| UnpairedSubject {
        against,
        past,
        load,
        now,
        reference: reference(against, past, load, now),
    });
    each.collect()
}

/// Compares all subjects of one load with the other side, together.
fn compare(pairs: &[UnpairedSubject], findings: &[Finding]) -> Vec<Limited<Unpaired>> {
    let drafts: Vec<(Sides, Limited<Unpaired>)> =
        pairs.iter().map(|pair| pair.draft(findings)).collect();
    let is_valid = |limited: &Limited<Unpaired>| limited.of.verdict != Verdict::Invalid;
    // What is void claims nothing, and makes nothing harder for the others.
    let sides: Vec<&Sides> = drafts
        .iter()
        .filter(|(_, limited)| is_valid(limited))
        .map(|(sides, _)| sides)
        .collect();
    let margin = pairs
        .first()
        .map_or(Margin::DEFAULT, |pair| margin(pair.now.study));
    let mut claims = claims(&sides, margin).into_iter();
    let finished = drafts.into_iter().map(|(_, draft)| {
        if is_valid(&draft) {
            let claim = claims.next().expect("one for each that is valid");
            Limited {
                of: fill(draft.of, claim),
                ..draft
            }
        } else {
            draft
        }
    });
    finished.collect()
}

/// The comparison with what its blocks claim.
fn fill(empty: Unpaired, claim: Result<Claim, StatsError>) -> Unpaired {
    let Ok(claim) = claim else {
        return Unpaired {
            blocks_more: Some(BLOCKS_ORDERED.saturating_sub(empty.blocks) as u32),
            ..empty
        };
    };
    let verdict = match claim.verdict {
        // The truth may lie further out, so nothing bounds it from that side.
        Verdict::Equivalent if empty.at_least => Verdict::Inconclusive,
        verdict => verdict,
    };
    let ratios = claim.welch.interval(COMPUTED);
    let ratios = ratios.ratios(Confidence::PRINTED.share());
    let is_finite = ratios.low > 0.0 && ratios.high.is_finite();
    let known = |value: f64| is_finite.then_some(value);
    let second = claim
        .second
        .map(|rank_interval| rank_interval.interval.ratios(rank_interval.coverage));
    Unpaired {
        ratio: known(ratios.ratio),
        low: known(ratios.low),
        high: known(ratios.high),
        degrees: Some(claim.welch.degrees()),
        together: claim.together,
        p_adjusted: claim.p_adjusted,
        verdict,
        fragile: claim.is_fragile,
        hodges_lehmann: second
            .filter(|ratio_interval| ratio_interval.low > 0.0 && ratio_interval.high.is_finite())
            .map(Bounds::from),
        blocks_more: claim.blocks_more,
        ..empty
    }
}

impl UnpairedSubject<'_> {
    /// The logarithms of both sides, over what was measured beside them.
    fn sides(&self) -> Sides {
        let now = self.now.block_throughputs();
        let over = |rates: &[f64], beside: Option<&Vec<f64>>| -> Vec<f64> {
            let beside = beside.into_iter().flatten().copied();
            let beside = beside.chain(std::iter::repeat(0.0));
            rates
                .iter()
                .zip(beside)
                .map(|(rate, value)| rate.ln() - value)
                .collect()
        };
        let reference = self.reference.as_ref();
        Sides {
            now: over(&now, reference.map(|reference| &reference.now)),
            then: over(
                &self.past.throughputs_per_s,
                reference.map(|reference| &reference.then),
            ),
            between: reference.map(|reference| reference.of.error),
        }
    }

    /// The comparison without what its blocks claim.
    fn draft(&self, all_findings: &[Finding]) -> (Sides, Limited<Unpaired>) {
        let sides = self.sides();
        let ratio = Welch::of(sides.samples()).ok();
        let ratio = ratio.map(|welch| welch.interval(COMPUTED).center.exp());
        let findings = self.findings(all_findings, &sides.now, ratio);
        let is_void = findings.iter().any(|finding| finding.level == Level::Void);
        let is_limiting =
            |finding: &Finding| finding.level == Level::Bound && finding.id != FindingId::Unpaired;
        let of = Unpaired {
            metric: Metric::Throughput,
            load: self.now.load.name.clone(),
            subject: self.now.subject.to_owned(),
            baseline: self.against.subject.name.clone(),
            ratio: None,
            low: None,
            high: None,
            confidence: Confidence::PRINTED.share(),
            blocks: sides.now.len(),
            blocks_then: sides.then.len(),
            reference: self
                .reference
                .as_ref()
                .map(|reference| reference.of.clone()),
            degrees: None,
            together: 0,
            p_adjusted: None,
            verdict: if is_void {
                Verdict::Invalid
            } else {
                Verdict::Inconclusive
            },
            at_least: findings.iter().any(is_limiting),
            fragile: false,
            hodges_lehmann: None,
            blocks_more: None,
            findings: Vec::new(),
        };
        (sides, Limited { of, findings })
    }

    /// All that limits this comparison, of `all` that limits the study and beside.
    fn findings(&self, findings: &[Finding], logs_now: &[f64], ratio: Option<f64>) -> Vec<Finding> {
        let (name, load) = (self.now.subject, &self.now.load.name);
        let mut found_findings = limiting(findings, load, name);
        let mut one_sided = Vec::new();
        // What was measured beside the sides met the same, so the ratio does not hold it.
        if self.reference.is_none() {
            one_sided.extend(self::one_sided("now", &found_findings));
            one_sided.extend(self::one_sided("then", &self.past.findings));
        }
        let bounds = self
            .past
            .findings
            .iter()
            .filter(|finding| !is_one_sided(finding));
        found_findings.extend(bounds.map(|finding| Finding {
            message: format!("then: {}", finding.message),
            subject: None,
            load: Some(load.clone()),
            ..finding.clone()
        }));
        let findings = [
            self.no_responses(logs_now),
            self.generator_bound(ratio),
            self.held_by_rate(ratio),
            self.responses_differ(),
            Some(self.unpaired()),
        ];
        let mine = findings.into_iter().flatten().chain(one_sided);
        found_findings.extend(mine.map(|finding| finding.about(name).under(load)));
        found_findings
    }

    fn no_responses(&self, logs_now: &[f64]) -> Option<Finding> {
        let silent = logs_now.iter().filter(|log| !log.is_finite()).count();
        (silent > 0).then(|| {
            let message = format!(
                "{} gave no verified answer in {silent} of {} blocks",
                self.now.subject,
                logs_now.len()
            );
            let remedy = "look at the outcomes in the record, and try it alone with `abx run`";
            new_finding(FindingId::NoResponses, message).with_remedy(remedy)
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
        let finding = new_finding(FindingId::GeneratorBound, message).at(level);
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
        let finding = new_finding(FindingId::BothKeptUp, message).with_remedy(remedy);
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
        Some(new_finding(FindingId::HeldByRate, message).with_remedy(remedy))
    }

    /// What was due now and then, where all of it was answered.
    fn kept_up(&self) -> [Option<u64>; 2] {
        let now = kept_up(self.now).map(|offered| offered.planned);
        [now, self.past.kept_up_with]
    }

    fn responses_differ(&self) -> Option<Finding> {
        let responses = self.now.load.responses.get(self.now.subject)?;
        let mut pairs = responses.iter().zip(&self.past.responses);
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
        Some(new_finding(FindingId::UnequalResponses, message).with_remedy(remedy))
    }

    /// What every such comparison must say.
    fn unpaired(&self) -> Finding {
        let ms = self.now.study.started_unix_ms;
        let apart = apart(ms.abs_diff(self.against.started_unix_ms));
        let (now, then) = (self.now.subject, &self.against.subject.name);
        let apart = format!("{now} was measured {apart} after {then}, not side by side");
        let Some(reference) = &self.reference else {
            let message = format!(
                "{apart}, and no common reference was measured with both: a change of the machine in \
                 between is in the ratio and not in its interval, so there is no verdict"
            );
            let remedy = match self.now.offered() {
                Some(_) => NO_REFERENCE_AT_A_RATE,
                None => NO_REFERENCE,
            };
            return new_finding(FindingId::Unpaired, message).with_remedy(remedy);
        };
        let SessionReference {
            subject,
            moved,
            error,
        } = &reference.of;
        let (beside, what) = match subject {
            Some(name) => (name.as_str(), "which ran in both studies"),
            None => (
                "the server that does nothing",
                "which was measured beside both",
            ),
        };
        let message = format!(
            "{apart}: each is read over {beside}, {what} and gave {moved:.3} times as much now; \
             that {now} may have felt that change otherwise is in the interval, as a standard \
             error of {:.1} %. A change that {beside} did not feel is in the ratio and not in its \
             interval",
            100.0 * error
        );
        new_finding(FindingId::Unpaired, message).at(Level::Note)
    }
}

/// The same where requests come at a rate.
const NO_REFERENCE_AT_A_RATE: &str = "measure both in one study; or compare under a closed loop, \
    since a server that answers all it is asked for tells nothing about the machine";

/// What to do where no claim can be made.
const NO_REFERENCE: &str = "measure both in one study, where the older one can still be run; else \
    keep the ceiling on in both (no `--no-ceiling`), or have one more server run in both";

/// What the machine did to one side alone.
fn one_sided(when: &str, findings: &[Finding]) -> Vec<Finding> {
    let result = findings.iter().filter(|finding| is_one_sided(finding));
    result
        .map(|finding| {
            let message = format!("{} {when}, which hit this side alone", finding.message);
            new_finding(FindingId::DisturbedAlone, message)
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

    fn empty() -> Unpaired {
        Unpaired {
            metric: Metric::Throughput,
            load: String::new(),
            subject: String::new(),
            baseline: String::new(),
            ratio: None,
            low: None,
            high: None,
            confidence: 0.95,
            blocks: 6,
            blocks_then: 6,
            reference: None,
            degrees: None,
            together: 0,
            p_adjusted: None,
            verdict: Verdict::Inconclusive,
            at_least: false,
            fragile: false,
            hodges_lehmann: None,
            blocks_more: None,
            findings: Vec::new(),
        }
    }

    #[test]
    fn an_interval_without_an_end_is_not_told() {
        // Method: logarithms around so many: e^±640 is a number, e^±760 is 0 or none.
        let filled = |around: f64| {
            let sides = Sides {
                now: [around - 60.0, around + 60.0].repeat(3),
                then: vec![0.0; 6],
                between: Some(0.0),
            };
            let unpaired = fill(empty(), claims(&[&sides], Margin::DEFAULT).remove(0));
            let ranks = unpaired.hodges_lehmann.is_some();
            (
                [unpaired.ratio, unpaired.low, unpaired.high].map(|value| value.is_some()),
                ranks,
            )
        };
        assert_eq!(filled(0.0), ([true; 3], true));
        assert_eq!(filled(-700.0), ([false; 3], false));
        assert_eq!(filled(700.0), ([false; 3], false));
    }
}
