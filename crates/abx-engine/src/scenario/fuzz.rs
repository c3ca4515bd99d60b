//! Properties for any response of a server, for the fuzz target and for property tests.

use abx_wire::http1::response_headers;

use super::cookies::CookieJar;
use crate::plan::{Extraction, ValueSource};

/// Takes cookies and values from the bytes of a response. The cookies can be sent in a header,
/// even if they were folded, and values are never empty.
///
/// # Panics
/// If a property does not hold.
pub fn any_response(response: &[u8]) {
    let mut jar = CookieJar::default();
    for line in response_headers(response, "set-cookie") {
        jar.set(&line, "/shop/cart?x=/y");
    }
    for path in ["", "/", "/shop", "/shop/cart", "/shop/cart/all?x=/y"] {
        let header = jar.header(path).unwrap_or_default();
        assert!(!header.contains(['\r', '\n', '\0']), "{header:?}");
    }
    let ends = response.windows(4).position(|four| four == b"\r\n\r\n");
    let body = ends.map_or(response, |end| &response[end + 4..]);
    for source in [
        ValueSource::Json(String::new()),
        ValueSource::Json("/a/0".to_owned()),
        ValueSource::Header("set-cookie".to_owned()),
        ValueSource::Body,
    ] {
        for (after, before) in [("", ""), ("=", ";"), ("\"", "\"")] {
            let extraction = Extraction {
                value: 0,
                name: "a".to_owned(),
                source: source.clone(),
                after: after.to_owned(),
                before: before.to_owned(),
            };
            let value = extraction.take(response, body);
            assert!(value.is_none_or(|value| !value.is_empty()));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn inputs_of_the_fuzzing_corpus_give_cookies_that_can_be_sent() {
        // Method: the fuzz target's body, on the corpus and mutations of it.
        abx_corpus::replay("scenario_response", 2_000, any_response);
    }

    proptest! {
        #[test]
        fn any_response_gives_cookies_that_can_be_sent(
            lines in prop::collection::vec(prop::collection::vec(prop::sample::select(vec![
                "Set-Cookie: ", "a", "b", "=", ";", " ", "\r\n ", "\r\n\t", "Path=/", "path=/shop",
                "Max-Age=0", "max-age=", "9", "-", "Expires=1970", "\u{e9}", "\"", "{\"a\":[1]}",
            ]), 0..9), 0..5),
            body in "([{}\\[\\]\"a=;0,: ]|\\\\u0000){0,12}",
        ) {
            // Method: the fuzz target's body, on heads made of meaningful words.
            let lines: Vec<String> = lines.iter().map(|words| words.concat()).collect();
            let response = format!("HTTP/1.1 200 OK\r\n{}\r\n\r\n{body}", lines.join("\r\n"));
            any_response(response.as_bytes());
            any_response(body.as_bytes());
        }
    }
}
