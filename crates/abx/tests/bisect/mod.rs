//! `abx bisect` over repositories with a planted culprit.

pub mod searches;
