//! An agent in a process of its own, which ends when its standard input does.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use abx_engine::EnginePlan;
use abx_evidence::Wait;
use abx_fleet::{AgentLimits, AgentPlan, FleetTiming, NatsBus, own_build, random_id, run_agent};

use crate::Any;

/// An agent that runs.
pub struct Member {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Member {
    pub fn start(url: &str, number: usize) -> Result<Member, Any> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(["agent", url, &number.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = process.stdout.take().ok_or("no output")?;
        Ok(Member {
            process,
            output: BufReader::new(output),
        })
    }

    /// Waits until it has its connection.
    pub fn is_connected(&mut self) -> Result<(), Any> {
        match self.output.read_line(&mut String::new())? {
            0 => Err("an agent has ended".into()),
            _ => Ok(()),
        }
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        // It ends by itself, as its input has.
        let _ = self.process.wait();
    }
}

/// Is an agent until standard input ends.
pub fn be(url: &str, number: &str) -> Result<(), Any> {
    let bus = NatsBus::connect(url, None, None)?;
    println!("connected");
    let stop: Arc<AtomicBool> = Arc::default();
    let stopped = Arc::clone(&stop);
    thread::spawn(move || {
        // Nothing is ever said there.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        stopped.store(true, Ordering::Relaxed);
    });
    let plan = AgentPlan {
        id: random_id()?,
        name: number.to_owned(),
        slot: None,
        build: own_build()?,
        engine: EnginePlan {
            threads: 1,
            cpus: abx_sys::cpus::allowed()?,
            wait: Wait::Asleep,
        },
        limits: AgentLimits {
            targets: vec!["127.0.0.0/8".parse()?],
            rate_max: None,
            descriptors: 1_000,
        },
        timing: FleetTiming::default(),
        once: false,
        finals: None,
        skew_ns: 0,
    };
    Ok(run_agent(&bus, &plan, &stop, &mut |_| {})?)
}
