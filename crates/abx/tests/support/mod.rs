//! Starts `abx` as a user would, in a folder of its own, and checks whether it leaves anything
//! behind.
//!
//! Every process that abx starts inherits a marker and a working folder, so the processes that are
//! left of one test can be distinguished from all others.

mod columns;
pub mod transcript;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use abx_sys::Nanos;
use abx_sys::process::{Process, Signal, process_cpu};
use serde_json::Value;
use tempfile::TempDir;

pub use columns::{only_slice, readings, response, slices};

/// The program under test.
pub const ABX: &str = env!("CARGO_BIN_EXE_abx");
/// How long anything here may take: far more than it ever needs, even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(600);
/// CPU time that only a server under load uses: a few requests take less.
const LOADED: Nanos = Nanos(50_000_000);
const MARKER: &str = "ABX_TEST_FOLDER";
/// Options for Java programs that run for a minute: the compiler for longer ones only takes CPU time.
pub const QUICK_JAVA: &str = "-XX:TieredStopAtLevel=1";

/// Waits until `result` returns something.
pub fn wait_for<T>(what: &str, mut result: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    let mut pause = Pause::default();
    loop {
        if let Some(outcome) = result() {
            return outcome;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        pause.sleep();
    }
}

/// The time between two looks. It grows, since most looks read all of /proc.
struct Pause(Duration);

impl Default for Pause {
    fn default() -> Pause {
        Pause(Duration::from_millis(2))
    }
}

impl Pause {
    fn sleep(&mut self) {
        sleep(self.0);
        self.0 = (self.0 * 3 / 2).min(Duration::from_millis(20));
    }
}

/// Tries up to five times to see a planted fault. On a busy machine something else may hide it for
/// once; if a defect hides it, it is never seen.
#[track_caller]
pub fn in_five_looks<T>(mut look: impl FnMut() -> Result<T, String>) -> T {
    let mut unseen = Vec::new();
    while unseen.len() < 5 {
        match look() {
            Ok(seen) => return seen,
            Err(why) => unseen.push(why),
        }
    }
    panic!("not seen in five looks: {unseen:#?}");
}

/// Where `scripts/install-test-servers` puts the packages of npm and pypi.
pub fn peers(path: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../target/test-peers")
        .join(path);
    assert!(
        path.exists(),
        "{} is missing: run scripts/install-test-servers",
        path.display()
    );
    path
}

/// The cache of all tests that install or build, so that each is done once.
pub fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

/// A folder in which abx runs, with its records and temporary files below it.
pub struct Home {
    folder: TempDir,
}

impl Home {
    /// An empty folder. Other users may read it, because some servers drop their privileges.
    pub fn new() -> Home {
        let folder = tempfile::Builder::new()
            .prefix("abx-test-")
            .tempdir()
            .unwrap();
        for name in ["", "state", "tmp"] {
            let path = folder.path().join(name);
            fs::create_dir_all(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Home { folder }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A path in the folder.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file into the folder and returns its path.
    pub fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.join(name), text).unwrap();
        self.join(name).display().to_string()
    }

    /// `abx` with these arguments, in this folder.
    pub fn abx(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(ABX);
        command.args(arguments);
        self.settle(&mut command);
        command
    }

    /// A shell that becomes `abx "$@"` after `before`.
    pub fn abx_after(&self, before: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("{before}\nexec \"$@\""), "sh", ABX])
            .args(arguments);
        self.settle(&mut command);
        command
    }

    /// Like [`Home::abx_after`], in namespaces that `unshare` creates with `flags`.
    pub fn abx_apart(&self, flags: &str, before: &str, arguments: &[&str]) -> Command {
        let mut command = self.shell_apart(flags, &format!("{before}\nexec \"$@\""));
        command.args(["sh", ABX]).args(arguments);
        command
    }

    /// A shell in its own namespaces that runs this script and searches `bin` of this folder first
    /// for programs.
    pub fn shell_apart(&self, flags: &str, script: &str) -> Command {
        // Only root can do without a user namespace.
        let is_root = fs::metadata("/proc/self").is_ok_and(|metadata| {
            use std::os::unix::fs::MetadataExt;
            metadata.uid() == 0
        });
        let flags = if is_root {
            format!("-{flags}")
        } else {
            format!("-r{flags}")
        };
        let mut command = Command::new("unshare");
        command.arg(flags).args(["sh", "-ec", script]);
        self.settle(&mut command);
        let usual = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{usual}", self.join("bin").display()));
        command
    }

    /// Makes a command run in this folder, and save everything below it.
    pub fn settle(&self, command: &mut Command) {
        command
            .current_dir(self.path())
            .env(MARKER, self.path())
            .env("HOME", self.path())
            .env("XDG_STATE_HOME", self.join("state"))
            .env("TMPDIR", self.join("tmp"))
            .env("ABX_TRUST", "/")
            .env("LC_ALL", "C.UTF-8")
            .env_remove("COLUMNS")
            .stdin(Stdio::null());
    }

    /// Runs a command to its end, and checks that nothing is left behind.
    pub fn run(&self, command: &mut Command) -> Ended {
        self.start(command).wait()
    }

    /// Runs `abx` with these arguments to its end.
    pub fn run_abx(&self, arguments: &[&str]) -> Ended {
        self.run(&mut self.abx(arguments))
    }

    /// Starts a command; its output goes into files.
    pub fn start(&self, command: &mut Command) -> Running<'_> {
        let [stdout, stderr] = ["stdout", "stderr"].map(|name| self.join(name));
        let child = command
            .stdout(File::create(&stdout).unwrap())
            .stderr(File::create(&stderr).unwrap())
            .spawn()
            .unwrap();
        Running {
            home: self,
            child,
            stdout,
            stderr,
        }
    }

    /// Runs `abx` with these arguments and [`cache`] to its end. npm, pip and Maven use the copies
    /// that `scripts/install-test-servers` saved; npm and pip use nothing else.
    pub fn run_with_cache(&self, arguments: &[&str]) -> Ended {
        self.run(
            self.abx(arguments)
                .env("XDG_CACHE_HOME", cache())
                .env("npm_config_cache", peers("npm"))
                .env("JDK_JAVA_OPTIONS", QUICK_JAVA)
                .env("npm_config_offline", "true")
                .env("PIP_NO_INDEX", "1")
                .env("PIP_FIND_LINKS", peers("wheels"))
                .env(
                    "MAVEN_OPTS",
                    format!("-Dmaven.repo.local={}", peers("maven").display()),
                ),
        )
    }

    /// The records in a folder below this one.
    pub fn records_in(&self, folder: &str) -> Vec<PathBuf> {
        let files = fs::read_dir(self.join(folder)).into_iter().flatten();
        files
            .flatten()
            .map(|file| file.path())
            .filter(|path| path.extension().is_some_and(|last| last == "json"))
            .collect()
    }

    /// The path of the only record in the state folder.
    pub fn record_path(&self) -> PathBuf {
        let records = self.records_in("state/abx");
        assert_eq!(records.len(), 1, "one record: {records:?}");
        records[0].clone()
    }

    /// The file of the record in the state folder with this id.
    pub fn record_of(&self, id: &str) -> PathBuf {
        abx_lab::history::find(id, &self.join("state/abx")).unwrap()
    }

    /// The only record in the state folder.
    pub fn record(&self) -> Value {
        read_json(&self.record_path())
    }

    /// Running processes that abx started here, each with its command line.
    pub fn processes(&self) -> Vec<(u32, String)> {
        let marker = format!("{MARKER}={}\0", self.path().display());
        let numbers = fs::read_dir("/proc").unwrap().flatten();
        numbers
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|pid: &u32| *pid != std::process::id())
            .filter(|pid| {
                let proc = PathBuf::from(format!("/proc/{pid}"));
                let environment = fs::read(proc.join("environ")).unwrap_or_default();
                let is_marked = String::from_utf8_lossy(&environment).contains(&marker);
                // Some servers overwrite their environment with their title.
                let folder = fs::read_link(proc.join("cwd"));
                is_marked || folder.is_ok_and(|folder| folder.starts_with(self.path()))
            })
            .map(|pid| {
                let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                (pid, String::from_utf8_lossy(&words).replace('\0', " "))
            })
            .collect()
    }

    /// Folders in the folder for temporary files.
    pub fn scratch(&self) -> Vec<String> {
        let entries = fs::read_dir(self.join("tmp")).unwrap().flatten();
        let folders = entries
            .map(|entry| entry.path())
            .filter(|path| path.is_dir());
        folders.map(|path| path.display().to_string()).collect()
    }

    /// Waits until no process of abx runs here any more; names those that never end.
    #[track_caller]
    pub fn wait_until_empty(&self) {
        let deadline = Instant::now() + DEADLINE;
        let mut pause = Pause::default();
        while !self.processes().is_empty() {
            let is_in_time = Instant::now() < deadline;
            assert!(is_in_time, "goes on: {:?}", self.described_processes());
            pause.sleep();
        }
    }

    /// Each process with its name, parent and state.
    fn described_processes(&self) -> Vec<String> {
        let described = self.processes().into_iter().map(|(pid, line)| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
            let stat: String = stat.unwrap_or_default().chars().take(40).collect();
            format!("{stat} {line}")
        });
        described.collect()
    }
}

/// Reads a JSON file.
pub fn read_json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// A running command, which is killed on drop.
pub struct Running<'a> {
    home: &'a Home,
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl<'a> Running<'a> {
    /// Where it runs.
    pub fn home(&self) -> &'a Home {
        self.home
    }

    /// Sends a signal to the command itself.
    pub fn signal(&self, signal: Signal) {
        send(self.child.id(), signal);
    }

    /// Its process number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits until the first block is complete and a server whose command line contains `word` is
    /// under load; returns the server's process.
    pub fn in_a_block(&mut self, word: &str) -> u32 {
        self.until("a complete block", |home| {
            let text = fs::read_to_string(home.records_in("state/abx").first()?).ok()?;
            let record: Value = serde_json::from_str(&text).ok()?;
            let first = record["blocks"].get(0)?;
            (first["complete"] == true).then_some(())
        });
        self.until("a loaded server", |home| loaded_server(home, word))
    }

    /// Waits for something that happens while the command runs.
    pub fn until<T>(&mut self, what: &str, mut result: impl FnMut(&Home) -> Option<T>) -> T {
        wait_for(what, || {
            let outcome = result(self.home);
            if outcome.is_none() {
                let ended = self.child.try_wait().unwrap();
                let message = fs::read_to_string(&self.stderr).unwrap_or_default();
                assert!(ended.is_none(), "ended before {what}: {message}");
            }
            outcome
        })
    }

    /// Waits for the end, and checks that neither a process nor a temporary folder is left behind.
    pub fn wait(self) -> Ended {
        let home = self.home;
        let ended = self.wait_alone();
        assert_eq!(home.processes(), [], "left behind; {ended:?}");
        assert_eq!(home.scratch(), [""; 0], "left behind");
        ended
    }

    /// Waits for the end, even if something is left behind.
    pub fn wait_alone(mut self) -> Ended {
        let status = wait_for("the end of the command", || self.child.try_wait().unwrap());
        Ended {
            status,
            stdout: fs::read_to_string(&self.stdout).unwrap(),
            stderr: fs::read_to_string(&self.stderr).unwrap(),
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // The keepers end their processes.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a command line is that of the built-in server, and does not only name it.
pub fn is_server(line: &str) -> bool {
    line.starts_with(&format!("{ABX} serve --port"))
}

/// A built-in server that has been under load and whose command line contains `word`.
pub fn loaded_server(home: &Home, word: &str) -> Option<u32> {
    let mut processes = home.processes().into_iter();
    let loaded = processes.find(|(pid, line)| {
        is_server(line) && line.contains(word) && process_cpu(*pid).is_some_and(|cpu| cpu >= LOADED)
    });
    loaded.map(|(pid, _)| pid)
}

/// Sends a signal to a process that this test or its abx started.
pub fn send(pid: u32, signal: Signal) {
    let process = Process::find(pid).unwrap().expect("it runs");
    assert!(process.signal(signal).unwrap(), "it has ended");
}

/// A command that has ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// Asserts the exit code, and that standard error contains all of these texts.
    #[track_caller]
    pub fn expect(&self, code: i32, texts: &[&str]) -> &Ended {
        assert_eq!(self.status.code(), Some(code), "{self:#?}");
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        for part in texts {
            assert!(self.stderr.contains(part), "`{part}` is missing: {self:#?}");
        }
        self
    }

    /// Asserts that a study ran to its end, with the exit code of its verdicts: on a busy machine
    /// short slices may be judged invalid.
    #[track_caller]
    pub fn expect_measured(&self, record: &Value) -> &Ended {
        let comparisons = record["comparisons"].as_array().unwrap().iter();
        let mut primary = comparisons.filter(|comparison| comparison["role"] == "primary");
        let is_invalid = primary.any(|value| value["verdict"] == "invalid");
        assert_eq!(record["end"]["reason"], "blocks", "{self:#?}");
        // A result other than the primary one may be invalid alone.
        assert!(!is_invalid || record["validity"]["status"] == "invalid");
        self.expect(if is_invalid { 3 } else { 0 }, &[])
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// An `abx serve` that the test itself starts and ends.
pub struct Server {
    child: Child,
    pub url: String,
}

impl Server {
    /// Starts one on a port that the kernel chooses.
    pub fn start(arguments: &[&str]) -> Server {
        Server::start_on("0", arguments)
    }

    /// Starts one on this port.
    pub fn start_on(port: &str, arguments: &[&str]) -> Server {
        Server::start_where(["--port", port], arguments)
    }

    /// Starts one on this Unix socket.
    pub fn start_at(socket: &Path, arguments: &[&str]) -> Server {
        let socket = format!("unix:{}", socket.display());
        Server::start_where(["--listen", &socket], arguments)
    }

    fn start_where(place: [&str; 2], arguments: &[&str]) -> Server {
        let mut child = Command::new(ABX)
            .arg("serve")
            .args(place)
            .args(arguments)
            .current_dir("/")
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stderr = child.stderr.take().unwrap();
        BufReader::new(stderr).read_line(&mut line).unwrap();
        let url = line.trim().rsplit(' ').next().unwrap().to_owned();
        assert!(url.starts_with("http"), "{line}");
        Server { child, url }
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its port.
    pub fn port(&self) -> &str {
        let url = self.url.trim_end_matches('/');
        url.rsplit(':').next().unwrap()
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits until the server is under load.
    pub fn wait_until_loaded(&self) {
        wait_for("load", || {
            process_cpu(self.id()).filter(|cpu| *cpu >= LOADED)
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A subject that is the built-in server with further arguments.
pub fn subject(name: &str, words: &str) -> String {
    format!("{name}='{ABX}' serve --port {{port}} {words}")
}

/// The findings of this name in a record with or without `validity`.
pub fn findings(record: &Value, id: &str) -> Vec<Value> {
    let validity = record["validity"]["findings"].as_array();
    let values = record["findings"].as_array();
    let findings = validity.or(values).expect("a record has findings");
    findings
        .iter()
        .filter(|finding| finding["id"] == id)
        .cloned()
        .collect()
}

/// The outcomes of all counted requests of one subject: name and number.
pub fn outcomes(record: &Value, subject: &str) -> Vec<(String, u64)> {
    let mut sums = std::collections::BTreeMap::new();
    for slice in slices(record, subject) {
        for (name, count) in slice["outcomes"].as_object().unwrap() {
            *sums.entry(name.clone()).or_default() += count.as_u64().unwrap();
        }
    }
    sums.into_iter().collect()
}

/// Asserts that every attempt has one outcome, and that only verified responses count as ok.
pub fn assert_honest(counted: &Value) {
    let number = |key: &str| counted[key].as_u64().unwrap();
    let outcomes = counted["outcomes"].as_object().unwrap();
    let count = |name: &str| {
        outcomes
            .get(name)
            .map_or(0, |count| count.as_u64().unwrap())
    };
    let sum: u64 = outcomes.keys().map(|name| count(name)).sum();
    let complete = ["ok", "wrong_status", "wrong_length", "wrong_body"];
    assert_eq!(number("sent"), sum);
    assert_eq!(number("ok"), count("ok"));
    let completed: u64 = complete.iter().map(|name| count(name)).sum();
    assert_eq!(number("completed"), completed);
}
