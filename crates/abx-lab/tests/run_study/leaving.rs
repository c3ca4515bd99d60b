//! Loads that are settled before others, and subjects that are settled before others under a load.

use std::cell::RefCell;
use std::time::Duration;

use abx_engine::Stopper;
use abx_evidence::record::{BlockRecord, Contrast, SettledReason, StudyEnd};
use abx_lab::{Launch, Load, Source, Study, StudyProgress};
use abx_model::LoadOptions;
use abx_stats::Margin;
use abx_verdict::StudyRecord;
use tempfile::TempDir;

use super::{run_into, study};

/// Runs a study until a block has ended after a load or a subject was settled.
fn until_one_has_left(study: &Study) -> StudyRecord {
    let stopper: RefCell<Option<Stopper>> = RefCell::new(None);
    let mut watch = |progress: StudyProgress| {
        let StudyProgress::Block { record, .. } = progress else {
            return;
        };
        let blocks = record.measured.blocks.len() as u32;
        let mut settled = record.measured.loads.iter().flat_map(|load| &load.settled);
        if settled.any(|settled| settled.blocks < blocks) {
            stopper.borrow().as_ref().unwrap().stop();
        }
    };
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("record.json");
    let mut on_stopper = |handle| *stopper.borrow_mut() = Some(handle);
    let outcome = run_into(&file, study, &mut watch, &mut on_stopper).unwrap();
    assert_eq!(outcome.record.measured.end, StudyEnd::Interrupted);
    outcome.record
}

fn last_complete(record: &StudyRecord) -> &BlockRecord {
    record.measured.complete_blocks().last().unwrap()
}

/// Two equal subjects, and one that waits 5 ms before each response, with a margin that no number
/// of blocks reaches.
fn study_of_three() -> Study {
    let mut study = study(None);
    study.margin = Margin::new(1e-6).unwrap();
    study.slice = Some(Duration::from_millis(30));
    let mut slow = study.subjects[1].clone();
    slow.name = "slow".to_owned();
    let program = std::env::current_exe().unwrap();
    let words = [program.to_str().unwrap(), "serve", "{port}", "5"];
    slow.source = Source::Command(Launch::new(words.map(str::to_owned).into()));
    study.subjects.push(slow);
    study
}

fn blocks_compared(record: &StudyRecord, load: &str, subject: &str) -> u32 {
    let mut primary = record.conclusions.primary();
    let comparison =
        primary.find(|comparison| comparison.load == load && comparison.subject == subject);
    comparison.unwrap().blocks as u32
}

pub fn a_load_that_is_settled_is_left_out_of_later_blocks() {
    // Method: the slow subject is compared under one of two loads, and the equal subjects under the
    // other. Each load is offered only to its pair. Later blocks have only the other load.
    let mut study = study_of_three();
    let more = Load {
        name: "c2".to_owned(),
        options: LoadOptions {
            connections: 2,
            ..study.loads[0].options
        },
        ..study.loads[0].clone()
    };
    study.loads.push(more);
    let contrast = |subject: &str, load: &str| Contrast {
        subject: subject.to_owned(),
        baseline: "one".to_owned(),
        loads: vec![load.to_owned()],
        question: None,
    };
    study.contrasts = vec![contrast("slow", "c4"), contrast("other", "c2")];
    let record = until_one_has_left(&study);
    let measured = &record.measured;
    let [settled] = &measured.load("c4").unwrap().settled[..] else {
        panic!("{:?}", measured.load("c4"));
    };
    assert_eq!(settled.subject, None);
    assert_eq!(settled.reason, SettledReason::Certain);
    assert_eq!(measured.load("c2").unwrap().settled, []);
    for (load, pair) in [("c4", ["one", "slow"]), ("c2", ["one", "other"])] {
        let pilot = measured.load(load).unwrap().pilot.as_ref().unwrap();
        assert!(pilot.subjects.keys().eq(&pair), "{:?}", pilot.subjects);
        let part = measured.block_loads(load).next().unwrap();
        for subject in ["one", "other", "slow"] {
            assert_eq!(part.has_loaded(subject), pair.contains(&subject));
        }
    }
    let last = last_complete(&record);
    let loads: Vec<&str> = last.loads.iter().map(|part| &*part.load).collect();
    assert_eq!((loads, last.index), (vec!["c2"], settled.blocks));
    assert_eq!(blocks_compared(&record, "c4", "slow"), settled.blocks);
    assert_eq!(blocks_compared(&record, "c2", "other"), settled.blocks + 1);
}

pub fn a_subject_that_is_settled_is_not_started_again() {
    // Method: both other subjects are compared with the first. Later blocks have only the equal
    // subjects.
    let record = until_one_has_left(&study_of_three());
    let load = &record.measured.loads[0];
    let [settled] = &load.settled[..] else {
        panic!("{:?}", load.settled);
    };
    assert_eq!(settled.subject.as_deref(), Some("slow"));
    assert_eq!(settled.reason, SettledReason::Certain);
    let last = last_complete(&record);
    assert_eq!(last.index, settled.blocks);
    assert!(!last.order.contains(&"slow".to_owned()), "{:?}", last.order);
    assert!(!last.subjects.contains_key("slow"));
    assert!(!last.loads[0].has_loaded("slow") && last.loads[0].has_loaded("other"));
    assert_eq!(blocks_compared(&record, "c4", "slow"), settled.blocks);
    assert_eq!(blocks_compared(&record, "c4", "other"), settled.blocks + 1);
}
