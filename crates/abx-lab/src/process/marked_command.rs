//! A command that reports its progress by lines `marker NAME`. It runs under a keeper, so nothing
//! of it outlives abx.

pub mod marker_lines;

use std::collections::BTreeMap;
use std::io::{self, PipeReader, Read};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use abx_sys::Nanos;
use abx_sys::process::Exit;
use abx_verdict::timer::MarkedRun;

use crate::process::keeper::{Keeper, KeeperError, KeeperPlan, ProcessState};
use abx_study::launch::Launch;
use marker_lines::{MarkerLines, TooManyMarkers};

/// How often abx checks whether the command has ended.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// How long the output of the command may take to arrive after its end.
const REST_WITHIN: Duration = Duration::from_secs(5);
/// The most pieces of output that wait to be read.
const PIECES: usize = 64;
const PIECE_BYTES: usize = 64 << 10;

/// A command that is run for its markers.
pub struct MarkedCommand<'a> {
    /// The argument list, not empty.
    pub words: &'a [String],
    pub directory: &'a Path,
    /// How long a run may take.
    pub within: Duration,
    /// The program that becomes a keeper when given `keeper_arguments`.
    pub program: &'a Path,
    pub keeper_arguments: &'a [&'a str],
}

/// Why a run has no times.
#[derive(Debug, thiserror::Error)]
pub enum MarkedCommandError {
    #[error(
        "command `{0}` not found: install it, or give its path; a script also needs the program \
         that its first line names"
    )]
    NotFound(String),
    #[error("{0}")]
    Start(KeeperError),
    #[error("the output of the command cannot be read: {0}")]
    Output(#[from] io::Error),
    #[error("it ended with {0}")]
    Failed(Exit),
    #[error(
        "it did not end within {} s, so abx stopped it: allow more time with `--timeout`",
        .0.as_secs_f64()
    )]
    TimedOut(Duration),
    #[error("it printed more than {} markers", TooManyMarkers::MOST)]
    TooMany,
    #[error("its keeper was killed")]
    Lost,
    #[error("stopped")]
    Stopped,
}

/// The output of a command at one moment.
struct Piece {
    at: Nanos,
    bytes: Vec<u8>,
}

impl MarkedCommand<'_> {
    /// Runs the command until it has ended, with all that it left in the background. Its output on
    /// standard output and standard error, except for markers, goes to `other`.
    ///
    /// # Errors
    /// One [`MarkedCommandError`] for each way to fail; no process of the command runs then.
    pub fn run(
        &self,
        is_stopped: &dyn Fn() -> bool,
        other: &mut dyn FnMut(&[u8]),
    ) -> Result<MarkedRun, MarkedCommandError> {
        let (reader, writer) = io::pipe()?;
        let (sender, pieces) = sync_channel(PIECES);
        // On a thread of its own, so that other work does not delay the time of a piece.
        thread::Builder::new()
            .name("markers".to_owned())
            .spawn(move || read_pieces(reader, &sender))?;
        let began = Instant::now();
        let plan = self.plan(writer.as_raw_fd());
        let (program, arguments) = (self.program, self.keeper_arguments);
        let keeper = Keeper::start(program, arguments, &plan, is_stopped, &|_| {});
        // From now on only the command has the writer, so that its end is the end of the output.
        drop(writer);
        let mut keeper = keeper.map_err(|error| match error {
            KeeperError::Stopped => MarkedCommandError::Stopped,
            KeeperError::CommandNotFound { command } => MarkedCommandError::NotFound(command),
            other => MarkedCommandError::Start(other),
        })?;
        let mut lines = MarkerLines::new(keeper.since());
        let exit = loop {
            match pieces.recv_timeout(LOOK_EVERY) {
                Ok(piece) => take(&mut lines, &piece, other)?,
                Err(RecvTimeoutError::Timeout) => {}
                // The command has closed its output, and continues.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(LOOK_EVERY),
            }
            match keeper.state() {
                ProcessState::Exited(exit) => break exit,
                ProcessState::Lost => return Err(MarkedCommandError::Lost),
                ProcessState::Running if is_stopped() => return Err(MarkedCommandError::Stopped),
                ProcessState::Running if began.elapsed() >= self.within => {
                    return Err(MarkedCommandError::TimedOut(self.within));
                }
                ProcessState::Running => {}
            }
        };
        let end = keeper.until().unwrap_or_else(Nanos::now);
        let end_ns = end.since(keeper.since()).0;
        drop(keeper);
        take_rest(&mut lines, &pieces, other)?;
        let markers = lines.finish(other);
        match exit {
            Exit::Code(0) => {
                let mut markers = markers.map_err(|TooManyMarkers| MarkedCommandError::TooMany)?;
                for marker in &mut markers {
                    // On a busy machine, a marker from before the end may be read after it.
                    marker.at_ns = marker.at_ns.min(end_ns);
                }
                Ok(MarkedRun { markers, end_ns })
            }
            failure => Err(MarkedCommandError::Failed(failure)),
        }
    }

    fn plan(&self, output: i32) -> KeeperPlan {
        let mut words = self.words.iter().cloned();
        KeeperPlan {
            program: words.next().unwrap_or_default(),
            arguments: words.collect(),
            directory: self.directory.to_owned(),
            environment: BTreeMap::new(),
            cpus: None,
            descriptors: None,
            // The keeper opens the pipe by its place among our descriptors.
            log: PathBuf::from(format!("/proc/{}/fd/{output}", std::process::id())),
            scratch: None,
            files: Vec::new(),
            stop: Launch::STOP,
            container: None,
            outlives_main: false,
        }
    }
}

fn take(
    lines: &mut MarkerLines,
    piece: &Piece,
    other: &mut dyn FnMut(&[u8]),
) -> Result<(), MarkedCommandError> {
    lines
        .take(piece.at, &piece.bytes, other)
        .map_err(|TooManyMarkers| MarkedCommandError::TooMany)
}

/// The last output of an ended command.
fn take_rest(
    lines: &mut MarkerLines,
    pieces: &Receiver<Piece>,
    other: &mut dyn FnMut(&[u8]),
) -> Result<(), MarkedCommandError> {
    let deadline = Instant::now() + REST_WITHIN;
    while let Ok(piece) = pieces.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        take(lines, &piece, other)?;
    }
    Ok(())
}

/// Reads a pipe to its end, and notes the time of each piece.
fn read_pieces(mut reader: PipeReader, sender: &SyncSender<Piece>) {
    let mut buffer = vec![0; PIECE_BYTES];
    loop {
        let piece = match reader.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => Piece {
                at: Nanos::now(),
                bytes: buffer[..length].to_vec(),
            },
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        if sender.send(piece).is_err() {
            return;
        }
    }
}
