//! The course of a slice, reported while it runs and recorded to its end.

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
    // Method: three workers and enough requests for some intervals; the reports of all workers
    // add up to the course in the tally, and every response is in one interval.
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
        if let SliceEvent::Intervals(intervals) = event {
            for reported in &intervals {
                course_tally.add(reported.number, 0, &reported.interval);
            }
        }
    };
    let result = engine.slice_watched(pool, &slice(true), &mut on_event);
    let recorded = result.unwrap().tally.course.unwrap().finish();
    assert_eq!(recorded.ok.iter().sum::<u64>(), 2_000);
    let course = course_tally.finish();
    assert_eq!((course.ok, course.p99_us), (recorded.ok, recorded.p99_us));

    let mut events = 0;
    let result = engine.slice_watched(pool, &slice(false), &mut |_| events += 1);
    let recorded = result.unwrap().tally.course.unwrap().finish();
    assert_eq!((recorded.ok.iter().sum::<u64>(), events), (2_000, 0));
}
