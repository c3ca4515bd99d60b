//! The small HTTP side of `abx view`: records as pages, to be looked at and
//! nothing else. Start at [`Site`]; `door` lets connections in, `request` reads
//! what is asked for, `pages` answers it from the `shelf`.

mod answer;
mod door;
mod host;
mod pages;
mod request;
mod shelf;

use std::net::{IpAddr, TcpListener};
use std::sync::Arc;

pub use shelf::{Named, Shelf};

use host::HostNames;

/// What is shown, and under which names.
pub struct Site {
    shelf: Shelf,
    names: HostNames,
}

impl Site {
    /// The records of `shelf`, for those who reach this address.
    pub fn new(shelf: Shelf, address: IpAddr) -> Site {
        Site {
            shelf,
            names: HostNames::of(address),
        }
    }

    /// Answers whoever connects, for as long as the process lives.
    pub fn open(self, listener: TcpListener) -> ! {
        door::open(&listener, &Arc::new(self))
    }
}
