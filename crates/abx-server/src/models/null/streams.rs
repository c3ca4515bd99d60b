//! The null model over HTTP/2: frames are parsed, heads only as far as the protocol requires, and
//! each request gets the same response.

use std::io;

use abx_sys::Socket;
use abx_wire::http2::{RequestEvent, Server};

use crate::connection::bodies::Bodies;
use crate::content::ServedContent;
use crate::tls::{self, TlsStream};

pub(super) struct NullStreams {
    server: Server,
    bodies: Bodies,
    /// Bytes to send, of which the first `sent` are sent.
    out: Vec<u8>,
    sent: usize,
    /// Whether input is ignored, and the connection ends after all is sent.
    has_failed: bool,
}

impl Default for NullStreams {
    fn default() -> NullStreams {
        let mut out = Vec::new();
        NullStreams {
            server: Server::open(&mut out),
            bodies: Bodies::default(),
            out,
            sent: 0,
            has_failed: false,
        }
    }
}

impl NullStreams {
    /// Sends pending bytes as far as there is room.
    pub(super) fn send(
        &mut self,
        socket: &Socket,
        mut tls: Option<&mut TlsStream>,
        site: &ServedContent,
    ) -> io::Result<()> {
        loop {
            while self.sent < self.out.len() {
                self.sent += tls::send(socket, tls.as_deref_mut(), &self.out[self.sent..])?;
            }
            self.out.clear();
            self.sent = 0;
            if self.has_failed {
                return Err(io::ErrorKind::InvalidData.into());
            }
            self.bodies.send(&mut self.server, site, &mut self.out);
            if self.out.is_empty() {
                return Ok(());
            }
        }
    }

    /// Processes bytes of a client, and responds.
    pub(super) fn take(&mut self, mut bytes: &[u8], site: &ServedContent) {
        while let Some(event) = self.server.receive(&mut bytes, &mut self.out) {
            match event {
                RequestEvent::Head { .. } => {}
                RequestEvent::Done { stream } => self.bodies.begin(
                    stream,
                    site.canned_response(),
                    &mut self.server,
                    site,
                    &mut self.out,
                ),
                RequestEvent::Gone { stream } => self.bodies.forget(stream),
                RequestEvent::Failed(_) => self.has_failed = true,
            }
        }
    }
}
