//! The opening handshake: a client's request, and the server's agreement.

mod offer;
mod opening;

pub use offer::{Offer, OfferFault};
pub(super) use opening::{Awaited, accept_of};
pub use opening::{EncodedOpening, NONCE_BYTES, Opening, OpeningError};
