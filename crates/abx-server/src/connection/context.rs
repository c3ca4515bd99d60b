//! What connections need of the thread that serves them.

use std::collections::VecDeque;
use std::sync::Arc;

use abx_sys::{FileRing, Nanos};

use crate::config::{ServeError, ServerConfig, WebSocketSupport};
use crate::content::ServedContent;
use crate::faults::FaultInjector;
use crate::faults::planted_costs::CostPlanter;
use crate::listener::Ending;
use crate::websocket::rooms::Rooms;

pub(crate) struct Context {
    pub(crate) site: Arc<ServedContent>,
    pub(crate) injector: FaultInjector,
    pub(crate) costs: CostPlanter,
    pub(crate) websocket: WebSocketSupport,
    pub(crate) rooms: Rooms,
    /// Responses that wait for their time. The wait is the same for all, so they are in order.
    pub(crate) due: VecDeque<(Nanos, usize)>,
    /// Room for one read, shared because nothing stays in it.
    pub(crate) buffer: Vec<u8>,
    /// What sends files, where that is a ring.
    pub(crate) ring: Option<FileRing>,
    pub(crate) batch: Batch,
    /// How many requests and messages got a response.
    pub(crate) responded: u64,
    /// Whether connections are to end with their next response, since others wait.
    pub(crate) makes_room: bool,
    ending: Ending,
}

/// How many requests are handled before the first of their responses is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Batch {
    /// As many as came together.
    All,
    One,
}

impl Context {
    /// What a server's only thread needs, with room to read so many bytes at once.
    pub(crate) fn new(
        config: &ServerConfig,
        site: ServedContent,
        ending: Ending,
        read_bytes: usize,
    ) -> Result<Context, ServeError> {
        let costs = CostPlanter::open(&config.planted_costs).map_err(|source| ServeError::Log {
            path: config.planted_costs.log.clone().unwrap_or_default(),
            source,
        })?;
        Ok(Context {
            site: Arc::new(site),
            injector: FaultInjector::new(config.faults, config.fault_seed()),
            costs,
            websocket: config.websocket,
            rooms: Rooms::default(),
            due: VecDeque::new(),
            buffer: vec![0; read_bytes],
            ring: None,
            batch: Batch::All,
            responded: 0,
            makes_room: false,
            ending,
        })
    }

    /// The same for one more thread, with faults that are drawn by its number.
    pub(crate) fn for_thread(&self, number: u64) -> Context {
        Context {
            site: Arc::clone(&self.site),
            injector: self.injector.for_thread(number),
            costs: self.costs.for_thread(),
            websocket: self.websocket,
            rooms: Rooms::default(),
            due: VecDeque::new(),
            buffer: vec![0; self.buffer.len()],
            ring: None,
            batch: self.batch,
            responded: 0,
            makes_room: self.makes_room,
            ending: self.ending.clone(),
        }
    }

    /// Does what each request costs on purpose, before its response.
    pub(crate) fn pay_costs(&mut self) {
        self.injector.stall();
        let injector = &self.injector;
        self.costs.pay(|| injector.work());
    }

    /// Whether a connection is to be closed behind the response to its next request.
    pub(crate) fn is_last_request(&self) -> bool {
        self.makes_room || self.ending.has_come()
    }
}
