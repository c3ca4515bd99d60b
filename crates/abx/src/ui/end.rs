//! How abx ends: its exit codes, and its messages on standard error.

use std::io::{self, Write};
use std::process::ExitCode;

use abx_report::printing::clean;

/// How a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Done,
    /// An expectation does not hold.
    Failed,
    /// The request cannot be carried out as given.
    Usage,
    /// No claim is possible.
    NoClaim,
    Interrupted,
}

impl End {
    fn code(self) -> u8 {
        match self {
            End::Done => 0,
            End::Failed => 1,
            End::Usage => 2,
            End::NoClaim => 3,
            End::Interrupted => 130,
        }
    }
}

/// A command that failed: its message, and how it ends.
#[derive(Debug)]
pub struct Failure {
    pub end: End,
    pub message: String,
}

impl Failure {
    /// The request cannot be carried out as given.
    pub fn usage(message: impl ToString) -> Failure {
        Failure {
            end: End::Usage,
            message: message.to_string(),
        }
    }

    /// The user stopped abx before there was anything to show.
    pub fn interrupted() -> Failure {
        Failure {
            end: End::Interrupted,
            message: "stopped before anything was measured".to_owned(),
        }
    }

    /// No claim is possible.
    pub fn no_claim(message: impl ToString) -> Failure {
        Failure {
            end: End::NoClaim,
            message: message.to_string(),
        }
    }
}

/// Prints the error, if there is one, and returns the exit code.
pub fn finish(result: Result<End, Failure>) -> ExitCode {
    let end = match result {
        Ok(end) => end,
        Err(failure) => {
            notify(&format!("abx: {}", failure.message));
            failure.end
        }
    };
    ExitCode::from(end.code())
}

/// Prints a message on standard error. It may quote servers and foreign files, so characters that
/// could steer a terminal are replaced.
pub fn notify(line: &str) {
    // If standard error is closed, nothing can read the message.
    let _ = writeln!(io::stderr(), "{}", clean(line));
}
