//! The records of `abx view`, and its names.

use std::net::IpAddr;

use super::host::HostNames;
use super::record_index::RecordIndex;

/// The records to show, and the names of the server.
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
