//! What connections need from the thread that serves them.

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
    /// The ring that sends files, if one does.
    pub(crate) ring: Option<FileRing>,
    pub(crate) batch: Batch,
    /// The number of requests and messages with a response.
    pub(crate) responded: u64,
    /// Whether connections end after their next response, because others wait.
    pub(crate) makes_room: bool,
    ending: Ending,
}

/// How many requests are handled before the first of their responses is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Batch {
    /// All requests that arrived together.
    All,
    One,
}

impl Context {
    /// The context of a server's only thread, with a buffer of this size.
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

    /// The context of another thread, whose number determines its random faults.
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

    /// Pays the planted costs of a request, before its response.
    pub(crate) fn pay_costs(&mut self) {
        self.injector.stall();
        let injector = &self.injector;
        self.costs.pay(|| injector.work());
    }

    /// Whether connections close after the response to their next request.
    pub(crate) fn is_last_request(&self) -> bool {
        self.makes_room || self.ending.has_come()
    }
}
