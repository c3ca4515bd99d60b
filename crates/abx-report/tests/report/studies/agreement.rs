//! All outputs of a record agree: each printed verdict is read back and compared with its
//! comparison.

mod printed;
mod text_table;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use abx_verdict::{Comparison, Ranking, Sense, StudyRecord, Verdict};

use self::printed::{Printed, PrintedRanking};
use crate::readmes::{read_json, records};

/// The mark of a comparison, and the word that ends its sentence.
fn expected(comparison: &Comparison) -> (&'static str, &'static str) {
    match comparison.verdict {
        Verdict::Faster => ("▲", "faster"),
        Verdict::Less => ("▲", "less"),
        Verdict::Slower => ("▼", "slower"),
        Verdict::More => ("▼", "more"),
        Verdict::Equivalent => ("=", "same"),
        Verdict::Inconclusive => ("?", "undecided"),
        Verdict::Invalid => ("–", "no result"),
    }
}

/// Every contradiction between the outputs and the comparisons, in words.
fn contradictions(record: &StudyRecord, printed: &Printed) -> Vec<String> {
    let mut wrong = Vec::new();
    let comparisons = &record.conclusions.comparisons;
    let verdicts = printed.verdicts(record);
    for verdict in &verdicts {
        let comparison = &comparisons[verdict.index];
        let (mark, word) = expected(comparison);
        let is_expected = verdict.mark.as_ref().is_none_or(|text| text == mark)
            && verdict.word.as_ref().is_none_or(|text| text == word);
        if !is_expected {
            let (subject, baseline) = (&comparison.subject, &comparison.baseline);
            wrong.push(format!(
                "{subject} and {baseline}: {verdict:?}, expected {mark} {word}"
            ));
        }
    }
    for (index, comparison) in comparisons.iter().enumerate() {
        let is_primary = record
            .conclusions
            .primary()
            .any(|other| std::ptr::eq(other, comparison));
        let places: BTreeSet<&str> = verdicts
            .iter()
            .filter(|verdict| verdict.index == index)
            .map(|verdict| verdict.place)
            .collect();
        if is_primary && places.len() < printed.places_min() {
            let (subject, baseline) = (&comparison.subject, &comparison.baseline);
            wrong.push(format!(
                "{subject} and {baseline} under {} are only in {places:?}",
                comparison.load
            ));
        }
        if !is_consistent(comparison) {
            wrong.push(format!("{comparison:?}"));
        }
    }
    wrong.extend(printed.bounds_with_intervals());
    wrong.extend(wrong_rankings(record, printed));
    wrong
}

/// Whether the ratio lies on the side of 1 that the verdict names.
fn is_consistent(comparison: &Comparison) -> bool {
    let Some(ratio) = comparison
        .ratio
        .filter(|_| comparison.verdict.is_directed())
    else {
        return true;
    };
    let (mark, _) = expected(comparison);
    match comparison.metric.sense() {
        Sense::Speed => (mark == "▲") == (ratio > 1.0),
        Sense::Time | Sense::Cost => (mark == "▲") == (ratio < 1.0),
    }
}

/// Contradictions of printed rankings with the record's rankings and comparisons.
fn wrong_rankings(record: &StudyRecord, printed: &Printed) -> Vec<String> {
    let mut wrong = Vec::new();
    // Outputs leave out rankings in which most subjects share the first place.
    let has_order = |ranking: &&Ranking| {
        let first = ranking.places.iter().filter(|place| place.tied_for_first);
        let (first, places) = (first.count(), ranking.places.len());
        first < places && first <= 3.max(places / 2)
    };
    let rankings: Vec<&Ranking> = record
        .conclusions
        .rankings
        .iter()
        .filter(has_order)
        .collect();
    for (output, printed_rankings) in printed.rankings(record) {
        if printed_rankings.len() != rankings.len() {
            wrong.push(format!(
                "{output} has {} of {} rankings",
                printed_rankings.len(),
                rankings.len()
            ));
        }
        for (ranking, printed_ranking) in rankings.iter().zip(&printed_rankings) {
            for mistake in ranking_mistakes(record, ranking, printed_ranking) {
                wrong.push(format!("{output}, under {}: {mistake}", ranking.load));
            }
        }
    }
    wrong
}

/// Contradictions of one printed ranking.
fn ranking_mistakes(
    record: &StudyRecord,
    ranking: &Ranking,
    printed: &PrintedRanking,
) -> Vec<String> {
    let mut mistakes = Vec::new();
    let ranks = |name: &str| {
        let mut subjects = printed.ranks.iter();
        let (_, best, worst) = subjects.find(|(subject, ..)| subject == name)?;
        Some([*best, *worst])
    };
    for place in &ranking.places {
        let expected = [place.best, place.worst];
        if ranks(&place.subject) != Some(expected) {
            mistakes.push(format!("{} lacks the ranks {expected:?}", place.subject));
        }
    }
    for (name, best, _) in &printed.ranks {
        if (*best == 1) != printed.first.contains(name) {
            let first = &printed.first;
            mistakes.push(format!("{name} has rank {best}; first: {first:?}"));
        }
    }
    let directed = record.conclusions.primary().filter(|comparison| {
        (&comparison.load, comparison.metric) == (&ranking.load, ranking.metric)
            && comparison.verdict.is_directed()
    });
    for comparison in directed {
        let mut pair = [&comparison.subject, &comparison.baseline];
        if expected(comparison).0 != "▲" {
            pair.reverse();
        }
        let [better, worse] = pair;
        let (Some(better_ranks), Some(worse_ranks)) = (ranks(better), ranks(worse)) else {
            continue;
        };
        if better_ranks[0] >= worse_ranks[0] || better_ranks[1] >= worse_ranks[1] {
            mistakes.push(format!("{pair:?}: {better_ranks:?}, {worse_ranks:?}"));
        }
    }
    mistakes
}

/// The records of the catalog, and the golden records of studies.
pub fn all_records() -> impl Iterator<Item = (String, &'static StudyRecord)> {
    static GOLDEN: LazyLock<Vec<(String, StudyRecord)>> = LazyLock::new(golden_records);
    let golden = GOLDEN.iter();
    let golden = golden.map(|(name, record)| (name.clone(), record));
    golden.chain(records().map(|(folder, record)| (folder.display().to_string(), record)))
}

fn golden_records() -> Vec<(String, StudyRecord)> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../abx/tests/golden/records");
    fs::read_dir(golden)
        .expect("the folder of golden records")
        .map(|entry| entry.expect("a golden record").path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("study-")
        })
        .map(|path| {
            let json = fs::read(&path).expect("a golden record");
            (path.display().to_string(), read_json(&json))
        })
        .collect()
}

#[test]
fn all_outputs_of_a_record_agree_about_every_pair() {
    // Method: for each saved record, the test reads back the grid, sentences and rankings of the
    // terminal, the tables and sentences of Markdown, and the matrix, cards, rows and rankings of
    // the page, and compares them with the comparisons.
    let mut verdicts = 0;
    for (name, record) in all_records() {
        let printed = Printed::of(record);
        let wrong = contradictions(record, &printed);
        assert_eq!(wrong, Vec::<String>::new(), "{name}");
        verdicts += printed.verdicts(record).len();
    }
    // Readers that find nothing would agree with anything.
    assert!(verdicts > 2_000, "{verdicts}");
}

/// Replaces the first occurrence of a text, which must exist.
fn swap(text: &mut String, from: &str, to: &str) {
    assert!(text.contains(from), "{from}");
    *text = text.replacen(from, to, 1);
}

/// The outputs with one tie missing on the page.
fn without_a_tie(printed: &Printed) -> Printed {
    let mut tied = printed.clone();
    swap(&mut tied.html, "<td>tied</td>", "<td></td>");
    tied
}

#[test]
fn a_planted_contradiction_is_found_in_every_output() {
    // Method: a record with rankings, bounds and all verdicts. One change in one output at a
    // time, then one change in the conclusions.
    let mut record = crate::readmes::record_of("app-server");
    record.conclusions.comparisons[0].at_least = true;
    // Without questions, reports have sentences above the matrix.
    let contrasts = record.measured.settings.contrasts.iter_mut();
    contrasts.for_each(|contrast| contrast.question = None);
    let printed = Printed::of(&record);
    assert_eq!(contradictions(&record, &printed), Vec::<String>::new());
    type Plant<'a> = (&'a str, &'a dyn Fn(&mut Printed));
    let plants: [Plant; 9] = [
        ("matrix of the terminal", &|printed| {
            swap(&mut printed.grid, " ▲", " ▼")
        }),
        ("overview", &|printed| {
            swap(&mut printed.grid, ": faster.", ": slower.")
        }),
        ("sentences", &|printed| {
            swap(&mut printed.full, ": faster.", ": slower.")
        }),
        ("Markdown table", &|printed| {
            swap(&mut printed.markdown, "▲ **faster**", "▼ **slower**")
        }),
        ("Markdown list", &|printed| {
            swap(&mut printed.markdown, "| ▼ ", "| ▲ ")
        }),
        ("matrix", &|printed| {
            swap(
                &mut printed.html,
                "true\">▲</span><b>",
                "true\">▼</span><b>",
            )
        }),
        ("cards", &|printed| {
            swap(
                &mut printed.html,
                "true\">▲</span><div>",
                "true\">?</span><div>",
            )
        }),
        ("ranking", &|printed| {
            swap(&mut printed.full, "  1-2", "  2-2")
        }),
        ("bound", &|printed| {
            printed
                .full
                .push_str("a serves at most 0.94× as many requests/s as b (0.91 to 0.97).\n")
        }),
    ];
    for (name, plant) in plants {
        let mut planted = printed.clone();
        plant(&mut planted);
        let wrong = contradictions(&record, &planted);
        assert!(!wrong.is_empty(), "{name}");
    }
    assert!(!contradictions(&record, &without_a_tie(&printed)).is_empty());
    let mut comparisons = record.conclusions.comparisons.iter_mut();
    let directed = comparisons
        .find(|comparison| comparison.verdict.is_directed())
        .unwrap();
    directed.verdict = directed.verdict.mirrored();
    assert!(contradictions(&record, &printed).len() >= printed.places_min());
}
