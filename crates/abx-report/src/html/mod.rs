//! Reports as pages that stand on their own: no request, no clock, the same bytes
//! for the same record. Start at [`study_html`].
//!
//! Folders use those before them: `markup` tags, tables and figures; `charts` plots,
//! bars and their axes; `conclusions` what was judged, and `measurements` what was
//! measured, a file for each part of a page; `pages` puts them together.

mod charts;
mod conclusions;
mod markup;
mod measurements;
mod pages;

pub use self::pages::index::{Listed, index_html, notice_html};
pub use self::pages::page::page_policy;
pub use self::pages::run::run_html;
pub use self::pages::scenario::scenario_html;
pub use self::pages::side_by_side::{AnyRecord, NamedRecord, NotShown, side_by_side_html};
pub use self::pages::study::{study_html, study_html_with};
pub use self::pages::svg::study_svg;
