//! One request of HTTP/2 outside of any load, on a connection of its own.

use abx_sys::ServerAddress;
use abx_wire::http2::{Client, Event};

use super::error::ProbeError;
use super::head_fields::HeadFields;
use super::line::{Patience, ProbeConnection};
use super::response::{ProbeBody, Response};
use crate::plan::{RequestPlan, TlsPlan};

/// Sends one request after the server's settings, and reads the response to its end.
///
/// # Errors
/// As [`super::probe`].
pub(super) fn probe_http2(
    address: ServerAddress,
    tls: Option<&TlsPlan>,
    request: &RequestPlan,
    patience: Patience,
) -> Result<Response, ProbeError> {
    let encoded = request.encode_stream(tls.is_some())?;
    let mut out = Vec::new();
    let mut client = Client::open(&mut out);
    client.keep_heads();
    let mut connection = ProbeConnection::connect(address, tls, patience)?;
    let mut body = ProbeBody::default();
    let mut buffer = Vec::new();
    let mut head_fields = HeadFields::default();
    loop {
        connection.send(&out)?;
        out.clear();
        connection.receive(&mut buffer)?;
        if buffer.is_empty() {
            return Err(if client.is_open() {
                ProbeError::EndedStream
            } else {
                ProbeError::NoHttp2
            });
        }
        let mut input = &buffer[..];
        while let Some(event) = client.receive(&mut input, &mut out) {
            match event {
                Event::Open => {
                    if client.begin(&encoded, &mut out).is_none() {
                        return Err(ProbeError::NoStream);
                    }
                }
                Event::Head { .. } => head_fields = HeadFields::of(client.head_text()),
                Event::Body { bytes, .. } => body.add(bytes),
                Event::Done { done, .. } => {
                    return Ok(body.response(done, head_fields, &connection));
                }
                // Other streams do not matter; this stream may still get its response.
                Event::GoAway { .. } => {}
                Event::StreamFailed { fault, .. } => return Err(ProbeError::Stream(fault)),
                Event::Failed(fault) => return Err(ProbeError::Http2(fault)),
            }
        }
    }
}
