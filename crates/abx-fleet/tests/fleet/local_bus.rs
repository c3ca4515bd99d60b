//! The bus within one process.

use std::sync::Arc;

use abx_fleet::{Bus, LocalBus, LocalConnection};

use crate::{Cut, TestBus};

pub(crate) struct LocalTestBus(LocalBus);

impl TestBus for LocalTestBus {
    fn start() -> LocalTestBus {
        LocalTestBus(LocalBus::default())
    }

    fn connect(&self) -> (Arc<dyn Bus>, Arc<dyn Cut>) {
        let connection = Arc::new(self.0.connect());
        (Arc::clone(&connection) as Arc<dyn Bus>, connection)
    }
}

impl Cut for LocalConnection {
    fn cut(&self, is_cut: bool) {
        LocalConnection::cut(self, is_cut);
    }
}
