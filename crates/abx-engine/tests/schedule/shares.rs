//! Workers: together they have the schedule of one worker, each due time once.

use proptest::prelude::*;

use super::*;

/// The first due times of a schedule: those of a single worker, and the union of several workers.
fn single_and_union(schedule: &Schedule, workers: usize, count: usize) -> [Vec<Nanos>; 2] {
    let single = schedule.pacer(ScheduleShare::WHOLE).take(count).collect();
    let mut pacers: Vec<_> = (0..workers)
        .map(|worker| schedule.pacer(ScheduleShare::of(worker, workers)))
        .collect();
    let mut union = Vec::new();
    while union.len() < count {
        let due = pacers.iter_mut().filter(|pacer| pacer.peek().is_some());
        let Some(pacer) = due.min_by_key(|pacer| pacer.peek()) else {
            break;
        };
        union.extend(pacer.next());
    }
    [single, union]
}

#[test]
fn peeking_does_not_advance() {
    // Method: two peeks before each due time is taken, and at the end.
    let mut pacer = pacer(&stages("3@1s"));
    for expected in [0, 333_333_333, 666_666_666] {
        assert_eq!(pacer.peek(), Some(Nanos(expected)));
        assert_eq!(pacer.peek(), Some(Nanos(expected)));
        assert_eq!(pacer.next(), Some(Nanos(expected)));
    }
    assert_eq!((pacer.peek(), pacer.next()), (None, None));
}

#[test]
fn a_worker_without_a_request_has_nothing_to_do() {
    // Method: two requests for four workers.
    let schedule = schedule(&stages("2@1s"));
    let count = |worker| schedule.pacer(ScheduleShare::of(worker, 4)).count();
    let counts = [0, 1, 2, 3].map(count);
    assert_eq!(counts, [1, 1, 0, 0]);
}

#[test]
#[should_panic(expected = "there is no worker 2 of 2")]
fn a_share_of_a_missing_worker_panics() {
    // Method: one worker more than there may be.
    let _ = ScheduleShare::of(2, 2);
}

proptest! {
    #[test]
    fn all_workers_together_have_the_whole_schedule(
        workers in 1_usize..130,
        kind in 0..3,
        seed in any::<u64>(),
    ) {
        // Method: the due times of one worker equal those of several workers in order.
        let arrivals = match kind {
            0 => constant("12345.678"),
            1 => poisson("50000"),
            _ => stages("0:900@200ms,0@100ms,5000:100@300ms"),
        };
        let schedule = Schedule::new(&arrivals, seed).unwrap();
        let [single, union] = single_and_union(&schedule, workers, 2_000);
        prop_assert!(single.len() > 500);
        prop_assert_eq!(single, union);
    }
}
