//! Known response times: the reports of load generators on a server that stalls for 100 ms in every
//! second.
//!
//!     truth stall --abx FILE [--oha FILE] [--seconds N]
//!
//! A tenth of all requests that arrive at random times meet a stall, and wait for the rest of it,
//! up to 100 ms. Therefore, half of all response times are near zero, 95 % are at most 50 ms, 99 %
//! at most 90 ms, 99.9 % at most 99 ms, and none is above 100 ms. The server runs on the first
//! processor, one generator at a time on the last, with 2,000 requests per second over 50
//! connections if it supports a rate.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use abx_bench::child;
use abx_bench::command_line::CommandLine;
use abx_bench::folder::Folder;
use serde_json::Value;

use crate::Outcome;

const CONNECTIONS: &str = "50";
const RATE: &str = "2000";
/// How long the server may take to listen.
const PATIENCE: Duration = Duration::from_secs(10);
/// How much longer than its load a generator may take.
const OVERTIME: Duration = Duration::from_secs(20);

/// p50, p95, p99, p99.9 and the maximum, in ms; `None` if a tool does not report it.
type Times = [Option<f64>; 5];

const TRUTH: Times = [Some(0.0), Some(50.0), Some(90.0), Some(99.0), Some(100.0)];

struct Options {
    abx: PathBuf,
    oha: PathBuf,
    seconds: u64,
}

/// Has each generator load the stalling server.
pub fn run(words: impl Iterator<Item = String>) -> Outcome {
    const USAGE: &str = "usage: truth stall --abx FILE [--oha FILE] [--seconds N]";
    let line = CommandLine::read(words, USAGE, &["--abx", "--oha", "--seconds"], &[])?;
    let options = Options {
        abx: line.program("--abx")?,
        oha: line.value("--oha", PathBuf::from("oha"))?,
        seconds: line.value("--seconds", 30)?,
    };
    let cpus = child::processors()?;
    let (Some(first), Some(last)) = (cpus.first(), cpus.last()) else {
        return Err("no processor may be used".into());
    };
    let folder = Folder::new("stall")?;
    child::pin(*first)?;
    let server = Server::start(&options.abx)?;
    child::pin(*last)?;
    measure(&options, &server, folder.path())
}

fn measure(options: &Options, server: &Server, folder: &Path) -> Outcome {
    let mut stdout = io::stdout().lock();
    let head = "ms                             p50     p95     p99   p99.9     max";
    writeln!(stdout, "{head}\n{}", row("what is true", &TRUTH))?;
    let url = format!("http://{}/", server.address);
    for (name, command, read) in tools(options, &url) {
        let ended = child::run(
            command,
            folder,
            Duration::from_secs(options.seconds) + OVERTIME,
        );
        let times = ended.ok().and_then(|ended| read(&ended.stdout));
        match times {
            Some(times) => writeln!(stdout, "{}", row(name, &times))?,
            None => writeln!(stdout, "{name:<26} not run")?,
        }
    }
    Ok(())
}

type Tool = (&'static str, Command, fn(&str) -> Option<Times>);

fn tools(options: &Options, url: &str) -> Vec<Tool> {
    let span = format!("{}s", options.seconds);
    let command = |program: &Path, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).arg(url);
        command
    };
    let abx = [
        "run",
        "-q",
        "--json",
        "-",
        "-t",
        "1",
        "-c",
        CONNECTIONS,
        "-r",
        RATE,
        "-d",
        &span,
    ];
    let oha = [
        "--no-tui",
        "--output-format",
        "json",
        "-c",
        CONNECTIONS,
        "-q",
        RATE,
        "-z",
        &span,
    ];
    let corrected = [&["--latency-correction"][..], &oha].concat();
    let wrk = ["-t", "1", "-c", CONNECTIONS, "-d", &span, "--latency"];
    vec![
        ("abx, response time", command(&options.abx, &abx), |text| {
            abx_times(text, "response")
        }),
        ("abx, service time", command(&options.abx, &abx), |text| {
            abx_times(text, "service")
        }),
        ("oha", command(&options.oha, &oha), oha_times),
        (
            "oha, --latency-correction",
            command(&options.oha, &corrected),
            oha_times,
        ),
        (
            "wrk, closed loop",
            command(Path::new("wrk"), &wrk),
            wrk_times,
        ),
    ]
}

fn row(name: &str, times: &Times) -> String {
    let shown = |time: &Option<f64>| match time {
        Some(ms) => format!("{ms:8.1}"),
        None => format!("{:>8}", "-"),
    };
    let shown: String = times.iter().map(shown).collect();
    format!("{name:<26}{shown}")
}

fn abx_times(text: &str, which: &str) -> Option<Times> {
    let record: Value = serde_json::from_str(text).ok()?;
    let times = &record[format!("{which}_time_us")];
    let names = ["p50", "p95", "p99", "p99_9", "max"];
    Some(names.map(|name| times[name].as_f64().map(|us| us / 1e3)))
}

fn oha_times(text: &str) -> Option<Times> {
    let report: Value = serde_json::from_str(text).ok()?;
    let quantiles = &report["latencyPercentiles"];
    let ms = |value: &Value| value.as_f64().map(|seconds| seconds * 1e3);
    let [p50, p95, p99, p99_9] = ["p50", "p95", "p99", "p99.9"].map(|name| ms(&quantiles[name]));
    Some([p50, p95, p99, p99_9, ms(&report["summary"]["slowest"])])
}

fn wrk_times(text: &str) -> Option<Times> {
    let after = |label: &str, place: usize| {
        let line = text
            .lines()
            .map(str::trim)
            .find(|line| line.starts_with(label))?;
        wrk_ms(line.split_whitespace().nth(place)?)
    };
    Some([
        after("50%", 1),
        None,
        after("99%", 1),
        None,
        after("Latency  ", 3),
    ])
}

/// `169.00us`, `4.43ms` or `1.02s`, in ms.
fn wrk_ms(text: &str) -> Option<f64> {
    let unit = text.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
    let factor = match unit {
        "us" => 1e-3,
        "ms" => 1.0,
        "s" => 1e3,
        _ => return None,
    };
    Some(number * factor)
}

/// The built-in server, stalling; it ends when this is dropped.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(abx: &Path) -> Outcome<Server> {
        // The port was just free. If another process takes it, the server ends with an error.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let port = address.port().to_string();
        let mut child = Command::new(abx)
            .args(["serve", "--port", &port, "--stall", "100ms/1s"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(address).is_err() {
            if Instant::now() >= deadline || child.try_wait()?.is_some() {
                let _ = child.kill();
                return Err("the server does not listen".into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(Server { child, address })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Only fails if the process has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read_in_ms() {
        // Method: the lines of each report that contain times, in each unit.
        let wrk = "    Latency     4.38ms   15.28ms 100.62ms   93.91%\n     50%  169.00us\n\
                   \x20    99%    1.02s\n";
        assert_eq!(
            wrk_times(wrk),
            Some([Some(0.169), None, Some(1020.0), None, Some(100.62)])
        );
        let abx =
            r#"{"response_time_us":{"p50":1000,"p95":2000,"p99":3000,"p99_9":4000,"max":5000}}"#;
        let expected = [1.0, 2.0, 3.0, 4.0, 5.0].map(Some);
        assert_eq!(abx_times(abx, "response"), Some(expected));
        let oha = r#"{"summary":{"slowest":0.005},"latencyPercentiles":{"p50":0.001,"p95":0.002,"p99":0.003,"p99.9":0.004}}"#;
        assert_eq!(oha_times(oha), Some(expected));
        assert_eq!((oha_times("x"), wrk_ms("5")), (None, None));
    }
}
