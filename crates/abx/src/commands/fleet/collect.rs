//! `abx collect`: makes a record from the counts of a run that agents saved.

use std::path::PathBuf;

use abx_fleet::{Collected, Final};
use abx_lab::collected_run;
use clap::Args;

use crate::commands::run;
use crate::flags::expect::ExpectFlags;
use crate::flags::output::{FormatFlags, OutputFlags, Outputs};
use crate::ui::end::{End, Failure};

/// Assemble a record from the agents' files, if the controller is gone.
///
/// Each agent saves its counts of an `abx run` in a separate file (`abx agent --finals`). Copy
/// these files to one machine. Their record is like that of the run, except for data that only
/// the controller reads. A file that is given twice counts once.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx collect *.final.json\n\n\
    Exit codes: 0 with a record; 2 when a file cannot be read, or files are of different runs, \
    plans or builds; 3 when no verdict is possible; 130 with the record of a load that was cut short.")]
pub struct CollectArgs {
    /// The *.final.json files of one run, from its agents.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    formats: FormatFlags,
}

/// Reads the files, saves their record, and prints its report.
pub fn collect(args: &CollectArgs) -> Result<End, Failure> {
    let outputs = Outputs::new(&args.output, &args.formats, [])?;
    let read = |file: &PathBuf| {
        let item = Final::read(file).map_err(Failure::usage)?;
        Ok((file.clone(), item))
    };
    let finals = args
        .files
        .iter()
        .map(read)
        .collect::<Result<_, Failure>>()?;
    let Collected { measured, tally } = abx_fleet::collect(finals).map_err(Failure::usage)?;
    let measured = collected_run(measured, tally)
        .ok_or_else(|| Failure::usage("the files are not of one server under one load"))?;
    let nothing = ExpectFlags::default();
    run::keep_and_print(measured, &nothing, &outputs, &args.output)
}
