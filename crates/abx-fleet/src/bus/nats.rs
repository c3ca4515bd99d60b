//! NATS as the bus: one server that both sides dial, by its own client.
//!
//! The client needs tokio, which has a thread of its own: no thread that makes load ever
//! runs any of it.

use std::path::Path;
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use abx_sys::names;
use async_nats::connection::State;
use async_nats::{Client, ConnectOptions, RequestErrorKind, ServerAddr};
use futures_util::StreamExt;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::{Bus, BusError, BusMessage, Subscription};

/// A connection to a NATS server, which is made again whenever it is lost.
pub struct NatsBus {
    client: Client,
    runtime: Handle,
    /// The thread ends when this is dropped.
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// How long a connection may take to be made.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How long the last messages may take to be sent.
const FLUSH_WITHIN: Duration = Duration::from_secs(2);

impl NatsBus {
    /// Connects to `nats://[USER:PASSWORD@]HOST[:PORT]`, or `tls://` for an encrypted
    /// connection, whose server must have a certificate by an authority that this machine
    /// believes or by one of those in the PEM file `authorities`.
    ///
    /// # Errors
    /// [`BusError::Down`].
    pub fn connect(url: &str, authorities: Option<&Path>) -> Result<NatsBus, BusError> {
        let down = |why: &dyn std::fmt::Display| BusError::Down(format!("{}: {why}", bare(url)));
        let address: ServerAddr = url.parse().map_err(|why: std::io::Error| down(&why))?;
        // SUBTLE: the client looks the name up again, in the way that this call sets for a
        // static program.
        names::look_up(address.host(), address.port()).map_err(|why| down(&why))?;
        let mut options = ConnectOptions::new()
            .name("abx")
            .connection_timeout(CONNECT_WITHIN);
        if let (Some(user), Some(password)) = (address.username(), address.password()) {
            options = options.user_and_password(user.to_owned(), password.to_owned());
        }
        if let Some(authorities) = authorities {
            options = options.add_root_certificates(authorities.to_owned());
        }
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|why| down(&why))?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel::<()>();
        let body = move || {
            // An error is the end too: the sender was dropped.
            let _ = runtime.block_on(ended);
        };
        let thread = thread::Builder::new()
            .name("abx-bus".to_owned())
            .spawn(body);
        let thread = thread.map_err(|why| down(&why))?;
        match handle.block_on(options.connect(address)) {
            Ok(client) => Ok(NatsBus {
                client,
                runtime: handle,
                end: Some(end),
                thread: Some(thread),
            }),
            Err(why) => {
                drop(end);
                // It has nothing left to do.
                let _ = thread.join();
                Err(down(&why))
            }
        }
    }
}

impl Bus for NatsBus {
    fn subscribe(&self, subject: &str, to: Sender<BusMessage>) -> Result<Subscription, BusError> {
        let subscribed = self.client.subscribe(subject.to_owned());
        let mut subscriber =
            { self.runtime.block_on(subscribed) }.map_err(|why| BusError::Down(why.to_string()))?;
        let task = self.runtime.spawn(async move {
            while let Some(message) = subscriber.next().await {
                let message = BusMessage {
                    subject: message.subject.to_string(),
                    payload: message.payload.to_vec(),
                    reply: message.reply.map(|reply| reply.to_string()),
                };
                if to.send(message).is_err() {
                    break;
                }
            }
        });
        Ok(Subscription::new(move || task.abort()))
    }

    fn publish(&self, subject: &str, payload: Vec<u8>) -> Result<(), BusError> {
        self.check(&payload)?;
        let published = self.client.publish(subject.to_owned(), payload.into());
        let published = self.runtime.block_on(published);
        published.map_err(|why| BusError::Down(why.to_string()))
    }

    fn request(
        &self,
        subject: &str,
        payload: Vec<u8>,
        within: Duration,
    ) -> Result<Vec<u8>, BusError> {
        self.check(&payload)?;
        let request = async_nats::Request::new()
            .payload(payload.into())
            .timeout(Some(within));
        let asked = self.client.send_request(subject.to_owned(), request);
        match self.runtime.block_on(asked) {
            Ok(answer) => Ok(answer.payload.to_vec()),
            Err(error) => Err(match error.kind() {
                RequestErrorKind::NoResponders => BusError::NoResponders,
                RequestErrorKind::TimedOut => BusError::Timeout,
                _ => BusError::Down(error.to_string()),
            }),
        }
    }

    fn flush(&self) {
        let flushed = async { tokio::time::timeout(FLUSH_WITHIN, self.client.flush()).await };
        // Without a connection there is nobody to send anything to.
        let _ = self.runtime.block_on(flushed);
    }

    fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    fn payload_max(&self) -> usize {
        self.client.max_payload()
    }

    fn kind(&self) -> &'static str {
        "nats"
    }

    fn version(&self) -> Option<String> {
        let version = self.client.server_info().version;
        (!version.is_empty()).then_some(version)
    }
}

impl NatsBus {
    fn check(&self, payload: &[u8]) -> Result<(), BusError> {
        let (bytes, max) = (payload.len(), self.payload_max());
        match bytes > max {
            true => Err(BusError::TooLarge { bytes, max }),
            false => Ok(()),
        }
    }
}

impl Drop for NatsBus {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// A URL without a password in it.
fn bare(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_printed() {
        // Method: URLs with and without one.
        for (url, printed) in [
            ("nats://me:secret@bus:4222", "nats://bus:4222"),
            ("tls://bus:4222", "tls://bus:4222"),
            ("bus", "bus"),
        ] {
            assert_eq!(bare(url), printed);
        }
    }
}
