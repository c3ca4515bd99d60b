//! `abx view`: records in a browser.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::thread;

use abx_lab::history::{Archive, Query};
use abx_lab::state_folder;
use clap::Args;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::history::record_path;
use super::output::to_stdout;
use crate::end::{End, Failure, tell};
use crate::view::{RecordFile, RecordIndex, Site};

/// Look at records in a browser: a list, each as its report, several side by side.
///
/// Serves pages on this machine alone, prints their address and shows them until
/// it is interrupted. Nothing can be changed there, and the pages ask for nothing
/// of any other server.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx view\n  \
    abx view 3fa9c1 old/record.json\n  \
    abx view --port 8000\n\n\
    Ctrl-C ends it, with exit code 0.")]
pub struct View {
    /// Show these alone, each a file or an id of `abx history`; by default all that are kept.
    #[arg(value_name = "RECORD")]
    records: Vec<String>,
    /// The port; 0 lets the kernel choose.
    #[arg(short, long, default_value_t = 0)]
    port: u16,
    /// The address to listen on. Whoever reaches it can read the records.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    address: IpAddr,
}

/// Shows records until a signal comes.
pub fn view(view: &View) -> Result<End, Failure> {
    let (index, what) = match view.records.is_empty() {
        true => kept()?,
        false => named(&view.records)?,
    };
    // Before anyone can know the address: a signal must not meet the usual end.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|error| Failure::no_claim(format!("cannot wait for signals: {error}")))?;
    let wanted = SocketAddr::new(view.address, view.port);
    let listening = TcpListener::bind(wanted)
        .and_then(|listener| listener.local_addr().map(|address| (listener, address)));
    let (listener, address) = listening.map_err(|error| {
        Failure::usage(format!(
            "cannot listen on {wanted}: {error}. Name another port (`--port`, 0 for a free one) or \
             address (`--address`)"
        ))
    })?;
    let site = Site::new(index, view.address);
    let opened = thread::Builder::new().spawn(move || site.open(listener));
    opened.map_err(|error| Failure::no_claim(format!("cannot start a thread: {error}")))?;
    if !view.address.is_loopback() {
        tell(&format!(
            "abx: {} is no loopback address: whoever can reach it can read these records",
            view.address
        ));
    }
    tell(&format!("Showing {what}; Ctrl-C ends it"));
    to_stdout(&format!("http://{address}/\n")).map_err(Failure::no_claim)?;
    signals.forever().next();
    Ok(End::Done)
}

/// All records that are kept.
fn kept() -> Result<(RecordIndex, String), Failure> {
    let folder = state_folder();
    let archive = Archive::open(&folder).map_err(Failure::usage)?;
    if let Some(problem) = archive.problem() {
        tell(&format!("abx: {problem}"));
    }
    let found = archive.list(&Query::default()).map_err(Failure::no_claim)?;
    let count = found.entries.len();
    let what = format!("{count} records in {}", folder.display());
    Ok((RecordIndex::Folder(folder), what))
}

/// The records that these words name. What a file holds is looked at later; that
/// it is there is looked at now.
fn named(words: &[String]) -> Result<(RecordIndex, String), Failure> {
    let path = |word: &String| -> Result<PathBuf, Failure> {
        let path = record_path(word)?;
        match std::fs::metadata(&path) {
            Ok(about) if about.is_file() => Ok(path),
            Ok(_) => Err(Failure::usage(format!(
                "{} is no file: name records, or none to see all that are kept",
                path.display()
            ))),
            Err(error) => Err(Failure::usage(format!(
                "cannot read {}: {error}. `abx history` lists the records that are kept",
                path.display()
            ))),
        }
    };
    let paths: Vec<PathBuf> = words.iter().map(path).collect::<Result<_, _>>()?;
    let all = RecordFile::all(paths);
    let what = format!("{} records that were named", all.len());
    Ok((RecordIndex::Files(all), what))
}
