//! The contract of every back end, with the same tests for each.
//!
//! To test another back end, add a `contract!` at the end, with a name and a maker.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use abx_engine::testing::{
    Awaits, EpollIo, Io, Random, Ready, Received, TURN_BYTES, Tls, TlsClient, Token,
};
use abx_engine::{TlsPlan, TlsVersion};
use abx_evidence::Wait;
use abx_sys::{Nanos, ServerAddress};
use abx_twin::{
    Loopback, Network, PeerScript, PeerStep, Sealed, Sim, UNUSED_ADDRESS, certificate, sealed,
};

/// A back end, the address of its peer, and the value that keeps the peer running.
struct Made<I>(I, ServerAddress, Box<dyn Any>);

type Maker<I> = fn(PeerScript) -> Made<I>;

/// A back end over the kernel.
fn on_loopback<I, E: Debug>(io: Result<I, E>, script: PeerScript) -> Made<I> {
    let peer = Loopback::start(script);
    Made(io.unwrap(), peer.server_address(), Box::new(peer))
}

/// A back end over the kernel, on a Unix socket.
fn on_unix(script: PeerScript) -> Made<EpollIo> {
    let peer = Loopback::start_unix(script);
    let io = EpollIo::new(Wait::Asleep).unwrap();
    Made(io, peer.server_address(), Box::new(peer))
}

fn on_sim(script: PeerScript) -> Made<Sim> {
    let io = Sim::new(Network::faultless(11), script);
    Made(io, Sim::ADDRESS.into(), Box::new(()))
}

fn on_sim_in_pieces(script: PeerScript) -> Made<Sim> {
    let mut network = Network::faultless(12);
    network.faults.split = 700;
    network.faults.slow = 200;
    network.faults.reorder = 700;
    Made(Sim::new(network, script), Sim::ADDRESS.into(), Box::new(()))
}

/// One back end over another: see [`abx_twin::Sealed`].
fn on_sealed(script: PeerScript) -> Made<Sealed<Sim>> {
    let Made(io, address, peer) = on_sim_in_pieces(sealed(script));
    Made(Sealed::over(io), address, peer)
}

/// TLS of this version over the kernel's sockets.
fn on_tls(version: TlsVersion, script: PeerScript) -> Made<Tls<EpollIo>> {
    let peer = Loopback::start_tls(certificate::server(), script);
    let plan = TlsPlan {
        version: Some(version),
        ..certificate::plan()
    };
    let client = TlsClient::of(&plan, 1).unwrap();
    let io = Tls::over(EpollIo::new(Wait::Asleep).unwrap(), client);
    Made(io, peer.server_address(), Box::new(peer))
}

/// How long a test waits for an event that must come, on the back end's clock.
const PATIENCE: Nanos = Nanos(20_000_000_000);

/// A user of a back end that follows the contract.
struct User<I: Io> {
    io: I,
    address: ServerAddress,
    ready: Vec<Ready>,
    _peer: Box<dyn Any>,
}

/// How a stream ended.
#[derive(Debug, PartialEq)]
enum PullEnd {
    Ended,
    Failed,
    /// There were enough bytes.
    Enough,
}

fn token(slot: u32, generation: u32) -> Token {
    Token { slot, generation }
}

/// Bytes that differ by place, so that missing and repeated bytes are detected.
fn pattern(count: usize) -> Arc<[u8]> {
    (0..count).map(|place| (place % 251) as u8).collect()
}

impl<I: Io> User<I> {
    fn new(
        maker: Maker<I>,
        script: impl Fn(usize) -> Vec<PeerStep> + Send + Sync + 'static,
    ) -> User<I> {
        let Made(io, address, peer) = maker(Box::new(script));
        User {
            io,
            address,
            ready: Vec::new(),
            _peer: peer,
        }
    }

    /// Waits until something is ready, and panics if nothing ever is.
    fn wait(&mut self) -> Vec<Ready> {
        let deadline = self.io.now().plus(PATIENCE);
        loop {
            let now = self.io.wait(deadline, Awaits::Responses, &mut self.ready);
            if !self.ready.is_empty() {
                return std::mem::take(&mut self.ready);
            }
            assert!(now < deadline, "nothing became ready");
        }
    }

    /// Connects, and waits until the connection is open.
    fn connect(&mut self, token: Token) {
        self.io.connect(token, &self.address, None).unwrap();
        loop {
            for ready in self.wait() {
                match ready {
                    Ready::Connected(which) if which == token => return,
                    Ready::Unconnected(_, error) => panic!("{error}"),
                    _ => {}
                }
            }
        }
    }

    /// Sends all bytes, and waits for room where necessary.
    fn send(&mut self, token: Token, bytes: &[u8]) {
        let mut sent = self.io.send(token, bytes).unwrap();
        while sent < bytes.len() {
            for ready in self.wait() {
                if matches!(ready, Ready::MaySend(which) if which == token) {
                    sent += self.io.send(token, &bytes[sent..]).unwrap();
                }
            }
        }
        assert_eq!(sent, bytes.len());
    }

    /// Pulls until the end, or until `enough` bytes came, which includes skipped bytes.
    fn pull(
        &mut self,
        token: Token,
        enough: usize,
        mut take: impl FnMut(&[u8]),
    ) -> (usize, PullEnd) {
        let mut count = 0;
        loop {
            match self.io.receive(token) {
                Received::Bytes(bytes) => {
                    assert!(!bytes.is_empty());
                    count += bytes.len();
                    take(bytes);
                }
                Received::Skipped(bytes) => {
                    assert!(bytes > 0);
                    count += usize::try_from(bytes).unwrap();
                }
                Received::Ended => return (count, PullEnd::Ended),
                Received::Failed => return (count, PullEnd::Failed),
                Received::Nothing if count >= enough => return (count, PullEnd::Enough),
                Received::Nothing => self.wait_receivable(token),
            }
        }
    }

    fn wait_receivable(&mut self, token: Token) {
        let is_ours = |ready: &Ready| matches!(ready, Ready::Receivable(which) if *which == token);
        while !self.wait().iter().any(is_ours) {}
    }

    /// All bytes until the end.
    fn read(&mut self, token: Token, enough: usize) -> (Vec<u8>, PullEnd) {
        let mut all_bytes = Vec::new();
        let (count, end) = self.pull(token, enough, |bytes| all_bytes.extend_from_slice(bytes));
        assert_eq!(count, all_bytes.len());
        (all_bytes, end)
    }
}

fn refusals_are_reported<I: Io>(maker: Maker<I>) {
    // Method: an address at which nothing listens. The error is the same at once and by `wait`, and
    // the place is free for another connection.
    let mut user = User::new(maker, |_| Vec::new());
    let error = match user.io.connect(token(0, 0), &UNUSED_ADDRESS.into(), None) {
        Err(error) => error,
        Ok(()) => match user.wait().pop() {
            Some(Ready::Unconnected(which, error)) if which == token(0, 0) => error,
            other => panic!("{other:?}"),
        },
    };
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
    user.connect(token(0, 1));
}

fn bytes_come_whole_and_before_the_end<I: Io>(maker: Maker<I>) {
    // Method: small and large responses, followed by a close, and a response with a later reset,
    // since a reset may overtake bytes in the kernel. A Unix socket is only reset by a peer that
    // leaves bytes unread, as this peer does.
    for bytes in [1, 300, 70_000, 3_000_000] {
        let all_bytes = pattern(bytes);
        let sent = Arc::clone(&all_bytes);
        let mut user = User::new(maker, move |_| {
            vec![PeerStep::Send(Arc::clone(&sent)), PeerStep::Close]
        });
        user.connect(token(3, 9));
        let (got, end) = user.read(token(3, 9), usize::MAX);
        assert!(*got == *all_bytes, "{} of {bytes} bytes", got.len());
        assert_eq!(end, PullEnd::Ended);
    }
    let bytes = pattern(200);
    let sent = Arc::clone(&bytes);
    let mut user = User::new(maker, move |_| {
        vec![
            PeerStep::Send(Arc::clone(&sent)),
            PeerStep::Await(1),
            PeerStep::Reset,
        ]
    });
    user.connect(token(0, 0));
    assert_eq!(
        user.read(token(0, 0), 200),
        (bytes.to_vec(), PullEnd::Enough)
    );
    user.send(token(0, 0), b"xy");
    assert_eq!(
        user.read(token(0, 0), usize::MAX),
        (Vec::new(), PullEnd::Failed)
    );
}

fn an_end_shows_whether_the_peer_had_all_of_a_request<I: Io>(maker: Maker<I>) {
    // Method: a peer that closes after it has read the request, and one that has closed before, so
    // that its kernel responds to the request with a reset.
    for has_read in [true, false] {
        let mut user = User::new(maker, move |_| {
            if has_read {
                vec![PeerStep::Await(3), PeerStep::Close]
            } else {
                vec![PeerStep::Close]
            }
        });
        user.connect(token(0, 0));
        if has_read {
            user.send(token(0, 0), b"xyz");
        }
        let (got, end) = user.read(token(0, 0), usize::MAX);
        assert_eq!((got.len(), end), (0, PullEnd::Ended));
        if has_read || user.io.send(token(0, 0), b"xyz").is_ok() {
            assert_eq!(user.io.is_acknowledged(token(0, 0)), has_read);
        }
    }
}

fn requests_go_out_whole<I: Io>(maker: Maker<I>) {
    // Method: two requests, one of them larger than every buffer, whose ends come back unchanged.
    let sizes = [43, 16_000_000];
    let mut user = User::new(maker, move |_| {
        vec![
            PeerStep::Await(sizes[1] - 100),
            PeerStep::Echo(100),
            PeerStep::Echo(sizes[0]),
        ]
    });
    let bytes = sizes.map(pattern);
    user.connect(token(1, 0));
    user.send(token(1, 0), &bytes[1]);
    let (got, _) = user.read(token(1, 0), 100);
    assert!(*got == bytes[1][sizes[1] - 100..]);
    user.send(token(1, 0), &bytes[0]);
    assert_eq!(user.read(token(1, 0), sizes[0]).0, *bytes[0]);
}

fn sent_bytes_keep_their_order<I: Io>(maker: Maker<I>) {
    // Method: few bytes, and more than fit in any buffer, between two requests, without a wait that
    // could pass any of them on. They come back in the same order.
    for bytes in [5, 16_000_000] {
        let middle = pattern(bytes);
        let mut user = User::new(maker, move |_| {
            vec![
                PeerStep::Echo(7),
                PeerStep::Await(bytes - 5),
                PeerStep::Echo(12),
            ]
        });
        user.connect(token(0, 0));
        for part in [b"request", &*middle, b"request"] {
            user.send(token(0, 0), part);
        }
        let expected = [b"request", &middle[bytes - 5..], b"request"].concat();
        assert_eq!(user.read(token(0, 0), 19).0, expected);
    }
}

fn exactly_the_requested_bytes_are_skipped<I: Io>(maker: Maker<I>) {
    // Method: random skips between random reads of a known stream, with pulls of any size. Every
    // byte that is not skipped must be the one at its place.
    const BYTES: usize = 2_000_000;
    let all_bytes = pattern(BYTES);
    for seed in 0..6 {
        let sent = Arc::clone(&all_bytes);
        let mut user = User::new(maker, move |_| {
            vec![PeerStep::Send(Arc::clone(&sent)), PeerStep::Close]
        });
        let mut random = Random::new(seed);
        user.connect(token(0, 0));
        user.io.limit_receive(token(0, 0), 1000);
        let (mut place, mut to_skip, mut skipped) = (0_usize, 0_u64, 0_u64);
        loop {
            match user.io.receive(token(0, 0)) {
                Received::Bytes(bytes) => {
                    assert_eq!(to_skip, 0, "bytes came before all was skipped");
                    assert!(
                        *bytes == all_bytes[place..place + bytes.len()],
                        "at {place}"
                    );
                    place += bytes.len();
                    to_skip = random.below(150_000).min((BYTES - place) as u64);
                    if to_skip > 0 {
                        user.io.skip(token(0, 0), to_skip);
                    }
                    let most = usize::try_from(random.below(20_000)).unwrap();
                    user.io.limit_receive(token(0, 0), most);
                }
                Received::Skipped(bytes) => {
                    assert!(0 < bytes && bytes <= to_skip);
                    to_skip -= bytes;
                    skipped += bytes;
                    place += usize::try_from(bytes).unwrap();
                }
                Received::Nothing => user.wait_receivable(token(0, 0)),
                Received::Ended => break,
                Received::Failed => panic!("failed at {place}"),
            }
        }
        assert_eq!((place, to_skip), (BYTES, 0));
        assert!(skipped > 0);
    }
}

fn a_stream_that_ends_while_it_is_skipped_ends<I: Io>(maker: Maker<I>) {
    // Method: a skip of 1,000 bytes in a stream of 100.
    let mut user = User::new(maker, |_| {
        vec![PeerStep::Send(pattern(100)), PeerStep::Close]
    });
    user.connect(token(0, 0));
    user.io.skip(token(0, 0), 1000);
    let pulled = user.pull(token(0, 0), usize::MAX, |_| panic!("bytes to be skipped"));
    assert_eq!(pulled, (100, PullEnd::Ended));
}

fn a_closed_connection_has_no_further_events<I: Io>(maker: Maker<I>) {
    // Method: connections at one place, each closed with bytes, an end or nothing in transit. The
    // next connection must see only its own bytes.
    const ROUNDS: u32 = 60;
    let mut user = User::new(maker, |number| {
        vec![
            PeerStep::Send(vec![number as u8; 500].into()),
            PeerStep::Close,
        ]
    });
    for generation in 0..ROUNDS {
        let token = token(2, generation);
        user.io.connect(token, &user.address, None).unwrap();
        // Closed while it is being made, when it is open, or with bytes to receive.
        let (mut is_open, mut has_bytes) = (false, false);
        while (generation % 3 > 0 && !is_open) || (generation % 3 > 1 && !has_bytes) {
            for ready in user.wait() {
                match ready {
                    Ready::Connected(which) if which == token => is_open = true,
                    Ready::Receivable(which) if which == token => has_bytes = true,
                    _ => panic!("{ready:?}"),
                }
            }
        }
        user.io.close(token);
    }
    let last = token(2, ROUNDS);
    user.connect(last);
    let (got, end) = user.read(last, usize::MAX);
    assert_eq!((got.len(), end), (500, PullEnd::Ended));
    assert!(got.iter().all(|byte| *byte == got[0]));
}

fn many_connections_have_each_their_response<I: Io>(maker: Maker<I>) {
    // Method: more connections than a list of events holds, each with a different request to be
    // echoed, all in flight together.
    const COUNT: u32 = 520;
    let mut user = User::new(maker, |_| vec![PeerStep::Echo(4)]);
    for slot in 0..COUNT {
        user.connect(token(slot, 5));
    }
    for slot in 0..COUNT {
        let request = slot.to_be_bytes();
        assert_eq!(user.io.send(token(slot, 5), &request).unwrap(), 4);
    }
    let mut left: Vec<Vec<u8>> = (0..COUNT).map(|slot| slot.to_be_bytes().to_vec()).collect();
    while left.iter().any(|bytes| !bytes.is_empty()) {
        for ready in user.wait() {
            let Ready::Receivable(which) = ready else {
                continue;
            };
            let left = &mut left[which.slot as usize];
            while let Received::Bytes(bytes) = user.io.receive(which) {
                assert_eq!(*bytes, left[..bytes.len()]);
                left.drain(..bytes.len());
            }
        }
    }
}

fn a_turn_ends_and_the_rest_is_listed_again<I: Io>(maker: Maker<I>) {
    // Method: two peers that send 5 MB each as fast as they can. Between two waits a connection
    // receives at most a turn and one pull, and all bytes arrive in the end.
    const BYTES: usize = 5_000_000;
    let sent = pattern(BYTES);
    let mut user = User::new(maker, move |_| vec![PeerStep::Send(Arc::clone(&sent))]);
    let tokens = [token(0, 0), token(1, 0)];
    tokens.iter().for_each(|token| user.connect(*token));
    let mut received = [0; 2];
    let mut ready: Vec<Ready> = tokens.map(Ready::Receivable).into();
    while received != [BYTES; 2] {
        for event in ready {
            let Ready::Receivable(token) = event else {
                panic!("{event:?}");
            };
            let mut turn = 0;
            while let Received::Bytes(bytes) = user.io.receive(token) {
                turn += bytes.len();
            }
            received[token.slot as usize] += turn;
            assert!(turn <= 2 * TURN_BYTES, "{turn} bytes in one turn");
        }
        ready = if received == [BYTES; 2] {
            Vec::new()
        } else {
            user.wait()
        };
    }
}

fn a_wait_ends_at_its_time_and_time_goes_on<I: Io>(maker: Maker<I>) {
    // Method: waits without events, until moments in the past, and until moments that are not
    // whole milliseconds away.
    let mut user = User::new(maker, |_| Vec::new());
    user.connect(token(0, 0));
    for span in [0, 50_000, 1_500_000, 3_000_000] {
        let before = user.io.now();
        let until = before.plus(Nanos(span));
        let mut now = before;
        while now < until {
            now = user.io.wait(until, Awaits::Responses, &mut user.ready);
            assert!(user.ready.is_empty() && now >= before);
        }
        assert!(user.io.now() >= now);
        let past = user.io.wait(Nanos(0), Awaits::Responses, &mut user.ready);
        assert!(user.ready.is_empty() && past >= now);
    }
}

/// All checks on one back end.
macro_rules! contract {
    ($name:ident, $maker:expr) => {
        mod $name {
            contract!(
                $maker;
                an_end_shows_whether_the_peer_had_all_of_a_request
            );
            contract!(shared $maker);
        }
    };
    // A layer whose end of a stream may come before that of the kernel.
    (layer $name:ident, $maker:expr) => {
        mod $name {
            contract!(shared $maker);
        }
    };
    (shared $maker:expr) => {
            contract!(
                $maker;
                refusals_are_reported
                bytes_come_whole_and_before_the_end
                requests_go_out_whole
                sent_bytes_keep_their_order
                exactly_the_requested_bytes_are_skipped
                a_stream_that_ends_while_it_is_skipped_ends
                a_closed_connection_has_no_further_events
                many_connections_have_each_their_response
                a_turn_ends_and_the_rest_is_listed_again
                a_wait_ends_at_its_time_and_time_goes_on
            );
    };
    ($maker:expr; $($check:ident)*) => {
        $(#[test]
        fn $check() {
            super::$check($maker);
        })*
    };
}

contract!(epoll, |script| super::on_loopback(
    super::EpollIo::new(super::Wait::Asleep),
    script
));
contract!(epoll_awake, |script| super::on_loopback(
    super::EpollIo::new(super::Wait::Awake),
    script
));
// A Unix socket has no acknowledgements: its end with unread bytes is a failure.
contract!(layer epoll_unix, super::on_unix);
contract!(sim, super::on_sim);
contract!(sim_in_pieces, super::on_sim_in_pieces);
contract!(sealed_in_pieces, super::on_sealed);
contract!(sealed_on_epoll, |script| {
    let super::Made(io, address, peer) = super::on_loopback(
        super::EpollIo::new(super::Wait::Asleep),
        super::sealed(script),
    );
    super::Made(super::Sealed::over(io), address, peer)
});
contract!(layer tls_12, |script| super::on_tls(super::TlsVersion::Tls12, script));
contract!(layer tls_13, |script| super::on_tls(super::TlsVersion::Tls13, script));
