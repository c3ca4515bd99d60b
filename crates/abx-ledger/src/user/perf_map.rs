//! Functions that a program compiled while it ran, as it lists them in `/tmp/perf-PID.map`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use crate::frame_name;

/// The functions by address. A later line replaces an earlier one of the same address.
#[derive(Debug, Clone, Default)]
pub(crate) struct PerfMap {
    /// Size and name by start.
    functions: BTreeMap<u64, (u64, String)>,
}

impl PerfMap {
    /// Reads lines `START SIZE NAME`, with hexadecimal numbers. Other lines are skipped, and all
    /// lines after 64 MiB or 500,000 functions.
    ///
    /// # Errors
    /// The error of the reader.
    pub(crate) fn parse(lines: impl BufRead) -> io::Result<PerfMap> {
        let mut map = PerfMap::default();
        let mut lines = lines.take(MAP_BYTES_MAX);
        let mut line = Vec::new();
        loop {
            line.clear();
            if map.functions.len() == FUNCTIONS_MAX || lines.read_until(b'\n', &mut line)? == 0 {
                return Ok(map);
            }
            let text = String::from_utf8_lossy(&line);
            if let Some((start, size, name)) = parse_line(&text) {
                map.functions.insert(start, (size, frame_name(name)));
            }
        }
    }

    /// The list of a process, if it wrote one. Its name has the process's number as the process
    /// itself sees it.
    pub(crate) fn of_process(pid: u32) -> Option<PerfMap> {
        // A process that has ended has no status any more.
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let seen_by_process = innermost_pid(&status).unwrap_or(pid);
        let own_user = || rustix::process::geteuid().as_raw();
        let user = effective_user(&status).unwrap_or_else(own_user);
        let name = format!("tmp/perf-{seen_by_process}.map");
        let inside = Path::new("/proc")
            .join(pid.to_string())
            .join("root")
            .join(name);
        let outside = Path::new("/tmp").join(format!("perf-{pid}.map"));
        [inside, outside].iter().find_map(|path| {
            let file = open_of(path, user)?;
            PerfMap::parse(BufReader::new(file)).ok()
        })
    }

    /// The function that an address is in.
    pub(crate) fn name(&self, address: u64) -> Option<&str> {
        let (start, (size, name)) = self.functions.range(..=address).next_back()?;
        (address - start < *size).then_some(name)
    }
}

/// Opens a file of this user or of root. Other users may create anything in `/tmp`, and by any name.
fn open_of(path: &Path, user: u32) -> Option<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::options()
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).ok()?)
        .open(path)
        .ok()?;
    let metadata = file.metadata().ok()?;
    let is_trusted = metadata.is_file() && [user, 0].contains(&metadata.uid());
    is_trusted.then_some(file)
}

fn parse_line(line: &str) -> Option<(u64, u64, &str)> {
    let mut fields = line.trim_end_matches(['\n', '\r']).splitn(3, ' ');
    let start = hexadecimal(fields.next()?)?;
    let size = hexadecimal(fields.next()?)?;
    let name = fields.next()?.trim();
    (!name.is_empty()).then_some((start, size, name))
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

/// A process's number in the innermost namespace, from `/proc/PID/status`.
fn innermost_pid(status: &str) -> Option<u32> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_ascii_whitespace().next_back()?.parse().ok()
}

/// The user with whose rights a process acts, from `/proc/PID/status`.
fn effective_user(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

const MAP_BYTES_MAX: u64 = 64 << 20;
const FUNCTIONS_MAX: usize = 500_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_the_latest_function_there() {
        // Method: a list as node and perf-map-agent write it, with names that have spaces, a
        // function that moved over another, and invalid lines.
        let list = "7f00 10 JS:*f /srv/a.js:1:2\n0x7f20 0x8 La;b\nx\n7f00\n7f00 zz g\n7f00 8 h\r\n7f40 1 \n";
        let map = PerfMap::parse(list.as_bytes()).unwrap();
        let cases = [
            (0x7eff, None),
            (0x7f00, Some("h")),
            (0x7f08, None),
            (0x7f27, Some("La:b")),
            (0x7f40, None),
        ];
        for (address, name) in cases {
            assert_eq!(map.name(address), name, "{address:x}");
        }
    }

    #[test]
    fn only_files_of_the_process_or_of_root_are_read() {
        // Method: a file of this user, for this user and for another; a link to it, and a pipe.
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("perf-1.map");
        std::fs::write(&file, "7f00 10 f\n").unwrap();
        let user = file.metadata().unwrap().uid();
        assert!(open_of(&file, user).is_some());
        assert_eq!(open_of(&file, user + 1).is_some(), user == 0);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(open_of(&link, user).is_none());
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert!(open_of(&pipe, user).is_none());
    }

    #[test]
    fn a_process_in_a_container_has_another_number_there() {
        // Method: a status of a process in two nested namespaces, which acts as another user.
        let status = "Name:\tnode\nUid:\t0\t33\t0\t33\nNSpid:\t4711\t23\t1\nFDSize:\t64\n";
        assert_eq!(innermost_pid(status), Some(1));
        assert_eq!(effective_user(status), Some(33));
        assert_eq!(innermost_pid("Name:\tx\n"), None);
        assert_eq!(effective_user("Name:\tx\n"), None);
    }
}
