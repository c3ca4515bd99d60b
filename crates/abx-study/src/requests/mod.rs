//! The requests to subjects, as users write them.

pub mod credentials;
pub mod form;
pub mod numbered;
pub mod request_file;
pub mod request_placeholder;
pub mod request_spec;
pub mod url_list;
