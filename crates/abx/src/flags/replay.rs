//! Flags that replay an access log.

use std::path::{Path, PathBuf};

use abx_engine::schedule::ReplaySpeed;
use abx_lab::{AccessLog, AccessLogError, Load, ReplayedLog, ReplayedMethods, open_input};
use clap::{Args, ValueEnum};

use crate::flags::requests::{RequestFlags, input};
use crate::ui::end::Failure;

/// A log, and how it is replayed.
#[derive(Debug, Clone, Args)]
pub struct ReplayFlags {
    /// Send the requests of this access log at their recorded times (open loop). The log is in the
    /// common or combined format, and may be compressed by gzip or zstd; - is standard input.
    #[arg(
        long, value_name = "FILE",
        conflicts_with_all = [
            "rate", "slo", "arrivals", "stages", "connection_stages", "think", "calls", "paths",
            "urls", "request_file", "count", "method", "body", "form", "template"
        ]
    )]
    replay: Option<PathBuf>,
    /// Replay the log this many times as fast as it was recorded [default: 1].
    #[arg(long, value_name = "FACTOR", requires = "replay")]
    speed: Option<ReplaySpeed>,
    /// Which requests of the log are replayed [default: safe].
    #[arg(long, value_enum, value_name = "WHICH", requires = "replay")]
    replay_methods: Option<ReplayMethodsName>,
}

/// Which requests of a log are replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReplayMethodsName {
    /// GET and HEAD.
    Safe,
    /// All, without their bodies, which a log does not have.
    All,
}

/// A log, with the name that reports use.
pub struct NamedLog {
    name: String,
    log: ReplayedLog,
}

impl ReplayFlags {
    /// The log to replay, if any, with the headers that were given for all requests.
    ///
    /// # Errors
    /// A usage failure for a file that cannot be read or replayed, and for flags about a log
    /// without one.
    pub fn log(&self, requests: &RequestFlags) -> Result<Option<NamedLog>, Failure> {
        let Some(file) = &self.replay else {
            return self.check_without_log().map(|()| None);
        };
        let failed = |error: AccessLogError| {
            Failure::usage(format!("--replay: {}: {error}", file.display()))
        };
        let methods = match self.replay_methods {
            None | Some(ReplayMethodsName::Safe) => ReplayedMethods::Safe,
            Some(ReplayMethodsName::All) => ReplayedMethods::All,
        };
        let path = file
            .to_str()
            .map_or(file.as_path(), |file| Path::new(input(file)));
        let input = open_input(path).map_err(|error| failed(error.into()))?;
        let speed = self.speed.unwrap_or(ReplaySpeed::RECORDED);
        let log = AccessLog::read(input, methods).and_then(|log| log.replayed(speed));
        let mut log = log.map_err(failed)?;
        requests.add_headers(&mut log.requests)?;
        let name = file.file_name().unwrap_or(file.as_os_str());
        Ok(Some(NamedLog {
            name: match name.to_string_lossy() {
                name if name == "-" => "standard input".to_owned(),
                name => name.into_owned(),
            },
            log,
        }))
    }

    // clap drops `requires` if a flag that is given excludes the required one.
    /// Refuses flags about a log if there is none.
    fn check_without_log(&self) -> Result<(), Failure> {
        match self.given().into_iter().find(|(is_given, ..)| *is_given) {
            None => Ok(()),
            Some((_, flag, _)) => Err(Failure::usage(format!(
                "{flag} needs an access log: add --replay FILE, or leave {flag} out"
            ))),
        }
    }

    /// Each flag: whether it was given, its name, and its key in a study file.
    pub fn given(&self) -> [(bool, &'static str, &'static str); 3] {
        [
            (self.replay.is_some(), "--replay", "requests.replay"),
            (self.speed.is_some(), "--speed", "requests.speed"),
            (
                self.replay_methods.is_some(),
                "--replay-methods",
                "requests.replay_methods",
            ),
        ]
    }
}

impl NamedLog {
    /// Makes a load replay the log; with `has_status`, every response must have the load's status.
    pub fn onto(&self, load: &mut Load, has_status: bool) {
        self.log.clone().onto(load, &self.name, has_status);
    }
}
