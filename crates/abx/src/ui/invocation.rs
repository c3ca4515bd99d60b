//! How abx was started: its program file, and its command line as records contain it.

use std::path::PathBuf;
use std::sync::OnceLock;

use abx_lab::CeilingServer;

use crate::ui::end::Failure;

/// The words of the command line, without secrets.
static RECORDED: OnceLock<Vec<String>> = OnceLock::new();

/// Sets the command line that records will contain, once per process.
pub fn record(words: Vec<String>) {
    let _ = RECORDED.set(words);
}

/// The command line as records contain it.
pub fn recorded() -> Vec<String> {
    RECORDED.get().cloned().unwrap_or_default()
}

/// The built-in null server, which shows the generator's highest throughput.
pub fn ceiling_server() -> Result<CeilingServer, Failure> {
    let program = own_program()?;
    let program = program.to_string_lossy();
    let words = "serve --port {port} --model null --page-bytes {bytes}".split(' ');
    Ok(CeilingServer {
        command: std::iter::once(&*program)
            .chain(words)
            .map(str::to_owned)
            .collect(),
        encrypted: vec!["--tls-self-signed".to_owned()],
    })
}

/// The program file of abx, which it starts again for keepers and built-in servers.
pub fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::usage(format!("cannot find abx's own program file: {error}")))
}
