//! What agents cost the bus, the controller, themselves and each other, on this machine.
//!
//! ```text
//! what_agents_cost [agents=1,3,16,64]
//! ```
//! Each agent is a process of its own that runs the code of `abx agent` with one thread.
//! They are given 2,000 requests/s over all of them, against a server that is one more
//! process. Nothing has to be started beforehand: a NATS server (`nats-server`) of the
//! program's own listens at ports of 127.0.0.1 that nobody has. It takes a minute and a
//! half. Start at `look`; what it printed is in docs/scale.md.
//!
//! Who counts is never who is counted: messages are the NATS server's own count
//! (`/connz`), bytes the kernel's of each connection (`ss`), CPU time the kernel's of each
//! process, and how far apart agents begin is seen by the server that they load.

#![allow(
    clippy::disallowed_macros,
    reason = "a program of its own, whose data goes to standard output"
)]

mod bus_server;
mod member;
mod target;

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use abx_engine::schedule::Arrivals;
use abx_engine::{
    Asked, ExpectedAnswer, HttpVersion, LoadGenerator, LoadPlan, Pacing, RequestPlan, SliceEnd,
    SlicePlan,
};
use abx_evidence::record::OnLoss;
use abx_evidence::{Histogram, Shape, SliceTally};
use abx_fleet::{Fleet, FleetPlan, FleetTiming, NatsBus, own_build, random_id};
use abx_sys::process::{own_cpu, process_cpu};

use bus_server::{BusServer, Traffic};
use member::Member;
use target::Target;

/// What can go wrong in a program that only measures.
type Any = Box<dyn Error>;

const CONNECTIONS: u32 = 64;
const RATE: &str = "2000";
const SLICE: Duration = Duration::from_millis(200);
const SLICES: usize = 25;
/// Slices of one request for each agent.
const BEGINNINGS: usize = 21;
/// How long is looked at those who only wait.
const LOOK: Duration = Duration::from_secs(4);
/// So long after their start agents ask for a part once a second.
const SETTLE: Duration = Duration::from_secs(3);
const MERGES: u32 = 500;

fn main() -> Result<(), Any> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["agent", url, number] => member::be(url, number),
        ["target"] => target::be(),
        [] => look_at_all("1,3,16,64"),
        [one] => look_at_all(one.strip_prefix("agents=").ok_or("only agents= is known")?),
        _ => Err("usage: what_agents_cost [agents=1,3,16,64]".into()),
    }
}

fn look_at_all(numbers: &str) -> Result<(), Any> {
    let numbers: Vec<usize> = { numbers.split(',') }
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    let mut target = Target::start()?;
    let mut last = None;
    println!("bytes are the kernel's of each agent's connection, both directions; CPU time in us");
    for number in numbers {
        last = Some(look(number, &mut target)?);
    }
    if let Some(tally) = last {
        merging(&tally)?;
    }
    Ok(())
}

/// Prints all about so many agents; what their last slice gave.
fn look(agents: usize, target: &mut Target) -> Result<SliceTally, Any> {
    let bus = BusServer::start()?;
    // A server that was never asked anything has not yet taken the memory that it needs.
    bus.traffic(0)?;
    let bare_kib = bus.resident_kib()?;
    let mut members = { 0..agents }
        .map(|number| Member::start(&bus.url(), number))
        .collect::<Result<Vec<_>, _>>()?;
    members.iter_mut().try_for_each(Member::is_connected)?;
    println!("\n{agents} agents");
    let meter = Meter {
        bus: &bus,
        members: &members,
    };
    thread::sleep(SETTLE);
    let waiting = meter.over(|| {
        thread::sleep(LOOK);
        Ok(())
    })?;
    println!("  waiting: {}", waiting.each_second());
    let began = Instant::now();
    let mut fleet = assemble(&bus.url(), agents)?;
    println!("  joined after {:.2} s", began.elapsed().as_secs_f64());
    let idle = meter.over(|| {
        thread::sleep(LOOK);
        Ok(())
    })?;
    println!("  in a run: {}", idle.each_second());
    let grown_kib = bus.resident_kib()?.saturating_sub(bare_kib);
    println!(
        "  NATS server: {bare_kib} KiB, and {} more for each connection",
        grown_kib / (agents as u64 + 1)
    );
    let slice = SlicePlan {
        end: SliceEnd::AfterNs(SLICE.as_nanos().try_into()?),
        discard_ns: 0,
        course: None,
    };
    let arrivals = Arrivals::Poisson {
        per_s: RATE.parse()?,
    };
    let connections = CONNECTIONS.max(u32::try_from(agents)?);
    let (pool, _) = fleet.open(&plan(target, connections, arrivals)?, &mut |_| {})?;
    let mut last = SliceTally::default();
    let loaded = meter.over(|| {
        for _ in 0..SLICES {
            fleet.arm(pool, &slice)?;
            last = fleet.slice(pool, &slice, &mut |_| {})?;
        }
        Ok(())
    })?;
    println!("  {}", loaded.each_slice());
    fleet.close(pool);
    beginnings(&mut fleet, agents, target)?;
    Ok(last)
}

fn assemble(url: &str, agents: usize) -> Result<Fleet, Any> {
    let bus = Arc::new(NatsBus::connect(url, None, None)?);
    let plan = FleetPlan {
        agents,
        build: own_build()?,
        timing: FleetTiming {
            join: Duration::from_secs(120),
            ..FleetTiming::default()
        },
        on_loss: OnLoss::Abort,
    };
    let quiet = Arc::new(|_| {});
    Ok(Fleet::assemble(
        bus,
        &random_id()?,
        &plan,
        &|| false,
        &(quiet as _),
    )?)
}

/// How far apart agents begin: each sends one request in a slice, and the server that is
/// loaded says when the first and the last one came.
fn beginnings(fleet: &mut Fleet, agents: usize, target: &mut Target) -> Result<(), Any> {
    let one_each = SlicePlan {
        end: SliceEnd::AfterRequests(agents as u64),
        discard_ns: 0,
        course: None,
    };
    let connections = u32::try_from(agents)?;
    let began = Instant::now();
    let (pool, _) = fleet.open(&plan(target, connections, Arrivals::Closed)?, &mut |_| {})?;
    let opened = began.elapsed();
    let (mut orders_ms, mut skews_us) = (Vec::new(), Vec::new());
    for _ in 0..BEGINNINGS {
        target.take_arrivals()?;
        let began = Instant::now();
        fleet.arm(pool, &one_each)?;
        orders_ms.push(began.elapsed().as_secs_f64() * 1e3);
        fleet.slice(pool, &one_each, &mut |_| {})?;
        let came = target.take_arrivals()?;
        if came.count != agents as u64 {
            return Err(format!("{agents} agents sent {} requests", came.count).into());
        }
        skews_us.push(came.last.since(came.first).0 as f64 / 1e3);
    }
    let record = fleet.fleet().ok_or("a fleet without a record")?;
    let late_ns = record.agents.iter().map(|one| one.late_ns_max);
    println!(
        "  connections stand after {:.1} ms; from an order to its begin {:.1} ms (median), \
         {:.1} ms (most)",
        opened.as_secs_f64() * 1e3,
        median(&mut orders_ms),
        most(&orders_ms),
    );
    println!(
        "  first to last request of a slice: {:.0} us (median), {:.0} us (most) at the server; \
         late at most {:.0} us in any slice by an agent's own word",
        median(&mut skews_us),
        most(&skews_us),
        late_ns.max().unwrap_or_default() as f64 / 1e3,
    );
    fleet.close(pool);
    Ok(())
}

/// Prints what reading and adding up one tally costs.
fn merging(tally: &SliceTally) -> Result<(), Any> {
    let text = serde_json::to_vec(tally)?;
    let all = &tally.tally;
    let each: [&Histogram; 9] = [
        &all.response,
        &all.service,
        &all.response_at_least,
        &all.service_at_least,
        &all.lateness,
        &all.loop_lag,
        &all.handshake,
        &all.first_listener,
        &all.median_listener,
    ];
    let filled = each.iter().filter(|one| !one.is_empty()).count();
    let mut sum = SliceTally::default();
    let before = own_cpu_us();
    for _ in 0..MERGES {
        sum.merge(&serde_json::from_slice::<SliceTally>(black_box(&text))?);
    }
    let us = (own_cpu_us() - before) / f64::from(MERGES);
    black_box(&sum);
    println!(
        "\na tally of {} requests: {} bytes, {filled} histograms that are not empty, {us:.1} us \
         of CPU time to read and add up, {:.1} us for each histogram",
        all.outcomes.sent(),
        text.len(),
        us / filled.max(1) as f64,
    );
    Ok(())
}

/// Reads counters before and after something.
struct Meter<'a> {
    bus: &'a BusServer,
    members: &'a [Member],
}

/// What counters say.
#[derive(Clone, Copy)]
struct Reading {
    at: Instant,
    traffic: Traffic,
    controller_us: f64,
    bus_us: f64,
    agents_us: f64,
}

/// What was counted meanwhile.
struct Span {
    agents: f64,
    seconds: f64,
    messages: f64,
    payload: f64,
    to_agents: f64,
    from_agents: f64,
    controller_us: f64,
    bus_us: f64,
    agents_us: f64,
}

impl Meter<'_> {
    fn over(&self, mut what: impl FnMut() -> Result<(), Any>) -> Result<Span, Any> {
        let agents = self.members.len();
        // SUBTLE: asking the NATS server costs it and us CPU time, which is therefore read
        // after that at first, and before it at the end.
        let traffic = self.bus.traffic(agents)?;
        let before = self.reading(traffic)?;
        what()?;
        let mut after = self.reading(traffic)?;
        after.traffic = self.bus.traffic(agents)?;
        Ok(Span {
            agents: agents as f64,
            seconds: (after.at - before.at).as_secs_f64(),
            messages: (after.traffic.messages - before.traffic.messages) as f64,
            payload: (after.traffic.payload - before.traffic.payload) as f64,
            to_agents: (after.traffic.to_agents - before.traffic.to_agents) as f64,
            from_agents: (after.traffic.from_agents - before.traffic.from_agents) as f64,
            controller_us: after.controller_us - before.controller_us,
            bus_us: after.bus_us - before.bus_us,
            agents_us: after.agents_us - before.agents_us,
        })
    }

    fn reading(&self, traffic: Traffic) -> Result<Reading, Any> {
        let each = { self.members.iter() }.map(|one| cpu_us(one.pid()));
        Ok(Reading {
            at: Instant::now(),
            traffic,
            controller_us: own_cpu_us(),
            bus_us: cpu_us(self.bus.pid())?,
            agents_us: each.sum::<Result<f64, Any>>()?,
        })
    }
}

impl Span {
    fn each_second(&self) -> String {
        let each = self.agents * self.seconds;
        format!(
            "of each agent and second {:.0} bytes to it and {:.0} from it ({:.1} messages, {:.0} \
             bytes of theirs), CPU time {:.0} of its own, {:.0} of the controller's, {:.0} of the \
             NATS server's",
            self.to_agents / each,
            self.from_agents / each,
            self.messages / each,
            self.payload / each,
            self.agents_us / each,
            self.controller_us / each,
            self.bus_us / each,
        )
    }

    fn each_slice(&self) -> String {
        let each = self.agents * SLICES as f64;
        format!(
            "a slice lasts {:.0} ms: of each agent and slice {:.0} bytes to it and {:.0} from it \
             ({:.1} messages), CPU time {:.0} of its own, {:.0} of the controller's, {:.0} of the \
             NATS server's",
            self.seconds * 1e3 / SLICES as f64,
            self.to_agents / each,
            self.from_agents / each,
            self.messages / each,
            self.agents_us / each,
            self.controller_us / each,
            self.bus_us / each,
        )
    }
}

fn cpu_us(pid: u32) -> Result<f64, Any> {
    let time = process_cpu(pid).ok_or("a process is not there any more")?;
    Ok(time.0 as f64 / 1e3)
}

fn own_cpu_us() -> f64 {
    let own = own_cpu();
    (own.user.0 + own.system.0) as f64 / 1e3
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn most(sorted: &[f64]) -> f64 {
    sorted.last().copied().unwrap_or_default()
}

fn plan(target: &Target, connections: u32, arrivals: Arrivals) -> Result<LoadPlan, Any> {
    Ok(LoadPlan {
        address: target.address().into(),
        tls: None,
        buffer_bytes: None,
        sources: Vec::new(),
        connections,
        pipeline: 1,
        requests: vec![Asked {
            request: RequestPlan {
                version: HttpVersion::Http11,
                method: "GET".to_owned(),
                path: "/".to_owned(),
                host: target.address().to_string(),
                headers: Vec::new(),
                body: Vec::new(),
                placeholders: Vec::new(),
            },
            expect: ExpectedAnswer {
                status: 200_u16.into(),
                body: None,
            },
            weight: 1,
        }],
        keep_alive: true,
        verify_every: 100,
        shape: Shape::Request,
        timeout_ns: 10_000_000_000,
        open_rate: None,
        open_within_ns: None,
        timeline: None,
        log: None,
        seed: 1,
        pacing: Pacing {
            arrivals,
            ..Pacing::default()
        },
        scenario: None,
    })
}
