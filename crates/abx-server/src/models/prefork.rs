//! One connection at a time in each process, as long as the client keeps it.
//!
//! While others wait to be accepted, responses end their connections, and a silent connection gives
//! way after a while. So a few processes serve any number of connections.

use std::io;
use std::thread;

use abx_sys::{Nanos, ServerAddress, Socket};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;

use crate::admission::{RETRY_AFTER, is_of_one_connection};
use crate::config::{ServeError, ServerConfig};
use crate::connection::{Connection, ConnectionWait, Context, TurnStep};
use crate::content::ServedContent;
use crate::listener::{AcceptedConnection, Acceptor, ListeningSocket};
use crate::models::thread::{ONLY, READ_BYTES, wait_for_time};

pub(crate) fn run(
    config: &ServerConfig,
    site: ServedContent,
    on_ready: impl FnOnce(ServerAddress),
    on_refusal: impl Fn(&io::Error),
) -> Result<(), ServeError> {
    let acceptor = Acceptor::polling(ListeningSocket::open(config)?)?;
    let listener = &acceptor.listener;
    let mut context = Context::new(config, site, listener.ending.clone(), READ_BYTES)?;
    let mut next = None;
    on_ready(listener.address);
    loop {
        let accepted = match next.take() {
            Some(accepted) => Ok(Some(accepted)),
            None => acceptor.next(ListeningSocket::accept),
        };
        match accepted {
            Ok(Some(accepted)) => {
                next = serve(&mut Connection::new(accepted), &mut context, listener);
            }
            Ok(None) => return Ok(()),
            Err(error) if !is_of_one_connection(&error) => {
                on_refusal(&error);
                thread::sleep(RETRY_AFTER.into());
            }
            Err(_) => {}
        }
    }
}

/// Serves a connection to its end, or until another one replaces it, which is returned.
fn serve(
    connection: &mut Connection,
    context: &mut Context,
    listener: &ListeningSocket,
) -> Option<AcceptedConnection> {
    loop {
        match connection.step(ONLY, context) {
            TurnStep::Continue => {}
            TurnStep::Close => return None,
            TurnStep::Wait => {
                let flags = match connection.awaited() {
                    ConnectionWait::Time(at) => {
                        wait_for_time(connection, ONLY, at, context);
                        continue;
                    }
                    ConnectionWait::Bytes => PollFlags::IN | PollFlags::RDHUP,
                    ConnectionWait::Room => PollFlags::OUT,
                };
                match wait(&connection.socket, flags, listener) {
                    Ok(Waited::Over { others_wait }) => {
                        context.makes_room = others_wait;
                        connection.wake();
                    }
                    Ok(Waited::Replaced(other)) => return Some(other),
                    Err(_) => return None,
                }
            }
        }
    }
}

/// How a wait for a client ended.
enum Waited {
    Over {
        /// Whether other clients wait to be accepted.
        others_wait: bool,
    },
    /// The client was silent, and another one was accepted.
    Replaced(AcceptedConnection),
}

fn wait(socket: &Socket, flags: PollFlags, listener: &ListeningSocket) -> io::Result<Waited> {
    let since = Nanos::now();
    loop {
        let mut both = [
            PollFd::new(socket, flags),
            PollFd::new(&listener.socket, PollFlags::IN),
        ];
        // At the end, no other connection is accepted.
        let watched = if listener.ending.has_come() { 1 } else { 2 };
        retry_on_intr(|| poll(&mut both[..watched], None))?;
        let others_wait = !both[1].revents().is_empty();
        if !both[0].revents().is_empty() {
            return Ok(Waited::Over { others_wait });
        }
        if !others_wait {
            continue;
        }
        let left = SILENCE_MAX.since(Nanos::now().since(since));
        let left = Timespec::try_from(std::time::Duration::from(left));
        let left = left.map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut alone = [PollFd::new(socket, flags)];
        if retry_on_intr(|| poll(&mut alone, Some(&left)))? > 0 {
            return Ok(Waited::Over { others_wait });
        }
        match listener.accept() {
            Ok(other) => return Ok(Waited::Replaced(other)),
            // Another process has accepted the connection, or it is gone.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if is_of_one_connection(&error) => {}
            // Ending this connection frees its descriptor for the other one.
            Err(error) => return Err(error),
        }
    }
}

/// How long a client may be silent while others wait.
const SILENCE_MAX: Nanos = Nanos(1_000_000_000);
