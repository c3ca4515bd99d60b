//! What the pages of the catalog's studies say, beside the records that they have it from.

use std::fs;
use std::path::Path;

use abx_evidence::StudyRecord;
use abx_report::verdict_matrix;

#[test]
fn a_page_of_a_study_has_the_verdicts_of_its_record() {
    // Method: each record beside a page, judged anew, as tables; the page has
    // each of them word for word. When it has not, they are printed, to be put there.
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let mut found = 0;
    for folder in fs::read_dir(studies).unwrap() {
        let folder = folder.unwrap().path();
        let Ok(file) = fs::File::open(folder.join("record.json.zst")) else {
            continue;
        };
        let json = zstd::decode_all(file).unwrap();
        let record: StudyRecord = serde_json::from_slice(&json).unwrap();
        let page = fs::read_to_string(folder.join("README.md")).unwrap();
        let matrix = verdict_matrix(&record);
        for table in matrix.split("\n\n") {
            assert!(
                page.contains(table.trim_end()),
                "{} has not these tables:\n\n{matrix}",
                folder.join("README.md").display()
            );
        }
        found += 1;
    }
    assert!(found >= 2, "{found} studies have a record");
}
