//! Where progress is shown: one line that is redrawn on a terminal, lines one below the other in a
//! file or a pipe.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use abx_report::printing::clean;
use indicatif::{ProgressBar, ProgressStyle};

use crate::ui::end::notify;

/// In a file, mere progress is printed this often, so that a job's log shows that the job runs.
const EVERY: Duration = Duration::from_secs(5);

/// Where progress is shown.
pub enum Display {
    None,
    /// A line on the terminal.
    Line {
        bar: ProgressBar,
        /// Its text, without messages that interrupt it.
        text: String,
    },
    /// Lines on standard error, which is no terminal.
    Lines {
        last: Instant,
    },
}

/// An event with a line of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    Event,
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

    /// A line on a terminal, if a user may look at it; else `None`.
    pub fn on_terminal(quiet: bool) -> Option<Display> {
        let is_set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let is_job = is_set("CI").is_some_and(|value| value != "false");
        let is_dumb = is_set("TERM").is_some_and(|value| value == "dumb");
        let is_seen = !quiet && !is_job && !is_dumb && std::io::stderr().is_terminal();
        is_seen.then(Display::line)
    }

    fn line() -> Display {
        let bar = ProgressBar::no_length();
        // Cut where the terminal ends: a line that is broken cannot be redrawn.
        if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
            bar.set_style(style);
        }
        let text = String::new();
        Display::Line { bar, text }
    }

    /// Shows a text in the place of the last one, or below it when it is time.
    pub fn show(&mut self, text: &str, urgency: Urgency) {
        match self {
            Display::None => {}
            Display::Line { bar, text: last } => {
                text.clone_into(last);
                draw(bar, text);
            }
            Display::Lines { last } => {
                if urgency == Urgency::Event || last.elapsed() >= EVERY {
                    notify(text);
                    *last = Instant::now();
                }
            }
        }
    }

    /// Shows a text until [`Display::return_to_last`]; a file gets it when it is time.
    pub fn interrupt(&mut self, text: &str) {
        match self {
            Display::Line { bar, .. } => draw(bar, text),
            Display::None | Display::Lines { .. } => self.show(text, Urgency::Movement),
        }
    }

    /// Shows the last text again where an interruption took its place.
    pub fn return_to_last(&mut self) {
        if let Display::Line { bar, text } = self {
            draw(bar, text);
        }
    }

    /// Clears the line of a terminal; lines that were written to a file stay.
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
