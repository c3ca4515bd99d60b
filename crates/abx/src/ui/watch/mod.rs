//! Shows a person how far a study or a run is. A study is drawn between slices; a run is one
//! long slice, drawn some times a second.

mod display;
mod run;
mod study;
mod waiting;

pub use self::run::RunWatch;
pub use self::study::Watch;
