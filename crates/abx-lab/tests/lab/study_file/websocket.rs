//! WebSocket loads in study files.

use abx_evidence::{Message, Shape};
use abx_lab::{Load, SWITCHED};

use super::parsed;

const SUBJECT: &str = "[[subject]]\nname = \"one\"\ncommand = [\"./one\", \"{port}\"]\n";

fn loads(load: &str) -> Vec<Load> {
    let head = "[[load]]\nname = \"l\"\nrequests = [{ path = \"/echo\" }]\n";
    let study = parsed(&format!("{SUBJECT}{head}{load}"));
    study.expect("a study").loads
}

fn text(bytes: u32) -> Message {
    Message::text(bytes)
}

#[test]
fn each_shape_has_its_defaults() {
    // Method: each shape without other keys; WebSocket follows from the shape.
    let shape = |word: &str| {
        let loads = loads(&format!("shape = \"{word}\"\n"));
        assert_eq!(loads[0].status, SWITCHED);
        assert_eq!(loads[0].exchange().protocol, "websocket");
        loads[0].shape
    };
    assert_eq!(shape("echo"), Shape::Echo(text(87)));
    assert_eq!(shape("broadcast"), Shape::Broadcast(text(87)));
    assert_eq!(
        shape("connections"),
        Shape::Connections {
            hold_ns: 1_000_000_000
        }
    );
}

#[test]
fn messages_and_times_are_those_of_the_file() {
    // Method: a binary message, and a time to hold connections.
    let echo = loads("shape = \"echo\"\nmessage = { bytes = 5, kind = \"binary\" }\n");
    let binary = Message::binary(5);
    assert_eq!(echo[0].shape, Shape::Echo(binary));
    let held = loads("shape = \"connections\"\nhold = \"250ms\"\n");
    assert_eq!(
        held[0].shape,
        Shape::Connections {
            hold_ns: 250_000_000
        }
    );
}

#[test]
fn lengths_and_connections_are_swept_together() {
    // Method: two lists; every pair is a load with its own name.
    let loads = loads(
        "shape = \"broadcast\"\nprotocol = \"websocket\"\nconnections = [2, 4]\n\
         message = { bytes = [100, 5000] }\n",
    );
    let rows: Vec<_> = loads
        .iter()
        .map(|load| (load.name.as_str(), load.connections, load.shape))
        .collect();
    assert_eq!(
        rows,
        [
            ("l-b100-c2", 2, Shape::Broadcast(text(100))),
            ("l-b100-c4", 4, Shape::Broadcast(text(100))),
            ("l-b5000-c2", 2, Shape::Broadcast(text(5000))),
            ("l-b5000-c4", 4, Shape::Broadcast(text(5000))),
        ]
    );
}
