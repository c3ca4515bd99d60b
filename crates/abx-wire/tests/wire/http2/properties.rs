//! Promises for any bytes, checked by the body that the fuzz target calls.

use abx_wire::http2::fuzz;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Frames of all kinds, right and wrong, on the streams that are open and on others.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let stream = prop::sample::select(vec![0_u32, 1, 3, 5, 2, 99]);
    let block = prop::sample::select(vec![
        OK.to_vec(),
        OK_5.to_vec(),
        vec![0x48, 3, b'2', b'0', b'1'],
        vec![0xbe],
        vec![0x20, 0x88],
        field("a", "b"),
        field(":status", "100"),
        vec![0x80],
    ]);
    let length = prop::sample::select(vec![0_usize, 1, 4, 5, 8, 300]);
    let flags = prop::sample::select(vec![0_u8, 1, 4, 5, 8, 9, 0x2d]);
    (0..11_u8, flags, stream, block, length, any::<u8>()).prop_map(
        |(kind, flags, stream, block, length, byte)| match kind {
            HEADERS | CONTINUATION => frame(kind, flags, stream, &block),
            _ => frame(kind, flags, stream, &vec![byte; length]),
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes_are_taken_and_pieces_change_nothing(data in vec(any::<u8>(), 0..200)) {
        // Method: noise, whole and in pieces.
        fuzz::client(&data);
    }

    #[test]
    fn any_order_of_frames_is_taken_and_pieces_change_nothing(
        choices in any::<[u8; 2]>(),
        frames in vec(any_frame(), 0..12),
    ) {
        // Method: plausible frames in any order, so that answers and faults come up.
        let mut data = choices.to_vec();
        data.extend(frames.concat());
        fuzz::client(&data);
    }
}
