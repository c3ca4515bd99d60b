//! `abx ab` compared with the system's ab, on the same servers.

mod peer;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use crate::protocols::tls::{HELLO, Nginx};
use crate::support::{ABX, Ended, Home, Server};
use peer::AbPeer;

/// Parts of lines whose figures are times, which differ between runs.
const TIMED: [&str; 11] = [
    "Time taken",
    "Requests per second",
    "Time per request",
    "Transfer rate",
    "kb/s",
    "Connect:",
    "Processing:",
    "Waiting:",
    "Total:",
    "% ",
    "%  ",
];

/// Runs the system's ab and abx with the same arguments in the same folder.
fn both(home: &Home, words: &[&str]) -> [Ended; 2] {
    let mut system = Command::new("ab");
    home.settle(system.args(words));
    let system = home.run(&mut system);
    [system, home.run_abx(&[&["ab"][..], words].concat())]
}

/// A line with `#` in place of each figure that is a time. In a table, the column in which the
/// figure ends follows.
fn masked(line: &str) -> String {
    if !TIMED.iter().any(|word| line.contains(word)) {
        return line.to_owned();
    }
    let is_row = line.contains("% ")
        || line.ends_with(|last: char| last.is_ascii_digit())
        || line.matches("<td").count() == 3;
    let mut mask = String::new();
    let mut rest = line;
    while let Some(begin) = rest.find(|character: char| character.is_ascii_digit()) {
        let length =
            rest[begin..].find(|character: char| !character.is_ascii_digit() && character != '.');
        let end = length.map_or(rest.len(), |length| begin + length);
        let before = if is_row {
            rest[..begin].trim_end()
        } else {
            &rest[..begin]
        };
        mask.push_str(before);
        if is_row {
            mask.push_str(&format!("#{}", line.len() - rest.len() + end))
        } else {
            mask.push('#')
        }
        rest = &rest[end..];
    }
    mask + rest
}

/// A report's lines without the parts that depend on how times are spread.
fn structure(report: &str) -> Vec<String> {
    let hedges = [
        "WARNING: The median",
        "ERROR: The median",
        "        These results",
        "       deviation apart",
    ];
    let lines = report.lines();
    let lines = lines.filter(|line| !hedges.iter().any(|hedge| line.starts_with(hedge)));
    lines.map(masked).collect()
}

#[track_caller]
fn assert_same(home: &Home, words: &[&str]) -> Ended {
    let [system, of_abx] = both(home, words);
    assert_eq!(
        structure(&of_abx.stdout),
        structure(&system.stdout),
        "{words:?}"
    );
    assert_eq!(
        of_abx.status.code(),
        system.status.code(),
        "{words:?}: {of_abx:#?}"
    );
    let progress = |ended: &Ended| -> Vec<String> {
        let lines = ended
            .stderr
            .lines()
            .filter(|line| !line.starts_with("abx: "));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(progress(&of_abx), progress(&system), "{words:?}");
    of_abx
}

#[test]
fn reports_have_the_lines_of_the_systems_ab() {
    // Method: both load the same built-in server with the same arguments. Lines differ only in
    // times, which end in the same columns.
    let home = Home::new();
    home.write("body", "a=b\n");
    fs::create_dir(home.join("www")).unwrap();
    home.write("www/a", "hello world\n");
    let server = Server::start(&["--root", home.join("www").to_str().unwrap()]);
    let url = format!("{}a", server.url);
    for words in [
        "-n 20 -c 2",
        "-n 20 -c 2 -k",
        "-n 20 -c 2 -l -d",
        "-n 20 -c 2 -S",
        "-n 20 -c 2 -b 8192",
        "-n 20 -i -k",
        "-n 1",
        "-n 200 -c 3 -q",
        "-n 300 -c 3 -k",
        "-n 4 -w",
        "-n 4 -k -x border=1 -y class=r -z class=d",
    ] {
        let mut words: Vec<&str> = words.split(' ').collect();
        words.push(&url);
        assert_same(&home, &words);
    }
    let missing = format!("{}missing", server.url);
    for words in ["-n 20", "-n 20 -k -w"] {
        let mut words: Vec<&str> = words.split(' ').collect();
        words.push(&missing);
        let ended = assert_same(&home, &words);
        assert!(
            ended.stderr.contains("20 of 20 responses were not 2xx"),
            "{ended:#?}"
        );
    }
}

#[test]
fn bodies_are_sent_and_counted_as_by_the_systems_ab() {
    // Method: bodies, methods and fields, sent to a peer that records the requests. Both send the
    // same bytes.
    let home = Home::new();
    home.write("body", "a=b\n");
    let peer = AbPeer::start();
    let url = peer.url("/a");
    let cases: [&[&str]; 6] = [
        &["-n", "6", "-c", "2", "-p", "body", "-T", "text/x"],
        &["-n", "6", "-k", "-u", "body"],
        &["-n", "6", "-p", "body", "-w"],
        &["-n", "2", "-m", "DELETE", "-k"],
        &[
            "-n", "2", "-A", "u:p", "-P", "pu:pp", "-C", "a=1", "-H", "X-A: 1",
        ],
        &[
            "-n",
            "2",
            "-H",
            "Host: other",
            "-H",
            "Accept: x/y",
            "-H",
            "User-Agent: me",
        ],
    ];
    for words in cases {
        peer.forget();
        assert_same(&home, &[words, &[&url]].concat());
        let seen = peer.seen();
        // Each sends the requested number; the system's ab may have begun one more.
        assert!(seen.len() >= 4, "{seen:?}");
        assert!(seen.iter().all(|text| *text == seen[0]), "{seen:#?}");
    }
}

#[test]
fn a_proxy_receives_the_whole_url() {
    // Method: the peer is the proxy.
    let home = Home::new();
    let peer = AbPeer::start();
    let proxy = peer.address().to_string();
    let words = ["-n", "2", "-X", &proxy, "http://example.com/a"];
    assert_same(&home, &words);
    let seen = peer.seen();
    assert!(
        seen[0].starts_with("GET http://example.com/a HTTP/1.0\r\n"),
        "{seen:?}"
    );
    assert!(seen.iter().all(|text| *text == seen[0]), "{seen:#?}");
}

#[test]
fn tables_have_the_format_of_the_systems_ab() {
    // Method: the heads, rows and columns of both files, by each program.
    let home = Home::new();
    let server = Server::start(&[]);
    let shapes = |[csv, table]: [&str; 2]| {
        let csv = fs::read_to_string(home.join(csv)).unwrap();
        let percentages = csv
            .lines()
            .map(|line| line.split(',').next().unwrap().to_owned());
        let has_three_decimals = csv.lines().skip(1).all(|line| {
            line.rsplit('.')
                .next()
                .is_some_and(|decimals| decimals.len() == 3)
        });
        let table = fs::read_to_string(home.join(table)).unwrap();
        let head = table.lines().next().unwrap().to_owned();
        let rows = table.lines().skip(1);
        let columns: Vec<usize> = rows.clone().map(|row| row.split('\t').count()).collect();
        let date_widths: Vec<Option<usize>> = rows.map(|row| row.find('\t')).collect();
        (
            percentages.collect::<Vec<_>>(),
            has_three_decimals,
            head,
            columns,
            date_widths,
        )
    };
    let words = ["-q", "-n", "200", "-c", "2"];
    let mut system = Command::new("ab");
    system
        .args(words)
        .args(["-e", "s.csv", "-g", "s.tsv", &server.url]);
    home.settle(&mut system);
    home.run(&mut system).expect(0, &[]);
    let arguments = [
        &["ab"][..],
        &words[..],
        &["-e", "o.csv", "-g", "o.tsv", &server.url],
    ]
    .concat();
    home.run_abx(&arguments).expect(0, &[]);
    assert_eq!(shapes(["o.csv", "o.tsv"]), shapes(["s.csv", "s.tsv"]));
}

#[test]
fn failures_have_the_lines_and_codes_of_the_systems_ab() {
    // Method: a peer that resets every third connection, with -r and without; an address without a
    // server; a server that does not respond. The system's ab counts three failures for one reset,
    // so figures differ, but the lines are the same.
    let home = Home::new();
    let peer = AbPeer::start();
    let reset = peer.url("/reset");
    let [system, of_abx] = ["ab", ABX].map(|program| {
        peer.forget();
        let mut command = Command::new(program);
        command.args((program == ABX).then_some("ab"));
        command.args(["-r", "-n", "20", &reset]);
        home.settle(&mut command);
        home.run(&mut command)
    });
    let lines = |ended: &Ended| -> Vec<String> {
        let counts = ["Failed", "   (", "Total transferred", "HTML transferred"];
        let label = |line: String| {
            if counts.iter().any(|count| line.starts_with(count)) {
                line.split(':').next().unwrap().to_owned()
            } else {
                line
            }
        };
        structure(&ended.stdout).into_iter().map(label).collect()
    };
    assert_eq!(lines(&of_abx), lines(&system));
    of_abx.expect(0, &["6 of 20 requests failed"]);
    assert!(
        of_abx
            .stdout
            .contains("   (Connect: 0, Receive: 6, Length: 0, Exceptions: 0)\n"),
        "{of_abx:#?}"
    );
    for (words, code, line) in [
        (
            &["-n", "20", &reset][..],
            104,
            "apr_socket_recv: Connection reset by peer (104)",
        ),
        (
            &["-n", "5", "http://127.0.0.77:1/"],
            111,
            "apr_socket_recv: Connection refused (111)",
        ),
        (
            &["-s", "1", "-n", "2", &peer.url("/silent")],
            119,
            "apr_pollset_poll: The timeout specified has expired (70007)",
        ),
    ] {
        for ended in both(&home, words) {
            ended.expect(code, &[line]);
            assert!(!ended.stdout.contains("Requests per second"), "{ended:#?}");
        }
    }
    let vary = peer.url("/vary");
    peer.forget();
    let ended = home.run_abx(&["ab", "-n", "20", &vary]);
    ended.expect(0, &["10 of 20 requests failed"]);
    assert!(ended.stdout.contains("Length: 10"), "{ended:#?}");
    home.run_abx(&["ab", "-l", "-n", "20", &vary])
        .expect(0, &[]);
}

#[test]
fn words_that_ab_refuses_are_refused_in_the_same_way() {
    // Method: the exit code and the first message of both.
    let home = Home::new();
    home.write("body", "");
    for words in [
        "",
        "-j 2 http://127.0.0.1/",
        "http://127.0.0.1",
        "-n 0 http://127.0.0.1/",
        "-c 5 -n 2 http://127.0.0.1/",
        "-i -p body http://127.0.0.1/",
        "-p gone http://127.0.0.1/",
        "-h",
    ] {
        let arguments: Vec<&str> = words.split_whitespace().collect();
        let [system, ended] = both(&home, &arguments);
        assert_eq!(
            ended.status.code(),
            system.status.code(),
            "{words}: {ended:#?}"
        );
        assert_eq!(
            ended.stderr.lines().next(),
            system.stderr.lines().next(),
            "{words}"
        );
    }
    for flag in ["-Z AES", "-f SSL3"] {
        let words: Vec<&str> = ["ab"].into_iter().chain(flag.split(' ')).collect();
        let ended = home.run_abx(&[&words[..], &["http://127.0.0.1:1/"]].concat());
        ended.expect(22, &[&format!("abx ab: {}: ", &flag[..2])]);
    }
}

#[test]
fn output_next_to_the_report_equals_that_of_the_systems_ab() {
    // Method: the output at each level of -v, and that of -V.
    let home = Home::new();
    let peer = AbPeer::start();
    for path in ["/a", "/404"] {
        let url = peer.url(path);
        for level in ["2", "3", "4"] {
            assert_same(&home, &["-v", level, "-n", "2", &url]);
        }
    }
    let [system, ended] = both(&home, &["-V"]);
    assert_eq!((ended.stdout, ended.stderr), (system.stdout, system.stderr));
}

#[test]
fn the_negotiated_tls_is_reported_as_by_the_systems_ab() {
    // Method: the built-in server by its name and by its address, both versions.
    let home = Home::new();
    let server = Server::start(&["--tls-self-signed"]);
    let port = server.port();
    for host in ["localhost", "127.0.0.1"] {
        let url = format!("https://{host}:{port}/");
        let suite = "-f TLS1.2 -Z ECDHE-ECDSA-CHACHA20-POLY1305";
        for words in ["-f TLS1.2", "-f TLS1.3", "-I -k", suite] {
            let arguments: Vec<&str> = words.split(' ').chain(["-n", "4", &url]).collect();
            let [system, ended] = both(&home, &arguments);
            if words == suite {
                assert!(
                    ended
                        .stdout
                        .contains("TLSv1.2,ECDHE-ECDSA-CHACHA20-POLY1305,"),
                    "{ended:#?}"
                );
            }
            assert_eq!(comparable(&ended), comparable(&system), "{words} {host}");
        }
    }
}

/// The lines of a report over TLS without the chosen cipher and group, which TLS libraries may
/// prefer differently.
fn comparable(ended: &Ended) -> Vec<String> {
    let lines = structure(&ended.stdout).into_iter();
    let agreed = |line: String| match line.split_once(':') {
        Some(("SSL/TLS Protocol", value)) => {
            let parts: Vec<&str> = value.split(',').collect();
            format!("{} {}", parts[0], parts.len())
        }
        Some(("Server Temp Key", _)) => "a key".to_owned(),
        _ => line,
    };
    lines.map(agreed).collect()
}

#[test]
fn a_tls_proxy_receives_the_whole_url() {
    // Method: both with the same arguments through an nginx that logs the server name of the
    // handshake and the request, for a host name and for an address; then a proxy without TLS.
    let home = Home::new();
    let logged = "$ssl_server_name $request $http_host";
    let nginx = Nginx::logging(&home, "TLSv1.2 TLSv1.3", HELLO, logged);
    let proxy = format!("127.0.0.1:{}", nginx.port);
    for url in ["https://server.test/a", "https://127.0.0.9:9/b"] {
        let [system, ended] = both(&home, &["-n", "3", "-X", &proxy, url]);
        ended.expect(0, &[]);
        assert_eq!(comparable(&ended), comparable(&system), "{url}");
    }
    let mut log = nginx.log(&home);
    // Each sends three requests per URL; the system's ab may have begun one more.
    assert!(log.len() >= 12, "{log:#?}");
    log.dedup();
    assert_eq!(
        log,
        [
            "server.test GET https://server.test/a HTTP/1.0 server.test",
            "- GET https://127.0.0.9:9/b HTTP/1.0 127.0.0.9:9",
        ]
    );
    let peer = AbPeer::start();
    let proxy = peer.address().to_string();
    let ended = home.run_abx(&["ab", "-X", &proxy, "https://server.test/"]);
    ended.expect(
        1,
        &["does not request a tunnel (CONNECT)", "handshake failed"],
    );
    assert_eq!(peer.seen(), Vec::<String>::new());
}

#[test]
fn a_time_limit_ends_a_load_and_sets_its_requests() {
    // Method: one second of requests of 20 ms each, in which the 50,000 that -t implies are never
    // served; -n and -t in both orders.
    let home = Home::new();
    let server = Server::start(&["--delay", "20ms"]);
    let ended = home.run_abx(&["ab", "-n", "4", "-t", "1", "-c", "2", &server.url]);
    ended.expect(0, &["Finished ", "-t after -n replaces it"]);
    assert!(!ended.stderr.contains("Completed"), "{ended:#?}");
    let complete = ended
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("Complete requests:"));
    let complete: u64 = complete.unwrap().trim().parse().unwrap();
    assert!((3..=120).contains(&complete), "{ended:#?}");
    let ended = home.run_abx(&["ab", "-t", "60", "-n", "4", "-c", "2", "-S", &server.url]);
    ended.expect(0, &[]);
    assert!(
        ended.stdout.contains("Complete requests:      4\n"),
        "{ended:#?}"
    );
    assert_eq!(ended.stderr, "");
}

#[test]
fn wrappers_can_read_the_report() {
    // Method: the expressions of scripts that wrap ab, over the report of the system's ab and over
    // that of a link to abx named ab; then `abx audit` of the latter.
    let home = Home::new();
    let server = Server::start(&["--fail", "50"]);
    fs::create_dir(home.join("bin")).unwrap();
    symlink(ABX, home.join("bin/ab")).unwrap();
    let programs = [PathBuf::from("ab"), home.join("bin/ab")];
    for (program, file) in programs.iter().zip(["system.txt", "report.txt"]) {
        let mut command = Command::new(program);
        command.args(["-n", "100", "-c", "2", "-k", &server.url]);
        home.settle(&mut command);
        let ended = home.run(&mut command);
        ended.expect(0, &[]);
        home.write(file, &ended.stdout);
    }
    assert_read_by_wrappers(&home, "ab", &["system.txt", "report.txt"]);
    let audit = home.run_abx(&["audit", "report.txt", "--json", "-"]).json();
    let report = &audit["reports"][0];
    assert_eq!(report["tool"], "ab", "{audit}");
    assert_eq!(audit["reports"].as_array().unwrap().len(), 1, "{audit}");
    let text = audit["findings"].to_string();
    assert!(text.contains("error_responses"), "{audit}");
    assert!(!text.contains("contradiction"), "{audit}");
}

/// Asserts that scripts that wrap a tool find their figures in all these reports.
pub(super) fn assert_read_by_wrappers(home: &Home, tool: &str, reports: &[&str]) {
    home.write("wrappers.py", include_str!("../peers/wrappers.py"));
    let mut python = Command::new("python3");
    python.args(["wrappers.py", tool]).args(reports);
    home.settle(&mut python);
    home.run(&mut python).expect(0, &[]);
}
