//! Distinguishes one build of abx from another.

use std::fs::File;
use std::io;

use abx_model::hex;
use sha2::{Digest, Sha256};

/// The SHA-256 of the running program, which is the same for controller and agents.
///
/// # Errors
/// If the program's file cannot be read.
pub fn own_build() -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open("/proc/self/exe")?, &mut hash)?;
    Ok(hex(&hash.finalize()))
}

/// A random id, unique among all processes.
///
/// # Errors
/// If the kernel provides none.
pub fn random_id() -> io::Result<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/uuid")?;
    Ok(id.trim().to_owned())
}
