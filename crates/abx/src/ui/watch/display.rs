//! Where progress is shown: on a terminal one line that is redrawn, in a file or a pipe a new line
//! each time.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use abx_report::printing::clean;
use indicatif::{ProgressBar, ProgressStyle};

use crate::ui::end::notify;

/// How often a file gets a line of mere progress, so that a job's log shows that the job runs.
const LINE_INTERVAL: Duration = Duration::from_secs(5);

/// Where progress is shown.
pub enum Display {
    None,
    /// A line on the terminal.
    Line {
        bar: ProgressBar,
        /// The last text, without messages that interrupt it.
        text: String,
    },
    /// Lines on standard error, which is not a terminal.
    Lines {
        last: Instant,
    },
}

/// How soon a file gets a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// At once, in a line of its own.
    Event,
    /// When the next line is due, if the text is then still the latest.
    Movement,
}

impl Display {
    /// The display that suits standard error.
    pub fn of(quiet: bool) -> Display {
        if quiet {
            return Display::None;
        }
        if !std::io::stderr().is_terminal() {
            return Display::Lines {
                last: Instant::now(),
            };
        }
        Display::line()
    }

    /// A line on a terminal that a user may be watching; otherwise `None`.
    pub fn on_terminal(quiet: bool) -> Option<Display> {
        let is_set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let is_job = is_set("CI").is_some_and(|value| value != "false");
        let is_dumb = is_set("TERM").is_some_and(|value| value == "dumb");
        let is_seen = !quiet && !is_job && !is_dumb && std::io::stderr().is_terminal();
        is_seen.then(Display::line)
    }

    fn line() -> Display {
        let bar = ProgressBar::no_length();
        // Cut at the width of the terminal: a line that wraps cannot be redrawn.
        if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
            bar.set_style(style);
        }
        let text = String::new();
        Display::Line { bar, text }
    }

    /// Shows a text in place of the last one; in a file, below it if a line is due.
    pub fn show(&mut self, text: &str, urgency: Urgency) {
        match self {
            Display::None => {}
            Display::Line { bar, text: last } => {
                text.clone_into(last);
                draw(bar, text);
            }
            Display::Lines { last } => {
                if urgency == Urgency::Event || last.elapsed() >= LINE_INTERVAL {
                    notify(text);
                    *last = Instant::now();
                }
            }
        }
    }

    /// Shows a text until [`Display::return_to_last`]; a file gets it if a line is due.
    pub fn interrupt(&mut self, text: &str) {
        match self {
            Display::Line { bar, .. } => draw(bar, text),
            Display::None | Display::Lines { .. } => self.show(text, Urgency::Movement),
        }
    }

    /// Shows the last text again after an interruption.
    pub fn return_to_last(&mut self) {
        if let Display::Line { bar, text } = self {
            draw(bar, text);
        }
    }

    /// Clears the line on a terminal; lines in a file stay.
    pub fn clear(&self) {
        if let Display::Line { bar, .. } = self {
            bar.finish_and_clear();
        }
    }
}

fn draw(bar: &ProgressBar, text: &str) {
    bar.set_message(clean(text));
    bar.tick();
}
