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

const WITHIN: Duration = Duration::from_secs(20);

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
            let asked = inbox.recv_timeout(WITHIN).unwrap();
            introduction = serde_json::from_slice(&asked.payload).unwrap();
            assert_eq!(introduction["protocol"], 1);
            bus.publish(&asked.reply.unwrap(), bytes(response)).unwrap();
        }
        drop(joins);
        let agent = introduction["id"].as_str().unwrap().to_owned();
        Controller { bus, agent }
    }

    /// Orders the opening of a pool for this load.
    pub(crate) fn opens(&self, number: u64, load: &LoadPlan, sha256: &str) -> String {
        self.opens_part(number, load, sha256, [0, 1])
    }

    /// Orders the opening of a pool for a part of this load.
    pub(crate) fn opens_part(
        &self,
        number: u64,
        load: &LoadPlan,
        sha256: &str,
        [part, of]: [u32; 2],
    ) -> String {
        let part = json!({"number": part, "of": of});
        let open = json!({"pool": 1, "plan": load, "sha256": sha256, "part": part});
        self.orders(number, &json!({ "Open": open }))
    }

    /// Sends an order.
    pub(crate) fn orders(&self, number: u64, task: &Value) -> String {
        self.asks("r", json!({"Task": {"number": number, "task": task}}))
    }

    /// Requests a result until there is one.
    pub(crate) fn result(&self, number: u64) -> String {
        let deadline = Instant::now() + WITHIN;
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
        self.asks(
            "r",
            json!({"Result": {"number": number, "from": 0, "told": 0}}),
        )
    }

    pub(crate) fn of_another_run(&self) -> String {
        self.asks("q", json!("Clock"))
    }

    fn asks(&self, run: &str, what: Value) -> String {
        let order = json!({"run": run, "what": what});
        let subject = format!("abx.v1.agent.{}", self.agent);
        let deadline = Instant::now() + WITHIN;
        loop {
            // An agent that has its slot only now does not have the run yet.
            let response = self.bus.request(&subject, bytes(&order), WITHIN).unwrap();
            let response = String::from_utf8(response).unwrap();
            if response != r#"{"Stranger":{"run":null}}"# {
                return response;
            }
            assert!(Instant::now() < deadline, "{response}");
        }
    }
}

pub(crate) fn hash(load: &LoadPlan) -> String {
    let hash = Sha256::digest(serde_json::to_vec(load).unwrap());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).unwrap()
}
