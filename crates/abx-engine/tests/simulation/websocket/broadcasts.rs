//! Broadcasts over the simulated back end, with listeners that lose and reorder.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use abx_engine::LoadPlan;
use abx_engine::schedule::{Arrivals, ScheduleShare};
use abx_engine::testing::{
    Broadcast, MessageSource, Part, SharedSlice, SliceOutcome, SliceParticipants, WorkerSlice,
};
use abx_evidence::{Message, Outcome, Outcomes, Shape, Tally};
use abx_sys::Nanos;
use abx_twin::{Act, Hub, HubMessage, Network, NetworkFaults, Sim, frame, to_all};

use crate::loads::{MS, SECOND, count, plan};
use crate::websocket::echoes::talking;

pub(crate) const MESSAGE: Message = Message::text(60);
/// The way from the speaker to the server and from there to each listener.
const DELIVERY_NS: u64 = 50_000;

pub(crate) fn broadcast_plan(listeners: u32) -> LoadPlan {
    let mut plan = plan(listeners, b"", 3);
    plan.requests[0].expect.status = 101_u16.into();
    plan.shape = Shape::Broadcast(MESSAGE);
    plan.timeout = Duration::from_nanos(100 * MS);
    plan
}

fn broadcast(network: Network, plan: &LoadPlan, hub: Hub) -> Broadcast<Sim> {
    let pool = talking(network, plan, hub);
    let mut broadcast = Broadcast::new(pool, MessageSource::new(MESSAGE, plan.seed));
    broadcast.pool_mut().connect_all(&AtomicBool::new(false));
    broadcast
}

/// Runs until this many messages are sent or the span is over.
fn run(broadcast: &mut Broadcast<Sim>, requests_max: u64, span: u64) -> SliceOutcome {
    let start = broadcast.pool_mut().now();
    let slice = WorkerSlice {
        start,
        end: start.plus(Nanos(span)),
        counted_from: start,
        requests_max,
        share: ScheduleShare::WHOLE,
        course: None,
    };
    broadcast.run(slice, &AtomicBool::new(false))
}

/// The tally of this many broadcasts to `listeners`, over a server that follows this rule.
fn tally_of(
    listeners: u32,
    count: u64,
    rule: impl FnMut(HubMessage) -> Vec<Act> + 'static,
) -> Tally {
    let plan = broadcast_plan(listeners);
    let mut broadcast = broadcast(Network::faultless(1), &plan, Hub::new(rule));
    run(&mut broadcast, count, 3_600 * SECOND);
    broadcast.pool().tally().clone()
}

#[test]
fn missing_listeners_are_reported_during_the_wait() {
    // Method: two of five listeners receive nothing; the report on them is read after 2 s of the
    // timeout.
    let mut plan = broadcast_plan(5);
    plan.timeout = Duration::from_nanos(3 * SECOND);
    let hub = Hub::new(|message| {
        let open = message.open.iter().filter(|to| **to < 3);
        open.map(|to| Act::Send(*to, frame(&message), Nanos(0)))
            .collect()
    });
    let mut broadcast = broadcast(Network::faultless(1), &plan, hub);
    let shared = SharedSlice::new(1, 1);
    let participants = SliceParticipants::of(&shared, Part::Connections);
    broadcast.pool_mut().joins(participants);
    let start = broadcast.pool_mut().now();
    run(&mut broadcast, u64::MAX, 100 * MS);
    let awaited = shared.awaited(start.plus(Nanos(2 * SECOND)));
    let report = awaited.expect("the slice waits for seconds");
    assert_eq!((report.connections, report.waited_ns), (2, 2 * SECOND));
    assert_eq!(report.at_most_ns, 3 * SECOND);
}

#[test]
fn a_broadcast_is_done_when_the_last_listener_has_it() {
    // Method: five listeners, where number k receives each message k ms late: the first one at
    // once, the median one 2 ms later, and the last one 4 ms later. Only then comes the next one.
    let tally = tally_of(5, 10, |message| {
        let late = |to: usize| Nanos(to as u64 * MS);
        let open = message.open.iter();
        open.map(|to| Act::Send(*to, frame(&message), late(*to)))
            .collect()
    });
    assert_eq!((tally.outcomes.ok(), tally.outcomes.sent()), (10, 10));
    assert_eq!((tally.lost, tally.out_of_order), (0, 0));
    assert_eq!(tally.response_ns_sum, 10 * (DELIVERY_NS + 4 * MS));
    let first = &tally.times.first_listener;
    assert_eq!(first.max_us(), Some(DELIVERY_NS / 1000));
    assert_eq!(first.count(), 10);
    let median = tally.times.median_listener.max_us().unwrap();
    assert!((2_050..=2_052).contains(&median), "{median}");
    // Only the speaker sends, and its clock is that of the throughput.
    assert_eq!(
        (tally.silent, tally.connection_ns),
        (4, tally.response_ns_sum)
    );
    // Each listener's frame has a head of two bytes.
    assert_eq!((tally.body_bytes, tally.bytes), (10 * 5 * 60, 10 * 5 * 62));
}

#[test]
fn a_broadcast_that_misses_a_listener_fails() {
    // Method: the third message never reaches the last listener. It times out, and all others are
    // correct.
    let tally = tally_of(4, 10, |message| {
        let mut acts = to_all(&message);
        if message.number == 2 {
            acts.pop();
        }
        acts
    });
    assert_eq!(
        (tally.outcomes.ok(), count(&tally, Outcome::Timeout)),
        (9, 1)
    );
    assert_eq!((tally.lost, tally.out_of_order), (1, 0));
    assert_eq!(tally.times.response_at_least.count(), 1);
    assert_eq!(tally.times.first_listener.count(), 9);
}

#[test]
fn messages_that_come_twice_late_or_changed_are_not_correct() {
    // Method: servers that send the fifth message incorrectly to one of three listeners: after the
    // sixth, with two in flight; twice, while another listener still waits; with an extra byte; or
    // as binary.
    type Wrong = fn(&HubMessage) -> Vec<Act>;
    let late: Wrong = |message| vec![Act::Send(1, frame(message), Nanos(MS))];
    let twice: Wrong = |message| vec![Act::Send(1, frame(message).repeat(2), Nanos(0))];
    let longer: Wrong = |message| {
        let mut frame = frame(message);
        frame[1] += 1;
        frame.push(b'x');
        vec![Act::Send(1, frame, Nanos(0))]
    };
    let binary: Wrong = |message| {
        let mut frame = frame(message);
        frame[0] = 0x82;
        vec![Act::Send(1, frame, Nanos(0))]
    };
    for (wrong, window, outcome, out_of_order) in [
        (late, 2, Outcome::WrongBody, 1),
        (twice, 1, Outcome::WrongBody, 1),
        (longer, 1, Outcome::WrongLength, 0),
        (binary, 1, Outcome::WrongBody, 0),
    ] {
        let hub = Hub::new(move |message| match message.number {
            4 => {
                let mut acts = wrong(&message);
                acts.push(Act::Send(0, frame(&message), Nanos(0)));
                acts.push(Act::Send(2, frame(&message), Nanos(2 - window)));
                acts
            }
            _ => to_all(&message),
        });
        let mut plan = broadcast_plan(3);
        plan.pipeline = u32::try_from(window).unwrap();
        let mut broadcast = broadcast(Network::faultless(1), &plan, hub);
        run(&mut broadcast, 20, 3_600 * SECOND);
        let tally = broadcast.pool().tally();
        assert_eq!(tally.outcomes.ok(), 19, "{:?}", tally.outcomes);
        assert_eq!(count(tally, outcome), 1);
        assert_eq!((tally.lost, tally.out_of_order), (0, out_of_order));
    }
}

#[test]
fn a_lost_listener_is_reconnected_before_the_next_broadcast() {
    // Method: instead of sending the fifth message to one listener, the server closes its
    // connection without notice. That broadcast fails, and the next waits for four connections.
    let tally = tally_of(4, 10, |message| {
        let mut acts = to_all(&message);
        if message.number == 4 {
            acts.pop();
            acts.push(Act::Close(3, Nanos(0)));
        }
        acts
    });
    assert_eq!(tally.outcomes.ok(), 9);
    assert_eq!(count(&tally, Outcome::EarlyClose), 1);
    assert_eq!((tally.lost, tally.connects), (1, 1));
}

#[test]
fn broadcasts_keep_the_times_of_their_schedule() {
    // Method: 1,000 broadcasts a second for 100 ms to ten listeners, of which none has to wait.
    // Then a delivery takes 2 ms: each broadcast waits 1 ms longer than the previous one, and half
    // are not sent.
    let mut plan = broadcast_plan(10);
    plan.pacing.arrivals = Arrivals::Constant {
        per_s: "1000".parse().unwrap(),
    };
    let mut quick = broadcast(Network::faultless(1), &plan, Hub::broadcasting());
    run(&mut quick, u64::MAX, 100 * MS);
    let tally = quick.pool().tally();
    assert_eq!(
        (tally.outcomes.ok(), tally.unsent, tally.queued),
        (100, 0, 0)
    );
    assert_eq!(tally.response_ns_sum, 100 * DELIVERY_NS);

    let mut network = Network::faultless(1);
    network.delay = Nanos(MS);
    let mut slow = broadcast(network, &plan, Hub::broadcasting());
    run(&mut slow, u64::MAX, 100 * MS);
    let tally = slow.pool().tally();
    assert_eq!(
        (tally.outcomes.ok(), tally.unsent, tally.queued),
        (50, 50, 49)
    );
    let waited: u64 = (0..50).map(|index| index * MS).sum();
    assert_eq!(tally.response_ns_sum, waited + 50 * 2 * MS);
    // The generator is not the reason for the waits.
    assert_eq!(tally.times.lateness.max_us(), Some(1));
}

#[test]
fn every_broadcast_has_one_outcome_with_all_faults() {
    // Method: seeds with faults on all connections, with one and with three broadcasts in flight.
    // Every broadcast has one outcome, unless the subject is given up.
    let mut seen = Outcomes::default();
    for seed in 0..60 {
        let mut network = Network::faultless(seed + 1);
        network.faults = NetworkFaults {
            refused: seed % 4 * 60,
            short_send: 200,
            split: 300,
            reset: seed % 5 * 2,
            idle_close: seed % 3,
            slow: 0,
            silence: 0,
            reorder: 500,
        };
        let mut plan = broadcast_plan(6);
        plan.pipeline = 1 + u32::try_from(seed % 2).unwrap() * 2;
        let mut broadcast = broadcast(network, &plan, Hub::broadcasting());
        let ran = run(&mut broadcast, 100, 3_600 * SECOND);
        let tally = broadcast.pool().tally();
        let total = tally.outcomes.sent();
        assert!(
            total == 100 || (ran.stopped_responding && total < 100),
            "seed {seed}: {total} {:?}",
            tally.outcomes
        );
        assert_eq!(tally.times.first_listener.count(), tally.outcomes.ok());
        assert_eq!(tally.times.median_listener.count(), tally.outcomes.ok());
        assert_eq!(tally.out_of_order, 0, "seed {seed}");
        seen.merge(&tally.outcomes);
    }
    for outcome in [
        Outcome::Ok,
        Outcome::Reset,
        Outcome::EarlyClose,
        Outcome::Refused,
    ] {
        assert!(seen.count(outcome) > 5, "{outcome:?}: {seen:?}");
    }
}

#[test]
fn unsent_messages_are_not_the_fault_of_the_peer() {
    // Method: four messages of 300 kB in flight, of which every send takes only a part: the first
    // one comes back while the others wait. Then the server floods the same speaker with pings
    // while it takes nothing, which is the server's fault.
    let mut network = Network::faultless(4);
    network.faults.short_send = 900;
    let message = Message::binary(300_000);
    let mut plan = broadcast_plan(3);
    plan.shape = Shape::Broadcast(message);
    plan.pipeline = 4;
    let tally_of = |network, hub| {
        let pool = talking(network, &plan, hub);
        let mut broadcast = Broadcast::new(pool, MessageSource::new(message, plan.seed));
        broadcast.pool_mut().connect_all(&AtomicBool::new(false));
        run(&mut broadcast, 40, 3_600 * SECOND);
        broadcast.pool().tally().clone()
    };
    let tally = tally_of(network, Hub::broadcasting());
    assert_eq!(tally.outcomes.ok(), 40, "{:?}", tally.outcomes);

    let pinging = Hub::new(|received| {
        let ping = [&[0x89, 125][..], &[b'p'; 125]].concat();
        let mut acts = to_all(&received);
        acts.push(Act::Send(0, ping.repeat(3_000), Nanos(0)));
        acts
    });
    let tally = tally_of(network, pinging);
    assert!(
        count(&tally, Outcome::Malformed) > 0,
        "{:?}",
        tally.outcomes
    );
}

#[test]
fn a_subject_that_delivers_no_broadcast_is_given_up() {
    // Method: no listener ever receives anything; three broadcasts time out in a row.
    let tally = tally_of(3, 100, |_| Vec::new());
    assert_eq!(
        (tally.outcomes.sent(), count(&tally, Outcome::Timeout)),
        (3, 3)
    );
    assert_eq!(tally.lost, 9);
}

#[test]
fn a_message_that_is_a_slice_late_is_not_mistaken_for_another() {
    // Method: the last message of a slice reaches one listener during the next slice, which has
    // other messages.
    let mut plan = broadcast_plan(2);
    plan.timeout = Duration::from_nanos(10 * MS);
    let hub = Hub::new(|message| match message.number {
        4 => vec![
            Act::Send(0, frame(&message), Nanos(0)),
            Act::Send(1, frame(&message), Nanos(10 * MS + 100_000)),
        ],
        _ => to_all(&message),
    });
    let mut broadcast = broadcast(Network::faultless(1), &plan, hub);
    run(&mut broadcast, 5, SECOND);
    assert_eq!(broadcast.pool().tally().outcomes.ok(), 4);
    run(&mut broadcast, 50, SECOND);
    let tally = broadcast.pool().tally();
    assert_eq!((tally.outcomes.ok(), tally.out_of_order), (50, 1));
}
