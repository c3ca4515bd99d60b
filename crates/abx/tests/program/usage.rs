//! Exit code 2: requests that are not possible as given, and their remedies.

use std::fs;
use std::net::TcpListener;

use crate::support::{Home, Server, findings, subject};

#[test]
fn words_that_make_no_study_are_refused_with_the_remedy() {
    // Method: one wrong command line for each message. None may start anything.
    let home = Home::new();
    let touches = |name: &str| format!("{name}=sh -c 'touch started' {{port}}");
    let (first, same_name) = (touches("one"), touches("one"));
    let cases: &[(&[&str], &[&str])] = &[
        (&["ftp://127.0.0.1/", &first], &["ftp://", "not supported"]),
        (
            &["http://does-not-exist.invalid/", &first],
            &[
                "does-not-exist.invalid",
                "does not resolve",
                "check the name",
            ],
        ),
        (&["server", &first], &["`server`", "name=command"]),
        (&["a=server --port 80", &first], &["`a`", "{port}"]),
        (&["a b=server {port}", &first], &["`a b`", "letters"]),
        (&["a='server {port}", &first], &["`a`", "quote"]),
        (&[&first, &same_name], &["`one`", "its own name"]),
        (&[&first], &["one subject alone", "abx run", "--aa"]),
        (&["--aa", &first, "b=x {port}"], &["--aa", "2", "give one"]),
        (&["--aa"], &["--aa", "give one"]),
        (
            &["--against", "0000", &first],
            &["--rev OLD --rev . --build"],
        ),
        (&["--plan", "--aa", &first], &["--plan", "--aa"]),
        (&["--plan", &first], &["one subject alone"]),
        (&["--bocks", "1"], &["--bocks", "--blocks"]),
        (&["-c", "0"], &["--connections"]),
        (&["--blocks", "0"], &["--blocks"]),
        (&["--budget", "10"], &["--budget", "10s"]),
        (&["--slice", "0s"], &["--slice", "above zero"]),
        (&["--margin", "3"], &["--margin", "3%"]),
        (&["--margin=-1%"], &["--margin"]),
        (&["--path", "x"], &["--path", "begins with /"]),
        (&["--expect-body", "abc"], &["--expect-body", "sha256sum"]),
        (&["--expect-status", "99"], &["--expect-status"]),
        (&["--expect-status", "6xx"], &["--expect-status", "2xx"]),
        (&["-H", "Accept"], &["Name: value"]),
        (&["--stages", "1:9@1s"], &["stages", "abx run"]),
        (&["--install"], &["--install", "study file"]),
        (&["--trust", "a:1", "b:2"], &["leave --trust out"]),
    ];
    for (arguments, texts) in cases {
        let arguments = [&["compare"], *arguments].concat();
        home.run_abx(&arguments).expect(2, texts);
    }
    assert!(!home.join("started").exists());
    assert!(!home.join("state/abx").exists(), "a record of nothing");
}

#[test]
fn words_that_make_no_run_are_refused_with_the_remedy() {
    // Method: one wrong command line for each message.
    let home = Home::new();
    let server = Server::start(&[]);
    let url = server.url.as_str();
    let cases: &[(&[&str], &[&str])] = &[
        (&["run", "a@b"], &["http://a@b", "--user"]),
        (&["run", "ftp://127.0.0.1/"], &["not supported"]),
        (
            &["run", url, "-n", "1", "-d", "1s"],
            &["--requests", "--duration"],
        ),
        (&["run", url, "-n", "0"], &["--requests"]),
        (&["run", url, "-d", "0"], &["--duration", "10s"]),
        (&["run"], &["<URL>"]),
        (&["run", url, "-r", "0"], &["--rate", "above zero"]),
        (&["run", url, "-r", "x"], &["--rate", "20000"]),
        (&["run", url, "--arrivals", "poisson"], &["--rate 2000"]),
        (
            &["run", url, "--arrivals", "closed", "-r", "5"],
            &["--rate", "leave one"],
        ),
        (&["run", url, "--stages", "5"], &["--stages", "add a time"]),
        (
            &["run", url, "--stages", "5@1s", "-r", "5"],
            &["--stages", "--rate"],
        ),
        (&["run", url, "--pipeline", "0"], &["--pipeline"]),
        (&["run", url, "--calls", "0"], &["--calls"]),
        (
            &["run", url, "--local-address", "here"],
            &["--local-address"],
        ),
        (
            // An address for documentation (RFC 5737).
            &["run", url, "--local-address", "192.0.2.7"],
            &["no connection can come from 192.0.2.7"],
        ),
        (&["run", url, "--wait", "dozing"], &["--wait", "awake"]),
        (
            &["compare", "--pin", "shared", "--wait", "awake"],
            &["--wait awake", "share CPUs"],
        ),
        (
            &["run", url, "-n", "9", "--expect-status", "404"],
            &["200", "404", "--expect-status 200"],
        ),
        (&["report", "missing.json"], &["missing.json"]),
        (&["report", "c0ffee"], &["`c0ffee`", "abx history"]),
        (&["history", "--limit", "0"], &["--limit", "such as 20"]),
        (
            &["report", "/dev/null"],
            &["/dev/null", "not a regular file"],
        ),
        (&["repost"], &["repost", "report"]),
    ];
    for (arguments, texts) in cases {
        home.run_abx(arguments).expect(2, texts);
    }
}

#[test]
fn flags_that_would_have_no_effect_are_refused_with_the_remedy() {
    // Method: one wrong command line for each message.
    let home = Home::new();
    let server = Server::start(&[]);
    let url = server.url.as_str();
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["run", url, "--pipeline", "4", "--think", "1s"],
            &["--pipeline", "one request in flight"],
        ),
        (
            &["run", url, "--connection-stages", "1:1000@1s", "-c", "5"],
            &["--connection-stages", "raise -c to 1000"],
        ),
        (
            &["run", url, "--agents", "3", "-t", "2"],
            &["--agents", "add --bus URL"],
        ),
        (
            &["run", url, "--streams", "2", "--http1.1"],
            &["--streams", "add --http2"],
        ),
        (
            &["run", url, "--speed", "5", "-r", "100"],
            &["--speed", "add --replay FILE"],
        ),
        (
            &["run", url, "--replay-methods", "all", "--method", "GET"],
            &["--replay-methods", "add --replay FILE"],
        ),
        (
            &["history", "python", "--html", "x.html"],
            &["--html", "--trend STUDY"],
        ),
        (
            &["history", "--metric", "cpu", "--all"],
            &["--metric", "--trend STUDY"],
        ),
        (
            &["serve", "--tls-self-signed", "--tls-key", "nope"],
            &["--tls-self-signed", "--tls-key"],
        ),
        (
            &["serve", "--files", "read", "--page-bytes", "5"],
            &["--files", "--page-bytes"],
        ),
        (&["serve", "--fail", "150"], &["--fail", "from 0 to 100"]),
        (
            &["study", "run", "tls", "--build", "true"],
            &["--build", "`from.git`"],
        ),
        (
            &["study", "check", "tls", "--trust"],
            &["leave --trust out"],
        ),
        (
            &["study", "install", "tls", "--trust"],
            &["leave --trust out"],
        ),
        (&["study", "run", "tls", "--trust"], &["leave --trust out"]),
        (
            &["study", "run", "tsl"],
            &["no built-in study `tsl`", "`tls`", "study run PATH"],
        ),
        (&["compare", "--margin", "0%"], &["--margin", "above 0%"]),
        (&["run", url, "-H", "A b: c"], &["--header", "header name"]),
        (&["run", url, "--user"], &["--user", "a value is required"]),
    ];
    for (arguments, texts) in cases {
        home.run_abx(arguments).expect(2, texts);
    }
}

#[test]
fn no_help_lists_a_flag_that_its_command_refuses() {
    // Method: flags of each heading that other commands have and `abx bisect` and `abx study run`
    // refuse. Flags of studies in the catalog are listed with those of studies.
    let home = Home::new();
    let bisect = ["bisect", "HEAD~1", "HEAD", "./server {port}"];
    let study = ["study", "run", "tls"];
    for (command, words, text) in [
        (
            &bisect[..],
            &["--slo", "p99<50ms"][..],
            "a rate that abx has",
        ),
        (&bisect, &["--stages", "1:9@1s"], "stages take longer"),
        (&bisect, &["--connection-stages", "1:9@1s"], "stages take"),
        (&bisect, &["--insecure"], "--insecure is for https://"),
        (&bisect, &["--ca", "ca.pem"], "--ca is for https://"),
        (&bisect, &["--tls-version", "1.3"], "--tls-version is for"),
        (&study, &["--connections", "5"], "set `connections`"),
        (&study, &["--path", "/"], "set `requests.path`"),
        (&study, &["--replay", "a.log"], "set `requests.replay`"),
        (&study, &["--http2"], "set `protocol`"),
        (&study, &["--expect-status", "200"], "set `expect.status`"),
        (&study, &["--tls-resume"], "set `tls`"),
        (&study, &["--hold", "1s"], "set `hold`"),
        (&study, &["--scenario", "a.toml"], "set `scenario`"),
        (&study, &["--rev", "main"], "set `from.git`"),
        (&study, &["--repo", "."], "leave --repo out"),
        (&study, &["--http2-for", "a"], "set `http2 = true`"),
        (&study, &["--aa"], "--aa compares one subject"),
    ] {
        home.run_abx(&[command, words].concat()).expect(2, &[text]);
        let help = home.run_abx(&[command, &["--help"]].concat()).stdout;
        let flags = help
            .lines()
            .filter(|line| line.trim_start().starts_with('-'));
        let mut names = flags.flat_map(|line| line.split([' ', ',']));
        assert!(!names.any(|name| name == words[0]), "{command:?} {words:?}");
        assert!(help.contains("--budget"), "{help}");
    }
    let help = home.run_abx(&["study", "run", "--help"]).stdout;
    let (_, after) = help.split_once("\nStudy:\n").unwrap();
    let (of_studies, _) = after.split_once("\nMeasurement:\n").unwrap();
    for flag in ["--subjects", "--loads", "--quick", "--tiny", "--budget"] {
        assert!(of_studies.contains(&format!(" {flag}")), "{flag}: {help}");
    }
}

#[test]
fn a_plan_refuses_unused_flags_and_invalid_studies() {
    // Method: each flag about a report or a record, with subjects and with a study of the catalog;
    // then expectations about subjects and loads that the study does not have.
    let home = Home::new();
    let plan = |command: &[&str], words: &[&str]| {
        let words = [command, &["--plan"], words].concat();
        home.run_abx(&words)
    };
    let (compare, study) = (["compare"], ["study", "run", "tls"]);
    for words in [
        &["--json", "-"][..],
        &["--html", "a"],
        &["--markdown", "-"],
        &["--prometheus", "-"],
        &["--otlp", "http://127.0.0.1:4318"],
        &["--csv", "a"],
        &["--csv-comparisons", "a"],
        &["--svg", "a"],
        &["--hgrm", "a"],
        &["--folded", "a"],
        &["--junit", "a"],
        &["--full"],
        &["--explain-terms"],
        &["--label", "a"],
    ] {
        for command in [&compare[..], &study] {
            plan(command, words).expect(2, &["--plan", words[0], "cannot be used with"]);
        }
    }
    for (command, expectation, text) in [
        (
            &compare[..],
            "nwe > thread",
            "`nwe` is not a subject: choose",
        ),
        (&compare, "p99<50ms @ c8", "`c8` is not a load: choose from"),
        (&compare, "event !", "--expect: "),
        (&study, "nwe > old", "is not a subject: choose from"),
    ] {
        plan(command, &["--expect", expectation]).expect(2, &["--expect", text]);
    }
    plan(&compare, &["--expect", "event > 0.5 * thread", "--quiet"]).expect(0, &[]);
}

#[test]
fn an_invalid_value_leads_to_a_valid_one() {
    // Method: numbers with a unit, of zero, and beyond their bounds and their type; words in place
    // of numbers; and names in place of addresses. Each message has the flag, the value and an
    // example.
    let home = Home::new();
    let run = ["run", "http://127.0.0.1:9/"];
    let serve = ["serve", "--port", "0"];
    let above_zero = "is not a whole number above zero: give one such as ";
    for (command, flag, value, text) in [
        (&["compare"][..], "--blocks", "1k", above_zero),
        (&["compare"], "--blocks", "9999999999", "is too large: "),
        (&["compare"], "--rounds", "0", "from 1 to 10000: "),
        (&["compare"], "--seed", "x", "is not a whole number: "),
        (&run, "--calls", "0", above_zero),
        (&run, "--pipeline", "1025", "from 1 to 1024: "),
        (&run, "--streams", "two", "from 1 to 1024: "),
        (&run, "--count", "0", "from 1 to 10000: "),
        (&run, "--open-rate", "5k", "from 1 to 10000000: "),
        (&run, "--verify-every", "x", "is not a whole number: "),
        (&run, "--message-bytes", "x", "from 0 to 16777216: "),
        (&run, "--local-address", "here", "is not an IP address: "),
        (&serve, "--workers", "0", above_zero),
        (&serve, "--max-threads", "0", above_zero),
        (&serve, "--page-bytes", "1k", "is not a whole number: "),
        (&serve, "--address", "localhost", "is not an IP address: "),
        (&["serve"], "--port", "70000", "from 0 to 65535: "),
        (&["view"], "--address", "foo", "such as 127.0.0.1"),
        (&["view"], "--port", "http", "from 0 to 65535: "),
        (&["doctor"], "--seed", "x", "such as 42"),
        (&["history"], "--limit", "0", above_zero),
    ] {
        let ended = home.run_abx(&[command, &[flag, value]].concat());
        let cause = format!("'{value}' for '{flag} <");
        ended.expect(2, &[&cause, &format!("`{value}` "), text, "such as "]);
    }
}

#[test]
fn a_run_without_a_server_is_reported() {
    // Method: a port that was just freed, on which no process listens.
    let home = Home::new();
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", socket.local_addr().unwrap());
    drop(socket);
    home.run_abx(&["run", &url, "-n", "1"])
        .expect(2, &["did not respond", "refused"]);
    // If only one of two servers responds, the message suggests a run of it.
    let server = Server::start(&[]);
    let alone = format!("the other one alone: abx run {}", server.url);
    home.run_abx(&["compare", &server.url, &url])
        .expect(2, &["did not respond", "refused", &alone]);
}

#[test]
fn a_missing_command_is_named() {
    // Method: a program that does not exist, and a file that is no program.
    let home = Home::new();
    let good = subject("good", "");
    home.run_abx(&["compare", &good, "gone=no-such-server {port}"])
        .expect(2, &["gone", "`no-such-server`", "missing", "install it"]);
    home.write("plain", "");
    home.run_abx(&["compare", &good, "plain=./plain {port}"])
        .expect(2, &["plain", "chmod +x"]);
}

#[test]
fn a_wrong_status_names_the_path_and_both_remedies() {
    // Method: two servers of files, with a request for a file that is missing.
    let home = Home::new();
    home.write("index.html", "hello");
    let both = ["a", "b"].map(|name| subject(name, "--root ."));
    let texts = ["/missing", "404", "--path", "--expect-status 404"];
    home.run_abx(&["compare", &both[0], &both[1], "--path", "/missing"])
        .expect(2, &texts);
    let server = Server::start(&["--root", &home.path().display().to_string()]);
    home.run_abx(&["run", &server.url, "--path", "/missing"])
        .expect(2, &texts);
}

#[test]
fn different_bodies_are_refused_unless_allowed() {
    // Method: pages of 87 and 88 bytes: without flags, with an expected hash, and with any body
    // allowed.
    let home = Home::new();
    let (short, long) = (subject("short", ""), subject("long", "--page-bytes 88"));
    let compare = [
        "compare", &short, &long, "--blocks", "1", "--slice", "20ms", "--pilot", "brief",
    ];
    home.run_abx(&compare)
        .expect(2, &["short", "long", "87", "88", "--expect-body any"]);
    let wrong = "0".repeat(64);
    home.run_abx(&[&compare[..], &["--expect-body", &wrong]].concat())
        .expect(2, &["SHA-256", "--expect-body"]);
    let ended = home.run_abx(&[&compare[..], &["--expect-body", "any", "--json", "-"]].concat());
    let record = ended.json();
    ended.expect_measured(&record);
    assert_eq!(
        findings(&record, "unequal_responses").len(),
        1,
        "{ended:#?}"
    );
}

#[test]
fn too_few_descriptors_are_reported_before_anything_starts() {
    // Method: a hard limit of 64 descriptors for 200 connections.
    let home = Home::new();
    let ended = home.run(&mut home.abx_after("ulimit -n 64", &["compare", "-c", "200"]));
    ended.expect(2, &["200 connections", "64", "ulimit -n", "fewer"]);
    let server = Server::start(&[]);
    let run = ["run", &server.url, "-c", "200"];
    home.run(&mut home.abx_after("ulimit -n 64", &run))
        .expect(2, &["200 connections", "64", "ulimit -n", "fewer"]);
}

#[test]
fn a_machine_without_ports_for_servers_gets_a_remedy() {
    // Method: a network namespace whose outgoing connections may use all ports.
    let home = Home::new();
    let range = "/proc/sys/net/ipv4/ip_local_port_range";
    let before = format!("ip link set lo up\necho 1024 65535 >{range}");
    home.run(&mut home.abx_apart("n", &before, &["compare"]))
        .expect(2, &["no port for", "ip_local_port_range", "sysctl"]);
}

#[test]
fn a_full_disk_is_reported_before_anything_starts() {
    // Method: a state folder of one page of memory, which is full.
    let home = Home::new();
    let before = "mount -t tmpfs -o size=4k none state\nhead -c 4096 /dev/zero >state/taken";
    let touches = |name: &str| format!("{name}=sh -c 'touch started' {{port}}");
    let compare = ["compare", &touches("a"), &touches("b")];
    home.run(&mut home.abx_apart("m", before, &compare))
        .expect(2, &["record", "No space left", "XDG_STATE_HOME"]);
    assert!(!home.join("started").exists());
}

#[test]
fn a_port_in_use_is_named() {
    // Method: a second server on the port of the first.
    let home = Home::new();
    let server = Server::start(&[]);
    home.run_abx(&["serve", "--port", server.port()])
        .expect(2, &[server.port(), "choose another address"]);
}

#[test]
fn a_report_of_something_else_is_refused() {
    // Method: no JSON, JSON without a schema, with the schema of another program, and without its
    // fields.
    let home = Home::new();
    for (text, message) in [
        ("no json", "line 1"),
        ("{}", "no schema"),
        (r#"{"schema":"wrk.result/1"}"#, "wrk.result/1"),
        (r#"{"schema":"abx.study/1"}"#, "missing field"),
    ] {
        let path = home.write("record.json", text);
        home.run_abx(&["report", &path])
            .expect(2, &[&path, "not a record of abx", message]);
    }
    assert!(fs::exists(home.join("record.json")).unwrap());
}

#[test]
fn a_name_resolves_to_a_responding_address_which_is_recorded() {
    // Method: a namespace whose hosts file has ::1 and 127.0.0.1 for `localhost`. A server listens
    // at only one of them.
    let home = Home::new();
    home.write("hosts", "::1 localhost\n127.0.0.1 localhost\n");
    let hosts = "mount --bind hosts /etc/hosts";
    let passed_over = "127.0.0.1 of localhost: ::1";
    let has_first = std::net::TcpListener::bind("[::1]:0").is_ok();
    let servers = [("::1", true), ("127.0.0.1", false)];
    for (address, is_first) in servers.into_iter().filter(|pair| !pair.1 || has_first) {
        let server = Server::start(&["--address", address]);
        let url = format!("http://localhost:{}/", server.port());
        let connected_to = server
            .url
            .trim_start_matches("http://")
            .trim_end_matches('/');
        let run = ["run", &url, "-n", "10", "-c", "1", "--json", "-"];
        let ended = home.run(&mut home.abx_apart("m", hosts, &run));
        assert_eq!(ended.stderr.contains(passed_over), !is_first, "{ended:#?}");
        let record = ended.expect(0, &[]).json();
        assert_eq!(record["ok"], 10);
        assert_eq!(record["subjects"][0]["address"], *url);
        assert_eq!(record["subjects"][0]["connected_to"], *connected_to);
        if is_first {
            continue;
        }
        let two = [&url, &format!("b={url}")];
        let compare = [
            "compare", two[0], two[1], "--blocks", "1", "--slice", "20ms", "--pilot", "brief",
        ];
        let ended = home.run(home.abx_apart("m", hosts, &compare).args(["--json", "-"]));
        let message = format!("b: {passed_over}");
        assert!(ended.stderr.contains(&message), "{ended:#?}");
        for subject in ended.json()["subjects"].as_array().unwrap() {
            assert_eq!(subject["address"], *url);
            assert_eq!(subject["connected_to"], *connected_to);
        }
    }
}
