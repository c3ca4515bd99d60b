//! Lets connections in: a thread for each, and never more than a few dozen.

use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::Site;
use super::answer::{Answer, Status};
use super::pages::answer;
use super::request::{Asked, read};

/// How many connections are looked after at a time; further ones wait in the
/// listen queue, at most until one of these has used up its time.
const PLACES: usize = 64;
/// How long to wait when the machine has no room for another connection.
const NO_ROOM: Duration = Duration::from_millis(100);

/// Answers everyone who connects.
pub fn open(listener: &TcpListener, site: &Arc<Site>) -> ! {
    let places = Arc::new(Places::default());
    loop {
        let place = Places::take(&places);
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(NO_ROOM);
            continue;
        };
        let site = Arc::clone(site);
        let spawned = thread::Builder::new().spawn(move || {
            attend(&site, &stream);
            drop(place);
        });
        if spawned.is_err() {
            // Its connection is closed; the browser may ask again.
            thread::sleep(NO_ROOM);
        }
    }
}

/// One request, one answer.
fn attend(site: &Site, stream: &TcpStream) {
    let request = match read(stream) {
        Ok(request) => request,
        Err(refusal) => {
            if let Some(answer) = Answer::to_refusal(refusal) {
                answer.send(stream, Asked::Get);
            }
            return;
        }
    };
    let is_admitted = { request.host.as_deref() }.is_some_and(|host| site.names.admit(host));
    let answer = match (is_admitted, request.asked) {
        (false, _) => Answer::notice(
            Status::Misdirected,
            "Not under this name",
            "These records are shown under `localhost`, a loopback address, or the address that \
             `abx view` printed: ask by one of them.",
        ),
        (true, Asked::Otherwise) => Answer::notice(
            Status::MethodNotAllowed,
            "Only to be looked at",
            "Records are shown by GET and HEAD; nothing here can be changed.",
        ),
        (true, Asked::Get | Asked::Head) => answer(&site.shelf, &request.target),
    };
    answer.send(stream, request.asked);
}

/// Places for connections.
#[derive(Default)]
struct Places {
    taken: Mutex<usize>,
    left: Condvar,
}

/// One of them, given back when dropped.
struct Place(Arc<Places>);

impl Places {
    /// Waits for a place and takes it.
    fn take(all: &Arc<Places>) -> Place {
        let taken = all.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = { all.left.wait_while(taken, |taken| *taken >= PLACES) }
            .unwrap_or_else(PoisonError::into_inner);
        *taken += 1;
        Place(Arc::clone(all))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Places { taken, left } = &*self.0;
        *taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        left.notify_one();
    }
}
