//! How a report may look: colour, letters and width.

use abx_verdict::Verdict;

use crate::words::units::GLUE;
use crate::words::wrap::wrap;

/// How a report may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether words may be coloured. Colour only repeats what words say.
    pub color: bool,
    /// Whether letters beyond ASCII may be used.
    pub unicode: bool,
    /// Columns. Below 60 a report is 60 columns wide.
    pub width: usize,
}

/// How much of a study or run is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportExtent {
    /// A report that fits on a screen.
    Brief,
    /// The brief report, and the meanings of its words.
    Explained,
    Full,
}

/// The colour of a word, by its meaning.
#[derive(Debug, Clone, Copy)]
pub enum Tint {
    /// Good for a subject, or as wanted.
    Good,
    Bad,
    /// Not certain.
    Doubtful,
    /// No colour.
    Plain,
}

impl Style {
    /// No colour, all letters, 80 columns.
    #[must_use]
    pub const fn plain() -> Style {
        Style {
            color: false,
            unicode: true,
            width: 80,
        }
    }

    /// The columns that a line may take.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.width.max(WIDTH_MIN)
    }

    /// A text wrapped into lines, all but the first indented.
    #[must_use]
    pub fn paragraph(&self, text: &str) -> String {
        wrap(text, "", "  ", self.columns())
    }

    /// A note on the text above it: all lines are indented.
    #[must_use]
    pub fn note(&self, text: &str) -> String {
        wrap(text, "  ", "  ", self.columns())
    }

    /// The sign of a figure that is only known as "at least". It is chosen here and not in
    /// [`Style::finish`], because in ASCII it takes two letters.
    pub(crate) fn at_least(&self) -> &'static str {
        if self.unicode { "≥" } else { ">=" }
    }

    /// The sign of a figure that is only known as "at most".
    pub(crate) fn at_most(&self) -> &'static str {
        if self.unicode { "≤" } else { "<=" }
    }

    /// The mark of a verdict; in ASCII its stand-in.
    pub(crate) fn mark(&self, verdict: Verdict) -> &'static str {
        match mark(verdict) {
            mark if self.unicode => mark,
            "▲" => "+",
            "▼" => "-",
            "–" => "n/a",
            mark => mark,
        }
    }

    /// A single word in bold and colour, if the style allows that.
    #[must_use]
    pub fn paint(&self, word: &str, tint: Tint) -> String {
        let code = match tint {
            Tint::Good => "1;32",
            Tint::Bad => "1;31",
            Tint::Doubtful => "1;33",
            Tint::Plain => "1",
        };
        if self.color {
            format!("\x1b[{code}m{word}\x1b[0m")
        } else {
            word.to_owned()
        }
    }

    /// The finished text; in ASCII with one ASCII letter for each of our other letters.
    #[must_use]
    pub fn finish(&self, text: &str) -> String {
        let text = text.replace(GLUE, " ");
        if self.unicode {
            return text;
        }
        let in_ascii = |letter| match letter {
            '…' => '~',
            '▲' => '+',
            '▼' => '-',
            '→' | '▶' => '>',
            '×' => 'x',
            '±' => '+',
            '·' => '.',
            '÷' => '/',
            '◀' => '<',
            'µ' => 'u',
            '━' | '–' | '−' => '-',
            '┣' => '[',
            '┫' => ']',
            '●' => '*',
            '│' => '|',
            '░' | '▂' | '▃' => '.',
            '▁' => '_',
            '▄' | '▅' => '-',
            '▆' | '▇' => '=',
            '█' => '#',
            '\u{fffd}' => '?',
            other => other,
        };
        text.chars().map(in_ascii).collect()
    }
}

/// Without line breaks, for pages and Markdown, which break lines themselves.
pub(crate) const LINE: Style = Style {
    width: usize::MAX / 2,
    ..Style::plain()
};

const WIDTH_MIN: usize = 60;

/// A verdict's mark, which points to good. Less of a cost is good.
pub(crate) fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster | Verdict::Less => "▲",
        Verdict::Slower | Verdict::More => "▼",
        Verdict::Equivalent => "=",
        Verdict::Inconclusive => "?",
        Verdict::Invalid => "–",
    }
}
