//! Stops and removes the container of a kept command. Each of abx, guardian and keeper that is left
//! does that, and only by the name that this start has given the container.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// How often a wait checks whether it is over.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How much longer than the server itself its engine may take to stop it.
const STOP_LONGER: Duration = Duration::from_secs(10);
/// How long one try to remove a container may take.
const REMOVE_WITHIN: Duration = Duration::from_secs(20);
/// An engine that is still ending a container refuses the first tries.
const REMOVE_TRIES: usize = 3;

/// A container that the engine runs for the kept command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptContainer {
    /// The program of the engine.
    pub engine: String,
    /// The name of the container, which no other start uses.
    pub name: String,
}

impl KeptContainer {
    /// How much longer than another keeper the keeper of a container may take to end.
    pub(super) const STOP_GRACE: Duration = Duration::from_secs(80);

    /// Has its server stopped by the signal that the container was started with, and killed if it
    /// takes longer. Returns whether there was a container to stop.
    pub fn stop(&self, within: Duration) -> bool {
        // The engine takes whole seconds.
        let seconds = within.as_secs() + u64::from(within.subsec_nanos() > 0);
        let seconds = seconds.to_string();
        self.carry_out(&["stop", "-t", &seconds], within + STOP_LONGER)
    }

    /// Removes it, running or not, with its volumes.
    pub fn remove(&self) {
        for _ in 0..REMOVE_TRIES {
            if self.carry_out(&["rm", "--force", "--volumes"], REMOVE_WITHIN) {
                return;
            }
        }
    }

    /// Gives the engine a command for this container; returns whether it succeeded.
    fn carry_out(&self, words: &[&str], within: Duration) -> bool {
        let mut command = Command::new(&self.engine);
        command.args(words).arg(&self.name).stdout(Stdio::null());
        run_within(command.stderr(Stdio::null()), within).is_ok_and(|succeeded| succeeded)
    }
}

/// Runs a command of the engine, and ends it if it takes too long. Returns whether it succeeded. A
/// terminal's Ctrl-C does not reach it.
fn run_within(command: &mut Command, within: Duration) -> io::Result<bool> {
    let mut child = command.stdin(Stdio::null()).process_group(0).spawn()?;
    wait_within(&mut child, within)
}

/// Waits until a command has ended, and ends it if it takes too long. Returns whether it succeeded.
///
/// # Errors
/// `TimedOut`; the error of the kernel.
pub fn wait_within(child: &mut Child, within: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + within;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Writes a program for a test. A shell writes it: if this process had the file open for writing,
/// it could not be run while another test's child has just been forked.
#[cfg(test)]
pub fn write_program(at: &std::path::Path, text: &str) {
    let write = r#"printf '#!/bin/sh\n%s\n' "$1" >"$2" && chmod 755 "$2""#;
    let mut shell = Command::new("sh");
    let status = shell.args(["-c", write, "sh", text]).arg(at).status();
    assert!(status.expect("a shell").success());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_gets_commands_only_for_this_container() {
        // Method: an engine that logs its commands, and fails the first time that it removes
        // something.
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let script = format!(
            "echo \"$@\" >>{0}; [ \"$1\" != rm ] || [ $(grep -c ^rm {0}) -gt 1 ]",
            at("calls").display()
        );
        write_program(&at("engine"), &script);
        let container = KeptContainer {
            engine: at("engine").display().to_string(),
            name: "abx-1".to_owned(),
        };
        assert!(container.stop(Duration::from_millis(1_500)));
        container.remove();
        let calls = std::fs::read_to_string(at("calls")).unwrap();
        let removal = "rm --force --volumes abx-1\n";
        assert_eq!(calls, format!("stop -t 2 abx-1\n{removal}{removal}"));
    }

    #[test]
    fn an_engine_that_hangs_is_ended() {
        // Method: a command that would take a minute, and may take 50 ms.
        let mut command = Command::new("sleep");
        let ended = run_within(command.arg("60"), Duration::from_millis(50));
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
