//! Properties of any session file, called by the fuzz target and by a property test.

use super::{HttperfCommand, HttperfSessionRequests};

const SESSIONS: u64 = 3;

/// Reads bytes as a `--wsesslog` file, writes every request of its first sessions, and uses the
/// same bytes as the head of each reply. Every session has a request, and every refusal is one
/// line.
///
/// # Panics
/// If a property does not hold.
pub fn any_session_file(bytes: &[u8]) {
    let words = ["--session-cookie", "--wsesslog=3,1,file"].map(str::to_owned);
    let Ok(HttperfCommand::Load(options)) = HttperfCommand::parse(&words) else {
        panic!("these options are understood");
    };
    let mut requests = match HttperfSessionRequests::new(&options, bytes) {
        Ok(requests) => requests,
        Err(refusal) => {
            assert!(!refusal.to_string().contains('\n'), "{refusal}");
            return;
        }
    };
    let mut call = 0;
    for session in 0..SESSIONS {
        let bursts = requests.begin();
        assert!(!bursts.is_empty(), "a session has no requests");
        let calls: u32 = bursts.iter().map(|burst| burst.calls).sum();
        for place in 0..calls {
            let mut written = Vec::new();
            requests.write(session, place as usize, call, &mut written);
            assert!(written.windows(4).any(|four| four == b"\r\n\r\n"));
            requests.head(call, bytes);
            requests.responded(call);
            call += 1;
        }
        requests.ends(session);
    }
}
