//! A bus: messages by subject, requests with responses, and what may go wrong.

use std::sync::mpsc::Sender;
use std::time::Duration;

/// Carries messages by subject: words with dots between, such as `abx.v1.join`. Whoever
/// subscribes may have `*` in the place of a word, which is any.
///
/// A message comes once at most. What must not be lost is asked for again, by
/// [`Bus::request`], until it is answered.
pub trait Bus: Send + Sync {
    /// Has every message on a subject given to `to`, until the response is dropped.
    ///
    /// # Errors
    /// [`BusError::Down`].
    fn subscribe(&self, subject: &str, to: Sender<BusMessage>) -> Result<Subscription, BusError>;

    /// Sends to whoever has subscribed, without knowing whether it comes there.
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

    /// Whether this side has a connection now: without one nobody can be heard.
    fn is_connected(&self) -> bool;

    /// How many bytes a message may have.
    fn payload_max(&self) -> usize;

    /// What it is called in records.
    fn kind(&self) -> &'static str;

    /// The version of what carries the messages, when it has one.
    fn version(&self) -> Option<String>;

    /// Whom the bus knows this side as: one word of subjects.
    fn user(&self) -> &str {
        ANYONE
    }

    /// What the bus has refused to carry for this side: nobody is told of that by a response.
    fn refusal(&self) -> Option<BusError> {
        None
    }
}

/// The user of a bus that asks nobody who they are.
pub const ANYONE: &str = "anyone";

/// A message as it comes to a subscriber.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusMessage {
    /// What it was sent to.
    pub subject: String,
    /// Its bytes.
    pub payload: Vec<u8>,
    /// Where a response is to be sent, if one is wanted.
    pub reply: Option<String>,
}

/// Why a message did not come, or its response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    #[error("no agent is there")]
    NoResponders,
    #[error("no reply came in time")]
    Timeout,
    #[error(
        "a message has {bytes} bytes, and the bus takes {max}: raise its limit (`max_payload` of \
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
