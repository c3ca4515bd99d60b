//! One thread for all connections, with edge-triggered epoll.
//!
//! A connection takes turns of limited length. It only reads after all responses are sent, so a
//! client that sends without reading only fills its own buffers. A request may turn the connection
//! into a WebSocket ([`crate::websocket::session`]).

mod event_loop;
mod ring;

use std::collections::VecDeque;
use std::io;

use abx_sys::{Events, ServerAddress};

use crate::admission::{EVENTS_MAX, EventSource, event_source};
use crate::config::{ServeError, ServerConfig};
use crate::connection::{Connection, Context};
use crate::connection_table::ConnectionTable;
use crate::content::ServedContent;
use crate::listener::ListeningSocket;

use event_loop::EventLoop;
pub(crate) use ring::wanted as wanted_ring;

/// Serves until the process must end, or until waiting fails.
pub(crate) fn run(
    config: &ServerConfig,
    site: ServedContent,
    on_ready: impl FnOnce(ServerAddress),
    on_refusal: impl Fn(&io::Error),
) -> Result<(), ServeError> {
    let ring = ring::wanted(&config.content)?;
    let listener = ListeningSocket::open(config)?;
    let address = listener.address;
    let mut context = Context::new(config, site, listener.ending.clone(), READ_BYTES)?;
    let mut table = ConnectionTable::new(listener)?;
    if let Some(ring) = &ring {
        table.watch(ring.notice())?;
    }
    context.ring = ring;
    let mut event_loop = EventLoop {
        context,
        again: VecDeque::new(),
        deliveries: Vec::new(),
    };
    let mut events = Events::with_capacity(EVENTS_MAX);
    on_ready(address);
    loop {
        table.wait(&mut events, event_loop.deadline())?;
        event_loop.context.injector.stall();
        for event in events.iter() {
            match event_source(event) {
                EventSource::Listener => table.accept(Connection::new),
                // Files, and the end of the server, are checked below.
                EventSource::Other => {}
                EventSource::Connection(number) => {
                    if let Some(connection) = table.connection(number) {
                        connection.note(event);
                        event_loop.give_turn(&mut table, number);
                    }
                }
            }
        }
        event_loop.give_turns(&mut table);
        event_loop.send_files(&mut table)?;
        table.retry(Connection::new);
        if let Some(error) = table.take_refusal() {
            on_refusal(&error);
        }
        if table.is_ending(Connection::new) && table.is_empty() {
            return Ok(());
        }
    }
}

/// Room for one read, in bytes.
const READ_BYTES: usize = 64 * 1024;
