//! The course of slices, in virtual time and to the request.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;

use abx_engine::Pacing;
use abx_engine::schedule::{Arrivals, ScheduleShare};
use abx_engine::testing::{Http, Part, Pool, SharedSlice, SliceParticipants, WorkerSlice};
use abx_evidence::{Course, CoursePlan, TimelinePlan};
use abx_sys::Nanos;
use abx_twin::{Network, Sim};

use crate::loads::{MS, SECOND, plan, pool};

const BODY: &[u8] = b"hello";

/// A pool of open connections with this rate; its plan expects that the peer fails at times.
fn paced(per_s: &str) -> Pool<Sim, Http> {
    let mut plan = plan(4, BODY, 1);
    plan.pacing = Pacing {
        arrivals: Arrivals::Constant {
            per_s: per_s.parse().unwrap(),
        },
        ..Pacing::default()
    };
    plan.timeline = Some(TimelinePlan {
        bucket_ns: 10 * MS,
        delayed_after_ns: Some(100 * MS),
    });
    let mut pool = pool(Network::faultless(1), plan, BODY);
    pool.connect_all(&AtomicBool::new(false));
    pool
}

/// A slice whose course is recorded in intervals of 100 ms.
fn slice(pool: &mut Pool<Sim, Http>, span: Nanos, requests_max: u64) -> WorkerSlice {
    let start = pool.now();
    WorkerSlice {
        start,
        end: start.plus(span),
        counted_from: start,
        requests_max,
        share: ScheduleShare::WHOLE,
        course: Some(CoursePlan {
            interval_ns: 100 * MS,
            is_told: false,
        }),
    }
}

fn course(pool: &Pool<Sim, Http>) -> Course {
    let course = pool.tally().course.as_ref();
    course.expect("the slice records a course").finish()
}

#[test]
fn each_interval_has_the_requests_that_ended_in_it() {
    // Method: 1,000 requests a second for a second, with responses in 150 us; the peer is away from
    // 300 ms until before 500 ms, and all requests fail meanwhile. At the end of an interval one
    // request more or fewer may just have ended; all intervals add up to the total.
    let mut pool = paced("1000");
    let start = pool.now();
    let at = |ms: u64| start.plus(Nanos(ms * MS));
    pool.io.goes_away(at(300), at(500));
    let slice = slice(&mut pool, Nanos(SECOND), u64::MAX);
    pool.run(slice, &AtomicBool::new(false));
    let course = course(&pool);
    assert_eq!((course.interval_ns, course.until_ns), (100 * MS, SECOND));
    assert_eq!((course.ok.len(), course.failed.len()), (10, 10));
    for (place, (ok, failed)) in course.ok.iter().zip(&course.failed).enumerate() {
        let is_away = (3..5).contains(&place);
        let [usual, unusual] = if is_away { [failed, ok] } else { [ok, failed] };
        assert!((98..=102).contains(usual) && *unusual <= 1, "{course:?}");
    }
    let total: u64 = course.ok.iter().sum();
    assert!(
        total.abs_diff(pool.tally().outcomes.ok()) <= 1,
        "{course:?}"
    );
    assert!(
        (100..200).contains(&course.p50_us[0].unwrap()),
        "{course:?}"
    );
    assert_eq!(course.p50_us[4], None);
}

#[test]
fn a_slice_that_ends_by_a_number_has_a_shorter_last_interval() {
    // Method: 250 requests at 1,000 a second end soon after 249 ms.
    let mut pool = paced("1000");
    let slice = slice(&mut pool, Nanos::MAX, 250);
    pool.run(slice, &AtomicBool::new(false));
    let course = course(&pool);
    assert_eq!((course.ok.len(), course.ok.iter().sum::<u64>()), (3, 250));
    assert!(
        (249 * MS..260 * MS).contains(&course.until_ns),
        "{course:?}"
    );
}

#[test]
fn a_listener_receives_each_interval_once() {
    // Method: the reported intervals equal the recorded ones; without a course there are none.
    let (sender, receiver) = channel();
    let shared = SharedSlice::with_listener(Some(sender), 1, 1);
    let mut pool = paced("1000");
    pool.joins(SliceParticipants::of(&shared, Part::Connections));
    let recorded = slice(&mut pool, Nanos(350 * MS), u64::MAX);
    pool.run(recorded, &AtomicBool::new(false));
    let intervals: Vec<_> = receiver.try_iter().collect();
    let numbers: Vec<usize> = intervals.iter().map(|interval| interval.number).collect();
    assert_eq!(numbers, [0, 1, 2, 3]);
    let ok: Vec<u64> = intervals
        .iter()
        .map(|reported| reported.interval.outcomes.ok())
        .collect();
    assert_eq!(ok, course(&pool).ok);
    let unrecorded = WorkerSlice {
        course: None,
        ..slice(&mut pool, Nanos(350 * MS), u64::MAX)
    };
    pool.run(unrecorded, &AtomicBool::new(false));
    assert_eq!(
        (receiver.try_iter().count(), &pool.tally().course),
        (0, &None)
    );
}
