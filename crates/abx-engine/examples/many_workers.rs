//! What more and more workers cost the generator, with threads beyond this machine's
//! processors: their start, their memory, what a slice lasts beyond its time, the merging
//! of their tallies, and whether all of them together send exactly what is due.
//!
//! ```text
//! many_workers ADDRESS PATH [workers=1,2,4,8,16,32,64,128]
//! ```
//! The server is started by hand: `abx serve --port 8080`, and then
//! `many_workers 127.0.0.1:8080 /`. What it printed is in docs/scale.md.

#![allow(
    clippy::disallowed_macros,
    reason = "a program of its own, whose data goes to standard output"
)]

use std::error::Error;
use std::net::SocketAddr;
use std::time::Instant;

use abx_engine::schedule::{Arrivals, Schedule, ScheduleShare};
use abx_engine::{
    Asked, Engine, EnginePlan, ExpectedAnswer, HttpVersion, LoadPlan, Pacing, RequestPlan,
    SliceEnd, SlicePlan,
};
use abx_evidence::{Shape, SliceTally, Wait};

const CONNECTIONS: u32 = 256;
const RATE: &str = "2000";
const SLICE_NS: u64 = 200_000_000;
const SLICES: usize = 9;
const MERGES: usize = 21;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [address, path, options @ ..] = &words[..] else {
        return Err("usage: many_workers ADDRESS PATH [workers=1,2,4]".into());
    };
    let numbers = match options {
        [] => "1,2,4,8,16,32,64,128",
        [one] => one
            .strip_prefix("workers=")
            .ok_or("only workers= is known")?,
        _ => return Err("only workers= is known".into()),
    };
    let plan = plan(address.parse()?, path)?;
    println!("workers  start ms  KiB each  slice beyond ms (median, most)  merge ms  due  sent");
    for number in numbers.split(',') {
        look(number.parse()?, &plan)?;
    }
    Ok(())
}

/// Prints a line about so many workers.
fn look(workers: usize, plan: &LoadPlan) -> Result<(), Box<dyn Error>> {
    let before = resident_kib()?;
    let began = Instant::now();
    let mut engine = Engine::start(&EnginePlan {
        threads: workers,
        cpus: abx_sys::cpus::allowed()?,
        wait: Wait::Asleep,
    })?;
    let (pool, _) = engine.open(plan)?;
    let start = began.elapsed();
    let slice_plan = SlicePlan {
        end: SliceEnd::AfterNs(SLICE_NS),
        discard_ns: 0,
        course: None,
    };
    let mut beyond_ms = Vec::with_capacity(SLICES);
    let (mut due, mut sent) = (0, 0);
    let mut last = SliceTally::default();
    for number in 0..SLICES as u64 {
        let began = Instant::now();
        last = engine.slice(pool, &slice_plan)?;
        beyond_ms.push((began.elapsed().as_secs_f64() - SLICE_NS as f64 / 1e9) * 1e3);
        due += due_in_slice(plan, number + 1);
        sent += last.tally.outcomes.sent() + last.tally.unsent;
    }
    beyond_ms.sort_by(f64::total_cmp);
    let each = resident_kib()?.saturating_sub(before) / workers as u64;
    println!(
        "{workers:7}  {:8.2}  {each:8}  {:22.2}, {:6.2}  {:8.3}  {due}  {sent}",
        start.as_secs_f64() * 1e3,
        beyond_ms[SLICES / 2],
        beyond_ms[SLICES - 1],
        merge_ms(workers, &last),
    );
    Ok(())
}

/// How long it takes to add up as many tallies as there are workers.
fn merge_ms(workers: usize, tally: &SliceTally) -> f64 {
    let mut times: Vec<f64> = (0..MERGES)
        .map(|_| {
            let parts = vec![tally.clone(); workers];
            let mut sum = SliceTally::default();
            let began = Instant::now();
            for part in &parts {
                sum.merge(part);
            }
            began.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[MERGES / 2]
}

/// Requests of the schedule that one worker would have in the slice of this number.
fn due_in_slice(plan: &LoadPlan, number: u64) -> u64 {
    let schedule = Schedule::new(&plan.pacing.arrivals, plan.seed + number);
    let pacer = schedule.map(|schedule| schedule.pacer(ScheduleShare::WHOLE));
    let due = pacer.into_iter().flatten();
    due.take_while(|due| due.0 < SLICE_NS).count() as u64
}

fn resident_kib() -> Result<u64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages = text
        .split_ascii_whitespace()
        .nth(1)
        .ok_or("no second number")?;
    Ok(pages.parse::<u64>()? * rustix::param::page_size() as u64 / 1024)
}

fn plan(address: SocketAddr, path: &str) -> Result<LoadPlan, Box<dyn Error>> {
    Ok(LoadPlan {
        address: address.into(),
        tls: None,
        buffer_bytes: None,
        sources: Vec::new(),
        connections: CONNECTIONS,
        pipeline: 1,
        requests: vec![Asked {
            request: RequestPlan {
                version: HttpVersion::Http11,
                method: "GET".to_owned(),
                path: path.to_owned(),
                host: address.to_string(),
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
            arrivals: Arrivals::Poisson {
                per_s: RATE.parse()?,
            },
            ..Pacing::default()
        },
        scenario: None,
    })
}
