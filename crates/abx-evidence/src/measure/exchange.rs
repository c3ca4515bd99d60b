//! How a connection carries requests and answers, or messages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a connection carries requests and answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Exchange {
    /// What is spoken, such as `http/1.1`.
    pub protocol: String,
    /// Requests or messages that a connection has in flight at most.
    pub pipeline: u32,
    /// What a connection does.
    #[serde(skip_serializing_if = "LoadShape::is_request")]
    pub shape: LoadShape,
    /// What is sent as a WebSocket message, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// For how long connections are held that say nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_ns: Option<u64>,
}

/// What a connection does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadShape {
    /// It asks, and is answered.
    #[default]
    Request,
    /// It sends WebSocket messages, and gets each of them back.
    Echo,
    /// One of them sends WebSocket messages, and all get each of them.
    Broadcast,
    /// It is opened, and says nothing.
    Connections,
}

/// A WebSocket message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// The length of its payload.
    pub bytes: u32,
    /// What its payload is.
    pub kind: MessageKind,
}

/// What the payload of a message is.
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
    /// How many of so many connections send: all, but for a broadcast, which has
    /// one speaker, and for those that say nothing.
    #[must_use]
    pub fn senders(&self, connections: u32) -> u32 {
        match self.shape {
            LoadShape::Request | LoadShape::Echo => connections,
            LoadShape::Broadcast => connections.min(1),
            LoadShape::Connections => 0,
        }
    }

    /// Requests that so many connections have in flight at most.
    #[must_use]
    pub fn in_flight(&self, connections: u32) -> u64 {
        u64::from(self.senders(connections)) * u64::from(self.pipeline.max(1))
    }
}

impl LoadShape {
    /// Its name in records, study files and flags.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            LoadShape::Request => "request",
            LoadShape::Echo => "echo",
            LoadShape::Broadcast => "broadcast",
            LoadShape::Connections => "connections",
        }
    }

    /// What the load is counted in, singular.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            LoadShape::Request => "request",
            LoadShape::Echo => "message",
            LoadShape::Broadcast => "broadcast",
            LoadShape::Connections => "connection",
        }
    }

    /// The same, plural.
    #[must_use]
    pub fn units(self) -> &'static str {
        match self {
            LoadShape::Request => "requests",
            LoadShape::Echo => "messages",
            LoadShape::Broadcast => "broadcasts",
            LoadShape::Connections => "connections",
        }
    }

    fn is_request(&self) -> bool {
        *self == LoadShape::Request
    }
}
