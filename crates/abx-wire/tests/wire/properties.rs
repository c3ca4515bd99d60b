//! Properties that hold for any bytes, checked by the functions that the fuzz targets call.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::fuzz::http1 as fuzz;

/// Valid and invalid parts of messages, so that random inputs pass the first checks.
const PARTS: &[&str] = &[
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.0 200 OK\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 304 N\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\n",
    "POST /a HTTP/1.0\r\n",
    "Content-Length: 3\r\n",
    "Content-Length: 0\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\n",
    "Connection: close\r\n",
    "Connection: keep-alive\r\n",
    "X: a\r\n b\r\n",
    "\r\n",
    "\n",
    "abc",
    "3\r\nabc\r\n",
    "0\r\n\r\n",
    "2;x=\"y\"\r\nab\r\n0\r\nT: v\r\n\r\n",
    ":",
    " ",
    "\0",
    "\u{e4}",
];

fn message() -> impl Strategy<Value = Vec<u8>> {
    let parts = vec(prop::sample::select(PARTS), 0..12);
    (any::<[u8; 2]>(), parts).prop_map(|(choices, parts)| {
        let mut bytes = choices.to_vec();
        bytes.extend(parts.concat().bytes());
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes_are_handled_and_pieces_change_nothing(data in vec(any::<u8>(), 0..200)) {
        // Method: noise, whole and in pieces, from a server and from a client.
        fuzz::client(&data);
        fuzz::pipeline(&data);
        fuzz::server(&data);
    }

    #[test]
    fn any_order_of_parts_is_handled_and_pieces_change_nothing(data in message()) {
        // Method: plausible lines in any order, so that bodies and faults come up.
        fuzz::client(&data);
        fuzz::pipeline(&data);
        fuzz::server(&data[1..]);
    }
}
