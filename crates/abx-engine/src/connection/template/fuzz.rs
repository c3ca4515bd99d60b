//! Properties of requests with placeholders anywhere, for the fuzz target and for tests.

use abx_wire::http1::{Server, ServerEvent};

use super::{RequestTemplate, ValuesToFill};
use crate::plan::{
    HttpVersion, LineList, PlaceholderKind, PlaceholderPart, RequestPlaceholder, RequestPlan,
};

/// Fills in a request: the lines of `text` are its path, a header and its body. A request that can
/// be sent unchanged can be sent filled in; a server reads one whole request, with nothing left.
///
/// # Panics
/// If a property does not hold.
pub fn any_text(text: &str) {
    let mut parts = text.splitn(3, '\n');
    let mut part = || parts.next().unwrap_or_default();
    let plan = request(part(), part(), part());
    let mut values = ValuesToFill::new(1);
    let can_be_sent = plan.encode(true).is_ok();
    let template = RequestTemplate::of(&plan, true, &mut values);
    assert_eq!(template.is_ok(), can_be_sent, "what is filled in decides");
    let Ok(template) = template else {
        return;
    };
    let mut out = Vec::new();
    for _ in 0..3 {
        template.write(&mut values, &mut out);
        let sent = std::str::from_utf8(&out).expect("what is filled in is text");
        let (target, _) = read(sent).expect("a server reads one request");
        assert!(
            target.bytes().all(|byte| byte.is_ascii_graphic()),
            "{target}"
        );
    }
    if let Ok(template) = RequestTemplate::of_stream(&plan, false, &mut values) {
        let filled = plan.encode_stream(false);
        let mut filled = filled.expect("its fields are right");
        template.fill(&mut values, &mut filled);
    }
}

/// A request in which the letters S, R, U and L of each part stand for placeholders.
pub fn request(path: &str, header: &str, body: &str) -> RequestPlan {
    let mut placeholders = Vec::new();
    for (part, text) in [
        (PlaceholderPart::Path, path),
        (PlaceholderPart::Header(1), header),
        (PlaceholderPart::Body, body),
    ] {
        for (start, letter) in text.bytes().enumerate() {
            let kind = match letter {
                b'S' => PlaceholderKind::Sequence,
                b'R' => PlaceholderKind::Random { first: 7, last: 12 },
                b'U' => PlaceholderKind::Uuid,
                b'L' => {
                    let lines = ["one", "", "three"].map(str::to_owned);
                    PlaceholderKind::Line(LineList::from(("list".to_owned(), lines.into())))
                }
                _ => continue,
            };
            placeholders.push(RequestPlaceholder {
                part,
                start,
                end: start + 1,
                kind,
            });
        }
    }
    RequestPlan {
        version: HttpVersion::Http11,
        method: "POST".to_owned(),
        path: path.to_owned(),
        host: "h".to_owned(),
        headers: [("a", "x"), ("b", header)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        body: body.as_bytes().to_vec(),
        placeholders,
    }
}

/// The target and body of the only request that a server reads in this text.
pub fn read(text: &str) -> Option<(String, String)> {
    let (mut server, mut input) = (Server::new(), text.as_bytes());
    let ServerEvent::Head(head) = server.receive(&mut input)? else {
        return None;
    };
    let target = head.target.to_owned();
    let is_whole = matches!(server.receive(&mut input), Some(ServerEvent::Done));
    let (_, body) = text.split_once("\r\n\r\n")?;
    (is_whole && input.is_empty()).then(|| (target, body.to_owned()))
}
