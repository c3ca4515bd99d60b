//! The entry of the processes that abx starts to keep a server.

use std::io::{self, Write};
use std::process::ExitCode;

use super::guard::guard;
use super::keep::run_command;
use super::protocol::{KeeperCommand, KeeperRole};

/// The body of a guardian and of a keeper. It reads its role and its plan from standard input, and
/// returns when no process of the plan is left.
#[must_use]
pub fn keep() -> ExitCode {
    // Both wait for the end of standard input later: the lock must be gone by then.
    let command = KeeperCommand::read(&mut io::stdin().lock());
    let result = match command {
        // abx ended before it sent a plan.
        Ok(None) => Ok(()),
        Ok(Some(KeeperCommand {
            role: KeeperRole::Guardian,
            plan,
            owner,
        })) => guard(plan, owner),
        Ok(Some(KeeperCommand {
            role: KeeperRole::Keeper,
            plan,
            owner,
        })) => run_command(&plan, &owner),
        Err(error) => Err(error),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "abx keeper: {error}");
            ExitCode::FAILURE
        }
    }
}
