//! What the connections of a load carry: its shape, and that its keys fit it.

use std::collections::BTreeSet;

use abx_engine::HttpVersion;
use abx_evidence::{LoadShape, Message, Shape};
use abx_sys::Nanos;

use crate::loads::shape::{HOLD, MESSAGE_BYTES, is_long_enough};
use crate::study_file::conform::key_suits;
use crate::study_file::key_position::KeyPosition;
use crate::study_file::mistake::{Diagnostic, Mistake};
use crate::study_file::raw::{RawBytes, RawKind, RawOffer, RawProtocol, RawShape};

/// The shapes of a load, one for each length of its messages, and how requests
/// are written.
///
/// # Errors
/// The first key that says nothing of this shape, or that contradicts it.
pub fn shapes(raw: &RawOffer, here: &KeyPosition) -> Result<(Vec<Shape>, HttpVersion), Diagnostic> {
    let kind = match raw.shape {
        _ if raw.scenario.is_some() => LoadShape::Scenario,
        RawShape::Request => LoadShape::Request,
        RawShape::Echo => LoadShape::Echo,
        RawShape::Broadcast => LoadShape::Broadcast,
        RawShape::Connections => LoadShape::Connections,
    };
    let version = version(raw, kind, here)?;
    check_keys(raw, kind, here)?;
    let hold = here.key("hold").time(raw.hold.as_ref())?.unwrap_or(HOLD);
    let message: fn(u32) -> Message = match raw.message.as_ref().and_then(|message| message.kind) {
        None | Some(RawKind::Text) => Message::text,
        Some(RawKind::Binary) => Message::binary,
    };
    let shape = |bytes| Shape::of(kind, message(bytes), Nanos::from(hold).0);
    let lengths = lengths(raw, here)?;
    if let Some(short) = lengths
        .iter()
        .find(|length| !is_long_enough(kind, **length))
    {
        let here = here.key("message").key("bytes");
        return Err(here.fault(Mistake::ShortBroadcast(*short)));
    }
    Ok((lengths.into_iter().map(shape).collect(), version))
}

fn version(raw: &RawOffer, kind: LoadShape, here: &KeyPosition) -> Result<HttpVersion, Diagnostic> {
    let key = here.key("protocol");
    match (kind, raw.protocol) {
        (LoadShape::Scenario, Some(_)) => Err(key.fault(Mistake::NotOfShape {
            key: "protocol".to_owned(),
            shape: kind.id(),
        })),
        (LoadShape::Request, Some(RawProtocol::WebSocket)) => Err(key.fault(Mistake::NoShape)),
        (LoadShape::Request, Some(RawProtocol::Http10)) => Ok(HttpVersion::Http10),
        (LoadShape::Request, Some(RawProtocol::Http2)) => Ok(HttpVersion::Http2),
        (_, None | Some(RawProtocol::WebSocket)) | (LoadShape::Request, _) => {
            Ok(HttpVersion::Http11)
        }
        _ => Err(key.fault(Mistake::ShapeOfWebSocket(kind.id()))),
    }
}

/// Refuses the first key that says nothing of this shape.
fn check_keys(raw: &RawOffer, kind: LoadShape, here: &KeyPosition) -> Result<(), Diagnostic> {
    let refuse_in = |table: &KeyPosition, prefix: &str| {
        // What is spoken was looked at already.
        for name in table.keys().into_iter().filter(|name| *name != "protocol") {
            let key = format!("{prefix}{name}");
            if !key_suits(kind, &key) {
                let shape = kind.id();
                return Err(table.key(name).fault(Mistake::NotOfShape { key, shape }));
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
        Err(list.fault(Mistake::OneRequest))
    } else {
        Ok(())
    }
}

/// The lengths of messages; one where nothing is said.
fn lengths(raw: &RawOffer, here: &KeyPosition) -> Result<Vec<u32>, Diagnostic> {
    let list = match raw
        .message
        .as_ref()
        .and_then(|raw_message| raw_message.bytes.as_ref())
    {
        None => return Ok(vec![MESSAGE_BYTES]),
        Some(RawBytes::One(number)) => return Ok(vec![*number]),
        Some(RawBytes::Sweep(list)) => list,
    };
    let mut seen = BTreeSet::new();
    for (index, number) in list.iter().enumerate() {
        if !seen.insert(*number) {
            let here = here.key("message").key("bytes").item(index);
            return Err(here.fault(Mistake::MessageTwice(*number)));
        }
    }
    Ok(list.clone())
}
