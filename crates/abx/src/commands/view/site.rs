//! What `abx view` serves, and under which names.

use std::net::IpAddr;

use super::host::HostNames;
use super::record_index::RecordIndex;

/// The records to show, and the names under which clients reach them.
pub struct Site {
    pub records: RecordIndex,
    pub names: HostNames,
}

impl Site {
    /// A site with these records, on a server that listens on this address.
    pub fn new(records: RecordIndex, address: IpAddr) -> Site {
        Site {
            records,
            names: HostNames::of(address),
        }
    }
}
