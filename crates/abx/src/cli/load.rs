//! Flags that say what is offered, and by what; `run` and `compare` share them.

use std::time::Duration;

use abx_lab::{ExpectBody, Load, Request};
use clap::Args;

use super::units;

/// What is offered. A study file says all of this itself, so what a flag
/// leaves open is `None` here and has its default in [`LoadFlags::load`].
#[derive(Debug, Args)]
pub struct LoadFlags {
    /// Connections, each with one request in flight [default: 50].
    #[arg(short, long, value_parser = clap::value_parser!(u32).range(1..))]
    connections: Option<u32>,
    /// Path and query; by default that of the URL, or /.
    #[arg(long, value_parser = units::path)]
    path: Option<String>,
    /// A further header, such as 'Accept: text/html'; may be repeated.
    #[arg(short = 'H', long = "header", value_parser = units::header, value_name = "NAME: VALUE")]
    headers: Vec<(String, String)>,
    /// The method [default: GET].
    #[arg(short, long, value_parser = units::method)]
    method: Option<String>,
    /// The body of the request.
    #[arg(short, long)]
    body: Option<String>,
    /// One connection for each request.
    #[arg(long)]
    no_keepalive: bool,
    /// How long a request may take, its connection's making included [default: 10s].
    #[arg(long, value_parser = units::duration)]
    timeout: Option<Duration>,
    /// The status that is right [default: 200].
    #[arg(long, value_parser = clap::value_parser!(u16).range(100..600))]
    expect_status: Option<u16>,
    /// The body that is right: the same from all, any, or the one of this SHA-256
    /// [default: same].
    #[arg(long, value_parser = units::expect_body, value_name = "same|any|HASH")]
    expect_body: Option<ExpectBody>,
    /// Of how many answers one has its body looked at (1 is all, 0 none); status
    /// and length are always checked [default: 100].
    #[arg(long, value_name = "N")]
    verify_every: Option<u32>,
}

/// What makes the load.
#[derive(Debug, Args)]
pub struct GeneratorFlags {
    /// Worker threads of the generator; by default one for each of its processors.
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// What all randomness is drawn from; by default the clock.
    #[arg(long)]
    pub seed: Option<u64>,
}

impl LoadFlags {
    /// The load, under the name that reports use.
    pub fn load(&self) -> Load {
        let connections = self.connections.unwrap_or(50);
        Load {
            name: format!("c{connections}"),
            connections,
            requests: vec![self.request()],
            keep_alive: !self.no_keepalive,
            timeout: self.timeout.unwrap_or(Duration::from_secs(10)),
            verify_every: self.verify_every.unwrap_or(100),
            status: self.expect_status.unwrap_or(200),
            body: self.expect_body.clone().unwrap_or(ExpectBody::Same),
        }
    }

    /// The one request of the load.
    pub fn request(&self) -> Request {
        Request {
            method: self.method.clone().unwrap_or_else(|| "GET".to_owned()),
            path: self.path.clone(),
            headers: self.headers.clone(),
            body: self.body.clone().unwrap_or_default().into_bytes(),
            weight: 1,
        }
    }

    /// The first flag that was given, with the key of a study file that says the same.
    pub fn given(&self) -> Option<(&'static str, &'static str)> {
        let given = [
            (self.connections.is_some(), "--connections", "connections"),
            (self.path.is_some(), "--path", "requests.path"),
            (!self.headers.is_empty(), "--header", "requests.headers"),
            (self.method.is_some(), "--method", "requests.method"),
            (self.body.is_some(), "--body", "requests.body"),
            (self.no_keepalive, "--no-keepalive", "keep_alive"),
            (self.timeout.is_some(), "--timeout", "timeout"),
            (
                self.expect_status.is_some(),
                "--expect-status",
                "expect.status",
            ),
            (self.expect_body.is_some(), "--expect-body", "expect.body"),
            (
                self.verify_every.is_some(),
                "--verify-every",
                "verify_every",
            ),
        ];
        let first = given.into_iter().find(|(is_given, ..)| *is_given);
        first.map(|(_, flag, key)| (flag, key))
    }
}

impl GeneratorFlags {
    /// The seed that was given, or one from the clock.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(seed_from_clock)
    }
}

/// The lower digits change from study to study; short seeds are easier to type.
pub fn seed_from_clock() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::from(now.unwrap_or_default().subsec_nanos())
}
