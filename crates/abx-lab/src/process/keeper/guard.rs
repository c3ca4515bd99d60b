//! The inside of a guardian, which starts a keeper and cleans up if the keeper is killed.
//!
//! It sleeps while the keeper runs. It adopts the processes that a killed keeper leaves behind, and
//! ends them. If the guardian is killed, its pipe to the keeper closes, and the keeper ends its
//! processes.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use abx_sys::process::{Exit, adopt_orphans, set_name};

use super::family::ProcessFamily;
use super::protocol::{KeeperCommand, KeeperPlan, KeeperReport, KeeperRole, StartFailure};
use super::scratch;
use super::wakes::Wakes;

/// Runs a keeper with a plan, and returns when no process of both is left.
///
/// # Errors
/// The error of the kernel; the keeper then ends the command that it keeps.
pub fn guard(plan: KeeperPlan, owner: String) -> io::Result<()> {
    set_name(c"guardian")?;
    let mut wakes = Wakes::new()?;
    adopt_orphans()?;
    let command = KeeperCommand {
        role: KeeperRole::Keeper,
        plan,
        owner,
    };
    let mut keeper = match start_keeper() {
        Ok(keeper) => keeper,
        Err(error) => {
            let why = StartFailure::NoKeeper(error.to_string());
            KeeperReport::Failed { why }.send();
            return Ok(());
        }
    };
    let mut pipe = keeper.stdin.take();
    if let Some(pipe) = &mut pipe {
        // A keeper that does not read has ended, which the loop below notices.
        let _ = command.write(pipe);
    }
    let mut family = ProcessFamily::new(keeper.id(), false);
    family.reap()?;
    while family.main_exit().is_none() {
        if wakes.sleep(None)? {
            drop(pipe.take());
        }
        family.reap()?;
    }
    family.kill(&mut wakes)?;
    if family.main_exit() != Some(Exit::Code(0)) {
        if let Some(container) = &command.plan.container {
            container.remove();
            // The engine's processes end with the container, or now.
            family.kill(&mut wakes)?;
        }
        KeeperReport::Lost.send();
        // abx may still read the log, so this waits until it closes the pipe.
        io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    }
    scratch::clear(&command.plan, &command.owner);
    Ok(())
}

/// Starts this program again, with the same arguments.
fn start_keeper() -> io::Result<Child> {
    Command::new("/proc/self/exe")
        .arg0("keeper")
        .args(std::env::args_os().skip(1))
        .stdin(Stdio::piped())
        .spawn()
}
