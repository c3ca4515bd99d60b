//! The inside of a keeper: one thread that sleeps until its command ends, its pipe closes, or it
//! receives a signal.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use abx_sys::limits::DescriptorLimit;
use abx_sys::process::{adopt_orphans, set_name, spawn_kept};
use abx_sys::{Nanos, cpus, limits};

use super::family::ProcessFamily;
use super::protocol::{KeeperPlan, KeeperReport, StartFailure};
use super::scratch;
use super::wakes::Wakes;

/// The bytes of files that are made between two reports.
const REPORT_EVERY_BYTES: u64 = 1 << 20;

/// How long a container engine may take to clean up after a container has ended.
const TIDY_WITHIN: Duration = Duration::from_secs(5);

/// Runs a plan, and returns when no process of it is left.
///
/// # Errors
/// The error of the kernel; the guardian then ends the remaining processes.
pub fn run_command(plan: &KeeperPlan, owner: &str) -> io::Result<()> {
    set_name(c"keeper")?;
    let mut wakes = Wakes::new()?;
    adopt_orphans()?;
    let mut reported = 0;
    let made = scratch::make(plan, owner, &mut |bytes| {
        if bytes < reported + REPORT_EVERY_BYTES {
            Ok(())
        } else {
            reported = bytes;
            report_making(bytes, &mut wakes)
        }
    });
    // Until this process ends, the lock shows that the folder is in use.
    let (_lock, (main, since)) = match made.and_then(|lock| Ok((lock, start(plan)?))) {
        Ok(started) => started,
        Err(why) => {
            KeeperReport::Failed { why }.send();
            scratch::clear(plan, owner);
            return Ok(());
        }
    };
    KeeperReport::Started {
        keeper: std::process::id(),
        since_ns: since.0,
    }
    .send();
    let mut family = ProcessFamily::new(main, plan.outlives_main);
    let has_ended = family.watch(&mut wakes);
    let is_reported = matches!(has_ended, Ok(true));
    if is_reported {
        report_exit(&family);
    } else if let Some(container) = &plan.container
        && container.stop(plan.stop.within)
    {
        // The engine still cleans up, and a signal would interrupt that.
        family.wait(TIDY_WITHIN, &mut wakes)?;
    }
    let killed = match has_ended.and_then(|_| family.stop(plan.stop, &mut wakes)) {
        Ok(killed) => killed,
        Err(error) => {
            let _ = writeln!(io::stderr(), "keeper: {error}; killing `{}`", plan.program);
            family.kill(&mut wakes)?
        }
    };
    if let Some(container) = &plan.container {
        container.remove();
    }
    if !is_reported {
        report_exit(&family);
    }
    KeeperReport::Finished { killed }.send();
    // abx may still read the log, so this waits until it closes the pipe.
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    scratch::clear(plan, owner);
    Ok(())
}

/// Sets up this process for the command, and starts the command. Returns its process number, and
/// when it began.
fn start(plan: &KeeperPlan) -> Result<(u32, Nanos), StartFailure> {
    let log = &plan.log;
    let log_failed = |error: io::Error| other(format!("its log file {}: {error}", log.display()));
    let output = OpenOptions::new()
        .create(true)
        .append(true)
        .open(log)
        .map_err(log_failed)?;
    let errors = output.try_clone().map_err(log_failed)?;
    // Otherwise a missing directory would look like a missing command.
    if !plan.directory.is_dir() {
        return Err(other(format!(
            "{} is not a folder that can be entered",
            plan.directory.display()
        )));
    }
    if let Some(cpus) = &plan.cpus {
        cpus::pin_thread(cpus)
            .map_err(|error| other(format!("binding it to the CPUs {cpus:?}: {error}")))?;
    }
    let mut command = Command::new(&plan.program);
    command
        .args(&plan.arguments)
        .current_dir(&plan.directory)
        .envs(&plan.environment)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors);
    let own_limit = limits::descriptor_limit();
    let limit = plan.descriptors.unwrap_or(own_limit);
    limits::set_descriptor_limit(limit)
        .map_err(|error| other(format!("its limit on open descriptors {limit:?}: {error}")))?;
    let since = Nanos::now();
    let spawned = spawn_kept(&mut command);
    // The keeper itself must be able to read /proc under any limit.
    let _ = limits::set_descriptor_limit(DescriptorLimit {
        soft: own_limit.soft.min(limit.hard),
        hard: limit.hard,
    });
    spawned
        .map(|child| (child.id(), since))
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => StartFailure::CommandNotFound,
            io::ErrorKind::PermissionDenied => StartFailure::PermissionDenied,
            _ => other(error.to_string()),
        })
}

fn other(why: String) -> StartFailure {
    StartFailure::Other(why)
}

/// Reports to abx how many bytes of files were made; an error if a stop was requested meanwhile.
fn report_making(bytes: u64, wakes: &mut Wakes) -> io::Result<()> {
    if wakes.sleep(Some(Nanos(0)))? {
        return Err(io::Error::other("a stop was requested"));
    }
    KeeperReport::Making { bytes }.send();
    Ok(())
}

fn report_exit(family: &ProcessFamily) {
    if let Some(exit) = family.exit() {
        let at_ns = Nanos::now().0;
        KeeperReport::Exited { exit, at_ns }.send();
    }
}
