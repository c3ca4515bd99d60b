//! The keeper with real processes.
//!
//! This program is its own keeper. With the argument `keeper` it keeps a command, and with `abx` it
//! plays an abx that will be killed. Otherwise it runs the cases below, or those that its arguments
//! name. That needs its own `main`.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use abx_lab::keeper::{
    EndManner, FileContent, Keeper, KeeperError, KeeperPlan, KeptContainer, ProcessState,
    SCRATCH_EMPTY, ScratchFile, Stop, keep,
};
use abx_sys::limits::{DescriptorLimit, descriptor_limit};
use abx_sys::process::{Exit, Process, ProcessStat, Signal};
use abx_sys::tree::descendants;
use abx_sys::{Nanos, ProcTree, cpus};
use tempfile::TempDir;

const CASES: &[(&str, fn())] = &[
    ("a_missing_command_is_named", a_missing_command_is_named),
    (
        "a_command_without_permission_is_named",
        a_command_without_permission_is_named,
    ),
    (
        "a_missing_folder_cpu_or_keeper_is_named",
        a_missing_folder_cpu_or_keeper_is_named,
    ),
    (
        "an_exit_at_start_shows_code_and_output",
        an_exit_at_start_shows_code_and_output,
    ),
    (
        "a_failed_command_leaves_no_children",
        a_failed_command_leaves_no_children,
    ),
    (
        "a_command_that_ignores_the_stop_signal_is_killed",
        a_command_that_ignores_the_stop_signal_is_killed,
    ),
    (
        "a_suspended_process_ends_on_a_stop_signal",
        a_suspended_process_ends_on_a_stop_signal,
    ),
    (
        "a_family_may_outlive_its_command",
        a_family_may_outlive_its_command,
    ),
    ("a_daemon_is_kept_and_stopped", a_daemon_is_kept_and_stopped),
    (
        "the_end_of_a_daemon_is_reported",
        the_end_of_a_daemon_is_reported,
    ),
    (
        "grandchildren_get_the_stop_signal_too",
        grandchildren_get_the_stop_signal_too,
    ),
    (
        "the_making_of_files_can_be_stopped",
        the_making_of_files_can_be_stopped,
    ),
    (
        "dropping_the_handle_stops_the_command",
        dropping_the_handle_stops_the_command,
    ),
    ("a_killed_abx_leaves_nothing", a_killed_abx_leaves_nothing),
    (
        "a_terminated_keeper_leaves_nothing",
        a_terminated_keeper_leaves_nothing,
    ),
    ("a_killed_keeper_is_noticed", a_killed_keeper_is_noticed),
    (
        "any_two_can_be_killed_and_nothing_is_left",
        any_two_can_be_killed_and_nothing_is_left,
    ),
    (
        "a_keeper_with_invalid_reports_is_killed_with_its_family",
        a_keeper_with_invalid_reports_is_killed_with_its_family,
    ),
    (
        "the_command_runs_in_the_planned_environment",
        the_command_runs_in_the_planned_environment,
    ),
    (
        "the_cpu_of_a_tree_counts_living_and_reaped_processes",
        the_cpu_of_a_tree_counts_living_and_reaped_processes,
    ),
    ("a_keeper_sleeps", a_keeper_sleeps),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("keeper") => return keep(),
        Some("abx") => return play_abx(&arguments[1]),
        _ => {}
    }
    let is_selected = |name: &str| {
        let mut names = arguments.iter().filter(|word| !word.starts_with('-'));
        names.clone().next().is_none() || names.any(|word| name.contains(word.as_str()))
    };
    let mut failed = 0;
    for (name, case) in CASES.iter().filter(|(name, _)| is_selected(name)) {
        let outcome = catch_unwind(AssertUnwindSafe(case));
        failed += usize::from(outcome.is_err());
        let word = if outcome.is_ok() { "ok" } else { "FAILED" };
        let _ = writeln!(std::io::stdout(), "test {name} ... {word}");
    }
    let _ = writeln!(std::io::stdout(), "\n{failed} of the keeper's cases failed");
    ExitCode::from(u8::from(failed > 0))
}

/// Starts a keeper, prints its number, and waits for the end of the command.
fn play_abx(plan: &str) -> ExitCode {
    let mut keeper = start(&serde_json::from_str(plan).unwrap()).unwrap();
    let _ = writeln!(std::io::stdout(), "{}", keeper.process_id());
    while keeper.state() == ProcessState::Running {
        std::thread::sleep(Duration::from_millis(2));
    }
    let _ = keeper.stop();
    ExitCode::SUCCESS
}

/// Starts this program to play an abx that keeps a command. Also returns the number of its keeper.
fn another_abx(plan: &KeeperPlan) -> (Child, u32) {
    let mut abx = Command::new(std::env::current_exe().unwrap())
        .args(["abx", &serde_json::to_string(plan).unwrap()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut reader = BufReader::new(abx.stdout.take().unwrap());
    reader.read_line(&mut line).unwrap();
    (abx, line.trim().parse().unwrap())
}

fn start(plan: &KeeperPlan) -> Result<Keeper, KeeperError> {
    Keeper::start(
        &std::env::current_exe().unwrap(),
        &["keeper"],
        plan,
        &|| false,
        &|_| {},
    )
}

fn plan(directory: &Path, command: &[&str]) -> KeeperPlan {
    KeeperPlan {
        program: command[0].to_owned(),
        arguments: command[1..].iter().map(|word| (*word).to_owned()).collect(),
        directory: directory.to_owned(),
        environment: BTreeMap::new(),
        cpus: None,
        descriptors: None,
        log: directory.join("log"),
        scratch: None,
        files: Vec::new(),
        outlives_main: false,
        stop: Stop {
            signal: Signal::Term,
            within: Duration::from_secs(60),
        },
        container: None,
    }
}

/// A container of an engine that only writes its commands into `calls`, and has nothing to stop.
fn container(directory: &Path) -> KeptContainer {
    let write = r#"
printf '#!/bin/sh\necho "$@" >>%s/calls\n[ "$1" != stop ]\n' "$1" >"$1/engine"
chmod 755 "$1/engine"
"#;
    let mut shell = Command::new("sh");
    let status = shell.args(["-ec", write, "sh"]).arg(directory).status();
    assert!(status.unwrap().success());
    KeptContainer {
        engine: directory.join("engine").display().to_string(),
        name: "abx-1".to_owned(),
    }
}

fn script(directory: &TempDir, text: &str) -> KeeperPlan {
    plan(directory.path(), &["sh", "-c", text])
}

fn folder() -> TempDir {
    TempDir::new().unwrap()
}

fn within_a_minute(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The living processes below a keeper, once there are `count` and the last one runs `program`.
fn family(keeper: u32, count: usize, program: &str) -> Vec<Process> {
    let mut processes = Vec::new();
    within_a_minute(
        &format!("{count} processes, the last one {program}"),
        || {
            processes = descendants(keeper)
                .unwrap()
                .iter()
                .map(|relative| relative.process)
                .filter(|process| process.is_alive())
                .collect();
            let last = processes.last().map_or(0, |process| process.pid);
            let name = std::fs::read_to_string(format!("/proc/{last}/comm")).unwrap_or_default();
            processes.len() == count && name.trim() == program
        },
    );
    processes
}

fn assert_gone(processes: &[Process]) {
    for process in processes {
        assert!(!process.is_alive(), "process {} still runs", process.pid);
    }
}

fn all_gone(processes: &[Process]) -> bool {
    processes.iter().all(|process| !process.is_alive())
}

fn wait_for_exit(keeper: &mut Keeper) -> Exit {
    let mut exit = None;
    within_a_minute("the command ends", || match keeper.state() {
        ProcessState::Running => false,
        ProcessState::Exited(how) => exit.replace(how).is_none(),
        ProcessState::Lost => panic!("the keeper is lost"),
    });
    exit.unwrap()
}

fn a_missing_command_is_named() {
    // Method: a name that no machine has, by PATH and by its full path.
    let directory = folder();
    for command in ["abx-no-such-server", "/nonexistent/server"] {
        let error = start(&plan(directory.path(), &[command])).unwrap_err();
        assert!(
            matches!(&error, KeeperError::CommandNotFound { command: named } if named == command)
        );
        assert!(error.to_string().contains(command));
    }
}

fn a_command_without_permission_is_named() {
    // Method: a script that is not marked executable.
    let directory = folder();
    std::fs::write(directory.path().join("server"), "#!/bin/sh\n").unwrap();
    let error = start(&plan(directory.path(), &["./server"])).unwrap_err();
    assert!(matches!(error, KeeperError::PermissionDenied { command } if command == "./server"));
}

fn a_missing_folder_cpu_or_keeper_is_named() {
    // Method: a missing directory, a missing log folder, a missing CPU, a keeper that is another
    // program, and a missing keeper.
    let directory = folder();
    let absent = directory.path().join("absent");
    let good = plan(directory.path(), &["true"]);
    type Change = fn(&mut KeeperPlan, &Path);
    let changes: [(&str, Change); 3] = [
        ("absent", |plan, path| path.clone_into(&mut plan.directory)),
        ("absent/log", |plan, path| plan.log = path.join("log")),
        ("[1023]", |plan, _| plan.cpus = Some(vec![1023])),
    ];
    for (named, change) in changes {
        let mut bad = good.clone();
        change(&mut bad, &absent);
        let error = start(&bad).unwrap_err();
        assert!(
            matches!(error, KeeperError::CannotStart { .. }),
            "{error:?}"
        );
        assert!(error.to_string().contains(named), "{error}");
    }
    let error = Keeper::start(Path::new("true"), &[], &good, &|| false, &|_| {}).unwrap_err();
    assert!(matches!(error, KeeperError::Silent { .. }), "{error:?}");
    let error = Keeper::start(&absent, &[], &good, &|| false, &|_| {}).unwrap_err();
    assert!(matches!(error, KeeperError::NoKeeper { .. }), "{error:?}");
}

fn an_exit_at_start_shows_code_and_output() {
    // Method: a script that prints on both outputs and fails, run twice with the same log.
    let directory = folder();
    let plan = script(&directory, "echo one; echo two >&2; exit 3");
    for _ in 0..2 {
        let mut keeper = start(&plan).unwrap();
        assert_eq!(wait_for_exit(&mut keeper), Exit::Code(3));
        assert_eq!(keeper.output_tail(9), "one\ntwo");
        assert_eq!(keeper.output_tail(1), "two");
        let ending = keeper.stop();
        assert_eq!(ending.manner, EndManner::ByItself);
        assert_eq!(ending.exit, Some(Exit::Code(3)));
    }
}

fn a_failed_command_leaves_no_children() {
    // Method: a command that leaves a child behind and fails; no stop is requested.
    let directory = folder();
    let text = "sleep 1000 & while ! [ -e go ]; do sleep 0.01; done; exit 4";
    let mut keeper = start(&script(&directory, text)).unwrap();
    let mut sleeper = Vec::new();
    within_a_minute("the child runs", || {
        sleeper = descendants(keeper.process_id())
            .unwrap()
            .iter()
            .map(|relative| relative.process)
            .filter(|process| command_line(*process) == "sleep 1000")
            .collect();
        sleeper.len() == 1
    });
    std::fs::write(directory.path().join("go"), "").unwrap();
    assert_eq!(wait_for_exit(&mut keeper), Exit::Code(4));
    within_a_minute("the child is gone", || all_gone(&sleeper));
}

fn command_line(process: Process) -> String {
    let text = std::fs::read_to_string(format!("/proc/{}/cmdline", process.pid));
    text.unwrap_or_default()
        .trim_end_matches('\0')
        .replace('\0', " ")
}

fn a_command_that_ignores_the_stop_signal_is_killed() {
    // Method: a shell and its children, all of which ignore SIGTERM.
    let directory = folder();
    let mut plan = script(&directory, "trap '' TERM; sh -c 'sleep 1000 & wait' & wait");
    plan.stop.within = Duration::from_millis(50);
    let keeper = start(&plan).unwrap();
    let family = family(keeper.process_id(), 3, "sleep");
    let ending = keeper.stop();
    assert_eq!(ending.manner, EndManner::Killed(3));
    assert_eq!(ending.exit, Some(Exit::Signal(9)));
    assert_gone(&family);
}

fn a_suspended_process_ends_on_a_stop_signal() {
    // Method: a shell that passes the signal on to its child and waits for it; the child is
    // suspended, and receives no signal until it continues. No process is killed.
    let directory = folder();
    let text = "sleep 1000 & child=$!; trap 'kill $child; wait; exit 0' TERM; wait; wait";
    let keeper = start(&script(&directory, text)).unwrap();
    let family = family(keeper.process_id(), 2, "sleep");
    assert!(family[1].signal(Signal::Stop).unwrap());
    within_a_minute("the child is suspended", || {
        let stat = ProcessStat::read(family[1].pid).unwrap();
        stat.is_some_and(|stat| stat.is_stopped())
    });
    let ending = keeper.stop();
    assert_eq!(ending.manner, EndManner::WhenTold);
    assert_gone(&family);
}

fn a_family_may_outlive_its_command() {
    // Method: a command is killed and leaves a child. The child is kept until a stop; if it is
    // killed too, the end is reported.
    let directory = folder();
    let plan = KeeperPlan {
        outlives_main: true,
        ..script(&directory, "sleep 1000 & wait")
    };
    let kill_main = |keeper: &mut Keeper| {
        let family = family(keeper.process_id(), 2, "sleep");
        assert!(family[0].signal(Signal::Kill).unwrap());
        within_a_minute("the command is gone", || !family[0].is_alive());
        family[1]
    };
    let mut keeper = start(&plan).unwrap();
    let child = kill_main(&mut keeper);
    assert_eq!(keeper.state(), ProcessState::Running);
    assert!(child.is_alive());
    let _ = keeper.stop();
    assert!(!child.is_alive());
    let mut keeper = start(&plan).unwrap();
    assert!(kill_main(&mut keeper).signal(Signal::Kill).unwrap());
    assert_eq!(wait_for_exit(&mut keeper), Exit::Signal(9));
}

const DAEMON: &str = "(setsid sleep 1000 &) ; exit 0";

fn a_daemon_is_kept_and_stopped() {
    // Method: a double fork with its own session. The command has ended when only the daemon is
    // left, but still counts as running.
    let directory = folder();
    let mut keeper = start(&script(&directory, DAEMON)).unwrap();
    let family = family(keeper.process_id(), 1, "sleep");
    assert_eq!(keeper.state(), ProcessState::Running);
    let ending = keeper.stop();
    assert_eq!(ending.manner, EndManner::WhenTold);
    assert_eq!(ending.exit, Some(Exit::Signal(15)));
    assert_gone(&family);
}

fn the_end_of_a_daemon_is_reported() {
    // Method: the test kills the daemon.
    let directory = folder();
    let mut keeper = start(&script(&directory, DAEMON)).unwrap();
    let family = family(keeper.process_id(), 1, "sleep");
    assert!(family[0].signal(Signal::Kill).unwrap());
    assert_eq!(wait_for_exit(&mut keeper), Exit::Signal(9));
}

fn grandchildren_get_the_stop_signal_too() {
    // Method: shells end on SIGTERM and leave their children behind, which would sleep until they
    // are killed if they got no signal.
    let directory = folder();
    let plan = script(&directory, "sh -c 'sleep 1000 & wait' & wait");
    let keeper = start(&plan).unwrap();
    let family = family(keeper.process_id(), 3, "sleep");
    let ending = keeper.stop();
    assert_eq!(ending.manner, EndManner::WhenTold);
    assert_eq!(ending.exit, Some(Exit::Signal(15)));
    assert_gone(&family);
}

fn the_making_of_files_can_be_stopped() {
    // Method: a short file, and one that takes minutes to make; the start is stopped as soon as a
    // part of the second exists. Neither the command nor the files remain.
    let directory = folder();
    let mut plan = script(&directory, "touch started; sleep 1000");
    let scratch = directory.path().join("scratch");
    let file = |path: &str, bytes| ScratchFile {
        path: path.into(),
        content: FileContent::Random { seed: 1, bytes },
    };
    let large = scratch.join(SCRATCH_EMPTY).join("large");
    plan.scratch = Some(scratch.clone());
    plan.files = vec![file("short", 7), file("large", 8 << 30)];
    let has_begun = || large.metadata().is_ok_and(|file| file.len() > 0);
    let program = std::env::current_exe().unwrap();
    let started = Keeper::start(&program, &["keeper"], &plan, &has_begun, &|_| {});
    assert!(matches!(started, Err(KeeperError::Stopped)), "{started:?}");
    assert!(!scratch.exists());
    assert!(!directory.path().join("started").exists());
}

fn dropping_the_handle_stops_the_command() {
    // Method: the handle is dropped without a stop.
    let directory = folder();
    let keeper = start(&plan(directory.path(), &["sleep", "1000"])).unwrap();
    let family = family(keeper.process_id(), 1, "sleep");
    drop(keeper);
    assert_gone(&family);
}

fn a_killed_abx_leaves_nothing() {
    // Method: another process plays abx, and is killed by SIGKILL while its subject, which ignores
    // SIGTERM, has a daemon and a child.
    let directory = folder();
    let text = "trap '' TERM; (setsid sleep 1000 &); sh -c 'sleep 1000 & wait' & wait";
    let mut plan = script(&directory, text);
    plan.stop.within = Duration::from_millis(50);
    let (mut abx, keeper) = another_abx(&plan);
    let keeper = Process::find(keeper).unwrap().unwrap();
    let family = family(keeper.pid, 4, "sleep");
    abx.kill().unwrap();
    abx.wait().unwrap();
    within_a_minute("keeper and family are gone", || {
        !keeper.is_alive() && all_gone(&family)
    });
}

fn a_terminated_keeper_leaves_nothing() {
    // Method: SIGTERM for the keeper itself.
    let directory = folder();
    let mut keeper = start(&script(&directory, "sleep 1000 & wait")).unwrap();
    let family = family(keeper.process_id(), 2, "sleep");
    let process = Process::find(keeper.process_id()).unwrap().unwrap();
    assert!(process.signal(Signal::Term).unwrap());
    assert_eq!(wait_for_exit(&mut keeper), Exit::Signal(15));
    within_a_minute("the family is gone", || all_gone(&family));
}

fn a_killed_keeper_is_noticed() {
    // Method: SIGKILL for the keeper; the kernel then kills the command.
    let directory = folder();
    let mut keeper = start(&plan(directory.path(), &["sleep", "1000"])).unwrap();
    let family = family(keeper.process_id(), 1, "sleep");
    let process = Process::find(keeper.process_id()).unwrap().unwrap();
    assert!(process.signal(Signal::Kill).unwrap());
    within_a_minute("the loss is noticed", || {
        keeper.state() == ProcessState::Lost
    });
    within_a_minute("the command is gone", || all_gone(&family));
    assert_eq!(keeper.stop().manner, EndManner::KeeperLost);
}

const ABX: usize = 0;
const GUARDIAN: usize = 1;
const KEEPER: usize = 2;

fn any_two_can_be_killed_and_nothing_is_left() {
    // Method: SIGKILL for abx, the guardian and the keeper, for each alone and for each two in both
    // orders; the command ignores SIGTERM, and has a child, a daemon and a container.
    let ways: [&[usize]; 9] = [
        &[ABX],
        &[GUARDIAN],
        &[KEEPER],
        &[ABX, GUARDIAN],
        &[GUARDIAN, ABX],
        &[ABX, KEEPER],
        &[KEEPER, ABX],
        &[GUARDIAN, KEEPER],
        &[KEEPER, GUARDIAN],
    ];
    for way in ways {
        let directory = folder();
        let scratch = directory.path().join("scratch");
        let text = "trap '' TERM; (setsid sleep 1000 &); sh -c 'sleep 1000 & wait' & wait";
        let mut plan = script(&directory, text);
        plan.stop.within = Duration::from_millis(50);
        plan.scratch = Some(scratch.clone());
        plan.container = Some(container(directory.path()));
        let (mut abx, keeper) = another_abx(&plan);
        let family = family(keeper, 4, "sleep");
        let guardian = ProcessStat::read(keeper).unwrap().unwrap().parent;
        let three = [abx.id(), guardian, keeper].map(|pid| Process::find(pid).unwrap().unwrap());
        let names = three.map(|process| process.name().unwrap());
        assert_eq!(names[GUARDIAN..], ["guardian", "keeper"]);
        assert!(scratch.is_dir());
        for role in way {
            assert!(three[*role].signal(Signal::Kill).unwrap());
        }
        abx.wait().unwrap();
        within_a_minute(&format!("nothing is left: {way:?}"), || {
            all_gone(&three) && all_gone(&family) && !scratch.exists()
        });
        let calls = std::fs::read_to_string(directory.path().join("calls")).unwrap();
        assert!(
            calls.ends_with("rm --force --volumes abx-1\n"),
            "{way:?}: {calls}"
        );
    }
}

fn a_keeper_with_invalid_reports_is_killed_with_its_family() {
    // Method: a shell plays a guardian that reports a start and then sends an invalid report. It
    // gives the number of a process that is not its child: that process must continue.
    let directory = folder();
    let mut stranger = Command::new("sleep").arg("1000").spawn().unwrap();
    let text = format!(
        "read order; echo '{{\"started\":{{\"keeper\":{},\"since_ns\":1}}}}'; sleep 1000 & echo \
         nonsense; wait",
        stranger.id()
    );
    let plan = plan(directory.path(), &["true"]);
    let mut keeper =
        Keeper::start(Path::new("sh"), &["-c", &text], &plan, &|| false, &|_| {}).unwrap();
    let family = family(keeper.process_id(), 1, "sleep");
    within_a_minute("the loss is noticed", || {
        keeper.state() == ProcessState::Lost
    });
    assert_eq!(keeper.stop().manner, EndManner::KeeperLost);
    within_a_minute("the family is gone", || all_gone(&family));
    assert!(stranger.try_wait().unwrap().is_none());
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

fn the_command_runs_in_the_planned_environment() {
    // Method: the command prints its environment, limit, folder, processors and input. The limit
    // suffices only for the test, and the keeper must still do its work under it.
    let directory = folder();
    let text = "echo \"$GREETING\"; ulimit -n; pwd; grep Cpus_allowed_list /proc/self/status; \
        readlink /proc/self/fd/0; exec sleep 1000";
    let mut plan = script(&directory, text);
    let cpu = *cpus::allowed().unwrap().last().unwrap();
    plan.cpus = Some(vec![cpu]);
    plan.environment = BTreeMap::from([("GREETING".to_owned(), "good day".to_owned())]);
    plan.descriptors = Some(DescriptorLimit {
        soft: 40,
        hard: descriptor_limit().hard,
    });
    let keeper = start(&plan).unwrap();
    let family = family(keeper.process_id(), 1, "sleep");
    let expected = format!(
        "good day\n40\n{}\nCpus_allowed_list: {cpu}\n/dev/null",
        directory.path().canonicalize().unwrap().display()
    );
    assert_eq!(keeper.output_tail(9), expected);
    assert_eq!(keeper.stop().manner, EndManner::WhenTold);
    assert_gone(&family);
}

fn the_cpu_of_a_tree_counts_living_and_reaped_processes() {
    // Method: a grandchild burns CPU until it is killed; its parent ends with it, and the command
    // continues. Its time must count while it burns and afterwards.
    let directory = folder();
    let text = "sh -c 'sh -c \"while :; do :; done\" & echo $! > burner; wait'; exec sleep 1000";
    let keeper = start(&script(&directory, text)).unwrap();
    let mut tree = ProcTree::new(keeper.process_id()).unwrap();
    let mut last = Nanos(0);
    let mut cpu = || {
        let now = tree.cpu().unwrap();
        assert!(now >= last, "{now:?} after {last:?}");
        last = now;
        now
    };
    within_a_minute("0.1 s of CPU", || cpu().0 > 100_000_000);
    let burner_pid = || {
        let text = std::fs::read_to_string(directory.path().join("burner")).ok()?;
        text.trim().parse().ok()
    };
    within_a_minute("the number of the burner", || burner_pid().is_some());
    let burner = Process::find(burner_pid().unwrap()).unwrap().unwrap();
    assert!(burner.signal(Signal::Kill).unwrap());
    let left = family(keeper.process_id(), 1, "sleep");
    assert!(cpu().0 > 100_000_000);
    assert_eq!(tree.members().collect::<Vec<_>>(), left);
}

fn a_keeper_sleeps() {
    // Method: between the start and the stop of a quiet command the keeper does not run at all: its
    // count of context switches stays the same.
    let directory = folder();
    let keeper = start(&plan(directory.path(), &["sleep", "1000"])).unwrap();
    family(keeper.process_id(), 1, "sleep");
    let switches = || {
        let path = format!("/proc/{}/status", keeper.process_id());
        let status = std::fs::read_to_string(path).unwrap();
        let is_count = |line: &&str| line.contains("ctxt_switches");
        status
            .lines()
            .filter(is_count)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    within_a_minute("50 ms in which the keeper does not run", || {
        let before = switches();
        std::thread::sleep(Duration::from_millis(50));
        switches() == before
    });
}
