//! Load by several agents, which run on this machine together with their NATS server.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use abx_sys::process::Signal;
use serde_json::{Value, json};

use crate::support::{ABX, Home, Server, findings, send, wait_for};

/// A NATS server on a port that it chose.
pub(crate) struct Bus {
    process: Child,
    pub(crate) url: String,
    _home: Home,
}

impl Bus {
    pub(crate) fn start() -> Bus {
        Bus::start_on("-1")
    }

    /// Starts one on this port.
    fn start_on(port: &str) -> Bus {
        let home = Home::new();
        let process = Command::new("nats-server")
            .args(["--addr", "127.0.0.1", "--port", port, "--ports_file_dir"])
            .arg(home.path())
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nats-server is installed: scripts/install-test-servers");
        let file = home.join(&format!("nats-server_{}.ports", process.id()));
        let url = wait_for("a NATS server", || {
            let ports = fs::read_to_string(&file).ok()?;
            let (_, rest) = ports.split_once("\"nats://")?;
            Some(format!("nats://{}", rest.split_once('"')?.0))
        });
        Bus {
            process,
            url,
            _home: home,
        }
    }

    /// Kills it and starts a new one on the same port.
    pub(crate) fn restart(&mut self) {
        let port = self.url.rsplit(':').next().unwrap().to_owned();
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        *self = Bus::start_on(&port);
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An `abx agent`.
pub(crate) struct Agent {
    process: Child,
    stderr: PathBuf,
    home: Home,
}

impl Agent {
    pub(crate) fn start(bus: &Bus, words: &str) -> Agent {
        let home = Home::new();
        let stderr = home.join("stderr");
        let process = home
            .abx(&["agent", "--bus", &bus.url])
            .args(words.split(' '))
            .stdout(Stdio::null())
            .stderr(File::create(&stderr).unwrap())
            .spawn()
            .unwrap();
        Agent {
            process,
            stderr,
            home,
        }
    }

    /// Starts three of them, `a1` to `a3` in the slots of these numbers.
    pub(crate) fn three(bus: &Bus) -> [Agent; 3] {
        [1, 2, 3].map(|slot| {
            let words = format!("--allow-target 127.0.0.0/8 --name a{slot} --slot {slot} -t 1");
            Agent::start(bus, &words)
        })
    }

    pub(crate) fn signal(&self, signal: Signal) {
        send(self.process.id(), signal);
    }

    /// Waits until it has printed this.
    pub(crate) fn says(&self, part: &str) {
        wait_for(part, || {
            let messages = fs::read_to_string(&self.stderr).unwrap();
            messages.contains(part).then_some(())
        });
    }

    /// The only file of its saved counts.
    pub(crate) fn saved(&self) -> PathBuf {
        let files = fs::read_dir(self.home.join("state/abx/finals")).unwrap();
        let files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        let [only] = &files[..] else {
            panic!("{files:?}");
        };
        only.clone()
    }

    /// Its exit code.
    pub(crate) fn ends(mut self) -> Option<i32> {
        wait_for("the end of an agent", || self.process.try_wait().unwrap()).code()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An nginx that logs each request.
pub(crate) struct LoggingServer {
    process: Child,
    log: PathBuf,
    pub(crate) url: String,
    _home: Home,
}

impl LoggingServer {
    pub(crate) fn start() -> LoggingServer {
        let home = Home::new();
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let log = home.join("access.log");
        let folder = home.path().display();
        let configuration = home.write(
            "nginx.conf",
            &format!(
                "daemon off; pid {folder}/pid; error_log {folder}/error.log;\n\
                 events {{}}\n\
                 http {{ access_log {folder}/access.log; keepalive_requests 1000000;\n\
                 client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;\n\
                 fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;\n\
                 scgi_temp_path {folder}/scgi;\n\
                 server {{ listen 127.0.0.1:{port}; location / {{ return 200 hello; }} }} }}\n"
            ),
        );
        let process = Command::new("nginx")
            .args([
                "-p",
                &home.path().display().to_string(),
                "-c",
                &configuration,
            ])
            .current_dir("/")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx is installed: scripts/install-test-servers");
        let address = format!("127.0.0.1:{port}");
        wait_for("nginx", || std::net::TcpStream::connect(&address).ok());
        LoggingServer {
            process,
            log,
            url: format!("http://{address}/"),
            _home: home,
        }
    }

    /// Lines of its log.
    pub(crate) fn requests(&self) -> usize {
        fs::read_to_string(&self.log)
            .unwrap_or_default()
            .lines()
            .count()
    }
}

impl Drop for LoggingServer {
    fn drop(&mut self) {
        // On this signal the master ends its workers; SIGKILL would leave them.
        send(self.process.id(), Signal::Term);
        let _ = self.process.wait();
    }
}

pub(crate) fn fleet_of(record: &Value) -> Vec<Value> {
    let agents = record["fleet"]["agents"].as_array();
    agents.expect("the record has its agents").clone()
}

/// Whether each agent was lost, in the order of their slots.
pub(crate) fn losses(record: &Value) -> Vec<bool> {
    let agents = fleet_of(record).into_iter();
    agents.map(|agent| agent["lost"].is_string()).collect()
}

#[test]
fn a_server_logs_as_many_requests_from_agents_as_from_abx_itself() {
    // Method: the same number of requests by abx alone, by one agent, and by three, whose
    // connections do not divide it; the server's log is the reference.
    let server = LoggingServer::start();
    let bus = Bus::start();
    let agents = Agent::three(&bus);
    let mut logged = Vec::new();
    for agents in ["", "1", "3"] {
        let home = Home::new();
        let mut words = vec![
            "run",
            &server.url,
            "-n",
            "1000",
            "-c",
            "7",
            "--quiet",
            "--json",
            "-",
        ];
        if !agents.is_empty() {
            words.extend(["--bus", &bus.url, "--agents", agents]);
        }
        let before = server.requests();
        let ended = home.run_abx(&words);
        let record = ended.expect(0, &[]).json();
        assert_eq!(record["ok"], 1000, "{agents}");
        assert_eq!(record["sent"], 1000, "{agents}");
        logged.push(server.requests() - before);
        if !agents.is_empty() {
            let agents: usize = agents.parse().unwrap();
            assert_eq!(fleet_of(&record).len(), agents);
            assert_eq!(record["conclusions"]["scope"]["agents"], agents);
        }
    }
    // The requests that verify the responses before the load are the same each time.
    assert!((1_000..1_010).contains(&logged[0]), "{logged:?}");
    assert_eq!(logged, [logged[0]; 3]);
    agents[0].says("The load is over");
}

#[test]
fn a_comparison_is_loaded_by_agents_in_step() {
    // Method: two running servers, three agents, two short blocks. Every agent took part in every
    // slice, and the full report names the agents.
    let servers = [Server::start(&[]), Server::start(&["--model", "thread"])];
    let bus = Bus::start();
    let _agents = Agent::three(&bus);
    let home = Home::new();
    let named = [0, 1].map(|index| format!("s{index}={}", servers[index].url));
    let flags = "--blocks 2 --rounds 2 --slice 50ms --pilot brief -c 6 --agents 3 --full --bus";
    let mut words = vec!["compare", &named[0], &named[1]];
    words.extend(flags.split(' '));
    words.push(&bus.url);
    let ended = home.run_abx(&words);
    let record = home.record();
    ended.expect_measured(&record);
    assert!(
        ended.stdout.contains("agents: a1, a2, a3 over nats"),
        "{}",
        ended.stdout
    );
    let slices: Vec<u64> = fleet_of(&record)
        .iter()
        .map(|agent| agent["slices"].as_u64().unwrap())
        .collect();
    assert!(
        slices[0] > 8 && slices.iter().all(|slice| *slice == slices[0]),
        "{slices:?}"
    );
    assert_eq!(record["machine"]["roles"], json!(["subjects"]));
    assert_eq!(
        record["conclusions"]["scope"]["routes"],
        json!(["loopback"])
    );
}

/// Loads a server by three agents for ten minutes, sends this signal to the second one, and returns
/// the record.
fn run_that_loses_an_agent(signal: Signal) -> Value {
    let server = Server::start(&[]);
    let bus = Bus::start();
    let agents = Agent::three(&bus);
    let home = Home::new();
    let words = [
        "run",
        &server.url,
        "-d",
        "600s",
        "--think",
        "10ms",
        "-c",
        "9",
        "--agents",
        "3",
        "--bus",
        &bus.url,
    ];
    let running = home.start(&mut home.abx(&words));
    server.wait_until_loaded();
    agents[1].signal(signal);
    let ended = running.wait();
    ended.expect(3, &["agent a2 (2 of 3) was lost", "Record: "]);
    // The other agents are ready for the next load.
    agents[0].says("The load is over");
    agents[2].says("The load is over");
    home.record()
}

fn assert_lost(record: &Value, reason: &str) {
    let lost = findings(record, "agent_lost");
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert_eq!(lost[0]["level"], "void");
    let message = lost[0]["message"].as_str().unwrap();
    assert!(
        message.contains("agent a2 (2 of 3)") && message.contains(reason),
        "{message}"
    );
    assert_eq!(losses(record), [false, true, false]);
    assert!(record["ok"].as_u64().unwrap() > 0);
}

#[test]
fn a_killed_agent_is_named_and_there_is_no_claim() {
    // Method: SIGKILL in the middle of a run; no process can report it.
    assert_lost(&run_that_loses_an_agent(Signal::Kill), "it was silent");
}

#[test]
fn a_stopped_agent_reports_its_end() {
    // Method: SIGTERM, as a person or a scheduler ends it.
    assert_lost(
        &run_that_loses_an_agent(Signal::Term),
        "it was stopped there",
    );
}

#[test]
fn targets_that_an_agent_does_not_allow_are_refused_by_name() {
    // Method: an agent that may load another network only, and one with a lower rate.
    let server = Server::start(&[]);
    for (words, message) in [
        (
            "--allow-target 10.0.0.0/8 --name strict",
            "--allow-target 10.0.0.0/8",
        ),
        (
            "--allow-target 127.0.0.1 --max-rate 10 --name strict",
            "--max-rate",
        ),
    ] {
        let bus = Bus::start();
        let agent = Agent::start(&bus, words);
        let home = Home::new();
        let words = [
            "run",
            &server.url,
            "-d",
            "1s",
            "-r",
            "100",
            "--agents",
            "1",
            "--bus",
            &bus.url,
        ];
        let ended = home.run_abx(&words);
        ended.expect(3, &["agent strict (1 of 1) refuses: ", message]);
        agent.says("abx: refused: ");
        agent.signal(Signal::Int);
        assert_eq!(agent.ends(), Some(0));
    }
}

#[test]
fn an_agent_for_one_load_ends_with_it() {
    // Method: `--once`, started before there is a bus.
    let server = Server::start(&[]);
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let bus = Bus::start();
    let nowhere = Bus {
        process: Command::new("true").spawn().unwrap(),
        url: format!("nats://127.0.0.1:{port}"),
        _home: Home::new(),
    };
    let early = Agent::start(&nowhere, "--allow-target 127.0.0.1");
    early.says("trying again every second");
    let agent = Agent::start(&bus, "--allow-target 127.0.0.1 --once");
    let home = Home::new();
    let words = [
        "run",
        &server.url,
        "-n",
        "100",
        "-c",
        "2",
        "--agents",
        "1",
        "--bus",
        &bus.url,
    ];
    home.run_abx(&words).expect(0, &["joined"]);
    assert_eq!(agent.ends(), Some(0));
    early.signal(Signal::Term);
    assert_eq!(early.ends(), Some(0));
}

#[test]
fn an_invalid_bus_address_is_refused_at_once() {
    // Method: a scheme that NATS does not have, and no host, for a controller and for an agent,
    // which would otherwise wait for the bus forever; a missing file of certificate authorities. No
    // message has the password.
    let home = Home::new();
    let controller = ["run", "http://127.0.0.1:9/", "--agents", "1", "--bus"];
    let agent = ["agent", "--allow-target", "127.0.0.1", "--bus"];
    for wrong in ["http://me:hunter2@127.0.0.1:9", "nats://"] {
        for words in [&controller[..], &agent[..]] {
            let ended = home.run_abx(&[words, &[wrong]].concat());
            let texts = ["is not the address of a NATS server", "tls://HOST:4222"];
            ended.expect(2, &texts);
            assert!(!ended.stderr.contains("hunter2"), "{ended:#?}");
        }
    }
    let bus = Bus::start();
    let encrypted = bus.url.replace("nats://", "tls://");
    let missing = [&agent[..], &[encrypted.as_str(), "--bus-ca", "missing.pem"]].concat();
    home.run_abx(&missing)
        .expect(2, &["No such file", "--bus-ca FILE"]);
}

#[test]
fn missing_agents_are_reported() {
    // Method: without --agents, without --bus, with -t, without a server on the bus, without an
    // agent, without --allow-target, and with more agents than connections.
    let home = Home::new();
    let url = "http://127.0.0.1:9/";
    let bus = Bus::start();
    for (words, code, message) in [
        (vec!["--bus", &bus.url], 2, "--agents"),
        (vec!["--agents", "2"], 2, "--bus"),
        (
            vec!["--bus", &bus.url, "--agents", "2", "-t", "3"],
            2,
            "--threads",
        ),
        (
            vec!["--bus", "nats://127.0.0.1:9", "--agents", "2"],
            2,
            "refused (os error 111): start nats-server there",
        ),
        (
            vec![
                "--bus",
                &bus.url,
                "--agents",
                "2",
                "--agents-within",
                "200ms",
            ],
            3,
            "0 of 2 agents joined within 0.2 s",
        ),
    ] {
        let texts = [vec!["run", url], words].concat();
        home.run_abx(&texts).expect(code, &[message]);
    }
    let missing = Command::new(ABX)
        .args(["agent", "--bus", &bus.url])
        .output()
        .unwrap();
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("--allow-target"));
    let server = Server::start(&[]);
    let _agents = Agent::three(&bus);
    let words = [
        "run",
        &server.url,
        "-c",
        "2",
        "--agents",
        "3",
        "--bus",
        &bus.url,
    ];
    home.run_abx(&words)
        .expect(3, &["3 agents cannot share 2 connection(s)"]);
}
