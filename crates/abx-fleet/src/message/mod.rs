//! The messages of controller and agents to each other, as JSON.
//!
//! An agent requests a slot until a controller assigns one. From then on the controller sends
//! requests and the agent responds: an order has a number, is executed once however often it
//! arrives, and its result is kept until the next order, so that no lost message loses a result.
//! Orders of slices have the moment at which they begin, in the agent's own time.

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

/// An agent that requests a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Introduction {
    pub protocol: u32,
    /// Its address: the user as which the bus knows it, and the id that distinguishes it from all
    /// other processes.
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

/// A controller's response to it.
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

/// A controller's command to all agents of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Control {
    /// The controller is there, and looks for agents: those of other runs respond that they are
    /// busy.
    Discovery,
    Alive,
    /// The running slice ends now, and so does every later one.
    Stop,
    End,
}

/// An agent's message to a controller that looks for agents while it makes load for another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusyAgent {
    pub id: String,
    pub name: String,
    /// The run that it has a part in.
    pub busy_with: String,
}

/// An agent's message without a request, now and then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beat {
    pub id: String,
    pub slot: usize,
    /// Whether it goes away now.
    pub leaves: bool,
}

/// A request to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentCommand {
    /// The run for which it is sent.
    pub run: String,
    pub what: AgentQuery,
}

/// The kinds of requests to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AgentQuery {
    Clock,
    /// To execute a task, and to respond only whether it will.
    Task {
        /// The order's number, above that of all before.
        number: u64,
        task: Box<AgentTask>,
    },
    /// To end its part in the run: it was given up, and does not come back.
    Leave,
    /// To send the result of the order with this number.
    Result {
        number: u64,
        /// From which byte on its text is wanted.
        from: usize,
        /// How many intervals it has reported by now.
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
    /// Reopen a pool's connections that have closed.
    Refresh {
        pool: u64,
    },
    Slice {
        pool: u64,
        plan: SlicePlan,
        /// When it begins, on the agent's clock.
        starts_ns: i64,
    },
    /// Keep the results of the slices that follow, in case no controller fetches them.
    Keep {
        /// The record of the run before its load.
        record: Box<Measured>,
    },
    Close {
        pool: u64,
    },
}

/// An agent's response.
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
        /// The part from the requested position on.
        text: String,
    },
    /// It has no part in that run.
    Stranger {
        /// Which run it has a part in.
        run: Option<String>,
    },
}

/// An agent's report while it works.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Working {
    pub progress: TaskProgress,
    /// The number of the first of these intervals among all that it reports.
    #[serde(default)]
    pub first: u64,
    /// How the load has gone lately, for display. Its result decides.
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

/// The result of a task.
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
    /// The engine there cannot continue.
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
