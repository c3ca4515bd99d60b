//! The cost of abx as a load generator, compared with others on the same nginx.
//!
//!     bench --abx FILE [--oha FILE] [--json FILE] [--alternations N] [--load NAME]
//!           [--only NAME]... [--quick]
//!     bench bare|paced ...
//!
//! nginx runs on the first processor, one generator at a time on the last. In each alternation,
//! every generator runs once, and the next alternation starts with the next generator. Ratios pair
//! the runs of one alternation, so drift of the machine affects both sides. A generator that is
//! absent or cannot generate a load is named with the reason; those of `peers.rs` are measured if
//! they are installed. `--quick` runs the first load three times; `--only abx --only wrk` leaves
//! out the other generators, so that many alternations take little time. This program measures and
//! does not test: it succeeds whatever the figures are.

mod bare;
mod exchange;
mod generators;
mod paced;
mod peers;
mod reports;
mod server;
mod summary;

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use abx_bench::child;
use abx_bench::command_line::CommandLine;
use abx_bench::folder::Folder;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use generators::{Generator, LOADS, Load, Setup};
use server::Server;
use summary::{Row, Run, Table};

/// Descriptors that a generator may need in addition to its connections.
const DESCRIPTORS_SPARE: u64 = 100;
/// How much longer than its load a generator may take.
const OVERTIME: Duration = Duration::from_secs(20);

struct Options {
    abx: PathBuf,
    oha: PathBuf,
    json: Option<PathBuf>,
    alternations: usize,
    loads: Vec<Load>,
    /// The selected generators; empty for all.
    only: Vec<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((name, rest)) if name == "bare" => bare::run(rest),
        Some((name, rest)) if name == "paced" => paced::run(rest),
        _ => compare(options(arguments)?),
    }
}

/// Measures every generator under every load, and prints tables and JSON.
fn compare(options: Options) -> Result<(), Box<dyn Error>> {
    let cpus = child::processors()?;
    let (Some(first), Some(last)) = (cpus.first(), cpus.last()) else {
        return Err("no processor may be used".into());
    };
    if first == last {
        return Err("only one processor may be used: the generators need one of their own".into());
    }
    let descriptors = raise_descriptors()?;
    let folder = Folder::new("bench")?;

    child::pin(*first)?;
    let sizes: Vec<usize> = LOADS.iter().map(|load| load.body_bytes).collect();
    let server = Server::start(folder.path(), &sizes, descriptors)?;
    child::pin(*last)?;
    let setup = Setup {
        abx: options.abx.clone(),
        own: std::env::current_exe()?,
        oha: options.oha.clone(),
        folder: folder.path().to_owned(),
        address: server.address(),
        http2_address: server.http2_address(),
    };
    let versions = versions(&setup, folder.path());
    print(&format!(
        "nginx on processor {first}, generators on processor {last}\n"
    ))?;
    let mut tables = Vec::new();
    for load in &options.loads {
        let table = measure(load, &options, &setup, &server, descriptors)?;
        print(&table.text())?;
        tables.push(table);
    }
    let floor = child::memory_floor();
    print(&format!(
        "\nMemory is at least {:.1} MB by the way it is counted.\n\nGoals\n",
        floor as f64 / 1e6
    ))?;
    for table in &tables {
        print(&table.goals())?;
    }
    if let Some(path) = &options.json {
        let record = json!({
            "schema": "abx.bench/1", "alternations": options.alternations, "versions": versions,
            "memory_floor_bytes": floor,
            "loads": tables.iter().map(Table::json).collect::<Vec<_>>(),
        });
        std::fs::write(path, serde_json::to_string_pretty(&record)? + "\n")
            .map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
    }
    Ok(())
}

fn options(arguments: Vec<String>) -> Result<Options, Box<dyn Error>> {
    const USAGE: &str = "usage: bench --abx FILE [--oha FILE] [--json FILE] [--alternations N] \
                         [--load NAME] [--only NAME]... [--quick]";
    let flags = [
        "--abx",
        "--oha",
        "--json",
        "--alternations",
        "--load",
        "--only",
    ];
    let line = CommandLine::read(arguments, USAGE, &flags, &["--quick"])?;
    let is_quick = line.has("--quick");
    let only = line.all("--only").iter().cloned().map(known_generator);
    let mut loads = LOADS.to_vec();
    for part in line.all("--load") {
        loads.retain(|load| load.name.contains(part.as_str()));
    }
    if is_quick {
        loads.truncate(1);
    }
    Ok(Options {
        abx: line.program("--abx")?,
        oha: line.value("--oha", PathBuf::from("oha"))?,
        json: line.all("--json").last().map(PathBuf::from),
        alternations: line.value("--alternations", if is_quick { 3 } else { 7 })?,
        loads,
        only: only.collect::<Result<_, _>>()?,
    })
}

fn known_generator(name: String) -> Result<String, String> {
    if Generator::all().any(|generator| generator.name() == name) {
        Ok(name)
    } else {
        Err(format!(
            "--only {name} names no generator of this machine: {}",
            Generator::all()
                .map(Generator::name)
                .collect::<Vec<_>>()
                .join(", ")
        ))
    }
}

/// Runs every generator in turn, in the requested number of alternations.
fn measure(
    load: &Load,
    options: &Options,
    setup: &Setup,
    server: &Server,
    descriptors: u64,
) -> Result<Table, Box<dyn Error>> {
    let response_bytes = server.response_bytes(load.body_bytes, load.keep_alive)?;
    generators::write_scripts(setup, load)?;
    let mut rows: Vec<Row> = Generator::all()
        .filter(|generator| generator.takes_part(load))
        .filter(|generator| {
            options.only.is_empty() || options.only.iter().any(|name| name == generator.name())
        })
        .map(|generator| Row {
            generator,
            runs: Vec::new(),
        })
        .collect();
    let needed = load.connections as u64 + DESCRIPTORS_SPARE;
    for alternation in 0..options.alternations {
        rows.rotate_left(usize::from(alternation > 0));
        for row in &mut rows {
            let run = match row.generator.refusal(load) {
                Some(reason) => Err(reason.to_owned()),
                None if needed > descriptors => Err(format!(
                    "{needed} file descriptors are needed, {descriptors} allowed (ulimit -Hn)"
                )),
                None => run(row.generator, setup, load, response_bytes, server),
            };
            row.runs.push(run);
        }
    }
    rows.sort_by_key(|row| row.generator);
    Ok(Table { load: *load, rows })
}

/// One run, or the reason why it gave no figures.
fn run(
    generator: Generator,
    setup: &Setup,
    load: &Load,
    response_bytes: usize,
    server: &Server,
) -> Result<Run, String> {
    let command = generator.command(setup, load, response_bytes);
    let longest = Duration::from_secs(load.seconds) + OVERTIME;
    let server_cpu_us = || {
        let cpu_us = server.cpu_us();
        cpu_us.map_err(|error| format!("nginx's processor time cannot be read: {error}"))
    };
    let before_us = server_cpu_us()?;
    let ended = child::run(command, &setup.folder, longest)
        .map_err(|error| format!("it cannot be started: {error}"))?;
    let server_cpu_us = server_cpu_us()? - before_us;
    let report = match (ended.failure, generator.report(&ended.stdout)) {
        (None, Some(report)) => report,
        // A generator may report failed requests by its exit code.
        (Some(_), Some(report)) if report.failed > 0 => report,
        (None, None) => return Err("its report cannot be read".to_owned()),
        (Some(failure), _) => {
            let last = ended.stderr.lines().last().unwrap_or("").trim();
            return Err(format!("{failure} {last}").trim_end().to_owned());
        }
    };
    Ok(Run {
        cpu_us: ended.cpu_us - report.awake_us.unwrap_or_default(),
        report,
        server_cpu_us,
        memory_bytes: ended.memory_bytes,
    })
}

/// The first line of each program's version output.
fn versions(setup: &Setup, folder: &Path) -> Value {
    let mut nginx = Command::new("nginx");
    nginx.arg("-v");
    let generators = Generator::all()
        .filter_map(|generator| Some((generator.name(), generator.version(setup)?)));
    std::iter::once(("nginx", nginx))
        .chain(generators)
        .map(|(name, command)| {
            let ended = child::run(command, folder, OVERTIME);
            let line = ended.ok().and_then(|ended| {
                let text = ended.stdout + &ended.stderr;
                text.lines().next().map(|line| line.trim().to_owned())
            });
            (name.to_owned(), json!(line))
        })
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Raises the soft limit to the hard one, which children inherit.
fn raise_descriptors() -> io::Result<u64> {
    let hard = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit {
        current: hard,
        maximum: hard,
    };
    setrlimit(Resource::Nofile, limit)?;
    Ok(hard.unwrap_or(u64::MAX))
}

fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
