//! Formats for other programs, each read by such a program. `make setup` installs the tools.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::thread;

use abx_evidence::record::Histograms;
use abx_verdict::StudyRecord;
use serde_json::Value;

use crate::support::{Home, Server, read_json};
use abx_fixtures::pair;

/// Python with the readers of these formats.
const PYTHON: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../target/test-tools/python/bin/python"
);
/// The checker of Prometheus metrics.
const PROMTOOL: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../target/test-tools/promtool"
);
const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/record.schema.json");

/// A record with response times, in a file.
fn record(home: &Home) -> String {
    let mut record = pair();
    for block in &mut record.blocks {
        for (name, most_ms) in [("old", 100), ("new", 90)] {
            let mut histograms = Histograms::default();
            (1..=most_ms).for_each(|ms| histograms.response.record_ns(ms * 1_000_000));
            let load = &mut block.loads[0];
            load.histograms.insert(name.to_owned(), histograms);
        }
    }
    let text = serde_json::to_string(&StudyRecord::judged(record)).unwrap();
    home.write("record.json", &text)
}

/// The output of a tool, which must succeed.
#[track_caller]
fn tool(home: &Home, program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(home.path());
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}: run `make setup`"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {message}{text}");
    text
}

#[test]
fn comma_separated_values_are_read_by_python() {
    // Method: Python's own reader. The sums are those of the record.
    let home = Home::new();
    let path = record(&home);
    let files = [
        "--csv",
        "slices.csv",
        "--csv-comparisons",
        "comparisons.csv",
    ];
    home.run_abx(&[&["report", &path], &files[..]].concat())
        .expect(0, &[]);
    let script = "import csv\n\
        rows = list(csv.DictReader(open('slices.csv', newline=''), strict=True))\n\
        assert all(None not in row and None not in row.values() for row in rows)\n\
        print(len(rows), sum(int(row['ok']) for row in rows if row['subject'] == 'old'))\n\
        rows = list(csv.DictReader(open('comparisons.csv', newline=''), strict=True))\n\
        assert None not in rows[0] and None not in rows[0].values()\n\
        print(rows[0]['metric'], rows[0]['verdict'], round(float(rows[0]['ratio']), 2))\n";
    let message = tool(&home, PYTHON, &["-c", script]);
    assert_eq!(message, "24 108000\nthroughput faster 1.1\n");
}

#[test]
fn openmetrics_is_read_by_the_reference_parser() {
    // Method: the parser of prometheus_client, which is as strict as the standard, reads the
    // metrics of a study and of a run.
    let home = Home::new();
    let path = record(&home);
    let server = Server::start(&[]);
    let expect = ["--expect", "new >= 0.9 * old", "--prometheus", "study.prom"];
    home.run_abx(&[&["report", &path], &expect[..]].concat())
        .expect(0, &[]);
    home.run_abx(&["run", &server.url, "-n", "100", "--prometheus", "run.prom"])
        .expect(0, &[]);
    let script = "import sys\n\
        from prometheus_client.openmetrics.parser import text_string_to_metric_families\n\
        for name in ('study.prom', 'run.prom'):\n\
        \x20   families = list(text_string_to_metric_families(open(name).read()))\n\
        \x20   samples = [one for family in families for one in family.samples]\n\
        \x20   for one in samples:\n\
        \x20       if one.name == 'abx_requests_total':\n\
        \x20           print(one.labels.get('subject'), one.labels['outcome'], int(one.value))\n\
        \x20       if one.name == 'abx_expectation_info':\n\
        \x20           print(one.labels['expected'], one.labels['standing'])\n";
    let message = tool(&home, PYTHON, &["-c", script]);
    let expected = "old ok 108000\nnew ok 118800\nnew >= 0.9 * old holds\nNone ok 100\n";
    assert_eq!(message, expected);
}

#[test]
fn openmetrics_is_read_by_promtool() {
    // Method: promtool reads the older text format, as collectors of text files do. It must read
    // everything, and may miss only the help of a counter, which OpenMetrics has under the name
    // without `_total`.
    let home = Home::new();
    let path = record(&home);
    home.run_abx(&["report", &path, "--prometheus", "study.prom"])
        .expect(0, &[]);
    let output = Command::new(PROMTOOL)
        .args(["check", "metrics"])
        .stdin(fs::File::open(home.join("study.prom")).unwrap())
        .output()
        .unwrap_or_else(|error| panic!("{PROMTOOL}: {error}: run `make setup`"));
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(message, "abx_requests_total no help text\n");
    // 3: everything was read, and something was found.
    assert_eq!(output.status.code(), Some(3), "{message}");
}

#[test]
fn junit_is_well_formed() {
    // Method: xmllint counts test cases and failures.
    let home = Home::new();
    let path = record(&home);
    let expect = ["--expect", "new <= 0.9 * old", "--junit", "junit.xml"];
    home.run_abx(&[&["report", &path], &expect[..]].concat())
        .expect(1, &[]);
    let count = |what: &str| {
        let xpath = format!("count(//{what})");
        tool(&home, "xmllint", &["--xpath", &xpath, "junit.xml"])
    };
    assert_eq!(count("testcase").trim(), "2");
    assert_eq!(count("testcase/failure").trim(), "1");
    let xpath = "string(/testsuites/testsuite/@failures)";
    let message = tool(&home, "xmllint", &["--xpath", xpath, "junit.xml"]);
    assert_eq!(message.trim(), "1");
}

#[test]
fn a_picture_is_well_formed() {
    // Method: xmllint reads it and counts its intervals. A name with special characters of XML is
    // read unchanged.
    let home = Home::new();
    let mut pair = pair();
    pair.subjects[0].version = Some("<b>&amp;".to_owned());
    let text = serde_json::to_string(&StudyRecord::judged(pair)).unwrap();
    let text = text.replace("\"old\"", "\"a<b> & 'c'\"");
    let path = home.write("record.json", &text);
    home.run_abx(&["report", &path, "--svg", "out.svg"])
        .expect(0, &[]);
    let of = |xpath: &str| tool(&home, "xmllint", &["--xpath", xpath, "out.svg"]);
    assert_eq!(of("count(//*[@class='pt'])").trim(), "1");
    let message = of("string(//*[@class='name'])");
    assert!(message.contains("a<b> & 'c'"), "{message}");
}

#[test]
fn percentiles_equal_those_of_another_implementation() {
    // Method: the script of docs/reference/record-format.md reads the times of a record into
    // HdrHistogram for Python, whose percentiles and counts equal those in the .hgrm files.
    let home = Home::new();
    let path = record(&home);
    home.run_abx(&["report", &path, "--hgrm", "out.hgrm"])
        .expect(0, &[]);
    let page = include_str!("../../../../docs/reference/record-format.md");
    let (_, from_times) = page.split_once("def times(").unwrap();
    let (times, _) = from_times.split_once("def quantile").unwrap();
    let script = format!(
        "import json\n\
        from hdrh.histogram import HdrHistogram\n\
        def times({times}\
        record = json.load(open('{path}'))\n\
        for subject in ['new', 'old']:\n\
        \x20   sums = HdrHistogram(1, 3600000000, 3)\n\
        \x20   for time, count in times(record, 'small', subject):\n\
        \x20       sums.record_value(time, count)\n\
        \x20   half = sums.get_value_at_percentile(50) / 1000\n\
        \x20   print(subject, sums.get_total_count(), f'{{half:.3f}}')\n"
    );
    home.write("script.py", &script);
    let message = tool(&home, PYTHON, &["script.py"]);
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(lines.len(), 2, "{message}");
    for (line, name, count) in [(lines[0], "new", "540"), (lines[1], "old", "600")] {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words[..2], [name, count]);
        let text = fs::read_to_string(home.join(&format!("out.{name}.small.hgrm"))).unwrap();
        let half = text.lines().find(|line| line.contains(" 0.500000000000 "));
        assert_eq!(half.unwrap().split_whitespace().next(), Some(words[2]));
        assert!(text.contains(&format!("Total count    = {count:>12}")));
    }
}

#[test]
fn the_script_of_the_record_format_reads_the_percentiles_of_the_report() {
    // Method: the longest script of that page, unchanged and with Python only. Times range up to
    // seconds, in all widths of counters.
    let page = include_str!("../../../../docs/reference/record-format.md");
    let scripts = page.split("```python\n").skip(1);
    let scripts = scripts.filter_map(|rest| Some(rest.split_once("```")?.0));
    let script = scripts.max_by_key(|script| script.len()).unwrap();
    let home = Home::new();
    let mut study = pair();
    for (number, block) in study.blocks.iter_mut().enumerate() {
        let mut histograms = Histograms::default();
        (1..9_999).for_each(|time: u64| {
            histograms
                .response
                .record_ns(time.pow(2) * (400 + number as u64))
        });
        block.loads[0]
            .histograms
            .insert("new".to_owned(), histograms);
    }
    let record = StudyRecord::judged(study);
    home.write("record.json", &serde_json::to_string(&record).unwrap());
    home.write("script.py", script);
    let message = tool(&home, "sh", &["-c", "python3 script.py <record.json"]);
    let summaries = record.conclusions.summaries.iter().map(|summary| {
        let times = &summary.response_time_us;
        let time = |time: Option<u64>| time.map_or("None".to_owned(), |time| time.to_string());
        let [p50, p99] = [times.p50, times.p99].map(time);
        format!("{}\t{}\t{p50}\t{p99}\n", summary.load, summary.subject)
    });
    assert_eq!(message, summaries.collect::<String>());
    assert!(message.contains("\tnew\t1"), "{message}");
}

#[test]
fn records_match_their_schema() {
    // Method: jsonschema for Python checks records of a real comparison and a real run, and one
    // with a word that the schema does not have.
    let home = Home::new();
    let server = Server::start(&[]);
    let short = [
        "--blocks",
        "1",
        "--slice",
        "20ms",
        "--pilot",
        "brief",
        "--json",
        "study.json",
    ];
    let compared = home.run_abx(&[&["compare"], &short[..]].concat());
    compared.expect_measured(&home.record());
    home.run_abx(&["run", &server.url, "-n", "100", "--json", "run.json"])
        .expect(0, &[]);
    let mut wrong = read_json(&home.join("study.json"));
    wrong["comparisons"][0]["verdict"] = Value::from("best");
    home.write("wrong.json", &wrong.to_string());
    let script = "import json, sys\n\
        from jsonschema import Draft202012Validator\n\
        schema = json.load(open(sys.argv[1]))\n\
        Draft202012Validator.check_schema(schema)\n\
        validator = Draft202012Validator(schema)\n\
        for name in ('study.json', 'run.json', 'wrong.json'):\n\
        \x20   errors = list(validator.iter_errors(json.load(open(name))))\n\
        \x20   print(name, len(errors))\n";
    let message = tool(&home, PYTHON, &["-c", script, SCHEMA]);
    assert_eq!(message, "study.json 0\nrun.json 0\nwrong.json 1\n");
}

/// Starts a collector that sends this response to one request. The thread returns the request.
fn collector(response: &'static str) -> (String, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let posted = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let count = stream.read(&mut buffer).unwrap();
            bytes.extend_from_slice(&buffer[..count]);
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                continue;
            };
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                (name == "Content-Length").then(|| value.parse::<usize>().unwrap())
            });
            if body.len() >= length.unwrap() {
                stream.write_all(response.as_bytes()).unwrap();
                return text;
            }
        }
    });
    (url, posted)
}

#[test]
fn metrics_are_posted_to_a_collector() {
    // Method: a collector that accepts them, one that accepts a part, one that is busy, one without
    // HTTP, and none at all. The report is printed each time.
    let home = Home::new();
    let path = record(&home);
    let accepted = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
    let partly = "HTTP/1.1 200 OK\r\n\r\n\
                  {\"partialSuccess\":{\"rejectedDataPoints\":\"7\",\"errorMessage\":\"too old\"}}";
    let busy = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
    for (response, code, texts) in [
        (accepted, 0, &[][..]),
        (partly, 3, &["rejected 7 data points", "too old", "--otlp"]),
        (busy, 3, &["503 Service Unavailable", "abx report"]),
        ("hello", 3, &["not HTTP"]),
    ] {
        let (url, posted) = collector(response);
        let ended = home.run_abx(&["report", &path, "--otlp", &url]);
        ended.expect(code, texts);
        assert!(ended.stdout.contains("faster"), "{ended:#?}");
        let posted = posted.join().unwrap();
        let (head, body) = posted.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("Content-Type: application/json"), "{head}");
        let body: Value = serde_json::from_str(body).unwrap();
        let scope = &body["resourceMetrics"][0]["scopeMetrics"][0];
        assert!(scope["metrics"].as_array().unwrap().len() > 10);
    }
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    home.run_abx(&["report", &path, "--otlp", &url])
        .expect(3, &["cannot post", "refused"]);
    home.run_abx(&["report", &path, "--otlp", "https://127.0.0.1/"])
        .expect(2, &["--otlp", "https://"]);
}

#[test]
fn a_format_that_cannot_be_written_does_not_stop_others() {
    // Method: two invalid places among valid ones, after a real comparison. The record is saved,
    // the other formats are written, and a failed expectation sets the exit code.
    let home = Home::new();
    home.write("file", "");
    let bad = ["--csv", "file/slices.csv", "--junit", "/proc/junit.xml"];
    let good = ["--markdown", "new/summary.md", "--json", "mine.json"];
    let short = ["--blocks", "1", "--slice", "20ms", "--pilot", "brief"];
    let ended = home.run_abx(&[&["compare"], &short[..], &bad, &good].concat());
    ended.expect(
        3,
        &[
            "cannot write file/slices.csv",
            "(`--csv`)",
            "cannot write /proc/junit.xml",
            "abx report",
        ],
    );
    assert_eq!(read_json(&home.join("mine.json")), home.record());
    let summary = fs::read_to_string(home.join("new/summary.md")).unwrap();
    assert!(summary.starts_with("### abx"), "{summary}");

    let path = record(&home);
    let fails = ["--expect", "new < 0.5 * old"];
    home.run_abx(&[&["report", &path], &bad[..], &fails].concat())
        .expect(1, &["cannot write file/slices.csv"]);
}

#[test]
fn a_format_may_replace_the_report_on_standard_output() {
    // Method: each such format alone on standard output, with the report on standard error. Two
    // formats on standard output or in one file are refused before anything starts.
    let home = Home::new();
    let path = record(&home);
    for (flag, start) in [
        ("--json", "{"),
        ("--markdown", "### abx"),
        ("--csv", "block,"),
        ("--csv-comparisons", "metric,"),
        ("--prometheus", "# TYPE"),
        ("--junit", "<?xml"),
    ] {
        let ended = home.run_abx(&["report", &path, flag, "-"]);
        ended.expect(0, &["faster"]);
        assert!(ended.stdout.starts_with(start), "{ended:#?}");
    }
    for place in ["-", "out"] {
        home.run_abx(&["compare", "--json", place, "--csv", place])
            .expect(2, &["--json and --csv", "give each its own file"]);
    }
    assert!(!home.join("state/abx").exists());
}

#[test]
fn a_run_has_all_formats_except_those_of_comparisons() {
    // Method: the formats of a run, from the command and from its record. Formats of a study are
    // refused by name.
    let home = Home::new();
    let server = Server::start(&[]);
    let files = ["--json", "run.json", "--markdown", "run.md"];
    home.run_abx(&[&["run", &server.url, "-n", "100"], &files[..]].concat())
        .expect(0, &[]);
    let again = home.run_abx(&["report", "run.json", "--markdown", "-"]);
    let first = fs::read_to_string(home.join("run.md")).unwrap();
    assert_eq!(again.expect(0, &[]).stdout, first);
    home.run_abx(&["report", "run.json", "--csv-comparisons", "x.csv"])
        .expect(2, &["run.json is the record of a run", "--csv-comparisons"]);
    home.run_abx(&["report", "run.json", "--fail-if-slower", "3%"])
        .expect(2, &["compares nothing", "--fail-if-slower"]);
    assert!(!Path::new(&home.join("x.csv")).exists());
}
