//! The study of database clients behind a page: its node, its pages and its extension.

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use abx_sys::ports::{FreePort, candidates, free_port};
use abx_sys::process::Signal;
use serde_json::Value;

use crate::catalog::built_in::is_measured;
use crate::support::{Ended, Home, cache, findings, wait_for};

/// A client of each build, and one that no registry has; run once.
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
fn the_study_of_database_clients_runs() {
    // Method: the tiny form. Each page is the same, whichever client has the row from where, and
    // shows where its time went; and the database did work for them.
    let ended = &*CLIENTS;
    let record = ended.json();
    ended.expect_measured(&record);
    is_measured(&record, &["original", "super", "wide"]);
    assert!(findings(&record, "unequal_responses").is_empty());
    assert_eq!(record["skipped"][0]["name"], "phpcassa");
    let values = record["conclusions"]["server_times"].as_array().unwrap();
    let message = values.iter().filter(|value| value["load"] == "original");
    let statement = message.filter(|value| value["subject"] == "kassandra");
    let values: Vec<&Value> = statement.map(|value| &value["name"]).collect();
    assert_eq!(values, ["connect", "get_row", "render"]);
    let node = &record["blocks"][0]["services"]["cassandra"];
    assert!(node["cpu_s"].as_f64().unwrap() > 0.0, "{node}");
}

#[test]
fn a_node_that_cannot_run_here_reports_a_remedy() {
    // Method: programs of ours before those by which the script finds Java and the size of memory.
    for (java, megabytes, message) in [
        (
            "21.0.2",
            "9000",
            "Java 17 only: install openjdk-17-jre-headless",
        ),
        (
            "17.0.2",
            "300",
            "needs 700 MB of memory, and 300 MB are free",
        ),
    ] {
        let home = Home::new();
        fs::create_dir(home.join("bin")).unwrap();
        for (name, text) in [
            ("ls", "exit 2".to_owned()),
            ("java", format!("echo 'openjdk version \"{java}\"' >&2")),
            ("awk", format!("echo {megabytes}")),
        ] {
            home.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{text}\n"));
            let program = home.join("bin").join(name);
            fs::set_permissions(program, Permissions::from_mode(0o755)).unwrap();
        }
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new(study("cassandra/start"));
        home.settle(&mut command);
        let ended = command
            .arg(home.path())
            .env("PATH", format!("{}:{path}", home.join("bin").display()))
            .env("CLASSPATH", "/nowhere/*")
            .output()
            .unwrap();
        let text = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(1), "{text}");
        assert!(
            text.contains(message) && text.lines().count() == 1,
            "{text}"
        );
    }
}

#[test]
fn a_stop_leaves_nothing_of_a_node() {
    // Method: SIGINT as soon as the node's own process is there, which is long before it is ready,
    // and once a page that queries it is served.
    CLIENTS.expect_measured(&CLIENTS.json());
    for program in ["CassandraDaemon", "apache2 -D"] {
        let home = Home::new();
        let words = ["study", "run", "cassandra-clients", "--tiny"];
        let words = [&words[..], &["--subjects", "thrift,no-database"]].concat();
        let mut running = home.start(home.abx(&words).env("XDG_CACHE_HOME", cache()));
        running.until(program, |home| {
            let mut lines = home.processes().into_iter().map(|(_, line)| line);
            lines.any(|line| line.contains(program)).then_some(())
        });
        running.signal(Signal::Int);
        running.wait().expect(130, &[]);
    }
}

#[test]
fn the_native_client_reports_errors_and_reconnects_to_a_restarted_node() {
    // Method: the extension's own tests over a node, in whose place another one comes when they
    // request it; every line of theirs reports that something holds.
    CLIENTS.expect_measured(&CLIENTS.json());
    let build = build();
    let version = Version::with_thrift(&build);
    let extension = build.join("modules/kassandra.so");
    hold("kassandra", &extension, &version, 20_000);
}

#[test]
#[ignore = "needs an extension that takes minutes to build, and Cassandra 5.0: make cql"]
fn the_native_client_over_cql_reports_errors_in_both_versions() {
    // Method: as above, over a node of each version.
    CLIENTS.expect_measured(&CLIENTS.json());
    let home = Home::new();
    let mut install = home.abx(&["study", "install", "cassandra5-clients"]);
    let installed = home.run(install.env("XDG_CACHE_HOME", cache()));
    installed.expect(0, &[]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let extension = root.join("target/cql/lib/abx/cql.so");
    assert!(extension.exists(), "it is built by: make cql");
    let build = build();
    for version in [Version::with_thrift(&build), Version::with_cql()] {
        hold("cql", &extension, &version, 100_000);
    }
}

/// Runs the tests of an extension of this name.
fn hold(name: &str, extension: &Path, version: &Version, calls: u32) {
    let home = Home::new();
    let mut node = Node::start(&home, version);
    let mut command = Command::new("php");
    home.settle(&mut command);
    let mut tests = command
        .args(["-n", "-d", &format!("extension={}", extension.display())])
        .arg(study("test-extension.php"))
        .args([name, &node.port_for(name).to_string(), &calls.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut response = tests.stdin.take().unwrap();
    let mut texts = Vec::new();
    for line in BufReader::new(tests.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if line == "restart" {
            node.restart();
            writeln!(response, "done").unwrap();
        }
        texts.push(line);
    }
    assert!(tests.wait().unwrap().success(), "{texts:#?}");
    assert_eq!(texts.last().unwrap(), "done", "{texts:#?}");
    let held = texts.iter().filter(|line| line.starts_with("ok: ")).count();
    assert_eq!(held, texts.len() - 2, "{texts:#?}");
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
    cached(|folder| {
        let is_built = folder.join("modules/kassandra.so").exists();
        is_built && sources.iter().all(|source| is_made_of(folder, source))
    })
}

/// The folder of the cache of which this holds.
fn cached(is_meant: impl Fn(&Path) -> bool) -> PathBuf {
    let mut folders = fs::read_dir(cache().join("abx")).unwrap().flatten();
    let dir_entry = folders.find(|folder| is_meant(&folder.path()));
    dir_entry.expect("the study was run").path()
}

/// The parts of nodes of a version.
struct Version {
    /// The folder of its study.
    folder: PathBuf,
    jars: PathBuf,
    /// The program that fills a node, and its environment next to the node's port.
    seed: [PathBuf; 2],
    build: Option<PathBuf>,
}

impl Version {
    /// 3.11; the interpreted client is in `build`.
    fn with_thrift(build: &Path) -> Version {
        Version {
            folder: study(""),
            jars: cached(|folder| folder.join("jars/cassandra-all-3.11.19.jar").exists()),
            seed: ["php".into(), study("cassandra/seed.php")],
            build: Some(build.to_owned()),
        }
    }

    /// 5.0, when its study is installed.
    fn with_cql() -> Version {
        let folder = study("../cassandra5-clients");
        let python = cached(|folder| folder.join("bin/gunicorn").exists());
        Version {
            jars: cached(|folder| folder.join("jars/cassandra-all-5.0.9.jar").exists()),
            seed: [python.join("bin/python"), folder.join("cassandra/seed.py")],
            folder,
            build: None,
        }
    }
}

/// A node of a study, which abx does not keep.
struct Node<'a> {
    home: &'a Home,
    version: &'a Version,
    ports: Vec<FreePort>,
    starts: usize,
    child: Child,
}

impl Node<'_> {
    fn start<'a>(home: &'a Home, version: &'a Version) -> Node<'a> {
        let mut state = std::process::id();
        let mut draw = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        let mut port = || free_port(candidates().unwrap(), &mut draw).unwrap();
        let ports = vec![port(), port(), port(), port()];
        let child = start(home, version, &ports, 0);
        let mut node = Node {
            home,
            version,
            ports,
            starts: 1,
            child,
        };
        node.fill();
        node
    }

    /// Its own port, or that for CQL next to it.
    fn port_for(&self, extension: &str) -> u16 {
        let is_beside = extension == "cql" && self.version.build.is_some();
        self.ports[if is_beside { 3 } else { 0 }].number()
    }

    /// Kills it, and has a new one in its place, filled as it was.
    fn restart(&mut self) {
        self.stop();
        self.child = start(self.home, self.version, &self.ports, self.starts);
        self.starts += 1;
        self.fill();
    }

    fn fill(&mut self) {
        let port = self.ports[0].number();
        wait_for("a node", || {
            let log = fs::read_to_string(self.home.join("node.log")).unwrap();
            assert!(self.child.try_wait().unwrap().is_none(), "{log}");
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
        let [program, script] = &self.version.seed;
        let mut command = Command::new(program);
        self.home.settle(&mut command);
        if let Some(build) = &self.version.build {
            command.arg("-n").env("BUILD", build);
        }
        let filled = command
            .arg(script)
            .env("CASSANDRA_PORT", port.to_string())
            .env("PYTHONDONTWRITEBYTECODE", "1")
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
fn start(home: &Home, version: &Version, ports: &[FreePort], number: usize) -> Child {
    let folder = home.join(&format!("node-{number}"));
    fs::create_dir(&folder).unwrap();
    let template = version.folder.join("cassandra/cassandra.yaml.in");
    let mut text = fs::read_to_string(template).unwrap();
    text = text.replace("{dir}", &folder.display().to_string());
    let words = ["{port}", "{port.storage}", "{port.ssl}", "{port.cql}"];
    for (word, port) in words.iter().zip(ports) {
        text = text.replace(word, &port.number().to_string());
    }
    fs::write(folder.join("cassandra.yaml"), text).unwrap();
    let mut command = Command::new(version.folder.join("cassandra/start"));
    home.settle(&mut command);
    command
        .arg(&folder)
        .env("CLASSPATH", version.jars.join("jars/*"))
        .stdout(Stdio::null())
        .stderr(File::create(home.join("node.log")).unwrap())
        .spawn()
        .unwrap()
}
