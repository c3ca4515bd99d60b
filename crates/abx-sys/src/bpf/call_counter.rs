//! The counter: a program at the entry of all system calls, and the table that it counts in.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

use super::assembler::{Assembler, FRAME, Helper, R0, R1, R2, R3, R4, R6};
use super::call_names::call_name;
use super::kernel::{Instruction, Map, Program};

/// Counts the system calls of all processes except this one.
///
/// A counted call takes some 100 ns longer, so nothing else should be measured meanwhile.
#[derive(Debug)]
pub struct CallCounter {
    program: Program,
    /// By process and number.
    counts: Map,
}

/// Calls are counted until this is dropped.
#[derive(Debug)]
pub struct CallCounting(#[expect(dead_code, reason = "closing it ends the counting")] OwnedFd);

/// How many system calls processes made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// By process and number of the call.
    calls: HashMap<(u32, u32), u64>,
    /// Calls that found no room in the table.
    pub missed: u64,
}

/// Why calls cannot be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallLimit {
    /// This process has neither root's rights nor the capabilities.
    Rights,
    /// Processes have other numbers here than the kernel's own.
    Namespace,
    /// The kernel has no such programs, or a filter hides them.
    Absent,
    /// Another error of the system call.
    Failed(i32),
}

impl CallCounter {
    /// A counter that is off.
    ///
    /// # Errors
    /// [`CallLimit`].
    pub fn open() -> Result<CallCounter, CallLimit> {
        let opened = opened();
        let counter = opened.map_err(|error| CallLimit::of(&error))?;
        // Checked last, because it matters only to processes that may count.
        if is_in_own_namespace() {
            return Err(CallLimit::Namespace);
        }
        Ok(counter)
    }

    /// Starts to count.
    ///
    /// # Errors
    /// The kernel's; none is known.
    pub fn start(&self) -> io::Result<CallCounting> {
        // The entry for calls that will find no room is added while there is room.
        self.counts.set(MISSED, 0)?;
        self.program.attach(TRACEPOINT).map(CallCounting)
    }

    /// The counts since the last call. Nothing may be counting.
    ///
    /// # Errors
    /// The kernel's; none is known.
    pub fn take(&self) -> io::Result<CallCounts> {
        let mut counts = CallCounts::default();
        for (key, count) in self.counts.take()? {
            if key == MISSED {
                counts.missed += count;
            } else {
                let [process, number] = parts(key);
                counts.calls.insert((process, number), count);
            }
        }
        Ok(counts)
    }
}

impl CallCounts {
    /// The calls of some processes, by name, or by number if a call is newer than abx.
    pub fn by_name(&self, is_member: impl Fn(u32) -> bool) -> BTreeMap<String, u64> {
        let mut by_name = BTreeMap::new();
        for ((process, number), count) in &self.calls {
            if is_member(*process) {
                let name = call_name(*number);
                let name = name.map_or_else(|| number.to_string(), str::to_owned);
                *by_name.entry(name).or_insert(0) += count;
            }
        }
        by_name
    }
}

impl CallLimit {
    fn of(error: &io::Error) -> CallLimit {
        match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => CallLimit::Rights,
            Some(libc::ENOSYS | libc::EINVAL | libc::ENOENT | libc::EOPNOTSUPP) => {
                CallLimit::Absent
            }
            errno => CallLimit::Failed(errno.unwrap_or(0)),
        }
    }
}

impl fmt::Display for CallLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallLimit::Rights => f.write_str(
                "abx runs neither as root nor with the capabilities CAP_BPF and CAP_PERFMON",
            ),
            CallLimit::Namespace => f.write_str(
                "abx runs in a PID namespace, whose process IDs differ from the kernel's",
            ),
            CallLimit::Absent => f.write_str("this kernel runs no BPF programs at tracepoints"),
            CallLimit::Failed(errno) => {
                write!(f, "bpf: {}", io::Error::from_raw_os_error(*errno))
            }
        }
    }
}

fn opened() -> io::Result<CallCounter> {
    let counts = Map::new(KEYS_MAX)?;
    let excluded = i32::try_from(std::process::id()).unwrap_or(i32::MAX);
    let program = Program::of_tracepoint(&program(&counts, excluded))?;
    Ok(CallCounter { program, counts })
}

/// Places in the program.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    Found,
    End,
}

/// Counts the call at hand, unless the excluded process makes it.
///
/// The context has the registers of the thread and the number of the call.
fn program(counts: &Map, excluded: i32) -> Vec<Instruction> {
    let map = counts.descriptor();
    let mut code = Assembler::new();
    code.copy(R6, R1);
    code.call(Helper::CurrentProcessAndThread);
    code.shift_right(R0, 32);
    code.jump_if_equal(R0, excluded, Place::End);
    code.load(R1, R6, CALL_NUMBER);
    code.store_word(KEY, R0);
    code.store_word(KEY + 4, R1);
    look_up(&mut code, map);
    code.jump_if_different(R0, 0, Place::Found);
    add_key(&mut code, map);
    code.jump_if_equal(R0, 0, Place::End);
    // Another CPU has just added the key, or the table is full.
    look_up(&mut code, map);
    code.jump_if_different(R0, 0, Place::Found);
    code.store_constant(KEY, 0);
    look_up(&mut code, map);
    code.jump_if_equal(R0, 0, Place::End);
    code.place(Place::Found);
    code.set(R1, 1);
    code.add_atomically(R0, R1);
    code.place(Place::End);
    code.set(R0, 0);
    code.exit();
    code.finish().expect("every place is named")
}

/// Sets r0 to the address of the key's number, or to zero.
fn look_up(code: &mut Assembler<Place>, map: i32) {
    code.map(R1, map);
    code.address(R2, KEY.into());
    code.call(Helper::MapLookup);
}

/// Adds the key with the number 1; r0 is zero on success.
fn add_key(code: &mut Assembler<Place>, map: i32) {
    code.store_constant(VALUE, 1);
    code.map(R1, map);
    code.address(R2, KEY.into());
    code.copy(R3, FRAME);
    code.add(R3, VALUE.into());
    code.set(R4, UNLESS_THERE);
    code.call(Helper::MapUpdate);
}

/// Process and call of a key, as the program stores them.
fn parts(key: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = key.to_ne_bytes();
    [[a, b, c, d], [e, f, g, h]].map(u32::from_ne_bytes)
}

/// Whether this process is in another process namespace than the kernel's first.
fn is_in_own_namespace() -> bool {
    let namespace = std::fs::metadata("/proc/self/ns/pid");
    namespace.is_ok_and(|namespace| namespace.ino() != FIRST_NAMESPACE)
}

const TRACEPOINT: &std::ffi::CStr = c"sys_enter";
/// Pairs of process and call. A table takes some 100 bytes for each.
const KEYS_MAX: u32 = 16_384;
/// The key of calls that found no room: no process makes calls under the number 0.
const MISSED: u64 = 0;
/// Places on the stack.
const KEY: i16 = -8;
const VALUE: i16 = -16;
/// The second 64 bits of the context.
const CALL_NUMBER: i16 = 8;
/// `BPF_NOEXIST`.
const UNLESS_THERE: i32 = 1;
/// `PROC_PID_INIT_INO` in `include/linux/proc_ns.h`.
const FIRST_NAMESPACE: u64 = 0xEFFF_FFFC;
