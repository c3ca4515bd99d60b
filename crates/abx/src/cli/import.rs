//! `abx import`: reports of other tools become records.

use std::time::{SystemTime, UNIX_EPOCH};

use abx_audit::{Audit, ImportedRecord, LoadTool, imported};
use abx_lab::Store;
use clap::Args;

use super::audit::audit_of;
use super::history::{name_of, note};
use super::output::{OutputFlags, style, to_stdout};
use crate::end::{End, Failure, tell};

/// Save reports of ab, httperf, wrk and others as records.
///
/// A record holds what was printed and nothing else: one run, without an interval. `abx report`
/// shows it, with what `abx audit` finds, and beside other records; `abx history` and `abx view`
/// list it. Prints the id of each.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx import ab.txt\n  \
    ab -n 5000 -c 50 http://127.0.0.1:8080/ | abx import - --name nginx\n  \
    abx report last\n  \
    abx report 3fa9c1 0a1b2c\n\n\
    Exit codes: 0 when each file had a report; 2 when a file cannot be read; 3 when one had no \
    report (those of the others are saved).")]
pub struct ImportArgs {
    /// Text with reports, as `abx audit` reads it; - reads standard input.
    #[arg(required = true, value_name = "FILE|-")]
    files: Vec<String>,
    /// What to call the server [default: the file's name].
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<String>,
    /// Print only errors on standard error.
    #[arg(short, long)]
    quiet: bool,
}

fn name(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("a name has at least one letter, such as nginx".to_owned()),
        name => Ok(name.to_owned()),
    }
}

/// Reads reports, and saves each.
pub fn import(args: &ImportArgs) -> Result<End, Failure> {
    let mut audit = audit_of(&args.files)?;
    if let Some(name) = &args.name {
        rename(&mut audit, name)?;
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_unix_ms = since.unwrap_or_default().as_millis();
    let now_unix_ms = u64::try_from(now_unix_ms).unwrap_or(u64::MAX);
    let records = imported(&audit, env!("CARGO_PKG_VERSION"), now_unix_ms);
    let ids = (1..)
        .zip(&records)
        .map(|(number, record)| save(number, record));
    let ids: Vec<String> = ids.collect::<Result<_, Failure>>()?;
    let flags = OutputFlags {
        json: None,
        quiet: args.quiet,
        no_color: true,
    };
    let left = abx_report::not_imported_text(&audit, &style(&flags));
    if !left.is_empty() {
        tell(left.trim_end());
    }
    if !ids.is_empty() && !args.quiet {
        tell(&format!("Show with: abx report {}", ids.join(" ")));
    }
    let has_record = |file: &str| records.iter().any(|record| record.report.file == file);
    let all_have = audit.files.iter().all(|file| has_record(&file.file));
    Ok(match all_have {
        true => End::Done,
        false => End::NoClaim,
    })
}

/// Calls the only report that was found so.
fn rename(audit: &mut Audit, name: &str) -> Result<(), Failure> {
    let reports = audit.reports.iter_mut();
    let mut reports: Vec<_> = reports.filter(|one| one.tool != LoadTool::Table).collect();
    match &mut reports[..] {
        [] => Ok(()),
        [only] => {
            name.clone_into(&mut only.name);
            Ok(())
        }
        several => Err(Failure::usage(format!(
            "--name calls one report `{name}`, and {} were found: leave it out, or import files \
             with one report each",
            several.len()
        ))),
    }
}

/// Saves one, and says its id.
fn save(number: u64, record: &ImportedRecord) -> Result<String, Failure> {
    let mut store = Store::for_new_record("import", number);
    store.save_somewhere(record).map_err(Failure::no_claim)?;
    note(&store);
    if let Some(why) = store.moved() {
        tell(&format!("abx: {why}; it is in {}", store.path().display()));
    }
    let id = name_of(&store);
    to_stdout(&abx_report::imported_line(record, &id)).map_err(Failure::no_claim)?;
    Ok(id)
}
