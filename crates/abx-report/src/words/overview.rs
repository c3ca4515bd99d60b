//! The sentences that matter of a study that compares much.

use std::cmp::Ordering;

use abx_evidence::{Comparison, Metric, Ranking, StudyRecord, Verdict};

use super::metrics::metric_under;
use super::units::plural;
use super::verdict::{name, word};

/// How many verdicts there are of each kind.
pub(crate) fn counts(record: &StudyRecord) -> String {
    let all: Vec<&Comparison> = record.conclusions.primary().collect();
    let kind = |one: &Comparison| match one.verdict {
        Verdict::Faster | Verdict::Less => "better",
        Verdict::Slower | Verdict::More => "worse",
        Verdict::Inconclusive if one.too_few_blocks => "with too few blocks",
        verdict => word(verdict),
    };
    let kinds = [
        "better",
        "worse",
        word(Verdict::Equivalent),
        word(Verdict::Inconclusive),
        "with too few blocks",
        word(Verdict::Invalid),
    ];
    let count = |word: &str| all.iter().filter(|one| kind(one) == word).count();
    let kinds = kinds.map(|word| (count(word), word));
    let there = kinds.iter().filter(|(count, _)| *count > 0);
    let each: Vec<String> = there
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    format!(
        "{} of {} under {}: {}.",
        plural(all.len() as u64, "comparison"),
        plural(record.measured.subjects.len() as u64, "subject"),
        plural(record.measured.loads.len() as u64, "load"),
        each.join(", ")
    )
}

/// What those comparisons lack that have fewer blocks than a verdict needs; `None` without any.
pub(crate) fn lacking(record: &StudyRecord) -> Option<String> {
    let mut primary = record.conclusions.primary();
    let one = primary.find(|one| one.too_few_blocks)?;
    let lacking = super::verdict::lacking(record, one);
    Some(format!("Too few blocks: {lacking}."))
}

/// The largest difference that is settled, and the largest one the other way.
pub(crate) fn largest(record: &StudyRecord) -> Vec<&Comparison> {
    let settled = || {
        let primary = record.conclusions.primary();
        primary.filter(|one| one.verdict.is_directed() && one.ratio.is_some())
    };
    let size = |one: &Comparison| one.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    let by_size =
        |one: &&Comparison, other: &&Comparison| -> Ordering { size(one).total_cmp(&size(other)) };
    let Some(first) = settled().max_by(by_size) else {
        return Vec::new();
    };
    let is_good = |one: &Comparison| matches!(one.verdict, Verdict::Faster | Verdict::Less);
    let other = settled().filter(|one| is_good(one) != is_good(first));
    [Some(first), other.max_by(by_size)]
        .into_iter()
        .flatten()
        .collect()
}

/// Who is first by what under which loads, and where nobody is.
pub(crate) fn leaders(record: &StudyRecord) -> Vec<String> {
    let mut groups: Vec<Leaders> = Vec::new();
    for ranking in &record.conclusions.rankings {
        let first = tied(ranking);
        let is_certain = first.len() <= LEADERS_MAX && first.len() < ranking.places.len();
        let names = if is_certain { first } else { Vec::new() };
        let by = by(record, ranking);
        let load = name(&ranking.load);
        let Some(group) = groups.iter_mut().find(|group| group.names == names) else {
            let under = vec![(by, vec![load])];
            groups.push(Leaders { names, under });
            continue;
        };
        match group.under.iter_mut().find(|(metric, _)| *metric == by) {
            Some((_, loads)) => loads.push(load),
            None => group.under.push((by, vec![load])),
        }
    }
    groups.sort_by_key(|group| group.names.is_empty());
    groups.iter().map(Leaders::line).collect()
}

/// Those who are first, nobody where none is certain; and by what under which loads.
struct Leaders<'a> {
    names: Vec<&'a str>,
    under: Vec<(String, Vec<String>)>,
}

impl Leaders<'_> {
    fn line(&self) -> String {
        let names: Vec<String> = self.names.iter().map(|one| name(one)).collect();
        let leads = match names.as_slice() {
            [] => "No leader is certain".to_owned(),
            [only] => format!("{only} leads"),
            several => format!("Tied for first: {}", several.join(", ")),
        };
        let each = self.under.iter();
        let each = each.map(|(by, loads)| format!("{by}under {}", loads.join(", ")));
        format!("{leads} {}.", each.collect::<Vec<_>>().join("; "))
    }
}

/// What a ranking is by, where that is not how much is served.
fn by(record: &StudyRecord, ranking: &Ranking) -> String {
    match ranking.metric {
        Metric::Throughput => String::new(),
        metric => format!("by {} ", metric_under(record, &ranking.load, metric)),
    }
}

/// Those of a ranking who are not certainly behind the best, by name.
fn tied(ranking: &Ranking) -> Vec<&str> {
    let first = ranking.places.iter().filter(|place| place.tied_for_first);
    let mut names: Vec<&str> = first.map(|place| place.subject.as_str()).collect();
    names.sort_unstable();
    names
}

/// Where more are tied for first, nobody leads.
const LEADERS_MAX: usize = 3;
