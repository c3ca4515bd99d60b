//! The course of a slice, reported while it runs and kept to its end.

use abx_engine::{SliceEvent, SlicePlan};
use abx_evidence::{CoursePlan, CourseTally};

use crate::peers::peer::Peer;
use crate::{HELLO, engine, load, requests};

/// An interval of a millisecond, reported or not.
fn plan(is_told: bool) -> CoursePlan {
    CoursePlan {
        interval_ns: 1_000_000,
        is_told,
    }
}

#[test]
fn the_reported_course_is_the_recorded_course_of_all_workers() {
    // Method: three workers, enough requests for some intervals; the reports of all workers
    // add up to the course that the slice kept, and all of them had their response in one.
    let peer = Peer::start(|mut connection| {
        while connection.read_request() {
            connection.send(HELLO);
        }
    });
    let mut engine = engine(3);
    let (pool, _) = engine.open(&load(peer.address(), 7)).unwrap();
    let slice = |is_told| SlicePlan {
        course: Some(plan(is_told)),
        ..requests(2_000)
    };
    let mut course_tally = CourseTally::new(plan(true));
    let mut on_event = |event| {
        if let SliceEvent::Intervals(reported_intervals) = event {
            reported_intervals.iter().for_each(|reported_interval| {
                course_tally.add(reported_interval.number, 0, &reported_interval.interval)
            });
        }
    };
    let result = engine.slice_watched(pool, &slice(true), &mut on_event);
    let kept = result.unwrap().tally.course.unwrap().finish();
    assert_eq!(kept.ok.iter().sum::<u64>(), 2_000);
    let course = course_tally.finish();
    assert_eq!((course.ok, course.p99_us), (kept.ok, kept.p99_us));

    let mut heard = 0;
    let result = engine.slice_watched(pool, &slice(false), &mut |_| heard += 1);
    let kept = result.unwrap().tally.course.unwrap().finish();
    assert_eq!((kept.ok.iter().sum::<u64>(), heard), (2_000, 0));
}
