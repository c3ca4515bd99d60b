//! Load generators that are also measured if they are on the PATH. They are never installed for
//! this, and no goal refers to them.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::generators::Load;
use crate::reports::{Report, number_after};

/// A generator that may be absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peer {
    Hey,
    Vegeta,
    Bombardier,
    /// k6, in Go, with scripts.
    K6,
    Autocannon,
    /// gcannon, in C over `io_uring`.
    Gcannon,
}

impl Peer {
    /// All peers.
    pub const ALL: [Peer; 6] = [
        Peer::Hey,
        Peer::Vegeta,
        Peer::Bombardier,
        Peer::K6,
        Peer::Autocannon,
        Peer::Gcannon,
    ];

    /// The name of the generator and of its program.
    pub fn name(self) -> &'static str {
        match self {
            Peer::Hey => "hey",
            Peer::Vegeta => "vegeta",
            Peer::Bombardier => "bombardier",
            Peer::K6 => "k6",
            Peer::Autocannon => "autocannon",
            Peer::Gcannon => "gcannon",
        }
    }

    /// The peers on this machine.
    pub fn found() -> impl Iterator<Item = Peer> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Peer::ALL.into_iter().filter(move |peer| {
            std::env::split_paths(&path).any(|folder| folder.join(peer.name()).is_file())
        })
    }

    /// The argument that prints the version; hey and gcannon have none.
    pub fn version_words(self) -> Option<&'static str> {
        match self {
            Peer::Hey | Peer::Gcannon => None,
            Peer::K6 => Some("version"),
            Peer::Vegeta | Peer::Bombardier | Peer::Autocannon => Some("--version"),
        }
    }

    /// Why the generator cannot generate this load, if it cannot.
    pub fn refusal(self, load: &Load) -> Option<&'static str> {
        match self {
            Peer::Autocannon if !load.keep_alive => Some("it keeps its connections"),
            Peer::Gcannon if load.rate.is_some() => Some("it has no rate"),
            Peer::Autocannon | Peer::Gcannon => None,
            _ if load.pipeline > 1 => Some("it has no pipelines"),
            _ => None,
        }
    }

    /// The command line for `load` on `url`; `folder` contains its script, if it has one.
    pub fn command(self, load: &Load, url: &str, folder: &Path) -> Command {
        match self {
            Peer::Hey => hey(load, url),
            Peer::Vegeta => vegeta(load, url),
            Peer::Bombardier => bombardier(load, url),
            Peer::K6 => k6(folder),
            Peer::Autocannon => autocannon(load, url),
            Peer::Gcannon => gcannon(load, url),
        }
    }

    /// Reads the output; `None` if a figure is missing.
    pub fn report(self, text: &str) -> Option<Report> {
        match self {
            Peer::Hey => hey_report(text),
            Peer::Vegeta => vegeta_report(&serde_json::from_str(text).ok()?),
            Peer::Bombardier => bombardier_report(&serde_json::from_str(text).ok()?),
            Peer::K6 => k6_report(&serde_json::from_str(text).ok()?),
            Peer::Autocannon => autocannon_report(&serde_json::from_str(text).ok()?),
            Peer::Gcannon => gcannon_report(&serde_json::from_str(text).ok()?),
        }
    }
}

fn command(program: &str, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(words);
    command
}

fn hey(load: &Load, url: &str) -> Command {
    let (connections, span) = (load.connections.to_string(), format!("{}s", load.seconds));
    let mut hey = command("hey", &["-t", "10", "-c", &connections, "-z", &span]);
    if let Some(rate) = load.rate {
        // Its rate is per connection.
        let per_connection = f64::from(rate) / load.connections as f64;
        hey.args(["-q", &per_connection.to_string()]);
    }
    if !load.keep_alive {
        hey.arg("-disable-keepalive");
    }
    hey.arg(url);
    hey
}

fn hey_report(text: &str) -> Option<Report> {
    let (_, counts) = text.split_once("Status code distribution:")?;
    let (mut completed, mut failed) = (0, 0);
    // `[200] 9 responses`, and under errors `[2] what happened`.
    for line in counts.lines() {
        let Some((code, rest)) = line
            .trim()
            .strip_prefix('[')
            .and_then(|line| line.split_once(']'))
        else {
            continue;
        };
        match (code, rest.trim().strip_suffix(" responses")) {
            ("200", Some(count)) => completed += count.parse::<u64>().ok()?,
            (_, Some(count)) => failed += count.parse::<u64>().ok()?,
            (count, None) => failed += count.parse::<u64>().ok()?,
        }
    }
    Some(Report {
        completed,
        failed,
        per_second: number_after(text, "Requests/sec:")?,
        silent: None,
        late: None,
        awake_us: None,
    })
}

fn vegeta(load: &Load, url: &str) -> Command {
    let keep_alive = load.keep_alive;
    let connections = load.connections;
    // It consists of two programs, whose costs the shell adds up. Rate 0 is as fast as its workers
    // can send.
    let script = format!(
        "echo GET {url} | vegeta attack -duration {}s -timeout 10s -keepalive={keep_alive} \
         -rate {} -workers {connections} -max-workers {connections} -connections {connections} \
         | vegeta report -type=json",
        load.seconds,
        load.rate.unwrap_or(0)
    );
    command("sh", &["-c", &script])
}

fn vegeta_report(report: &Value) -> Option<Report> {
    let completed = report["status_codes"]["200"].as_u64().unwrap_or(0);
    Some(Report {
        completed,
        failed: report["requests"].as_u64()?.checked_sub(completed)?,
        per_second: report["throughput"].as_f64()?,
        silent: None,
        late: None,
        awake_us: None,
    })
}

fn bombardier(load: &Load, url: &str) -> Command {
    let (connections, span) = (load.connections.to_string(), format!("{}s", load.seconds));
    let words = ["-o", "json", "-p", "r", "-t", "10s", "-c", &connections];
    let mut bombardier = command("bombardier", &words);
    bombardier.args(["-d", &span]);
    if let Some(rate) = load.rate {
        bombardier.args(["-r", &rate.to_string()]);
    }
    if !load.keep_alive {
        bombardier.arg("-a");
    }
    bombardier.arg(url);
    bombardier
}

fn bombardier_report(report: &Value) -> Option<Report> {
    let result = &report["result"];
    let completed = result["req2xx"].as_u64()?;
    let others = ["req1xx", "req3xx", "req4xx", "req5xx", "others"];
    Some(Report {
        completed,
        failed: others
            .iter()
            .map(|name| result[name].as_u64())
            .sum::<Option<u64>>()?,
        per_second: completed as f64 / result["timeTakenSeconds"].as_f64()?,
        silent: None,
        late: None,
        awake_us: None,
    })
}

fn k6(folder: &Path) -> Command {
    let script = folder.join("k6.js");
    let words = ["run", "--quiet", "--no-usage-report"];
    let mut k6 = command("k6", &words);
    k6.arg(script);
    k6
}

/// The script of k6, which cannot generate a load with a rate from flags alone.
pub fn k6_script(load: &Load, url: &str) -> String {
    let (connections, seconds) = (load.connections, load.seconds);
    let scenario = match load.rate {
        None => format!("executor: 'constant-vus', vus: {connections}"),
        Some(rate) => format!(
            "executor: 'constant-arrival-rate', rate: {rate}, preAllocatedVUs: {connections}, \
             maxVUs: {connections}"
        ),
    };
    format!(
        "import http from 'k6/http';
export const options = {{
  discardResponseBodies: true,
  noConnectionReuse: {},
  scenarios: {{ all: {{ {scenario}, duration: '{seconds}s' }} }},
}};
export default function () {{ http.get('{url}'); }}
export function handleSummary(data) {{
  const failed = data.metrics.http_req_failed, all = data.metrics.http_reqs;
  return {{ stdout: JSON.stringify({{
    requests: all.values.count, per_second: all.values.rate, failed: failed.values.passes,
  }}) }};
}}
",
        !load.keep_alive
    )
}

fn k6_report(report: &Value) -> Option<Report> {
    let failed = report["failed"].as_u64()?;
    Some(Report {
        completed: report["requests"].as_u64()?.checked_sub(failed)?,
        failed,
        per_second: report["per_second"].as_f64()?,
        silent: None,
        late: None,
        awake_us: None,
    })
}

fn autocannon(load: &Load, url: &str) -> Command {
    let (connections, seconds) = (load.connections.to_string(), load.seconds.to_string());
    let words = ["-j", "-n", "-c", &connections, "-d", &seconds];
    let mut autocannon = command("autocannon", &words);
    autocannon.args(["-p", &load.pipeline.to_string()]);
    if let Some(rate) = load.rate {
        autocannon.args(["-R", &rate.to_string()]);
    }
    autocannon.arg(url);
    autocannon
}

fn autocannon_report(report: &Value) -> Option<Report> {
    let completed = report["2xx"].as_u64()?;
    Some(Report {
        completed,
        // Errors include timeouts.
        failed: report["non2xx"].as_u64()? + report["errors"].as_u64()?,
        per_second: completed as f64 / report["duration"].as_f64()?,
        silent: None,
        late: None,
        awake_us: None,
    })
}

fn gcannon(load: &Load, url: &str) -> Command {
    let (connections, span) = (load.connections.to_string(), format!("{}s", load.seconds));
    let words = [url, "--json", "-t", "1", "-c", &connections, "-d", &span];
    let mut gcannon = command("gcannon", &words);
    gcannon.args(["-p", &load.pipeline.to_string()]);
    if !load.keep_alive {
        gcannon.args(["-r", "1"]);
    }
    gcannon
}

fn gcannon_report(report: &Value) -> Option<Report> {
    let sum = |value: &Value| -> Option<u64> {
        let counts = value.as_object()?.values();
        counts.map(Value::as_u64).sum()
    };
    let completed = report["status"]["2xx"].as_u64()?;
    Some(Report {
        completed,
        failed: sum(&report["status"])? - completed + sum(&report["errors"])?,
        per_second: report["rps"].as_f64()?,
        silent: None,
        late: None,
        awake_us: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_in_a_peers_report_are_counted() {
        // Method: a report of each peer, as it prints or documents it, with all kinds of failures
        // that it distinguishes.
        let reports = [
            (
                Peer::Hey,
                "  Requests/sec:\t3.5\n\nStatus code distribution:\n  [200]\t7 responses\n  \
                 [404]\t1 responses\n\nError distribution:\n  [2]\tGet \"http://[::1]:1/\": refused\n",
            ),
            (
                Peer::Vegeta,
                r#"{"requests":10,"rate":9.9,"throughput":3.5,"status_codes":{"0":2,"200":7,"404":1}}"#,
            ),
            (
                Peer::Bombardier,
                r#"{"result":{"timeTakenSeconds":2.0,"req1xx":0,"req2xx":7,"req3xx":0,"req4xx":1,
                   "req5xx":0,"others":2}}"#,
            ),
            (Peer::K6, r#"{"requests":10,"per_second":3.5,"failed":3}"#),
            (
                Peer::Autocannon,
                r#"{"2xx":7,"non2xx":1,"errors":2,"timeouts":1,"duration":2.0}"#,
            ),
            (
                Peer::Gcannon,
                r#"{"rps":3.5,"status":{"2xx":7,"4xx":1,"other":0},
                   "errors":{"connect":1,"read":1,"timeout":0}}"#,
            ),
        ];
        for (peer, text) in reports {
            let expected = Report {
                completed: 7,
                failed: 3,
                per_second: 3.5,
                silent: None,
                late: None,
                awake_us: None,
            };
            assert_eq!(peer.report(text), Some(expected), "{peer:?}");
            assert_eq!(peer.report("Killed"), None, "{peer:?}");
            assert_eq!(peer.report("{}"), None, "{peer:?}");
        }
    }
}
