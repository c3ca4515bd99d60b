//! The study of database clients behind a page: its node, its pages and its extension.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use abx_sys::ports::{FreePort, candidates, free_port};
use serde_json::Value;

use crate::catalog::is_measured;
use crate::support::{Ended, Home, cache, findings, wait_for};

/// A client of each build, and one that nobody can bring from a registry; run once.
pub static CLIENTS: LazyLock<Ended> = LazyLock::new(|| {
    let words = ["study", "run", "cassandra-clients", "--tiny", "--install"];
    let some = "thrift,kassandra,apcu,fpm-thrift,no-database,phpcassa";
    Home::new().run_with_cache(&[&words[..], &["--subjects", some, "--json", "-"]].concat())
});

fn study(path: &str) -> PathBuf {
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    studies.join("cassandra-clients").join(path)
}

#[test]
fn the_study_of_database_clients_is_conducted() {
    // Method: the tiny form. Each page is the same, whoever had the row from where, and says
    // where its time went; and the database did something for them.
    let ended = &*CLIENTS;
    let record = ended.json();
    ended.expect_measured(&record);
    is_measured(&record, &["original", "super", "wide"]);
    assert!(findings(&record, "unequal_responses").is_empty());
    assert_eq!(record["skipped"][0]["name"], "phpcassa");
    let said = record["conclusions"]["server_times"].as_array().unwrap();
    let said = said.iter().filter(|one| one["load"] == "original");
    let said = said.filter(|one| one["subject"] == "kassandra");
    let said: Vec<&Value> = said.map(|one| &one["name"]).collect();
    assert_eq!(said, ["connect", "get_row", "render"]);
    let node = &record["blocks"][0]["services"]["cassandra"];
    assert!(node["cpu_s"].as_f64().unwrap() > 0.0, "{node}");
}

#[test]
fn the_native_client_says_what_is_wrong_and_finds_a_node_that_was_started_again() {
    // Method: the extension's own tests over a node, in whose place another one comes when
    // they ask for it; every line of theirs says that something holds.
    CLIENTS.expect_measured(&CLIENTS.json());
    let build = build();
    let home = Home::new();
    let mut node = Node::start(&home, &build);
    let mut command = Command::new("php");
    home.settle(&mut command);
    let extension = build.join("modules/kassandra.so");
    let mut tests = command
        .args(["-n", "-d", &format!("extension={}", extension.display())])
        .arg(study("clients/kassandra/test.php"))
        .args([&node.port().to_string(), "20000"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut answer = tests.stdin.take().unwrap();
    let mut said = Vec::new();
    for line in BufReader::new(tests.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if line == "restart" {
            node.restart();
            writeln!(answer, "done").unwrap();
        }
        said.push(line);
    }
    assert!(tests.wait().unwrap().success(), "{said:#?}");
    assert_eq!(said.last().unwrap(), "done", "{said:#?}");
    let held = said.iter().filter(|line| line.starts_with("ok: ")).count();
    assert_eq!(held, said.len() - 2, "{said:#?}");
    drop(node);
    home.wait_until_empty();
}

/// Where the study's extension was built from the sources that are here.
fn build() -> PathBuf {
    let sources = fs::read_dir(study("clients/kassandra")).unwrap().flatten();
    let mut sources: Vec<PathBuf> = sources.map(|file| file.path()).collect();
    sources.push(study("clients/cassandra.thrift"));
    let is_made_of = |folder: &Path, source: &PathBuf| {
        let copy = fs::read(folder.join(source.file_name().unwrap()));
        copy.is_ok_and(|copy| copy == fs::read(source).unwrap())
    };
    let mut builds = fs::read_dir(cache().join("abx")).unwrap().flatten();
    let found = builds.find(|build| {
        let folder = build.path();
        let is_built = folder.join("modules/kassandra.so").exists();
        is_built && { sources.iter() }.all(|source| is_made_of(&folder, source))
    });
    found.expect("the study was run").path()
}

/// The jars of the node.
fn jars() -> String {
    let mut folders = fs::read_dir(cache().join("abx")).unwrap().flatten();
    let found = folders.find(|folder| {
        let jar = folder.path().join("jars/cassandra-all-3.11.19.jar");
        jar.exists()
    });
    let folder = found.expect("the study was run").path();
    folder.join("jars/*").display().to_string()
}

/// A node of the study's, beside what abx keeps.
struct Node<'a> {
    home: &'a Home,
    build: &'a Path,
    ports: Vec<FreePort>,
    starts: usize,
    child: Child,
}

impl Node<'_> {
    fn start<'a>(home: &'a Home, build: &'a Path) -> Node<'a> {
        let mut state = std::process::id();
        let mut draw = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        let mut port = || free_port(candidates().unwrap(), &mut draw).unwrap();
        let ports = vec![port(), port(), port(), port()];
        let child = start(home, &ports, 0);
        let mut node = Node {
            home,
            build,
            ports,
            starts: 1,
            child,
        };
        node.fill();
        node
    }

    fn port(&self) -> u16 {
        self.ports[0].number()
    }

    /// Kills it, and has a new one in its place, filled as it was.
    fn restart(&mut self) {
        self.stop();
        self.child = start(self.home, &self.ports, self.starts);
        self.starts += 1;
        self.fill();
    }

    fn fill(&mut self) {
        let address = ("127.0.0.1", self.port());
        wait_for("a node", || {
            let log = fs::read_to_string(self.home.join("node.log")).unwrap();
            assert!(self.child.try_wait().unwrap().is_none(), "{log}");
            TcpStream::connect(address).ok()
        });
        let mut command = Command::new("php");
        self.home.settle(&mut command);
        let filled = command
            .arg("-n")
            .arg(study("cassandra/seed.php"))
            .env("BUILD", self.build)
            .env("CASSANDRA_PORT", self.port().to_string())
            .output()
            .unwrap();
        assert!(filled.status.success(), "{filled:?}");
    }

    fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Node<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A process in a folder of its own, with the study's template filled as abx fills it.
fn start(home: &Home, ports: &[FreePort], number: usize) -> Child {
    let folder = home.join(&format!("node-{number}"));
    fs::create_dir(&folder).unwrap();
    let mut text = fs::read_to_string(study("cassandra/cassandra.yaml.in")).unwrap();
    text = text.replace("{dir}", &folder.display().to_string());
    let words = ["{port}", "{port.storage}", "{port.ssl}", "{port.cql}"];
    for (word, port) in words.iter().zip(ports) {
        text = text.replace(word, &port.number().to_string());
    }
    fs::write(folder.join("cassandra.yaml"), text).unwrap();
    let mut command = Command::new(study("cassandra/start"));
    home.settle(&mut command);
    command
        .arg(&folder)
        .env("CLASSPATH", jars())
        .stdout(Stdio::null())
        .stderr(File::create(home.join("node.log")).unwrap())
        .spawn()
        .unwrap()
}
