//! The messages between controller and agents, as JSON.
//!
//! An agent requests a slot until a controller assigns one. From then on, the controller sends
//! requests and the agent responds. An order has a number, is executed once however often it
//! arrives, and its result is kept until the next order, so that no lost message loses a result.
//! The order of a slice contains the time at which it begins, by the agent's clock.

pub mod build;
pub mod subject;
pub mod text;

use abx_engine::{LoadPart, LoadPlan, ReportedInterval, SlicePlan};
use abx_evidence::{Measured, Outcomes, SliceTally};
use abx_model::hex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use text::printable;

/// The version of the protocol.
pub const PROTOCOL: u32 = 1;

/// An agent that requests a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Introduction {
    pub protocol: u32,
    /// The agent's address: its user on the bus, and an id that is unique among all processes.
    pub id: String,
    pub name: String,
    /// The slot that the agent requires, from 0; `None` for any.
    pub slot: Option<usize>,
    /// The SHA-256 of the agent's program.
    pub build: String,
    pub threads: usize,
    pub kernel: Option<String>,
    pub cpu_model: Option<String>,
    /// Identifies the machine of the agent's loopback addresses.
    pub loopback: Option<String>,
}

impl Introduction {
    /// The introduction with printable texts.
    #[must_use]
    pub fn printable(self) -> Introduction {
        let optional = |text: Option<String>| text.map(|text| printable(&text));
        Introduction {
            name: printable(&self.name),
            build: printable(&self.build),
            kernel: optional(self.kernel),
            cpu_model: optional(self.cpu_model),
            loopback: optional(self.loopback),
            ..self
        }
    }
}

/// A controller's response to an introduction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum JoinResponse {
    Joined {
        run: String,
        /// The agent's slot, from 0.
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
    /// The controller looks for agents: agents of other runs respond that they are busy.
    Discovery,
    Alive,
    /// The running slice and every later one must end now.
    Stop,
    End,
}

/// The message of a busy agent to a controller that looks for agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusyAgent {
    pub id: String,
    pub name: String,
    /// The run in which the agent has a part.
    pub busy_with: String,
}

/// A regular message of an agent, which shows that it is alive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beat {
    pub id: String,
    pub slot: usize,
    /// Whether the agent leaves now.
    pub leaves: bool,
}

/// A request to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentCommand {
    /// The run of the sender.
    pub run: String,
    pub what: AgentQuery,
}

/// The kinds of requests to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AgentQuery {
    Clock,
    /// Execute a task; the response is only whether the agent accepts it.
    Task {
        /// The order's number, higher than those of all earlier orders.
        number: u64,
        task: Box<AgentTask>,
    },
    /// End your part in the run: the agent was given up, and cannot come back.
    Leave,
    /// Send the result of the order with this number.
    Result {
        number: u64,
        /// The first byte of the requested text.
        from: usize,
        /// The number of intervals received so far.
        told: u64,
    },
}

/// A task for an agent's engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AgentTask {
    Open {
        pool: u64,
        plan: Box<LoadPlan>,
        /// The [`sha256_of`] the plan, to verify that both sides use the same plan.
        sha256: String,
        /// The agent's part of the load.
        part: LoadPart,
    },
    /// Reopen a pool's connections that have closed.
    Refresh {
        pool: u64,
    },
    Slice {
        pool: u64,
        plan: SlicePlan,
        /// When the slice begins, by the agent's clock, in ns.
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
    /// The agent refuses.
    Refused {
        why: String,
    },
    /// The agent is still executing the order.
    Working(Working),
    /// A part of the text of a [`TaskResult`].
    Part {
        all: usize,
        /// The part from the requested position on.
        text: String,
    },
    /// The agent has no part in that run.
    Stranger {
        /// The run in which the agent has a part.
        run: Option<String>,
    },
}

/// An agent's report while it works.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Working {
    pub progress: TaskProgress,
    /// The number of earlier intervals.
    #[serde(default)]
    pub first: u64,
    /// The latest intervals of the load, for display only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<ReportedInterval>,
}

/// The progress of an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskProgress {
    #[default]
    Nothing,
    Opening {
        open: u64,
        asked: u64,
        /// The time since the last new connection.
        silent_ns: u64,
        /// The time without a new connection after which the agent gives up.
        at_most_ns: u64,
    },
    Responses {
        connections: u64,
        /// The longest wait so far.
        waited_ns: u64,
        /// The longest possible wait.
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
        /// How late the slice began, in ns.
        late_ns: u64,
    },
    Done,
    /// The engine there cannot continue.
    Failed {
        why: String,
    },
}

/// The hash that verifies that both sides use the same plan.
pub fn sha256_of(plan: &LoadPlan) -> String {
    hex(&Sha256::digest(bytes(plan)))
}

/// Writes a message.
pub fn bytes(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("messages have neither maps without text keys nor errors")
}

/// Reads a message; `None` if the bytes are not a message of this type.
pub fn read<T: DeserializeOwned>(payload: &[u8]) -> Option<T> {
    serde_json::from_str(str::from_utf8(payload).ok()?).ok()
}
