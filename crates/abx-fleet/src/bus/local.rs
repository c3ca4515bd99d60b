//! A bus within one process: the same rules without a server, mainly for tests.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::carrier::{Bus, BusError, BusMessage, Subscription};

/// A bus within one process.
#[derive(Clone, Default)]
pub struct LocalBus {
    subscribers: Arc<Mutex<Vec<Subscriber>>>,
    numbers: Arc<AtomicU64>,
}

/// One side's connection to a [`LocalBus`], which can be cut.
pub struct LocalConnection {
    bus: LocalBus,
    is_cut: Arc<AtomicBool>,
}

struct Subscriber {
    number: u64,
    subject: String,
    to: Sender<BusMessage>,
    is_cut: Arc<AtomicBool>,
}

/// The default limit of NATS.
const PAYLOAD_MAX: usize = 1 << 20;
/// How long a request waits without a connection.
const CUT_TRY: Duration = Duration::from_millis(50);

impl LocalBus {
    /// A connection for one side.
    #[must_use]
    pub fn connect(&self) -> LocalConnection {
        LocalConnection {
            bus: self.clone(),
            is_cut: Arc::default(),
        }
    }

    fn subscribers(&self) -> MutexGuard<'_, Vec<Subscriber>> {
        // A subscriber that panicked has left the list intact.
        self.subscribers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Delivers a message to its subscribers, and returns their number.
    fn deliver(&self, message: &BusMessage) -> usize {
        let subscribers = self.subscribers();
        let reached = subscribers.iter().filter(|subscriber| {
            matches(&subscriber.subject, &message.subject)
                && !subscriber.is_cut.load(Ordering::Relaxed)
                && subscriber.to.send(message.clone()).is_ok()
        });
        reached.count()
    }
}

impl LocalConnection {
    /// Cuts or restores the connection. While it is cut, nothing is sent or received.
    pub fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::Relaxed);
    }

    fn check(payload: &[u8]) -> Result<(), BusError> {
        match payload.len() {
            bytes if bytes > PAYLOAD_MAX => Err(BusError::TooLarge {
                bytes,
                max: PAYLOAD_MAX,
            }),
            _ => Ok(()),
        }
    }
}

impl Bus for LocalConnection {
    fn subscribe(&self, subject: &str, to: Sender<BusMessage>) -> Result<Subscription, BusError> {
        let number = self.bus.numbers.fetch_add(1, Ordering::Relaxed);
        self.bus.subscribers().push(Subscriber {
            number,
            subject: subject.to_owned(),
            to,
            is_cut: Arc::clone(&self.is_cut),
        });
        let bus = self.bus.clone();
        Ok(Subscription::new(move || {
            bus.subscribers()
                .retain(|subscriber| subscriber.number != number);
        }))
    }

    fn publish(&self, subject: &str, payload: Vec<u8>) -> Result<(), BusError> {
        LocalConnection::check(&payload)?;
        if self.is_connected() {
            self.bus.deliver(&BusMessage {
                subject: subject.to_owned(),
                payload,
                reply: None,
            });
        }
        Ok(())
    }

    fn request(
        &self,
        subject: &str,
        payload: Vec<u8>,
        within: Duration,
    ) -> Result<Vec<u8>, BusError> {
        LocalConnection::check(&payload)?;
        if !self.is_connected() {
            thread::sleep(within.min(CUT_TRY));
            return Err(BusError::Timeout);
        }
        let (sender, responses) = channel();
        let number = self.bus.numbers.fetch_add(1, Ordering::Relaxed);
        let reply = format!("responses.{number}");
        let _subscription = self.subscribe(&reply, sender)?;
        let message = BusMessage {
            subject: subject.to_owned(),
            payload,
            reply: Some(reply),
        };
        if self.bus.deliver(&message) == 0 {
            return Err(BusError::NoResponders);
        }
        match responses.recv_timeout(within) {
            Ok(response) => Ok(response.payload),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                Err(BusError::Timeout)
            }
        }
    }

    fn flush(&self) {}

    fn is_connected(&self) -> bool {
        !self.is_cut.load(Ordering::Relaxed)
    }

    fn payload_max(&self) -> usize {
        PAYLOAD_MAX
    }

    fn kind(&self) -> &'static str {
        "local"
    }

    fn version(&self) -> Option<String> {
        None
    }
}

fn matches(subscribed: &str, subject: &str) -> bool {
    let (mut patterns, mut words) = (subscribed.split('.'), subject.split('.'));
    loop {
        match (patterns.next(), words.next()) {
            (None, None) => return true,
            (Some("*"), Some(_)) => {}
            (Some(pattern), Some(word)) if pattern == word => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_one_word() {
        // Method: subscriptions, and subjects that match and that do not.
        for (subscribed, subject, is_match) in [
            ("abx.join", "abx.join", true),
            ("abx.join", "abx.join.x", false),
            ("abx.join.x", "abx.join", false),
            ("abx.*.x", "abx.1.x", true),
            ("abx.*.x", "abx.1.2.x", false),
            ("abx.*", "abx", false),
        ] {
            assert_eq!(
                matches(subscribed, subject),
                is_match,
                "{subscribed} {subject}"
            );
        }
    }
}
