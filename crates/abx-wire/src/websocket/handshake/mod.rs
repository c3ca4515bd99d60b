//! How a connection becomes one of WebSocket: what a client asks, and what a server takes.

mod offer;
mod opening;

pub use offer::{Offer, OfferFault};
pub(super) use opening::{Awaited, accept_of};
pub use opening::{EncodedOpening, NONCE_BYTES, Opening, OpeningError};
