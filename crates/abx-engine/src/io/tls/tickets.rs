//! What may be resumed: sessions of one server, enough for all connections of a load.
//!
//! The store of rustls keeps eight tickets of TLS 1.3 for each server. Each is shown once
//! (RFC 8446, appendix C.4), so of twenty connections that are opened at a time some would
//! find none, and how many would depend on how the server batches its work.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// Tickets that are kept at most, the newest ones; each takes about a kilobyte.
const TICKETS_MAX: usize = 16 * 1024;

/// The sessions of one server, whatever its name.
#[derive(Default)]
pub(super) struct Tickets {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    group: Option<NamedGroup>,
    /// One of TLS 1.2, which may be resumed again and again.
    session: Option<Tls12ClientSessionValue>,
    /// Those of TLS 1.3, the newest last.
    tickets: VecDeque<Tls13ClientSessionValue>,
}

impl Tickets {
    /// What is kept is whole between any two statements, so a panic elsewhere spoils nothing.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Tickets {
    /// Without what is kept, which is secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.kept().tickets.len();
        formatter
            .debug_struct("Tickets")
            .field("tickets", &count)
            .finish_non_exhaustive()
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.kept().group = Some(group);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.kept().group
    }

    fn set_tls12_session(&self, _: ServerName<'static>, session: Tls12ClientSessionValue) {
        self.kept().session = Some(session);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.kept().session.clone()
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.kept().session = None;
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        let mut kept = self.kept();
        if kept.tickets.len() == TICKETS_MAX {
            kept.tickets.pop_front();
        }
        kept.tickets.push_back(ticket);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.kept().tickets.pop_back()
    }
}
