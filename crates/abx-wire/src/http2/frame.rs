//! Frames: their nine bytes of head, and how they are written (RFC 9113, sections 4 and 6).

/// Bytes of a frame's head.
pub(super) const HEAD_BYTES: usize = 9;
/// The longest payload that we accept, and the longest that every peer accepts.
pub(super) const PAYLOAD_BYTES_MAX: usize = 16_384;

pub(super) const DATA: u8 = 0x0;
pub(super) const HEADERS: u8 = 0x1;
pub(super) const PRIORITY: u8 = 0x2;
pub(super) const RST_STREAM: u8 = 0x3;
pub(super) const SETTINGS: u8 = 0x4;
pub(super) const PUSH_PROMISE: u8 = 0x5;
pub(super) const PING: u8 = 0x6;
pub(super) const GOAWAY: u8 = 0x7;
pub(super) const WINDOW_UPDATE: u8 = 0x8;
pub(super) const CONTINUATION: u8 = 0x9;

/// The flag of SETTINGS and PING.
pub(super) const ACK: u8 = 0x1;
pub(super) const END_STREAM: u8 = 0x1;
pub(super) const END_HEADERS: u8 = 0x4;
pub(super) const PADDED: u8 = 0x8;
/// Of HEADERS: five bytes of priority stand before the block.
pub(super) const PRIORITISED: u8 = 0x20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl FrameHeader {
    pub(super) fn read(bytes: &[u8; HEAD_BYTES]) -> FrameHeader {
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = *bytes;
        FrameHeader {
            length: usize::from(l0) << 16 | usize::from(l1) << 8 | usize::from(l2),
            kind,
            flags,
            stream: number([s0, s1, s2, s3]),
        }
    }

    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// A number of 31 bits, whose first bit is ignored.
pub(super) fn number(bytes: [u8; 4]) -> u32 {
    u32::from_be_bytes(bytes) & 0x7fff_ffff
}

#[inline]
pub(super) fn head(out: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    let length = u32::try_from(length).expect("a frame is at most 16 MiB long");
    let [_, l0, l1, l2] = length.to_be_bytes();
    let [s0, s1, s2, s3] = stream.to_be_bytes();
    out.extend_from_slice(&[l0, l1, l2, kind, flags, s0, s1, s2, s3]);
}

/// Writes a header block after `update`, in as many frames as needed.
pub(super) fn headers(
    out: &mut Vec<u8>,
    stream: u32,
    update: &[u8],
    block: &[u8],
    ends_stream: bool,
) {
    let first = block.len().min(PAYLOAD_BYTES_MAX - update.len());
    let (first, mut rest) = block.split_at(first);
    let end_stream = if ends_stream { END_STREAM } else { 0 };
    let flags = end_stream | end_headers(rest);
    head(out, update.len() + first.len(), HEADERS, flags, stream);
    out.extend_from_slice(update);
    out.extend_from_slice(first);
    while !rest.is_empty() {
        let (next, behind) = rest.split_at(rest.len().min(PAYLOAD_BYTES_MAX));
        head(out, next.len(), CONTINUATION, end_headers(behind), stream);
        out.extend_from_slice(next);
        rest = behind;
    }
}

fn end_headers(behind: &[u8]) -> u8 {
    if behind.is_empty() { END_HEADERS } else { 0 }
}

/// Allows a stream, or with 0 the connection, to send this many more bytes.
pub(super) fn window_update(out: &mut Vec<u8>, stream: u32, bytes: u32) {
    head(out, 4, WINDOW_UPDATE, 0, stream);
    out.extend_from_slice(&bytes.to_be_bytes());
}

/// Ends a stream early.
pub(super) fn reset(out: &mut Vec<u8>, stream: u32, code: u32) {
    head(out, 4, RST_STREAM, 0, stream);
    out.extend_from_slice(&code.to_be_bytes());
}

/// Announces that the connection ends, and the number of the peer's last stream that is
/// processed: 0 from a client, which takes none.
pub(super) fn go_away(out: &mut Vec<u8>, last_stream: u32, code: u32) {
    head(out, 8, GOAWAY, 0, 0);
    out.extend_from_slice(&last_stream.to_be_bytes());
    out.extend_from_slice(&code.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_block_is_sent_in_several_frames_and_read_back() {
        // Method: blocks around the length of one and of two frames; the frames are read
        // again, and their payloads put together.
        for bytes in [0, 1, 16_383, 16_384, 16_385, 40_000] {
            let block: Vec<u8> = (0..bytes).map(|index| (index % 251) as u8).collect();
            let mut out = Vec::new();
            headers(&mut out, 7, &[0x20], &block, true);
            let (mut input, mut read, mut heads) = (&out[..], Vec::new(), Vec::new());
            while let Some((head, rest)) = input.split_first_chunk() {
                let head = FrameHeader::read(head);
                let (payload, rest) = rest.split_at(head.length);
                read.extend_from_slice(payload);
                heads.push(head);
                input = rest;
            }
            assert_eq!(read[1..], block, "{bytes}");
            let last = heads.len() - 1;
            for (index, head) in heads.iter().enumerate() {
                assert_eq!(head.stream, 7);
                assert!(head.length <= PAYLOAD_BYTES_MAX);
                assert_eq!(head.has(END_HEADERS), index == last);
                let kind = if index == 0 { HEADERS } else { CONTINUATION };
                assert_eq!(head.kind, kind);
            }
            assert!(heads[0].has(END_STREAM));
        }
    }
}
