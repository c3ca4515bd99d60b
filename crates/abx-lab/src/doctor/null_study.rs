//! Studies of `null`, the server that does next to nothing.

use std::path::Path;

use abx_evidence::record::Interleave;
use abx_model::LoadOptions;
use abx_stats::Margin;
use abx_study::launch::Launch;
use abx_study::subject::{Source, Subject};
use abx_study::{Load, PilotEffort, Pin, Study, WaitChoice};

use super::examination::Examination;

/// The connections of a usual load.
const CONNECTIONS: u32 = 50;

/// A study of `null`, to be filled with subjects and loads.
pub(super) fn study(examination: &Examination, subjects: Vec<Subject>, loads: Vec<Load>) -> Study {
    Study {
        subjects,
        contrasts: Vec::new(),
        loads,
        faults: Vec::new(),
        aa: true,
        margin: Margin::DEFAULT,
        budget: None,
        ordered_time: None,
        blocks: None,
        slice: None,
        rounds: None,
        cold: None,
        ceiling: None,
        against: None,
        services: Vec::new(),
        skipped: Vec::new(),
        pilot: PilotEffort::Usual,
        interleave: Interleave::Slices,
        files: Vec::new(),
        local_addresses: Vec::new(),
        threads: Some(1),
        pin: Pin::Split,
        wait: WaitChoice::Auto,
        seed: examination.seed,
        command: examination.command.clone(),
    }
}

/// The server that does next to nothing, under this name.
pub(super) fn null(program: &Path, arguments: &[&str], name: &str) -> Subject {
    let program = program.to_string_lossy().into_owned();
    let arguments = arguments.iter().map(|word| (*word).to_owned());
    Subject {
        name: name.to_owned(),
        source: Source::Command(Launch::new(
            std::iter::once(program).chain(arguments).collect(),
        )),
        stand_in_for: None,
        http2: false,
    }
}

/// The usual load, with or without keep-alive.
pub(super) fn load(keep_alive: bool) -> Load {
    Load {
        options: LoadOptions {
            connections: CONNECTIONS,
            keep_alive,
            ..LoadOptions::default()
        },
        name: if keep_alive {
            "kept alive".to_owned()
        } else {
            "one request each".to_owned()
        },
        ..Load::default()
    }
}
