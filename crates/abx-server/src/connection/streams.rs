//! A connection that uses HTTP/2: the requests on its streams, and their responses.
//!
//! It reads between two sends of bodies, even while much of them is left, since streams may be
//! given up and others begun meanwhile.

use abx_sys::Nanos;
use abx_wire::http2::RequestEvent;

use super::bodies::OUT_BYTES_ENOUGH;
use super::client_connection::Connection;
use super::context::{Batch, Context};
use super::http2_session::Http2Session;
use super::state::TurnStep;

impl Connection {
    /// Takes frames from `bytes` as far as possible, and returns how many bytes that took.
    pub(super) fn take_frames(
        &mut self,
        bytes: &[u8],
        number: usize,
        context: &mut Context,
    ) -> usize {
        let Some(mut session) = self.http2.take() else {
            return 0;
        };
        let mut input = bytes;
        while let Some(event) = session.server.receive(&mut input, &mut self.out) {
            match event {
                RequestEvent::Head { stream, head } => {
                    let expects_continue = head.expects_continue;
                    let plan = context.site.plan_stream(&head);
                    session.open_requests.push((stream, plan));
                    if expects_continue {
                        session.server.invite(stream, &mut self.out);
                    }
                    if context.is_last_request() {
                        session.server.leave(&mut self.out);
                    }
                }
                RequestEvent::Done { stream } => {
                    self.take_stream(&mut session, stream, number, context);
                    // SUBTLE: Not behind a head, whose end the session may already know of.
                    if context.batch == Batch::One || self.out.len() >= OUT_BYTES_ENOUGH {
                        break;
                    }
                }
                RequestEvent::Gone { stream } => {
                    session.forget(stream);
                    self.due = session.next_due();
                }
                RequestEvent::Failed(_) => {
                    self.hang_up();
                    return bytes.len();
                }
            }
        }
        self.http2 = Some(session);
        bytes.len() - input.len()
    }

    /// Answers a whole request, or has its response wait.
    fn take_stream(
        &mut self,
        session: &mut Http2Session,
        stream: u32,
        number: usize,
        context: &mut Context,
    ) {
        let plan = session.take_request(stream);
        let plan = plan.expect("a request has a head");
        context.pay_costs();
        let Some(delay) = context.injector.delay() else {
            return session.response(stream, plan, context, &mut self.out);
        };
        let at = Nanos::now().plus(delay.into());
        session.waiting.push_back((at, stream, plan));
        context.due.push_back((at, number));
        self.due = session.next_due();
    }

    /// Answers the requests that are due now.
    pub(super) fn response_due_streams(&mut self, context: &mut Context) {
        let (Some(session), Some(now)) = (&mut self.http2, self.due) else {
            return;
        };
        while let Some((at, _, _)) = session.waiting.front()
            && *at <= now
            && let Some((_, stream, plan)) = session.waiting.pop_front()
        {
            session.response(stream, plan, context, &mut self.out);
        }
        self.due = session.next_due();
    }

    /// What a connection with streams does when all that was written is sent; `None` when it is
    /// as any other.
    pub(super) fn step_of_streams(
        &mut self,
        number: usize,
        context: &mut Context,
    ) -> Option<TurnStep> {
        let session = self.http2.as_mut()?;
        // A call that waits for bytes would hold up what can be sent.
        let may_read = !self.unread.is_empty() || self.is_readable && !self.is_blocking;
        if may_read && std::mem::take(&mut session.reads_next) {
            return Some(self.take_more(number, context));
        }
        session
            .bodies
            .send(&mut session.server, &context.site, &mut self.out);
        if !self.out.is_empty() {
            session.reads_next = true;
            return Some(TurnStep::Continue);
        }
        if session.server.is_over() {
            self.hang_up();
            return Some(TurnStep::Continue);
        }
        let waits = self.is_blocking && self.due.is_some();
        Some(if waits && self.unread.is_empty() {
            TurnStep::Wait
        } else {
            self.take_more(number, context)
        })
    }
}
