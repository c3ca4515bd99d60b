//! `abx view`: records in a browser. A small HTTP server shows them as pages: `accept_loop` accepts
//! connections, `request` reads requests, `pages` responds from the `record_index`.

mod accept_loop;
mod host;
mod pages;
mod record_index;
mod request;
mod response;
mod site;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::thread;

use abx_lab::history::{Archive, Query};
use abx_lab::state_folder;
use clap::Args;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::commands::history::record_path;
use crate::flags::output::to_stdout;
use crate::flags::units;
use crate::ui::end::{End, Failure, notify};

use self::record_index::{NamedFile, RecordIndex};
use self::site::Site;

/// View records in a browser.
///
/// Serves read-only pages on this machine and prints their address. The pages load nothing from
/// other servers.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx view\n  \
    abx view 3fa9c1 old/record.json\n  \
    abx view --port 8000\n\n\
    Stop it with Ctrl-C; the exit code is then 0.")]
pub struct View {
    /// Show only these records, each a file, an id from `abx history`, or last [default:
    /// all saved records].
    #[arg(value_name = "RECORD")]
    records: Vec<String>,
    /// Port to listen on; 0 for any free port.
    #[arg(short, long, default_value_t = 0, value_parser = units::whole_number::<u16>(0..=65_535, 8000))]
    port: u16,
    /// Address to listen on. Anyone who can reach it can read the records.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_parser = units::ip_address)]
    address: IpAddr,
}

/// Shows records until a signal comes.
pub fn view(view: &View) -> Result<End, Failure> {
    let (index, what) = if view.records.is_empty() {
        saved_records()?
    } else {
        named_records(&view.records)?
    };
    // Before any client can have the address: from then on, signals must end the command normally.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|error| Failure::no_claim(format!("cannot wait for signals: {error}")))?;
    let wanted = SocketAddr::new(view.address, view.port);
    let listening = TcpListener::bind(wanted)
        .and_then(|listener| listener.local_addr().map(|address| (listener, address)));
    let (listener, address) = listening.map_err(|error| {
        Failure::usage(format!(
            "cannot listen on {wanted}: {error}. Choose another port (`--port`, 0 for any free \
             one) or address (`--address`)"
        ))
    })?;
    let site = Site::new(index, view.address);
    thread::Builder::new()
        .spawn(move || accept_loop::run(&listener, site))
        .map_err(|error| Failure::no_claim(format!("cannot start a thread: {error}")))?;
    if !view.address.is_loopback() {
        notify(&format!(
            "abx: {} is not a loopback address: anyone who can reach it can read these records",
            view.address
        ));
    }
    notify(&format!("Showing {what}; stop with Ctrl-C"));
    to_stdout(&format!("http://{address}/\n")).map_err(Failure::no_claim)?;
    signals.forever().next();
    Ok(End::Done)
}

fn saved_records() -> Result<(RecordIndex, String), Failure> {
    let folder = state_folder();
    let archive = Archive::open(&folder).map_err(Failure::usage)?;
    if let Some(problem) = archive.problem() {
        notify(&format!("abx: {problem}"));
    }
    let history = archive.list(&Query::default()).map_err(Failure::no_claim)?;
    let count = history.entries.len();
    let what = format!("{count} records in {}", folder.display());
    Ok((RecordIndex::Folder(folder), what))
}

/// The records that these words name. Files are only checked for existence, and read later.
fn named_records(words: &[String]) -> Result<(RecordIndex, String), Failure> {
    let path = |word: &String| -> Result<PathBuf, Failure> {
        let path = record_path(word)?;
        match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => Ok(path),
            Ok(_) => Err(Failure::usage(format!(
                "{} is not a file: give records, or nothing to see all saved ones",
                path.display()
            ))),
            Err(error) => Err(Failure::usage(format!(
                "cannot read {}: {error}. `abx history` lists saved records",
                path.display()
            ))),
        }
    };
    let paths: Vec<PathBuf> = words.iter().map(path).collect::<Result<_, _>>()?;
    let files = NamedFile::all(paths);
    let what = match files.len() {
        1 => "1 given record".to_owned(),
        count => format!("{count} given records"),
    };
    Ok((RecordIndex::Files(files), what))
}
