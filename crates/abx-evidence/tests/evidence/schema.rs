//! The schema of records in `docs/`.

use std::fs;
use std::path::Path;

use abx_verdict::record_schema;

#[test]
fn the_documented_schema_of_records_is_up_to_date() {
    // Method: generated again and compared; UPDATE=1 writes it.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/record.schema.json");
    let generated = serde_json::to_string_pretty(&record_schema()).unwrap() + "\n";
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &generated).unwrap();
    }
    let documented = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        documented == generated,
        "docs/record.schema.json does not match the types; update it with: \
         UPDATE=1 cargo test -p abx-evidence --test evidence schema"
    );
}
