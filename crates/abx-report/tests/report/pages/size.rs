//! The size of pages.

use std::fs;
use std::path::{Path, PathBuf};

use abx_verdict::StudyRecord;

use crate::readmes::{read_record, records};
use crate::support::study_html;

/// The largest page, in bytes. Every browser opens such a page at once.
pub const BYTES_MAX: usize = 2_000_000;

/// The records of the documents, below this folder.
fn of_documents(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of documents");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let records = paths.flat_map(|path| match path.extension() {
        _ if path.is_dir() => of_documents(&path),
        Some(ending) if ending == "zst" => vec![path],
        _ => Vec::new(),
    });
    records.collect()
}

#[test]
fn every_page_of_this_repository_is_small() {
    // Method: each record of the catalog and of the documents as a page.
    let check = |path: &Path, record: &StudyRecord| {
        let html = study_html(record, &[]);
        let (bytes, path) = (html.len(), path.display());
        assert!(bytes <= BYTES_MAX, "{path}: {bytes} bytes");
    };
    records().for_each(|(folder, record)| check(folder, record));
    let documents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let documents = of_documents(&documents);
    assert!(!documents.is_empty());
    for path in documents {
        check(&path, &read_record(&path));
    }
}
