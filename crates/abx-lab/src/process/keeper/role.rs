//! Where the processes begin that abx starts to keep a server.

use std::io::{self, Write};
use std::process::ExitCode;

use super::guard::guard;
use super::keep::run_command;
use super::protocol::{KeeperCommand, KeeperRole};

/// The body of a guardian and of a keeper: reads from standard input which of them it is,
/// and its plan, and returns when nothing of that is left.
#[must_use]
pub fn keep() -> ExitCode {
    // Both wait for the end of standard input later: the lock must be gone by then.
    let order = KeeperCommand::read(&mut io::stdin().lock());
    let played = match order {
        // abx has gone before it had a plan.
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
    match played {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "abx keeper: {error}");
            ExitCode::FAILURE
        }
    }
}
