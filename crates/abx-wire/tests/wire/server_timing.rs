//! Durations in `Server-Timing` headers.

use abx_wire::http1::server_timings;
use proptest::collection::vec;
use proptest::prelude::*;

fn timings(head: &[u8]) -> Vec<(String, u64)> {
    server_timings(head)
        .map(|timing| (timing.name.to_owned(), timing.span_ns))
        .collect()
}

/// The timings in a head with this value of the header.
fn timings_of(value: &str) -> Vec<(String, u64)> {
    let head = format!("HTTP/1.1 200 OK\r\nServer-Timing: {value}\r\n\r\n");
    timings(head.as_bytes())
}

#[test]
fn durations_are_read_with_their_names() {
    // Method: values as servers send them, and the timings in each.
    type Case<'a> = (&'a str, &'a [(&'a str, u64)]);
    let cases: &[Case] = &[
        ("db;dur=53", &[("db", 53_000_000)]),
        ("db;dur=0.25", &[("db", 250_000)]),
        ("db ; DUR = \"1.5\" ; desc=x", &[("db", 1_500_000)]),
        (
            "a;dur=1, b;desc=\"x, y;dur=7\";dur=2",
            &[("a", 1_000_000), ("b", 2_000_000)],
        ),
        (
            "a;desc=\"\\\",\";dur=3,b;dur=0",
            &[("a", 3_000_000), ("b", 0)],
        ),
        ("a;desc=\"\\\\\";dur=3", &[("a", 3_000_000)]),
        ("hit, db;dur=1", &[("db", 1_000_000)]),
        (
            "db;dur=-1, db;dur=NaN, db;dur=inf, db;dur=1e99, db;dur=, ;dur=1",
            &[],
        ),
        ("two words;dur=1", &[]),
        ("n\u{e4}me;dur=1", &[]),
    ];
    for (value, expected) in cases {
        let expected: Vec<(String, u64)> = expected
            .iter()
            .map(|(name, span_ns)| ((*name).to_owned(), *span_ns))
            .collect();
        assert_eq!(timings_of(value), expected, "{value}");
    }
    assert_eq!(timings_of(&format!("{};dur=1", "n".repeat(40))).len(), 1);
    assert_eq!(timings_of(&format!("{};dur=1", "n".repeat(41))).len(), 0);
}

#[test]
fn only_server_timing_headers_are_read() {
    // Method: two such headers, one of them in small letters and with a bare line end; one that is
    // the first line, one of another name, and one in the body.
    let head = b"server-timing: x;dur=1\r\nserver-timing: a;dur=1\nX-Server-Timing: x;dur=1\r\n\
                 SERVER-TIMING:b;dur=2\r\n\r\nServer-Timing: x;dur=1\r\n\r\n";
    let expected = [("a".to_owned(), 1_000_000), ("b".to_owned(), 2_000_000)];
    assert_eq!(timings(head), expected);
    assert_eq!(timings(b""), []);
    // A number that is cut off may be a different one.
    assert_eq!(timings(b"HTTP/1.1 200 OK\r\nServer-Timing"), []);
    assert_eq!(timings(b"HTTP/1.1 200 OK\r\nServer-Timing: a;dur=1"), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_head_is_read_and_names_are_in_it(
        parts in vec(prop::sample::select(&[
            "a", ";", ",", "dur=", "=", "\"", "\\", "1", ".5", "-", " ", "\r\n", "\n",
            "Server-Timing:", "\u{e4}", "e9",
        ][..]), 0..40),
    ) {
        // Method: random sequences of the parts of such a header.
        let head = format!("HTTP/1.1 200 OK\r\nServer-Timing: {}\r\n", parts.concat());
        for (name, span_ns) in timings(head.as_bytes()) {
            prop_assert!(head.contains(&name) && !name.is_empty());
            prop_assert!(span_ns <= 1_000_000_000_000_000);
        }
    }
}
