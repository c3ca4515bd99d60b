//! One request outside of any load: is the server ready, and how does it respond?

mod error;
mod head_fields;
mod http1;
mod http2;
mod line;
mod response;
mod websocket;

use abx_sys::ServerAddress;

use crate::plan::{HttpVersion, RequestPlan, TlsPlan};

pub use error::ProbeError;
pub use head_fields::HeadFields;
pub use line::Patience;
pub use response::{BODY_START_BYTES, Response};
pub use websocket::{Echo, WebSocketResponse, probe_websocket};

/// Sends one request on a new connection, with `Connection: close`, and reads the response to its
/// end. The connection is encrypted if `tls` is given.
///
/// # Errors
/// One [`ProbeError`] for each way in which no whole response comes.
pub fn probe<'a>(
    address: impl Into<ServerAddress>,
    tls: Option<&TlsPlan>,
    request: &RequestPlan,
    patience: impl Into<Patience<'a>>,
) -> Result<Response, ProbeError> {
    let (address, patience) = (address.into(), patience.into());
    match request.version {
        HttpVersion::Http2 => http2::probe_http2(address, tls, request, patience),
        HttpVersion::Http10 | HttpVersion::Http11 => {
            http1::probe_http1(address, tls, request, patience)
        }
    }
}
