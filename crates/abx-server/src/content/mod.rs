//! The content: one page from memory, or files below a directory; also a blog, and a path that
//! crashes the process.
//!
//! A response is created in two steps, for all models: a [`Plan`] after the request's head is read,
//! and the bytes when the response is due.

mod blog;
mod files;
mod page;
mod plan;
mod response;
mod served_content;
mod tail;

pub(crate) use files::read_part;
pub(crate) use plan::Plan;
pub(crate) use response::{CONTINUE, PlannedResponse, ResponseBody, response_malformed};
pub(crate) use served_content::ServedContent;
pub(crate) use tail::Tail;
