//! `abx bisect` over histories that the tests make, whose culprit is planted.

pub mod searches;
