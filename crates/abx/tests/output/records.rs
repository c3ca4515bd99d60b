//! Exit code 0: a measurement is saved, printed, and printed again, independent of its environment.

use std::fs;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use abx_fixtures::pair;
use abx_verdict::StudyRecord;
use serde_json::Value;

use crate::support::{
    Home, Server, assert_honest, findings, only_slice, read_json, slices, subject,
};

#[rustfmt::skip]
const SHORT: [&str; 8] = [
    "--blocks", "2", "--rounds", "4", "--slice", "20ms", "--pilot", "brief",
];

#[test]
fn the_built_in_comparison_saves_a_complete_record() {
    // Method: `abx compare` without subjects, with its record on standard output; then the record
    // is read again as text and as JSON.
    let home = Home::new();
    let ended = home.run_abx(&[&["compare", "--json", "-"], &SHORT[..]].concat());
    let record = ended.json();
    let code = ended.expect_measured(&record).status.code().unwrap();
    let path = home.record_path();
    let saved = fs::read_to_string(&path).unwrap();
    assert_eq!(ended.stdout, saved, "--json is the saved record");
    let message = "A demonstration, since no servers were named";
    assert!(ended.stderr.starts_with(message), "{}", ended.stderr);
    has_keys(&record);
    for name in ["event", "thread"] {
        let slices = slices(&record, name);
        assert!(
            slices.len() >= 4,
            "{name} was loaded {} times",
            slices.len()
        );
        slices.iter().for_each(assert_honest);
    }

    let path = path.to_str().unwrap();
    let again = home.run_abx(&["report", path, "--json", "-", "--quiet"]);
    assert_eq!(again.expect(code, &[]).stdout, saved);
    assert_eq!(again.stderr, "");
    let report = home.run_abx(&["report", path]);
    assert_eq!(report.expect(code, &[]).stderr, "");
    let by_id = home.run_abx(&["report", printed_name(&ended.stderr)]);
    assert_eq!(by_id.expect(code, &[]).stdout, report.stdout);
    assert!(
        ended.stderr.contains(report.stdout.trim_end()),
        "{ended:#?}"
    );
}

#[test]
fn a_compressed_record_is_read_everywhere() {
    // Method: a compressed record, which has the same content as the plain one, read from its file,
    // from a file without the suffix, and by its id in the state folder.
    let home = Home::new();
    let compared = home.run_abx(&[&["compare", "--json", "small.json.zst"], &SHORT[..]].concat());
    let code = compared
        .expect_measured(&home.record())
        .status
        .code()
        .unwrap();
    let plain = home.record_path();
    let saved = fs::read_to_string(&plain).unwrap();
    let small = fs::read(home.join("small.json.zst")).unwrap();
    assert!(small.len() * 2 < saved.len(), "{} bytes", small.len());
    fs::remove_file(&plain).unwrap();
    fs::write(plain.with_extension("json.zst"), &small).unwrap();
    fs::write(home.join("named.json"), &small).unwrap();
    let listed = home.run_abx(&["history", "--json", "-"]).json();
    assert_eq!(
        listed["unread"].as_array().map(Vec::len),
        Some(0),
        "{listed}"
    );
    let id = listed["entries"][0]["id"].as_str().unwrap();
    for record in ["small.json.zst", "named.json", id] {
        let again = home.run_abx(&["report", record, "--json", "-", "--quiet"]);
        assert_eq!(again.expect(code, &[]).stdout, saved, "{record}");
    }
}

#[test]
fn a_damaged_compressed_record_ends_with_file_and_remedy() {
    // Method: a truncated record, and one that unpacks to 10 GB of zeroes.
    let home = Home::new();
    let text = serde_json::to_string(&StudyRecord::judged(pair())).unwrap();
    let packed = zstd::encode_all(text.as_bytes(), 3).unwrap();
    fs::write(home.join("cut.zst"), &packed[..packed.len() / 2]).unwrap();
    let zeroes = zstd::encode_all(io::repeat(b'0').take(32 << 20), 3).unwrap();
    fs::write(home.join("bomb.zst"), zeroes.repeat(320)).unwrap();
    for (file, why) in [
        ("cut.zst", "copy the file again"),
        ("bomb.zst", "more than 256 MiB"),
    ] {
        home.run_abx(&["report", file]).expect(2, &[file, why]);
    }
}

/// The keys that scripts may rely on.
fn has_keys(record: &Value) {
    assert_eq!(record["schema"], "abx.study/1");
    let has = |value: &Value, keys: &[&str]| {
        let object = value.as_object().unwrap();
        for key in keys {
            assert!(object.contains_key(*key), "{key} is missing in {object:?}");
        }
    };
    has(record, &["seed", "machine", "validity"]);
    has(&record["validity"], &["status", "findings"]);
    has(&record["subjects"][0], &["name", "version", "command"]);
    has(&record["loads"][0], &["name", "settings"]);
    let comparison = "metric load subject baseline ratio low high confidence blocks verdict \
                      fragile findings";
    let words = |text: &'static str| text.split_whitespace().collect::<Vec<_>>();
    has(&record["comparisons"][0], &words(comparison));
    let block = &record["blocks"][0];
    has(block, &words("index seed order subjects loads"));
    let value = &block["subjects"]["thread"];
    has(value, &words("port ready_s cpu_s rss_bytes_max end"));
    let load = &block["loads"][0];
    has(load, &words("load rounds slices histograms sides"));
    has(&load["histograms"]["thread"], &words("response service"));
    let slice = "subject measured_ns sent completed ok outcomes bytes server_cpu_ns \
                 generator_cpu_ns generator_wait_ns";
    has(&load["slices"], &words(slice));
}

#[test]
fn how_the_generator_waited_is_recorded() {
    // Method: by default, it waits awake or reports the reason for sleeping. If sleeping is
    // requested, it never waits awake.
    let wait = |how| {
        let home = Home::new();
        let ended = home.run_abx(&[&["compare", "--wait", how], &SHORT[..]].concat());
        let record = home.record();
        ended.expect_measured(&record);
        let slices = ["event", "thread"]
            .map(|name| slices(&record, name))
            .concat();
        let awake_ns = slices
            .iter()
            .filter_map(|slice| slice["waiting_awake_ns"].as_u64());
        (record["settings"].clone(), awake_ns.sum::<u64>())
    };
    let (settings, awake_ns) = wait("auto");
    let is_awake = settings["wait"] == "awake";
    assert_eq!(is_awake, awake_ns > 0, "{settings}");
    assert_eq!(is_awake, settings["asleep_because"].is_null(), "{settings}");
    let (settings, awake_ns) = wait("asleep");
    assert_eq!(settings["wait"], "asleep");
    assert_eq!(settings["asleep_because"], Value::Null);
    assert_eq!(awake_ns, 0);
}

#[test]
fn a_report_of_a_saved_record_is_the_same() {
    // Method: the text that `compare` printed, and a copy of the record in another file.
    let home = Home::new();
    let ended = home.run_abx(&[&["compare", "--json", "mine.json"], &SHORT[..]].concat());
    let record = home.record();
    let code = ended.expect_measured(&record).status.code().unwrap();
    assert_eq!(read_json(&home.join("mine.json")), record);
    for path in ["mine.json", home.record_path().to_str().unwrap()] {
        let report = home.run_abx(&["report", path]);
        assert_eq!(report.expect(code, &[]).stdout, ended.stdout);
    }
    assert!(ended.stdout.contains("event") && ended.stdout.contains("thread"));
}

#[test]
fn servers_that_ran_before_still_run_afterwards() {
    // Method: two servers of the test, given by URL.
    let home = Home::new();
    let mut servers = [Server::start(&[]), Server::start(&["--model", "thread"])];
    let [first, second] = servers.each_ref().map(|server| server.url.as_str());
    let second = format!("other={second}");
    let ended = home.run_abx(&[&["compare", first, &second], &SHORT[..]].concat());
    assert!(servers.iter_mut().all(Server::is_running));
    let record = home.record();
    ended.expect_measured(&record);
    assert_eq!(findings(&record, "not_restarted").len(), 2, "{ended:#?}");
    let end = &record["blocks"][0]["subjects"]["other"]["end"];
    assert_eq!(end, "left running");
}

#[test]
fn a_server_compared_with_itself_shows_the_resolution() {
    // Method: `--aa` with one subject.
    let home = Home::new();
    let itself = subject("itself", "");
    let ended = home.run_abx(&[&["compare", "--aa", &itself], &SHORT[..]].concat());
    let record = home.record();
    ended.expect_measured(&record);
    assert_eq!(record["settings"]["aa"], true);
    let comparison = &record["comparisons"][0];
    assert_eq!(comparison["subject"], "itself-again");
    let is_judged = comparison["verdict"] != "invalid";
    assert_eq!(comparison["detectable"].as_f64().is_some(), is_judged);
    let words: Vec<&str> = ended.stdout.split_whitespace().collect();
    let text = words.join(" ");
    assert!(
        text.contains("compares a subject with itself"),
        "{ended:#?}"
    );
    assert_eq!(
        text.contains("smallest difference"),
        is_judged,
        "{ended:#?}"
    );
}

#[test]
fn connections_that_do_not_fit_at_once_run_as_trials() {
    // Method: 300 descriptors for 150 connections to each of two subjects.
    let home = Home::new();
    let compare = [&["compare", "-c", "150"], &SHORT[..]].concat();
    let ended = home.run(&mut home.abx_after("ulimit -n 300", &compare));
    let record = home.record();
    ended.expect_measured(&record);
    assert_eq!(record["loads"][0]["pilot"]["interleave"], "trials");
    assert_eq!(findings(&record, "ran_as_trials").len(), 1, "{ended:#?}");
}

#[test]
fn a_run_sends_exactly_the_requested_number() {
    // Method: numbers that are no multiples of the connections, with and without keep-alive.
    let home = Home::new();
    let server = Server::start(&[]);
    for (requests, connections, more) in [
        ("1", "50", "--quiet"),
        ("1001", "7", "--quiet"),
        ("333", "10", "--no-keepalive"),
    ] {
        let ended = home.run_abx(&[
            "run",
            &server.url,
            "-n",
            requests,
            "-c",
            connections,
            "--json",
            "-",
            more,
        ]);
        let record = ended.expect(0, &[]).json();
        assert_eq!(record["schema"], "abx.run/2");
        assert_honest(&only_slice(&record));
        assert_eq!(record["ok"].to_string(), requests);
        assert_eq!(record["sent"].to_string(), requests);
    }
}

#[test]
fn a_run_finds_the_server_on_this_machine() {
    // Method: a timed run against a server of the test.
    let home = Home::new();
    let server = Server::start(&[]);
    let run = ["run", &server.url, "-d", "200ms", "--json", "run.json"];
    let ended = home.run_abx(&run);
    ended.expect(0, &["Loading", &server.url]);
    let record = read_json(&home.join("run.json"));
    let listener = &record["blocks"][0]["subjects"][&server.url]["listener"];
    assert_eq!(listener["process_id"], server.id());
    assert_eq!(listener["name"], "abx");
    assert!(only_slice(&record)["server_cpu_ns"].as_u64() > Some(0));
    assert!(record["server_cpu_us_per_request"].as_f64() > Some(0.0));
    assert_eq!(record["loads"][0]["pilot"]["slice_ns"], 200_000_000);
    assert_honest(&only_slice(&record));
    let again = home.run_abx(&["report", "run.json"]);
    assert_eq!(again.expect(0, &[]).stdout, ended.stdout);
}

#[test]
fn locales_and_missing_variables_change_nothing() {
    // Method: one run in each of several environments. The record is the same in all of them.
    let home = Home::new();
    let server = Server::start(&[]);
    let run = ["run", &server.url, "-n", "100", "--json", "-"];
    for language in ["tr_TR.UTF-8", "de_DE.UTF-8", "C", ""] {
        let mut command = home.abx(&run);
        command.env("LC_ALL", language).env("LANG", language);
        let record = home.run(&mut command).expect(0, &[]).json();
        assert_eq!(record["ok"], 100);
    }
    let mut bare = home.abx(&run);
    for name in ["HOME", "XDG_STATE_HOME", "LC_ALL", "LANG", "TERM", "PATH"] {
        bare.env_remove(name);
    }
    // Without a home, records are kept in the folder for temporary files.
    bare.env("TMPDIR", home.path());
    assert_eq!(home.run(&mut bare).expect(0, &[]).json()["ok"], 100);
}

#[test]
fn closed_streams_and_pipes_do_no_harm() {
    // Method: each standard stream closed, a pipe whose reader is gone, and a standard output on a
    // full device.
    let home = Home::new();
    let server = Server::start(&[]);
    let run = ["run", &server.url, "-n", "100"];
    for closed in ["exec <&-", "exec >&-", "exec 2>&-", "exec <&- >&- 2>&-"] {
        home.run(&mut home.abx_after(closed, &run)).expect(0, &[]);
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = home
        .abx(&run)
        .stdout(Stdio::from(writer))
        .stderr(File::create(home.join("stderr")).unwrap())
        .status();
    assert_eq!(status.unwrap().code(), Some(0));
    let subjects = ["one", "two"].map(|name| format!("{name}={}", server.url));
    let plan = ["compare", &subjects[0], &subjects[1], "--plan"];
    for words in [&run[..], &plan, &["explain"]] {
        home.run(&mut home.abx_after("exec >/dev/full", words))
            .expect(3, &["standard output", "No space left"]);
    }
}

#[test]
fn a_comparison_works_without_a_home_and_with_spaces_in_paths() {
    // Method: a comparison in a folder with spaces, without HOME and XDG_STATE_HOME. The record is
    // in the folder for temporary files.
    let home = Home::new();
    let folder = home.join("a folder with spaces");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("page"), "page").unwrap();
    let files = ["one", "two"].map(|name| subject(name, "--root ."));
    let compare = ["compare", &files[0], &files[1], "--path", "/page"];
    let mut command = home.abx(&[&compare[..], &SHORT].concat());
    command
        .current_dir(&folder)
        .env("TMPDIR", &folder)
        .env_remove("HOME")
        .env_remove("XDG_STATE_HOME")
        .arg0("abx");
    let ended = home.run(&mut command);
    let records = home.records_in("a folder with spaces/abx");
    assert_eq!(records.len(), 1, "{ended:#?}");
    let record = read_json(&records[0]);
    ended.expect_measured(&record);
    assert_eq!(record["loads"][0]["answers"]["one"][0]["body_bytes"], 4);
    let mut again = home.abx(&["report", printed_name(&ended.stderr)]);
    again
        .env("TMPDIR", &folder)
        .env_remove("HOME")
        .env_remove("XDG_STATE_HOME");
    let again = home.run(&mut again);
    assert!(!again.stdout.is_empty(), "{again:#?}");
}

/// The record's name for later commands, which abx prints when it saves the record.
fn printed_name(stderr: &str) -> &str {
    let (_, rest) = stderr.split_once("abx report ").expect("it is printed");
    rest.lines().next().unwrap()
}

#[test]
fn records_of_one_study_are_read_together() {
    // Method: three made records, reported together as text, as JSON, in an unsupported format, and
    // with a record of another study.
    let home = Home::new();
    let write = |name: &str, ok: u64, subject: &str| {
        let counts = [ok, ok + 10, ok - 10, ok + 5, ok - 5, ok + 20, ok - 20];
        let mut record = abx_fixtures::study(&[("old", &[9_000; 7]), (subject, &counts)]);
        record.seed = ok;
        let record = abx_verdict::StudyRecord::judged(record);
        home.write(name, &serde_json::to_string(&record).unwrap())
    };
    let days = [
        write("mon.json", 9_000, "new"),
        write("tue.json", 9_900, "new"),
        write("wed.json", 10_890, "new"),
    ];
    let [one, two, three] = &days;
    let text = home.run_abx(&["report", one, two, three]);
    text.expect(0, &[]);
    for part in [
        "1.10 (0.87 to 1.39) times old's",
        "the next record",
        "between records 10",
    ] {
        assert!(text.stdout.contains(part), "{part}: {text:#?}");
    }
    let json = home
        .run_abx(&["report", one, two, three, "--json", "-"])
        .json();
    assert_eq!(
        (&json["schema"], &json["kind"]),
        (&"abx.output/1".into(), &"pooled".into())
    );
    assert_eq!(json["records"].as_array().unwrap().len(), 3);
    assert!(json["comparisons"][0]["prediction"]["low"].as_f64() < Some(1.0));
    let html = home.run_abx(&["report", one, two, "--html", "x.html"]);
    html.expect(2, &["--html does not apply"]);
    let other = write("other.json", 9_500, "newer");
    let refused = home.run_abx(&["report", one, &other]);
    refused.expect(2, &["in subjects (", "give records of one study"]);
}
