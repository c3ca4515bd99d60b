//! The plan of a response to a request.

use abx_wire::http1::Version;

use super::files::FoundFile;

#[derive(Debug)]
pub(crate) struct Plan {
    pub(super) found: FoundContent,
    pub(super) version: Version,
    pub(super) keep_alive: bool,
    pub(super) is_head_only: bool,
}

#[derive(Debug)]
pub(super) enum FoundContent {
    Page,
    File(FoundFile),
    Blog,
    Crash,
    /// An error with this status.
    Refused(u16),
}

impl Plan {
    pub(super) fn of_the_page() -> Plan {
        Plan {
            found: FoundContent::Page,
            version: Version::Http11,
            keep_alive: true,
            is_head_only: false,
        }
    }
}
