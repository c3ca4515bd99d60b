//! Tests of times: clocks, schedules, phases and courses.

mod counted;
mod courses;
mod paced;
mod pauses;
mod phased;
mod timelines;
