//! What it costs to look at many processes: 8 trees of 500, as 8 subjects of a study have.
//!
//! `cargo run --release -p abx-sys --example many_processes` prints, in microseconds, the
//! median and the most of some looks each, at rest and after somebody has forked.

#![allow(
    clippy::disallowed_macros,
    reason = "a program of its own, whose data goes to standard output"
)]

use std::io;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use abx_sys::process::Signal;
use abx_sys::tree::{ProcTree, descendants};

const TREES: usize = 8;
const PROCESSES: usize = 500;
const LOOKS: usize = 21;

/// A shell with many children that sleep, ended when dropped.
struct Subject(Child);

impl Subject {
    fn start() -> io::Result<Subject> {
        let text = format!("for i in $(seq {PROCESSES}); do sleep 600 & done; wait");
        let mut command = Command::new("sh");
        command.args(["-c", &text]).stdin(Stdio::null());
        command.spawn().map(Subject)
    }

    /// Its tree, when all of its processes are there.
    fn tree(&self) -> io::Result<ProcTree> {
        let deadline = Instant::now() + Duration::from_secs(120);
        while descendants(self.0.id())?.len() < PROCESSES {
            if Instant::now() > deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        ProcTree::new(self.0.id())
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        for relative in descendants(self.0.id()).unwrap_or_default() {
            let _ = relative.process.signal(Signal::Kill);
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn main() -> io::Result<()> {
    let subjects: Vec<Subject> = (0..TREES)
        .map(|_| Subject::start())
        .collect::<io::Result<_>>()?;
    let mut trees: Vec<ProcTree> = subjects
        .iter()
        .map(Subject::tree)
        .collect::<io::Result<_>>()?;
    for tree in &mut trees {
        tree.cpu()?;
    }
    println!("{TREES} trees of {PROCESSES} processes, us: median, most");
    let nothing = || Ok(());
    let fork = || Command::new("true").status().map(drop);
    print("processor time of one, nobody forks", nothing, || {
        trees[0].cpu().map(drop)
    })?;
    print(
        "processor time of one, after a fork elsewhere",
        fork,
        || trees[0].cpu().map(drop),
    )?;
    print("memory in RAM of one, after a fork", fork, || {
        trees[0].rss_bytes().map(drop)
    })?;
    print("memory in RAM of all, after a fork", fork, || {
        trees
            .iter_mut()
            .try_for_each(|tree| tree.rss_bytes().map(drop))
    })?;
    print("threads of one, after a fork", fork, || {
        trees[0].thread_times().map(drop)
    })?;
    print("proportional memory of one, after a fork", fork, || {
        trees[0].proportional_memory().map(drop)
    })
}

/// Times a look, each time after something has happened.
fn print(
    what: &str,
    mut happens: impl FnMut() -> io::Result<()>,
    mut look: impl FnMut() -> io::Result<()>,
) -> io::Result<()> {
    let mut times = Vec::with_capacity(LOOKS);
    for _ in 0..LOOKS {
        happens()?;
        let began = Instant::now();
        look()?;
        times.push(began.elapsed().as_micros());
    }
    times.sort_unstable();
    println!("{what}: {}, {}", times[LOOKS / 2], times[LOOKS - 1]);
    Ok(())
}
