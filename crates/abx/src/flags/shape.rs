//! Flags for the messages on WebSocket connections.

use std::time::Duration;

use abx_evidence::{LoadShape, Message, Shape};
use abx_lab::{
    BROADCAST_BYTES_MIN, HOLD, MESSAGE_BYTES, MESSAGE_BYTES_MAX, Scheme, Source, Subject,
    is_long_enough,
};
use abx_sys::Nanos;
use clap::{Args, ValueEnum};

use crate::flags::units;
use crate::ui::end::Failure;

/// The messages on WebSocket connections.
#[derive(Debug, Clone, Args)]
pub struct ShapeFlags {
    /// Shape of the WebSocket load [default: echo].
    #[arg(long, value_enum)]
    shape: Option<ShapeName>,
    /// Payload size of WebSocket messages in bytes; a list such as 100,5000 gives one load per
    /// size [default: 87].
    #[arg(
        long, value_name = "N", value_delimiter = ',',
        value_parser = units::whole_number::<u32>(0..=u64::from(MESSAGE_BYTES_MAX), 5000)
    )]
    message_bytes: Vec<u32>,
    /// Send WebSocket text messages (the default).
    #[arg(long, conflicts_with = "binary")]
    text: bool,
    /// Send WebSocket binary messages.
    #[arg(long)]
    binary: bool,
    /// How long idle WebSocket connections are held open [default: 1s].
    #[arg(long, value_parser = units::duration, value_name = "TIME")]
    hold: Option<Duration>,
}

/// The shape of a WebSocket load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ShapeName {
    /// Each connection sends messages and gets every one back.
    Echo,
    /// One connection sends messages, and all connections get every one.
    Broadcast,
    /// Connections are opened and stay idle.
    Connections,
}

impl ShapeFlags {
    /// The shape for this scheme.
    ///
    /// # Errors
    /// A usage failure for WebSocket flags with an HTTP scheme.
    pub fn kind(&self, scheme: Scheme) -> Result<LoadShape, Failure> {
        match scheme {
            Scheme::Http => match self.given().into_iter().find(|(is_given, ..)| *is_given) {
                None => Ok(LoadShape::Request),
                Some((_, flag, _)) => Err(Failure::usage(format!(
                    "{flag} is for WebSocket: use ws:// instead of http://, and for servers that \
                     abx starts add --shape, such as --shape echo"
                ))),
            },
            Scheme::WebSocket => Ok(match self.shape {
                None | Some(ShapeName::Echo) => LoadShape::Echo,
                Some(ShapeName::Broadcast) => LoadShape::Broadcast,
                Some(ShapeName::Connections) => LoadShape::Connections,
            }),
        }
    }

    /// This shape with each requested length of messages.
    ///
    /// # Errors
    /// A usage failure for messages that are too short.
    pub fn shapes(&self, kind: LoadShape) -> Result<Vec<Shape>, Failure> {
        let hold = self.hold.unwrap_or(HOLD);
        let lengths = match &self.message_bytes[..] {
            [] => &[MESSAGE_BYTES],
            given => given,
        };
        if let Some(short) = lengths
            .iter()
            .find(|length| !is_long_enough(kind, **length))
        {
            return Err(Failure::usage(format!(
                "--message-bytes {short}: a broadcast message carries a number, so give at least \
                 {BROADCAST_BYTES_MIN}"
            )));
        }
        let shape = |bytes: &u32| {
            let message = if self.binary {
                Message::binary(*bytes)
            } else {
                Message::text(*bytes)
            };
            Shape::of(kind, message, Nanos::from(hold).0)
        };
        Ok(lengths.iter().map(shape).collect())
    }

    /// The scheme of all subjects of a comparison: that of their URLs; without URLs, WebSocket if a
    /// shape is requested.
    ///
    /// # Errors
    /// A usage failure for URLs of both kinds.
    pub fn scheme(&self, subjects: &[Subject]) -> Result<Scheme, Failure> {
        let mut schemes = subjects.iter().filter_map(|subject| match &subject.source {
            Source::Address(target) => Some(target.scheme),
            Source::Command(_) => None,
        });
        match schemes.next() {
            Some(first) if schemes.any(|other| other != first) => Err(Failure::usage(
                "all subjects get the same load: use http:// for all of them, or ws:// for all",
            )),
            Some(first) => Ok(first),
            None if self.shape.is_some() => Ok(Scheme::WebSocket),
            None => Ok(Scheme::Http),
        }
    }

    /// Each flag: whether it was given, its name, and its key in a study file.
    pub fn given(&self) -> [(bool, &'static str, &'static str); 5] {
        [
            (self.shape.is_some(), "--shape", "shape"),
            (!self.message_bytes.is_empty(), "--message-bytes", "message"),
            (self.text, "--text", "message"),
            (self.binary, "--binary", "message"),
            (self.hold.is_some(), "--hold", "hold"),
        ]
    }
}
