//! The outputs: records, reports, formats, and pages in a browser.

pub mod audit;
pub mod foreign;
pub mod formats;
pub mod golden;
pub mod history;
pub mod html;
pub mod records;
pub mod view;
