//! Assembles reports from lines that follow each other as one tool prints them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::scan::{Seen, Sighting, Trouble};
use super::template::{Found, Misfit};
use crate::report::{FigureKey, LoadTool, PrintedQuantile, ToolReport};
use crate::text::{NumberTrouble, TextLine};

/// A line that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// The line in the file, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

/// Assembles the reports of one passage.
pub(super) struct Assembly<'a> {
    file: &'a str,
    /// The lines that contain words, including those of reports.
    words: BTreeSet<usize>,
    open: Option<Building>,
    reports: Vec<ToolReport>,
    unread: Vec<Unread>,
}

/// A report that has begun, with a draft for each tool that may have printed it.
struct Building {
    drafts: Vec<Draft>,
    last_line: usize,
}

struct Draft {
    order: u8,
    report: ToolReport,
}

impl<'a> Assembly<'a> {
    pub(super) fn new(file: &'a str, lines: &[TextLine]) -> Assembly<'a> {
        let has_words = |line: &&TextLine| {
            let letters = line.text.chars().filter(|letter| letter.is_alphabetic());
            letters.count() > 2
        };
        Assembly {
            file,
            words: lines
                .iter()
                .filter(has_words)
                .map(|line| line.number)
                .collect(),
            open: None,
            reports: Vec::new(),
            unread: Vec::new(),
        }
    }

    pub(super) fn take(&mut self, sighting: Sighting) {
        self.close_when_far(sighting.line);
        if let Some(trouble) = &sighting.misfit {
            self.note(sighting.line, trouble);
            return;
        }
        if let Some(building) = &mut self.open
            && building.accept(&sighting)
        {
            return;
        }
        // Common words neither begin nor end a report.
        let begins: Vec<Seen> = sighting
            .seen
            .into_iter()
            .filter(|seen| !seen.is_weak)
            .collect();
        if begins.is_empty() {
            return;
        }
        self.close();
        let draft = |seen: Seen| {
            let mut draft = Draft::new(seen.tool, self.file, sighting.line);
            draft.put(&seen, sighting.last_line);
            draft
        };
        self.open = Some(Building {
            drafts: begins.into_iter().map(draft).collect(),
            last_line: sighting.last_line,
        });
    }

    pub(super) fn finish(mut self) -> (Vec<ToolReport>, Vec<Unread>) {
        self.close();
        (self.reports, self.unread)
    }

    /// A report does not continue after a page of other text.
    fn close_when_far(&mut self, line: usize) {
        if let Some(building) = &self.open {
            let between = building.last_line + 1..line.max(building.last_line + 1);
            if self.words.range(between).count() > FOREIGN_LINES {
                self.close();
            }
        }
    }

    fn close(&mut self) {
        let Some(building) = self.open.take() else {
            return;
        };
        let line = building.drafts.first().map_or(0, |draft| draft.report.line);
        let tools: Vec<&str> = building
            .drafts
            .iter()
            .map(|draft| draft.report.tool.name())
            .collect();
        // Without the lines that only wrk2 prints, a report is one of wrk.
        let is_clear = matches!(&tools[..], [_] | ["wrk", "wrk2"]);
        let has_figures = building.drafts.iter().any(|draft| draft.has_substance());
        let Some(draft) = building.drafts.into_iter().next() else {
            return;
        };
        if !has_figures {
            self.unread.push(Unread {
                line,
                why: format!(
                    "begins like a report of {} and has no figures",
                    tools.join(" or ")
                ),
            });
        } else if is_clear {
            self.reports.push(draft.report);
        } else {
            let why = format!(
                "may be a part of a report of {}: too little is left",
                tools.join(" or ")
            );
            self.unread.push(Unread { line, why });
        }
    }

    /// Records what cannot be read, if it is a line of a report.
    fn note(&mut self, line: usize, trouble: &Trouble) {
        let is_inside = self.open.as_ref().is_some_and(|building| {
            let mut drafts = building.drafts.iter();
            drafts.any(|draft| trouble.tools.contains(&draft.report.tool))
        });
        let why = match trouble.misfit {
            Misfit::Number(NumberTrouble::Cut) => "its number may be cut off: the text ends in it",
            Misfit::Number(_) => "its number can be read in more ways than one",
            Misfit::Unit => "its number is broken, or has another unit",
            Misfit::Words => "no number follows",
        };
        // Words without a number may be a sentence between the lines of a report.
        let is_row = !trouble.is_weak || matches!(trouble.misfit, Misfit::Number(_));
        if trouble.counts_failures
            && is_row
            && let Some(building) = &mut self.open
        {
            let drafts = building.drafts.iter_mut();
            for draft in drafts.filter(|draft| trouble.tools.contains(&draft.report.tool)) {
                draft.report.failures_unread.get_or_insert(line);
            }
        }
        let is_reported = match trouble.misfit {
            Misfit::Number(_) => is_inside || !trouble.is_weak,
            Misfit::Unit | Misfit::Words => is_inside && !trouble.is_weak,
        };
        if is_reported {
            self.unread.push(Unread {
                line,
                why: format!("`{}`: {why}", trouble.words),
            });
        }
    }
}

impl Building {
    /// Adds a line if it continues the report of a tool that may have printed it.
    fn accept(&mut self, sighting: &Sighting) -> bool {
        let fits = |draft: &Draft, seen: &Seen| {
            let is_next = seen.order > draft.order || (seen.repeats && seen.order == draft.order);
            seen.tool == draft.report.tool && is_next
        };
        let can = |draft: &Draft| sighting.seen.iter().any(|seen| fits(draft, seen));
        if !self.drafts.iter().any(can) {
            return false;
        }
        self.drafts.retain(can);
        for draft in &mut self.drafts {
            if let Some(seen) = sighting.seen.iter().find(|seen| fits(draft, seen)) {
                draft.put(seen, sighting.last_line);
            }
        }
        self.last_line = self.last_line.max(sighting.last_line);
        true
    }
}

impl Draft {
    fn new(tool: LoadTool, file: &str, line: usize) -> Draft {
        Draft {
            order: 0,
            report: ToolReport::empty(tool, file, line),
        }
    }

    fn put(&mut self, seen: &Seen, last_line: usize) {
        let Found {
            figures,
            quantiles,
            words,
            statuses,
            ..
        } = &seen.found;
        let report = &mut self.report;
        for (key, figure) in figures {
            let mut figure = figure.clone();
            // Each thread of h2load has its own clients; hey and oha list each kind of error.
            let adds_up = [
                FigureKey::Connections,
                FigureKey::ThreadRequests,
                FigureKey::Failed,
            ];
            if adds_up.contains(key)
                && let Some(before) = report.figures.get(key)
            {
                figure.value += before.value;
                figure.low += before.low;
                figure.high += before.high;
                figure.printed = figure.value.to_string();
            }
            report.figures.insert(*key, figure);
        }
        for (percent, time) in quantiles {
            let (percent, time) = (*percent, time.clone());
            report.quantiles.push(PrintedQuantile { percent, time });
        }
        report.words.extend(words.iter().cloned());
        report.statuses.extend(statuses.iter().cloned());
        report.last_line = report.last_line.max(last_line);
        self.order = seen.order;
    }

    /// Whether there is a figure to audit.
    fn has_substance(&self) -> bool {
        use FigureKey::{AbortedAfter, Completed, Elapsed, Mean, Rate};
        let keys = [AbortedAfter, Completed, Elapsed, Mean, Rate];
        keys.iter().any(|key| self.report.figures.contains_key(key))
    }
}

/// The largest number of other lines between two lines of a report, such as warnings.
const FOREIGN_LINES: usize = 12;
