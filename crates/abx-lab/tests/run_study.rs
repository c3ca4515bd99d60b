//! Complete studies with real subjects.
//!
//! With the argument `keeper` this program is the keeper, and with `serve` or `answer` it is a
//! subject. Otherwise it runs the cases below, or those that its arguments name. That needs its own
//! `main`.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use abx_engine::Stopper;
use abx_evidence::record::{Interleave, StudyEnd};
use abx_lab::{
    Abort, GeneratedFile, Launch, Load, OrderedTime, PilotEffort, Pin, Source, Store, Study,
    StudyEnvironment, StudyError, StudyOutcome, StudyProgress, Subject, WaitChoice, run_study,
};
use abx_model::LoadOptions;
use abx_server::{Faults, Model, ServerConfig, serve};
use abx_stats::Margin;
use abx_sys::tree::descendants;
use abx_verdict::StudyRecord;
use tempfile::TempDir;

#[path = "run_study/leaving.rs"]
mod leaving;

const CASES: &[(&str, fn())] = &[
    (
        "a_panic_of_the_watcher_leaves_no_process",
        a_panic_of_the_watcher_leaves_no_process,
    ),
    (
        "a_stop_between_rounds_keeps_earlier_blocks",
        a_stop_between_rounds_keeps_earlier_blocks,
    ),
    (
        "a_block_is_on_disk_before_it_is_judged",
        a_block_is_on_disk_before_it_is_judged,
    ),
    (
        "a_record_that_cannot_be_saved_starts_nothing",
        a_record_that_cannot_be_saved_starts_nothing,
    ),
    (
        "the_same_seed_gives_the_same_order",
        the_same_seed_gives_the_same_order,
    ),
    (
        "a_subject_may_wait_until_another_one_is_ready",
        a_subject_may_wait_until_another_one_is_ready,
    ),
    (
        "a_subject_that_fails_to_start_again_is_left_and_the_others_continue",
        a_subject_that_fails_to_start_again_is_left_and_the_others_continue,
    ),
    (
        "a_cold_load_drops_the_files_and_counts_from_its_beginning",
        a_cold_load_drops_the_files_and_counts_from_its_beginning,
    ),
    (
        "blocks_without_enough_time_have_the_fewest_rounds",
        blocks_without_enough_time_have_the_fewest_rounds,
    ),
    (
        "a_short_budget_gets_blocks_of_fewer_rounds",
        a_short_budget_gets_blocks_of_fewer_rounds,
    ),
    (
        "each_load_is_measured_for_the_requested_time",
        each_load_is_measured_for_the_requested_time,
    ),
    (
        "no_slice_starts_after_the_budget_is_used_up",
        no_slice_starts_after_the_budget_is_used_up,
    ),
    (
        "a_load_that_is_settled_is_left_out_of_later_blocks",
        leaving::a_load_that_is_settled_is_left_out_of_later_blocks,
    ),
    (
        "a_subject_that_is_settled_is_not_started_again",
        leaving::a_subject_that_is_settled_is_not_started_again,
    ),
    (
        "work_of_a_subject_without_load_is_noted_in_the_slices_of_the_others",
        work_of_a_subject_without_load_is_noted_in_the_slices_of_the_others,
    ),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("keeper") => return abx_lab::keeper::keep(),
        Some("serve") => return serve_page(&arguments[1], arguments.get(2)),
        Some("answer") => return response_page(&arguments[1], &arguments[2], &arguments[3]),
        _ => {}
    }
    let is_selected = |name: &str| {
        let mut names = arguments.iter().filter(|word| !word.starts_with('-'));
        names.clone().next().is_none() || names.any(|word| name.contains(word.as_str()))
    };
    let mut failed = 0;
    for (name, case) in CASES.iter().filter(|(name, _)| is_selected(name)) {
        // A study binds its thread to processors, so each case has its own thread.
        let outcome = std::thread::spawn(*case).join();
        failed += usize::from(outcome.is_err());
        let word = if outcome.is_ok() { "ok" } else { "FAILED" };
        let _ = writeln!(std::io::stdout(), "test {name} ... {word}");
    }
    let _ = writeln!(std::io::stdout(), "\n{failed} cases of studies failed");
    ExitCode::from(u8::from(failed > 0))
}

fn serve_page(port: &str, delay_ms: Option<&String>) -> ExitCode {
    let delay_ms = delay_ms.map_or(0, |ms| ms.parse().unwrap());
    let config = ServerConfig {
        address: SocketAddr::from(([127, 0, 0, 1], port.parse().unwrap())).into(),
        faults: Faults {
            delay: Duration::from_millis(delay_ms),
            ..Faults::default()
        },
        ..ServerConfig::new(Model::Event)
    };
    let ended = serve(&config, |_| {}, |_| {});
    panic!("a server alone never ends: {ended:?}");
}

/// Two subjects of one kind, a brief pilot, few and short slices, and this many blocks.
fn study(blocks: Option<u32>) -> Study {
    let program = std::env::current_exe().unwrap();
    let subject = |name: &str| {
        let words = [program.to_str().unwrap(), "serve", "{port}"];
        let launch = Launch::new(words.map(str::to_owned).into());
        Subject::new(name.to_owned(), Source::Command(launch))
    };
    Study {
        subjects: ["one", "other"].map(subject).into(),
        contrasts: Vec::new(),
        faults: Vec::new(),
        loads: vec![Load {
            options: LoadOptions {
                connections: 4,
                timeout: Duration::from_secs(60),
                verify_every: 1,
                ..LoadOptions::default()
            },
            name: "c4".to_owned(),
            ..Load::default()
        }],
        aa: false,
        margin: Margin::DEFAULT,
        budget: None,
        blocks,
        slice: Some(Duration::from_millis(10)),
        rounds: Some(4),
        cold: None,
        ceiling: None,
        interleave: Interleave::Slices,
        files: Vec::new(),
        local_addresses: Vec::new(),
        threads: Some(1),
        pin: Pin::Split,
        wait: WaitChoice::Asleep,
        seed: 42,
        command: Vec::new(),
        name: None,
        label: None,
        services: Vec::new(),
        skipped: Vec::new(),
        ordered_time: None,
        pilot: PilotEffort::Brief,
        why: false,
    }
}

/// Runs a study whose record is this file.
fn run_into(
    file: &Path,
    study: &Study,
    watch: &mut dyn FnMut(StudyProgress),
    on_stopper: &mut dyn FnMut(Stopper),
) -> Result<StudyOutcome, StudyError> {
    // An absolute path is that file in any folder.
    let mut store = Store::in_state_folder(file.to_str().unwrap());
    let environment = StudyEnvironment {
        program: std::env::current_exe().unwrap(),
        keeper_arguments: &["keeper"],
        store: &mut store,
        watch,
        on_stopper,
        version: "0",
        limits: &[],
        until: None,
        generator: None,
        resumed: None,
    };
    let outcome = run_study(study, environment);
    assert_nothing_runs();
    outcome
}

fn assert_nothing_runs() {
    let left = descendants(std::process::id()).unwrap();
    assert!(left.is_empty(), "{} processes are left", left.len());
}

fn read(file: &Path) -> StudyRecord {
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn json(file: &Path) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn a_panic_of_the_watcher_leaves_no_process() {
    // Method: a panic in the third round of the first block, while both subjects run.
    let folder = TempDir::new().unwrap();
    let mut watch = |progress: StudyProgress| {
        if let StudyProgress::Round { round: 2, .. } = progress {
            let up = descendants(std::process::id()).unwrap().len();
            assert_eq!(up, 6, "two subjects, each with its guardian and its keeper");
            panic!("on purpose");
        }
    };
    let file = folder.path().join("record.json");
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        run_into(&file, &study(Some(1)), &mut watch, &mut |_| {})
    }));
    let why = panicked.err().expect("it panics");
    assert_eq!(why.downcast_ref(), Some(&"on purpose"));
    assert_nothing_runs();
    assert_eq!(read(&file).measured.end, StudyEnd::Running);
}

fn a_stop_between_rounds_keeps_earlier_blocks() {
    // Method: a stop in the third round of the second block.
    let folder = TempDir::new().unwrap();
    let stopper = RefCell::new(None);
    let mut watch = |progress: StudyProgress| {
        if let StudyProgress::Round {
            block: 1, round: 2, ..
        } = progress
        {
            let stopper: std::cell::Ref<Option<Stopper>> = stopper.borrow();
            stopper.as_ref().unwrap().stop();
        }
    };
    let mut on_stopper = |handle| *stopper.borrow_mut() = Some(handle);
    let file = folder.path().join("record.json");
    let StudyOutcome { record, error } =
        run_into(&file, &study(Some(9)), &mut watch, &mut on_stopper).unwrap();
    assert!(matches!(error, Some(StudyError::Abort(Abort::Interrupted))));
    assert_eq!(record.measured.end, StudyEnd::Interrupted);
    let complete: Vec<bool> = record
        .measured
        .blocks
        .iter()
        .map(|block| block.complete)
        .collect();
    assert_eq!(complete, [true, false]);
    assert_eq!(record.measured.blocks[1].loads[0].rounds.len(), 2);
    assert_eq!(record.conclusions.comparisons[0].blocks, 1);
    assert_eq!(read(&file), record);
    assert_eq!(json(&file)["comparisons"][0]["blocks"], 1);
}

fn a_block_is_on_disk_before_it_is_judged() {
    // Method: at the end of each block, the record on disk has the block's slices and only the
    // conclusions of the blocks before it.
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("record.json");
    let mut judged_on_disk = Vec::new();
    let mut watch = |progress: StudyProgress| {
        if let StudyProgress::Block { record, .. } = progress {
            let saved = read(&file);
            assert_eq!(saved.measured.blocks, record.measured.blocks);
            assert_eq!(saved.measured.end, StudyEnd::Running);
            judged_on_disk.push(json(&file)["comparisons"][0]["blocks"].as_u64());
        }
    };
    let outcome = run_into(&file, &study(Some(2)), &mut watch, &mut |_| {}).unwrap();
    assert!(outcome.error.is_none());
    assert_eq!(judged_on_disk, [None, Some(1)]);
    assert_eq!(read(&file), outcome.record);
    assert_eq!(json(&file)["comparisons"][0]["blocks"], 2);
}

fn a_record_that_cannot_be_saved_starts_nothing() {
    // Method: a file in the place of the folder.
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let mut events = 0;
    let mut watch = |_: StudyProgress| events += 1;
    let below = file.join("record.json");
    let refused = run_into(&below, &study(Some(1)), &mut watch, &mut |_| {});
    let error = refused.err().expect("it is refused");
    assert!(matches!(error, StudyError::Store(_)), "{error}");
    assert!(
        error.to_string().contains(below.to_str().unwrap()),
        "{error}"
    );
    assert_eq!(events, 0);
}

fn a_cold_load_drops_the_files_and_counts_from_its_beginning() {
    // Method: a cold load and a usual one with two files of 40,000 bytes, together 20 or more pages
    // if a page has 4 KiB. Subjects that never read the files leave them where the lab puts them:
    // on a disk, unless there is none.
    let mut study = study(Some(1));
    study.files = ["a", "deep/b"]
        .map(|path| GeneratedFile {
            path: path.into(),
            bytes: 40_000,
        })
        .into();
    let cold = Load {
        name: "cold".to_owned(),
        cold_cache: true,
        ..study.loads[0].clone()
    };
    study.loads.push(cold);
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("record.json");
    let outcome = run_into(&file, &study, &mut |_| {}, &mut |_| {}).unwrap();
    assert!(outcome.error.is_none());
    let record = outcome.record;
    for (load, is_cold) in [("c4", false), ("cold", true)] {
        let load_record = record.measured.load(load).unwrap();
        assert_eq!(load_record.settings.cold_cache, is_cold);
        let discard_ns = load_record.pilot.as_ref().unwrap().discard_ns;
        assert_eq!(discard_ns == 0, is_cold);
        for part in record.measured.block_loads(load) {
            assert_eq!(part.sides.len(), 2);
            for side in part.sides.values() {
                let pages = side.resident_pages.map(|pages| pages.limit.unwrap());
                assert_eq!(pages.is_some_and(|pages| pages >= 2), is_cold);
            }
        }
    }
}

fn the_same_seed_gives_the_same_order() {
    // Method: two studies of one seed and one of another, two blocks each. The measurements differ,
    // but the order in which subjects were started and loaded does not.
    let order = |seed| {
        let folder = TempDir::new().unwrap();
        let study = Study {
            seed,
            ..study(Some(2))
        };
        let file = folder.path().join("record.json");
        let outcome = run_into(&file, &study, &mut |_| {}, &mut |_| {}).unwrap();
        let mut subjects = Vec::new();
        for block in &outcome.record.measured.blocks {
            subjects.extend(block.order.clone());
            let rounds = block.loads.iter().flat_map(|load| &load.rounds);
            let slices = rounds.flat_map(|round| &round.slices);
            subjects.extend(slices.map(|slice| slice.subject.clone()));
        }
        subjects
    };
    let first = order(42);
    assert_eq!(first.len(), 2 * (2 + 2 * 4));
    assert_eq!(order(42), first);
    assert_ne!(order(43), first);
}

fn work_of_a_subject_without_load_is_noted_in_the_slices_of_the_others() {
    // Method: one subject has a child that never rests; in slices and in trials.
    let program = std::env::current_exe().unwrap();
    let busy = "while :; do :; done & exec \"$0\" serve {port}";
    let busy = ["sh", "-c", busy, program.to_str().unwrap()].map(str::to_owned);
    for (interleave, rounds) in [(Interleave::Slices, 20), (Interleave::Trials, 1)] {
        let mut study = Study {
            interleave,
            rounds: Some(20),
            ..study(Some(1))
        };
        study.subjects[1].source = Source::Command(Launch::new(busy.to_vec()));
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("record.json");
        let outcome = run_into(&file, &study, &mut |_| {}, &mut |_| {}).unwrap();
        let others = |subject| -> Vec<u64> {
            let parts = outcome.record.measured.block_loads("c4");
            let slices = parts
                .flat_map(|part| &part.rounds)
                .flat_map(|round| &round.slices);
            let slices = slices.filter(|slice| slice.subject == subject);
            slices.map(|slice| slice.others_cpu_ns.unwrap()).collect()
        };
        let (beside_busy, beside_quiet) = (others("one"), others("other"));
        assert_eq!(beside_busy.len(), rounds);
        let sum = |times_ns: Vec<u64>| times_ns.iter().sum::<u64>();
        assert!(sum(beside_busy) > sum(beside_quiet));
    }
}

fn blocks_without_enough_time_have_the_fewest_rounds() {
    // Method: one block with usual slices in a millisecond, without and with a requested number of
    // rounds.
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("record.json");
    for (rounds, expected) in [(None, (2, true)), (Some(3), (3, false))] {
        let study = Study {
            ordered_time: Some(OrderedTime::Whole(Duration::from_millis(1))),
            slice: None,
            rounds,
            ..study(Some(1))
        };
        // On a disturbed machine subjects look too slow for slices, and trials have no rounds.
        let in_slices = (0..5).find_map(|_| {
            let outcome = run_into(&file, &study, &mut |_| {}, &mut |_| {}).unwrap();
            let pilot = outcome.record.measured.loads[0].pilot.clone().unwrap();
            (pilot.interleave == Interleave::Slices).then_some((outcome, pilot))
        });
        let (outcome, pilot) = in_slices.expect("a try without disturbance");
        assert_eq!((pilot.rounds, pilot.shortened), expected);
        let block = &outcome.record.measured.blocks[0];
        assert_eq!(block.loads[0].rounds.len(), expected.0 as usize);
    }
}

fn a_short_budget_gets_blocks_of_fewer_rounds() {
    // Method: six seconds, which are too short for seven usual blocks of two subjects, each loaded
    // for 1.5 s; and a requested number of rounds, which stays.
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("record.json");
    for (rounds, is_shortened) in [(None, true), (Some(3), false)] {
        let study = Study {
            budget: Some(Duration::from_secs(6)),
            slice: None,
            rounds,
            ..study(None)
        };
        let outcome = run_into(&file, &study, &mut |_| {}, &mut |_| {}).unwrap();
        let pilot = outcome.record.measured.loads[0].pilot.clone().unwrap();
        assert_eq!(pilot.shortened, is_shortened, "{pilot:?}");
    }
}

fn each_load_is_measured_for_the_requested_time() {
    // Method: two loads with different connections, 600 ms each in two blocks; the planned length
    // of all measured slices. A requested number of rounds stays.
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("record.json");
    for (rounds, is_exact) in [(None, true), (Some(4), false)] {
        let mut study = Study {
            ordered_time: Some(OrderedTime::EachLoad(Duration::from_millis(600))),
            slice: None,
            rounds,
            ..study(Some(2))
        };
        let more = Load {
            options: LoadOptions {
                connections: 8,
                ..study.loads[0].options
            },
            name: "c8".to_owned(),
            ..study.loads[0].clone()
        };
        study.loads.push(more);
        let outcome = run_into(&file, &study, &mut |_| {}, &mut |_| {}).unwrap();
        let measured = outcome.record.measured;
        for load in ["c4", "c8"] {
            let pilot = measured.load(load).unwrap().pilot.clone().unwrap();
            let rounds = measured
                .block_loads(load)
                .map(|part| part.rounds.len() as u64);
            let planned_ns = rounds.sum::<u64>() * pilot.slice_ns;
            assert_eq!(
                planned_ns.abs_diff(600_000_000) < 20,
                is_exact,
                "{planned_ns} ns"
            );
        }
    }
}

fn no_slice_starts_after_the_budget_is_used_up() {
    // Method: a budget of a millisecond, which the start of the subjects uses up.
    let folder = TempDir::new().unwrap();
    let study = Study {
        budget: Some(Duration::from_millis(1)),
        ..study(None)
    };
    let file = folder.path().join("record.json");
    let outcome = run_into(&file, &study, &mut |_| {}, &mut |_| {}).unwrap();
    let error = outcome.error.unwrap().to_string();
    assert!(error.contains("`--budget`"), "{error}");
    let end = outcome.record.measured.end;
    assert!(matches!(end, StudyEnd::SubjectFailed { .. }), "{end:?}");
    assert!(outcome.record.measured.blocks.is_empty());
}

/// Responds to every request with one page. It listens once the file `after` exists, and makes the
/// file `signal` with its first response; `-` is no file.
fn response_page(port: &str, after: &str, signal: &str) -> ExitCode {
    while after != "-" && !Path::new(after).exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let port: u16 = port.parse().unwrap();
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    for stream in listener.incoming().flatten() {
        let signal = signal.to_owned();
        std::thread::spawn(move || {
            let mut stream = BufReader::new(stream);
            let mut line = String::new();
            while stream.read_line(&mut line).is_ok_and(|read| read > 0) {
                if line == "\r\n" {
                    if signal != "-" {
                        std::fs::write(&signal, "").unwrap();
                    }
                    let page = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
                    if stream.get_mut().write_all(page).is_err() {
                        return;
                    }
                }
                line.clear();
            }
        });
    }
    ExitCode::FAILURE
}

fn a_subject_may_wait_until_another_one_is_ready() {
    // Method: a subject that listens only after the other one has responded, as the first and as
    // the second of a study, whichever was started first.
    let program = std::env::current_exe().unwrap();
    for late in [0, 1] {
        let folder = TempDir::new().unwrap();
        let signal = folder.path().join("signal");
        let signal = signal.to_str().unwrap();
        let mut study = study(Some(1));
        for (index, subject) in study.subjects.iter_mut().enumerate() {
            let [after, made] = if index == late {
                [signal, "-"]
            } else {
                ["-", signal]
            };
            let words = [program.to_str().unwrap(), "answer", "{port}", after, made];
            subject.source = Source::Command(Launch::new(words.map(str::to_owned).into()));
        }
        let file = folder.path().join("record.json");
        let outcome = run_into(&file, &study, &mut |_| {}, &mut |_| {}).unwrap();
        assert!(outcome.error.is_none(), "{late}: {:?}", outcome.error);
        let block = &outcome.record.measured.blocks[0];
        assert!(
            block
                .subjects
                .values()
                .all(|subject| subject.ready_s > Some(0.0))
        );
    }
}

fn a_subject_that_fails_to_start_again_is_left_and_the_others_continue() {
    // Method: one of three subjects ends at its third start, that of the second block; then one of
    // two, which leaves no subject to compare with.
    let program = std::env::current_exe().unwrap();
    for subjects in [3, 2] {
        let folder = TempDir::new().unwrap();
        let starts = folder.path().join("starts");
        let script = format!(
            "echo x >> {0}; test $(wc -l < {0}) -lt 3 && exec \"$0\" serve {{port}}",
            starts.display()
        );
        let words = ["sh", "-c", &script, program.to_str().unwrap()].map(str::to_owned);
        let mut study = study(Some(3));
        let mut more = study.subjects[1].clone();
        more.name = "more".to_owned();
        study.subjects.push(more);
        study.subjects.truncate(subjects);
        study.subjects[1].source = Source::Command(Launch::new(words.into()));
        let mut left_out = Vec::new();
        let mut watch = |progress: StudyProgress| {
            if let StudyProgress::LeftOut { subject, .. } = progress {
                left_out.push(subject.to_owned());
            }
        };
        let file = folder.path().join("record.json");
        let outcome = run_into(&file, &study, &mut watch, &mut |_| {}).unwrap();
        let measured = &outcome.record.measured;
        let has_failed = matches!(measured.end, StudyEnd::SubjectFailed { .. });
        assert_eq!(has_failed, subjects == 2, "{:?}", measured.end);
        if subjects == 2 {
            continue;
        }
        assert_eq!(
            (&measured.end, measured.blocks.len()),
            (&StudyEnd::Blocks, 3)
        );
        assert_eq!(left_out, ["other"]);
        let failed: Vec<_> = measured
            .failed_starts()
            .map(|start| (start.subject, start.block))
            .collect();
        assert_eq!(failed, [("other", 1)]);
        let slices = |subject: &str| {
            let parts = measured.block_loads("c4");
            let slices = parts
                .flat_map(|part| &part.rounds)
                .flat_map(|round| &round.slices);
            slices.filter(|slice| slice.subject == subject).count()
        };
        assert_eq!(["one", "other", "more"].map(slices), [12, 4, 12]);
    }
}
