//! Checks the shape of a load, and that its keys fit the shape.

use std::collections::BTreeSet;

use abx_engine::HttpVersion;
use abx_evidence::{LoadShape, Message, Shape};
use abx_sys::Nanos;

use crate::loads::shape::{BROADCAST_BYTES_MIN, HOLD, MESSAGE_BYTES, is_long_enough};
use crate::study_file::conform::key_suits;
use crate::study_file::key_position::KeyPosition;
use crate::study_file::mistake::Diagnostic;
use crate::study_file::raw::{RawOffer, RawProtocol, RawSweep};

/// The shapes of a load, one per length of its messages, and its HTTP version.
///
/// # Errors
/// The first key that has no meaning for this shape, or that contradicts it.
pub fn shapes(raw: &RawOffer, here: &KeyPosition) -> Result<(Vec<Shape>, HttpVersion), Diagnostic> {
    let kind = match raw.scenario {
        Some(_) => LoadShape::Scenario,
        None => raw.shape,
    };
    let version = version(raw, kind, here)?;
    check_keys(raw, kind, here)?;
    let hold = here.key("hold").time(raw.hold.as_ref())?.unwrap_or(HOLD);
    let message = raw.message.as_ref();
    let usual = Message::text(MESSAGE_BYTES);
    let message_kind = message
        .and_then(|message| message.kind)
        .unwrap_or(usual.kind);
    let shape = |bytes| {
        let message = Message {
            bytes,
            kind: message_kind,
        };
        Shape::of(kind, message, Nanos::from(hold).0)
    };
    let bytes = here.key("message").key("bytes");
    let lengths = message.and_then(|message| message.bytes.as_ref());
    let lengths = rows(lengths, usual.bytes, &bytes, "length")?;
    let is_short = |length: &&u32| !is_long_enough(kind, **length);
    if let Some(short) = lengths.iter().find(is_short) {
        return Err(bytes.fault(format!(
            "`message.bytes` is {short}: a broadcast carries its number, so write at least \
             {BROADCAST_BYTES_MIN}"
        )));
    }
    Ok((lengths.into_iter().map(shape).collect(), version))
}

fn version(raw: &RawOffer, kind: LoadShape, here: &KeyPosition) -> Result<HttpVersion, Diagnostic> {
    let key = here.key("protocol");
    match (kind, raw.protocol) {
        (LoadShape::Scenario, Some(_)) => Err(not_of_shape("protocol", kind, &key)),
        (LoadShape::Request, Some(RawProtocol::WebSocket)) => Err(key.fault(
            "`protocol` is `websocket`, but the load sends HTTP requests: write shape = \
             \"echo\", \"broadcast\" or \"connections\"",
        )),
        (LoadShape::Request, Some(RawProtocol::Http10)) => Ok(HttpVersion::Http10),
        (LoadShape::Request, Some(RawProtocol::Http2)) => Ok(HttpVersion::Http2),
        (_, None | Some(RawProtocol::WebSocket)) | (LoadShape::Request, _) => {
            Ok(HttpVersion::Http11)
        }
        _ => Err(key.fault(format!(
            "`protocol` is HTTP, and the shape `{}` uses WebSocket: write protocol = \
             \"websocket\", or leave `protocol` out",
            kind.id()
        ))),
    }
}

/// Refuses the first key that has no meaning for this shape.
fn check_keys(raw: &RawOffer, kind: LoadShape, here: &KeyPosition) -> Result<(), Diagnostic> {
    let refuse_in = |table: &KeyPosition, prefix: &str| {
        // The protocol was checked already.
        for name in table.keys().into_iter().filter(|name| *name != "protocol") {
            let key = format!("{prefix}{name}");
            if !key_suits(kind, &key) {
                return Err(not_of_shape(&key, kind, &table.key(name)));
            }
        }
        Ok(())
    };
    refuse_in(here, "")?;
    let list = here.key("requests");
    for index in 0..raw.requests.len() {
        refuse_in(&list.item(index), "requests.")?;
    }
    if kind != LoadShape::Request && raw.requests.len() > 1 {
        Err(list.fault("`requests` has several, but a WebSocket is opened by one: keep one"))
    } else {
        Ok(())
    }
}

fn not_of_shape(key: &str, kind: LoadShape, here: &KeyPosition) -> Diagnostic {
    let shape = kind.id();
    here.fault(format!(
        "`{key}` has no effect on a load of shape `{shape}`: leave it out"
    ))
}

/// The numbers of a sweep, each once; `usual` if the file has none.
///
/// # Errors
/// A number that is listed twice; `kind` names it in the message.
pub fn rows(
    raw: Option<&RawSweep>,
    usual: u32,
    here: &KeyPosition,
    kind: &str,
) -> Result<Vec<u32>, Diagnostic> {
    let numbers = match raw {
        None => vec![usual],
        Some(RawSweep::One(number)) => vec![*number],
        Some(RawSweep::Sweep(sweep)) => sweep.clone(),
    };
    let mut seen = BTreeSet::new();
    match numbers.iter().position(|number| !seen.insert(*number)) {
        None => Ok(numbers),
        Some(index) => Err(here.item(index).fault(format!(
            "`{}` lists {} twice: each {kind} gives one row, so list it once",
            here.name(),
            numbers[index]
        ))),
    }
}
