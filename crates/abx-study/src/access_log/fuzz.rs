//! Properties of any bytes, checked by the fuzz target and by property tests.

use abx_engine::schedule::ReplaySpeed;

use super::{AccessLog, AccessLogError, ReplayedMethods};
use crate::units::{is_token, is_url_path};

/// Reads bytes as a log. Each line is replayed, or left out and counted; a replayed line is a valid
/// request, and is due in order.
///
/// # Panics
/// If a property does not hold.
pub fn any_bytes(bytes: &[u8]) {
    let mut log = AccessLog::of(ReplayedMethods::All);
    let mut lines = 0;
    for line in bytes.split(|byte| *byte == b'\n') {
        if log.take(line).is_err() {
            return;
        }
        lines += u64::from(!line.trim_ascii_end().is_empty());
    }
    let left_out = log.left_out.damaged + log.left_out.websockets;
    let replayed = match log.replayed(ReplaySpeed::RECORDED) {
        Ok(replayed) => replayed,
        Err(AccessLogError::TooLong { .. }) => return,
        Err(error) => {
            assert_eq!(lines, left_out, "{error}");
            assert!(!error.to_string().contains('\n'), "{error}");
            return;
        }
    };
    let due = replayed.replay.requests();
    assert_eq!(due.len() as u64 + left_out, lines, "a line is missing");
    assert!(due.is_sorted_by_key(|request| request.due));
    for request in &replayed.requests {
        let path = request.path.as_deref().expect("each has a path");
        assert!(
            is_token(&request.method) && is_url_path(path),
            "{request:?}"
        );
    }
    assert!(!replayed.words("x").contains('\n'));
}
