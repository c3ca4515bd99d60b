//! The HTTP/2 state of a connection.

use std::collections::VecDeque;

use abx_sys::Nanos;
use abx_wire::http2::{PREFACE, Server};

use super::bodies::Bodies;
use super::context::Context;
use crate::content::Plan;

#[derive(Debug)]
pub(super) struct Http2Session {
    pub(super) server: Server,
    /// Incomplete requests whose heads have arrived.
    pub(super) open_requests: Vec<(u32, Plan)>,
    /// Requests with delayed responses. The delay is the same for all, so they are in order.
    pub(super) waiting: VecDeque<(Nanos, u32, Plan)>,
    pub(super) bodies: Bodies,
    /// Whether to read next, because a part of the bodies was sent.
    pub(super) reads_next: bool,
}

impl Http2Session {
    /// Begins after this number of bytes of the client's preface.
    pub(super) fn begin(matched: usize, out: &mut Vec<u8>) -> Http2Session {
        let mut server = Server::open(out);
        let event = server.receive(&mut &PREFACE[..matched], out);
        debug_assert!(event.is_none(), "the preface contains no request");
        Http2Session {
            server,
            open_requests: Vec::new(),
            waiting: VecDeque::new(),
            bodies: Bodies::default(),
            reads_next: false,
        }
    }

    /// Whether no response is being sent.
    pub(super) fn is_at_rest(&self) -> bool {
        self.bodies.is_empty()
    }

    pub(super) fn take_request(&mut self, stream: u32) -> Option<Plan> {
        let place = self
            .open_requests
            .iter()
            .rposition(|(number, _)| *number == stream)?;
        Some(self.open_requests.swap_remove(place).1)
    }

    pub(super) fn forget(&mut self, stream: u32) {
        self.take_request(stream);
        self.waiting.retain(|(_, waiting, _)| *waiting != stream);
        self.bodies.forget(stream);
    }

    pub(super) fn next_due(&self) -> Option<Nanos> {
        self.waiting.front().map(|(at, _, _)| *at)
    }

    pub(super) fn response(
        &mut self,
        stream: u32,
        plan: Plan,
        context: &mut Context,
        out: &mut Vec<u8>,
    ) {
        context.responded += 1;
        let injected = context.injector.draw();
        let response = context.site.respond(plan, injected);
        self.bodies
            .begin(stream, response, &mut self.server, &context.site, out);
    }
}
