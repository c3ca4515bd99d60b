//! Checks that `docs/findings.md` lists every finding.

use std::fs;
use std::path::Path;

use abx_evidence::{FindingId, Level};
use abx_verdict::Declared;

const HEAD: &str = "\
# Findings

A *finding* limits what a result shows. `abx report` prints the findings of a record, the most serious first. In a record
each has an `id`, a `level`, a `message` with figures, and a `remedy`. Scripts should use the id. Later versions of abx may
add ids.

| level | printed as | effect on a verdict |
|---|---|---|
| note | note | none; worth knowing |
| bound | limit | it holds only as a bound: a ratio or a throughput is \"at least\" |
| void | no result | there is none |

If an id has several levels, the message gives the reason for the more serious one.

| id | level | meaning | remedy |
|---|---|---|---|
";

fn page() -> String {
    let word = |level: &Level| match level {
        Level::Note => "note",
        Level::Bound => "bound",
        Level::Void => "void",
    };
    let rows = FindingId::ALL.iter().map(|id| {
        let levels: Vec<&str> = id.levels().iter().map(word).collect();
        let (meaning, remedy) = (id.meaning(), id.remedy());
        format!(
            "| `{id}` | {} | {meaning} | {remedy} |\n",
            levels.join(", ")
        )
    });
    HEAD.to_owned() + &rows.collect::<String>()
}

#[test]
fn the_page_of_findings_lists_every_id() {
    // Method: render the page again and compare; UPDATE=1 writes it.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/findings.md");
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page,
        "docs/findings.md is not what the ids say; write it again with: \
         UPDATE=1 cargo test -p abx-verdict --test verdict page"
    );
}
