//! One blocking thread for each connection.

use std::convert::Infallible;
use std::io::{self, Read};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use abx_wire::http1::{Server, ServerEvent};
use rustix::io::retry_on_intr;
use rustix::net::send;

use crate::config::{Nagle, ServeError, ServerConfig};
use crate::connection_table::{RETRY_AFTER, is_of_one_connection};
use crate::content::{CONTINUE, Plan, PreparedAnswer, ServedContent, Tail, answer_malformed};
use crate::faults::FaultInjector;

/// Serves until the process ends.
pub(crate) fn run(
    config: &ServerConfig,
    site: ServedContent,
    on_ready: impl FnOnce(SocketAddr),
    on_refusal: impl Fn(&io::Error),
) -> Result<Infallible, ServeError> {
    let (listener, address) = listen(config).map_err(|source| ServeError::Listen {
        address: config.address,
        source,
    })?;
    let site = Arc::new(site);
    let injector = FaultInjector::new(config.faults, config.seed);
    on_ready(address);
    let mut number = 0;
    loop {
        let accepted = listener.accept().and_then(|(stream, _)| {
            number += 1;
            stream.set_nodelay(config.nagle == Nagle::Off)?;
            let session =
                Conversation::new(stream, Arc::clone(&site), injector.for_connection(number));
            // A thread that cannot be started closes the connection.
            let builder = thread::Builder::new().stack_size(STACK_BYTES);
            builder.spawn(move || session.run())?;
            Ok(())
        });
        match accepted {
            Err(error) if !is_of_one_connection(&error) => {
                on_refusal(&error);
                thread::sleep(RETRY_AFTER.into());
            }
            _ => {}
        }
    }
}

fn listen(config: &ServerConfig) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(config.address)?;
    // The standard library has a backlog of its own; listening once more changes it.
    rustix::net::listen(&listener, config.backlog())?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// The session with one client.
struct Conversation {
    stream: TcpStream,
    site: Arc<ServedContent>,
    injector: FaultInjector,
    /// Bytes to send before the next read.
    out: Vec<u8>,
}

/// Whether more requests are taken.
#[derive(PartialEq, Eq)]
enum NextRequest {
    GoOn,
    Close,
}

impl Conversation {
    fn new(stream: TcpStream, site: Arc<ServedContent>, injector: FaultInjector) -> Conversation {
        Conversation {
            stream,
            site,
            injector,
            out: Vec::new(),
        }
    }

    /// Talks to the end. An error means that the client is gone, which nobody needs to hear.
    fn run(mut self) {
        if self.answer_all().is_ok() {
            // Bytes still coming would turn a plain close into a reset, which may
            // destroy the answer: tell the end and wait for the client's.
            let _ = self.stream.shutdown(Shutdown::Write);
            let _ = io::copy(&mut self.stream, &mut io::sink());
        }
    }

    fn answer_all(&mut self) -> io::Result<()> {
        let mut requests = Server::new();
        let mut plan = None;
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let received = match self.stream.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                received => received?,
            };
            if received == 0 {
                return Ok(());
            }
            let mut input = &buffer[..received];
            while let Some(event) = requests.receive(&mut input) {
                match event {
                    ServerEvent::Head(head) => {
                        plan = Some(self.site.plan(&head));
                        if head.expects_continue {
                            self.out.extend_from_slice(CONTINUE);
                        }
                    }
                    ServerEvent::Done => {
                        let plan = plan.take().expect("a request has a head");
                        if self.answer(plan)? == NextRequest::Close {
                            return Ok(());
                        }
                    }
                    ServerEvent::Failed(_) => {
                        answer_malformed(&mut self.out);
                        return self.send(Tail::None);
                    }
                }
            }
            self.send(Tail::None)?;
        }
    }

    /// Answers one request; a small answer stays in the buffer for now.
    fn answer(&mut self, plan: Plan) -> io::Result<NextRequest> {
        self.injector.stall();
        self.injector.work();
        if let Some(delay) = self.injector.delay() {
            self.send(Tail::None)?;
            thread::sleep(delay);
        }
        let injected = self.injector.draw();
        let PreparedAnswer { tail, close } = self.site.answer(plan, injected, &mut self.out);
        let has_enough = self.out.len() >= OUT_BYTES_ENOUGH;
        if close || has_enough || !tail.is_none() {
            self.send(tail)?;
        }
        match close {
            true => Ok(NextRequest::Close),
            false => Ok(NextRequest::GoOn),
        }
    }

    /// Sends the buffer and the tail behind it.
    fn send(&mut self, mut tail: Tail) -> io::Result<()> {
        loop {
            tail.fill(&mut self.out)?;
            let flags = tail.flags();
            let mut left = self.out.as_slice();
            while !left.is_empty() {
                let sent = retry_on_intr(|| send(&self.stream, left, flags))?;
                left = &left[sent..];
            }
            self.out.clear();
            if tail.is_none() {
                return Ok(());
            }
            self.site.send_piece(&self.stream, &mut tail)?;
        }
    }
}

/// Room for one read, in bytes.
const READ_BYTES: usize = 16 * 1024;

/// So many bytes to send that they go out before the next request.
const OUT_BYTES_ENOUGH: usize = 64 * 1024;

/// Enough for a session, and little enough for thousands of them.
const STACK_BYTES: usize = 256 * 1024;
