//! Which of the kernel's two ways moves a pool's bytes: asked for, and in use.

use serde::{Deserialize, Serialize};

use crate::plan::LoadPlan;

/// The back end that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// For each load the one that costs less, as far as the kernel has it.
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
    /// What a load gets, where the kernel has both.
    pub(crate) fn for_load(self, _load: &LoadPlan) -> BackendUsed {
        match self {
            Backend::Epoll | Backend::Auto => BackendUsed::Epoll,
            Backend::Uring => BackendUsed::Uring,
        }
    }
}
