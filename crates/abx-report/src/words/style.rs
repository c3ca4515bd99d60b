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
    /// What fits on a screen.
    Brief,
    /// The same, and what its words mean.
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

    /// A text in lines that fit, all but the first indented.
    #[must_use]
    pub fn paragraph(&self, text: &str) -> String {
        wrap(text, "", "  ", self.columns())
    }

    /// What explains what stands above it: all lines indented.
    #[must_use]
    pub fn note(&self, text: &str) -> String {
        wrap(text, "  ", "  ", self.columns())
    }

    /// The sign of a figure that is only known as "at least". It is chosen here
    /// and not in [`Style::finish`], since in ASCII it takes two letters.
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

    /// A single word in bold and colour, where that is allowed.
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

    /// The finished text; in ASCII with one letter for each of our own that is none.
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
            '÷' => '/',
            '◀' => '<',
            'µ' => 'u',
            '━' | '–' => '-',
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

/// All on one line, as pages and Markdown need it, which break lines themselves.
pub(crate) const LINE: Style = Style {
    width: usize::MAX / 2,
    ..Style::plain()
};

const WIDTH_MIN: usize = 60;

/// A verdict's mark, which points to good: also for costs, of which less is good.
pub(crate) fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster | Verdict::Less => "▲",
        Verdict::Slower | Verdict::More => "▼",
        Verdict::Equivalent => "=",
        Verdict::Inconclusive => "?",
        Verdict::Invalid => "–",
    }
}
