//! The inside of a keeper: one thread that sleeps until its command ends, its
//! pipe closes, or somebody sends it a signal.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::{self, BufRead, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use abx_sys::limits::DescriptorLimit;
use abx_sys::process::{Exit, Reaped, Signal, adopt_orphans, reap, spawn_kept};
use abx_sys::tree::descendants;
use abx_sys::{Epoll, Events, Interest, Nanos, cpus, limits};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

use super::Stop;
use super::protocol::{KeeperPlan, KeeperReport, StartFailure};
use super::scratch;

/// Between two rounds of killing, for what was being forked in the meantime;
/// doubled up to the second value for what the kernel cannot end at once.
const KILL_PAUSE: Duration = Duration::from_millis(10);
const KILL_PAUSE_MAX: Duration = Duration::from_secs(1);

/// The body of a keeper: reads a plan from standard input, runs it, and
/// returns when nothing of it is left.
#[must_use]
pub fn keep() -> ExitCode {
    match keep_one() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "abx keeper: {error}");
            ExitCode::FAILURE
        }
    }
}

fn keep_one() -> io::Result<()> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    if line.is_empty() {
        // abx has gone before it had a plan.
        return Ok(());
    }
    let plan: KeeperPlan = serde_json::from_str(&line)?;
    let mut wakes = Wakes::new()?;
    adopt_orphans()?;
    let main = match start(&plan) {
        Ok(main) => main,
        Err(why) => {
            tell(&KeeperReport::Failed { why });
            scratch::clear(&plan);
            return Ok(());
        }
    };
    tell(&KeeperReport::Started { pid: main });
    let mut kept = ProcessFamily::new(main);
    let ended = kept
        .watch(&mut wakes)
        .and_then(|()| kept.stop(plan.stop, &mut wakes));
    let killed = match ended {
        Ok(killed) => killed,
        Err(error) => {
            let _ = writeln!(
                io::stderr(),
                "abx keeper: {error}; killing `{}`",
                plan.program
            );
            kept.kill(&mut wakes)?
        }
    };
    kept.tell_exit();
    tell(&KeeperReport::Finished { killed });
    // abx may still want to read the log, so until it closes the pipe.
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    scratch::clear(&plan);
    Ok(())
}

/// Prepares this process as the command is to find it, then starts the command.
fn start(plan: &KeeperPlan) -> Result<u32, StartFailure> {
    scratch::make(plan)?;
    let log = &plan.log;
    let output = OpenOptions::new()
        .create(true)
        .append(true)
        .open(log)
        .map_err(|error| other(format!("its log file {}: {error}", log.display())))?;
    let errors = output
        .try_clone()
        .map_err(|error| other(format!("its log file {}: {error}", log.display())))?;
    // Otherwise a missing directory looks like a missing command.
    if !plan.directory.is_dir() {
        return Err(other(format!(
            "{} is not a directory that can be entered",
            plan.directory.display()
        )));
    }
    if let Some(cpus) = &plan.cpus {
        cpus::pin_thread(cpus)
            .map_err(|error| other(format!("binding it to the CPUs {cpus:?}: {error}")))?;
    }
    let mut command = Command::new(&plan.program);
    command
        .args(&plan.arguments)
        .current_dir(&plan.directory)
        .envs(&plan.environment)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors);
    let own_limit = limits::descriptor_limit();
    let limit = plan.descriptors.unwrap_or(own_limit);
    limits::set_descriptor_limit(limit)
        .map_err(|error| other(format!("its limit on open descriptors {limit:?}: {error}")))?;
    let spawned = spawn_kept(&mut command);
    // The keeper itself must be able to read /proc under any limit.
    let _ = limits::set_descriptor_limit(DescriptorLimit {
        soft: own_limit.soft.min(limit.hard),
        hard: limit.hard,
    });
    spawned
        .map(|child| child.id())
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => StartFailure::CommandNotFound,
            io::ErrorKind::PermissionDenied => StartFailure::PermissionDenied,
            _ => other(error.to_string()),
        })
}

fn other(why: String) -> StartFailure {
    StartFailure::Other(why)
}

/// Tells abx. When abx is gone nobody listens, and the closed pipe says the same.
fn tell(report: &KeeperReport) {
    let mut line = serde_json::to_vec(report).expect("a report is made of numbers and text");
    line.push(b'\n');
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(&line).and_then(|()| stdout.flush());
}

/// The command and what it has started.
struct ProcessFamily {
    main: u32,
    main_exit: Option<Exit>,
    last_exit: Option<Exit>,
    is_exit_told: bool,
}

impl ProcessFamily {
    fn new(main: u32) -> ProcessFamily {
        ProcessFamily {
            main,
            main_exit: None,
            last_exit: None,
            is_exit_told: false,
        }
    }

    /// Sleeps until the command has ended or is to be stopped.
    ///
    /// A command that ends well while others of its tree run has gone into the
    /// background; then the tree's end is the command's.
    fn watch(&mut self, wakes: &mut Wakes) -> io::Result<()> {
        loop {
            let is_alone = !self.reap()?;
            let went_into_background = self.main_exit == Some(Exit::Code(0)) && !is_alone;
            if self.main_exit.is_some() && !went_into_background {
                self.tell_exit();
                return Ok(());
            }
            if wakes.sleep(None)? {
                return Ok(());
            }
        }
    }

    /// Ends whatever is left and answers how many processes had to be killed.
    ///
    /// Every child of the keeper is asked once: the command, and then what its
    /// end leaves behind and the keeper adopts. So each parent may end its own
    /// children in its own way first.
    fn stop(&mut self, stop: Stop, wakes: &mut Wakes) -> io::Result<usize> {
        let deadline = Nanos::now().plus(stop.within.into());
        let keeper = std::process::id();
        let mut asked = HashSet::new();
        while self.reap()? {
            let left = deadline.since(Nanos::now());
            if left == Nanos(0) {
                return self.kill(wakes);
            }
            for relative in descendants(keeper)? {
                if relative.parent == keeper && asked.insert(relative.process) {
                    // Whoever cannot be asked is killed when the time is over.
                    let _ = relative.process.signal(stop.signal);
                }
            }
            wakes.sleep(Some(left))?;
        }
        Ok(0)
    }

    /// Kills until nothing is left and answers how many processes that took.
    fn kill(&mut self, wakes: &mut Wakes) -> io::Result<usize> {
        let mut killed = HashSet::new();
        let mut pause = KILL_PAUSE;
        while self.reap()? {
            for relative in descendants(std::process::id())? {
                if let Ok(true) = relative.process.signal(Signal::Kill) {
                    killed.insert(relative.process);
                }
            }
            wakes.sleep(Some(pause.into()))?;
            pause = (pause * 2).min(KILL_PAUSE_MAX);
        }
        Ok(killed.len())
    }

    /// Takes away what has ended; answers whether anything is left.
    ///
    /// The kernel hands orphans over before their parent can be reaped, so "no
    /// child" is the proof that the whole tree has ended.
    fn reap(&mut self) -> io::Result<bool> {
        loop {
            match reap()? {
                Reaped::Ended { pid, exit } => {
                    if pid == self.main {
                        // Its number may come again for one of its descendants.
                        self.main_exit.get_or_insert(exit);
                    }
                    self.last_exit = Some(exit);
                }
                Reaped::NoneYet => return Ok(true),
                Reaped::NoChild => return Ok(false),
            }
        }
    }

    /// Tells once how the command ended: how it failed, or for one that went
    /// into the background, how the last of its tree ended.
    fn tell_exit(&mut self) {
        let failure = self.main_exit.filter(|exit| *exit != Exit::Code(0));
        if let Some(exit) = failure.or(self.last_exit)
            && !self.is_exit_told
        {
            self.is_exit_told = true;
            tell(&KeeperReport::Exited(exit));
        }
    }
}

/// What a keeper sleeps for.
struct Wakes {
    epoll: Epoll,
    events: Events,
    /// Gets a byte with every SIGCHLD.
    child_ended: UnixStream,
    /// Gets a byte with every signal that asks the keeper to end.
    asked_to_end: UnixStream,
}

const CHILD_ENDED: u64 = 0;
const ASKED_TO_END: u64 = 1;
const PIPE_FROM_ABX: u64 = 2;

impl Wakes {
    fn new() -> io::Result<Wakes> {
        let epoll = Epoll::new()?;
        let child_ended = signals(&[SIGCHLD])?;
        let asked_to_end = signals(&[SIGTERM, SIGINT, SIGHUP])?;
        epoll.add(&child_ended, CHILD_ENDED, Interest::all())?;
        epoll.add(&asked_to_end, ASKED_TO_END, Interest::all())?;
        // After its plan abx sends nothing more: any news is the pipe's end.
        epoll.add(io::stdin(), PIPE_FROM_ABX, Interest::all())?;
        Ok(Wakes {
            epoll,
            events: Events::with_capacity(4),
            child_ended,
            asked_to_end,
        })
    }

    /// Sleeps until something happens, at most `timeout`; answers whether the
    /// keeper was asked to end meanwhile.
    fn sleep(&mut self, timeout: Option<Nanos>) -> io::Result<bool> {
        self.epoll.wait(&mut self.events, timeout)?;
        // A signal may cut the wait short before its byte became an event, so
        // the bytes themselves are what counts.
        drain(&mut self.child_ended)?;
        let was_signalled = drain(&mut self.asked_to_end)?;
        let pipe_has_news = self
            .events
            .iter()
            .any(|event| event.token() == PIPE_FROM_ABX);
        Ok(was_signalled || pipe_has_news)
    }
}

/// A stream that gets a byte with each of these signals.
fn signals(signals: &[i32]) -> io::Result<UnixStream> {
    let (receiver, sender) = UnixStream::pair()?;
    receiver.set_nonblocking(true)?;
    for signal in signals {
        signal_hook::low_level::pipe::register(*signal, sender.try_clone()?)?;
    }
    Ok(receiver)
}

/// Empties the stream; answers whether anything was in it.
fn drain(stream: &mut UnixStream) -> io::Result<bool> {
    let mut bytes = [0; 64];
    let mut had_bytes = false;
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return Ok(had_bytes),
            Ok(_) => had_bytes = true,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(had_bytes),
            Err(error) => return Err(error),
        }
    }
}
