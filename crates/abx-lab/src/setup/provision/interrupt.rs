//! Whether the user or the system stopped abx.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::SigId;

use crate::process::stop_signals::{STOP_SIGNALS, SignalGuard};

/// Watches the stop signals while it exists, so that abx does not end at once and restore nothing.
/// Other watchers of these signals receive them too.
pub struct Interrupt {
    signalled: Arc<AtomicBool>,
    signals: Vec<SigId>,
    _guard: SignalGuard,
}

impl Interrupt {
    /// Starts watching.
    ///
    /// # Errors
    /// The error of the system, which has not been seen to happen.
    pub fn watch() -> io::Result<Interrupt> {
        let mut interrupt = Interrupt {
            signalled: Arc::default(),
            signals: Vec::new(),
            _guard: SignalGuard::hold(),
        };
        for signal in STOP_SIGNALS {
            let flag = Arc::clone(&interrupt.signalled);
            interrupt
                .signals
                .push(signal_hook::flag::register(signal, flag)?);
        }
        Ok(interrupt)
    }

    /// Whether abx has received a stop signal since [`Interrupt::watch`].
    pub fn is_signalled(&self) -> bool {
        self.signalled.load(Ordering::Relaxed)
    }

    /// The flag that the signals set.
    #[cfg(test)]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.signalled)
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        for signal in self.signals.drain(..) {
            signal_hook::low_level::unregister(signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    use signal_hook::consts::SIGTERM;
    use signal_hook::low_level::raise;

    use super::*;

    const IN_CHILD: &str = "ABX_TEST_INTERRUPT";

    #[test]
    fn a_signal_ends_abx_again_after_the_last_watcher() {
        // Method: this test in a process of its own, which notes that it survived a signal while
        // it watched. The next one must end it.
        if std::env::var_os(IN_CHILD).is_some() {
            let interrupt = Interrupt::watch().unwrap();
            raise(SIGTERM).unwrap();
            assert!(interrupt.is_signalled());
            std::io::stdout().write_all(b"survived\n").unwrap();
            drop(interrupt);
            raise(SIGTERM).unwrap();
            unreachable!("the second signal was ignored");
        }
        let name =
            "setup::provision::interrupt::tests::a_signal_ends_abx_again_after_the_last_watcher";
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(IN_CHILD, "1")
            .stderr(Stdio::null())
            .output()
            .unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains("survived"));
        assert_eq!(output.status.signal(), Some(SIGTERM));
    }
}
