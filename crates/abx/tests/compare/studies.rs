//! Study files: valid ones run as written, and invalid ones are refused with file, line, key and
//! remedy.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{ABX, Home, assert_honest, read_json, slices};

/// A study of two built-in servers that serve the study's file, one of them through a template.
fn good() -> String {
    format!(
        r#"schema = "abx.study_file/1"
baseline = "two"
blocks = 1
slice = "20ms"
seed = 5

[[file]]
path = "www/small.bin"
bytes = 1320

[[subject]]
name = "one"
command = ["{ABX}", "serve", "--port", "{{port}}", "--root", "{{dir}}/www"]

[[subject]]
name = "two"
templates = {{ "start.sh" = "start.sh.in" }}
env = {{ MODEL = "thread", HERE = "{{study}}" }}
command = ["sh", "{{dir}}/start.sh"]
ready = {{ path = "/small.bin", status = 200, within = "20s" }}
stop = {{ signal = "INT", within = "5s" }}

[[load]]
name = "small"
connections = [1, 4]
requests = [{{ path = "/small.bin" }}]

[[load]]
name = "fresh"
connections = 2
keep_alive = false
requests = [{{ path = "/small.bin" }}]
"#
    )
}

fn start_script() -> String {
    format!(
        "test -f \"$HERE/study.toml\" || exit 7\nexec {ABX} serve --port {{port}} --model $MODEL --root {{dir}}/www\n"
    )
}

/// A folder with the good study, in which `wrong` replaces `right` once, and the study's files.
fn study(home: &Home, right: &str, wrong: &str) -> PathBuf {
    let text = good();
    assert!(text.contains(right), "{right}");
    let folder = home.join("my-study");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("study.toml"), text.replacen(right, wrong, 1)).unwrap();
    fs::write(folder.join("start.sh.in"), start_script()).unwrap();
    folder
}

/// The loads of the primary comparisons.
fn rows(record: &Value) -> Vec<String> {
    let comparisons = record["comparisons"].as_array().unwrap().iter();
    let primary = comparisons.filter(|comparison| comparison["role"] == "primary");
    let row = |value: &Value| value["load"].as_str().unwrap().to_owned();
    primary.map(row).collect()
}

#[test]
fn a_study_runs_as_its_file_defines() {
    // Method: a file of the study, a template, an environment, a baseline, a sweep and a second
    // load; flags override the study file.
    let home = Home::new();
    let folder = study(&home, "blocks = 1", "blocks = 9");
    let folder = folder.to_str().unwrap();
    let ended = home.run_abx(&[
        "compare", folder, "--blocks", "1", "--pilot", "brief", "--json", "-",
    ]);
    let record = ended.json();
    ended.expect_measured(&record);
    assert_eq!(rows(&record), ["small-c1", "small-c4", "fresh"]);
    assert_eq!(record["settings"]["baseline"], "two");
    assert_eq!(record["seed"], 5);
    assert_eq!(record["blocks"].as_array().unwrap().len(), 1);
    for load in record["loads"].as_array().unwrap() {
        for name in ["one", "two"] {
            assert_eq!(load["answers"][name][0]["body_bytes"], 1320, "{load}");
        }
        let hash = |name: &str| load["answers"][name][0]["sha256"].clone();
        assert!(
            hash("one").is_string() && hash("one") == hash("two"),
            "{load}"
        );
    }
    for name in ["one", "two"] {
        slices(&record, name).iter().for_each(assert_honest);
    }
    let end = &record["blocks"][0]["subjects"]["two"]["end"];
    assert!(end.as_str().unwrap().contains("when told"), "{end}");
}

#[test]
fn only_the_declared_pairs_of_a_study_are_compared() {
    // Method: three servers and three loads, two pairs with two baselines, one of them under one
    // load of a sweep, which is the only load of a subject; the record, its report, and a pair with
    // an unknown name.
    let home = Home::new();
    let declared = format!(
        r#"[[contrast]]
subject = "one"
baseline = "three"

[[contrast]]
subject = "two"
baseline = "one"
loads = ["small-c4"]

[[subject]]
name = "three"
command = ["{ABX}", "serve", "--port", "{{port}}", "--root", "{{dir}}/www"]

[[load]]
name = "fresh""#
    );
    let fresh = "[[load]]\nname = \"fresh\"";
    let folder = study(&home, fresh, &declared);
    let folder = folder.to_str().unwrap();
    let path = home.join("contrasts.json");
    let saved = path.to_str().unwrap();
    let ended = home.run_abx(&[
        "compare", folder, "--pilot", "brief", "--rounds", "2", "--json", saved,
    ]);
    let record = read_json(&path);
    ended.expect_measured(&record);
    let pair = |value: &Value| -> String {
        let word = |key: &str| value[key].as_str().unwrap().to_owned();
        format!("{}/{} {}", word("subject"), word("baseline"), word("load"))
    };
    let comparisons = record["comparisons"].as_array().unwrap().iter();
    let primary = comparisons.filter(|comparison| comparison["role"] == "primary");
    let expected = [
        "one/three small-c1",
        "one/three small-c4",
        "two/one small-c4",
        "one/three fresh",
    ];
    assert_eq!(primary.map(pair).collect::<Vec<_>>(), expected);
    for ranking in record["conclusions"]["rankings"].as_array().unwrap() {
        let pairs = if ranking["load"] == "small-c4" { 3 } else { 1 };
        assert_eq!(ranking["pairs"].as_array().unwrap().len(), pairs);
    }
    assert!(record["conclusions"]["families"]["count"].is_number());
    assert_eq!(record["conclusions"]["scope"]["routes"][0], "loopback");
    assert!(
        record["machine"]["cores"].is_array(),
        "{}",
        record["machine"]
    );
    let again = home.run_abx(&["report", saved]);
    for part in ["one ÷ three", "Loopback; "] {
        assert!(again.stdout.contains(part), "{part}: {}", again.stdout);
    }

    let wrong = declared.replace("baseline = \"three\"", "baseline = \"thre\"");
    let folder = study(&home, fresh, &wrong);
    let ended = home.run_abx(&["compare", folder.to_str().unwrap()]);
    let message = "contrast 1: `baseline` is `thre`, and no subject has that name; did you mean \
                   `three`?";
    ended.expect(2, &[message]);
}

#[test]
fn a_part_of_a_study_file_runs() {
    // Method: one of three loads, by the study's folder, and two of three subjects, by its file.
    let home = Home::new();
    let third = r#"[[subject]]
name = "three"
command = ["{abx}", "serve", "--port", "{port}", "--root", "{dir}/www"]

[[load]]
name = "fresh""#;
    let folder = study(&home, "[[load]]\nname = \"fresh\"", third);
    let file = folder.join("study.toml");
    for (path, part, expected) in [
        (
            &folder,
            ["--loads", "small-c4"],
            &["one/two", "three/two"][..],
        ),
        (&file, ["--subjects", "three,two"], &["three/two"]),
    ] {
        let words = ["study", "run", path.to_str().unwrap(), "--trust"];
        let brief = ["--blocks", "1", "--rounds", "2", "--pilot", "brief"];
        let ended = home.run_abx(&[&words[..], &part, &brief, &["--json", "-"]].concat());
        let record = ended.json();
        ended.expect_measured(&record);
        let comparisons = record["comparisons"].as_array().unwrap().iter();
        let primary = comparisons.filter(|comparison| comparison["role"] == "primary");
        let pair = |comparison: &Value| {
            let [subject, baseline] = ["subject", "baseline"].map(|key| &comparison[key]);
            format!(
                "{}/{}",
                subject.as_str().unwrap(),
                baseline.as_str().unwrap()
            )
        };
        let mut pairs: Vec<String> = primary.map(pair).collect();
        pairs.dedup();
        assert!(
            expected
                .iter()
                .all(|pair| pairs.contains(&(*pair).to_owned())),
            "{pairs:?}"
        );
        let loads = rows(&record);
        assert_eq!(loads.contains(&"fresh".to_owned()), part[0] == "--subjects");
    }
}

#[test]
fn the_studies_of_this_repository_run() {
    // Method: two studies in a short form, from their folders. Every load is there, and every
    // attempt has one outcome.
    for (name, expected) in [
        (
            "nginx-vs-lighttpd",
            &[
                "small-c10",
                "small-c100",
                "medium-c10",
                "medium-c100",
                "large-c10",
                "large-c100",
            ][..],
        ),
        ("nginx-sendfile", &["small", "large"]),
    ] {
        let home = Home::new();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../studies")
            .join(name);
        let folder = folder.to_str().unwrap();
        let ended = home.run_abx(&[
            "compare", folder, "--blocks", "1", "--rounds", "4", "--slice", "20ms", "--pilot",
            "brief", "--json", "-",
        ]);
        let record = ended.json();
        ended.expect_measured(&record);
        assert_eq!(rows(&record), expected);
        for subject in record["subjects"].as_array().unwrap() {
            let slices = slices(&record, subject["name"].as_str().unwrap());
            assert!(!slices.is_empty());
            slices.iter().for_each(assert_honest);
        }
    }
}

/// The text to replace, its replacement (FIRST is the first subject's command), and the message.
const MISTAKES: &[(&str, &str, &[&str])] = &[
    (
        "baseline =",
        "basline =",
        &["study.toml:2: ", "unknown key `basline`", "`baseline`"],
    ),
    (
        "bytes = 1320",
        "bytes = \"1320\"",
        &[
            "study.toml:9: ",
            "file \"www/small.bin\"",
            "`bytes`",
            "whole number",
        ],
    ),
    (
        "start.sh.in",
        "stop.sh.in",
        &[
            "study.toml:17: ",
            "subject \"two\"",
            "the template `stop.sh.in` cannot be read",
            "next to the study file",
        ],
    ),
    (
        "name = \"one\"",
        "name = \"two\"",
        &[
            "study.toml:16: ",
            "the name `two` is taken by the subject in line 11",
            "give each its own",
        ],
    ),
    (
        "baseline = \"two\"",
        "baseline = \"three\"",
        &[
            "study.toml:2: ",
            "`baseline` is `three`, and no subject has that name",
        ],
    ),
    (
        "FIRST",
        r#"command = ["no-such-server", "{port}"]"#,
        &[
            "study.toml:13: ",
            "subject \"one\"",
            "`command`",
            "`no-such-server` not found",
            "install it",
        ],
    ),
    (
        "connections = 2\nkeep_alive = false\nrequests = [{ path = \"/small.bin\" }]",
        "connections = 2",
        &["study.toml:28: ", "load \"fresh\"", "`requests` is missing"],
    ),
    (
        "requests = [{ path = \"/small.bin\" }]",
        "requests = []",
        &["study.toml:26: ", "`requests` is empty: fill it"],
    ),
    (
        "slice = \"20ms\"",
        "slice = \"20 parsecs\"",
        &[
            "study.toml:4: ",
            "`slice` is `20 parsecs`",
            "such as 30s, 100ms",
        ],
    ),
    (
        "slice = \"20ms\"",
        "stages = 10",
        &["study.toml:4: ", "`stages`", "reserved"],
    ),
    (
        "[[file]]",
        "[[factor]]",
        &["study.toml:7: ", "factor", "reserved"],
    ),
];

#[test]
fn mistakes_are_reported_with_file_line_key_and_remedy() {
    // Method: one mistake at a time; nothing starts, and nothing is recorded.
    let touch = r#"command = ["sh", "-c", "touch started; sleep 9", "{port}"]"#;
    let first =
        format!(r#"command = ["{ABX}", "serve", "--port", "{{port}}", "--root", "{{dir}}/www"]"#);
    for (right, wrong, texts) in MISTAKES {
        let home = Home::new();
        let right = right.replace("FIRST", &first);
        // The first subject would leave a file if it started.
        let folder = study(&home, &right, wrong);
        let file = folder.join("study.toml");
        let text = fs::read_to_string(&file).unwrap().replace(&first, touch);
        fs::write(&file, text).unwrap();
        home.run_abx(&["compare", folder.to_str().unwrap()])
            .expect(2, texts);
        assert!(!home.join("started").exists() && !folder.join("started").exists());
        assert!(!home.join("state/abx").exists(), "a record of nothing");
    }
}

#[test]
fn files_that_are_not_studies_are_refused() {
    // Method: a template with an unknown placeholder, an empty file, far too long a file, and no
    // file.
    let home = Home::new();
    let folder = study(&home, "seed = 5", "seed = 5");
    let (file, template) = (folder.join("study.toml"), folder.join("start.sh.in"));
    let file = file.to_str().unwrap();
    let refused = |texts: &[&str]| {
        home.run_abx(&["compare", file]).expect(2, texts);
    };
    fs::write(&template, "one\ntwo {prot}\n").unwrap();
    refused(&["start.sh.in:2: ", "unknown placeholder {prot}", "`port`"]);
    fs::write(file, "").unwrap();
    refused(&["study.toml:1: the file is empty", "[[subject]]"]);
    fs::write(file, "#".repeat(10_000_000)).unwrap();
    refused(&["study.toml:1: the file is longer than", "the right one"]);
    fs::remove_file(file).unwrap();
    refused(&["study.toml: cannot be read", "name a study.toml"]);
    assert!(!home.join("state/abx").exists(), "a record of nothing");
}

#[test]
fn needs_of_subjects_are_listed_and_installed_only_on_request() {
    // Method: a subject that is built, with and without --install; then one that the user has to
    // provide, and a package that does not exist.
    let home = Home::new();
    let folder = study(
        &home,
        "name = \"one\"",
        "name = \"one\"\nfrom.build.command = [\"sh\", \"-c\", \"cp study.toml {build}/page\"]",
    );
    let file = folder.join("study.toml");
    let text = fs::read_to_string(&file).unwrap();
    let built = text
        .replace("{dir}/www\"]\n\n[[subject]]", "{build}\"]\n\n[[subject]]")
        .replace("path = \"/small.bin\" }]", "path = \"/page\" }]")
        .replace("/small.bin\", status", "/page\", status")
        .replace("path = \"www/small.bin\"", "path = \"www/page\"")
        .replace("[[load]]", "[[load]]\nexpect = { body = \"any\" }");
    fs::write(&file, built).unwrap();
    let words = [
        "compare",
        folder.to_str().unwrap(),
        "--pilot",
        "brief",
        "--json",
        "-",
    ];
    home.run_abx(&words)
        .expect(2, &["study.toml", "one: ", "sh -c", "--install"]);
    assert!(!home.join(".cache").exists(), "installed without a flag");
    let ended = home.run_abx(&[&words[..], &["--install"]].concat());
    let record = ended.json();
    ended.expect_measured(&record);
    // What is installed is not installed again.
    let again = home.run_abx(&words);
    again.expect_measured(&again.json());

    for (need, texts) in [
        (
            "from.bring = { program = \"no-such-server\", how = \"write it first\" }",
            &["one: ", "no-such-server", "write it first"],
        ),
        (
            "from.packages = [\"no-such-package-of-abx\"]",
            &["one: ", "no-such-package-of-abx", "--install"],
        ),
    ] {
        let folder = study(&home, "name = \"one\"", &format!("name = \"one\"\n{need}"));
        home.run_abx(&["compare", folder.to_str().unwrap()])
            .expect(2, texts);
    }
}

#[test]
fn flags_that_conflict_with_a_study_file_are_refused() {
    // Method: each kind of flag, a subject next to a study, a flag of studies without one, and a
    // study with a single subject.
    let home = Home::new();
    let folder = study(&home, "seed = 5", "seed = 5");
    let folder = folder.to_str().unwrap();
    let [other, third] =
        ["other", "third"].map(|name| format!("{name}={ABX} serve --port {{port}}"));
    let cases: &[(&[&str], &[&str])] = &[
        (
            &[folder, "-c", "10"],
            &["--connections", "`connections`", "[[load]]"],
        ),
        (&[folder, "--path", "/"], &["--path", "`requests.path`"]),
        (&[folder, "--aa"], &["--aa", "study file"]),
        (&[folder, &other], &[folder, "give it alone"]),
        (&[&other, &third, "--install"], &["--install", "study file"]),
    ];
    for (words, texts) in cases {
        home.run_abx(&[&["compare"], *words].concat())
            .expect(2, texts);
    }
    let text = good();
    let (before, rest) = text.split_once("[[subject]]\nname = \"one\"").unwrap();
    let after = rest.split_once("[[subject]]").unwrap().1;
    let alone = format!("{before}[[subject]]{after}");
    home.write("my-study/study.toml", &alone);
    home.run_abx(&["compare", folder]).expect(
        2,
        &["study.toml:", "one subject alone", "second [[subject]]"],
    );
}
