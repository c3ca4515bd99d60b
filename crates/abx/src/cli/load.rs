//! Flags that say what is offered; `run` and `compare` share them.

use std::time::Duration;

use abx_lab::{ExpectBody, Load, Request};
use clap::Args;

use super::units;

/// What is offered.
#[derive(Debug, Args)]
pub struct LoadFlags {
    /// Connections, each with one request in flight.
    #[arg(short, long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub connections: u32,
    /// Path and query; by default that of the URL, or /.
    #[arg(long, value_parser = path)]
    pub path: Option<String>,
    /// A further header, such as 'Accept: text/html'; may be repeated.
    #[arg(short = 'H', long = "header", value_parser = units::header, value_name = "NAME: VALUE")]
    pub headers: Vec<(String, String)>,
    /// The method.
    #[arg(short, long, default_value = "GET")]
    pub method: String,
    /// The body of the request.
    #[arg(short, long, default_value = "")]
    pub body: String,
    /// One connection for each request.
    #[arg(long)]
    pub no_keepalive: bool,
    /// How long a request may take, its connection's making included.
    #[arg(long, default_value = "10s", value_parser = units::duration)]
    pub timeout: Duration,
    /// The status that is right.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u16).range(100..600))]
    pub expect_status: u16,
    /// The body that is right: the same from all, any, or the one of this SHA-256.
    #[arg(long, default_value = "same", value_parser = expect_body, value_name = "same|any|HASH")]
    pub expect_body: ExpectBody,
    /// Of how many answers one has its body looked at (1 is all, 0 none); status
    /// and length are always checked.
    #[arg(long, default_value_t = 100, value_name = "N")]
    pub verify_every: u32,
    /// Worker threads of the generator; by default one for each of its processors.
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// What all randomness is drawn from; by default the clock.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Save the record also here; - writes it to standard output instead of the report.
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<String>,
    /// Say nothing on standard error but errors.
    #[arg(short, long)]
    pub quiet: bool,
    /// No colour, whatever the terminal can do.
    #[arg(long)]
    pub no_color: bool,
}

impl LoadFlags {
    /// The load, under the name that reports use.
    pub fn load(&self) -> Load {
        Load {
            name: format!("c{}", self.connections),
            connections: self.connections,
            requests: vec![self.request()],
            keep_alive: !self.no_keepalive,
            timeout: self.timeout,
            verify_every: self.verify_every,
            status: self.expect_status,
        }
    }

    /// The one request of the load.
    pub fn request(&self) -> Request {
        Request {
            method: self.method.clone(),
            path: self.path.clone(),
            headers: self.headers.clone(),
            body: self.body.clone().into_bytes(),
            weight: 1,
        }
    }

    /// The seed that was given, or one from the clock.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(|| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            // The lower digits change from study to study; short seeds are easier to type.
            u64::from(now.unwrap_or_default().subsec_nanos())
        })
    }

    /// How many worker threads were asked for.
    pub fn threads(&self) -> Option<usize> {
        self.threads.map(usize::from)
    }
}

fn path(text: &str) -> Result<String, String> {
    if text.starts_with('/') {
        Ok(text.to_owned())
    } else {
        Err(format!("`{text}` is no path: a path begins with /"))
    }
}

fn expect_body(text: &str) -> Result<ExpectBody, String> {
    match text {
        "same" => Ok(ExpectBody::Same),
        "any" => Ok(ExpectBody::Any),
        hash if hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            Ok(ExpectBody::Sha256(hash.to_ascii_lowercase()))
        }
        _ => Err(format!(
            "`{text}` is neither `same`, nor `any`, nor a SHA-256 of 64 hexadecimal digits \
             (as `sha256sum` prints it)"
        )),
    }
}
