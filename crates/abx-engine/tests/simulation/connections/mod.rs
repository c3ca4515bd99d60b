//! How connections are opened and how they end.

mod broken_peers;
mod closes;
mod endless;
mod opened;
mod rests;
