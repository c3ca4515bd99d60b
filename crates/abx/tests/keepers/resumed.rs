//! `--resume`: continues a study that ended early, and keeps its measurements.

use std::fs;

use abx_sys::process::Signal;
use serde_json::Value;

use crate::support::{Ended, Home, Running, Server, is_server, read_json, subject};

/// The blocks of a study that is ended in its second one.
const BLOCKS: &str = "5";

/// A study of two built-in servers with this many blocks.
fn study(blocks: &str) -> Vec<String> {
    let subjects = [subject("one", ""), subject("two", "--model thread")];
    let flags = "--slice 20ms --rounds 2 --pilot brief --no-ceiling -c 2 --seed 7 --blocks";
    let flags = flags.split(' ').map(str::to_owned);
    let mut words = vec!["compare".to_owned()];
    words.extend(subjects);
    words.extend(flags);
    words.push(blocks.to_owned());
    words
}

fn compare(home: &Home, words: &[String], more: &[&str]) -> Ended {
    let words = words.iter().map(String::as_str);
    let words: Vec<&str> = words.chain(more.iter().copied()).collect();
    home.run_abx(&words)
}

/// Waits until a block is on disk and the servers of the next one run.
fn after_a_block(running: &mut Running) {
    running.until("a finished block", |home| {
        let record = read_json(home.records_in("state/abx").first()?);
        (record["blocks"][0]["complete"] == true).then_some(())
    });
    running.until("the next block", |home| {
        let processes = home.processes();
        let servers = processes.iter().filter(|(_, line)| is_server(line));
        (servers.count() == 2).then_some(())
    });
}

/// Starts that study, and ends it by a signal in a block after the first.
fn ended_by(home: &Home, blocks: &str, signal: Signal) -> Ended {
    let words = study(blocks);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut running = home.start(&mut home.abx(&words));
    after_a_block(&mut running);
    running.signal(signal);
    let ended = running.wait_alone();
    home.wait_until_empty();
    ended
}

fn seeds(record: &Value) -> Vec<Value> {
    let blocks = record["blocks"].as_array().unwrap().iter();
    blocks.map(|block| block["seed"].clone()).collect()
}

#[test]
fn a_killed_study_continues_with_the_same_blocks() {
    // Method: SIGKILL in a block after the first, then `--resume` with only the record. The pilot
    // and the finished blocks are unchanged, and the seeds are those of an uninterrupted study.
    let home = Home::new();
    ended_by(&home, BLOCKS, Signal::Kill);
    let before = home.record();
    let finished = before["blocks"].as_array().unwrap().clone();
    assert_eq!(before["end"]["reason"], "running");
    assert!(!finished.is_empty() && finished.len() < 5);
    let resumed = home.run_abx(&["compare", "--resume", "last", "--full"]);
    let record = home.record();
    resumed.expect_measured(&record);
    let message = format!("Continuing {}", record_id(&home));
    resumed.expect(resumed.status.code().unwrap(), &[&message]);
    assert!(
        resumed.stdout.contains("was continued after"),
        "{resumed:#?}"
    );
    let blocks = record["blocks"].as_array().unwrap();
    assert_eq!(blocks.len(), 5);
    assert_eq!(blocks[..finished.len()], finished);
    assert_eq!(record["loads"][0]["pilot"], before["loads"][0]["pilot"]);
    assert!(blocks.iter().all(|block| block["complete"] == true));
    let continuation = &record["continuations"][0];
    assert_eq!(continuation["block"], finished.len());
    assert_eq!(continuation["ended"]["reason"], "running");
    assert_eq!(continuation["elapsed_s"], before["elapsed_s"]);
    assert!(record["elapsed_s"].as_f64() > before["elapsed_s"].as_f64());
    assert_eq!(record["started_unix_ms"], before["started_unix_ms"]);
    let uninterrupted = Home::new();
    compare(&uninterrupted, &study(BLOCKS), &[]).expect_measured(&uninterrupted.record());
    assert_eq!(seeds(&record), seeds(&uninterrupted.record()));
    let again = home.run_abx(&["compare", "--resume", "last"]);
    again.expect(2, &["is complete", "without --resume"]);
}

/// The id of the only record.
fn record_id(home: &Home) -> String {
    let path = home.record_path();
    let name = path.file_name().unwrap().to_str().unwrap();
    abx_lab::history::short_id_of_file(name)
}

#[test]
fn a_stopped_study_names_the_command_that_continues_it() {
    // Method: Ctrl-C after a block, then the printed command with another budget and output.
    let home = Home::new();
    let ended = ended_by(&home, BLOCKS, Signal::Int);
    ended.expect(130, &["Continue it with: abx compare --resume "]);
    let line = ended.stderr.lines().find(|line| line.contains("--resume"));
    let id = line.and_then(|line| line.rsplit(' ').next()).unwrap();
    let before = home.record();
    let saved = before["blocks"].as_array().unwrap();
    let incomplete = saved
        .iter()
        .filter(|block| block["complete"] == false)
        .count();
    let page = home.join("page.html").display().to_string();
    let resumed = compare(&home, &study(BLOCKS), &["--resume", id, "--html", &page]);
    let record = home.record();
    resumed.expect_measured(&record);
    assert!(
        fs::read_to_string(page)
            .unwrap()
            .contains("was continued after")
    );
    let blocks = record["blocks"].as_array().unwrap();
    let complete = blocks
        .iter()
        .filter(|block| block["complete"] == true)
        .count();
    // An incomplete block is kept, and another one is measured in its place.
    assert_eq!((complete, blocks.len()), (5, 5 + incomplete));
    assert_eq!(record["continuations"][0]["block"], saved.len());
}

#[test]
fn a_study_is_not_continued_as_a_different_one() {
    // Method: another command of a subject, another load, another script under the same command,
    // another kind of record, a missing one, and one that abx is still measuring.
    let home = Home::new();
    let script = "exec \"$@\"";
    home.write("serve.sh", script);
    let wrapped = |name: &str| {
        let plain = subject(name, "");
        let (name, command) = plain.split_once('=').unwrap();
        format!("{name}=sh serve.sh {command}")
    };
    let mut words = study(BLOCKS);
    words[1] = wrapped("one");
    let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut running = home.start(&mut home.abx(&arguments));
    after_a_block(&mut running);
    let busy = home.abx(&["compare", "--resume", "last"]).output().unwrap();
    assert_eq!(busy.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&busy.stderr).contains("still measuring"));
    running.signal(Signal::Kill);
    running.wait_alone();
    home.wait_until_empty();
    let refused = |words: &[String], text: &str| {
        compare(&home, words, &["--resume", "last"])
            .expect(2, &["differs from that of the record", text]);
    };
    let mut other = words.clone();
    other[2] = subject("two", "--model prefork");
    refused(&other, "`subjects.two.command` was");
    let with_path = [&words[..], &["--path".to_owned(), "/x".to_owned()]].concat();
    refused(&with_path, "`loads.");
    home.write("serve.sh", &format!("{script} # changed"));
    refused(&words, "`identity.files.one` was");
    home.write("serve.sh", script);
    compare(&home, &words, &["--resume", "nowhere.json"]).expect(2, &["nowhere.json"]);
    compare(&home, &words, &["--resume", "last"]).expect_measured(&home.record());
    let server = Server::start(&[]);
    home.run_abx(&["run", &server.url, "-d", "100ms"])
        .expect(0, &[]);
    home.run_abx(&["compare", "--resume", "last"])
        .expect(2, &["not a record of `abx compare`"]);
}

#[test]
fn hidden_secrets_must_be_given_again() {
    // Method: a study with a header that records hide.
    let home = Home::new();
    let mut words = study(BLOCKS);
    words.extend(["-H".to_owned(), "Authorization: Bearer abc".to_owned()]);
    let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut running = home.start(&mut home.abx(&arguments));
    after_a_block(&mut running);
    running.signal(Signal::Kill);
    running.wait_alone();
    home.wait_until_empty();
    home.run_abx(&["compare", "--resume", "last"])
        .expect(2, &["does not show the secrets", "run that command again"]);
    let path = home.record_path();
    compare(&home, &words, &["--resume", "last"]).expect_measured(&read_json(&path));
}
