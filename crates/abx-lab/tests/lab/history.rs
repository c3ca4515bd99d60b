//! Records found again: by an index that may be missing, old, damaged or in the
//! way of others, and never changes what is found.

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

/// A study's record, without the parts that are not read.
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

/// A folder with three records and a file that is none.
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
fn records_are_listed_with_what_they_say() {
    // Method: a study, a run, and a file of a
    // later version; read once from the files and once from the index.
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
    // Only the comparisons of the study's purpose.
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
    // Method: a run under one, searched by its file.
    let folder = tempfile::tempdir().unwrap();
    let settings = r#"{"name":"c7","settings":{"scenario":{"file":"shop/login.toml"}}}"#;
    let run = RUN.replace(r#"{"name":"c7"}"#, settings);
    fs::write(folder.path().join("run.json"), run).unwrap();
    let first = all(folder.path());
    assert_eq!(first.entries[0].outline.loads, ["login.toml c7"]);
    assert_eq!(search(folder.path(), "LOGIN"), ["run.json"]);
}

/// A search for a commit whose record has no more than a list needs.
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
    // Method: a search that found a commit, by its label, its id and from the index; a file
    // in the place of the folder.
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
    let found = &outline.comparisons[0];
    let names = [&*found.subject, &*found.baseline];
    assert_eq!(names, ["bbbbbbbbb", "aaaaaaaaa"]);
    assert_eq!((found.verdict, found.ratio), (Verdict::Slower, Some(0.91)));
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
    // Method: a study, a run and a search into an empty folder, each twice, by this command and
    // by a later one; the same study with other spaces; and texts that are no records.
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
    let listed = all(&path);
    let mut kept: Vec<&String> = listed.entries.iter().map(|entry| &entry.id).collect();
    kept.sort_unstable();
    ids.sort_unstable();
    assert_eq!(kept, ids.iter().collect::<Vec<_>>());
    for text in [
        "",
        "{}",
        "[1]",
        r#"{"schema":"abx.study/99"}"#,
        r#"{"schema":"abx.output/1","kind":"timer"}"#,
    ] {
        assert!(later.add(text).is_err(), "{text}");
    }
    assert_eq!(all(&path), listed);
}

#[test]
fn what_changed_is_read_again_and_what_is_gone_is_forgotten() {
    // Method: a file replaced by one of the same length and time, one removed,
    // and a foreign one that becomes a record.
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
fn an_index_that_cannot_be_used_is_made_anew() {
    // Method: each way to spoil it, then the same list as before, and an index
    // that is whole again.
    let folder = folder();
    let before = all(folder.path());
    let index = folder.path().join(INDEX);
    let whole = fs::read(&index).unwrap();
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
            fs::write(&index, &whole[..whole.len() / 2]).unwrap()
        }),
        ("overwritten", &|| {
            let mut bytes = whole.clone();
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
fn an_index_that_cannot_be_kept_is_told_and_does_without() {
    // Method: a folder where the file should be; the list is the same.
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
    let again = Archive::rebuild(folder.path()).unwrap();
    assert!(again.problem().is_some());
    assert_eq!(again.list(&Query::default()).unwrap(), before);
}

#[test]
fn several_at_once_all_find_the_same() {
    // Method: eight threads, each with an index of its own to open, beside one
    // that damages it again and again.
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
    // Method: a folder that is not there, and an empty one.
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
    // Method: each part, in another case; text that none has, text that runs
    // over two parts, and signs that a query language would take for its own.
    let folder = folder();
    let path = folder.path();
    assert_eq!(search(path, "ÄNDERUNG"), ["two.json"]);
    assert_eq!(search(path, "old/1.2"), ["two.json", "one.json"]);
    assert_eq!(search(path, "./OLD {port}"), ["two.json", "one.json"]);
    assert_eq!(search(path, "127.0.0.1:80/x"), ["run.json"]);
    assert_eq!(search(path, "c7"), ["run.json"]);
    assert_eq!(search(path, "one.json"), ["one.json"]);
    for nothing in ["nobody", "%", "_", "'", "old old/1.2"] {
        assert_eq!(search(path, nothing), [""; 0], "{nothing}");
    }
    let id = all(path).entries[0].id.clone();
    assert_eq!(search(path, &id), ["two.json"]);
}

#[test]
fn a_limit_says_how_many_it_leaves_out() {
    // Method: fewer, as many, and more than there are.
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
    // Method: one of the newest studies without a block; listed, counted, limited, and
    // passed over by `last`.
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
    // Method: each of three records, one that is not there, words that are no places, and a
    // file of that name, which comes first.
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
    // Method: the shown id, four letters of it, in capitals; a file of that name, which comes
    // first; ids of no record; words that are no ids.
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
fn an_id_that_two_records_begin_with_is_refused() {
    // Method: empty records until two ids begin with the same four letters.
    let folder = tempfile::tempdir().unwrap();
    for number in 0..900 {
        fs::write(folder.path().join(format!("{number}.json")), RUN).unwrap();
    }
    let history = all(folder.path());
    let mut ids: Vec<&str> = history.entries.iter().map(|entry| &entry.id[..4]).collect();
    ids.sort_unstable();
    let twice = ids
        .windows(2)
        .find(|two| two[0] == two[1])
        .expect("900 of 65536");
    let error = resolve(twice[0], folder.path()).unwrap_err();
    assert!(matches!(error, HistoryError::Several { .. }), "{error}");
    assert!(
        error.to_string().contains("Give more of its letters"),
        "{error}"
    );
}

/// The changes of a folder between two looks.
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
    fn an_index_that_is_kept_says_what_a_new_one_says(changes in prop::collection::vec(change(), 1..12)) {
        // Method: any changes, a look after each; then one made again.
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
            let kept = all(folder.path());
            let anew = Archive::rebuild(folder.path()).unwrap();
            prop_assert_eq!(kept, anew.list(&Query::default()).unwrap());
        }
    }
}
