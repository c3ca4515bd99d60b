//! Replays: recorded moments, each with its request, at any speed.

use abx_engine::schedule::{Replay, ReplayError, ReplaySpeed, ReplayedRequest};
use proptest::prelude::*;

use super::*;

fn recorded(pairs: &[(u64, u32)], lasts: u64) -> Result<Replay, ReplayError> {
    let requests = pairs.iter().map(|(due, request)| ReplayedRequest {
        due: Nanos(*due),
        request: *request,
    });
    Replay::new(requests.collect(), Nanos(lasts))
}

fn speed(text: &str) -> ReplaySpeed {
    text.parse().expect("the test writes a speed")
}

/// A worker's requests, and when they are due.
fn of_worker(replay: &Replay, share: ScheduleShare) -> Vec<(u64, usize)> {
    let mut pacer = schedule(&Arrivals::Replay(replay.clone())).pacer(share);
    let next = || {
        let request = pacer.request();
        Some((pacer.next()?.0, request.expect("each has its request")))
    };
    std::iter::from_fn(next).collect()
}

#[test]
fn a_replay_has_its_moments_and_its_requests() {
    // Method: four requests, two at the same moment, by a pacer and by index; a replay sets the
    // request that other schedules draw.
    let replay = recorded(&[(0, 2), (7, 0), (7, 2), (9, 1)], 12).unwrap();
    assert_eq!(
        of_worker(&replay, ScheduleShare::WHOLE),
        [(0, 2), (7, 0), (7, 2), (9, 1)]
    );
    let schedule = schedule(&Arrivals::Replay(replay));
    let moments = [0, 1, 3, 4].map(|index| schedule.intended(index));
    assert_eq!(
        moments,
        [Some(Nanos(0)), Some(Nanos(7)), Some(Nanos(9)), None]
    );
    let counts = [0, 1, 7, 8, 9, 10].map(|end| schedule.count_before(Nanos(end)));
    assert_eq!(counts, [0, 1, 1, 3, 3, 4]);
    assert_eq!(schedule.end(), Some(Nanos(12)));
    assert_eq!(pacer(&constant("5")).request(), None);
    assert_eq!(pacer(&poisson("5")).request(), None);
}

#[test]
fn twice_the_speed_is_half_the_span() {
    // Method: the same list at several speeds, with times that do not divide.
    let replay = recorded(&[(0, 0), (1_001, 0), (4_000, 0)], 5_001).unwrap();
    let at = |text: &str| {
        let replay = replay.at_speed(speed(text));
        let due: Vec<u64> = replay
            .requests()
            .iter()
            .map(|replayed_request| replayed_request.due.0)
            .collect();
        (due, replay.lasts().0)
    };
    assert_eq!(at("1"), (vec![0, 1_001, 4_000], 5_001));
    assert_eq!(at("2"), (vec![0, 500, 2_000], 2_501));
    assert_eq!(at("0.5"), (vec![0, 2_002, 8_000], 10_002));
    // So fast that all requests are due at once, and still before the end.
    assert_eq!(at("1000000"), (vec![0, 0, 0], 1));
}

#[test]
fn invalid_replays_are_refused() {
    // Method: an empty list, times that go back, a request that is due at the end, and invalid
    // speeds.
    assert_eq!(recorded(&[], 1), Err(ReplayError::Empty));
    assert_eq!(recorded(&[(5, 0), (4, 0)], 9), Err(ReplayError::Unordered));
    assert_eq!(recorded(&[(5, 0)], 5), Err(ReplayError::Unordered));
    for text in ["0", "0.009", "1000000.001", "-1", "2x", "", "0.0001"] {
        let refused = text.parse::<ReplaySpeed>().unwrap_err().to_string();
        assert!(
            refused.contains(&format!("`{text}` is not a speed")),
            "{refused}"
        );
    }
    assert_eq!(ReplaySpeed::try_from(2.5), Ok(speed("2.5")));
    assert!(ReplaySpeed::try_from(f64::NAN).is_err());
    assert_eq!(ReplaySpeed::RECORDED, speed("1"));
}

proptest! {
    #[test]
    fn all_workers_together_replay_everything_once(
        gaps in prop::collection::vec((0_u64..1_000, 0_u32..5), 1..300),
        workers in 1_usize..20,
        thousandths in 10_u64..1_000_000,
    ) {
        // Method: gaps of any length, each with a request. The shares of the workers, merged by
        // index, are the complete list, in order and before its end.
        let mut due = 0;
        let pairs: Vec<(u64, u32)> = gaps.iter().map(|(gap, request)| {
            due += gap;
            (due, *request)
        }).collect();
        let speed = speed(&format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000));
        let replay = recorded(&pairs, due + 1).unwrap().at_speed(speed);
        let shares: Vec<_> = (0..workers)
            .map(|worker| of_worker(&replay, ScheduleShare::of(worker, workers)))
            .collect();
        let merged: Vec<(u64, usize)> = (0..pairs.len())
            .map(|index| shares[index % workers][index / workers])
            .collect();
        prop_assert_eq!(shares.iter().map(Vec::len).sum::<usize>(), pairs.len());
        prop_assert!(merged.is_sorted_by_key(|(due, _)| *due));
        prop_assert!(merged.iter().all(|(due, _)| *due < replay.lasts().0));
        let requests: Vec<usize> = merged.iter().map(|(_, request)| *request).collect();
        let expected: Vec<usize> = pairs.iter().map(|(_, request)| *request as usize).collect();
        prop_assert_eq!(requests, expected);
    }
}
