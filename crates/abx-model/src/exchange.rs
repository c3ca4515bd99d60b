//! How a connection carries requests and responses, or messages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a connection carries requests and responses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exchange {
    /// The protocol, such as `http/1.1`.
    pub protocol: String,
    /// The most requests or messages that a connection has in flight; in HTTP/2 the most
    /// streams.
    pub pipeline: u32,
    /// What a connection does.
    #[serde(default, skip_serializing_if = "LoadShape::is_request")]
    pub shape: LoadShape,
    /// The WebSocket message, if the load sends one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// How long idle connections are held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_ns: Option<u64>,
}

/// What a connection does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadShape {
    /// It sends requests and receives responses.
    #[default]
    Request,
    /// It sends WebSocket messages and receives each of them back.
    Echo,
    /// One connection sends WebSocket messages, and all connections receive each of them.
    Broadcast,
    /// It is opened and stays idle.
    Connections,
    /// It belongs to a user, whose sessions have several requests in order.
    Scenario,
}

/// What connections carry: the [`LoadShape`] with its parameters. Study files, plans and records
/// mean the same by it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Requests and responses of HTTP.
    #[default]
    Request,
    /// WebSocket messages, each of which is sent back on its connection.
    Echo(Message),
    /// WebSocket messages of one connection, each of which all connections of the pool receive,
    /// including the sender.
    Broadcast(Message),
    /// Idle WebSocket connections, which respond to pings.
    Connections {
        /// For how long they are held, in ns.
        hold_ns: u64,
    },
    /// Sessions of users, whose steps are not part of the shape.
    Scenario,
}

/// A WebSocket message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// The length of its payload.
    pub bytes: u32,
    /// The type of its payload.
    pub kind: MessageKind,
}

/// The type of a message's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// Text.
    Text,
    /// Bytes.
    Binary,
}

impl Default for Exchange {
    /// One request at a time in HTTP/1.1.
    fn default() -> Exchange {
        Exchange {
            protocol: "http/1.1".to_owned(),
            pipeline: 1,
            shape: LoadShape::Request,
            message: None,
            hold_ns: None,
        }
    }
}

impl Exchange {
    /// How connections carry this shape, in this protocol and with at most `pipeline` requests or
    /// messages in flight on each.
    #[must_use]
    pub fn of(protocol: &str, pipeline: u32, shape: Shape) -> Exchange {
        Exchange {
            protocol: protocol.to_owned(),
            pipeline,
            shape: shape.kind(),
            message: shape.message(),
            hold_ns: shape.hold_ns(),
        }
    }

    /// How many of these connections send.
    #[must_use]
    pub fn senders(&self, connections: u32) -> u32 {
        self.shape.senders(connections)
    }

    /// The most requests that these connections have in flight.
    #[must_use]
    pub fn in_flight(&self, connections: u32) -> u64 {
        u64::from(self.senders(connections)) * u64::from(self.pipeline.max(1))
    }

    /// The fewest requests that these connections have in flight in a closed loop, which refills a
    /// window when half of it is left.
    #[must_use]
    pub fn in_flight_least(&self, connections: u32) -> u64 {
        u64::from(self.senders(connections)) * u64::from((self.pipeline / 2).max(1))
    }
}

impl Shape {
    /// The shape of this kind, with its message or its time if it has one.
    #[must_use]
    pub fn of(kind: LoadShape, message: Message, hold_ns: u64) -> Shape {
        match kind {
            LoadShape::Request => Shape::Request,
            LoadShape::Echo => Shape::Echo(message),
            LoadShape::Broadcast => Shape::Broadcast(message),
            LoadShape::Connections => Shape::Connections { hold_ns },
            LoadShape::Scenario => Shape::Scenario,
        }
    }

    /// The kind of load.
    #[must_use]
    pub fn kind(self) -> LoadShape {
        match self {
            Shape::Request => LoadShape::Request,
            Shape::Echo(_) => LoadShape::Echo,
            Shape::Broadcast(_) => LoadShape::Broadcast,
            Shape::Connections { .. } => LoadShape::Connections,
            Shape::Scenario => LoadShape::Scenario,
        }
    }

    /// The message that connections send, if they send any.
    #[must_use]
    pub fn message(self) -> Option<Message> {
        match self {
            Shape::Echo(message) | Shape::Broadcast(message) => Some(message),
            Shape::Request | Shape::Connections { .. } | Shape::Scenario => None,
        }
    }

    /// For how long its connections are idle, in ns; `None` if they are not.
    #[must_use]
    pub fn hold_ns(self) -> Option<u64> {
        match self {
            Shape::Connections { hold_ns } => Some(hold_ns),
            _ => None,
        }
    }

    /// Whether it uses WebSocket.
    #[must_use]
    pub fn is_websocket(self) -> bool {
        match self {
            Shape::Request | Shape::Scenario => false,
            Shape::Echo(_) | Shape::Broadcast(_) | Shape::Connections { .. } => true,
        }
    }
}

impl Message {
    /// A text of this length.
    #[must_use]
    pub const fn text(bytes: u32) -> Message {
        Message {
            bytes,
            kind: MessageKind::Text,
        }
    }

    /// A binary message of this length.
    #[must_use]
    pub const fn binary(bytes: u32) -> Message {
        Message {
            bytes,
            kind: MessageKind::Binary,
        }
    }

    /// Whether it is text, whose bytes are then visible ASCII.
    #[must_use]
    pub fn is_text(self) -> bool {
        self.kind == MessageKind::Text
    }
}

impl LoadShape {
    /// How many of these connections send: all, except for a broadcast, which has one sender, and
    /// for idle connections.
    #[must_use]
    pub fn senders(self, connections: u32) -> u32 {
        match self {
            LoadShape::Request | LoadShape::Echo | LoadShape::Scenario => connections,
            LoadShape::Broadcast => connections.min(1),
            LoadShape::Connections => 0,
        }
    }

    /// Its name in records, study files and flags.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            LoadShape::Request => "request",
            LoadShape::Echo => "echo",
            LoadShape::Broadcast => "broadcast",
            LoadShape::Connections => "connections",
            LoadShape::Scenario => "scenario",
        }
    }

    /// The unit in which the load is counted, in the singular.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            LoadShape::Request => "request",
            LoadShape::Echo => "message",
            LoadShape::Broadcast => "broadcast",
            LoadShape::Connections => "connection",
            LoadShape::Scenario => "session",
        }
    }

    /// The unit in which the load is counted, in the plural.
    #[must_use]
    pub fn units(self) -> &'static str {
        match self {
            LoadShape::Request => "requests",
            LoadShape::Echo => "messages",
            LoadShape::Broadcast => "broadcasts",
            LoadShape::Connections => "connections",
            LoadShape::Scenario => "sessions",
        }
    }

    fn is_request(&self) -> bool {
        *self == LoadShape::Request
    }
}
