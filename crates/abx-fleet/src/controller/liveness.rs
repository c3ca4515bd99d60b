//! Watches which agents are alive, on a thread that receives their beats and sends its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use abx_engine::EngineError;

use super::plan::{FleetEvent, FleetListener};
use crate::bus::{Bus, BusMessage, Subscription};
use crate::fleet_error::FleetError;
use crate::message::subject::{ALL_AGENTS, agent_subject, beat_subject, control_subject};
use crate::message::{AgentCommand, AgentQuery, Beat, Control, bytes, read};
use crate::timing::FleetTiming;

/// Watches which agents are alive.
pub struct Liveness {
    shared: Arc<SharedRoll>,
    thread: Option<JoinHandle<()>>,
    _beats: Subscription,
}

struct SharedRoll {
    entries: Mutex<Vec<Entry>>,
    is_over: AtomicBool,
}

struct Entry {
    id: String,
    name: String,
    last_seen: Instant,
    is_silent: bool,
    /// How the agent was lost. It does not come back.
    lost: Option<Loss>,
}

/// How an agent was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    pub how: String,
    /// When the agent's last message arrived, in milliseconds since 1970-01-01 UTC. Its later work
    /// is unknown.
    pub last_seen_unix_ms: u64,
}

impl Loss {
    /// The loss of an agent that was silent for this time.
    pub fn new(how: String, silent: Duration) -> Loss {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let last_seen = now.unwrap_or_default().saturating_sub(silent);
        Loss {
            how,
            last_seen_unix_ms: u64::try_from(last_seen.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// The state of the thread.
struct Watch {
    shared: Arc<SharedRoll>,
    bus: Arc<dyn Bus>,
    beats: Receiver<BusMessage>,
    run: String,
    timing: FleetTiming,
    notify: FleetListener,
}

/// How often every agent is checked.
const LOOK_EVERY: Duration = Duration::from_millis(100);

impl Liveness {
    /// Watches the agents of a run, given by id and name in the order of slots.
    ///
    /// # Errors
    /// If the bus refuses a subscription, or the thread cannot start.
    pub fn begin(
        bus: &Arc<dyn Bus>,
        run: &str,
        agents: Vec<(String, String)>,
        timing: FleetTiming,
        notify: &FleetListener,
    ) -> Result<Liveness, FleetError> {
        let (sender, beats) = channel();
        let subscription = bus.subscribe(&beat_subject(run, ALL_AGENTS), sender)?;
        let entry = |(id, name)| Entry {
            id,
            name,
            last_seen: Instant::now(),
            is_silent: false,
            lost: None,
        };
        let shared = Arc::new(SharedRoll {
            entries: Mutex::new(agents.into_iter().map(entry).collect()),
            is_over: AtomicBool::new(false),
        });
        let watch = Watch {
            shared: Arc::clone(&shared),
            bus: Arc::clone(bus),
            beats,
            run: run.to_owned(),
            timing,
            notify: Arc::clone(notify),
        };
        let thread = thread::Builder::new()
            .name("abx-roll-call".to_owned())
            .spawn(move || watch.run())
            .map_err(EngineError::no_thread)?;
        Ok(Liveness {
            shared,
            thread: Some(thread),
            _beats: subscription,
        })
    }

    /// Records that the agent of this slot has responded.
    pub fn note_response(&self, slot: usize) {
        if let Some(entry) = self.shared.entries().get_mut(slot) {
            entry.last_seen = Instant::now();
        }
    }

    /// How the agent of this slot was lost, if it was.
    pub fn lost(&self, slot: usize) -> Option<Loss> {
        self.shared.entries().get(slot)?.lost.clone()
    }
}

impl Drop for Liveness {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic there was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl SharedRoll {
    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        // Each change is one assignment.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch {
    fn run(self) {
        let control = control_subject(&self.run);
        let mut publishes_at = Instant::now();
        let mut checked_at = Instant::now();
        while !self.shared.is_over.load(Ordering::Relaxed) {
            if Instant::now() >= publishes_at {
                // The next beat follows soon.
                let _ = self.bus.publish(&control, bytes(&Control::Alive));
                publishes_at = Instant::now() + self.timing.beat;
            }
            self.listen();
            // A process without a connection, or one that was itself delayed, cannot judge others.
            let is_deaf = !self.bus.is_connected() || checked_at.elapsed() > self.timing.suspect;
            checked_at = Instant::now();
            for event in self.shared.check(is_deaf, &self.timing) {
                (self.notify)(event);
            }
        }
    }

    /// Orders an agent that was given up to end its load.
    fn send_away(&self, id: &str) {
        let order = AgentCommand {
            run: self.run.clone(),
            what: AgentQuery::Leave,
        };
        // The order is repeated at the agent's next beat.
        let _ = self.bus.publish(&agent_subject(id), bytes(&order));
    }

    /// Receives messages until the next check.
    fn listen(&self) {
        let until = Instant::now() + LOOK_EVERY;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.beats.recv_timeout(left) {
                Ok(message) => match self.shared.receive(&message, &self.run) {
                    BeatMeaning::LivenessEvent(event) => (self.notify)(event),
                    BeatMeaning::Ghost(id) => self.send_away(&id),
                    BeatMeaning::Nothing => {}
                },
                Err(RecvTimeoutError::Timeout) => return,
                Err(RecvTimeoutError::Disconnected) => {
                    thread::sleep(left);
                    return;
                }
            }
        }
    }
}

/// The meaning of a beat for a controller.
enum BeatMeaning {
    LivenessEvent(FleetEvent),
    /// The beat of an agent that was given up, with its id. It must not continue its load.
    Ghost(String),
    Nothing,
}

impl SharedRoll {
    fn receive(&self, message: &BusMessage, run: &str) -> BeatMeaning {
        let Some(beat) = read::<Beat>(&message.payload) else {
            return BeatMeaning::Nothing;
        };
        let mut entries = self.entries();
        let Some(entry) = entries.get_mut(beat.slot) else {
            return BeatMeaning::Nothing;
        };
        // A beat of another process does not count, whatever slot it claims.
        if entry.id != beat.id || message.subject != beat_subject(run, &beat.id) {
            return BeatMeaning::Nothing;
        }
        if entry.lost.is_some() {
            return if beat.leaves {
                BeatMeaning::Nothing
            } else {
                BeatMeaning::Ghost(beat.id)
            };
        }
        entry.last_seen = Instant::now();
        if beat.leaves {
            BeatMeaning::LivenessEvent(entry.lose("it was stopped there".to_owned()))
        } else {
            BeatMeaning::Nothing
        }
    }

    /// Finds agents that were silent for too long, or are no longer silent.
    fn check(&self, is_deaf: bool, timing: &FleetTiming) -> Vec<FleetEvent> {
        let mut events = Vec::new();
        for entry in self.entries().iter_mut() {
            if entry.lost.is_some() {
                continue;
            }
            if is_deaf {
                entry.last_seen = Instant::now();
                continue;
            }
            let silent = entry.last_seen.elapsed();
            let is_silent = silent > timing.suspect;
            let agent = entry.name.clone();
            if silent > timing.lost {
                let how = format!("it was silent for {:.1} s", silent.as_secs_f64());
                events.push(entry.lose(how));
            } else if is_silent != entry.is_silent {
                entry.is_silent = is_silent;
                events.push(if is_silent {
                    FleetEvent::Silent { agent }
                } else {
                    FleetEvent::Back { agent }
                });
            }
        }
        events
    }
}

impl Entry {
    fn lose(&mut self, how: String) -> FleetEvent {
        self.lost = Some(Loss::new(how.clone(), self.last_seen.elapsed()));
        FleetEvent::Lost {
            agent: self.name.clone(),
            how,
        }
    }
}
