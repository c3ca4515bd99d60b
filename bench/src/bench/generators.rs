//! The load generators: their command lines for the same load, and how their reports are read.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::peers::{self, Peer};
use crate::reports::{self, Report};

/// The load that every generator has to generate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    pub name: &'static str,
    pub body_bytes: usize,
    /// Connections, each with one request in flight.
    pub connections: usize,
    /// Whether a connection serves more than one request.
    pub keep_alive: bool,
    /// Requests in flight on each connection: pipelines, or streams of HTTP/2.
    pub pipeline: usize,
    /// Whether requests use HTTP/2, without TLS.
    pub http2: bool,
    /// Requests per second; `None` for a closed loop.
    pub rate: Option<u32>,
    /// The duration in seconds; longer if opening the connections takes a while.
    pub seconds: u64,
}

/// The loads of a complete benchmark.
pub const LOADS: [Load; 9] = [
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
        pipeline: 32,
        http2: true,
        ..load(
            "87 B, 10 connections of HTTP/2, 32 streams",
            87,
            10,
            true,
            2,
        )
    },
    Load {
        rate: Some(20_000),
        ..load("87 B, 50 connections, 20,000/s", 87, 50, true, 2)
    },
    // Last, because it leaves tens of thousands of closed connections behind for a minute.
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
        http2: false,
        rate: None,
        seconds,
    }
}

/// A load generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generator {
    /// The bare loop of this folder.
    Bare,
    /// The bare loop without sleeping.
    BareAwake,
    /// The bare loop at a constant rate, asleep until each request is due.
    Paced,
    /// The paced bare loop, awake for the last [`AWAKE_US`] before each request.
    PacedAwake,
    Abx,
    /// abx with two threads, for the cost of the second one.
    AbxTwo,
    Wrk,
    Ab,
    /// The generator of nghttp2.
    H2load,
    Oha,
    /// A generator found on the PATH.
    Peer(Peer),
}

/// The approximate time in which a thread of a virtual machine wakes up, in microseconds.
const AWAKE_US: &str = "30";

/// The programs, and the servers that they load.
pub struct Setup {
    pub abx: PathBuf,
    /// This program, which contains the bare loops.
    pub own: PathBuf,
    pub oha: PathBuf,
    /// The folder for scripts.
    pub folder: PathBuf,
    pub address: SocketAddr,
    /// The address for HTTP/2.
    pub http2_address: SocketAddr,
}

impl Setup {
    /// The URL of a load.
    fn url(&self, load: &Load) -> String {
        let address = if load.http2 {
            self.http2_address
        } else {
            self.address
        };
        format!("http://{address}/{}", load.body_bytes)
    }
}

impl Generator {
    /// All generators except the peers.
    const OWN_AND_RIVALS: [Generator; 10] = [
        Generator::Bare,
        Generator::BareAwake,
        Generator::Paced,
        Generator::PacedAwake,
        Generator::Abx,
        Generator::AbxTwo,
        Generator::Wrk,
        Generator::Ab,
        Generator::H2load,
        Generator::Oha,
    ];

    /// All generators on this machine.
    pub fn all() -> impl Iterator<Item = Generator> {
        let peers = Peer::found().map(Generator::Peer);
        Generator::OWN_AND_RIVALS.into_iter().chain(peers)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Generator::Bare => "bare loop",
            Generator::BareAwake => "bare loop, awake",
            Generator::Paced => "paced bare loop",
            Generator::PacedAwake => "paced, awake",
            Generator::Abx => "abx",
            Generator::AbxTwo => "abx -t 2",
            Generator::Wrk => "wrk",
            Generator::Ab => "ab",
            Generator::H2load => "h2load",
            Generator::Oha => "oha",
            Generator::Peer(peer) => peer.name(),
        }
    }

    /// The generators with which abx is compared.
    pub const RIVALS: [Generator; 4] = [
        Generator::Wrk,
        Generator::Ab,
        Generator::H2load,
        Generator::Oha,
    ];

    /// The bare loop that is the limit for a load.
    pub fn limit(load: &Load) -> Generator {
        match load.rate {
            None => Generator::Bare,
            Some(_) => Generator::Paced,
        }
    }

    /// Whether the generator has a row for this load: each bare loop is for certain loads, and a
    /// second thread only matters if the first one has time left.
    pub fn takes_part(self, load: &Load) -> bool {
        match self {
            Generator::Bare | Generator::BareAwake => load.rate.is_none() && !load.http2,
            Generator::Paced | Generator::PacedAwake | Generator::AbxTwo => load.rate.is_some(),
            _ => true,
        }
    }

    /// Why the generator cannot generate this load, if it cannot.
    pub fn refusal(self, load: &Load) -> Option<&'static str> {
        match self {
            Generator::Wrk | Generator::Ab if load.rate.is_some() => Some("it has no rate"),
            Generator::Wrk | Generator::Ab | Generator::Peer(_) if load.http2 => {
                Some("it is not asked for HTTP/2 here")
            }
            Generator::Oha if load.http2 => None,
            Generator::Ab | Generator::Oha if load.pipeline > 1 => Some("it has no pipelines"),
            Generator::H2load if !load.keep_alive => {
                Some("it waits for ever once nginx has closed a connection")
            }
            Generator::Peer(peer) => peer.refusal(load),
            _ => None,
        }
    }

    /// The command line that prints the version.
    pub fn version(self, setup: &Setup) -> Option<Command> {
        let (program, flag) = match self {
            Generator::Bare | Generator::BareAwake | Generator::Paced | Generator::PacedAwake => {
                return None;
            }
            Generator::Peer(peer) => (Path::new(peer.name()), peer.version_words()?),
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

    /// The command line for `load`; responses have `response_bytes`, head included.
    pub fn command(self, setup: &Setup, load: &Load, response_bytes: usize) -> Command {
        let url = setup.url(load);
        let connections = load.connections.to_string();
        let seconds = load.seconds.to_string();
        let span = format!("{seconds}s");
        let (c, d) = (connections.as_str(), span.as_str());
        let (program, flags): (&Path, &[&str]) = match self {
            Generator::Bare | Generator::BareAwake | Generator::Paced | Generator::PacedAwake => {
                return self.own(setup, load, response_bytes);
            }
            Generator::Peer(peer) => return peer.command(load, &url, &setup.folder),
            Generator::Abx | Generator::AbxTwo => {
                (&setup.abx, &["run", "-q", "--json", "-", "-c", c, "-d", d])
            }
            Generator::Wrk => (
                Path::new("wrk"),
                &["-t", "1", "-c", c, "-d", d, "--timeout", "10s"],
            ),
            // Its time limit sets a limit of 50,000 requests, unless a higher one
            // follows, for which it reserves address space.
            Generator::Ab => (
                Path::new("ab"),
                &["-q", "-t", &seconds, "-n", "10000000", "-c", c],
            ),
            Generator::H2load => (Path::new("h2load"), &["-t", "1", "-c", c, "-D", &seconds]),
            // -w: requests in flight at the end are not failures.
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
        command.arg(url);
        command
    }

    /// The command line of a bare loop.
    fn own(self, setup: &Setup, load: &Load, response_bytes: usize) -> Command {
        let (program, [last, more]) = match (self, load.rate) {
            (Generator::Paced, Some(rate)) => ("paced", [rate.to_string(), "0".to_owned()]),
            (_, Some(rate)) => ("paced", [rate.to_string(), AWAKE_US.to_owned()]),
            (_, None) => {
                let mode = if load.keep_alive { "keep" } else { "close" };
                ("bare", [mode.to_owned(), load.pipeline.to_string()])
            }
        };
        let mut command = Command::new(&setup.own);
        command.arg(program);
        command.args([setup.address.to_string(), format!("/{}", load.body_bytes)]);
        command.args([load.connections.to_string(), load.seconds.to_string()]);
        command.args([response_bytes.to_string(), last, more]);
        match self {
            Generator::Bare => command.arg("asleep"),
            Generator::BareAwake => command.arg("awake"),
            _ => &mut command,
        };
        command
    }

    /// The flags for connections, pipelines, rates and threads.
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
            Generator::H2load if !load.http2 => add(&["--h1"]),
            _ => {}
        }
        match self {
            Generator::Abx | Generator::Oha if load.http2 => add(&["--http2"]),
            _ => {}
        }
        if let Some(rate) = load.rate {
            match self {
                Generator::Abx | Generator::AbxTwo => add(&["-r", &rate.to_string()]),
                Generator::Oha => add(&["-q", &rate.to_string()]),
                // Its rate is per connection.
                Generator::H2load => {
                    add(&["--rps", &(rate as usize / load.connections).to_string()]);
                }
                _ => {}
            }
        }
        if load.pipeline > 1 {
            let script = setup.folder.join("pipeline.lua");
            let count = load.pipeline.to_string();
            let flag = if load.http2 {
                "--streams"
            } else {
                "--pipeline"
            };
            match self {
                Generator::Abx => add(&[flag, &count]),
                Generator::H2load => add(&["-m", &count]),
                Generator::Oha => add(&["-p", &count]),
                Generator::Wrk => add(&["-s", &script.to_string_lossy()]),
                _ => {}
            }
        }
        flags
    }

    /// Reads the output; `None` if a figure is missing.
    pub fn report(self, text: &str) -> Option<Report> {
        match self {
            Generator::Bare | Generator::BareAwake | Generator::Paced | Generator::PacedAwake => {
                reports::bare(text)
            }
            Generator::Peer(peer) => peer.report(text),
            Generator::Abx | Generator::AbxTwo => reports::abx(text),
            Generator::Wrk => reports::wrk(text),
            Generator::Ab => reports::ab(text),
            Generator::H2load => reports::h2load(text),
            Generator::Oha => reports::oha(text),
        }
    }
}

/// Writes the scripts of some generators: `pipeline.lua` and `k6.js`.
///
/// # Errors
/// If the scripts cannot be written.
pub fn write_scripts(setup: &Setup, load: &Load) -> std::io::Result<()> {
    let url = setup.url(load);
    std::fs::write(setup.folder.join("pipeline.lua"), pipeline_script(load))?;
    std::fs::write(setup.folder.join("k6.js"), peers::k6_script(load, &url))
}

/// The script with which wrk pipelines requests.
fn pipeline_script(load: &Load) -> String {
    format!(
        "local all\ninit = function()\n  local one = wrk.format(nil, '/{}')\n  \
         all = string.rep(one, {})\nend\nrequest = function() return all end\n",
        load.body_bytes, load.pipeline
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reports::Late;

    fn report(completed: u64, failed: u64, per_second: f64, silent: Option<u64>) -> Option<Report> {
        Some(Report {
            completed,
            failed,
            per_second,
            silent,
            late: None,
            awake_us: None,
        })
    }

    #[test]
    fn failures_in_a_report_are_counted() {
        // Method: a report of each tool with all kinds of failures that it distinguishes.
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
        let abx = r#"{"sent":9,"ok":7,"throughput_per_s":3.5,
                      "blocks":[{"loads":[{"slices":{"silent":[1]}}]}]}"#;
        let asleep = |report: Report| Report {
            awake_us: Some(0.0),
            ..report
        };
        let expected = report(7, 2, 3.5, Some(1)).map(asleep);
        assert_eq!(Generator::Abx.report(abx), expected);
        let bare = "requests 10 failures 1 silent 2 seconds 2.5\n";
        assert_eq!(Generator::Bare.report(bare), report(10, 1, 4.0, Some(2)));
    }

    #[test]
    fn the_time_waited_awake_is_read_from_reports_that_have_it() {
        // Method: both tools that report it.
        let bare = "requests 10 failures 1 silent 2 awake_us 7 seconds 2.5\n";
        let awake = Generator::BareAwake.report(bare).unwrap().awake_us;
        assert_eq!(awake, Some(7.0));
        let abx = r#"{"sent":9,"ok":9,"throughput_per_s":3.5,
                      "blocks":[{"loads":[{"slices":{"waiting_awake_ns":[500000000]}}]}]}"#;
        assert_eq!(Generator::Abx.report(abx).unwrap().awake_us, Some(5e5));
    }

    #[test]
    fn the_lateness_of_requests_is_read_from_reports_that_have_it() {
        // Method: both tools that report it, among other figures.
        let late = Some(Late {
            median_us: 1.5,
            p99_us: 30.0,
        });
        let paced = "requests 10 failures 0 silent 0 seconds 2.5 late_p50_us 1.5 late_p99_us 30\n";
        let report = Generator::Paced.report(paced).unwrap();
        assert_eq!(report.late, late);
        let abx = r#"{"sent":9,"ok":9,"throughput_per_s":3.5,
                      "lateness_us":{"p50":1.5,"p90":7.0,"p99":30,"max":99}}"#;
        assert_eq!(Generator::Abx.report(abx).unwrap().late, late);
    }

    #[test]
    fn a_report_without_its_figures_is_none() {
        // Method: empty output, and unrelated words.
        for generator in Generator::OWN_AND_RIVALS {
            assert_eq!(generator.report(""), None);
            assert_eq!(generator.report("Killed"), None);
        }
    }
}
