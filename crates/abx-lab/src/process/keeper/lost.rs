//! Ends the remaining processes when a keeper is lost.

use std::time::{Duration, Instant};

use abx_sys::process::{Process, Signal, adopted};
use abx_sys::tree::descendants;

use super::family::{KILL_PAUSE, KILL_PAUSE_MAX};

/// How much longer than its plan's `within` a keeper may take to end its tree.
pub(super) const STOP_GRACE: Duration = Duration::from_secs(10);
/// This many looks in a row must find nothing. A single look is not enough: a process that forks
/// while /proc is read, and ends before its own turn, hides its child from that look.
const EMPTY_LOOKS: usize = 3;

/// Kills these processes, all processes below them, and those that abx adopted because the keeper
/// and its guardian were both gone. Waits until they have ended, but not forever: the kernel cannot
/// end everything at once.
///
/// `group` is the guardian's process group, which has the keeper too: a keeper that was killed
/// before it reported its number may still have to end, and leaves its family only then.
pub fn end_what_is_left(roots: &[Process], group: u32) {
    let deadline = Instant::now() + STOP_GRACE;
    let mut pause = KILL_PAUSE;
    let mut empty_looks = 0;
    while empty_looks < EMPTY_LOOKS && Instant::now() < deadline {
        if kill_once(roots, group) {
            empty_looks = 0;
            pause = (pause * 2).min(KILL_PAUSE_MAX);
        } else {
            empty_looks += 1;
            pause = KILL_PAUSE;
        }
        std::thread::sleep(pause);
    }
}

/// Kills the processes that run, children first: without their keeper they would have to be found
/// again. Returns whether there were any.
fn kill_once(roots: &[Process], group: u32) -> bool {
    let below = roots.iter().filter(|root| root.is_alive());
    let below = below.flat_map(|root| descendants(root.pid).unwrap_or_default());
    let mut left: Vec<Process> = below.map(|relative| relative.process).collect();
    left.extend(roots);
    left.extend(adopted(group).unwrap_or_default());
    let killed = |process: &Process| matches!(process.signal(Signal::Kill), Ok(true));
    left.into_iter().filter(killed).count() > 0
}
