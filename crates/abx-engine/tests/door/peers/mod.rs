//! The subjects of the load: peers that follow a script.

pub(crate) mod peer;
pub(crate) mod streams;
pub(crate) mod talker;
