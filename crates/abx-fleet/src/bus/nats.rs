//! NATS as the bus: both sides connect to one server, with the official client.
//!
//! The client needs tokio, which runs on a separate thread, never on a thread that generates load.

use std::future::ready;
use std::io;
use std::path::Path;
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use abx_engine::input_file::read_up_to;
use abx_sys::names;
use async_nats::connection::State;
use async_nats::{
    Client, ConnectError, ConnectErrorKind, ConnectOptions, Event, RequestErrorKind, ServerAddr,
    ServerError,
};
use futures_util::StreamExt;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::carrier::{ANYONE, Bus, BusError, BusMessage, Subscription};

/// A connection to a NATS server, which is restored whenever it is lost.
pub struct NatsBus {
    client: Client,
    user: String,
    /// The first refusal of the server.
    refused: Arc<OnceLock<String>>,
    runtime: Handle,
    /// The thread ends when this is dropped.
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// How long connecting may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How long sending the last messages may take.
const FLUSH_WITHIN: Duration = Duration::from_secs(2);

impl NatsBus {
    /// Connects to `nats://[USER:PASSWORD@]HOST[:PORT]`, or `tls://` for an encrypted connection.
    /// The server's certificate must then be signed by an authority that this machine trusts, or by
    /// one in the PEM file `authorities`. The file `credentials` contains `USER:PASSWORD`, which
    /// replaces that of the URL.
    ///
    /// # Errors
    /// [`BusError::Address`], [`BusError::Down`], [`BusError::Refused`].
    pub fn connect(
        url: &str,
        authorities: Option<&Path>,
        credentials: Option<&Path>,
    ) -> Result<NatsBus, BusError> {
        let down = |why: &dyn std::fmt::Display| BusError::Down(format!("{}: {why}", bare(url)));
        let address = server_address(url)?;
        let credentials = match credentials {
            Some(file) => Some(read_credentials(file)?),
            None => own_credentials(&address),
        };
        let user = credentials
            .as_ref()
            .map_or(ANYONE.to_owned(), |(user, _)| word(user));
        // SUBTLE: the client looks the name up again, in the way that this call sets up for a
        // static program.
        names::look_up(address.host(), address.port())
            .map_err(|why| down(&format!("{why}: {REMEDY}")))?;
        let refused: Arc<OnceLock<String>> = Arc::default();
        let mut options = ConnectOptions::new()
            .name("abx")
            .connection_timeout(CONNECT_WITHIN)
            .custom_inbox_prefix(inbox(&user))
            .event_callback(keep_refusal(Arc::clone(&refused)));
        if let Some((user, password)) = &credentials {
            options = options.user_and_password(user.clone(), password.clone());
        }
        if let Some(authorities) = authorities {
            options = options.add_root_certificates(authorities.to_owned());
        }
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|why| down(&why))?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel::<()>();
        let body = move || {
            // An error is an end, too: the sender was dropped.
            let _ = runtime.block_on(ended);
        };
        let thread = thread::Builder::new()
            .name("abx-bus".to_owned())
            .spawn(body)
            .map_err(|why| down(&why))?;
        match handle.block_on(options.connect(address)) {
            Ok(client) => Ok(NatsBus {
                client,
                user,
                refused,
                runtime: handle,
                end: Some(end),
                thread: Some(thread),
            }),
            Err(why) => {
                drop(end);
                // The thread ends with the sender.
                let _ = thread.join();
                let user = credentials.as_ref().map(|(user, _)| user.as_str());
                Err(unconnected(&bare(url), user, &why))
            }
        }
    }
}

impl Bus for NatsBus {
    fn subscribe(&self, subject: &str, to: Sender<BusMessage>) -> Result<Subscription, BusError> {
        let subscribed = self.client.subscribe(subject.to_owned());
        let mut subscriber = self
            .runtime
            .block_on(subscribed)
            .map_err(|why| BusError::Down(why.to_string()))?;
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
        let pending = self.client.send_request(subject.to_owned(), request);
        match self.runtime.block_on(pending) {
            Ok(response) => Ok(response.payload.to_vec()),
            Err(error) => Err(match error.kind() {
                RequestErrorKind::NoResponders => BusError::NoResponders,
                RequestErrorKind::TimedOut => BusError::Timeout,
                _ => BusError::Down(error.to_string()),
            }),
        }
    }

    fn flush(&self) {
        let flushed = async { tokio::time::timeout(FLUSH_WITHIN, self.client.flush()).await };
        // Without a connection there is no recipient.
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

    fn user(&self) -> &str {
        &self.user
    }

    fn refusal(&self) -> Option<BusError> {
        let why = self.refused.get()?;
        Some(BusError::Refused(format!(
            "{} lacks permission on the bus ({why}): of the files that `abx bus init` wrote, use \
             controller.creds for abx run and compare, and for each agent its own",
            self.user
        )))
    }
}

impl NatsBus {
    fn check(&self, payload: &[u8]) -> Result<(), BusError> {
        let (bytes, max) = (payload.len(), self.payload_max());
        if bytes > max {
            Err(BusError::TooLarge { bytes, max })
        } else {
            Ok(())
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

/// The remedy if a server cannot be reached.
const REMEDY: &str = "start nats-server there, or give another address with --bus";

/// The server that a URL names: its name or address, with or without a scheme.
fn server_address(url: &str) -> Result<ServerAddr, BusError> {
    let address: Option<ServerAddr> = url.parse().ok();
    let address = address.filter(|address| {
        // The client also parses WebSocket URLs, which this build of it does not support.
        ["nats", "tls"].contains(&address.scheme()) && !address.host().is_empty()
    });
    address.ok_or_else(|| BusError::Address(bare(url)))
}

/// The prefix of the subjects on which a user receives responses.
pub fn inbox(user: &str) -> String {
    format!("_INBOX.{user}")
}

/// Keeps the first refusal that the server reports. The refusal of a late response does not count,
/// because the requester sends its request again.
fn keep_refusal(
    refused: Arc<OnceLock<String>>,
) -> impl Fn(Event) -> std::future::Ready<()> + Send + Sync {
    move |event| {
        if let Event::ServerError(ServerError::Other(reason)) = event
            && reason.starts_with("Permissions Violation")
            && !reason.contains("Publish to \"_INBOX.")
        {
            // Only the first refusal counts.
            let _ = refused.set(reason);
        }
        ready(())
    }
}

/// Why there is no connection, and the remedy.
fn unconnected(place: &str, user: Option<&str>, error: &ConnectError) -> BusError {
    let kind = error.kind();
    let is_refused = matches!(
        kind,
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication
    );
    match user {
        None if is_refused => BusError::Refused(format!(
            "{place} requires credentials: give those that `abx bus init` wrote, with --bus-creds \
             FILE"
        )),
        Some(user) if is_refused => BusError::Refused(format!(
            "{place} rejects {user} with this password: give the credentials that `abx bus \
             init` wrote together with the server's configuration, with --bus-creds FILE"
        )),
        // Errors of rustls have no separate kind: `Tls` is about the file of authorities.
        _ if kind == ConnectErrorKind::Tls || error.to_string().contains("certificate") => {
            BusError::Refused(format!(
                "cannot verify {place} as the bus ({error}): give the ca.pem that `abx bus init` \
                 wrote, with --bus-ca FILE, and address the bus by a name from `abx bus init \
                 --host`"
            ))
        }
        _ => BusError::Down(format!("{place}: {error}: {REMEDY}")),
    }
}

/// Far more than a name and a password need.
const CREDENTIALS_BYTES_MAX: u64 = 1 << 20;

/// User and password from a file with `USER:PASSWORD`.
fn read_credentials(file: &Path) -> Result<(String, String), BusError> {
    let text = read_up_to(file, CREDENTIALS_BYTES_MAX)
        .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other))
        .map_err(|why| BusError::Refused(format!("cannot read {}: {why}", file.display())))?;
    let credentials = text.trim().split_once(':');
    let credentials =
        credentials.filter(|(user, password)| !user.is_empty() && !password.is_empty());
    let (user, password) = credentials.ok_or_else(|| {
        let file = file.display();
        BusError::Refused(format!(
            "{file} is not USER:PASSWORD, as in the files *.creds that `abx bus init` writes"
        ))
    })?;
    Ok((user.to_owned(), password.to_owned()))
}

/// User and password from a URL.
fn own_credentials(address: &ServerAddr) -> Option<(String, String)> {
    let (user, password) = (address.username()?, address.password()?);
    Some((user.to_owned(), password.to_owned()))
}

/// A user's name as one word of a subject.
fn word(user: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    user.replace(|letter: char| !is_plain(letter), "-")
}

/// A URL without credentials.
fn bare(url: &str) -> String {
    let Some((before, host)) = url.rsplit_once('@') else {
        return url.to_owned();
    };
    match before.split_once("://") {
        Some((scheme, _)) => format!("{scheme}://{host}"),
        None => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_password_is_not_printed() {
        // Method: URLs with and without a password.
        for (url, printed) in [
            ("nats://me:secret@bus:4222", "nats://bus:4222"),
            ("me:secret@bus:4222", "bus:4222"),
            ("tls://bus:4222", "tls://bus:4222"),
            ("bus", "bus"),
        ] {
            assert_eq!(bare(url), printed);
        }
    }

    #[test]
    fn an_invalid_url_is_refused_at_once() {
        // Method: valid URLs with and without a scheme; other schemes, no host, invalid ports. No
        // message contains the password.
        for url in [
            "bus",
            "bus:4222",
            "nats://me:secret@bus:4222",
            "tls://bus",
            "nats://[::1]:4222",
        ] {
            assert!(server_address(url).is_ok(), "{url}");
        }
        for url in [
            "http://me:secret@bus:4222",
            "ws://bus",
            "nats://",
            "nats://bus:port",
            "bus:70000",
            "",
        ] {
            let error = server_address(url).unwrap_err();
            assert_eq!(error, BusError::Address(bare(url)), "{url}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        assert_eq!(
            NatsBus::connect("http://bus", None, None).err(),
            Some(BusError::Address("http://bus".to_owned()))
        );
    }

    #[test]
    fn credentials_are_read_from_a_file() {
        // Method: files with user and password, with and without a line end, and files without
        // one of them. Messages do not contain the contents of the file.
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("some.creds");
        for (text, read) in [
            ("me:secret\n", Some(("me", "secret"))),
            ("me:sec:ret", Some(("me", "sec:ret"))),
            ("secret", None),
            (":secret", None),
            ("secret:", None),
            ("", None),
        ] {
            fs::write(&file, text).unwrap();
            match (read_credentials(&file), read) {
                (Ok((user, password)), Some(pair)) => assert_eq!((&*user, &*password), pair),
                (Err(error), None) => {
                    let message = error.to_string();
                    assert!(message.contains("some.creds"), "{message}");
                    assert!(!message.contains("secret"), "{message}");
                }
                (read, _) => panic!("{text}: {read:?}"),
            }
        }
    }

    #[test]
    fn the_name_of_a_user_is_one_word_of_a_subject() {
        // Method: a plain name, and a name with characters that are special in subjects.
        for (user, message) in [("agent-1", "agent-1"), ("a.b *>", "a-b---")] {
            assert_eq!(word(user), message);
        }
    }
}
