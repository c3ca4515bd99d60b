//! Known results: the measured throughput of servers whose capacity is known, in slices as short as
//! those of comparisons.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use abx_engine::schedule::{Arrivals, ScheduleShare};
use abx_engine::testing::{Broadcast, Http, MessageSource, Pool, Protocol, WorkerSlice};
use abx_engine::{LoadPlan, Pacing};
use abx_sys::Nanos;
use abx_twin::{Act, Discipline, Hub, Network, PeerStep, Service, Sim, frame, to_all};

use crate::loads::{MS, SECOND, plan, pool_of_steps, run};
use crate::websocket::broadcasts::{MESSAGE, broadcast_plan};
use crate::websocket::echoes::{echo_plan, talking};

/// The service time of a request.
const WORK: Nanos = Nanos(MS);
const BODY: &[u8] = b"hello";
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
/// The lengths of slices in response times, and the number of slices of each length.
const LENGTHS: [(u64, u64); 3] = [(5, 60), (10, 30), (50, 8)];
/// The largest relative error of a throughput.
const OFF_MAX: f64 = 0.01;

/// The totals of many slices.
#[derive(Default)]
struct Sum {
    connections: u64,
    clocked: u64,
    connection_ns: u64,
}

impl Sum {
    fn add<C: Protocol>(&mut self, pool: &Pool<Sim, C>) {
        let tally = pool.tally();
        self.connections = tally.clocks;
        self.clocked += tally.clocked;
        self.connection_ns += tally.connection_ns;
    }

    fn per_s(&self) -> f64 {
        self.connections as f64 * self.clocked as f64 * 1e9 / self.connection_ns as f64
    }
}

fn assert_near(result: f64, truth: f64, case: &str) {
    let off = result / truth - 1.0;
    assert!(
        off.abs() <= OFF_MAX,
        "{case}: {result:.1}/s, in truth {truth:.1}/s"
    );
}

/// A server of this many workers that all have these service times.
fn server(discipline: Discipline, work: fn() -> Vec<Nanos>, workers: usize) -> Network {
    Network {
        discipline,
        service: Service::Dealt(work),
        workers,
        ..Network::faultless(5)
    }
}

/// Requests that all take the same time.
fn constant() -> Vec<Nanos> {
    vec![WORK]
}

/// Requests with exponential work: the midpoints of a hundred equal parts of the distribution.
fn exponential() -> Vec<Nanos> {
    let middle = |part: u32| 1.0 - (f64::from(part) + 0.5) / 100.0;
    (0..100)
        .map(|part| Nanos((-middle(part).ln() * WORK.0 as f64) as u64))
        .collect()
}

/// One request in ten takes eleven times as long as the others.
fn bimodal() -> Vec<Nanos> {
    let work = |number| Nanos(WORK.0 / 2 * if number == 0 { 11 } else { 1 });
    (0..10).map(work).collect()
}

/// One request in a hundred takes 10 ms, as if the server stalled.
fn stalling() -> Vec<Nanos> {
    let work = |number| Nanos(WORK.0 * if number == 0 { 10 } else { 1 });
    (0..100).map(work).collect()
}

/// The capacity of this many workers per second.
fn capacity(work: fn() -> Vec<Nanos>, workers: usize) -> f64 {
    let times = work();
    let ns: u64 = times.iter().map(|time| time.0).sum();
    workers as f64 * times.len() as f64 * 1e9 / ns as f64
}

/// A pool on a peer that responds on its first `served` connections only.
fn pool(network: Network, mut plan: LoadPlan, served: usize) -> Pool<Sim, Http> {
    plan.verify_every = 0;
    plan.timeout = Duration::from_nanos(3 * SECOND);
    let request = &plan.requests[0].request;
    let request = request.encode(plan.keep_alive).unwrap().len();
    let steps = [
        PeerStep::Await(request),
        PeerStep::Work,
        PeerStep::Send(RESPONSE.into()),
        PeerStep::Again,
    ];
    let script = move |number| {
        if number < served {
            steps.to_vec()
        } else {
            Vec::new()
        }
    };
    let mut pool = pool_of_steps(network, plan, Box::new(script));
    pool.connect_all(&AtomicBool::new(false));
    pool
}

/// The discipline, the service times and the workers of a server, and the window of its
/// connections.
type Case = (Discipline, fn() -> Vec<Nanos>, usize, u32);

/// Asserts the throughputs of servers that are always busy, with 20 requests in flight.
fn assert_counted(cases: &[Case]) {
    assert_counted_beyond([0, 0], 20, cases);
}

/// Asserts the throughputs of servers with `in_flight` requests, in slices whose lead-in and
/// counted part are longer by these spans.
fn assert_counted_beyond([lead_in, counted]: [u64; 2], in_flight: u32, cases: &[Case]) {
    for &(discipline, work, workers, window) in cases {
        for (turns, slices) in LENGTHS {
            let network = server(discipline, work, workers);
            let mut plan = plan(in_flight / window, BODY, 5);
            plan.pipeline = window;
            let mut pool = pool(network, plan, usize::MAX);
            let turn = u64::from(in_flight) * WORK.0;
            let mut sum = Sum::default();
            // Rare requests need more slices to occur as often as others.
            let slices = match work().len() {
                1 => slices / 8,
                _ => 4 * slices,
            };
            let uncounted = 2 * turn + lead_in;
            for _ in 0..slices {
                run(&mut pool, uncounted + turns * turn + counted, uncounted);
                sum.add(&pool);
            }
            let truth = capacity(work, workers);
            let case = format!("{turns} turns, {workers} workers, {window} in flight");
            let case = format!("{discipline:?}, {:?} at first, {case}", work()[0]);
            let case = format!("{case}, edges later by {lead_in} and {counted} ns");
            assert_near(sum.per_s(), truth, &case);
        }
    }
}

#[test]
fn a_closed_loop_reaches_the_capacity_of_one_worker() {
    // Method: a server of 1,000 requests a second with 20 connections, in every order of service
    // and with every distribution of work.
    use Discipline::{Batches, Fifo, Lifo, Sharing};
    assert_counted(&[
        (Fifo, constant, 1, 1),
        (Fifo, exponential, 1, 1),
        (Fifo, bimodal, 1, 1),
        (Fifo, stalling, 1, 1),
        (Lifo, constant, 1, 1),
        (Sharing, constant, 1, 1),
        (Sharing, exponential, 1, 1),
        (Sharing, bimodal, 1, 1),
        (Batches(8), exponential, 1, 1),
    ]);
}

#[test]
fn a_closed_loop_reaches_the_capacity_of_several_workers() {
    // Method: servers of 4 and 16 workers with 20 connections.
    assert_counted(&[
        (Discipline::Fifo, exponential, 4, 1),
        (Discipline::Fifo, bimodal, 16, 1),
    ]);
}

#[test]
fn a_closed_loop_of_windows_reaches_the_capacity_of_the_server() {
    // Method: servers with 5 connections of 4 requests in flight.
    use Discipline::{ByConnection, Fifo};
    assert_counted(&[
        (Fifo, constant, 1, 4),
        (Fifo, exponential, 1, 4),
        (ByConnection(4), constant, 1, 4),
        (ByConnection(4), exponential, 1, 4),
        (Fifo, exponential, 3, 4),
    ]);
}

#[test]
fn windows_that_are_served_in_bursts_are_counted_wherever_the_edges_fall() {
    // Method: windows are refilled when half of them is left, so a server in order serves bursts
    // of one connection, then of the others. The edges of slices fall anywhere into bursts of 8
    // and 16 requests of 4 connections.
    for edges in [[0, 5], [3, 0], [7, 24], [9, 11], [2, 37]] {
        assert_counted_beyond(
            edges.map(|ms| ms * MS + MS / 2),
            64,
            &[8, 16].map(|burst| {
                (
                    Discipline::ByConnection(burst),
                    constant as fn() -> _,
                    1,
                    16,
                )
            }),
        );
    }
}

#[test]
fn underused_workers_are_counted_correctly() {
    // Method: 8 connections and more workers than that, so that the cycle of a connection is the
    // work and a round trip, in slices of any length.
    for (turns, slices) in LENGTHS {
        let network = server(Discipline::Fifo, exponential, 1_000);
        let mut pool = pool(network, plan(8, BODY, 5), usize::MAX);
        let mut sum = Sum::default();
        for _ in 0..8 * slices {
            run(&mut pool, (2 + turns) * MS + 7, 2 * MS);
            sum.add(&pool);
        }
        let cycle = 1e9 / capacity(exponential, 1) + 50_000.0;
        assert_near(sum.per_s(), 8e9 / cycle, &format!("{turns} turns"));
    }
}

#[test]
fn connections_that_get_no_response_do_not_make_a_server_faster() {
    // Method: a server of 1,000 requests a second that serves 95 of 100 connections.
    for (turns, slices) in LENGTHS {
        let network = server(Discipline::Fifo, constant, 1);
        let mut pool = pool(network, plan(100, BODY, 5), 95);
        let mut sum = Sum::default();
        for _ in 0..slices.div_ceil(8) {
            run(&mut pool, (2 + turns) * 100 * MS, 200 * MS);
            let tally = pool.tally();
            assert!(tally.silent <= 5, "{}", tally.silent);
            sum.add(&pool);
        }
        assert_near(sum.per_s(), 1_000.0, &format!("{turns} turns"));
    }
}

fn rate(per_s: &str) -> Pacing {
    Pacing {
        arrivals: Arrivals::Constant {
            per_s: per_s.parse().unwrap(),
        },
        ..Pacing::default()
    }
}

/// The throughput in the counted parts of slices under a pacing.
fn per_s(pacing: Pacing, server: Network, slices: u64, [span, discard]: [u64; 2]) -> f64 {
    let mut plan = plan(50, BODY, 5);
    plan.pacing = pacing;
    let mut pool = pool(server, plan, usize::MAX);
    let mut sum = Sum::default();
    for _ in 0..slices {
        run(&mut pool, span, discard);
        sum.add(&pool);
    }
    sum.per_s()
}

#[test]
fn an_overloaded_server_is_counted_at_its_capacity() {
    // Method: 2, 5 and 12 times the capacity of a server, in slices of 5, 10 and 50 response times
    // of 50 ms, and 5 times its capacity for 300 ms without a discarded part.
    for per_second in ["2000", "5000", "12000"] {
        for discipline in [Discipline::Fifo, Discipline::Sharing] {
            for (turns, slices) in LENGTHS {
                let span = [(2 + turns) * 50 * MS, 100 * MS];
                let served = server(discipline, exponential, 1);
                let result = per_s(rate(per_second), served, slices, span);
                assert_near(
                    result,
                    capacity(exponential, 1),
                    &format!("{per_second}/s, {turns} turns"),
                );
            }
        }
    }
    let served = server(Discipline::Fifo, exponential, 1);
    let result = per_s(rate("5000"), served, 40, [300 * MS, 0]);
    assert_near(result, capacity(exponential, 1), "300 ms");
}

#[test]
fn an_overloaded_server_whose_responses_come_in_step_is_counted_wherever_the_edges_fall() {
    // Method: every 50 ms, fifty requests end within 4 ms of each other. The edges of slices fall
    // between such groups, and into them, where slices of five turns would err by 1.2 %.
    for edges in [[0, 5], [11, 0], [30, 28], [45, 49]] {
        let [lead_in, counted] = edges.map(|ms| ms * MS);
        for turns in [10, 50] {
            let uncounted = 100 * MS + lead_in;
            let span = [uncounted + turns * 50 * MS + counted, uncounted];
            let served = server(Discipline::Sharing, constant, 1);
            let result = per_s(rate("12000"), served, 2, span);
            assert_near(result, 1_000.0, &format!("{turns} turns, {edges:?}"));
        }
    }
}

#[test]
fn stages_are_counted_over_their_time() {
    // Method: a rate below and one above the capacity of a server, for half of the time each, and
    // a growing number of connections, of which one is enough for the capacity.
    let pacing = Pacing {
        arrivals: Arrivals::Stages("400@2s,3000@2s".parse().unwrap()),
        ..Pacing::default()
    };
    let served = || server(Discipline::Fifo, exponential, 1);
    let result = per_s(pacing, served(), 10, [4 * SECOND, 0]);
    assert_near(result, 0.5 * (400.0 + capacity(exponential, 1)), "rates");
    let pacing = Pacing {
        connections_over_time: Some("0:50@10s".parse().unwrap()),
        ..Pacing::default()
    };
    let result = per_s(pacing, served(), 4, [10 * SECOND, 0]);
    // The first connection comes after a hundredth of the time.
    assert_near(result, 0.99 * capacity(exponential, 1), "connections");
}

#[test]
fn websocket_echoes_and_broadcasts_are_counted_as_they_are_served() {
    // Method: one worker that takes a millisecond for each echo or broadcast, with 20 echoes and
    // with 4 and 16 broadcasts in flight.
    let served = |to_everybody: bool| {
        let mut free = Nanos(0);
        Hub::new(move |message| {
            free = free.max(message.at).plus(WORK);
            let wait = free.since(message.at);
            if to_everybody {
                to_all(&message)
                    .into_iter()
                    .map(|act| match act {
                        Act::Send(to, bytes, _) => Act::Send(to, bytes, wait),
                        other => other,
                    })
                    .collect()
            } else {
                vec![Act::Send(message.from, frame(&message), wait)]
            }
        })
    };
    for window in [1, 4] {
        for (turns, slices) in LENGTHS {
            let mut plan = echo_plan(20 / window, false, 60, 5);
            plan.pipeline = window;
            let mut pool = talking(Network::faultless(1), &plan, served(false));
            pool.connect_all(&AtomicBool::new(false));
            let mut sum = Sum::default();
            for _ in 0..slices.div_ceil(4) {
                run(&mut pool, (2 + turns) * 20 * MS, 40 * MS);
                sum.add(&pool);
            }
            assert_near(sum.per_s(), 1_000.0, &format!("echoes, {turns} turns"));

            let mut plan = broadcast_plan(5);
            plan.pipeline = 4 * window;
            let pool = talking(Network::faultless(1), &plan, served(true));
            let mut broadcast = Broadcast::new(pool, MessageSource::new(MESSAGE, plan.seed));
            broadcast.pool_mut().connect_all(&AtomicBool::new(false));
            let mut sum = Sum::default();
            for _ in 0..slices.div_ceil(4) {
                let turn = Nanos(u64::from(4 * window) * MS);
                let start = broadcast.pool_mut().now();
                let counted_from = start.plus(Nanos(2 * turn.0));
                let slice = WorkerSlice {
                    start,
                    counted_from,
                    end: counted_from.plus(Nanos(turns * turn.0)),
                    requests_max: u64::MAX,
                    share: ScheduleShare::WHOLE,
                    course: None,
                };
                broadcast.run(slice, &AtomicBool::new(false));
                sum.add(broadcast.pool());
            }
            assert_near(sum.per_s(), 1_000.0, &format!("broadcasts, {turns} turns"));
        }
    }
}
