//! What came of looking at the subjects of the catalog, as a table.

use abx_evidence::catalog::{CheckRecord, CheckedSubject, SubjectStatus};

use crate::document::Table;
use crate::words::style::Style;
use crate::words::units::{bytes, or_unknown};
use crate::words::wrap::{clean, clean_name};

/// A table of all subjects, and below it why some are not ready.
#[must_use]
pub fn check_text(record: &CheckRecord, style: &Style) -> String {
    let table = Table::new(
        ["subject", "status", "ready s", "memory"],
        record.subjects.iter().map(row),
    );
    let mut out = table.text(style.columns());
    for one in &record.subjects {
        if let Some(why) = &one.why {
            let text = format!("{}: {}", name(one), clean(why));
            out.push('\n');
            out.push_str(&style.paragraph(&text));
        }
    }
    out.push('\n');
    out.push_str(&style.paragraph(&totals(record)));
    style.finish(&out)
}

fn row(one: &CheckedSubject) -> [String; 4] {
    [
        name(one),
        one.status.word().to_owned(),
        or_unknown(one.ready_s, |seconds| format!("{seconds:.2}")),
        or_unknown(one.rss_bytes, |rss| bytes(rss as f64)),
    ]
}

fn name(one: &CheckedSubject) -> String {
    format!("{}/{}", clean_name(&one.study), clean_name(&one.subject))
}

fn totals(record: &CheckRecord) -> String {
    let all = [
        SubjectStatus::Ready,
        SubjectStatus::Missing,
        SubjectStatus::Broken,
        SubjectStatus::Skipped,
    ];
    let count = |status| {
        let subjects = record.subjects.iter();
        subjects.filter(|one| one.status == status).count()
    };
    let words = all.map(|status| format!("{} {}", count(status), status.word()));
    let end = if record.interrupted {
        "; interrupted"
    } else {
        ""
    };
    format!("{}{end}.", words.join(", "))
}
