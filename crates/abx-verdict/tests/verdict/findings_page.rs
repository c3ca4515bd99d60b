//! The page of findings that stands in `docs/`.

use std::fs;
use std::path::Path;

use abx_evidence::{FindingId, Level};
use abx_verdict::Declared;

const HEAD: &str = "\
# Findings

A *finding* is something that limits what a result may claim. `abx report` prints the findings of a record, the
most serious first. In records each has an `id`, a `level`, a `message` with figures, and a `remedy`. Scripts should
look for the id; later versions of abx may add ids.

| level | what it does to a claim |
|---|---|
| note | the claim stands; worth knowing |
| bound | the claim stands only as a bound: a ratio or a throughput is \"at least\" |
| void | there is no claim |

Where an id has several levels, the message says why the more serious one applies.

| id | level | what it means | what to do |
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
fn the_page_of_findings_is_that_of_the_ids() {
    // Method: made again and compared; UPDATE=1 writes it.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/findings.md");
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == page,
        "docs/findings.md is not what the ids say; write it anew with: \
         UPDATE=1 cargo test -p abx-verdict --test verdict page"
    );
}
