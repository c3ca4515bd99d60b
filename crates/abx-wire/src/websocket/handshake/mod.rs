//! How a connection becomes one of WebSocket: a client's request, and what a server accepts.

mod offer;
mod opening;

pub use offer::{Offer, OfferFault};
pub(super) use opening::{Awaited, accept_of};
pub use opening::{EncodedOpening, NONCE_BYTES, Opening, OpeningError};
