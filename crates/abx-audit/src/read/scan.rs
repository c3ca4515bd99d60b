//! Finds the lines of all tools in a text.

use std::collections::BTreeMap;

use super::rows;
use super::template::{Found, LineTemplate, Misfit};
use crate::report::LoadTool;
use crate::text::{LetterStream, NumberTrouble, TextLine};

/// The lines of all tools.
pub(super) struct LineTemplates {
    by_first_letter: BTreeMap<char, Vec<LineTemplate>>,
}

/// A line of a tool, or a line that begins like one.
#[derive(Debug)]
pub(super) struct Sighting {
    pub(super) line: usize,
    pub(super) last_line: usize,
    pub(super) seen: Vec<Seen>,
    /// Why a line that begins like one of a tool does not match.
    pub(super) misfit: Option<Trouble>,
}

/// A line that a tool may have printed here.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) tool: LoadTool,
    pub(super) order: u8,
    pub(super) is_weak: bool,
    pub(super) repeats: bool,
    pub(super) found: Found,
}

/// A line that begins as a tool's does and cannot be read.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) tools: Vec<LoadTool>,
    pub(super) is_weak: bool,
    pub(super) misfit: Misfit,
    /// Whether such a line counts failed requests.
    pub(super) counts_failures: bool,
    pub(super) words: &'static str,
}

impl LineTemplates {
    pub(super) fn new() -> LineTemplates {
        let mut by_first_letter: BTreeMap<char, Vec<LineTemplate>> = BTreeMap::new();
        for (tool, lines) in rows::ALL {
            for line in *lines {
                let template = LineTemplate::new(*tool, *line);
                if let Some(first) = template.label.chars().next() {
                    by_first_letter.entry(first).or_default().push(template);
                }
            }
        }
        LineTemplates { by_first_letter }
    }

    /// The words that lines begin with, in lower case.
    pub(super) fn words(&self) -> impl Iterator<Item = String> {
        let templates = self.by_first_letter.values().flatten();
        templates.map(|template| words_of(template).to_ascii_lowercase())
    }

    /// Every line of any tool, in the order of the text.
    pub(super) fn sightings(&self, lines: &[TextLine]) -> Vec<Sighting> {
        let stream = LetterStream::new(lines);
        let mut sightings = Vec::new();
        let mut at = 0;
        while at < stream.len() {
            let sighting = self.sighting(&stream, at);
            at = match &sighting {
                Some((end, _)) => (*end).max(at + 1),
                None => at + 1,
            };
            sightings.extend(sighting.map(|(_, sighting)| sighting));
        }
        sightings
    }

    /// The line at this place, and where it ends.
    fn sighting(&self, stream: &LetterStream, at: usize) -> Option<(usize, Sighting)> {
        let here = stream.get(at)?;
        let first = here.letter.to_ascii_lowercase();
        let templates = self.by_first_letter.get(&first)?;
        if !stream.is_border(at) {
            return None;
        }
        let mut seen: Vec<Seen> = Vec::new();
        let mut end = at;
        let mut misfits: Vec<(&LineTemplate, Misfit)> = Vec::new();
        for template in templates {
            let Some(label_end) = stream.after(at, &template.label) else {
                continue;
            };
            match template.read(stream, at, label_end) {
                Ok(result) if result.end >= end => {
                    // The longest match counts.
                    if result.end > end {
                        seen.clear();
                    }
                    end = result.end;
                    seen.push(Seen {
                        tool: template.tool,
                        order: template.row.order,
                        is_weak: template.row.is_weak,
                        repeats: template.row.repeats,
                        found: result,
                    });
                }
                Ok(_) => {}
                Err(misfit) => misfits.push((template, misfit)),
            }
        }
        let misfit = if seen.is_empty() {
            Some(trouble(&misfits)?)
        } else {
            None
        };
        let last = end.checked_sub(1).and_then(|last| stream.get(last));
        let sighting = Sighting {
            line: here.line(),
            last_line: last.map_or(here.line(), |glyph| glyph.line().max(here.line())),
            seen,
            misfit,
        };
        Some((end, sighting))
    }
}

/// The most severe of these misfits.
fn trouble(misfits: &[(&LineTemplate, Misfit)]) -> Option<Trouble> {
    let weight = |misfit: Misfit| match misfit {
        Misfit::Number(NumberTrouble::Cut) => 3,
        Misfit::Number(_) => 2,
        Misfit::Unit => 1,
        Misfit::Words => 0,
    };
    let (template, misfit) = misfits.iter().max_by_key(|(_, misfit)| weight(*misfit))?;
    Some(Trouble {
        tools: misfits.iter().map(|(template, _)| template.tool).collect(),
        is_weak: misfits.iter().all(|(template, _)| template.row.is_weak),
        misfit: *misfit,
        counts_failures: misfits
            .iter()
            .any(|(template, _)| template.counts_failures()),
        words: words_of(template),
    })
}

/// The words of a template up to the next number.
fn words_of(template: &LineTemplate) -> &'static str {
    let text = template.row.text;
    let text = match text.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
        Some((_, rest)) => rest,
        None => text,
    };
    text.split('{').next().unwrap_or_default().trim()
}
