//! System calls of other processes, counted by the kernel.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]
#![allow(clippy::disallowed_macros, reason = "skipped tests say why")]

use std::process::{Command, Stdio};

use abx_sys::bpf::CallCounter;

/// A program that copies this many bytes, with one `read` and one `write` for each.
fn copies(bytes: u32) -> Command {
    let mut command = Command::new("dd");
    command.args(["if=/dev/zero", "of=/dev/null", "bs=1"]);
    command.arg(format!("count={bytes}"));
    command.stderr(Stdio::null());
    command
}

#[test]
fn calls_of_a_process_are_counted_only_while_counting() {
    // Method: a program with 20,000 reads and writes while calls are counted, another process
    // at the same time, and one after the counting.
    let counter = match CallCounter::open() {
        Ok(counter) => counter,
        Err(limit) => {
            println!("not counted: {limit}");
            return;
        }
    };
    let counting = counter.start().unwrap();
    let mut copying = copies(20_000).spawn().unwrap();
    assert!(copies(500).status().unwrap().success());
    assert!(copying.wait().unwrap().success());
    drop(counting);
    assert!(copies(300).status().unwrap().success());
    let counts = counter.take().unwrap();
    let calls = counts.by_name(|process| process == copying.id());
    // Starting the program reads some files as well.
    assert!((20_000..20_020).contains(&calls["read"]), "{calls:?}");
    assert!((20_000..20_020).contains(&calls["write"]), "{calls:?}");
    assert_eq!(counts.missed, 0);
    let own_calls = counts.by_name(|process| process == std::process::id());
    assert!(own_calls.is_empty(), "{own_calls:?}");
    // Taking the counts resets them.
    drop(counter.start().unwrap());
    let calls = counter.take().unwrap();
    assert!(calls.by_name(|process| process == copying.id()).is_empty());
}
