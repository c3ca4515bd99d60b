//! The system call `bpf`: maps, programs, and where programs are attached.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// One instruction, as the kernel lays it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Instruction {
    pub(super) operation: u8,
    pub(super) registers: u8,
    pub(super) offset: i16,
    pub(super) constant: i32,
}

/// A table in the kernel, of keys and numbers of 64 bits each.
#[derive(Debug)]
pub(super) struct Map(OwnedFd);

impl Map {
    /// A table with room for `keys_max` keys, which the kernel allocates at once.
    ///
    /// # Errors
    /// EPERM if the machine forbids it.
    pub(super) fn new(keys_max: u32) -> io::Result<Map> {
        let mut attributes = MapAttributes {
            kind: HASH,
            key_bytes: 8,
            value_bytes: 8,
            keys_max,
            flags: 0,
        };
        // SAFETY: The command takes this struct, which points nowhere.
        #[allow(unsafe_code)]
        let result = unsafe { bpf(CREATE_MAP, &mut attributes) };
        Ok(Map(owned(result?)))
    }

    /// The descriptor, for programs.
    pub(super) fn descriptor(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// Adds a key with this number, or changes the number that it has.
    ///
    /// # Errors
    /// E2BIG if the table is full.
    pub(super) fn set(&self, key: u64, mut value: u64) -> io::Result<()> {
        self.element(UPDATE, key, Some(&mut value))
    }

    /// Removes and returns every key and number. Nothing may change the table meanwhile.
    ///
    /// # Errors
    /// The kernel's; none is known.
    pub(super) fn take(&self) -> io::Result<Vec<(u64, u64)>> {
        let mut keys = Vec::new();
        let mut last = None;
        while let Some(key) = self.key_after(last)? {
            keys.push(key);
            last = Some(key);
        }
        let entries = keys.into_iter().map(|key| {
            let mut value = 0_u64;
            self.element(LOOK_UP, key, Some(&mut value))?;
            self.element(DELETE, key, None)?;
            Ok((key, value))
        });
        entries.collect()
    }

    fn key_after(&self, key: Option<u64>) -> io::Result<Option<u64>> {
        let mut next = 0_u64;
        let mut attributes = ElementAttributes {
            map: self.0.as_raw_fd().unsigned_abs(),
            padding: 0,
            key: key.as_ref().map_or(0, |key| &raw const *key as u64),
            value: &raw mut next as u64,
            flags: 0,
        };
        // SAFETY: Both addresses are those of 64 bits that live through the call, or zero,
        // which this command allows for the key.
        #[allow(unsafe_code)]
        let result = unsafe { bpf(NEXT_KEY, &mut attributes) };
        match result {
            Ok(_) => Ok(Some(next)),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn element(&self, command: i32, key: u64, value: Option<&mut u64>) -> io::Result<()> {
        let mut attributes = ElementAttributes {
            map: self.0.as_raw_fd().unsigned_abs(),
            padding: 0,
            key: &raw const key as u64,
            value: value.map_or(0, |value| &raw mut *value as u64),
            flags: 0,
        };
        // SAFETY: Both addresses are those of 64 bits that live through the call; a command that
        // takes no value has zero there.
        #[allow(unsafe_code)]
        let result = unsafe { bpf(command, &mut attributes) };
        result.map(|_| ())
    }
}

/// A program that the kernel has checked.
#[derive(Debug)]
pub(super) struct Program(OwnedFd);

impl Program {
    /// Loads a program for tracepoints.
    ///
    /// # Errors
    /// EPERM if the machine forbids it, EINVAL if the kernel has no such programs or rejects
    /// this one.
    pub(super) fn of_tracepoint(code: &[Instruction]) -> io::Result<Program> {
        let mut attributes = ProgramAttributes {
            kind: RAW_TRACEPOINT,
            instructions: u32::try_from(code.len()).expect("a short program"),
            code: code.as_ptr() as u64,
            licence: LICENCE.as_ptr() as u64,
            log_level: 0,
            log_bytes: 0,
            log: 0,
            kernel_version: 0,
            flags: 0,
        };
        for _ in 1..LOADS_MAX {
            // SAFETY: Code and licence live through the call, with the lengths that are given.
            #[allow(unsafe_code)]
            let result = unsafe { bpf(LOAD_PROGRAM, &mut attributes) };
            match result {
                // A signal interrupted the check.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Ok(Program(owned(result?))),
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Runs the program at each hit of a tracepoint, until the result is dropped.
    ///
    /// # Errors
    /// ENOENT if the kernel has no such tracepoint.
    pub(super) fn attach(&self, tracepoint: &CStr) -> io::Result<OwnedFd> {
        let mut attributes = AttachAttributes {
            tracepoint: tracepoint.as_ptr() as u64,
            program: self.0.as_raw_fd().unsigned_abs(),
            padding: 0,
        };
        // SAFETY: The name lives through the call, and ends with zero.
        #[allow(unsafe_code)]
        let result = unsafe { bpf(ATTACH, &mut attributes) };
        Ok(owned(result?))
    }
}

/// # Safety
/// `attributes` is the struct that the command takes, or its beginning, and every address in
/// it is that of memory which the command may use.
#[allow(unsafe_code)]
unsafe fn bpf<T>(command: i32, attributes: &mut T) -> io::Result<i32> {
    // SAFETY: The kernel reads as many bytes as the struct has; the caller vouches for the rest.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, &raw mut *attributes, size_of::<T>()) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(i32::try_from(result).unwrap_or_default())
}

fn owned(descriptor: i32) -> OwnedFd {
    // SAFETY: The commands that make something return its descriptor, which has no other owner.
    #[allow(unsafe_code)]
    unsafe {
        OwnedFd::from_raw_fd(descriptor)
    }
}

// The beginning of the parts of `union bpf_attr` in `include/uapi/linux/bpf.h`.

#[repr(C)]
struct MapAttributes {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    keys_max: u32,
    flags: u32,
}

#[repr(C)]
struct ElementAttributes {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgramAttributes {
    kind: u32,
    instructions: u32,
    code: u64,
    licence: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
}

#[repr(C)]
struct AttachAttributes {
    tracepoint: u64,
    program: u32,
    padding: u32,
}

const CREATE_MAP: i32 = 0;
const LOOK_UP: i32 = 1;
const UPDATE: i32 = 2;
const DELETE: i32 = 3;
const NEXT_KEY: i32 = 4;
const LOAD_PROGRAM: i32 = 5;
const ATTACH: i32 = 17;
const HASH: u32 = 1;
const RAW_TRACEPOINT: u32 = 17;
/// That of abx.
const LICENCE: &CStr = c"Apache-2.0";
const LOADS_MAX: usize = 6;
