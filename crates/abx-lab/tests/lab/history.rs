//! The history of records. Its index may be missing, old, damaged or in use by others, and never
//! changes the result of a search.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

use std::fs;
use std::path::Path;

use abx_lab::history::{Added, Archive, HistoryError, Query, SEARCHES, resolve};
use abx_verdict::Verdict;
use abx_verdict::history::{History, RecordKind};
use proptest::prelude::*;
use rusqlite::Connection;
use tempfile::TempDir;

const INDEX: &str = "history.sqlite3";

/// A study's record, without the parts that the history does not read.
fn study(subject: &str, started: u64) -> String {
    format!(
        r#"{{"schema":"abx.study/1","abx_version":"0.1.0","started_unix_ms":{started},
        "elapsed_s":38.25,"seed":18446744073709551615,"command":[],"later":"keys are passed over",
        "settings":{{"baseline":"old","threads":1,"subject_cpus":[0],"generator_cpus":[1]}},
        "machine":{{"cpu_model":"A","cpus":2,"kernel":"6.18.5"}},
        "subjects":[{{"name":"old","command":["./old","{{port}}"],"version":"Old/1.2"}},
                    {{"name":"{subject}","command":[],"address":"http://127.0.0.1:81/"}}],
        "loads":[{{"name":"c50","settings":{{}}}}],
        "comparisons":[{{"role":"primary","load":"c50","subject":"{subject}","baseline":"old","metric":"throughput","ratio":1.25,
            "low":1.2,"high":1.3,"verdict":"faster","blocks":1}},
            {{"role":"exploratory","load":"c50","subject":"{subject}","baseline":"old","metric":"throughput","ratio":1.0,
            "low":0.5,"high":2.0,"verdict":"inconclusive","blocks":1}}],
        "blocks":[{{"complete":true,"rounds":[]}},{{"complete":false}}]}}"#
    )
}

const RUN: &str = r#"{"schema":"abx.run/1","throughput_per_s":1234.5,"measured":{"abx_version":"0.1.0",
    "started_unix_ms":5,"elapsed_s":1,"seed":9,"settings":{"threads":1},"machine":{"cpus":2},
    "subjects":[{"name":"http://127.0.0.1:80/x","command":[],"address":"http://127.0.0.1:80/x"}],
    "loads":[{"name":"c7"}],"blocks":[{"complete":true}]}}"#;

/// A folder with three records and two other files.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("one.json", &study("new", 1_000));
    write("two.json", &study("Änderung", 3_000));
    write("run.json", RUN);
    write("other.json", r#"{"schema":"abx.study/99"}"#);
    write("notes.txt", "not looked at");
    folder
}

/// The history of a folder, whose index must be usable.
fn all(folder: &Path) -> History {
    let archive = Archive::open(folder).unwrap();
    assert!(
        archive.problem().is_none(),
        "{}",
        archive.problem().unwrap()
    );
    archive.list(&Query::default()).unwrap()
}

fn files(history: &History) -> Vec<&str> {
    let entries = history.entries.iter();
    entries.map(|entry| entry.file.as_str()).collect()
}

fn search(folder: &Path, text: &str) -> Vec<String> {
    let query = Query {
        text: Some(text.to_owned()),
        ..Query::default()
    };
    let history = Archive::open(folder).unwrap().list(&query).unwrap();
    files(&history).into_iter().map(str::to_owned).collect()
}

#[test]
fn records_are_listed_with_an_outline() {
    // Method: a study, a run, and a file of a later version, read once from the files and once from
    // the index.
    let folder = folder();
    let first = all(folder.path());
    assert_eq!(files(&first), ["two.json", "one.json", "run.json"]);
    assert_eq!(first.unread[0].file, "other.json");
    assert!(first.unread[0].why.contains("abx.study/99"));
    let outline = &first.entries[1].outline;
    assert_eq!(outline.kind, RecordKind::Study);
    assert_eq!(
        (outline.blocks, outline.elapsed_s, outline.seed),
        (1, Some(38.25), Some(u64::MAX))
    );
    assert_eq!(outline.subjects[0].version.as_deref(), Some("Old/1.2"));
    assert_eq!(outline.subjects[0].command, ["./old", "{port}"]);
    assert_eq!(outline.loads, ["c50"]);
    assert_eq!(outline.machine.kernel.as_deref(), Some("6.18"));
    assert_eq!(outline.machine.generator_cpus, [1]);
    // Only primary comparisons are listed.
    assert_eq!(outline.comparisons.len(), 1);
    assert_eq!(outline.comparisons[0].verdict, Verdict::Faster);
    let run = &first.entries[2].outline;
    assert_eq!(
        (run.kind, run.throughput_per_s),
        (RecordKind::Run, Some(1234.5))
    );
    assert_eq!((run.seed, &run.loads[0][..]), (Some(9), "c7"));
    assert_eq!(all(folder.path()), first);
    assert!(folder.path().join(INDEX).is_file());
}

#[test]
fn a_scenario_is_listed_with_its_file() {
    // Method: a run of a scenario, searched by the scenario's file.
    let folder = tempfile::tempdir().unwrap();
    let settings = r#"{"name":"c7","settings":{"scenario":{"file":"shop/login.toml"}}}"#;
    let run = RUN.replace(r#"{"name":"c7"}"#, settings);
    fs::write(folder.path().join("run.json"), run).unwrap();
    let first = all(folder.path());
    assert_eq!(first.entries[0].outline.loads, ["login.toml c7"]);
    assert_eq!(search(folder.path(), "LOGIN"), ["run.json"]);
}

/// The record of a search for a commit, with only the parts that a list needs.
const SEARCH: &str = r#"{"schema":"abx.output/1","kind":"bisect","abx_version":"0.1.0",
    "started_unix_ms":2000,"command":[],"label":"nightly 7","revisions":["v1","main"],"build":[],
    "server":"./server","metric":"throughput","by":0.03,"trials":[],"elapsed_s":60.5,
    "commits":[{"commit":"aaaaaaaaaaaa","author_date":"","subject_line":"","parents":[]},
        {"commit":"bbbbbbbbbbbb","author_date":"","subject_line":"","parents":[0]}],
    "ends":{"per_block":[0.9,0.91],"record":"3fa9c1"},
    "confirmation":{"parent":"aaaaaaaaaaaa","record":"3fa9c1","pairs":[{"build":1,"parent_build":1,
        "per_block":[0.9,0.92],"bounds":{"ratio":0.91,"low":0.89,"high":0.93}}]},
    "conclusion":{"kind":"culprit","position":1}}"#;

#[test]
fn searches_for_commits_are_listed_from_their_own_folder() {
    // Method: a search that found a commit, listed from the file and from the index, and named by
    // its label and its id; then a file in the place of the folder.
    let folder = folder();
    let searches = folder.path().join(SEARCHES);
    fs::create_dir(&searches).unwrap();
    fs::write(searches.join("key.json"), SEARCH).unwrap();
    let first = all(folder.path());
    let files = ["two.json", "bisect/key.json", "one.json", "run.json"];
    assert_eq!(self::files(&first), files);
    let entry = &first.entries[1];
    let outline = &entry.outline;
    assert_eq!((outline.kind, outline.blocks), (RecordKind::Bisect, 4));
    assert_eq!(outline.search.as_ref().unwrap().commits, 1);
    let comparison = &outline.comparisons[0];
    let names = [&*comparison.subject, &*comparison.baseline];
    assert_eq!(names, ["bbbbbbbbb", "aaaaaaaaa"]);
    assert_eq!(comparison.verdict, Verdict::Slower);
    assert_eq!(comparison.ratio, Some(0.91));
    assert_eq!(all(folder.path()), first);
    assert_eq!(search(folder.path(), "Nightly"), ["bisect/key.json"]);
    assert_eq!(
        resolve(&entry.id, folder.path()).unwrap(),
        searches.join("key.json")
    );
    fs::remove_dir_all(&searches).unwrap();
    fs::write(&searches, "no folder").unwrap();
    assert_eq!(all(folder.path()).entries.len(), 3);
}

#[test]
fn records_from_elsewhere_are_added_once() {
    // Method: a study, a run and a search are added to an empty folder, each twice by one command
    // and, with other spaces, by a later command; then texts that are not records.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    let texts = [study("new", 1_000), RUN.to_owned(), SEARCH.to_owned()];
    let mut ids = Vec::new();
    let mut adding = Archive::open(&path).unwrap().adding().unwrap();
    for text in &texts {
        let Added::New { id } = adding.add(text).unwrap() else {
            panic!("it was not there");
        };
        assert_eq!(adding.add(text).unwrap(), Added::Known { id: id.clone() });
        ids.push(id);
    }
    let mut later = Archive::open(&path).unwrap().adding().unwrap();
    for (text, id) in texts.iter().zip(&ids) {
        let known = Added::Known { id: id.clone() };
        assert_eq!(later.add(&text.replace(',', " ,")).unwrap(), known);
    }
    let history = all(&path);
    let mut listed: Vec<&String> = history.entries.iter().map(|entry| &entry.id).collect();
    listed.sort_unstable();
    ids.sort_unstable();
    assert_eq!(listed, ids.iter().collect::<Vec<_>>());
    for text in [
        "",
        "{}",
        "[1]",
        r#"{"schema":"abx.study/99"}"#,
        r#"{"schema":"abx.output/1","kind":"timer"}"#,
    ] {
        assert!(later.add(text).is_err(), "{text}");
    }
    assert_eq!(all(&path), history);
}

#[test]
fn changed_files_are_read_again_and_missing_ones_are_forgotten() {
    // Method: a file is replaced by another of the same length and time, one is removed, and a
    // foreign one becomes a record.
    let folder = folder();
    all(folder.path());
    let path = folder.path().join("one.json");
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let draft = folder.path().join("draft");
    fs::write(&draft, study("few", 1_000)).unwrap();
    fs::File::options()
        .write(true)
        .open(&draft)
        .unwrap()
        .set_modified(time)
        .unwrap();
    fs::rename(&draft, &path).unwrap();
    fs::remove_file(folder.path().join("two.json")).unwrap();
    fs::write(folder.path().join("other.json"), RUN).unwrap();
    let now = all(folder.path());
    assert_eq!(files(&now), ["one.json", "run.json", "other.json"]);
    assert_eq!(now.entries[0].outline.subjects[1].name, "few");
    assert_eq!(now.unread, []);
}

#[test]
fn an_unusable_index_is_rebuilt() {
    // Method: after each way to spoil the index, the list is as before, and the index is complete
    // again.
    let folder = folder();
    let before = all(folder.path());
    let index = folder.path().join(INDEX);
    let intact = fs::read(&index).unwrap();
    let sql = |text: &str| {
        Connection::open(&index)
            .unwrap()
            .execute_batch(text)
            .unwrap()
    };
    let spoil: [(&str, &dyn Fn()); 8] = [
        ("missing", &|| fs::remove_file(&index).unwrap()),
        ("empty", &|| fs::write(&index, "").unwrap()),
        ("text", &|| {
            fs::write(&index, "no index at all\n".repeat(99)).unwrap()
        }),
        ("cut off", &|| {
            fs::write(&index, &intact[..intact.len() / 2]).unwrap()
        }),
        ("overwritten", &|| {
            let mut bytes = intact.clone();
            let middle = bytes.len() / 3;
            bytes[middle..].fill(0xaa);
            fs::write(&index, bytes).unwrap();
        }),
        ("of a later version", &|| {
            sql("PRAGMA user_version = 99; DELETE FROM comparison")
        }),
        ("without a table", &|| sql("DROP TABLE comparison")),
        ("of others", &|| {
            fs::remove_file(&index).unwrap();
            sql("CREATE TABLE record (x); CREATE VIEW old AS SELECT * FROM record");
        }),
    ];
    for (how, spoil) in spoil {
        spoil();
        assert_eq!(all(folder.path()), before, "{how}");
        let index = Connection::open(&index).unwrap();
        let count = |table: &str| -> i64 {
            let count = format!("SELECT count(*) FROM {table}");
            index.query_row(&count, [], |row| row.get(0)).unwrap()
        };
        assert_eq!((count("record"), count("comparison")), (3, 2), "{how}");
    }
}

#[test]
fn an_index_that_cannot_be_written_is_reported_and_not_needed() {
    // Method: a folder in the place of the index; the list is the same.
    let folder = folder();
    let before = all(folder.path());
    let index = folder.path().join(INDEX);
    fs::remove_file(&index).unwrap();
    fs::create_dir(&index).unwrap();
    let archive = Archive::open(folder.path()).unwrap();
    let problem = archive.problem().unwrap().to_string();
    assert!(problem.contains("history.sqlite3"), "{problem}");
    assert!(problem.contains("XDG_STATE_HOME"), "{problem}");
    assert!(!problem.contains('\n'), "{problem}");
    assert_eq!(archive.list(&Query::default()).unwrap(), before);
    let rebuilt = Archive::rebuild(folder.path()).unwrap();
    assert!(rebuilt.problem().is_some());
    assert_eq!(rebuilt.list(&Query::default()).unwrap(), before);
}

#[test]
fn several_readers_at_once_see_the_same_history() {
    // Method: eight threads open an index that was damaged before, five times.
    let folder = folder();
    let before = all(folder.path());
    let path = folder.path();
    for _ in 0..5 {
        fs::write(path.join(INDEX), "no index").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(all(path), before));
            }
        });
    }
}

#[test]
fn a_folder_without_records_is_left_alone() {
    // Method: a missing folder, and an empty one.
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("abx");
    assert_eq!(all(&missing).entries, []);
    assert!(!missing.exists());
    Archive::rebuild(&missing).unwrap();
    assert!(!missing.exists());
    assert_eq!(all(folder.path()).entries, []);
}

#[test]
fn text_is_found_wherever_a_record_has_it() {
    // Method: each part, in another case; text that no record has, text across two parts, and
    // characters with a meaning in a query language.
    let folder = folder();
    let path = folder.path();
    assert_eq!(search(path, "ÄNDERUNG"), ["two.json"]);
    assert_eq!(search(path, "old/1.2"), ["two.json", "one.json"]);
    assert_eq!(search(path, "./OLD {port}"), ["two.json", "one.json"]);
    assert_eq!(search(path, "127.0.0.1:80/x"), ["run.json"]);
    assert_eq!(search(path, "c7"), ["run.json"]);
    assert_eq!(search(path, "one.json"), ["one.json"]);
    for text in ["nobody", "%", "_", "'", "old old/1.2"] {
        assert_eq!(search(path, text), [""; 0], "{text}");
    }
    let id = all(path).entries[0].id.clone();
    assert_eq!(search(path, &id), ["two.json"]);
}

#[test]
fn a_limited_list_has_the_number_of_records_left_out() {
    // Method: a limit below, at, and above the number of records.
    let folder = folder();
    let list = |limit| {
        let query = Query {
            limit: Some(limit),
            ..Query::default()
        };
        let history = Archive::open(folder.path()).unwrap().list(&query).unwrap();
        (history.entries.len(), history.left_out)
    };
    assert_eq!([list(1), list(3), list(9)], [(1, 2), (3, 0), (3, 0)]);
}

#[test]
fn studies_that_failed_before_they_measured_are_left_out_and_counted() {
    // Method: the newest study has no block. It is counted, listed on request, and skipped by
    // `last`.
    let folder = folder();
    let path = folder.path();
    let blocks = r#"{"complete":true,"rounds":[]},{"complete":false}"#;
    let failed = study("new", 9_000).replace(blocks, "");
    fs::write(path.join("failed.json"), failed).unwrap();
    let history = all(path);
    assert_eq!(files(&history), ["two.json", "one.json", "run.json"]);
    assert_eq!((history.left_out, history.unmeasured), (0, 1));
    let query = Query {
        limit: Some(1),
        with_unmeasured: true,
        ..Query::default()
    };
    let history = Archive::open(path).unwrap().list(&query).unwrap();
    assert_eq!(files(&history), ["failed.json"]);
    assert_eq!((history.left_out, history.unmeasured), (3, 0));
    assert_eq!(resolve("last", path).unwrap(), path.join("two.json"));
}

#[test]
fn a_record_is_named_by_its_place_from_the_end() {
    // Method: each of three records, one beyond them, a missing folder, and words that are not
    // places.
    let folder = folder();
    let path = folder.path();
    for (word, file) in [
        ("last", "two.json"),
        ("last~0", "two.json"),
        ("last~1", "one.json"),
        ("last~2", "run.json"),
    ] {
        assert_eq!(resolve(word, path).unwrap(), path.join(file), "{word}");
    }
    let error = resolve("last~3", path).unwrap_err().to_string();
    assert!(error.contains("only 3 are kept"), "{error}");
    assert!(resolve("last", &path.join("missing")).is_err());
    for word in ["last~", "last~x", "last1", "lastly"] {
        assert!(resolve(word, path).is_err(), "{word}");
    }
}

#[test]
fn a_record_is_named_by_its_id() {
    // Method: the id, its first four letters, and the id in capitals; an id of no record; paths;
    // and words that are not ids.
    let folder = folder();
    let path = folder.path();
    for entry in all(path).entries {
        let named = |word: &str| resolve(word, path).unwrap();
        assert_eq!(named(&entry.id), path.join(&entry.file));
        assert_eq!(named(&entry.id[..4]), path.join(&entry.file));
        assert_eq!(named(&entry.id.to_uppercase()), path.join(&entry.file));
    }
    let error = resolve("0000", path).unwrap_err();
    assert!(matches!(error, HistoryError::NoRecord { .. }), "{error}");
    assert!(resolve("0000", &path.join("missing")).is_err());
    for word in ["missing.json", "/dev/null"] {
        assert_eq!(resolve(word, path).unwrap(), Path::new(word));
    }
    for word in ["abc", "nginx"] {
        assert!(resolve(word, path).is_err(), "{word}");
    }
}

#[test]
fn a_prefix_of_two_ids_is_refused() {
    // Method: empty records until two ids begin with the same four letters.
    let folder = tempfile::tempdir().unwrap();
    for number in 0..900 {
        fs::write(folder.path().join(format!("{number}.json")), RUN).unwrap();
    }
    let history = all(folder.path());
    let mut ids: Vec<&str> = history.entries.iter().map(|entry| &entry.id[..4]).collect();
    ids.sort_unstable();
    let pair = ids
        .windows(2)
        .find(|pair| pair[0] == pair[1])
        .expect("900 of 65536");
    let error = resolve(pair[0], folder.path()).unwrap_err();
    assert!(matches!(error, HistoryError::Several { .. }), "{error}");
    assert!(
        error.to_string().contains("Give more characters of the id"),
        "{error}"
    );
}

/// A change of a folder between two lists.
#[derive(Debug, Clone)]
enum Change {
    Study { file: u8, started: u64 },
    Text { file: u8, text: String },
    Gone { file: u8 },
    Damage { place: usize },
}

fn change() -> impl Strategy<Value = Change> {
    let file = 0_u8..4;
    prop_oneof![
        3 => (file.clone(), any::<u64>()).prop_map(|(file, started)| Change::Study { file, started }),
        1 => (file.clone(), any::<String>()).prop_map(|(file, text)| Change::Text { file, text }),
        1 => file.prop_map(|file| Change::Gone { file }),
        1 => (0_usize..40_000).prop_map(|place| Change::Damage { place }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn an_updated_index_equals_a_new_one(changes in prop::collection::vec(change(), 1..12)) {
        // Method: after each of any changes, the list of the index, and of a rebuilt index.
        let folder = tempfile::tempdir().unwrap();
        let path = |file: u8| folder.path().join(format!("{file}.json"));
        for change in changes {
            match change {
                Change::Study { file, started } => fs::write(path(file), study("s", started)).unwrap(),
                Change::Text { file, text } => fs::write(path(file), text).unwrap(),
                Change::Gone { file } => drop(fs::remove_file(path(file))),
                Change::Damage { place } => {
                    let index = folder.path().join(INDEX);
                    let mut bytes = fs::read(&index).unwrap_or_default();
                    bytes.truncate(place);
                    fs::write(&index, bytes).unwrap();
                }
            }
            let updated = all(folder.path());
            let rebuilt = Archive::rebuild(folder.path()).unwrap();
            prop_assert_eq!(updated, rebuilt.list(&Query::default()).unwrap());
        }
    }
}
