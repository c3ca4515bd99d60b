//! `abx explain`: the meaning of a name in a report, without a network.

use abx_evidence::FindingId;
use abx_lab::meant;
use abx_report::Style;
use abx_report::printing::{level_tag, wrap};
use abx_verdict::{Declared as _, Verdict};
use clap::Args;

use crate::flags::output::{OutputFlags, style, to_stdout};
use crate::ui::end::{End, Failure};

/// Explain a name in a report: a finding, an outcome, a term or a verdict.
///
/// Write the name as the report prints it. Without a name, all names are listed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx explain near_ceiling\n  \
    abx explain undecided\n  \
    abx explain response time\n  \
    abx explain\n\n\
    Exit codes: 0 done; 2 for an unknown name.")]
pub struct Explain {
    /// The name; several words need no quotes.
    #[arg(value_name = "NAME")]
    pub name: Vec<String>,
}

/// A group of names, in the order in which they are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Verdict,
    Level,
    Finding,
    Outcome,
    Term,
}

impl Kind {
    const ALL: [Kind; 5] = [
        Kind::Verdict,
        Kind::Level,
        Kind::Finding,
        Kind::Outcome,
        Kind::Term,
    ];

    fn singular(self) -> &'static str {
        match self {
            Kind::Verdict => "verdict",
            Kind::Level => "level of a finding",
            Kind::Finding => "finding",
            Kind::Outcome => "outcome of a request",
            Kind::Term => "term",
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Kind::Verdict => "Verdicts",
            Kind::Level => "Levels of findings",
            Kind::Finding => "Findings",
            Kind::Outcome => "Outcomes of requests",
            Kind::Term => "Terms",
        }
    }
}

/// One name with its meaning.
struct Entry {
    kind: Kind,
    name: String,
    /// Paragraphs.
    text: Vec<String>,
}

pub fn explain(explain: &Explain) -> Result<End, Failure> {
    let style = style(&OutputFlags {
        json: None,
        quiet: false,
        no_color: false,
    });
    let entries = entries();
    let text = match &explain.name[..] {
        [] => list(&entries, &style),
        words => {
            let name = words.join(" ");
            let matching = matching(&entries, &name);
            if matching.is_empty() {
                return Err(Failure::usage(unknown(&entries, &name)));
            }
            let texts = matching.into_iter().map(|entry| shown(entry, &style));
            texts.collect::<Vec<_>>().join("\n")
        }
    };
    to_stdout(&style.finish(&text)).map_err(Failure::no_claim)?;
    Ok(End::Done)
}

/// The entries with this name, in any case and with blanks for underscores.
fn matching<'a>(entries: &'a [Entry], name: &str) -> Vec<&'a Entry> {
    let name = plain(name);
    entries
        .iter()
        .filter(|entry| plain(&entry.name) == name)
        .collect()
}

fn plain(name: &str) -> String {
    let name = name.trim_matches(['`', '*', '"', '\'']);
    name.to_lowercase().replace([' ', '-'], "_")
}

fn unknown(entries: &[Entry], name: &str) -> String {
    let names: Vec<String> = entries.iter().map(|entry| plain(&entry.name)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    format!(
        "`{name}` is not a name in abx's reports ({}): `abx explain` lists all names",
        meant(&plain(name), &names)
    )
}

fn shown(entry: &Entry, style: &Style) -> String {
    let mut out = format!("{} ({})\n", entry.name, entry.kind.singular());
    for paragraph in &entry.text {
        out.push_str(&wrap(paragraph, "  ", "  ", style.columns()));
    }
    out
}

/// All names by group.
fn list(entries: &[Entry], style: &Style) -> String {
    let groups = Kind::ALL.map(|kind| {
        let of_kind = entries.iter().filter(|entry| entry.kind == kind);
        let mut names: Vec<&str> = of_kind.map(|entry| entry.name.as_str()).collect();
        if kind == Kind::Term {
            names.sort_unstable();
        }
        let names = wrap(&names.join(", "), "  ", "  ", style.columns());
        format!("{}:\n{names}", kind.plural())
    });
    groups.join("\n") + "\n`abx explain NAME` explains one of them.\n"
}

fn entries() -> Vec<Entry> {
    let verdicts = VERDICTS.iter().map(|(name, verdict, text)| Entry {
        kind: Kind::Verdict,
        name: (*name).to_owned(),
        text: vec![
            (*text).to_owned(),
            format!("In JSON: {}.", serde_json::json!(verdict)),
        ],
    });
    let levels = LEVELS.iter().map(|(name, text)| Entry {
        kind: Kind::Level,
        name: (*name).to_owned(),
        text: vec![(*text).to_owned()],
    });
    let findings = FindingId::ALL.iter().map(finding);
    let terms = TERMS.lines().filter_map(row).flat_map(of_row);
    verdicts
        .chain(levels)
        .chain(findings)
        .chain(terms)
        .collect()
}

fn finding(id: &FindingId) -> Entry {
    let levels = id.levels().iter().map(|level| level_tag(*level).0);
    let levels: Vec<&str> = levels.collect();
    Entry {
        kind: Kind::Finding,
        name: id.name().to_owned(),
        text: vec![
            format!("Meaning: {}.", id.meaning()),
            format!("Remedy: {}.", id.remedy()),
            format!("Level: {}.", levels.join(" or ")),
        ],
    }
}

/// The first two cells of a row of a table in Markdown.
fn row(line: &str) -> Option<[&str; 2]> {
    let mut cells = line.strip_prefix("| ")?.split(" | ");
    let [name, text] = [cells.next()?, cells.next()?];
    Some([name, text.trim_end_matches([' ', '|'])])
}

/// The entries of a row of the page of terms: terms are bold, and outcomes are code.
fn of_row([names, text]: [&'static str; 2]) -> Vec<Entry> {
    let kind = match names.chars().next() {
        Some('*') => Kind::Term,
        Some('`') => Kind::Outcome,
        _ => return Vec::new(),
    };
    let entry = |name: &str| Entry {
        kind,
        name: name.trim_matches(['*', '`']).to_owned(),
        text: vec![without_markup(text)],
    };
    names.split(", ").map(entry).collect()
}

/// Removes the markup for bold and emphasis outside code, and leaves only the text of links.
fn without_markup(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        let Some((shown, after)) = link.split_once("](") else {
            break;
        };
        let Some((_, after)) = after.split_once(')') else {
            break;
        };
        out.push_str(before);
        out.push_str(shown);
        rest = after;
    }
    let text = out + rest;
    // Every other part is code, in which an asterisk is no markup.
    text.split('`')
        .enumerate()
        .map(|(index, part)| match index % 2 {
            0 => part.replace('*', ""),
            _ => part.to_owned(),
        })
        .collect::<Vec<_>>()
        .join("`")
}

const VERDICTS: [(&str, Verdict, &str); 7] = [
    (
        "faster",
        Verdict::Faster,
        "▲ The subject is faster than its baseline: the whole interval of the ratio is on the \
         faster side of 1.",
    ),
    (
        "slower",
        Verdict::Slower,
        "▼ The subject is slower than its baseline: the whole interval of the ratio is on the \
         slower side of 1.",
    ),
    (
        "less",
        Verdict::Less,
        "▲ The subject uses less of a cost, such as CPU per response: the whole interval is below \
         1.",
    ),
    (
        "more",
        Verdict::More,
        "▼ The subject uses more of a cost, such as CPU per response: the whole interval is above \
         1.",
    ),
    (
        "same",
        Verdict::Equivalent,
        "= The whole interval lies within the margin (`--margin`, 3 % by default).",
    ),
    (
        "undecided",
        Verdict::Inconclusive,
        "? The blocks do not decide it: the interval includes 1 and reaches beyond the margin, or \
         there are too few blocks. It is also undecided if a difference would not hold among the \
         other comparisons of its load. It never means that there is no difference. More blocks \
         (`--blocks`, `--budget`) narrow the interval; the report shows about how many are needed.",
    ),
    (
        "no result",
        Verdict::Invalid,
        "– A finding rules out any verdict, for example because one server failed requests. The \
         report names the finding.",
    ),
];

const LEVELS: [(&str, &str); 3] = [
    ("note", "Worth knowing; the verdict holds. In JSON: `note`."),
    (
        "limit",
        "The figure is only a bound, such as \"at least 1.4\". In JSON: `bound`.",
    ),
    (
        "no result",
        "The finding rules out a verdict. In JSON: `void`.",
    ),
];

const TERMS: &str = include_str!("../../../../docs/terms.md");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_outcome_and_verdict_has_an_entry() {
        // Method: each name as it is printed, with blanks and in capitals; each has at least one
        // paragraph, which does not refer to the rest of the page.
        let entries = entries();
        let verdicts = VERDICTS.iter().map(|(name, ..)| (*name).to_owned());
        let outcomes = abx_evidence::Outcome::ALL.iter();
        let outcomes = outcomes.map(|outcome| outcome.name().to_owned());
        let findings = FindingId::ALL.iter().map(|id| id.name().to_owned());
        for name in findings.chain(outcomes).chain(verdicts) {
            for spelling in [name.clone(), name.replace('_', " "), name.to_uppercase()] {
                let matches = matching(&entries, &spelling);
                assert!(!matches.is_empty(), "{spelling}");
                for entry in matches {
                    assert!(!entry.text[0].is_empty(), "{name}");
                    assert!(!entry.text.concat().contains("see below"), "{name}");
                }
            }
        }
        assert!(matching(&entries, "response time")[0].text[0].contains("intended"));
        assert!(matching(&entries, "nothing").is_empty());
    }

    #[test]
    fn a_near_miss_is_suggested() {
        // Method: a name with a letter missing, and a word that is close to no name.
        let entries = entries();
        assert!(unknown(&entries, "near_ceilin").contains("`near_ceiling`"));
        assert!(unknown(&entries, "xyzzyplugh").contains("`abx explain` lists all names"));
    }

    #[test]
    fn markup_is_removed() {
        // Method: bold, emphasis and a link in one sentence; an asterisk in code next to bold.
        let text = without_markup("**A** is *not* in [the page](terms.md), see it.");
        assert_eq!(text, "A is not in the page, see it.");
        assert_eq!(without_markup("**A**: `a*>1`, *or*"), "A: `a*>1`, or");
    }
}
