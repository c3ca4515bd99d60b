//! Why a server is not available, in words for the user who wants to measure it.

use std::time::Duration;

use abx_sys::ports::PortError;

use crate::process::keeper::KeeperError;
use crate::process::log_tail::behind;
use crate::process::verify::VerifyError;

/// Why a server is not available.
#[derive(Debug, thiserror::Error)]
pub enum ServerProcessError {
    #[error("no port for {name}: {source}")]
    Port { name: String, source: PortError },
    #[error("{name} does not start: {source}")]
    Start { name: String, source: KeeperError },
    #[error("{name} ended {when} ({how}){}", behind(.output))]
    Ended {
        name: String,
        /// The phase in which it happened.
        when: &'static str,
        /// Its exit code or signal.
        how: String,
        output: String,
    },
    #[error(
        "{name} was not ready within {} ({why}). {advice}{}", waited(*.within, *.is_budget),
        behind(.output)
    )]
    NotReady {
        name: String,
        within: Duration,
        /// Whether the budget allowed no longer.
        is_budget: bool,
        why: String,
        /// The likely problem with it.
        advice: Box<str>,
        output: String,
    },
    #[error("{name}: {why}")]
    Container {
        name: String,
        /// The problem, and its remedy.
        why: String,
    },
    #[error(
        "{name}: another program listens on its port {port}, and would be measured \
         instead{advice}{}", behind(.output)
    )]
    Foreign {
        name: String,
        port: u16,
        /// A possible reason; empty when none is known.
        advice: &'static str,
        output: String,
    },
    #[error(
        "{name} has written {} MB of output since its start and is filling the disk: reduce its \
         output, or send it to /dev/null{}", .bytes / 1_000_000, behind(.output)
    )]
    Output {
        name: String,
        bytes: u64,
        output: String,
    },
    #[error(
        "{name} {how}: try it alone with `abx run` and fewer connections (`-c`), and read its log"
    )]
    WithoutResponse {
        name: String,
        /// Its behaviour, and the outcomes of the requests.
        how: String,
    },
    #[error(
        "{name}: step \"{step}\" ({request}) failed before the load: {why}. abx runs one session \
         first, without pauses, and it must succeed: correct the scenario or the server{}",
        behind(.output)
    )]
    Session {
        name: String,
        step: Box<str>,
        request: Box<str>,
        why: Box<str>,
        output: String,
    },
    #[error("{0}")]
    Response(#[from] VerifyError),
}

impl ServerProcessError {
    /// Whether nothing is wrong with the subject: this machine had no process or thread left to
    /// keep it.
    #[must_use]
    pub fn is_without_keeper(&self) -> bool {
        let no_keeper = |source: &KeeperError| matches!(source, KeeperError::NoKeeper { .. });
        matches!(self, ServerProcessError::Start { source, .. } if no_keeper(source))
    }

    /// Whether nothing is wrong with the subject: the user stopped abx.
    #[must_use]
    pub fn is_stop(&self) -> bool {
        match self {
            ServerProcessError::Start { source, .. } => matches!(source, KeeperError::Stopped),
            ServerProcessError::Response(error) => error.is_stop(),
            _ => false,
        }
    }
}

/// How long a start was allowed to take, and which setting that came from.
fn waited(within: Duration, is_budget: bool) -> String {
    let time = match within.as_secs() {
        0 => format!("{} ms", within.as_millis()),
        seconds => format!("{seconds} s"),
    };
    if is_budget {
        format!("{time}, which is all that `--budget` left")
    } else {
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_free_processes_is_not_the_subjects_fault() {
        // Method: no process for the keeper, and a command that does not exist.
        let start = |source| ServerProcessError::Start {
            name: "one".to_owned(),
            source,
        };
        let refused = start(KeeperError::NoKeeper {
            program: "abx".into(),
            source: std::io::ErrorKind::WouldBlock.into(),
        });
        assert!(refused.is_without_keeper());
        assert!(refused.to_string().contains("raise one"));
        let command = "x".to_owned();
        assert!(!start(KeeperError::CommandNotFound { command }).is_without_keeper());
    }
}
