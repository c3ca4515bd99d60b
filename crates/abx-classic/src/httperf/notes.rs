//! Notes on what the report hides or misstates, and the command that shows it.

use super::figures::{HttperfFailure, HttperfFigures};
use super::options::{HttperfOptions, HttperfUris};
use super::pace::HttperfPace;
use super::session_figures::SessionFigures;
use super::tls_options::HttperfTlsOptions;
use super::values::short_number;

/// Connections are late if they begin at less than this share of the rate.
const LATE_BELOW: f64 = 0.95;
/// Over shorter times, one late connection would look like a low rate, in ns.
const LATE_WITHIN: u64 = 100_000_000;
/// Above this share of a CPU, this client may be the limit.
const BUSY: f64 = 0.9;

/// Notes on the report of this load; the last one is a command.
#[must_use]
pub fn notes(options: &HttperfOptions, figures: &HttperfFigures) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |applies: bool, text: String| {
        if applies {
            notes.push(text);
        }
    };
    let unbegun = unbegun(figures);
    note(
        unbegun > 0,
        format!(
            "connections not opened, because this machine had no descriptor or port left: \
             {unbegun}; the load was smaller than requested"
        ),
    );
    let is_plain = options.session.load.is_none();
    if let (&HttperfPace::Rate(rate), Some(begun), true) =
        (&options.pace, figures.begun_per_second(), is_plain)
    {
        note(
            begun < LATE_BELOW * rate && figures.begun_within_ns() > LATE_WITHIN,
            format!(
                "connections began at {begun:.1}/s instead of {}/s: this client is the limit, and \
                 the figures hold for the lower rate",
                short_number(rate)
            ),
        );
    }
    let cut = figures.cut_replies;
    note(
        cut > 0,
        format!("replies that the server cut off: {cut}; they still count as replies"),
    );
    let [_, _, _, client_errors, server_errors] = figures.statuses;
    let errors = client_errors + server_errors;
    note(
        errors > 0,
        format!(
            "errors (4xx, 5xx) among the replies: {errors} of {}; rates and times include them",
            figures.replies
        ),
    );
    let failed = figures.sessions.as_ref().and_then(SessionFigures::failed);
    note(failed.is_some(), failed.unwrap_or_default());
    let timeouts = figures.count_of(HttperfFailure::ClientTimeout);
    note(
        timeouts > 0,
        format!("connections that timed out: {timeouts}; no reply time includes their wait"),
    );
    let busy = busy(figures);
    note(
        busy > BUSY && figures.duration_ns > LATE_WITHIN,
        format!(
            "this client used {:.0} % of a CPU and may be the limit itself (httperf always shows \
             about 100 %; abx sleeps when idle)",
            100.0 * busy
        ),
    );
    note(
        figures.rates.count == 0 && figures.replies > 0,
        "the load lasted for less than 5 s: the reply rate has no sample, and its 0.0 is not a \
         measurement"
            .to_owned(),
    );
    if !notes.is_empty() && can_run(options) {
        let command = same_load(options, figures);
        notes.push(format!(
            "with percentiles, verified replies and findings: {command}"
        ));
    }
    notes
}

/// Whether `abx run` can generate a load like this one.
fn can_run(options: &HttperfOptions) -> bool {
    let is_steady = !matches!(options.pace, HttperfPace::Steps(_));
    is_steady && options.uris == HttperfUris::One && options.session.load.is_none()
}

/// Failures before a connection could begin.
const UNBEGUN: [HttperfFailure; 3] = [
    HttperfFailure::DescriptorUnavailable,
    HttperfFailure::AddressUnavailable,
    HttperfFailure::FileTableFull,
];

/// The share of a CPU that this client used.
fn busy(figures: &HttperfFigures) -> f64 {
    let used = (figures.cpu.user_ns + figures.cpu.system_ns) as f64;
    used / figures.duration_ns.max(1) as f64
}

fn unbegun(figures: &HttperfFigures) -> u64 {
    let counts = UNBEGUN.map(|failure| figures.count_of(failure));
    counts.iter().sum()
}

/// The `abx run` command for the same load.
fn same_load(options: &HttperfOptions, figures: &HttperfFigures) -> String {
    let scheme = if options.ssl { "https" } else { "http" };
    let server = if options.server.contains(':') {
        format!("[{}]", options.server)
    } else {
        options.server.clone()
    };
    let slash = if options.uri.starts_with('/') {
        ""
    } else {
        "/"
    };
    let url = format!("{scheme}://{server}:{}{slash}{}", options.port, options.uri);
    let mut words = vec!["abx run".to_owned(), quoted(&url)];
    words.push(format!("--calls {}", options.num_calls));
    match options.pace.rate() {
        None => words.push("-c 1".to_owned()),
        Some(rate) => {
            let connections = (2 * figures.open_max).clamp(10, 1000);
            // `abx run` accepts three decimals.
            let rate = (rate * 1000.0).round().max(1.0) / 1000.0;
            words.push(format!("-c {connections} -r {rate}"));
        }
    }
    let calls = u64::from(options.num_calls);
    words.push(match options.runtime_s {
        Some(runtime_s) => format!("-d {}ms", (runtime_s * 1e3).ceil()),
        None => format!("-n {}", options.num_conns.saturating_mul(calls)),
    });
    if options.is_http10 {
        words.push("--http1.0".to_owned());
    }
    if let Some(method) = &options.method {
        words.push(format!("-m {}", quoted(method)));
    }
    if let Some((bytes, _)) = &options.add_header {
        let headers = String::from_utf8_lossy(bytes);
        for header in headers.lines().filter(|line| !line.is_empty()) {
            words.push(format!("-H {}", quoted(header)));
        }
    }
    if let Some(name) = &options.server_name {
        words.push(format!("-H {}", quoted(&format!("Host: {name}"))));
    }
    if options.ssl {
        words.extend(of_tls(&options.tls));
    }
    words.join(" ")
}

/// The TLS flags of `abx run`, which has none for cipher suites.
fn of_tls(tls: &HttperfTlsOptions) -> Vec<String> {
    let mut words = Vec::new();
    let mut add = |flag: &str, value: Option<&str>| {
        words.extend(value.map(|value| format!("{flag} {}", quoted(value))));
    };
    add("--ca", tls.ca_file.as_deref());
    add("--cert", tls.certificate.as_deref());
    add("--key", tls.key.as_deref());
    let version = tls.version.map(|version| version.name());
    add(
        "--tls-version",
        version.map(|name| name.trim_start_matches("TLSv")),
    );
    if !tls.verifies {
        words.push("--insecure".to_owned());
    }
    words
}

/// A word quoted for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@%+=,".contains(&byte);
    if word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{HttperfCommand, HttperfCpu, HttperfReply};
    use super::*;

    fn options(line: &str) -> HttperfOptions {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match HttperfCommand::parse(&words).unwrap() {
            HttperfCommand::Load(options) => *options,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn reply(status: u16, is_cut: bool) -> HttperfReply {
        HttperfReply {
            status,
            header_bytes: 1,
            content_bytes: 1,
            footer_bytes: 0,
            response_ns: 1,
            transfer_ns: 1,
            is_cut,
        }
    }

    /// A load of ten seconds with ten connections at this distance.
    fn figures(gap_ns: u64) -> HttperfFigures {
        let mut figures = HttperfFigures::default();
        for connection in 0..10 {
            figures.begins(connection * gap_ns, 1, 1);
            figures.responded(&reply(200, false));
        }
        figures.samples(HttperfFigures::SAMPLE_NS);
        figures.finish(10_000_000_000, HttperfCpu::default());
        figures
    }

    #[test]
    fn a_load_as_requested_has_no_notes() {
        // Method: the requested rate, and no rate at all.
        let hundred = options("--rate 100");
        assert!(notes(&hundred, &figures(10_000_000)).is_empty());
        assert!(notes(&options(""), &figures(1_000_000_000)).is_empty());
    }

    #[test]
    fn each_hidden_fact_has_a_note_and_a_command() {
        // Method: one cause per note; the last note is always the command.
        type Change = fn(&mut HttperfFigures);
        let causes: [(Change, &str); 6] = [
            (
                |figures| figures.fails(HttperfFailure::DescriptorUnavailable),
                "or port left: 1;",
            ),
            (
                |figures| figures.responded(&reply(200, true)),
                "cut off: 1;",
            ),
            (
                |figures| figures.responded(&reply(503, false)),
                "among the replies: 1 of 11;",
            ),
            (
                |figures| figures.fails(HttperfFailure::ClientTimeout),
                "timed out: 1;",
            ),
            (
                |figures| {
                    let cpu = HttperfCpu {
                        user_ns: 9_500_000_000,
                        system_ns: 0,
                    };
                    figures.finish(10_000_000_000, cpu);
                },
                "used 95 % of a CPU",
            ),
            (
                |figures| {
                    figures.begins(1_000_000_000, 1, 1);
                },
                "began at 10.0/s instead of 100/s",
            ),
        ];
        let options = options("--server a --port 8080 --rate 100 --num-conns 10 --num-calls 2");
        for (change, message) in causes {
            let mut figures = figures(10_000_000);
            change(&mut figures);
            let notes = notes(&options, &figures);
            assert_eq!(notes.len(), 2, "{notes:?}");
            assert!(notes[0].contains(message), "{notes:?}");
            assert!(notes[1].ends_with("abx run http://a:8080/ --calls 2 -c 10 -r 100 -n 20"));
        }
        let mut short = HttperfFigures::default();
        short.responded(&reply(200, false));
        assert!(notes(&options, &short)[0].contains("no sample"));
    }

    #[test]
    fn the_same_load_is_quoted_for_a_shell() {
        // Method: all options of a load, in two command lines.
        let line = "--server ::1 --ssl --uri /a?b='c' --http-version 1.0 --method PUT \
            --add-header A:b'c\\n --server-name x.org --period e0.0001";
        let expected = r"abx run 'https://[::1]:443/a?b='\''c'\''' --calls 1 -c 10 -r 10000 -n 1 \
            --http1.0 -m PUT -H 'A:b'\''c' -H 'Host: x.org' --insecure";
        let expected = expected.replace("\\\n            ", "");
        let message = same_load(&options(line), &HttperfFigures::default());
        assert_eq!(message, expected);
        let line =
            "--server a --ssl --ssl-verify --ssl-ca-file c --ssl-protocol TLSv1.2 --runtime 0.5";
        let message = same_load(&options(line), &HttperfFigures::default());
        let expected = "abx run https://a:443/ --calls 1 -c 1 -d 500ms --ca c --tls-version 1.2";
        assert_eq!(message, expected);
    }
}
