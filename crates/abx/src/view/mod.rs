//! The small HTTP side of `abx view`: records as pages, to be looked at and
//! nothing else. Start at [`Site`]; `accept_loop` accepts connections, `request` reads
//! what is asked for, `pages` responds from the `record_index`.

mod accept_loop;
mod host;
mod pages;
mod record_index;
mod request;
mod response;

use std::net::{IpAddr, TcpListener};
use std::sync::Arc;

pub use record_index::{NamedFile, RecordIndex};

use host::HostNames;

/// What is shown, and under which names.
pub struct Site {
    records: RecordIndex,
    names: HostNames,
}

impl Site {
    /// The records of `records`, for those who reach this address.
    pub fn new(records: RecordIndex, address: IpAddr) -> Site {
        Site {
            records,
            names: HostNames::of(address),
        }
    }

    /// Answers whoever connects, for as long as the process lives.
    pub fn open(self, listener: TcpListener) -> ! {
        accept_loop::run(&listener, &Arc::new(self))
    }
}
