//! Foreign study files: their commands run only after the user agrees, and the files that they and
//! files of requests name must be in their folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::support::{ABX, Ended, Home, Server};

/// A study of two subjects whose commands leave a file behind. `more` is a key of the first one.
fn study(home: &Home, more: &str) -> String {
    let mark = home.join("ran").display().to_string();
    let run = format!("touch {mark}; exec {ABX} serve --port {{port}} --model");
    home.write(
        "study.toml",
        &format!(
            "budget = \"5s\"\n\
             [[subject]]\nname = \"a\"\ncommand = [\"sh\", \"-c\", \"{run} event\"]\n{more}\n\
             [[subject]]\nname = \"b\"\ncommand = [\"sh\", \"-c\", \"{run} thread\"]\n\
             [[load]]\nname = \"l\"\nconnections = 1\nrequests = [{{ path = \"/\" }}]\n"
        ),
    )
}

const BRIEF: &str = "--pilot brief --slice 5ms --blocks 1 --rounds 2 --no-ceiling --quiet";

/// `abx` with these words on this study, without any other trust.
fn abx(home: &Home, words: &str, study: &str) -> Ended {
    let mut words: Vec<&str> = words.split_whitespace().collect();
    words.push(study);
    home.run(home.abx(&words).env_remove("ABX_TRUST"))
}

/// Whether a subject has run since the last call.
fn has_run(home: &Home) -> bool {
    fs::remove_file(home.join("ran")).is_ok()
}

#[test]
fn foreign_commands_run_only_after_consent() {
    // Method: a study file without consent, with every command that would run it; the plan, which
    // runs nothing; --trust, after which abx does not ask again; a changed command; and folders of
    // `ABX_TRUST`. A command that ran leaves a file.
    let home = Home::new();
    let file = study(&home, "");
    let compare = format!("compare {BRIEF}");
    let untrusted = [
        "study.toml",
        "a: sh -c",
        "--model thread",
        "--trust",
        "ABX_TRUST",
    ];
    for words in [&compare[..], "study check", "study install"] {
        abx(&home, words, &file).expect(2, &untrusted);
        assert!(!has_run(&home));
    }
    abx(&home, "compare --plan", &file).expect(0, &[]);
    assert!(!has_run(&home));
    let measured = |words: &str| {
        let code = abx(&home, words, &file).status.code();
        assert!(matches!(code, Some(0 | 3)), "{words}: {code:?}");
        assert!(has_run(&home), "{words}");
    };
    measured(&format!("{compare} --trust"));
    measured(&compare);
    study(&home, "env = { LD_PRELOAD = \"\" }");
    abx(&home, &compare, &file).expect(2, &["(with LD_PRELOAD set)"]);
    assert!(!has_run(&home));
    let here = home.path().display().to_string();
    for (folder, code) in [("/nowhere", 2), (here.as_str(), 0)] {
        let words = ["study", "check", &file];
        let ended = home.run(home.abx(&words).env("ABX_TRUST", folder));
        ended.expect(code, &[]);
    }
}

#[test]
fn a_user_is_prompted_once() {
    // Method: a terminal made by `script`, on which the user refuses, then trusts the folder; then
    // a changed command in it, without a terminal.
    let home = Home::new();
    let file = study(&home, "");
    let on_terminal = |typed: &str| {
        let words = format!("{ABX} compare {BRIEF} {file}");
        let script = format!("printf '{typed}\\n' | script -qec '{words}' /dev/null");
        let mut command = Command::new("sh");
        command.args(["-c", &script]);
        home.settle(&mut command);
        home.run(command.env_remove("ABX_TRUST"))
    };
    let refused = on_terminal("n");
    assert!(refused.stdout.contains("Run them?"), "{refused:?}");
    assert!(refused.stdout.contains("nothing was run"), "{refused:?}");
    assert!(!has_run(&home));
    let agreed = on_terminal("a");
    assert!(agreed.stdout.contains("Run them?"), "{agreed:?}");
    assert!(has_run(&home));
    study(&home, "env = { OTHER = \"\" }");
    let again = abx(&home, &format!("compare {BRIEF}"), &file);
    assert!(matches!(again.status.code(), Some(0 | 3)), "{again:?}");
    assert!(has_run(&home));
}

#[test]
fn files_named_by_foreign_input_must_be_in_the_folder() {
    // Method: a template and a scenario's body that are links out of their folder, and files of
    // requests that name a file by an absolute path, by a link, and in their folder.
    let home = Home::new();
    fs::create_dir_all(home.join("study")).unwrap();
    home.write("secret", "hunter2\n");
    let link = home.join("study/link");
    symlink("../secret", link).unwrap();
    let subject = "command = [\"./a\", \"{port}\"]\ntemplates = { x = \"link\" }\n";
    home.write(
        "study/study.toml",
        &format!(
            "[[subject]]\nname = \"a\"\n{subject}[[subject]]\nname = \"b\"\n{subject}\
             [[load]]\nname = \"l\"\nrequests = [{{ path = \"/\" }}]\n"
        ),
    );
    let steps = "[[step]]\npath = \"/\"\nmethod = \"POST\"\nbody = \"@link\"\n";
    home.write("study/steps.toml", steps);
    let server = Server::start(&["--model", "null"]);
    let outside = &["out of the folder"];
    home.run_abx(&["compare", "study"]).expect(2, outside);
    let scenario = ["run", &server.url, "--scenario", "study/steps.toml"];
    home.run_abx(&scenario).expect(2, outside);
    symlink("/etc/passwd", home.join("passwd")).unwrap();
    for (file, code) in [("/etc/passwd", 2), ("passwd", 2), ("secret", 0)] {
        home.write(
            "requests",
            &format!("{{\"path\": \"/?q={{line:{file}}}\"}}\n"),
        );
        let words = [
            "run",
            &server.url,
            "-n",
            "9",
            "-c",
            "1",
            "--request-file",
            "requests",
        ];
        let ended = home.run_abx(&words);
        let part = if code == 0 {
            ""
        } else {
            "only name files in the current folder"
        };
        ended.expect(code, &[part]);
    }
}
