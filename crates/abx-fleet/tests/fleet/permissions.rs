//! The permissions to publish and subscribe on a NATS server that [`BusSetup`] configured.
//!
//! [`BusSetup`]: abx_fleet::BusSetup

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use abx_fleet::{Bus, BusMessage, Subscription};

use crate::nats_server::NatsServer;
use crate::until;

const CONTROLLER: &str = "controller";
const FIRST: &str = "agent-1";
const SECOND: &str = "agent-2";
const WITHIN: Duration = Duration::from_secs(20);

fn listen(bus: &impl Bus, subject: &str) -> (Subscription, Receiver<BusMessage>) {
    let (sender, inbox) = channel();
    (bus.subscribe(subject, sender).unwrap(), inbox)
}

/// The server's refusal of this action.
fn refusal(bus: &impl Bus) -> String {
    until("a refusal", || bus.refusal().is_some());
    bus.refusal().unwrap().to_string()
}

#[test]
fn publishing_in_the_name_of_another_user_is_refused() {
    // Method: each user publishes what only another user may publish, on a separate connection,
    // and learns the subject. The subscriber only receives a later message that is allowed.
    let server = NatsServer::secured();
    let desk = server.connect_as(CONTROLLER);
    let heard = ["abx.v1.join.*.*", "abx.v1.run.r.beat.*.*"].map(|text| listen(&desk, text));
    let agent = server.connect_as(SECOND);
    let pairs = ["abx.v1.agent.agent-2.x", "abx.v1.run.r.control"].map(|text| listen(&agent, text));
    // Subscriptions are there when requests of the same connection have a response.
    let asked = |bus: &dyn Bus, subject: &str| bus.request(subject, Vec::new(), WITHIN);
    assert!(asked(&desk, "abx.v1.agent.agent-2.nobody").is_err());
    assert!(asked(&agent, "abx.v1.run.q.beat.agent-2.x").is_err());
    for (user, subject) in [
        (FIRST, "abx.v1.run.r.control"),
        (FIRST, "abx.v1.agent.agent-2.x"),
        (FIRST, "abx.v1.agent.agent-1.x"),
        (FIRST, "abx.v1.join.agent-2.x"),
        (FIRST, "abx.v1.run.r.beat.agent-2.x"),
        (CONTROLLER, "abx.v1.join.agent-1.x"),
        (CONTROLLER, "abx.v1.run.r.beat.agent-1.x"),
        (CONTROLLER, "else"),
    ] {
        let bus = server.connect_as(user);
        bus.publish(subject, b"false".to_vec()).unwrap();
        let message = refusal(&bus);
        for part in [user, subject, "Publish", "controller.creds"] {
            assert!(message.contains(part), "{part}: {message}");
        }
    }
    desk.publish("abx.v1.run.r.control", b"true".to_vec())
        .unwrap();
    desk.publish("abx.v1.agent.agent-2.x", b"true".to_vec())
        .unwrap();
    agent
        .publish("abx.v1.join.agent-2.x", b"true".to_vec())
        .unwrap();
    agent
        .publish("abx.v1.run.r.beat.agent-2.x", b"true".to_vec())
        .unwrap();
    for (_, inbox) in heard.iter().chain(&pairs) {
        let first = inbox.recv_timeout(WITHIN).unwrap();
        assert_eq!(first.payload, b"true", "{}", first.subject);
    }
    assert_eq!((desk.refusal(), agent.refusal()), (None, None));
}

#[test]
fn subscribing_to_messages_for_another_user_is_refused() {
    // Method: each user subscribes to messages for another user.
    let server = NatsServer::secured();
    for (user, subject) in [
        (FIRST, "abx.v1.agent.agent-2.*"),
        (FIRST, "abx.v1.agent.*.*"),
        (FIRST, "abx.v1.join.*.*"),
        (FIRST, "abx.v1.run.*.beat.*.*"),
        (FIRST, "_INBOX.controller.*"),
        (FIRST, "_INBOX.>"),
        (FIRST, ">"),
        (CONTROLLER, "_INBOX.agent-1.*"),
    ] {
        let bus = server.connect_as(user);
        let _subscription = listen(&bus, subject);
        let message = refusal(&bus);
        for part in [user, subject, "Subscription"] {
            assert!(message.contains(part), "{part}: {message}");
        }
    }
}

#[test]
fn a_request_gets_one_response() {
    // Method: a controller sends a request to an agent, which responds twice. The second response
    // counts as late, which is no reason for the agent to end.
    let server = NatsServer::secured();
    let (desk, agent) = (server.connect_as(CONTROLLER), server.connect_as(FIRST));
    let (_orders, inbox) = listen(&agent, "abx.v1.agent.agent-1.x");
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| {
            // The subscription may come later than the first question.
            until("an answer", || {
                let response = desk.request("abx.v1.agent.agent-1.x", b"?".to_vec(), WITHIN);
                response.is_ok_and(|response| response == b"!")
            });
        });
        let order = inbox.recv_timeout(WITHIN).unwrap();
        let reply = order.reply.unwrap();
        agent.publish(&reply, b"!".to_vec()).unwrap();
        agent.publish(&reply, b"!".to_vec()).unwrap();
        asked.join().unwrap();
    });
    // The server's refusal of the second one has come when this has a response.
    assert!(
        agent
            .request("abx.v1.join.agent-1.x", Vec::new(), WITHIN)
            .is_err()
    );
    assert_eq!(agent.refusal(), None);
}
