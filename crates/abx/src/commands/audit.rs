//! `abx audit`: what do reports of other tools show?

use std::io::{self, Read};

use abx_audit::{ReportText, text_of};
use abx_lab::open_input;
use clap::Args;

use crate::flags::output;
use crate::flags::output::OutputFlags;
use crate::ui::end::{End, Failure};

/// Check which conclusions a report of ab, wrk or another tool supports.
///
/// Finds reports of ab, httperf, wrk, wrk2, hey, oha, h2load and siege in any text (logs, pages,
/// several in a file, side by side), and tables of their rates. Shows the limits of each with the
/// lines that prove them, what can still be concluded, and how to decide the rest.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx audit ab.txt\n  \
    abx audit nginx.txt node.txt summary.txt\n  \
    ab -n 5000 -c 50 http://127.0.0.1:8080/ | abx audit -\n  \
    abx audit post.html --json audit.json\n\n\
    Exit codes: 0 when there was a report; 2 when a file cannot be read; 3 without a report.")]
#[command(mut_arg("json", |json| output::saves(json, "the audit")))]
pub struct AuditArgs {
    /// Text with reports; - reads standard input.
    #[arg(required = true, value_name = "FILE|-")]
    files: Vec<String>,
    #[command(flatten)]
    output: OutputFlags,
}

/// Reads, judges and prints.
pub fn audit(args: &AuditArgs) -> Result<End, Failure> {
    let texts = args
        .files
        .iter()
        .map(|file| read(file))
        .collect::<Result<Vec<ReportText>, Failure>>()?;
    let audit = abx_audit::audit(&texts);
    let text = abx_audit::audit_text(&audit, &output::style(&args.output));
    output::print(&text, &audit, &args.output)?;
    Ok(if audit.reports.is_empty() {
        End::NoClaim
    } else {
        End::Done
    })
}

/// More than any input to an audit has, even in UTF-16. Reading of an endless device stops here.
const BYTES_MOST: u64 = 80 << 20;

/// Reads a file; `-` is standard input.
fn read(file: &str) -> Result<ReportText, Failure> {
    let mut bytes = Vec::new();
    let (name, result) = match file {
        "-" => (
            "standard input",
            io::stdin().take(BYTES_MOST).read_to_end(&mut bytes),
        ),
        path => {
            let file = open_input(path.as_ref());
            let read = file.and_then(|file| file.take(BYTES_MOST).read_to_end(&mut bytes));
            (path, read)
        }
    };
    result.map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
    Ok(ReportText {
        file: name.to_owned(),
        text: text_of(&bytes),
    })
}
