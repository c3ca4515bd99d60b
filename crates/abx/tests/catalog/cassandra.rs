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

use crate::catalog::built_in::{assert_measured, run_installed};
use crate::support::{Ended, Home, QUICK_JAVA, cache, findings, wait_for};

/// A client of each build, and one that no registry has. All tests share this run.
pub static CLIENTS: LazyLock<Ended> = LazyLock::new(|| {
    let subjects = "thrift,kassandra,apcu,fpm-thrift,no-database,phpcassa";
    run_installed("cassandra-clients", &["--subjects", subjects])
});

fn study(path: &str) -> PathBuf {
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    studies.join("cassandra-clients").join(path)
}

#[test]
fn the_study_of_database_clients_runs() {
    // Method: the tiny form. All clients produce the same page and report where their time went,
    // and the database used CPU time.
    let ended = &*CLIENTS;
    let record = ended.json();
    ended.expect_measured(&record);
    assert_measured(&record, &["original", "super", "wide"]);
    assert!(findings(&record, "unequal_responses").is_empty());
    assert_eq!(record["skipped"][0]["name"], "phpcassa");
    let times = record["conclusions"]["server_times"].as_array().unwrap();
    let names: Vec<&Value> = times
        .iter()
        .filter(|time| time["load"] == "original" && time["subject"] == "kassandra")
        .map(|time| &time["name"])
        .collect();
    assert_eq!(names, ["connect", "get_row", "render"]);
    let node = &record["blocks"][0]["services"]["cassandra"];
    assert!(node["cpu_s"].as_f64().unwrap() > 0.0, "{node}");
}

#[test]
fn a_node_that_cannot_run_here_reports_a_remedy() {
    // Method: on PATH, fakes precede the programs by which the script finds Java and free memory.
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
    // Method: SIGINT as soon as the node's process exists, which is long before it is ready; and
    // once a server of pages that query it runs.
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
    // Method: the extension's own tests against a node, which is replaced when they request it.
    // Every line that they print reports a check that passed.
    CLIENTS.expect_measured(&CLIENTS.json());
    let build = build();
    let version = Version::with_thrift(&build);
    let extension = build.join("modules/kassandra.so");
    run_extension_tests("kassandra", &extension, &version, 20_000);
}

#[test]
#[ignore = "needs an extension that takes minutes to build, and Cassandra 5.0: make cql"]
fn the_native_client_over_cql_reports_errors_in_both_versions() {
    // Method: as above, against a node of each version.
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
        run_extension_tests("cql", &extension, &version, 100_000);
    }
}

/// Runs the tests of the extension of this name.
fn run_extension_tests(name: &str, extension: &Path, version: &Version, calls: u32) {
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
    let mut stdin = tests.stdin.take().unwrap();
    let mut lines = Vec::new();
    for line in BufReader::new(tests.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if line == "restart" {
            node.restart();
            writeln!(stdin, "done").unwrap();
        }
        lines.push(line);
    }
    assert!(tests.wait().unwrap().success(), "{lines:#?}");
    assert_eq!(lines.last().unwrap(), "done", "{lines:#?}");
    let passed = lines.iter().filter(|line| line.starts_with("ok: ")).count();
    assert_eq!(passed, lines.len() - 2, "{lines:#?}");
    drop(node);
    home.wait_until_empty();
}

/// The cached build of the study's extension from the present sources.
fn build() -> PathBuf {
    let sources = fs::read_dir(study("clients/kassandra")).unwrap().flatten();
    let mut sources: Vec<PathBuf> = sources.map(|file| file.path()).collect();
    sources.push(study("clients/cassandra.thrift"));
    let has_copy = |folder: &Path, source: &PathBuf| {
        let copy = fs::read(folder.join(source.file_name().unwrap()));
        copy.is_ok_and(|copy| copy == fs::read(source).unwrap())
    };
    cached(|folder| {
        let is_built = folder.join("modules/kassandra.so").exists();
        is_built && sources.iter().all(|source| has_copy(folder, source))
    })
}

/// The cached folder that this predicate accepts.
fn cached(accepts: impl Fn(&Path) -> bool) -> PathBuf {
    let mut folders = fs::read_dir(cache().join("abx")).unwrap().flatten();
    let folder = folders.find(|folder| accepts(&folder.path()));
    folder.expect("the study was run").path()
}

/// A version of Cassandra, with the files that its nodes need.
struct Version {
    /// The folder of its study.
    folder: PathBuf,
    jars: PathBuf,
    /// The interpreter and the script that fill a node.
    seed: [PathBuf; 2],
    /// The build with the client by which `seed` fills a node, if it needs one.
    build: Option<PathBuf>,
}

impl Version {
    /// Cassandra 3.11; the interpreted client is in `build`.
    fn with_thrift(build: &Path) -> Version {
        Version {
            folder: study(""),
            jars: cached(|folder| folder.join("jars/cassandra-all-3.11.19.jar").exists()),
            seed: ["php".into(), study("cassandra/seed.php")],
            build: Some(build.to_owned()),
        }
    }

    /// Cassandra 5.0, whose study must be installed.
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

/// A node of a study that the test starts and stops without abx.
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

    /// The node's main port, or its extra port for CQL.
    fn port_for(&self, extension: &str) -> u16 {
        let is_extra = extension == "cql" && self.version.build.is_some();
        self.ports[if is_extra { 3 } else { 0 }].number()
    }

    /// Kills the node and starts a new one with the same ports and data.
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

/// Starts a node in a new folder, with the study's template filled in as abx does.
fn start(home: &Home, version: &Version, ports: &[FreePort], number: usize) -> Child {
    let folder = home.join(&format!("node-{number}"));
    fs::create_dir(&folder).unwrap();
    let template = version.folder.join("cassandra/cassandra.yaml.in");
    let mut text = fs::read_to_string(template).unwrap();
    text = text.replace("{dir}", &folder.display().to_string());
    let placeholders = ["{port}", "{port.storage}", "{port.ssl}", "{port.cql}"];
    for (placeholder, port) in placeholders.iter().zip(ports) {
        text = text.replace(placeholder, &port.number().to_string());
    }
    fs::write(folder.join("cassandra.yaml"), text).unwrap();
    let mut command = Command::new(version.folder.join("cassandra/start"));
    home.settle(&mut command);
    command
        .arg(&folder)
        .env("CLASSPATH", version.jars.join("jars/*"))
        .env("JDK_JAVA_OPTIONS", QUICK_JAVA)
        .stdout(Stdio::null())
        .stderr(File::create(home.join("node.log")).unwrap())
        .spawn()
        .unwrap()
}
