//! A bus: messages by subject, requests with responses, and what may go wrong.

use std::sync::mpsc::Sender;
use std::time::Duration;

/// Carries messages by subject: words with dots between, such as `abx.v1.join`. A subscriber may
/// put `*` in the place of a word, which matches any word.
///
/// A message arrives once at most. A message that must not be lost is requested again, by
/// [`Bus::request`], until there is a response.
pub trait Bus: Send + Sync {
    /// Has every message on a subject given to `to`, until the response is dropped.
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

    /// Has everything sent that was published, before a process ends.
    fn flush(&self);

    /// Whether this side has a connection now: without one it receives no message.
    fn is_connected(&self) -> bool;

    /// How many bytes a message may have.
    fn payload_max(&self) -> usize;

    /// Its name in records.
    fn kind(&self) -> &'static str;

    /// The version of the server that carries the messages, if it has one.
    fn version(&self) -> Option<String>;

    /// The user as which the bus knows this side: one word of subjects.
    fn user(&self) -> &str {
        ANYONE
    }

    /// The message that the bus has refused to carry for this side: no response reports that.
    fn refusal(&self) -> Option<BusError> {
        None
    }
}

/// The user of a bus that authenticates no one.
pub const ANYONE: &str = "anyone";

/// A message as it comes to a subscriber.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusMessage {
    /// The subject to which it was sent.
    pub subject: String,
    /// Its bytes.
    pub payload: Vec<u8>,
    /// Where a response is to be sent, if one is wanted.
    pub reply: Option<String>,
}

/// Why a message did not come, or its response.
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
        /// How many it may have.
        max: usize,
    },
    #[error(
        "`{0}` is not the address of a NATS server: give --bus nats://HOST:4222, or --bus \
         tls://HOST:4222 for an encrypted connection"
    )]
    Address(String),
    #[error("the bus cannot be used: {0}")]
    Down(String),
    #[error("this abx was built without NATS: build it with its usual features")]
    NotBuilt,
    #[error("the bus refuses: {0}")]
    Refused(String),
}

/// Ends with a subscription when it is dropped.
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
