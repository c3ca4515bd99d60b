//! The inside of a guardian: it has a keeper, and is there when the keeper is killed.
//!
//! It sleeps as long as the keeper runs. It adopts the processes that a killed keeper leaves, and
//! ends them. When the guardian is killed, its pipe to the keeper closes, and the keeper ends the
//! processes that it keeps.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use abx_sys::process::{Exit, adopt_orphans, set_name};

use super::family::ProcessFamily;
use super::protocol::{KeeperCommand, KeeperPlan, KeeperReport, KeeperRole, StartFailure};
use super::scratch;
use super::wakes::Wakes;

/// Runs a keeper with a plan, and returns when nothing of both is left.
///
/// # Errors
/// The error of the kernel; the keeper then ends the command that it keeps.
pub fn guard(plan: KeeperPlan, owner: String) -> io::Result<()> {
    set_name(c"guardian")?;
    let mut wakes = Wakes::new()?;
    adopt_orphans()?;
    let order = KeeperCommand {
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
        // A keeper that does not read has ended, which is seen below.
        let _ = order.write(pipe);
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
        if let Some(container) = &order.plan.container {
            container.remove();
            // The engine's processes for it end by themselves then, or now.
            family.kill(&mut wakes)?;
        }
        KeeperReport::Lost.send();
        // abx may still want to read the log, so until it closes the pipe.
        io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    }
    scratch::clear(&order.plan, &order.owner);
    Ok(())
}

/// Starts this very program again, with the same words.
fn start_keeper() -> io::Result<Child> {
    Command::new("/proc/self/exe")
        .arg0("keeper")
        .args(std::env::args_os().skip(1))
        .stdin(Stdio::piped())
        .spawn()
}
