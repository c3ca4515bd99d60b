//! The command line of the calling process, as `ps` shows it to every user of the machine.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt;

use crate::kernel_files::read_lossy;

/// Replaces each letter that must not be visible.
const STAR: u8 = b'*';

/// Overwrites these texts wherever the command line has them, so that `ps` no longer shows them.
/// `std::env::args` then has the same stars: copy arguments that are needed before.
///
/// SUBTLE: To be called while no other thread runs, since it writes to memory that others may read.
///
/// # Errors
/// The kernel's, if it does not let a process write to its own memory.
pub fn hide_arguments(secrets: &[String]) -> io::Result<()> {
    let (start, end) = place()?;
    let memory = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/proc/self/mem")?;
    let mut bytes = vec![0; end.saturating_sub(start)];
    memory.read_exact_at(&mut bytes, start as u64)?;
    star(&mut bytes, secrets);
    memory.write_all_at(&bytes, start as u64)
}

/// Where the command line is in memory: its first byte, and the one after its last (proc(5),
/// `arg_start` and `arg_end`).
fn place() -> io::Result<(usize, usize)> {
    let text = read_lossy("/proc/self/stat")?;
    let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let mut fields = fields.split_ascii_whitespace().skip(ARG_START - 3);
    let mut next = || fields.next()?.parse().ok();
    let place = next().zip(next());
    place.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no place of the arguments"))
}

/// Puts a star in place of each letter of these texts. The ends of arguments stay.
fn star(bytes: &mut [u8], secrets: &[String]) {
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        let secret = secret.as_bytes();
        for start in 0..bytes.len().saturating_sub(secret.len() - 1) {
            let place = &mut bytes[start..start + secret.len()];
            if place == secret {
                place.fill(STAR);
            }
        }
    }
}

/// The number of the field of /proc/PID/stat, of which the process number is 1.
const ARG_START: usize = 48;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_starred_and_arguments_end_where_they_did() {
        // Method: a text in two arguments, a text that does not occur, an empty text, and a text
        // that is longer than the command line.
        let mut bytes = b"abx\0-u\0me:hunter2\0-Hx:hunter2\0".to_vec();
        let long = "y".repeat(99);
        star(
            &mut bytes,
            &["hunter2", "none", "", &long].map(str::to_owned),
        );
        assert_eq!(bytes, b"abx\0-u\0me:*******\0-Hx:*******\0");
    }

    #[test]
    fn the_place_is_that_of_the_command_line() {
        // Method: the kernel shows the same bytes. They are not changed: other tests run.
        let (start, end) = place().unwrap();
        let shown = std::fs::read("/proc/self/cmdline").unwrap();
        assert_eq!(end - start, shown.len());
        let first = std::env::args().next().unwrap();
        assert!(shown.starts_with(first.as_bytes()));
        hide_arguments(&[]).unwrap();
        assert_eq!(std::fs::read("/proc/self/cmdline").unwrap(), shown);
    }
}
