//! Properties that hold for any bytes, checked by the functions that the fuzz targets call.

use proptest::collection::vec;
use proptest::prelude::*;

use super::support::{
    BINARY, CLOSE, CONTINUATION, FIN, PING, PONG, TEXT, close_payload, masked, plain,
};
use crate::fuzz::websocket as fuzz;

/// Valid and invalid frames, so that random inputs pass the first checks.
fn frame() -> impl Strategy<Value = (u8, Vec<u8>)> {
    let first = prop::sample::select(vec![
        FIN | TEXT,
        TEXT,
        FIN | BINARY,
        BINARY,
        CONTINUATION,
        FIN | CONTINUATION,
        FIN | PING,
        FIN | PONG,
        FIN | CLOSE,
        PING,
        FIN | 3,
        0x40 | FIN | TEXT,
    ]);
    let payload = prop_oneof![
        "\\PC{0,8}".prop_map(String::into_bytes),
        vec(any::<u8>(), 0..8),
        (0_usize..1_200).prop_map(|length| vec![b'x'; length]),
        (990_u16..5_100).prop_map(|code| close_payload(code, b"r")),
    ];
    (first, payload)
}

/// Mostly frames that continue a message, so that messages become complete.
fn frames() -> impl Strategy<Value = Vec<(u8, Vec<u8>)>> {
    vec(frame(), 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_bytes_are_handled_and_pieces_change_nothing(data in vec(any::<u8>(), 0..200)) {
        // Method: noise, whole and in pieces, from a server and from a client.
        fuzz::client(&data);
        fuzz::server(&data);
    }

    #[test]
    fn any_order_of_frames_is_handled_and_pieces_change_nothing(
        seed: u8,
        frames in frames(),
        cut in 0_usize..20,
    ) {
        // Method: plausible frames in any order, the last one perhaps cut off.
        let stream = |frame: fn(u8, &[u8]) -> Vec<u8>, choices: &[u8]| {
            let mut bytes = choices.to_vec();
            frames.iter().for_each(|(first, payload)| bytes.extend(frame(*first, payload)));
            bytes.truncate(bytes.len().saturating_sub(cut).max(choices.len()));
            bytes
        };
        fuzz::client(&stream(plain, &[1, seed]));
        fuzz::server(&stream(masked, &[seed]));
    }

    #[test]
    fn messages_survive_any_cuts_in_both_directions(data in vec(any::<u8>(), 0..2_000)) {
        // Method: messages of 0, 1, 2, ... bytes in fragments of 1 to 32, through
        // both sides in pieces, echoed whole.
        fuzz::round_trip(&data);
    }
}
