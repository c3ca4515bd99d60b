//! The load generators: how each is asked for the same load, and how its report is read.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What every generator is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// What people call it.
    pub name: &'static str,
    /// Bytes of the body.
    pub body_bytes: usize,
    /// Connections, each with one request in flight.
    pub connections: usize,
    /// Whether a connection serves more than one request.
    pub keep_alive: bool,
    /// Requests in flight on each connection.
    pub pipeline: usize,
    /// Requests per second; `None` for as fast as answers come.
    pub rate: Option<u32>,
    /// How long, in seconds; more where the making of connections takes its part.
    pub seconds: u64,
}

/// The loads of a whole benchmark.
pub const LOADS: [Load; 8] = [
    load("87 B, 50 kept connections", 87, 50, true, 2),
    load("87 B, 1,000 kept connections", 87, 1_000, true, 2),
    load("87 B, 10,000 kept connections", 87, 10_000, true, 4),
    load("34,569 B, 10 kept connections", 34_569, 10, true, 2),
    load("706,409 B, 10 kept connections", 706_409, 10, true, 2),
    Load {
        pipeline: 16,
        ..load("87 B, 50 connections, pipelines of 16", 87, 50, true, 2)
    },
    Load {
        rate: Some(20_000),
        ..load("87 B, 50 connections, 20,000/s", 87, 50, true, 2)
    },
    // The last, since it leaves tens of thousands of closed connections behind for a minute.
    load("87 B, 50 connections, one per request", 87, 50, false, 2),
];

const fn load(
    name: &'static str,
    body_bytes: usize,
    connections: usize,
    keep_alive: bool,
    seconds: u64,
) -> Load {
    Load {
        name,
        body_bytes,
        connections,
        keep_alive,
        pipeline: 1,
        rate: None,
        seconds,
    }
}

/// A load generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generator {
    /// The bare loop of this folder.
    Bare,
    /// What is measured.
    Abx,
    /// The same with two threads, for the cost of a second one.
    AbxTwo,
    /// wrk.
    Wrk,
    /// ApacheBench.
    Ab,
    /// The generator of nghttp2.
    H2load,
    /// oha.
    Oha,
}

/// Where the programs are, and what they load.
pub struct Setup {
    /// The abx binary.
    pub abx: PathBuf,
    /// The bare loop's binary.
    pub bare: PathBuf,
    /// The oha binary.
    pub oha: PathBuf,
    /// Where scripts for wrk may be written.
    pub folder: PathBuf,
    /// The server.
    pub address: SocketAddr,
}

/// What a generator says that it did.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Right answers, as far as the generator looks at them.
    pub completed: u64,
    /// Everything else that it speaks of.
    pub failed: u64,
    /// Requests per second, as it counts them itself.
    pub per_second: f64,
    /// Connections that never got an answer; `None` when it does not tell.
    pub silent: Option<u64>,
}

impl Generator {
    /// All of them.
    pub const ALL: [Generator; 7] = [
        Generator::Bare,
        Generator::Abx,
        Generator::AbxTwo,
        Generator::Wrk,
        Generator::Ab,
        Generator::H2load,
        Generator::Oha,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Generator::Bare => "bare loop",
            Generator::Abx => "abx",
            Generator::AbxTwo => "abx -t 2",
            Generator::Wrk => "wrk",
            Generator::Ab => "ab",
            Generator::H2load => "h2load",
            Generator::Oha => "oha",
        }
    }

    /// Those that abx is held against.
    pub const RIVALS: [Generator; 4] = [
        Generator::Wrk,
        Generator::Ab,
        Generator::H2load,
        Generator::Oha,
    ];

    /// Whether it has a row under this load: a second thread is of interest
    /// only where the first one has time left.
    pub fn takes_part(self, load: &Load) -> bool {
        self != Generator::AbxTwo || load.rate.is_some()
    }

    /// Why it cannot make this load, when it cannot.
    pub fn refusal(self, load: &Load) -> Option<&'static str> {
        match self {
            Generator::Bare | Generator::Wrk | Generator::Ab if load.rate.is_some() => {
                Some("it has no rate")
            }
            Generator::Ab | Generator::Oha if load.pipeline > 1 => Some("it has no pipelines"),
            Generator::H2load if !load.keep_alive => {
                Some("it waits for ever once nginx has closed a connection")
            }
            _ => None,
        }
    }

    /// The command line that says which version it is.
    pub fn version(self, setup: &Setup) -> Option<Command> {
        let (program, flag) = match self {
            Generator::Bare => return None,
            Generator::Abx | Generator::AbxTwo => (setup.abx.as_path(), "--version"),
            Generator::Wrk => (Path::new("wrk"), "-v"),
            Generator::Ab => (Path::new("ab"), "-V"),
            Generator::H2load => (Path::new("h2load"), "--version"),
            Generator::Oha => (setup.oha.as_path(), "--version"),
        };
        let mut command = Command::new(program);
        command.arg(flag);
        Some(command)
    }

    /// The command line that makes `load`; answers are `answer_bytes` long, head included.
    pub fn command(self, setup: &Setup, load: &Load, answer_bytes: usize) -> Command {
        let url = format!("http://{}/{}", setup.address, load.body_bytes);
        let connections = load.connections.to_string();
        let seconds = load.seconds.to_string();
        let span = format!("{seconds}s");
        let (c, d) = (connections.as_str(), span.as_str());
        let (program, flags): (&Path, &[&str]) = match self {
            Generator::Bare => (&setup.bare, &[]),
            Generator::Abx | Generator::AbxTwo => {
                (&setup.abx, &["run", "-q", "--json", "-", "-c", c, "-d", d])
            }
            Generator::Wrk => (
                Path::new("wrk"),
                &["-t", "1", "-c", c, "-d", d, "--timeout", "10s"],
            ),
            // Its time limit brings a limit of 50,000 requests, unless a higher one
            // follows, for which it takes address space at once.
            Generator::Ab => (
                Path::new("ab"),
                &["-q", "-t", &seconds, "-n", "10000000", "-c", c],
            ),
            Generator::H2load => (
                Path::new("h2load"),
                &["--h1", "-t", "1", "-c", c, "-D", &seconds],
            ),
            // -w: what is in flight at the end is no failure.
            Generator::Oha => (
                &setup.oha,
                &[
                    "--no-tui",
                    "--output-format",
                    "json",
                    "-w",
                    "-c",
                    c,
                    "-z",
                    d,
                ],
            ),
        };
        let mut command = Command::new(program);
        command.args(flags).args(self.shape(setup, load));
        if self == Generator::Bare {
            let mode = if load.keep_alive { "keep" } else { "close" };
            let (path, address) = (format!("/{}", load.body_bytes), setup.address.to_string());
            command.args([&address, &path, c, &seconds, &answer_bytes.to_string()]);
            command.args([mode, &load.pipeline.to_string()]);
        } else {
            command.arg(url);
        }
        command
    }

    /// What it is told of connections, pipelines, rates and threads.
    fn shape(self, setup: &Setup, load: &Load) -> Vec<String> {
        let mut flags: Vec<String> = Vec::new();
        let mut add = |words: &[&str]| flags.extend(words.iter().map(|&word| word.to_owned()));
        match (self, load.keep_alive) {
            (Generator::Ab, true) => add(&["-k"]),
            (Generator::Abx | Generator::AbxTwo, false) => add(&["--no-keepalive"]),
            (Generator::Oha, false) => add(&["--disable-keepalive"]),
            (Generator::Wrk, false) => add(&["-H", "Connection: close"]),
            _ => {}
        }
        match self {
            Generator::Abx => add(&["-t", "1"]),
            Generator::AbxTwo => add(&["-t", "2"]),
            _ => {}
        }
        if let Some(rate) = load.rate {
            match self {
                Generator::Abx | Generator::AbxTwo => add(&["-r", &rate.to_string()]),
                Generator::Oha => add(&["-q", &rate.to_string()]),
                // It takes a rate for each connection.
                Generator::H2load => {
                    add(&["--rps", &(rate as usize / load.connections).to_string()]);
                }
                _ => {}
            }
        }
        if load.pipeline > 1 {
            let script = setup.folder.join("pipeline.lua");
            match self {
                Generator::Abx => add(&["--pipeline", &load.pipeline.to_string()]),
                Generator::H2load => add(&["-m", &load.pipeline.to_string()]),
                Generator::Wrk => add(&["-s", &script.to_string_lossy()]),
                _ => {}
            }
        }
        flags
    }

    /// Reads what it printed; `None` when a figure is missing.
    pub fn report(self, text: &str) -> Option<Report> {
        match self {
            Generator::Bare => bare(text),
            Generator::Abx | Generator::AbxTwo => abx(text),
            Generator::Wrk => wrk(text),
            Generator::Ab => ab(text),
            Generator::H2load => h2load(text),
            Generator::Oha => oha(text),
        }
    }
}

fn bare(text: &str) -> Option<Report> {
    let completed = number_after(text, "requests ")? as u64;
    Some(Report {
        completed,
        failed: number_after(text, "failures ")? as u64,
        per_second: completed as f64 / number_after(text, "seconds ")?,
        silent: Some(number_after(text, "silent ")? as u64),
    })
}

fn abx(text: &str) -> Option<Report> {
    let record: Value = serde_json::from_str(text).ok()?;
    let requests = &record["requests"];
    let completed = requests["ok"].as_u64()?;
    Some(Report {
        completed,
        failed: requests["sent"].as_u64()? - completed,
        per_second: record["throughput_per_s"].as_f64()?,
        silent: record["silent"].as_u64(),
    })
}

fn wrk(text: &str) -> Option<Report> {
    let summary = text.lines().find(|line| line.contains(" requests in "))?;
    let broken = text.lines().find(|line| line.contains("Socket errors:"));
    let wrong = number_after(text, "Non-2xx or 3xx responses: ").unwrap_or(0.0);
    let completed = summary.split_whitespace().next()?.parse::<u64>().ok()?;
    Some(Report {
        completed: completed.checked_sub(wrong as u64)?,
        failed: wrong as u64 + broken.map_or(0, sum_of_numbers),
        per_second: number_after(text, "Requests/sec:")?,
        silent: None,
    })
}

fn ab(text: &str) -> Option<Report> {
    let wrong = number_after(text, "Non-2xx responses:").unwrap_or(0.0) as u64;
    let failed = number_after(text, "Failed requests:")? as u64 + wrong;
    Some(Report {
        // It counts failed requests among the complete ones.
        completed: (number_after(text, "Complete requests:")? as u64).checked_sub(failed)?,
        failed,
        per_second: number_after(text, "Requests per second:")?,
        silent: None,
    })
}

fn h2load(text: &str) -> Option<Report> {
    let (_, requests) = text.split_once("\nrequests: ")?;
    let count = |name| {
        let part = requests
            .lines()
            .next()?
            .split(", ")
            .find(|part| part.ends_with(name))?;
        part.split(' ').next()?.parse::<u64>().ok()
    };
    let (_, finished) = text.split_once("finished in ")?;
    let rate = finished.split(", ").nth(1)?;
    Some(Report {
        completed: count(" succeeded")?,
        // Failed ones include those in error and out of time.
        failed: count(" failed")?,
        per_second: rate.split(' ').next()?.parse().ok()?,
        silent: None,
    })
}

fn oha(text: &str) -> Option<Report> {
    let report: Value = serde_json::from_str(text).ok()?;
    let sum =
        |value: &Value| -> Option<u64> { value.as_object()?.values().map(Value::as_u64).sum() };
    let statuses = &report["statusCodeDistribution"];
    let completed = statuses["200"].as_u64().unwrap_or(0);
    Some(Report {
        completed,
        failed: sum(statuses)? - completed + sum(&report["errorDistribution"])?,
        per_second: report["summary"]["requestsPerSec"].as_f64()?,
        silent: None,
    })
}

/// What makes wrk send so many requests at once.
pub fn pipeline_script(load: &Load) -> String {
    format!(
        "local all\ninit = function()\n  local one = wrk.format(nil, '/{}')\n  \
         all = string.rep(one, {})\nend\nrequest = function() return all end\n",
        load.body_bytes, load.pipeline
    )
}

/// The number that follows `label`.
fn number_after(text: &str, label: &str) -> Option<f64> {
    let (_, rest) = text.split_once(label)?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The sum of all whole numbers in a line.
fn sum_of_numbers(line: &str) -> u64 {
    line.split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|digits| digits.parse::<u64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(completed: u64, failed: u64, per_second: f64, silent: Option<u64>) -> Option<Report> {
        Some(Report {
            completed,
            failed,
            per_second,
            silent,
        })
    }

    #[test]
    fn failures_in_a_report_are_counted() {
        // Method: a report of each tool with failures of every kind that it tells apart.
        let wrk = "  33077 requests in 1.01s, 10.19MB read\n  Socket errors: connect 1, read 2, \
                   write 3, timeout 4\n  Non-2xx or 3xx responses: 77\nRequests/sec:  32741.40\n";
        assert_eq!(
            Generator::Wrk.report(wrk),
            report(33_000, 87, 32_741.4, None)
        );
        let ab = "Complete requests:      29803\nFailed requests:        3\n   (Connect: 0)\n\
                  Requests per second:    29509.29 [#/sec] (mean)\n";
        assert_eq!(Generator::Ab.report(ab), report(29_800, 3, 29_509.29, None));
        let h2load = "finished in 1.02s, 34477.00 req/s, 10.62MB/s\nrequests: 34482 total, 34482 \
                      started, 34480 done, 34477 succeeded, 5 failed, 3 errored, 1 timeout\n";
        assert_eq!(
            Generator::H2load.report(h2load),
            report(34_477, 5, 34_477.0, None)
        );
        let oha = r#"{"summary":{"requestsPerSec":9.5},"statusCodeDistribution":{"200":7,"503":2},
                      "errorDistribution":{"connection refused":4}}"#;
        assert_eq!(Generator::Oha.report(oha), report(7, 6, 9.5, None));
        let abx = r#"{"requests":{"sent":9,"ok":7},"throughput_per_s":3.5,"silent":1}"#;
        assert_eq!(Generator::Abx.report(abx), report(7, 2, 3.5, Some(1)));
        let bare = "requests 10 failures 1 silent 2 seconds 2.5\n";
        assert_eq!(Generator::Bare.report(bare), report(10, 1, 4.0, Some(2)));
    }

    #[test]
    fn a_report_without_its_figures_is_none() {
        // Method: nothing, and other words.
        for generator in Generator::ALL {
            assert_eq!(generator.report(""), None);
            assert_eq!(generator.report("Killed"), None);
        }
    }
}
