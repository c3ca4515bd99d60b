//! The differences that a study can find, before it is conducted.

use std::time::Duration;

use abx_verdict::plan::{KnownSpread, SpreadSource, StudyPlan};

use crate::document::{Document, Table, sections_text};
use crate::words::style::Style;
use crate::words::units::{or_unknown, percent, plural};

/// Spreads that servers commonly have, for a machine without known spread.
const COMMON: [f64; 3] = [0.01, 0.02, 0.05];

/// The difference that the budget lets a study find, in a sentence; a table of differences if no
/// spread is known.
#[must_use]
pub fn plan_text(plan: &StudyPlan, style: &Style) -> String {
    let mut out = match plan.known {
        Some(known) => Document::from_iter([by_spread(plan, known)]),
        None => {
            let text = format!(
                "abx does not know the spread on this machine: it has no study and no `abx doctor` \
                 to go by. With {}, a study would find these differences 8 times in 10:",
                extent(plan)
            );
            let rows = COMMON.map(|spread| {
                let blocks = plan.blocks(spread).to_string();
                [percent(spread), blocks, detectable(plan, spread)]
            });
            let table = Table::new(["spread", "blocks", "difference"], rows);
            let mut out = Document::from_iter([text]);
            out.table(Some(table), "");
            out
        }
    };
    if plan.study.together > 1 {
        let text = format!(
            "This holds for the hardest of {} comparisons that are judged together under each \
             load. For a single comparison, the difference is smaller.",
            plan.study.together
        );
        out.paragraph(text);
    }
    if plan.study.loads > 1 && plan.study.blocks.is_none() {
        out.paragraph(
            "Each load ends by its own rule. The time that it does not use goes to the loads that \
             need more blocks."
                .to_owned(),
        );
    }
    let fewest = plan.fewest();
    if plan.blocks_most < fewest {
        let remedy = match plan.study.blocks {
            Some(_) => "use `--blocks` with at least this number",
            None => "use a longer `--budget`, or fewer subjects or loads",
        };
        let text = format!("A verdict needs {fewest} blocks: {remedy}.");
        out.paragraph(text);
    }
    sections_text([out], style)
}

fn by_spread(plan: &StudyPlan, known: KnownSpread) -> String {
    let studies = known.studies as u64;
    let noun = if studies == 1 { "study" } else { "studies" };
    let source = match known.source {
        SpreadSource::SameSubjects => {
            format!("{studies} earlier {noun} of these subjects on this machine")
        }
        SpreadSource::OtherSubjects => {
            format!("{studies} earlier {noun} of other subjects on this machine")
        }
        SpreadSource::Doctor => {
            "`abx doctor` on this machine, a server compared with itself".to_owned()
        }
    };
    let text = match plan.detectable(known.spread) {
        Some(share) if plan.study.has_limits => format!(
            "abx would decide a ratio {} away from its limit 8 times in 10",
            percent(share)
        ),
        Some(share) => format!(
            "abx would find a difference of {} 8 times in 10",
            percent(share)
        ),
        None => "abx would find no difference".to_owned(),
    };
    let blocks = match plan.study.blocks {
        Some(_) => String::new(),
        None => {
            let blocks = plan.blocks(known.spread) as u64;
            let about = if plan.study.has_limits {
                "at most"
            } else {
                "about"
            };
            format!(" ({about} {})", plural(blocks, "block"))
        }
    };
    format!(
        "With a spread of {} (from {source}) and {}{blocks}, {text}.",
        percent(known.spread),
        extent(plan)
    )
}

fn extent(plan: &StudyPlan) -> String {
    match plan.study.blocks {
        Some(blocks) => plural(blocks.into(), "block"),
        None => {
            let budget = Duration::from_secs_f64(plan.study.budget_s.round());
            format!("a budget of {}", humantime(budget))
        }
    }
}

fn detectable(plan: &StudyPlan, spread: f64) -> String {
    or_unknown(plan.detectable(spread), percent)
}

/// A time in the form that `--budget` accepts.
fn humantime(span: Duration) -> String {
    let seconds = span.as_secs();
    match (seconds / 60, seconds % 60) {
        (0, rest) => format!("{rest}s"),
        (minutes, 0) => format!("{minutes}min"),
        (minutes, rest) => format!("{minutes}min {rest}s"),
    }
}
