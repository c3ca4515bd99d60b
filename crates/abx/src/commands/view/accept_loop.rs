//! Accepts connections: a thread per connection, at most a few dozen at a time.

use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::pages::respond;
use super::request::{Access, read};
use super::response::{ResponseStatus, ViewResponse};
use super::site::Site;

/// How many connections are served at a time. Others wait in the listen queue, at most until one of
/// these has used up its time.
const SLOTS: usize = 64;
/// How long to wait if the machine has no room for another connection.
const NO_ROOM: Duration = Duration::from_millis(100);

/// Serves every connection.
pub fn run(listener: &TcpListener, site: Site) -> ! {
    let site = Arc::new(site);
    let slots = Arc::new(Slots::default());
    loop {
        let slot = Slots::take(&slots);
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(NO_ROOM);
            continue;
        };
        let site = Arc::clone(&site);
        let spawned = thread::Builder::new().spawn(move || {
            handle(&site, &stream);
            drop(slot);
        });
        if spawned.is_err() {
            // The connection is closed; the browser may send its request again.
            thread::sleep(NO_ROOM);
        }
    }
}

/// Reads one request, and sends one response.
fn handle(site: &Site, stream: &TcpStream) {
    let request = match read(stream) {
        Ok(request) => request,
        Err(error) => {
            if let Some(response) = ViewResponse::to_error(error) {
                response.send(stream, Access::Get);
            }
            return;
        }
    };
    let is_admitted = request
        .host
        .as_deref()
        .is_some_and(|host| site.names.admit(host));
    let response = match (is_admitted, request.access) {
        (false, _) => ViewResponse::notice(
            ResponseStatus::Misdirected,
            "Wrong host name",
            "These records are shown under `localhost`, a loopback address, or the address that \
             `abx view` printed: use one of them.",
        ),
        (true, Access::Other) => ViewResponse::notice(
            ResponseStatus::MethodNotAllowed,
            "Read-only",
            "Records are shown by GET and HEAD; nothing here can be changed.",
        ),
        (true, Access::Get | Access::Head) => respond(&site.records, &request.target),
    };
    response.send(stream, request.access);
}

/// Slots for connections.
#[derive(Default)]
struct Slots {
    taken: Mutex<usize>,
    freed: Condvar,
}

/// A slot, which is freed on drop.
struct TakenSlot(Arc<Slots>);

impl Slots {
    /// Waits for a free slot and takes it.
    fn take(slots: &Arc<Slots>) -> TakenSlot {
        let taken = slots.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = slots
            .freed
            .wait_while(taken, |taken| *taken >= SLOTS)
            .unwrap_or_else(PoisonError::into_inner);
        *taken += 1;
        TakenSlot(Arc::clone(slots))
    }
}

impl Drop for TakenSlot {
    fn drop(&mut self) {
        let Slots { taken, freed } = &*self.0;
        *taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        freed.notify_one();
    }
}
