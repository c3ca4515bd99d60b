//! Properties that hold for any bytes, checked by the functions that the fuzz targets call.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::fuzz::http2 as fuzz;

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

/// Frames of all kinds as a client writes them, right and wrong.
fn any_frame_of_a_client() -> impl Strategy<Value = Vec<u8>> {
    let stream = prop::sample::select(vec![0_u32, 1, 3, 5, 7, 2, 99]);
    let block = prop::sample::select(vec![
        GET.to_vec(),
        POST.to_vec(),
        [POST, &field("content-length", "5")].concat(),
        [GET, &[0x40, 1, b'a', 1, b'b']].concat(),
        [GET, &[0xbe]].concat(),
        [&[0x20][..], GET].concat(),
        field("a", "b"),
        GET[..1].to_vec(),
        vec![0x80],
    ]);
    let length = prop::sample::select(vec![0_usize, 1, 4, 5, 6, 8, 300]);
    let flags = prop::sample::select(vec![0_u8, 1, 4, 5, 5, 8, 9, 0x2d]);
    (0..11_u8, flags, stream, block, length, 0..3_u8).prop_map(
        |(kind, flags, stream, block, length, byte)| match kind {
            HEADERS | CONTINUATION => frame(kind, flags, stream, &block),
            // Also on the connection, which it would mostly break elsewhere.
            SETTINGS | PING => frame(kind, flags, stream % 2, &vec![byte; length]),
            _ => frame(kind, flags, stream, &vec![byte; length]),
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes_are_handled_and_pieces_change_nothing(data in vec(any::<u8>(), 0..200)) {
        // Method: noise, whole and in pieces.
        fuzz::client(&data);
    }

    #[test]
    fn any_order_of_frames_is_handled_and_pieces_change_nothing(
        choices in any::<[u8; 2]>(),
        frames in vec(any_frame(), 0..12),
    ) {
        // Method: plausible frames in any order, so that responses and faults occur.
        let mut data = choices.to_vec();
        data.extend(frames.concat());
        fuzz::client(&data);
    }

    #[test]
    fn a_server_handles_any_bytes_and_pieces_change_nothing(data in vec(any::<u8>(), 0..200)) {
        // Method: noise, whole and in pieces.
        fuzz::server(&data);
    }

    #[test]
    fn a_server_handles_any_order_of_frames_and_pieces_change_nothing(
        choices in any::<[u8; 2]>(),
        frames in vec(any_frame_of_a_client(), 0..12),
    ) {
        // Method: plausible frames in any order; each whole request gets a response as far as
        // there is room.
        let mut data = choices.to_vec();
        data.extend(frames.concat());
        fuzz::server(&data);
    }

    #[test]
    fn both_sides_exchange_any_requests_however_the_bytes_are_cut(
        requests in vec((0..3_usize, 0..150_000_usize, 0..150_000_usize), 1..20),
        cuts in vec(1..20_000_usize, 1..20),
    ) {
        // Method: our client and our server, bytes between them in pieces; requests with
        // bodies, responses with bodies above the client's first windows, each in its turn.
        let mut pair = Pair::of(&requests);
        // One large piece per cycle, so that small ones alone cannot use up the turns.
        let mut cuts = cuts.iter().chain(&[20_000]).cycle();
        let mut left = 100_000;
        while !pair.is_over() {
            pair.turn(*cuts.next().unwrap());
            left -= 1;
            prop_assert!(left > 0, "they wait for each other");
        }
        pair.check()?;
    }
}

/// Our client and our server, and the bytes between them.
struct Pair<'a> {
    requests: &'a [(usize, usize, usize)],
    client: Client,
    server: Server,
    /// Bytes under way from the client, and from the server.
    wire: [Vec<u8>; 2],
    /// The stream of each request begun.
    streams: Vec<u32>,
    /// Streams and the bytes left of their responses.
    unsent: Vec<(u32, usize)>,
    done: Vec<(u32, u64)>,
}

const METHODS: [&str; 3] = ["GET", "HEAD", "POST"];

impl Pair<'_> {
    fn of(requests: &[(usize, usize, usize)]) -> Pair<'_> {
        let mut wire = [Vec::new(), Vec::new()];
        let client = Client::open(&mut wire[0]);
        let server = Server::open(&mut wire[1]);
        Pair {
            requests,
            client,
            server,
            wire,
            streams: Vec::new(),
            unsent: Vec::new(),
            done: Vec::new(),
        }
    }

    fn is_over(&self) -> bool {
        self.done.len() == self.requests.len()
    }

    /// The request on this stream: method, bytes of its body, and bytes of the response's body.
    fn request(&self, stream: u32) -> (usize, usize, usize) {
        let index = self
            .streams
            .iter()
            .position(|begun| *begun == stream)
            .unwrap();
        self.requests[index]
    }

    /// Sends the next request, and delivers up to `cut` bytes to each side.
    fn turn(&mut self, cut: usize) {
        if let Some((method, sent, _)) = self.requests.get(self.streams.len()) {
            let body = match *method {
                2 => vec![b'q'; *sent],
                _ => Vec::new(),
            };
            let request = encoded(METHODS[*method], &body);
            self.streams
                .extend(self.client.begin(&request, &mut self.wire[0]));
        }
        let arrived = take(&mut self.wire[0], cut);
        let mut input = &arrived[..];
        let mut complete = Vec::new();
        while let Some(event) = self.server.receive(&mut input, &mut self.wire[1]) {
            match event {
                RequestEvent::Head { .. } => {}
                RequestEvent::Done { stream } => complete.push(stream),
                other => panic!("{other:?}"),
            }
        }
        for stream in complete {
            let (method, _, length) = self.request(stream);
            let ends = length == 0 || method == 1;
            let head = ResponseHead {
                status: 200,
                content_length: length as u64,
                content_type: "text/plain",
            };
            self.server.respond(stream, &head, ends, &mut self.wire[1]);
            if !ends {
                self.unsent.push((stream, length));
            }
        }
        self.send(cut);
        let arrived = take(&mut self.wire[1], cut);
        let mut input = &arrived[..];
        while let Some(event) = self.client.receive(&mut input, &mut self.wire[0]) {
            match event {
                Event::Done { stream, done } => self.done.push((stream, done.body_bytes)),
                Event::Failed(_) | Event::StreamFailed { .. } => panic!("{event:?}"),
                _ => {}
            }
        }
    }

    fn send(&mut self, most: usize) {
        for (stream, left) in &mut self.unsent {
            let part = self.server.room(*stream).min(*left).min(most);
            let body = vec![b'a'; part];
            self.server
                .send(*stream, &body, part == *left, &mut self.wire[1]);
            *left -= part;
        }
        self.unsent.retain(|(_, left)| *left > 0);
    }

    /// Each finished request has got its response's body.
    fn check(&self) -> Result<(), TestCaseError> {
        for (stream, bytes) in &self.done {
            let (method, _, length) = self.request(*stream);
            let expected = if method == 1 { 0 } else { length };
            prop_assert_eq!(*bytes, expected as u64);
        }
        Ok(())
    }
}

fn take(from: &mut Vec<u8>, bytes: usize) -> Vec<u8> {
    let bytes = bytes.min(from.len());
    from.drain(..bytes).collect()
}
