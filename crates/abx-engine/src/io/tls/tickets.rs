//! The sessions of one server, enough for all connections of a load to resume one.
//!
//! The store of rustls keeps eight tickets of TLS 1.3 per server. Each is used once
//! (RFC 8446, appendix C.4). If twenty connections were opened at a time, some would find no
//! ticket, and their number would depend on how the server batches its work.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// How many of the newest tickets are kept per connection of the load. A usual ticket takes about
/// 1 kB and the largest 64 kB, so a hostile server must not fill more room than the connections
/// need.
const TICKETS_PER_CONNECTION: usize = 2;
const TICKETS_MAX: usize = 16 * 1024;

/// The sessions of one server, under any name.
pub(super) struct Tickets {
    /// How many tickets of TLS 1.3 are kept.
    most: usize,
    kept: Mutex<KeptSessions>,
}

#[derive(Default)]
struct KeptSessions {
    group: Option<NamedGroup>,
    /// A session of TLS 1.2, which may be resumed any number of times.
    session: Option<Tls12ClientSessionValue>,
    /// Tickets of TLS 1.3, the newest last.
    tickets: VecDeque<Tls13ClientSessionValue>,
}

impl Tickets {
    pub(super) fn for_connections(connections: usize) -> Tickets {
        let most = connections.saturating_mul(TICKETS_PER_CONNECTION);
        Tickets {
            most: most.clamp(1, TICKETS_MAX),
            kept: Mutex::default(),
        }
    }

    /// Locks the state. It is consistent between any two statements, so a panic elsewhere does no
    /// harm.
    fn kept(&self) -> MutexGuard<'_, KeptSessions> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Tickets {
    /// Without the tickets, which are secret.
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
        if kept.tickets.len() == self.most {
            kept.tickets.pop_front();
        }
        kept.tickets.push_back(ticket);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.kept().tickets.pop_back()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use abx_twin::certificate;
    use rustls::client::{ClientConnection, Resumption};
    use rustls::{ClientConfig, ServerConnection};

    use super::*;
    use crate::io::TlsClient;
    use crate::plan::{TlsPlan, TlsTrust};

    /// A client that trusts only the twin's certificate.
    pub(in crate::io::tls) fn trusting() -> TlsPlan {
        TlsPlan {
            server_name: certificate::NAME.to_owned(),
            hides_name: false,
            trust: TlsTrust::Given(vec![certificate::der()]),
            version: None,
            suites: Vec::new(),
            resumption: false,
            protocols: Vec::new(),
            identity: None,
        }
    }

    #[test]
    fn a_server_with_many_tickets_fills_only_the_room_of_the_connections() {
        // Method: a handshake with a server that sends twelve tickets, with room for 1, 3 and 100
        // connections.
        for (connections, kept) in [(1, 2), (3, 6), (100, 12)] {
            let tickets = Arc::new(Tickets::for_connections(connections));
            let client = TlsClient::of(&trusting(), 1).unwrap();
            let mut config = ClientConfig::clone(&client.config);
            config.resumption = Resumption::store(Arc::clone(&tickets) as Arc<_>);
            let mut generous = rustls::ServerConfig::clone(&certificate::server());
            generous.send_tls13_tickets = 12;
            let mut client = ClientConnection::new(Arc::new(config), client.name).unwrap();
            let mut server = ServerConnection::new(Arc::new(generous)).unwrap();
            for _ in 0..4 {
                let mut bytes = Vec::new();
                while client.wants_write() {
                    client.write_tls(&mut bytes).unwrap();
                }
                server.read_tls(&mut &bytes[..]).unwrap();
                server.process_new_packets().unwrap();
                let mut bytes = Vec::new();
                while server.wants_write() {
                    server.write_tls(&mut bytes).unwrap();
                }
                client.read_tls(&mut &bytes[..]).unwrap();
                client.process_new_packets().unwrap();
            }
            assert_eq!(tickets.kept().tickets.len(), kept);
        }
    }
}
