//! Lines, to which samples are charged.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::frame_name::frame_name;

/// A part of CPU time. Its text, in records too, is such as `system call openat`, `user nginx` or
/// `page faults`.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum Line {
    /// The kernel's work for one system call, by the name that strace prints. Network receive
    /// work that the call itself starts (on the loopback interface) is part of it.
    SystemCall(String),
    /// The way into system calls and back, if it is not known of which one.
    SystemCallEntry,
    /// Code of a program or library, by its file name, or [`Line::JIT_CODE`].
    User(String),
    PageFaults,
    /// Hardware interrupts, and the softirq and network receive work that they start.
    Interrupts,
    /// Changes from one thread to another, unless a system call waits.
    Scheduling,
    /// Other work of the kernel.
    Kernel,
    /// All work of the kernel, if it is not known what for: the machine hides the kernel's
    /// symbols, or forbids to sample it.
    WholeKernel,
    /// Samples that cannot be charged: the code is in no known file.
    Unattributed,
}

/// A text that names no line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a line of a ledger")]
pub struct LineError(String);

impl Line {
    /// The name of user code that is in no file.
    pub const JIT_CODE: &str = "JIT code";

    /// The system call of this name.
    #[must_use]
    pub fn system_call(name: &str) -> Line {
        Line::SystemCall(frame_name(name))
    }

    /// The code of the program or library of this name.
    #[must_use]
    pub fn user(name: &str) -> Line {
        Line::User(frame_name(name))
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Line::SystemCall(name) => write!(f, "{SYSTEM_CALL}{name}"),
            Line::User(name) => write!(f, "{USER}{name}"),
            line => {
                let text = WITHOUT_NAME.iter().find(|(known, _)| known == line);
                f.write_str(text.map_or("", |(_, text)| text))
            }
        }
    }
}

impl FromStr for Line {
    type Err = LineError;

    fn from_str(text: &str) -> Result<Line, LineError> {
        if let Some(name) = text.strip_prefix(SYSTEM_CALL) {
            return Ok(Line::system_call(name));
        }
        if let Some(name) = text.strip_prefix(USER) {
            return Ok(Line::user(name));
        }
        let line = WITHOUT_NAME.iter().find(|(_, known)| *known == text);
        let line = line.map(|(line, _)| line.clone());
        line.ok_or_else(|| LineError(frame_name(text)))
    }
}

impl TryFrom<String> for Line {
    type Error = LineError;

    fn try_from(text: String) -> Result<Line, LineError> {
        text.parse()
    }
}

impl From<Line> for String {
    fn from(line: Line) -> String {
        line.to_string()
    }
}

const SYSTEM_CALL: &str = "system call ";
const USER: &str = "user ";
const WITHOUT_NAME: [(Line, &str); 7] = [
    (Line::SystemCallEntry, "entry and exit of system calls"),
    (Line::PageFaults, "page faults"),
    (Line::Interrupts, "interrupts"),
    (Line::Scheduling, "scheduling"),
    (Line::Kernel, "other kernel"),
    (Line::WholeKernel, "kernel, not split"),
    (Line::Unattributed, "unattributed"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_back_from_its_text() {
        // Method: every kind of line through JSON, and texts that are not lines.
        let named = [Line::system_call("openat"), Line::user("page faults")];
        let lines = WITHOUT_NAME.map(|(line, _)| line);
        for line in named.iter().chain(&lines) {
            let text = serde_json::to_string(line).unwrap();
            assert_eq!(text, format!("\"{line}\""));
            assert_eq!(&serde_json::from_str::<Line>(&text).unwrap(), line);
        }
        for text in ["", "openat", "page fault", "system callopenat"] {
            assert_eq!(text.parse::<Line>(), Err(LineError(text.to_owned())));
        }
    }

    #[test]
    fn no_line_has_the_text_of_another() {
        // Method: the prefix of system calls also begins a line without a name, which has to
        // be distinguished from a call of that name.
        let entry = Line::SystemCallEntry.to_string();
        assert_eq!(entry.parse::<Line>().unwrap(), Line::SystemCallEntry);
    }
}
