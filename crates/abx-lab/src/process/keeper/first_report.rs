//! Waits for a keeper's report about its start.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use abx_sys::Nanos;

use super::container::LOOK_EVERY;
use super::protocol::{KeeperReport, StartFailure};

/// How a start went.
#[derive(Debug, PartialEq, Eq)]
pub enum FirstReport {
    /// The command runs since this moment.
    Started {
        keeper: u32,
        since: Nanos,
    },
    Failed(StartFailure),
    /// No report came for too long, or the keeper is gone. `made` has the bytes of files at the
    /// last report, `None` without a report of any.
    Silent {
        made: Option<u64>,
    },
    Stopped,
}

/// Waits for the report of how the start went. Each report of files that are being made is passed
/// on, and restarts `silence_max`.
pub fn first_report(
    reports: &Receiver<KeeperReport>,
    silence_max: Duration,
    is_stopped: &dyn Fn() -> bool,
    on_made: &dyn Fn(u64),
) -> FirstReport {
    let mut made = None;
    let mut last_report = Instant::now();
    loop {
        match reports.recv_timeout(LOOK_EVERY.min(silence_max)) {
            Ok(KeeperReport::Started { keeper, since_ns }) => {
                let since = Nanos(since_ns);
                return FirstReport::Started { keeper, since };
            }
            Ok(KeeperReport::Failed { why }) => return FirstReport::Failed(why),
            Ok(KeeperReport::Making { bytes }) => {
                made = Some(bytes);
                on_made(bytes);
                last_report = Instant::now();
            }
            Err(RecvTimeoutError::Timeout) if last_report.elapsed() < silence_max => {}
            // Other reports do not concern a start.
            Ok(_) | Err(_) => return FirstReport::Silent { made },
        }
        if is_stopped() {
            return FirstReport::Stopped;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::mpsc::channel;

    use super::*;

    const SHORT: Duration = Duration::from_millis(30);

    #[test]
    fn making_files_is_no_silence() {
        // Method: reports of files after every twentieth of the allowed silence, in all for longer
        // than that; then the start.
        let allowed = Duration::from_secs(1);
        let (sender, reports) = channel();
        let reporter = std::thread::spawn(move || {
            for bytes in 1..=25 {
                std::thread::sleep(allowed / 20);
                sender.send(KeeperReport::Making { bytes }).unwrap();
            }
            let started = KeeperReport::Started {
                keeper: 7,
                since_ns: 5,
            };
            sender.send(started).unwrap();
        });
        let passed_on = RefCell::new(Vec::new());
        let on_made = |bytes| passed_on.borrow_mut().push(bytes);
        let first = first_report(&reports, allowed, &|| false, &on_made);
        let since = Nanos(5);
        assert_eq!(first, FirstReport::Started { keeper: 7, since });
        assert_eq!(passed_on.into_inner(), (1..=25).collect::<Vec<u64>>());
        reporter.join().unwrap();
    }

    #[test]
    fn silence_has_the_bytes_that_were_made_before() {
        // Method: silence from the start, and after a report of files; a stop; and a keeper that is
        // gone.
        let (sender, reports) = channel();
        let wait = |is_stopped: bool| first_report(&reports, SHORT, &|| is_stopped, &|_| {});
        assert_eq!(wait(false), FirstReport::Silent { made: None });
        sender.send(KeeperReport::Making { bytes: 5 }).unwrap();
        assert_eq!(wait(false), FirstReport::Silent { made: Some(5) });
        sender.send(KeeperReport::Making { bytes: 5 }).unwrap();
        assert_eq!(wait(true), FirstReport::Stopped);
        drop(sender);
        assert_eq!(wait(false), FirstReport::Silent { made: None });
    }
}
