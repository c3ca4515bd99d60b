//! Where progress is shown: one line that is drawn anew on a terminal, lines one
//! below the other in a file or a pipe.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::end::tell;

/// In a file, mere movement is told this often; a job's log shows that it lives.
const EVERY: Duration = Duration::from_secs(5);

/// Where progress is shown.
pub enum Display {
    /// Nowhere.
    None,
    /// A line on the terminal.
    Line(ProgressBar),
    /// Lines on standard error, which is no terminal.
    Lines {
        /// When the last one was written.
        last: Instant,
    },
}

/// What is worth a line of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// Something new is known.
    News,
    /// It goes on.
    Movement,
}

impl Display {
    /// What suits standard error.
    pub fn of(quiet: bool) -> Display {
        if quiet {
            return Display::None;
        }
        if !std::io::stderr().is_terminal() {
            return Display::Lines {
                last: Instant::now(),
            };
        }
        let bar = ProgressBar::no_length();
        // Cut where the terminal ends: a line that is broken cannot be drawn anew.
        if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
            bar.set_style(style);
        }
        Display::Line(bar)
    }

    /// Shows a text in the place of the last one, or below it when it is time.
    pub fn show(&mut self, text: &str, urgency: Urgency) {
        match self {
            Display::None => {}
            Display::Line(bar) => {
                bar.set_message(text.to_owned());
                bar.tick();
            }
            Display::Lines { last } => {
                if urgency == Urgency::News || last.elapsed() >= EVERY {
                    tell(text);
                    *last = Instant::now();
                }
            }
        }
    }

    /// Takes the line of a terminal away; what was written to a file stays.
    pub fn clear(&self) {
        if let Display::Line(bar) = self {
            bar.finish_and_clear();
        }
    }
}
