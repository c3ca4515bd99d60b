//! Requests on separate streams, over the simulated back end.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use abx_engine::testing::{Http2, Pool};
use abx_engine::{HttpVersion, LoadPlan};
use abx_evidence::{Outcome, Outcomes, Phase};
use abx_sys::Nanos;
use abx_twin::{Discipline, Network, PeerScript, PeerStep, Service, Sim};
use abx_wire::http2;

use crate::loads::{MS, count, plan, run, run_requests};
use crate::pipelined::all_faults;

const BODY: &[u8] = b"hello";
/// The server's first bytes on a connection.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
/// The length of the client's response to [`SETTINGS`].
const ACKNOWLEDGEMENT_BYTES: usize = 9;
const END_STREAM: u8 = 1;
const FRAME_BYTES_MAX: usize = 16_384;

pub(crate) fn streams_plan(connections: u32, body: &[u8], streams: u32, seed: u64) -> LoadPlan {
    let mut plan = plan(connections, body, seed);
    plan.pipeline = streams;
    plan.requests[0].request.version = HttpVersion::Http2;
    plan
}

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let stream = stream.to_be_bytes();
    [&length[1..], &[kind, flags], &stream, payload].concat()
}

/// A complete response, with its body in as many frames as it needs.
fn response(stream: u32, body: &[u8]) -> PeerStep {
    let mut bytes = frame(1, 4, stream, &[0x88]);
    let mut parts = body.chunks(FRAME_BYTES_MAX).peekable();
    while let Some(part) = parts.next() {
        let flags = if parts.peek().is_none() {
            END_STREAM
        } else {
            0
        };
        bytes.extend(frame(0, flags, stream, part));
    }
    PeerStep::Send(bytes.into())
}

/// The identifier of the stream of the request at this place.
fn stream(place: u32) -> u32 {
    2 * place + 1
}

/// The lengths in bytes of a connection's opening, of its first request, and of each later request.
pub(crate) struct RequestLengths {
    opening: usize,
    first: usize,
    other: usize,
}

impl RequestLengths {
    pub(crate) fn of(plan: &LoadPlan) -> RequestLengths {
        let request = plan.requests[0].request.encode_stream(false).unwrap();
        let mut out = Vec::new();
        let mut client = http2::Client::open(&mut out);
        let mut write = |out: &mut Vec<u8>| {
            out.clear();
            client.begin(&request, out).unwrap();
            out.len()
        };
        RequestLengths {
            opening: out.len(),
            first: write(&mut out),
            other: write(&mut out),
        }
    }

    /// The steps of a connection that awaits this many requests in turn; `then` gives the steps
    /// after the request at each place.
    pub(crate) fn steps(
        &self,
        requests: u32,
        then: impl Fn(u32) -> Vec<PeerStep>,
    ) -> Vec<PeerStep> {
        let opening = [
            PeerStep::Await(self.opening),
            PeerStep::Send(SETTINGS.into()),
            PeerStep::Await(ACKNOWLEDGEMENT_BYTES),
        ];
        let exchanges = (0..requests).flat_map(|place| {
            let bytes = if place == 0 { self.first } else { self.other };
            let mut steps = vec![PeerStep::Await(bytes)];
            steps.extend(then(place));
            steps
        });
        opening.into_iter().chain(exchanges).collect()
    }
}

/// A pool whose connections all have these steps.
fn pool_of(network: Network, plan: LoadPlan, steps: Vec<PeerStep>) -> Pool<Sim, Http2> {
    let steps: Arc<[PeerStep]> = steps.into();
    pool_of_script(network, plan, Box::new(move |_| steps.to_vec()))
}

/// A pool whose connections follow a script.
pub(crate) fn pool_of_script(
    network: Network,
    plan: LoadPlan,
    script: PeerScript,
) -> Pool<Sim, Http2> {
    let request = plan.requests[0].request.encode_stream(false).unwrap();
    let sim = Sim::new(network, script);
    let connections = plan.connections as usize;
    let http2 = Http2::new(vec![request]);
    let mut pool = Pool::new(sim, http2, plan, vec![Vec::new()], 0, connections);
    pool.connect_all(&AtomicBool::new(false));
    pool
}

#[test]
fn a_closed_loop_of_streams_reaches_the_capacity_of_the_server() {
    // Method: a server of 1,000 requests a second and five connections of four streams, with
    // responses in order and with the responses of each pair swapped, in slices of 5, 10 and 50
    // response times. The throughput is within 1 % of the capacity.
    for discipline in [Discipline::Fifo, Discipline::ByConnection(4)] {
        for is_reversed in [false, true] {
            for (turns, slices) in [(5, 30), (10, 15), (50, 4)] {
                let mut plan = streams_plan(5, BODY, 4, 5);
                plan.verify_every = 3;
                plan.timeout = Duration::from_nanos(3_000 * MS);
                let steps = RequestLengths::of(&plan).steps(4_000, |place| {
                    if !is_reversed {
                        vec![PeerStep::Work, response(stream(place), BODY)]
                    } else if place % 2 == 0 {
                        Vec::new()
                    } else {
                        vec![
                            PeerStep::Work,
                            response(stream(place), BODY),
                            PeerStep::Work,
                            response(stream(place - 1), BODY),
                        ]
                    }
                });
                let network = Network {
                    discipline,
                    service: Service::Constant(Nanos(MS)),
                    workers: 1,
                    ..Network::faultless(5)
                };
                let mut pool = pool_of(network, plan, steps);
                let (mut clocks, mut clocked, mut connection_ns) = (0, 0, 0);
                for _ in 0..slices {
                    run(&mut pool, (2 + turns) * 20 * MS, 40 * MS);
                    let tally = pool.tally();
                    assert_eq!(tally.outcomes.failed(), 0, "{:?}", tally.outcomes);
                    clocks = tally.clocks;
                    clocked += tally.clocked;
                    connection_ns += tally.connection_ns;
                }
                let per_s = clocks as f64 * clocked as f64 * 1e9 / connection_ns as f64;
                let off = per_s / 1_000.0 - 1.0;
                assert!(
                    off.abs() <= 0.01,
                    "{discipline:?}, reversed {is_reversed}, {turns} turns: {per_s:.1}/s"
                );
            }
        }
    }
}

#[test]
fn phases_of_streams_run_side_by_side() {
    // Method: two requests that are sent together, both sampled. The head of the first response
    // comes first and its body last, so neither request waits for the other. The times are exact,
    // since the peer's delays are known: a round trip of 50 µs and 100 µs for each step of work.
    let mut plan = streams_plan(1, BODY, 2, 1);
    plan.verify_every = 1;
    let head = |stream| PeerStep::Send(frame(1, 4, stream, &[0x88]).into());
    let body = |stream| PeerStep::Send(frame(0, END_STREAM, stream, BODY).into());
    let work = || PeerStep::Work;
    let steps = RequestLengths::of(&plan).steps(2, |place| match place {
        0 => Vec::new(),
        _ => vec![
            work(),
            head(1),
            work(),
            head(3),
            work(),
            body(3),
            work(),
            body(1),
        ],
    });
    let mut pool = pool_of(Network::faultless(1), plan, steps);
    run_requests(&mut pool, 2);
    let tally = pool.tally();
    assert_eq!((tally.outcomes.ok(), tally.hashed), (2, 2));
    let sums = tally.times.phases.sums();
    let us = [
        Phase::Waiting,
        Phase::Connect,
        Phase::FirstByte,
        Phase::Body,
    ]
    .map(|phase| sums.of(phase) / 1_000);
    assert_eq!(us, [0, 0, 150 + 250, 300 + 100]);
}

#[test]
fn no_stream_is_lost_or_counted_twice() {
    // Method: many seeds, each with its own mix of all faults, with bodies of one frame and of
    // several, and 4 and 16 streams; each connection serves 60 requests and then refuses more.
    // Every planned request must have one final outcome.
    let bodies = [vec![b'x'; 87], vec![b'y'; 40_000]];
    let mut seen = Outcomes::default();
    for seed in 0..120 {
        let body = &bodies[usize::try_from(seed % 2).unwrap()];
        let width = [4, 16][usize::try_from(seed / 2 % 2).unwrap()];
        let mut plan = streams_plan(8, body, width, seed);
        plan.timeout = Duration::from_nanos(50 * MS);
        let steps = RequestLengths::of(&plan).steps(60, |place| {
            let mut steps = vec![PeerStep::Work, response(stream(place), body)];
            if place == 59 {
                let last = [&stream(place).to_be_bytes()[..], &[0; 4]].concat();
                steps.push(PeerStep::Send(frame(7, 0, 0, &last).into()));
            }
            steps
        });
        let mut pool = pool_of(all_faults(seed), plan, steps);
        let ran = run_requests(&mut pool, 1_000);

        let tally = pool.tally();
        let total = tally.outcomes.sent() - count(tally, Outcome::IdleClose);
        assert!(
            total == 1_000 || (ran.stopped_responding && total < 1_000),
            "seed {seed}: {total}"
        );
        assert_eq!(pool.in_flight(), 0, "seed {seed}");
        assert!(pool.are_slots_free(), "seed {seed}");
        assert!(pool.are_connection_counts_right(), "seed {seed}");
        let timed = tally.outcomes.completed() + count(tally, Outcome::Timeout);
        assert_eq!(tally.times.response.count(), timed, "seed {seed}");
        assert_eq!(
            tally.body_bytes,
            tally.outcomes.ok() * body.len() as u64,
            "seed {seed}"
        );
        for wrong in [Outcome::Malformed, Outcome::WrongBody, Outcome::WrongLength] {
            assert_eq!(count(tally, wrong), 0, "seed {seed}: {wrong:?}");
        }
        seen.merge(&tally.outcomes);
    }
    for outcome in [
        Outcome::Ok,
        Outcome::Refused,
        Outcome::Reset,
        Outcome::IdleClose,
        Outcome::Timeout,
    ] {
        assert!(seen.count(outcome) > 50, "{outcome:?}: {seen:?}");
    }
}
