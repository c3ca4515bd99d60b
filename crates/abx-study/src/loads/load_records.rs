//! Loads in a record before anything is measured.

use std::collections::BTreeMap;

use abx_evidence::record::{LoadRecord, LoadSettings};

use crate::loads::load::Load;
use crate::servers::subject::Subject;

/// The record of each load so far; responses and pilots come later.
pub fn load_records(subjects: &[Subject], loads: &[Load]) -> Vec<LoadRecord> {
    let is_encrypted = subjects.iter().any(|subject| subject.tls_name().is_some());
    let record = |load: &Load| LoadRecord {
        name: load.name.clone(),
        // Whether bodies can be compared is known after the first verification.
        settings: LoadSettings {
            tls: is_encrypted.then(|| load.tls.settings()),
            ..load.settings(false)
        },
        responses: BTreeMap::new(),
        pilot: None,
        settled: Vec::new(),
    };
    loads.iter().map(record).collect()
}
