//! How many descriptors this process and what it starts may have open.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

/// The limit on open descriptors; `u64::MAX` is "no limit".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescriptorLimit {
    /// The limit in force. A process may raise it up to `hard`.
    pub soft: u64,
    /// The bound of `soft`. Only root may raise it.
    pub hard: u64,
}

/// The limit of this process.
#[must_use]
pub fn descriptor_limit() -> DescriptorLimit {
    let limit = getrlimit(Resource::Nofile);
    DescriptorLimit {
        soft: limit.current.unwrap_or(u64::MAX),
        hard: limit.maximum.unwrap_or(u64::MAX),
    }
}

/// Sets the limit of this process and of what it starts from now on.
///
/// # Errors
/// `PermissionDenied` for a hard limit above the present one; `InvalidInput`
/// for a soft limit above the hard one.
pub fn set_descriptor_limit(limit: DescriptorLimit) -> io::Result<()> {
    let number = |value: u64| (value != u64::MAX).then_some(value);
    let limit = Rlimit {
        current: number(limit.soft),
        maximum: number(limit.hard),
    };
    Ok(setrlimit(Resource::Nofile, limit)?)
}

/// Raises the soft limit to the hard one and answers the limit now in force.
///
/// # Errors
/// What the kernel says; not seen.
pub fn raise_descriptor_limit() -> io::Result<DescriptorLimit> {
    let hard = descriptor_limit().hard;
    set_descriptor_limit(DescriptorLimit { soft: hard, hard })?;
    Ok(descriptor_limit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_rises_to_the_hard_one() {
        // Method: raise, then read back; the hard limit must not have moved.
        let before = descriptor_limit();
        let after = raise_descriptor_limit().unwrap();
        assert_eq!(after.hard, before.hard);
        assert_eq!(after.soft, after.hard);
    }
}
