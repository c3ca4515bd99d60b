//! The interface of a bus: messages by subject, requests with responses, and their errors.

use std::sync::mpsc::Sender;
use std::time::Duration;

/// Carries messages by subject: words separated by dots, such as `abx.v1.join`. In a subscription,
/// `*` matches any single word.
///
/// A message arrives at most once. A message that must not be lost is sent with [`Bus::request`],
/// repeatedly until there is a response.
pub trait Bus: Send + Sync {
    /// Sends every message on a subject to `to`, until the subscription is dropped.
    ///
    /// # Errors
    /// [`BusError::Down`].
    fn subscribe(&self, subject: &str, to: Sender<BusMessage>) -> Result<Subscription, BusError>;

    /// Sends to all subscribers, without knowing whether the message arrives.
    ///
    /// # Errors
    /// [`BusError::TooLarge`], [`BusError::Down`].
    fn publish(&self, subject: &str, payload: Vec<u8>) -> Result<(), BusError>;

    /// Sends, and waits for the first response.
    fn request(
        &self,
        subject: &str,
        payload: Vec<u8>,
        within: Duration,
    ) -> Result<Vec<u8>, BusError>;

    /// Sends everything that was published, before a process ends.
    fn flush(&self);

    /// Whether this side is connected, without which it receives no messages.
    fn is_connected(&self) -> bool;

    /// The largest size of a message, in bytes.
    fn payload_max(&self) -> usize;

    /// The name of the bus in records.
    fn kind(&self) -> &'static str;

    /// The version of the server that carries the messages, if it has one.
    fn version(&self) -> Option<String>;

    /// The user as which the bus knows this side: one word of subjects.
    fn user(&self) -> &str {
        ANYONE
    }

    /// The bus's refusal to carry a message of this side, which no response reports.
    fn refusal(&self) -> Option<BusError> {
        None
    }
}

/// The user of a bus without authentication.
pub const ANYONE: &str = "anyone";

/// A message as a subscriber receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusMessage {
    /// The subject to which it was sent.
    pub subject: String,
    pub payload: Vec<u8>,
    /// The subject for a response, if one is requested.
    pub reply: Option<String>,
}

/// Why a message or its response did not arrive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    #[error("no agent responds")]
    NoResponders,
    #[error("no reply came in time")]
    Timeout,
    #[error(
        "a message has {bytes} bytes, and the bus accepts {max}: raise its limit (`max_payload` of \
         NATS), or use fewer or shorter requests"
    )]
    TooLarge {
        bytes: usize,
        /// The largest size.
        max: usize,
    },
    #[error(
        "`{0}` is not the address of a NATS server: give --bus nats://HOST:4222, or --bus \
         tls://HOST:4222 for an encrypted connection"
    )]
    Address(String),
    #[error("the bus cannot be used: {0}")]
    Down(String),
    #[error("this abx was built without NATS: build it with its default features")]
    NotBuilt,
    #[error("the bus refuses: {0}")]
    Refused(String),
}

/// Ends a subscription when it is dropped.
pub struct Subscription(Option<Box<dyn FnOnce() + Send + Sync>>);

impl Subscription {
    /// Calls `end` when it is dropped.
    pub fn new(end: impl FnOnce() + Send + Sync + 'static) -> Subscription {
        Subscription(Some(Box::new(end)))
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            end();
        }
    }
}
