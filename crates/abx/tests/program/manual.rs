//! The manual: every example in it runs, and every page exists.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::support::transcript::{Block, Example, Kind, Transcript};
use crate::support::{ABX, Ended, Home, Server};

/// The project's root.
fn root() -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"));
    path.join("../..").canonicalize().unwrap()
}

/// A record of two servers named as in the documents, measured once.
static RECORD: LazyLock<String> = LazyLock::new(|| {
    let home = Home::new();
    let [nginx, old] = ["nginx", "old"].map(|name| crate::support::subject(name, ""));
    home.run_abx(&[
        "compare",
        &nginx,
        &old,
        "--blocks",
        "1",
        "--rounds",
        "4",
        "--slice",
        "20ms",
        "--pilot",
        "brief",
        "--no-ceiling",
    ]);
    fs::read_to_string(home.record_path()).unwrap()
});

/// Files of records whose ids the documents name.
const RECORDS: [&str; 3] = [
    "compare-1795252320-60961033-811.json",
    "compare-1795300000-12546290-811.json",
    "compare-1795196400-533820-790.json",
];
/// Where the servers of the documents listen.
const PORTS: [&str; 3] = ["8080", "8081", "8082"];

/// The study whose record examples read. The record takes seconds to read in a debug build, so the
/// examples get a small one.
const LARGE: &str = "event-servers";

/// Makes a folder with links to all entries of another one, except this one.
fn link_all(from: &Path, to: &Path, except: &str) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let name = entry.unwrap().file_name();
        if name != except {
            std::os::unix::fs::symlink(from.join(&name), to.join(&name)).unwrap();
        }
    }
}

/// A home with everything that the documents assume: abx on the PATH, a server, the project's
/// examples and studies, and some records.
fn furnished() -> Home {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let home = Home::new();
    fs::create_dir(home.join("bin")).unwrap();
    symlink(ABX, home.join("bin/abx")).unwrap();
    symlink(root().join("examples"), home.join("examples")).unwrap();
    link_all(&root().join("studies"), &home.join("studies"), LARGE);
    let large = home.join("studies").join(LARGE);
    link_all(
        &root().join("studies").join(LARGE),
        &large,
        "record.json.zst",
    );
    fs::write(large.join("record.json.zst"), &*RECORD).unwrap();
    home.write("server", "#!/bin/sh\nexec abx serve --port \"$2\"\n");
    fs::set_permissions(home.join("server"), fs::Permissions::from_mode(0o755)).unwrap();
    let records = home.join(".local/state/abx");
    fs::create_dir_all(&records).unwrap();
    for name in RECORDS {
        fs::write(records.join(name), &*RECORD).unwrap();
    }
    home
}

/// One block as a shell script. Each example must succeed, or keep running if it ends in `&`. The
/// file `at` has the place of the current example.
fn script(block: &Block) -> String {
    let mut script = "ip link set lo up\nservers=\"\"\n\
        stop() { kill $servers 2>/dev/null || true; wait; exit $1; }\n\
        starts() { until [ -s \"$1\" ]; do kill -0 $2 || stop 99; sleep 0.02; done; }\n"
        .to_owned();
    // Other commands build abx or change the machine, and are left out.
    let calls: Vec<&Example> = block
        .examples
        .iter()
        .filter(|example| example.words().is_some())
        .collect();
    let mentions = |part: &str| calls.iter().any(|example| example.text.contains(part));
    let has_server = mentions("abx serve");
    for port in PORTS.iter().filter(|port| !has_server && mentions(port)) {
        script.push_str(&background(&format!("abx serve --port {port}"), port));
    }
    for example in &calls {
        let (file, line, text) = (&block.file, example.line, &example.text);
        script.push_str(&format!("echo '{file}:{line}' >at\n"));
        match text.strip_suffix('&') {
            Some(text) => script.push_str(&background(text, &line.to_string())),
            // A verdict may be invalid on a busy machine.
            None => script.push_str(&format!(
                "code=0\n{text} || code=$?\ncase $code in 0|3) ;; *) stop $code ;; esac\n"
            )),
        }
    }
    script.push_str("stop 0\n");
    script
}

/// Runs a block in a home, with its records in the usual folder.
fn run(home: &Home, block: &Block) -> Ended {
    let mut command = home.shell_apart("n", &script(block));
    home.run(command.env_remove("XDG_STATE_HOME"))
}

/// Shell commands that start a server and wait for its first output.
fn background(text: &str, name: &str) -> String {
    format!("{text} >out.{name} 2>&1 &\nservers=\"$servers $!\"\nstarts out.{name} $!\n")
}

#[test]
fn every_example_in_the_manual_runs() {
    // Method: each `console` block of the documents as a shell reads it, in a new home and a
    // network namespace with servers on the ports that it names. A unit test of the command line
    // parses the blocks marked `long`.
    let transcript = Transcript::of_project(&root());
    assert!(transcript.strays.is_empty(), "{:#?}", transcript.strays);
    let mut failed = Vec::new();
    let quick = transcript
        .blocks
        .iter()
        .filter(|block| block.kind == Kind::Run);
    let mut count = 0;
    for block in quick {
        count += 1;
        let home = furnished();
        let ended = run(&home, block);
        if ended.status.code() != Some(0) {
            let at = fs::read_to_string(home.join("at")).unwrap_or_default();
            failed.push(format!("{}: {ended:#?}", at.trim()));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    // An empty manual would pass.
    assert!(count >= 3, "{count} blocks");
}

#[test]
fn the_first_comparison_prints_what_its_page_shows() {
    // Method: the page has the servers of examples/first word for word. Its first examples, as a
    // shell reads them, compare the two, and the example with a wrong path is refused.
    let page = fs::read_to_string(root().join("docs/start/first-comparison.md")).unwrap();
    for name in ["hello.py", "hello.go"] {
        let server = fs::read_to_string(root().join("examples/first").join(name)).unwrap();
        assert!(
            page.contains(server.trim_end()),
            "{name} differs from the page"
        );
    }
    let mut transcript = Transcript::default();
    transcript.read("first-comparison.md", &page);
    let texts = |block: &Block| -> Vec<String> {
        let examples = block.examples.iter();
        examples.map(|example| example.text.clone()).collect()
    };
    let first = texts(&transcript.blocks[0]);
    let is_wrong_path = |text: &String| text.contains("--path");
    let mut refused = transcript
        .blocks
        .iter()
        .flat_map(texts)
        .filter(is_wrong_path);
    let home = furnished();
    // Go's standard library is compiled once and kept.
    let cache = root().join("target/test-tools/go");
    let shell = |text: &str| {
        let mut command = home.shell_apart("n", &format!("ip link set lo up\n{text}"));
        home.run(command.env("GOCACHE", &cache))
    };
    let compared = shell(&first.join("\n"));
    for part in ["too few blocks", "\npython ", "\ngo "] {
        assert!(compared.stdout.contains(part), "{compared:#?}");
    }
    shell(&refused.next().unwrap()).expect(2, &["/missing with status 404"]);
}

#[test]
fn an_example_that_fails_is_named_with_its_line() {
    // Method: a document with an example that works, one that fails, and a call of abx that is not
    // written as an example.
    let mut transcript = Transcript::default();
    let text = "```console\n$ abx history\n```\n\n```console\n$ abx history\n$ abx repost\n```\n\
                ```\nabx run http://127.0.0.1:8080/\n```\n";
    transcript.read("x.md", text);
    let home = furnished();
    run(&home, &transcript.blocks[1]).expect(2, &["repost"]);
    assert_eq!(fs::read_to_string(home.join("at")).unwrap(), "x.md:7\n");
    assert_eq!(transcript.strays.len(), 1);
    assert!(
        transcript.strays[0].starts_with("x.md:10: "),
        "{:?}",
        transcript.strays
    );
}

#[test]
fn completions_include_every_command_and_flag() {
    // Method: the script of each shell. bash runs its own and must complete the beginnings of a
    // command and of a flag.
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = home.run_abx(&["completions", shell]);
        script.expect(0, &[]);
        for word in ["compare", "history", "budget"] {
            assert!(script.stdout.contains(word), "{shell}: {word}");
        }
        assert!(!script.stdout.contains("keeper"), "{shell}");
    }
    let script = "abx completions bash >abx.bash\n. ./abx.bash\n\
        COMP_WORDS=(abx comp); COMP_CWORD=1; _abx abx comp abx; echo ${COMPREPLY[*]}\n\
        COMP_WORDS=(abx compare --blo); COMP_CWORD=2; _abx abx --blo compare; echo ${COMPREPLY[*]}\n";
    let mut bash = std::process::Command::new("bash");
    let script = script.replace("abx completions", &format!("'{ABX}' completions"));
    bash.args(["-ec", &script]).current_dir(home.path());
    let output = bash.output().unwrap();
    let replies = String::from_utf8_lossy(&output.stdout);
    assert_eq!(replies, "compare completions\n--blocks\n", "{output:?}");
    home.run_abx(&["completions", "tcsh"])
        .expect(2, &["tcsh", "bash"]);
}

#[test]
fn completions_include_records_and_studies() {
    // Method: bash completes the beginnings of ids and names by its script, without a record and
    // with two. Flags and the values of other flags complete as before.
    let home = Home::new();
    let server = Server::start(&[]);
    home.run_abx(&["words", "records"]).expect(0, &[]);
    let complete = |words: &[&str]| {
        let (last, prev) = (words[words.len() - 1], words[words.len() - 2]);
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let script = format!(
            "abx() {{ '{ABX}' \"$@\"; }}\neval \"$(abx completions bash)\"\nCOMP_WORDS=({})\n\
             COMP_CWORD={}\n_abx abx '{last}' '{prev}'\necho ${{COMPREPLY[*]}}",
            quoted.join(" "),
            words.len() - 1
        );
        let mut bash = std::process::Command::new("bash");
        home.settle(bash.args(["-ec", &script]));
        let output = bash.output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(complete(&["abx", "report", "la"]), "");
    for _ in 0..2 {
        home.run_abx(&["run", &server.url, "-n", "1", "-q"])
            .expect(0, &[]);
    }
    let listed = home.run_abx(&["words", "records"]).stdout;
    let ids: Vec<&str> = listed.split_whitespace().collect();
    assert_eq!((ids.len(), ids[0]), (3, "last"), "{listed}");
    home.run_abx(&["report", ids[1]]).expect(0, &[]);
    assert_eq!(complete(&["abx", "report", ""]), ids.join(" "));
    assert_eq!(complete(&["abx", "view", "la"]), "last");
    assert_eq!(complete(&["abx", "report", "--full", ids[1]]), ids[1]);
    assert_eq!(complete(&["abx", "report", "--html", "la"]), "");
    assert_eq!(complete(&["abx", "report", "--explain"]), "--explain-terms");
    assert_eq!(
        complete(&["abx", "study", "run", "nginx-send"]),
        "nginx-sendfile"
    );
    assert!(complete(&["abx", "study", "show", ""]).contains("event-servers"));
    for (shell, parts) in [
        (
            "zsh",
            &[":_abx_records'", ":_abx_studies'", "abx words records"][..],
        ),
        ("fish", &["(abx words records", "(abx words studies"]),
    ] {
        let script = home.run_abx(&["completions", shell]).stdout;
        for part in parts {
            assert!(script.contains(part), "{shell}: {part}");
        }
    }
}

#[test]
fn each_command_has_a_manual_page() {
    // Method: the pages as files and printed, each with its name, its synopsis and its examples.
    // This does not need `man`.
    let home = Home::new();
    home.run_abx(&["manual", "--folder", "man/man1"])
        .expect(0, &["pages", "man/man1"]);
    let files = fs::read_dir(home.join("man/man1")).unwrap().flatten();
    let mut names: Vec<String> = files
        .map(|file| file.file_name().into_string().unwrap())
        .collect();
    names.sort();
    for page in ["abx-compare.1", "abx-study-run.1", "abx-bus-init.1"] {
        assert!(names.contains(&page.to_owned()), "{page}: {names:?}");
    }
    assert!(
        !names.iter().any(|name| name.contains("keeper")),
        "{names:?}"
    );
    for name in &names {
        let text = fs::read_to_string(home.join("man/man1").join(name)).unwrap();
        let command = name.trim_end_matches(".1");
        for part in [
            &format!(".TH {command} 1"),
            ".SH SYNOPSIS",
            ".SH EXAMPLES\n.nf\nabx",
            "share/doc/abx",
        ] {
            assert!(text.contains(part), "{name}: {part}");
        }
        assert!(
            !text.contains("EXTRA") && !text.contains("\nExit codes"),
            "{name}"
        );
        let words = match command.strip_prefix("abx-") {
            Some(command) => vec!["manual", command],
            None => vec!["manual"],
        };
        assert!(home.run_abx(&words).expect(0, &[]).stdout == text, "{name}");
    }
    let first_page = fs::read_to_string(home.join("man/man1/abx.1")).unwrap();
    assert!(
        first_page.contains(".SH \"EXIT STATUS\"\n0 done; 1"),
        "{first_page}"
    );
    let below = fs::read_to_string(home.join("man/man1/abx-study-run.1")).unwrap();
    assert!(below.contains("abx study run"), "{below}");
    // The study sets its load, so the page has no flags of loads.
    assert!(!below.contains("resume earlier sessions"), "{below}");
    let printed = home.run_abx(&["manual", "study", "run"]);
    assert!(printed.expect(0, &[]).stdout == below, "{printed:#?}");
    home.run_abx(&["manual", "keeper"])
        .expect(2, &["abx-keeper", "compare"]);
    home.write("taken", "");
    home.run_abx(&["manual", "--folder", "taken"])
        .expect(3, &["taken", "--folder"]);
}
