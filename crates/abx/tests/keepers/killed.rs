//! Kills of abx, its guardians and its keepers. No process, port or temporary folder stays, as long
//! as one of these three kinds is left to clean up.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::time::Duration;

use abx_sys::process::{Process, Signal};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::support::{ABX, Home, Running, wait_for};

/// nginx with workers, nginx with php-fpm as a daemon, and a server that forks twice and leads its
/// own session.
const STUDY: &str = r#"
schema = "abx.study_file/1"
wait = "asleep"
[[subject]]
name = "nginx"
templates = { "n.conf" = "n.conf.in" }
command = ["nginx", "-e", "stderr", "-p", "{dir}", "-c", "{dir}/n.conf"]
[[subject]]
name = "fpm"
templates = { "n.conf" = "n.conf.in", "fpm.conf" = "fpm.conf.in" }
command = ["{study}/start-fpm", "{dir}"]
[[subject]]
name = "twice"
command = ["sh", "-c", "(setsid ABX serve --port {port} &)"]
[[load]]
name = "page"
connections = 4
rate = 200
requests = [{ path = "/" }]
expect = { body = "any" }
"#;

const NGINX: &str = "daemon off; worker_processes 2; pid {dir}/pid; events {} http { \
    client_body_temp_path {dir}/a; proxy_temp_path {dir}/b; fastcgi_temp_path {dir}/c; \
    uwsgi_temp_path {dir}/d; scgi_temp_path {dir}/e; access_log off; \
    server { listen 127.0.0.1:{port}; location / { return 200 'x'; } } }";

const FPM: &str = "[global]\ndaemonize = yes\nerror_log = /dev/stderr\n[www]\n\
    listen = {dir}/php.sock\nuser = root\ngroup = root\npm = static\npm.max_children = 2\n";

const START_FPM: &str = r#"#!/bin/sh
set -eu
fpm=$(ls /usr/sbin/php-fpm* | sort -V | tail -n 1)
as_root=""
[ "$(id -u)" -ne 0 ] || as_root=--allow-to-run-as-root
"$fpm" $as_root --fpm-config "$1/fpm.conf"
exec nginx -e stderr -p "$1" -c "$1/n.conf"
"#;

/// The kinds of processes to kill. At least one kind is always left.
const WAYS: [&[&str]; 6] = [
    &["abx"],
    &["guardian"],
    &["keeper"],
    &["abx", "keeper"],
    &["abx", "guardian"],
    &["guardian", "keeper"],
];

#[test]
fn no_process_port_or_folder_outlives_a_kill() {
    // Method: a study of servers with daemons and workers. At a random moment, between the start of
    // the first subject and the first blocks, SIGKILL for all processes of one or two kinds, one by
    // one and in random order. Then everything must be gone.
    for (seed, way) in (0..).zip(WAYS.iter().cycle().take(2 * WAYS.len())) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let home = Home::new();
        write_study(&home);
        let compare = [
            "compare",
            "study.toml",
            "--blocks",
            "1000",
            "--slice",
            "20ms",
            "--pilot",
            "brief",
        ];
        let mut running = home.start(&mut home.abx(&compare));
        running.until("a keeper", |home| {
            (!of_kind(home, "keeper").is_empty()).then_some(())
        });
        std::thread::sleep(Duration::from_millis(random.random_range(0..3_000)));
        let ports = kill(&mut running, &home, way, &mut random);
        running.wait_alone();
        home.wait_until_empty();
        wait_for(&format!("an empty folder (seed {seed}, {way:?})"), || {
            home.scratch().is_empty().then_some(())
        });
        for port in ports {
            let listener = TcpListener::bind(("127.0.0.1", port));
            assert!(
                listener.is_ok(),
                "seed {seed}, {way:?}: port {port} is held"
            );
        }
    }
}

#[test]
fn temporary_files_of_a_subject_are_removed_with_its_folder() {
    // Method: a subject creates a temporary file and never removes it, with its usual `TMPDIR` and
    // with one that the study sets. It logs `TMPDIR` and its folder.
    for (setting, expected) in [
        ("", "{dir}"),
        ("env = { TMPDIR = \"/dev/shm\" }", "/dev/shm"),
    ] {
        let home = Home::new();
        let script = format!(
            "#!/bin/sh\necho \"$TMPDIR $2\" >{}\n\
             [ \"$TMPDIR\" = /dev/shm ] || mktemp >/dev/null\n\
             exec {ABX} serve --port \"$1\"\n",
            home.join("seen").display()
        );
        let server = home.write("server", &script);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&server, mode).unwrap();
        let study = study_of(&format!(r#"["{server}", "{{port}}", "{{dir}}"]"#), setting);
        home.write("study.toml", &study);
        home.run_abx(&["study", "check", "study.toml"])
            .expect(0, &[]);
        let seen = fs::read_to_string(home.join("seen")).unwrap();
        let (temporary, folder) = seen.trim().split_once(' ').unwrap();
        assert_eq!(temporary, expected.replace("{dir}", folder));
        assert!(home.scratch().is_empty(), "{:?}", home.scratch());
    }
}

#[test]
fn a_later_run_cleans_up_after_everything_was_killed_at_once() {
    // Method: SIGKILL for abx, its guardian and its keeper. A process that has left the session of
    // its command continues, and its folder stays. The next run ends it and removes the folder.
    let home = Home::new();
    let study = study_of(&format!(r#"["{ABX}", "serve", "--port", "{{port}}"]"#), "");
    // The subject never listens, so the check waits for it.
    home.write(
        "study.toml",
        &study_of(r#"["sh", "-c", "(setsid sleep 1000 &) # {port}"]"#, ""),
    );
    let mut running = home.start(&mut home.abx(&["study", "check", "study.toml"]));
    running.until("a server", |home| {
        let processes = home.processes();
        processes
            .iter()
            .any(|(_, line)| line.starts_with("sleep"))
            .then_some(())
    });
    kill_all(&mut running, &home, &["abx", "guardian", "keeper"], 1);
    running.wait_alone();
    wait_for("the server alone", || {
        (home.processes().len() == 1).then_some(())
    });
    assert_eq!(home.scratch().len(), 1, "{:?}", home.scratch());
    home.write("study.toml", &study);
    home.run_abx(&["study", "check", "study.toml"])
        .expect(0, &[]);
    assert!(home.scratch().is_empty(), "{:?}", home.scratch());
}

/// A study of one subject with this command.
fn study_of(command: &str, more: &str) -> String {
    format!(
        "schema = \"abx.study_file/1\"\n[[subject]]\nname = \"one\"\ncommand = {command}\n{more}\n\
         [[load]]\nname = \"page\"\nconnections = 1\nrequests = [{{ path = \"/\" }}]\n"
    )
}

#[test]
fn a_blog_is_served_without_a_folder_for_temporary_files() {
    // Method: `TMPDIR` names no folder, so nothing can be left there however the server ends.
    let home = Home::new();
    let serve = ["serve", "--port", "0", "--workers", "2", "--blog"];
    let missing = home.join("missing");
    let mut running = home.start(home.abx(&serve).env("TMPDIR", missing));
    running.until("an address", |home| {
        let printed = fs::read_to_string(home.join("stderr")).unwrap_or_default();
        printed.contains("http://").then_some(())
    });
    let process = Process::find(running.id()).unwrap().unwrap();
    process.signal(Signal::Term).unwrap();
    running.wait_alone();
    home.wait_until_empty();
}

pub fn write_study(home: &Home) {
    home.write("study.toml", &STUDY.replace("ABX", ABX));
    home.write("n.conf.in", NGINX);
    home.write("fpm.conf.in", FPM);
    let script = home.write("start-fpm", START_FPM);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(script, mode).unwrap();
}

/// Kills all processes of these kinds as [`kill`] does, in an order drawn from a seed.
pub fn kill_all(running: &mut Running, home: &Home, kinds: &[&str], seed: u64) {
    kill(running, home, kinds, &mut ChaCha8Rng::seed_from_u64(seed));
}

/// Kills all processes of these kinds, and those that abx starts later, until abx has ended.
/// Between two blocks there are none to kill. Returns the ports that were in use.
pub fn kill(
    running: &mut Running,
    home: &Home,
    kinds: &[&str],
    random: &mut ChaCha8Rng,
) -> BTreeSet<u16> {
    let mut ports = BTreeSet::new();
    wait_for("the end of abx", || {
        ports.extend(home.scratch().iter().filter_map(|folder| port(folder)));
        let mut processes: Vec<u32> = kinds
            .iter()
            .flat_map(|kind| match *kind {
                "abx" => vec![running.id()],
                kind => of_kind(home, kind),
            })
            .collect();
        while !processes.is_empty() {
            let pid = processes.swap_remove(random.random_range(0..processes.len()));
            if let Some(process) = Process::find(pid).unwrap() {
                process.signal(Signal::Kill).unwrap();
            }
        }
        running.has_ended().then_some(())
    });
    ports
}

/// Processes of this name that an abx of this folder started.
pub fn of_kind(home: &Home, name: &str) -> Vec<u32> {
    let processes = home.processes().into_iter().map(|(pid, _)| pid);
    let is_called = |pid: &u32| {
        let process = Process::find(*pid).unwrap();
        process.and_then(Process::name).as_deref() == Some(name)
    };
    processes.filter(is_called).collect()
}

/// The port of a subject, which the name of its folder ends in.
fn port(folder: &str) -> Option<u16> {
    folder.rsplit('-').next()?.parse().ok()
}
