//! One request of HTTP/1.1 outside of any load, on a connection of its own.

use abx_sys::ServerAddress;
use abx_wire::http1::{Client, Event, Fault};

use super::error::ProbeError;
use super::head_fields::{HeadFields, START_BYTES};
use super::line::{Patience, ProbeConnection};
use super::response::{ProbeBody, Response};
use crate::plan::{RequestPlan, TlsPlan};

/// Sends one request, and reads the response to its end.
///
/// # Errors
/// As [`super::probe`].
pub(super) fn probe_http1(
    address: ServerAddress,
    tls: Option<&TlsPlan>,
    request: &RequestPlan,
    patience: Patience,
) -> Result<Response, ProbeError> {
    let bytes = request.encode(false)?;
    let mut connection = ProbeConnection::connect(address, tls, patience)?;
    connection.send(&bytes)?;
    let mut client = Client::new();
    client.expect(request.response_kind());
    let mut body = ProbeBody::default();
    let mut buffer = Vec::new();
    // The first bytes, which usually hold the whole head.
    let mut start: Vec<u8> = Vec::new();
    loop {
        connection.receive(&mut buffer)?;
        let has_ended = buffer.is_empty();
        let mut input = &buffer[..];
        if start.len() < START_BYTES {
            start.extend_from_slice(input);
        }
        loop {
            let event = if has_ended {
                client.eof()
            } else {
                client.receive(&mut input)
            };
            match event {
                None if has_ended => return Err(ProbeError::Fault(Fault::ClosedEarly)),
                None => break,
                Some(Event::Interim | Event::Head { .. }) => {}
                Some(Event::Body(part)) => body.add(part),
                Some(Event::Failed(fault)) => return Err(ProbeError::Fault(fault)),
                Some(Event::Done(done)) => {
                    return Ok(body.response(done, HeadFields::of(&start), &connection));
                }
            }
        }
    }
}
