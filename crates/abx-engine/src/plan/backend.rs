//! Which of the kernel's two ways moves a pool's bytes: asked for, and in use.

use abx_sys::RingError;
use serde::{Deserialize, Serialize};

use crate::plan::LoadPlan;

/// The back end that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// For each load the one that costs less (docs/decisions/0003-back-end.md),
    /// and epoll where the kernel refuses the other.
    #[default]
    Auto,
    /// epoll, which every Linux has.
    Epoll,
    /// `io_uring`; an error where the kernel refuses it.
    Uring,
}

/// The back end that a pool has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendUsed {
    /// epoll.
    Epoll,
    /// `io_uring`.
    Uring,
}

impl BackendUsed {
    /// Its name, as records and command lines write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            BackendUsed::Epoll => "epoll",
            BackendUsed::Uring => "uring",
        }
    }
}

impl Backend {
    /// What can be had of what is asked for; `probe` tries to make a ring.
    ///
    /// # Errors
    /// The refusal, when io_uring is asked for by name.
    pub(crate) fn available(
        self,
        probe: impl FnOnce() -> Result<(), RingError>,
    ) -> Result<Backend, RingError> {
        if self == Backend::Epoll {
            return Ok(self);
        }
        match probe() {
            Ok(()) => Ok(self),
            Err(_) if self == Backend::Auto => Ok(Backend::Epoll),
            Err(refusal) => Err(refusal),
        }
    }

    /// What a load gets, where the kernel has both.
    ///
    /// SUBTLE: The rule may ask only for what is the same for all subjects of a
    /// comparison. The length of their answers is not.
    pub(crate) fn for_load(self, load: &LoadPlan) -> BackendUsed {
        match self {
            Backend::Uring => BackendUsed::Uring,
            // A connection's making and closing are what a ring makes cheaper.
            Backend::Auto if !load.keep_alive => BackendUsed::Uring,
            Backend::Epoll | Backend::Auto => BackendUsed::Epoll,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_an_error_only_for_who_asked_by_name() {
        // Method: a kernel that forbids rings, and one that is never asked.
        let refuse = || Err(RingError::Forbidden);
        assert_eq!(Backend::Auto.available(refuse).unwrap(), Backend::Epoll);
        let refusal = Backend::Uring.available(refuse).unwrap_err().to_string();
        assert!(refusal.contains("io_uring_disabled"), "{refusal}");
        let never = || panic!("epoll needs no ring");
        assert_eq!(Backend::Epoll.available(never).unwrap(), Backend::Epoll);
    }

    #[test]
    fn a_kernel_that_has_both_gives_what_is_asked_for() {
        // Method: a probe that succeeds changes nothing.
        for asked in [Backend::Auto, Backend::Epoll, Backend::Uring] {
            assert_eq!(asked.available(|| Ok(())).unwrap(), asked);
        }
    }
}
