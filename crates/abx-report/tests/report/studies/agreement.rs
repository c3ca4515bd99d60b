//! All outputs of one record agree: each printed form of a verdict is read back, and compared
//! with the comparison that it is of.

mod printed;
mod text_table;

use std::fs;
use std::path::{Path, PathBuf};

use abx_verdict::{Comparison, Ranking, Sense, StudyRecord, Verdict};

use self::printed::{Printed, Seen};
use crate::readmes::{read_json, records};

/// The mark that a comparison has, and the word that ends its sentence.
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
    let seen = printed.verdicts(record);
    for Seen {
        place,
        number,
        mark,
        word,
    } in &seen
    {
        let (its_mark, its_word) = expected(&comparisons[*number]);
        let is_so = mark.as_ref().is_none_or(|mark| mark == its_mark)
            && word.as_ref().is_none_or(|word| word == its_word);
        if !is_so {
            let [a, b] = [
                &comparisons[*number].subject,
                &comparisons[*number].baseline,
            ];
            wrong.push(format!(
                "{place}: {a} and {b} are {mark:?} {word:?}, not {its_mark} {its_word}"
            ));
        }
    }
    for (number, comparison) in comparisons.iter().enumerate() {
        let primary = record
            .conclusions
            .primary()
            .any(|other| std::ptr::eq(other, comparison));
        let places = seen.iter().filter(|seen| seen.number == number);
        let mut places: Vec<&str> = places.map(|seen| seen.place).collect();
        places.sort_unstable();
        places.dedup();
        let forms = printed.forms();
        if primary && places.len() < forms {
            let [a, b] = [&comparison.subject, &comparison.baseline];
            wrong.push(format!(
                "{a} and {b} under {} stand in {places:?} only",
                comparison.load
            ));
        }
        if !is_consistent(comparison) {
            wrong.push(format!("{comparison:?}"));
        }
    }
    wrong.extend(printed.bounds_beyond_themselves());
    wrong.extend(wrong_rankings(record, printed));
    wrong
}

/// Whether the side of 1 on which the ratio lies is the one that the verdict names.
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

/// Where rankings contradict themselves, each other and the comparisons.
fn wrong_rankings(record: &StudyRecord, printed: &Printed) -> Vec<String> {
    let mut wrong = Vec::new();
    // One in which most share the first place is not shown.
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
    for (form, shown_rankings) in printed.rankings(record) {
        if shown_rankings.len() != rankings.len() {
            wrong.push(format!(
                "{form} has {} of {} rankings",
                shown_rankings.len(),
                rankings.len()
            ));
        }
        for (ranking, shown) in rankings.iter().zip(shown_rankings) {
            let under = format!("{form}, under {}", ranking.load);
            let ranks = |name: &str| {
                let mut places = shown.ranks.iter();
                places
                    .find(|(subject, ..)| subject == name)
                    .map(|(_, best, worst)| [*best, *worst])
            };
            for place in &ranking.places {
                let its = [place.best, place.worst];
                if ranks(&place.subject) != Some(its) {
                    wrong.push(format!(
                        "{under}: {} has not the ranks {its:?}",
                        place.subject
                    ));
                }
            }
            for (name, best, _) in &shown.ranks {
                if (*best == 1) != shown.first.contains(name) {
                    wrong.push(format!(
                        "{under}: {name} has rank {best}; first: {:?}",
                        shown.first
                    ));
                }
            }
            let asked = record.conclusions.primary();
            let asked = asked.filter(|comparison| {
                (&comparison.load, comparison.metric) == (&ranking.load, ranking.metric)
            });
            for comparison in asked.filter(|this_comparison| this_comparison.verdict.is_directed())
            {
                let is_better = expected(comparison).0 == "▲";
                let [better, worse] = if is_better {
                    [&comparison.subject, &comparison.baseline]
                } else {
                    [&comparison.baseline, &comparison.subject]
                };
                let (Some(better_ranks), Some(worse_ranks)) = (ranks(better), ranks(worse)) else {
                    continue;
                };
                if better_ranks[0] >= worse_ranks[0] || better_ranks[1] >= worse_ranks[1] {
                    wrong.push(format!(
                        "{under}: {better} {better_ranks:?}, {worse} {worse_ranks:?}"
                    ));
                }
            }
        }
    }
    wrong
}

/// The records of the catalog, and those that are kept for their reports.
pub fn all_records() -> impl Iterator<Item = (String, StudyRecord)> {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../abx/tests/golden/records");
    let kept = fs::read_dir(kept)
        .expect("a record that is kept")
        .map(|entry| entry.expect("a record that is kept").path());
    let is_study = |path: &PathBuf| {
        let name = path
            .file_name()
            .expect("a record that is kept")
            .to_string_lossy();
        name.starts_with("study-")
    };
    let kept = kept.filter(is_study);
    let kept = kept.map(|path| {
        (
            path.display().to_string(),
            read_json(&fs::read(&path).expect("a record that is kept")),
        )
    });
    let catalog = records().iter();
    let catalog = catalog.map(|(folder, record)| (folder.display().to_string(), record.clone()));
    kept.chain(catalog)
}

#[test]
fn all_outputs_of_a_record_agree_about_every_pair() {
    // Method: for each saved record, the grid, sentences and rankings of the terminal, the
    // tables and sentences of Markdown, and the matrix, cards, rows and rankings of the page
    // are read back and compared with the comparisons.
    let mut verdicts = 0;
    for (name, record) in all_records() {
        let printed = Printed::of(&record);
        let wrong = contradictions(&record, &printed);
        assert_eq!(wrong, Vec::<String>::new(), "{name}");
        verdicts += printed.verdicts(&record).len();
    }
    // Readers that find nothing would agree with anything.
    assert!(verdicts > 2_000, "{verdicts}");
}

/// Puts one text in the place of another one, which is there.
fn swap(text: &mut String, from: &str, to: &str) {
    assert!(text.contains(from), "{from}");
    *text = text.replacen(from, to, 1);
}

/// A page on which one of two that share a place does not.
fn without_a_tie(printed: &Printed) -> Printed {
    let mut tied = printed.clone();
    swap(&mut tied.html, "<td>tied</td>", "<td></td>");
    tied
}

#[test]
fn a_planted_contradiction_is_found_in_every_output() {
    // Method: in a record with rankings, bounds and all verdicts, one change in one output at a
    // time, then one in the conclusions behind them.
    let mut record = crate::readmes::record_of("app-server");
    record.conclusions.comparisons[0].at_least = true;
    // Without questions, sentences stand above the matrix.
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
    let comparisons = &mut record.conclusions.comparisons;
    let mut directed = comparisons.iter_mut();
    let directed = directed
        .find(|comparison| comparison.verdict.is_directed())
        .unwrap();
    directed.verdict = directed.verdict.mirrored();
    assert!(contradictions(&record, &printed).len() >= printed.forms());
}
