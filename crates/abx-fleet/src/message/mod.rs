//! What controller and agents say to each other, as JSON.
//!
//! An agent asks for a slot until a controller gives it one. From then on the
//! controller asks and the agent answers: an order has a number, is taken once however
//! often it comes, and its result is kept until the next order, so that nothing is lost
//! with a message. Slices are ordered with the moment at which they begin, in the agent's
//! own time.

pub mod build;
pub mod subject;
pub mod text;

use abx_engine::{LoadPart, LoadPlan, ReportedInterval, SlicePlan};
use abx_evidence::{Measured, Outcomes, SliceTally};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use build::hex;
use text::printable;

/// The version of all of this.
pub const PROTOCOL: u32 = 1;

/// An agent that asks for a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Introduction {
    pub protocol: u32,
    /// Its address: whom the bus knows it as, and what tells it from all other processes.
    pub id: String,
    pub name: String,
    /// The slot that it must have, from 0; `None` for any.
    pub slot: Option<usize>,
    /// The SHA-256 of its program.
    pub build: String,
    pub threads: usize,
    pub kernel: Option<String>,
    pub cpu_model: Option<String>,
    /// Which machine its loopback addresses are of.
    pub loopback: Option<String>,
}

impl Introduction {
    /// The same with texts that may be printed.
    #[must_use]
    pub fn printable(self) -> Introduction {
        let each = |text: Option<String>| text.map(|text| printable(&text));
        Introduction {
            name: printable(&self.name),
            build: printable(&self.build),
            kernel: each(self.kernel),
            cpu_model: each(self.cpu_model),
            loopback: each(self.loopback),
            ..self
        }
    }
}

/// What a controller answers to that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum JoinResponse {
    Joined {
        run: String,
        /// Its slot, from 0.
        slot: usize,
        slots: usize,
    },
    Full,
    Refused {
        why: String,
    },
}

/// What a controller says to all agents of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Control {
    /// The controller is there, and looks for agents: those of other runs say that they are
    /// busy.
    Discovery,
    Alive,
    /// What runs ends now, and so does every later slice.
    Stop,
    End,
}

/// What an agent says to a controller that looks for some while it makes load for another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusyAgent {
    pub id: String,
    pub name: String,
    /// The run that it has a part in.
    pub busy_with: String,
}

/// What an agent says unasked, now and then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beat {
    pub id: String,
    pub slot: usize,
    /// Whether it goes away now.
    pub leaves: bool,
}

/// What an agent is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentCommand {
    /// The run for which it is asked.
    pub run: String,
    pub what: AgentQuery,
}

/// What an agent may be asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AgentQuery {
    Clock,
    /// To do something, and to say only whether it will.
    Task {
        /// The order's number, above that of all before.
        number: u64,
        task: Box<AgentTask>,
    },
    /// To end its part in the run: it was given up, and does not come back.
    Leave,
    /// What came of the order with this number.
    Result {
        number: u64,
        /// From which byte on its text is wanted.
        from: usize,
        /// How many intervals it has told of by now.
        told: u64,
    },
}

/// Something that an agent does with its engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AgentTask {
    Open {
        pool: u64,
        plan: Box<LoadPlan>,
        /// [`sha256_of`] it, so that both sides mean the same by it.
        sha256: String,
        /// Which part of it is the agent's.
        part: LoadPart,
    },
    /// Reopen a pool's connections that have died.
    Refresh {
        pool: u64,
    },
    Slice {
        pool: u64,
        plan: SlicePlan,
        /// When it begins, on the agent's clock.
        starts_ns: i64,
    },
    /// Keep what comes of the slices that follow, in case that nobody fetches it.
    Keep {
        /// What is known of the run before its load.
        record: Box<Measured>,
    },
    Close {
        pool: u64,
    },
}

/// What an agent answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AgentResponse {
    Clock {
        now_ns: i64,
    },
    Accepted,
    /// It does not.
    Refused {
        why: String,
    },
    /// It is still at it.
    Working(Working),
    /// A part of the text of a [`TaskResult`].
    Part {
        all: usize,
        /// Those from where it was asked for.
        text: String,
    },
    /// It has no part in that run.
    Stranger {
        /// Which run it has a part in.
        run: Option<String>,
    },
}

/// What an agent tells while it works.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Working {
    pub progress: TaskProgress,
    /// The number of the first of these intervals among all that it tells of.
    #[serde(default)]
    pub first: u64,
    /// How the load has gone lately, for whoever looks. Its result decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<ReportedInterval>,
}

/// How far an agent is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskProgress {
    #[default]
    Nothing,
    Opening {
        open: u64,
        asked: u64,
        /// For how long none was made.
        silent_ns: u64,
        /// After how long without another one it is given up.
        at_most_ns: u64,
    },
    Responses {
        connections: u64,
        /// The longest for so long.
        waited_ns: u64,
        /// For so long at most.
        at_most_ns: u64,
    },
}

/// What came of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum TaskResult {
    Opened {
        standing: usize,
        opened: usize,
        failures: Outcomes,
    },
    Tally {
        tally: Box<SliceTally>,
        /// How long after its time it began, in ns.
        late_ns: u64,
    },
    Done,
    /// The engine there cannot go on.
    Failed {
        why: String,
    },
}

/// The hash by which both sides know that they mean the same plan.
pub fn sha256_of(plan: &LoadPlan) -> String {
    hex(&Sha256::digest(bytes(plan)))
}

/// A message's bytes.
pub fn bytes(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("messages have neither maps without text keys nor errors")
}

/// A message from its bytes; `None` when they are none of ours.
pub fn read<T: DeserializeOwned>(payload: &[u8]) -> Option<T> {
    serde_json::from_slice(payload).ok()
}
