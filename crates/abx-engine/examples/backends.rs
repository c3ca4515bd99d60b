//! What a request costs over epoll and over io_uring, side by side.
//!
//! ```text
//! backends ADDRESS PATH [connections=50] [close] [rate=PER_S] [rounds=9]
//!          [slice_ms=500] [cpu=N] [awake] [pipeline=N] [echo=BYTES] [server=PID]
//! backends ADDRESS PATH memory=epoll|uring [connections=10000]
//! ```
//! In each round both back ends load the server for one slice, in turn, each over
//! connections that are opened and warmed up for it. Costs are the processor time
//! of the one loading thread, by its own clock, for each request of a slice;
//! printed are the median of the rounds and, in brackets, least and most.
//! `server` adds the processor time of that process's threads for each request; its
//! worker is meant where it has one. `echo` sends WebSocket messages of so many bytes.
//! `memory` opens connections, uses each of them once, and tells what this
//! process and the kernel then hold more than before.
//!
//! The server is started by hand and kept off the loading thread's processor:
//! `taskset -c 0 abx serve --port 8080`, and then
//! `backends 127.0.0.1:8080 / cpu=1`. The figures that decided which back end a
//! load gets are in docs/decisions/0003-back-end.md.

#![allow(
    clippy::disallowed_macros,
    reason = "a program of its own, whose data goes to standard output"
)]

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use abx_engine::schedule::Arrivals;
use abx_engine::{
    Asked, Backend, Engine, EnginePlan, ExpectedAnswer, HttpVersion, LoadPlan, Pacing, RequestPlan,
    SliceEnd, SlicePlan, probe,
};
use abx_evidence::{Message, Shape, Wait};

/// Connections and loads come from so many addresses, so that ports last.
const SOURCES: u8 = 16;
/// Loads a pool before its slice.
const WARM_UP_MS: u64 = 150;
const BACKENDS: [Backend; 2] = [Backend::Epoll, Backend::Uring];

/// What was asked for on the command line.
struct Asking {
    address: SocketAddr,
    path: String,
    connections: u32,
    is_kept: bool,
    arrivals: Arrivals,
    rounds: usize,
    slice_ms: u64,
    cpus: Vec<usize>,
    memory: Option<Backend>,
    wait: Wait,
    pipeline: u32,
    echo: Option<u32>,
    server: Option<u32>,
}

impl Asking {
    fn read(words: &[String]) -> Result<Asking, Box<dyn Error>> {
        let [address, path, options @ ..] = words else {
            return Err(
                "usage: backends ADDRESS PATH [connections=50] [close] [rate=PER_S] \
                        [rounds=9] [slice_ms=500] [cpu=N] [memory=epoll|uring]"
                    .into(),
            );
        };
        let mut asking = Asking {
            address: address.parse()?,
            path: path.clone(),
            connections: 50,
            is_kept: true,
            arrivals: Arrivals::Closed,
            rounds: 9,
            slice_ms: 500,
            cpus: Vec::new(),
            memory: None,
            wait: Wait::Asleep,
            pipeline: 1,
            echo: None,
            server: None,
        };
        for option in options {
            match option.split_once('=').unwrap_or((option, "")) {
                ("connections", count) => asking.connections = count.parse()?,
                ("awake", "") => asking.wait = Wait::Awake,
                ("pipeline", count) => asking.pipeline = count.parse()?,
                ("echo", bytes) => asking.echo = Some(bytes.parse()?),
                ("server", pid) => asking.server = Some(pid.parse()?),
                ("close", "") => asking.is_kept = false,
                ("rate", rate) => {
                    asking.arrivals = Arrivals::Constant {
                        per_s: rate.parse()?,
                    }
                }
                ("rounds", count) => asking.rounds = count.parse()?,
                ("slice_ms", span) => asking.slice_ms = span.parse()?,
                ("cpu", number) => asking.cpus.push(number.parse()?),
                ("memory", "epoll") => asking.memory = Some(Backend::Epoll),
                ("memory", "uring") => asking.memory = Some(Backend::Uring),
                _ => return Err(format!("{option} is no option").into()),
            }
        }
        Ok(asking)
    }

    /// GET with the answer that comes now as the right one.
    fn load(&self) -> Result<LoadPlan, Box<dyn Error>> {
        let request = RequestPlan {
            version: HttpVersion::Http11,
            method: "GET".to_owned(),
            path: self.path.clone(),
            host: self.address.to_string(),
            headers: Vec::new(),
            body: Vec::new(),
        };
        let (expect, shape) = match self.echo {
            Some(bytes) => (
                ExpectedAnswer {
                    status: 101,
                    body: None,
                },
                Shape::Echo(Message::binary(bytes)),
            ),
            None => {
                let answer = probe(self.address, &request, Duration::from_secs(5))?;
                let expect = ExpectedAnswer {
                    status: answer.status,
                    body: Some(answer.body),
                };
                (expect, Shape::Request)
            }
        };
        Ok(LoadPlan {
            address: self.address,
            sources: (1..=SOURCES)
                .map(|last| IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)))
                .collect(),
            connections: self.connections,
            requests: vec![Asked {
                request,
                expect,
                weight: 1,
            }],
            keep_alive: self.is_kept,
            verify_every: 100,
            shape,
            timeout_ns: 10_000_000_000,
            seed: 1,
            pipeline: self.pipeline,
            pacing: Pacing {
                arrivals: self.arrivals.clone(),
                ..Pacing::default()
            },
        })
    }

    fn engine(&self, backend: Backend) -> Result<Engine, Box<dyn Error>> {
        Ok(Engine::start(&EnginePlan {
            threads: 1,
            cpus: self.cpus.clone(),
            backend,
            wait: self.wait,
        })?)
    }
}

/// What the slices of one back end gave, one value for each round.
#[derive(Default)]
struct Figures {
    cpu_us: Vec<f64>,
    server_us: Vec<f64>,
    per_s: Vec<f64>,
    service_mean_us: Vec<f64>,
    service_p50_us: Vec<f64>,
    failed: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let asking = Asking::read(&words)?;
    abx_sys::limits::raise_descriptor_limit()?;
    let load = asking.load()?;
    match asking.memory {
        Some(backend) => memory(&asking, &load, backend),
        None => compare(&asking, &load),
    }
}

fn compare(asking: &Asking, load: &LoadPlan) -> Result<(), Box<dyn Error>> {
    let mut figures = [Figures::default(), Figures::default()];
    for round in 0..asking.rounds {
        for turn in 0..2 {
            // Neither is always the first.
            let which = (round + turn) % 2;
            slice(asking, load, BACKENDS[which], &mut figures[which])?;
        }
    }
    for (backend, figures) in BACKENDS.iter().zip(&figures) {
        println!(
            "{:5}  CPU us/request {}  server's {}  requests/s {}  service us: mean {}  median {}  \
             failed {}",
            format!("{backend:?}").to_lowercase(),
            spread(figures.cpu_us.clone(), 2),
            spread(figures.server_us.clone(), 2),
            spread(figures.per_s.clone(), 0),
            spread(figures.service_mean_us.clone(), 1),
            spread(figures.service_p50_us.clone(), 0),
            figures.failed,
        );
    }
    let [epoll, uring] = &figures;
    println!(
        "uring/epoll, by rounds: CPU {}  server's {}  requests/s {}",
        ratios(&uring.cpu_us, &epoll.cpu_us),
        ratios(&uring.server_us, &epoll.server_us),
        ratios(&uring.per_s, &epoll.per_s),
    );
    Ok(())
}

/// Ratios of the two slices of each round.
fn ratios(above: &[f64], below: &[f64]) -> String {
    let ratios = above.iter().zip(below).map(|(above, below)| above / below);
    spread(ratios.collect(), 3)
}

/// Processor time that a process's threads have had, in ns; zero without one.
fn server_ns(server: Option<u32>) -> Result<f64, Box<dyn Error>> {
    let Some(pid) = server else { return Ok(0.0) };
    let mut total = 0.0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
        let word = text.split_whitespace().next().ok_or("an empty schedstat")?;
        total += word.parse::<f64>()?;
    }
    Ok(total)
}

/// One slice of one back end. Its engine ends with it, and has then closed its
/// connections: those of both together may be more than descriptors.
fn slice(
    asking: &Asking,
    load: &LoadPlan,
    backend: Backend,
    figures: &mut Figures,
) -> Result<(), Box<dyn Error>> {
    let mut engine = asking.engine(backend)?;
    let (pool, report) = engine.open(load)?;
    if report.standing < asking.connections as usize {
        return Err(format!("not all connections stand: {report:?}").into());
    }
    engine.slice(pool, &plan(WARM_UP_MS))?;
    let before = server_ns(asking.server)?;
    let slice = engine.slice(pool, &plan(asking.slice_ms))?;
    let server_ns = server_ns(asking.server)? - before;
    drop(engine);
    let tally = &slice.tally;
    let sent = tally.outcomes.sent();
    if sent == 0 {
        return Err("no request was answered in a slice: give a longer slice_ms".into());
    }
    figures
        .cpu_us
        .push(slice.generator_cpu_ns as f64 / 1e3 / sent as f64);
    figures.server_us.push(server_ns / 1e3 / sent as f64);
    figures
        .per_s
        .push(tally.outcomes.ok() as f64 * 1e9 / slice.wall_ns as f64);
    figures.service_mean_us.extend(tally.service.mean_us());
    figures
        .service_p50_us
        .extend(tally.service.quantile_us(0.5).map(|us| us as f64));
    figures.failed += tally.outcomes.failed();
    Ok(())
}

fn plan(length_ms: u64) -> SlicePlan {
    SlicePlan {
        end: SliceEnd::AfterNs(length_ms * 1_000_000),
        discard_ns: 0,
    }
}

fn memory(asking: &Asking, load: &LoadPlan, backend: Backend) -> Result<(), Box<dyn Error>> {
    let mut engine = asking.engine(backend)?;
    let count = f64::from(asking.connections);
    let before = (own_kib()?, slab_kib()?);
    let (pool, report) = engine.open(load)?;
    let used = SlicePlan {
        end: SliceEnd::AfterRequests(u64::from(asking.connections)),
        discard_ns: 0,
    };
    let slice = engine.slice(pool, &used)?;
    let after = (own_kib()?, slab_kib()?);
    println!(
        "{backend:?}: {} connections, {} answers; this process {} KiB, {:.2} KiB more for each \
         connection; the kernel's slabs, both ends of all connections, {:.2} KiB for each",
        report.standing,
        slice.tally.outcomes.ok(),
        after.0,
        (after.0 - before.0) / count,
        (after.1 - before.1) / count,
    );
    engine.close(pool);
    Ok(())
}

/// What this process has in memory, in KiB.
fn own_kib() -> Result<f64, Box<dyn Error>> {
    kib("/proc/self/status", "VmRSS:")
}

/// What the kernel has allocated for objects, in KiB, on the whole machine.
fn slab_kib() -> Result<f64, Box<dyn Error>> {
    kib("/proc/meminfo", "Slab:")
}

fn kib(path: &str, name: &str) -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string(path)?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let word = line.and_then(|line| line.split_whitespace().next());
    Ok(word.ok_or(format!("{path} has no {name}"))?.parse()?)
}

/// Median, least and most.
fn spread(mut values: Vec<f64>, digits: usize) -> String {
    values.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (values.first(), values.last()) else {
        return "none".to_owned();
    };
    let middle = values.len() / 2;
    let median = match values.len() % 2 {
        1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    };
    format!("{median:.digits$} [{least:.digits$}-{most:.digits$}]")
}
