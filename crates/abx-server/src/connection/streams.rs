//! A connection that uses HTTP/2: the requests on its streams, and their responses.
//!
//! It reads between two sends of bodies, even if much of them is left, because the client may have
//! cancelled streams and begun others.

use abx_sys::Nanos;
use abx_wire::http2::RequestEvent;

use super::bodies::OUT_BYTES_ENOUGH;
use super::client_connection::Connection;
use super::context::{Batch, Context};
use super::http2_session::Http2Session;
use super::state::TurnStep;

impl Connection {
    /// Processes frames in `bytes` as far as possible, and returns the number of bytes used.
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
                    // SUBTLE: Not after a head, whose end the session may already have seen.
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

    /// Responds to the requests that are now due.
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

    /// The step of a connection with streams after all written bytes are sent; `None` for a
    /// connection without streams.
    pub(super) fn step_of_streams(
        &mut self,
        number: usize,
        context: &mut Context,
    ) -> Option<TurnStep> {
        let session = self.http2.as_mut()?;
        // A blocking read would delay bodies that can be sent.
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
