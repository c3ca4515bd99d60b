//! A controller driven by hand, with the messages of the protocol.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use abx_engine::LoadPlan;
use abx_fleet::Bus;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::TestBus;

pub(crate) struct Controller {
    bus: Arc<dyn Bus>,
    agent: String,
}

const TIMEOUT: Duration = Duration::from_secs(20);

impl Controller {
    /// Assigns the only slot of the run `r` to the first agent that requests one.
    pub(crate) fn begin(bus: &impl TestBus) -> Controller {
        let joined = json!({"Joined": {"run": "r", "slot": 0, "slots": 1}});
        Controller::responding(bus, &[joined])
    }

    /// Sends these responses in turn to the first agent that requests a slot.
    pub(crate) fn responding(bus: &impl TestBus, responses: &[Value]) -> Controller {
        let (bus, _) = bus.connect();
        let (sender, inbox) = channel();
        let joins = bus.subscribe("abx.v1.join.*.*", sender).unwrap();
        let mut introduction = Value::Null;
        for response in responses {
            let join = inbox.recv_timeout(TIMEOUT).unwrap();
            introduction = serde_json::from_slice(&join.payload).unwrap();
            assert_eq!(introduction["protocol"], 1);
            bus.publish(&join.reply.unwrap(), bytes(response)).unwrap();
        }
        drop(joins);
        let agent = introduction["id"].as_str().unwrap().to_owned();
        Controller { bus, agent }
    }

    /// Orders the opening of a pool for this load.
    pub(crate) fn open(&self, number: u64, load: &LoadPlan, sha256: &str) -> String {
        self.open_part(number, load, sha256, [0, 1])
    }

    /// Orders the opening of a pool for a part of this load.
    pub(crate) fn open_part(
        &self,
        number: u64,
        load: &LoadPlan,
        sha256: &str,
        [part, of]: [u32; 2],
    ) -> String {
        let part = json!({"number": part, "of": of});
        let open = json!({"pool": 1, "plan": load, "sha256": sha256, "part": part});
        self.order(number, &json!({ "Open": open }))
    }

    /// Sends an order.
    pub(crate) fn order(&self, number: u64, task: &Value) -> String {
        self.request("r", json!({"Task": {"number": number, "task": task}}))
    }

    /// Requests a result until there is one.
    pub(crate) fn result(&self, number: u64) -> String {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let response = self.state(number);
            if response.contains("Part") {
                return response;
            }
            assert!(Instant::now() < deadline, "{response}");
        }
    }

    /// Requests a result once.
    pub(crate) fn state(&self, number: u64) -> String {
        self.request(
            "r",
            json!({"Result": {"number": number, "from": 0, "told": 0}}),
        )
    }

    /// Sends an order of a run that the agent did not join.
    pub(crate) fn request_of_another_run(&self) -> String {
        self.request("q", json!("Clock"))
    }

    fn request(&self, run: &str, order: Value) -> String {
        let message = json!({"run": run, "what": order});
        let topic = format!("abx.v1.agent.{}", self.agent);
        let deadline = Instant::now() + TIMEOUT;
        loop {
            // An agent that has just got its slot may not know the run yet.
            let response = self.bus.request(&topic, bytes(&message), TIMEOUT).unwrap();
            let response = String::from_utf8(response).unwrap();
            if response != r#"{"Stranger":{"run":null}}"# {
                return response;
            }
            assert!(Instant::now() < deadline, "{response}");
        }
    }
}

pub(crate) fn hash(load: &LoadPlan) -> String {
    let digest = Sha256::digest(serde_json::to_vec(load).unwrap());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).unwrap()
}
