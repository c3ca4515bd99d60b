//! What subjects are asked, as people write it.

pub mod credentials;
pub mod form;
pub mod numbered;
pub mod request_file;
pub mod request_placeholder;
pub mod request_spec;
pub mod url_list;
