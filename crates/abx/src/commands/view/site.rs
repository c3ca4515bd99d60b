//! What `abx view` shows, and under which names.

use std::net::IpAddr;

use super::host::HostNames;
use super::record_index::RecordIndex;

/// What is shown, and under which names.
pub struct Site {
    pub records: RecordIndex,
    pub names: HostNames,
}

impl Site {
    /// The records of `records`, for clients that reach this address.
    pub fn new(records: RecordIndex, address: IpAddr) -> Site {
        Site {
            records,
            names: HostNames::of(address),
        }
    }
}
