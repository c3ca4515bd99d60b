//! What the connections of a load carry: its shape, and that its keys fit it.

use std::collections::BTreeSet;

use abx_engine::{HttpVersion, MessagePlan};
use abx_evidence::LoadShape;

use super::key_position::KeyPosition;
use super::mistake::{Diagnostic, Mistake};
use super::raw::{RawBytes, RawKind, RawLoad, RawProtocol, RawShape};
use crate::study::shape::{HOLD, MESSAGE_BYTES, Shape, is_long_enough, suits};

/// The shapes of a load, one for each length of its messages, and how requests
/// are written.
///
/// # Errors
/// The first key that says nothing of this shape, or that contradicts it.
pub fn shapes(raw: &RawLoad, here: &KeyPosition) -> Result<(Vec<Shape>, HttpVersion), Diagnostic> {
    let kind = match raw.shape {
        RawShape::Request => LoadShape::Request,
        RawShape::Echo => LoadShape::Echo,
        RawShape::Broadcast => LoadShape::Broadcast,
        RawShape::Connections => LoadShape::Connections,
    };
    let version = version(raw, kind, here)?;
    check_keys(raw, kind, here)?;
    let hold = here.key("hold").time(raw.hold.as_ref())?.unwrap_or(HOLD);
    let is_text = match raw.message.as_ref().and_then(|message| message.kind) {
        None | Some(RawKind::Text) => true,
        Some(RawKind::Binary) => false,
    };
    let shape = |bytes| Shape::of(kind, MessagePlan { is_text, bytes }, hold);
    let lengths = lengths(raw, here)?;
    if let Some(short) = lengths.iter().find(|one| !is_long_enough(kind, **one)) {
        let here = here.key("message").key("bytes");
        return Err(here.fault(Mistake::ShortBroadcast(*short)));
    }
    Ok((lengths.into_iter().map(shape).collect(), version))
}

fn version(raw: &RawLoad, kind: LoadShape, here: &KeyPosition) -> Result<HttpVersion, Diagnostic> {
    let key = here.key("protocol");
    match (kind, raw.protocol) {
        (LoadShape::Request, Some(RawProtocol::WebSocket)) => Err(key.fault(Mistake::NoShape)),
        (LoadShape::Request, Some(RawProtocol::Http10)) => Ok(HttpVersion::Http10),
        (_, None | Some(RawProtocol::WebSocket)) | (LoadShape::Request, _) => {
            Ok(HttpVersion::Http11)
        }
        _ => Err(key.fault(Mistake::ShapeOfWebSocket(kind.id()))),
    }
}

/// Refuses the first key that says nothing of this shape.
fn check_keys(raw: &RawLoad, kind: LoadShape, here: &KeyPosition) -> Result<(), Diagnostic> {
    let given = [
        ("message", raw.message.is_some()),
        ("hold", raw.hold.is_some()),
        ("rate", raw.rate.is_some()),
        ("slo", raw.slo.is_some()),
        ("arrivals", raw.arrivals.is_some()),
        ("think", raw.think.is_some()),
        ("calls", raw.calls.is_some()),
        ("pipeline", raw.pipeline.is_some()),
        ("cold_cache", raw.cold_cache.is_some()),
        ("keep_alive", raw.keep_alive.is_some()),
        ("verify_every", raw.verify_every.is_some()),
        ("expect", raw.expect.is_some()),
    ];
    let refused = |key, place: KeyPosition| {
        let shape = kind.id();
        Err(place.fault(Mistake::NotOfShape { key, shape }))
    };
    for (key, is_given) in given {
        if is_given && !suits(kind, key) {
            return refused(key, here.key(key));
        }
    }
    let list = here.key("requests");
    for (index, request) in raw.requests.iter().enumerate() {
        let given = [
            ("method", "requests.method", request.method.is_some()),
            ("body", "requests.body", request.body.is_some()),
            ("count", "requests.count", request.count.is_some()),
            ("weight", "requests.weight", request.weight.is_some()),
        ];
        for (name, key, is_given) in given {
            if is_given && !suits(kind, key) {
                return refused(key, list.item(index).key(name));
            }
        }
    }
    match kind != LoadShape::Request && raw.requests.len() > 1 {
        true => Err(list.fault(Mistake::OneRequest)),
        false => Ok(()),
    }
}

/// The lengths of messages; one where nothing is said.
fn lengths(raw: &RawLoad, here: &KeyPosition) -> Result<Vec<u32>, Diagnostic> {
    let list = match raw.message.as_ref().and_then(|one| one.bytes.as_ref()) {
        None => return Ok(vec![MESSAGE_BYTES]),
        Some(RawBytes::One(one)) => return Ok(vec![*one]),
        Some(RawBytes::Sweep(list)) => list,
    };
    let mut seen = BTreeSet::new();
    for (index, one) in list.iter().enumerate() {
        if !seen.insert(*one) {
            let here = here.key("message").key("bytes").item(index);
            return Err(here.fault(Mistake::MessageTwice(*one)));
        }
    }
    Ok(list.clone())
}
