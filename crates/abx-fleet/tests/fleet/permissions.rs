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
const TIMEOUT: Duration = Duration::from_secs(20);

fn listen(bus: &impl Bus, topic: &str) -> (Subscription, Receiver<BusMessage>) {
    let (sender, inbox) = channel();
    (bus.subscribe(topic, sender).unwrap(), inbox)
}

/// Waits for the refusal of the last action on this connection.
fn refusal(bus: &impl Bus) -> String {
    until("a refusal", || bus.refusal().is_some());
    bus.refusal().unwrap().to_string()
}

#[test]
fn publishing_in_the_name_of_another_user_is_refused() {
    // Method: each user publishes what only another user may publish, on a separate connection,
    // and the refusal names the topic. Subscribers only receive the allowed messages that follow.
    let server = NatsServer::secured();
    let controller = server.connect_as(CONTROLLER);
    let topics = ["abx.v1.join.*.*", "abx.v1.run.r.beat.*.*"];
    let for_controller = topics.map(|topic| listen(&controller, topic));
    let agent = server.connect_as(SECOND);
    let topics = ["abx.v1.agent.agent-2.x", "abx.v1.run.r.control"];
    let for_agent = topics.map(|topic| listen(&agent, topic));
    // Once a request has a response, the earlier subscriptions of its connection exist.
    let request = |bus: &dyn Bus, topic: &str| bus.request(topic, Vec::new(), TIMEOUT);
    assert!(request(&controller, "abx.v1.agent.agent-2.nobody").is_err());
    assert!(request(&agent, "abx.v1.run.q.beat.agent-2.x").is_err());
    for (user, topic) in [
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
        bus.publish(topic, b"false".to_vec()).unwrap();
        let message = refusal(&bus);
        for part in [user, topic, "Publish", "controller.creds"] {
            assert!(message.contains(part), "{part}: {message}");
        }
    }
    controller
        .publish("abx.v1.run.r.control", b"true".to_vec())
        .unwrap();
    controller
        .publish("abx.v1.agent.agent-2.x", b"true".to_vec())
        .unwrap();
    agent
        .publish("abx.v1.join.agent-2.x", b"true".to_vec())
        .unwrap();
    agent
        .publish("abx.v1.run.r.beat.agent-2.x", b"true".to_vec())
        .unwrap();
    for (_, inbox) in for_controller.iter().chain(&for_agent) {
        let first = inbox.recv_timeout(TIMEOUT).unwrap();
        assert_eq!(first.payload, b"true", "{}", first.subject);
    }
    assert_eq!((controller.refusal(), agent.refusal()), (None, None));
}

#[test]
fn subscribing_to_messages_for_another_user_is_refused() {
    // Method: each user subscribes to messages for another user.
    let server = NatsServer::secured();
    for (user, topic) in [
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
        let _subscription = listen(&bus, topic);
        let message = refusal(&bus);
        for part in [user, topic, "Subscription"] {
            assert!(message.contains(part), "{part}: {message}");
        }
    }
}

#[test]
fn a_request_gets_one_response() {
    // Method: a controller sends a request to an agent, which responds twice. The second response
    // counts as late, which is no reason for the agent to end.
    let server = NatsServer::secured();
    let (controller, agent) = (server.connect_as(CONTROLLER), server.connect_as(FIRST));
    let (_subscription, inbox) = listen(&agent, "abx.v1.agent.agent-1.x");
    std::thread::scope(|scope| {
        let requesting = scope.spawn(|| {
            // The first request may arrive before the subscription.
            until("a response", || {
                let response = controller.request("abx.v1.agent.agent-1.x", b"?".to_vec(), TIMEOUT);
                response.is_ok_and(|response| response == b"!")
            });
        });
        let request = inbox.recv_timeout(TIMEOUT).unwrap();
        let reply = request.reply.unwrap();
        agent.publish(&reply, b"!".to_vec()).unwrap();
        agent.publish(&reply, b"!".to_vec()).unwrap();
        requesting.join().unwrap();
    });
    // Once this request has a response, a refusal of the second reply would have arrived.
    assert!(
        agent
            .request("abx.v1.join.agent-1.x", Vec::new(), TIMEOUT)
            .is_err()
    );
    assert_eq!(agent.refusal(), None);
}
