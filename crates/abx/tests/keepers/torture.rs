//! SIGKILL at random moments for abx, its guardians and its keepers, up to all three at once.
//! `ABX_KILLS=200` sets the number of moments and prints the results (`scripts/kills`).

use std::fmt;
use std::io::Write;
use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

use abx_sys::process::Signal;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use super::containers::ContainerHome;
use super::killed::{kill, of_kind, write_study};
use crate::bisect::searches::repository;
use crate::fleet::agents::{Agent, Bus};
use crate::support::{ABX, Home, Running, Server, read_json};

/// The variable that sets the number of moments in place of `MOMENTS`.
const KILLS: &str = "ABX_KILLS";
/// Moments of the first command and of every other command in an ordinary run. The first moment of
/// a command kills all three kinds.
const MOMENTS: [u64; 2] = [3, 1];
/// The kinds of processes to kill.
const KINDS: [&str; 3] = ["abx", "guardian", "keeper"];
/// Time within which the remaining processes end everything.
const END_WITHIN: Duration = Duration::from_secs(60);

/// A service, next to daemons and process groups.
const SERVICE: &str = r#"
[[service]]
name = "store"
command = ["ABX", "serve", "--port", "{port}", "--workers", "2"]
[[subject]]
name = "user"
command = ["sh", "-c", "exec ABX serve --port {port} # {service.store.port}"]
"#;
/// A worker of a subject that abx kills on purpose.
const FAULT: &str = r#"
[[load]]
name = "steady"
connections = 4
rate = 500
requests = [{ path = "/" }]
expect = { body = "any" }
[[fault]]
name = "crash"
load = "steady"
whom = "worker"
signal = "KILL"
at = "100ms"
within = "500ms"
"#;

/// A command that is killed.
struct Case {
    name: &'static str,
    kind: Kind,
    environment: Environment,
    words: &'static [&'static str],
    /// Tables to add to the study.
    more: &'static str,
}

/// How a command continues after it was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// By `--resume`, until it has another block.
    Comparison,
    /// Not at all: it is shorter than a few blocks.
    Check,
    /// By the same words, until it has another block.
    Search,
    /// Not at all: it keeps no server.
    Run,
}

/// The environment of a command outside its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Environment {
    Nothing,
    /// A server, whose URL follows the words.
    Server,
    /// A bus and an agent, whose flags follow the words.
    Fleet,
    /// A container engine with an image. Two subjects follow the words, one from the image.
    Containers,
}

const SEARCH: &[&str] = &[
    "bisect",
    "HEAD~9",
    "main",
    "./server {port}",
    "--repo",
    "code",
    "-c",
    "4",
    "--slice",
    "40ms",
    "--rounds",
    "3",
    "--pilot",
    "brief",
    "--no-ceiling",
];

const COMPARE: &[&str] = &[
    "compare",
    "study.toml",
    "--blocks",
    "1000",
    "--slice",
    "20ms",
    "--rounds",
    "2",
    "--pilot",
    "brief",
    "--no-ceiling",
];

const COMPARE_COMMANDS: &[&str] = &[
    "compare",
    "--blocks",
    "1000",
    "--slice",
    "20ms",
    "--rounds",
    "2",
    "--pilot",
    "brief",
    "--no-ceiling",
    "-c",
    "4",
];

const CASES: [Case; 8] = [
    Case {
        name: "compare",
        kind: Kind::Comparison,
        environment: Environment::Nothing,
        words: COMPARE,
        more: "",
    },
    Case {
        name: "study check",
        kind: Kind::Check,
        environment: Environment::Nothing,
        words: &["study", "check", "study.toml"],
        more: "",
    },
    Case {
        name: "services",
        kind: Kind::Comparison,
        environment: Environment::Nothing,
        words: COMPARE,
        more: SERVICE,
    },
    Case {
        name: "faults",
        kind: Kind::Comparison,
        environment: Environment::Nothing,
        words: COMPARE,
        more: FAULT,
    },
    Case {
        name: "bisect",
        kind: Kind::Search,
        environment: Environment::Nothing,
        words: SEARCH,
        more: "",
    },
    Case {
        name: "run",
        kind: Kind::Run,
        words: &["run", "-c", "4", "-d", "10m"],
        environment: Environment::Server,
        more: "",
    },
    Case {
        name: "fleet",
        kind: Kind::Comparison,
        words: COMPARE,
        environment: Environment::Fleet,
        more: "",
    },
    Case {
        name: "containers",
        kind: Kind::Comparison,
        words: COMPARE_COMMANDS,
        environment: Environment::Containers,
        more: "",
    },
];

/// Where a command is killed, with its environment.
struct Scene {
    place: Place,
    /// The words of the command.
    words: Vec<String>,
    /// Flags that it needs again to continue.
    flags: Vec<String>,
    _server: Option<Server>,
    _fleet: Option<(Bus, Agent)>,
}

enum Place {
    Plain(Home),
    Containers(ContainerHome),
}

impl Scene {
    fn new(case: &Case) -> Scene {
        let mut words: Vec<String> = case.words.iter().map(|word| (*word).to_owned()).collect();
        let (mut server, mut fleet, mut flags) = (None, None, Vec::new());
        let place = if case.environment == Environment::Containers {
            let place = ContainerHome::new();
            words.extend(place.both());
            Place::Containers(place)
        } else {
            Place::Plain(Home::new())
        };
        match case.environment {
            Environment::Nothing | Environment::Containers => {}
            Environment::Server => words.push(server.insert(Server::start(&[])).url.clone()),
            Environment::Fleet => {
                let bus = Bus::start();
                flags = ["--agents", "1", "--bus", &bus.url]
                    .map(str::to_owned)
                    .into();
                let agent = Agent::start(&bus, "--allow-target 127.0.0.0/8 -t 1");
                fleet = Some((bus, agent));
            }
        }
        let scene = Scene {
            place,
            words,
            flags,
            _server: server,
            _fleet: fleet,
        };
        let home = scene.home();
        write_study(home);
        let study = std::fs::read_to_string(home.join("study.toml")).unwrap();
        home.write("study.toml", &(study + &case.more.replace("ABX", ABX)));
        if case.kind == Kind::Search {
            repository(home);
        }
        scene
    }

    fn home(&self) -> &Home {
        match &self.place {
            Place::Plain(home) => home,
            Place::Containers(place) => place.home(),
        }
    }

    fn abx(&self, words: &[&str]) -> Command {
        match &self.place {
            Place::Plain(home) => home.abx(words),
            Place::Containers(place) => place.abx(words),
        }
    }

    /// Starts a command that measures.
    fn start(&self, words: &[&str]) -> Running<'_> {
        self.home().start(self.abx(words).args(&self.flags))
    }

    /// Processes that abx started here, those in containers included.
    fn processes(&self) -> usize {
        let boxed = match &self.place {
            Place::Plain(_) => 0,
            Place::Containers(place) => place.boxed().len(),
        };
        boxed + self.home().processes().len()
    }
}

/// The leftovers of kills, over all moments.
#[derive(Debug, Default)]
struct Left {
    moments: u64,
    /// Of these, moments at which all three kinds were killed.
    of_all: u64,
    /// Processes that then continued until abx was started again.
    until_next: usize,
    processes: usize,
    folders: usize,
    ports: usize,
    blocks_lost: usize,
    /// Blocks that were on disk at the kills, all of which were continued.
    blocks_kept: usize,
}

impl Left {
    fn is_clean(&self) -> bool {
        self.processes + self.folders + self.ports + self.blocks_lost == 0
    }
}

impl fmt::Display for Left {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Left {
            moments,
            of_all,
            until_next,
            processes,
            folders,
            ports,
            blocks_lost,
            blocks_kept,
        } = self;
        write!(
            formatter,
            "{moments} | {of_all} | {until_next} | {processes} | {folders} | {ports} | {blocks_kept} | \
             {blocks_lost} |"
        )
    }
}

#[test]
fn no_kill_at_any_moment_leaves_anything_or_loses_a_block() {
    // Method: a study of nginx, php-fpm and a server that forks twice. At a random moment, SIGKILL
    // for all processes of some kinds, chosen at random. If all three kinds were killed, the next
    // start of abx must end the rest. Comparisons and searches continue from their records. A run
    // starts no server, a fleet has one agent, and a container belongs to its engine.
    let kills: Option<u64> = std::env::var(KILLS).ok().and_then(|text| text.parse().ok());
    let cases = CASES.len() as u64;
    for (index, case) in (0..cases).zip(&CASES) {
        let mut left = Left::default();
        let usual = MOMENTS[usize::from(index > 0)];
        let moments = kills.map_or(usual, |kills| kills.div_ceil(cases));
        for number in 0.. {
            if left.moments == moments {
                break;
            }
            let seed = index * 1_000 + number;
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mask = if number == 0 {
                7
            } else {
                random.random_range(1..8)
            };
            moment(case, mask, &mut random, &mut left);
            assert!(
                kills.is_some() || left.is_clean(),
                "{}, seed {seed}: {left:?}",
                case.name
            );
        }
        if kills.is_some() {
            // Direct output, which is not captured, for the user who set the number.
            writeln!(std::io::stdout(), "| `{}` | {left}", case.name).unwrap();
        }
        assert!(left.is_clean(), "{}: {left:?}", case.name);
    }
}

/// Kills the kinds whose bits are set, once, and adds the result.
fn moment(case: &Case, mask: u32, random: &mut ChaCha8Rng, left: &mut Left) {
    let scene = Scene::new(case);
    let home = scene.home();
    let kinds = (0..).zip(KINDS).filter(|(bit, _)| mask & (1 << bit) != 0);
    let mut kinds: Vec<&str> = kinds.map(|(_, kind)| kind).collect();
    if case.kind == Kind::Run {
        kinds = vec!["abx"];
    }
    let words: Vec<&str> = scene.words.iter().map(String::as_str).collect();
    let mut running = scene.start(&words);
    if case.kind != Kind::Run {
        running.until("a keeper", |home| {
            (!of_kind(home, "keeper").is_empty()).then_some(())
        });
    }
    if case.kind == Kind::Comparison && random.random_bool(0.5) {
        running.until("a finished block", |home| complete(home).first().map(drop));
    }
    let longest_ms = if case.kind == Kind::Check {
        1_500
    } else {
        4_000
    };
    std::thread::sleep(Duration::from_millis(random.random_range(0..longest_ms)));
    if running.has_ended() {
        // A check may have ended by then. Another moment kills it.
        return;
    }
    let before = complete(home);
    let ports = kill(&mut running, home, &kinds, random);
    running.wait_alone();
    left.moments += 1;
    if kinds.len() == KINDS.len() {
        left.of_all += 1;
        left.until_next += scene.processes();
        start_again(&scene, case);
    } else if case.kind != Kind::Check && !before.is_empty() {
        start_again(&scene, case);
    }
    settle(&scene);
    left.processes += scene.processes();
    left.folders += home.scratch().len();
    let is_held = |port: &&u16| TcpListener::bind(("127.0.0.1", **port)).is_err();
    left.ports += ports.iter().filter(is_held).count();
    let after = complete(home);
    let is_lost = |block: &&Value| !after.contains(block);
    left.blocks_lost += before.iter().filter(is_lost).count();
    left.blocks_kept += before.len();
}

/// The complete blocks on disk. A search has a record for each comparison.
fn complete(home: &Home) -> Vec<Value> {
    let records = home.records_in("state/abx");
    let blocks = records.iter().map(|path| read_json(path)["blocks"].take());
    let blocks = blocks.filter_map(|blocks| blocks.as_array().cloned());
    let complete = |block: &Value| block["complete"] == true;
    blocks.flatten().filter(complete).collect()
}

/// Starts abx again: a measurement continues until it has another block, and a check is repeated.
fn start_again(scene: &Scene, case: &Case) {
    let home = scene.home();
    if case.kind == Kind::Check || home.records_in("state/abx").is_empty() {
        home.write("one.toml", ONE);
        let mut check = home.start(&mut scene.abx(&["study", "check", "one.toml"]));
        end(&mut check, |running, _| running.has_ended());
        return;
    }
    let before = complete(home).len();
    let is_search = case.kind == Kind::Search;
    let record = (!is_search).then(|| home.record_path().display().to_string());
    let words = record.as_deref().map_or_else(
        || case.words.to_vec(),
        |record| vec!["compare", "--resume", record],
    );
    let mut resumed = scene.start(&words);
    end(&mut resumed, |running, home| {
        complete(home).len() > before || running.has_ended()
    });
    if !resumed.has_ended() {
        resumed.signal(Signal::Int);
    }
    resumed.wait_alone();
}

/// Waits until something is done, for at most `END_WITHIN`.
fn end(running: &mut Running, mut is_done: impl FnMut(&mut Running, &Home) -> bool) {
    let deadline = Instant::now() + END_WITHIN;
    let home = running.home();
    while !is_done(running, home) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until no process and no folder is left, for at most `END_WITHIN`.
fn settle(scene: &Scene) {
    let deadline = Instant::now() + END_WITHIN;
    let is_empty = || scene.processes() == 0 && scene.home().scratch().is_empty();
    while !is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A study of a subject that never listens. abx removes leftovers before it starts.
const ONE: &str = r#"
schema = "abx.study_file/1"
[[subject]]
name = "one"
command = ["false", "{port}"]
[[load]]
name = "page"
requests = [{ path = "/" }]
"#;
