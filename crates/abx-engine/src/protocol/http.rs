//! Requests and answers of HTTP/1.x. How answers are read is in `intake.rs`.

use abx_evidence::Outcome;
use abx_wire::http1::{self, AnswerKind, Client, HeadMemo};

use super::Protocol;
use crate::protocol::intake::{Intake, Parsed};

/// HTTP, with the last head that answered each request of the load.
pub(crate) struct Http {
    pub(crate) memos: Box<[HeadMemo]>,
}

impl Http {
    /// For a load of so many requests.
    pub(crate) fn new(requests: usize) -> Http {
        Http {
            memos: (0..requests).map(|_| HeadMemo::default()).collect(),
        }
    }
}

impl Protocol for Http {
    type Client = Client;

    fn client(&mut self, _: usize) -> Client {
        Client::new()
    }

    #[inline(always)]
    fn expect(client: &mut Client, kind: AnswerKind) {
        client.expect(kind);
    }

    fn has_begun(client: &Client) -> bool {
        client.has_answer_started()
    }

    #[inline(always)]
    fn ahead(client: &Client) -> u64 {
        client.body_ahead()
    }

    #[inline(always)]
    fn skip(client: &mut Client, bytes: u64) {
        client.skip(bytes);
    }

    #[inline(always)]
    fn take(intake: &mut Intake<'_, Http>, input: &[u8]) -> Parsed {
        intake.take(input)
    }

    fn end(intake: &mut Intake<'_, Http>) -> Parsed {
        intake.end()
    }
}

pub(super) fn fault_outcome(fault: http1::Fault) -> Outcome {
    match fault {
        http1::Fault::ClosedIdle | http1::Fault::ClosedEarly => Outcome::EarlyClose,
        http1::Fault::HeadTooLarge | http1::Fault::TooManyHeaders => Outcome::HeadTooLarge,
        http1::Fault::Tls | http1::Fault::Http2 => Outcome::OtherProtocol,
        _ => Outcome::Malformed,
    }
}
