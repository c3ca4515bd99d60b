use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::super::{RelativeState, ThreadTimes};
use super::*;

const MILLISECOND: u64 = 1_000_000;

/// A tree of imaginary processes.
struct Story {
    tree: ProcTree,
    readings: HashMap<u32, CpuReading>,
}

impl Story {
    fn new(parents: &[(u32, u32)]) -> Story {
        let mut story = Story {
            tree: ProcTree {
                root: process(1),
                other_roots: Vec::new(),
                counts_root: false,
                of_root: Children::first(Nanos(0)),
                members: Vec::new(),
                forks: None,
                births: Births::default(),
                is_accounted: false,
                group: None,
                total: Nanos(0),
            },
            readings: HashMap::new(),
        };
        story.reads(1, 0, 0);
        story.scans(parents);
        story
    }

    fn scans(&mut self, parents: &[(u32, u32)]) {
        let relatives: Vec<Relative> = parents
            .iter()
            .map(|(pid, parent)| Relative {
                process: process(*pid),
                parent: *parent,
                state: RelativeState::Runs,
                reaped_cpu: Nanos(0),
            })
            .collect();
        self.tree.adopt(&relatives);
    }

    fn reads(&mut self, pid: u32, own_ms: u64, reaped: u64) {
        let reading = CpuReading {
            own: Nanos(own_ms * MILLISECOND),
            reaped: Nanos(reaped * MILLISECOND),
        };
        self.readings.insert(pid, reading);
    }

    fn ends(&mut self, pid: u32) {
        self.readings.remove(&pid);
    }

    fn total(&mut self) -> u64 {
        let readings = &self.readings;
        let total = self
            .tree
            .account(|process, _| Ok(readings.get(&process.pid).copied()))
            .unwrap();
        total.0 / MILLISECOND
    }
}

fn process(pid: u32) -> Process {
    Process {
        pid,
        start_ticks: 0,
    }
}

#[test]
fn a_reaped_child_counts_once() {
    // Method: a child of 105 ms ends and turns up at its parent as 110 ms.
    let mut story = Story::new(&[(2, 1), (3, 2)]);
    story.reads(2, 50, 0);
    story.reads(3, 105, 0);
    assert_eq!(story.total(), 155);
    story.ends(3);
    story.reads(2, 50, 110);
    assert_eq!(story.total(), 160);
}

#[test]
fn clocks_alone_are_enough_until_a_member_has_gone() {
    // Method: a member works on; then it ends, and its parent is charged its time.
    let mut story = Story::new(&[(2, 1), (3, 2)]);
    story.reads(2, 10, 5);
    story.reads(3, 20, 0);
    assert_eq!(story.total(), 35);
    let clock = |pid, more: u64| {
        let used = if pid == 3 { 20 + more } else { 10 };
        Some(Nanos(used * MILLISECOND))
    };
    assert!(story.tree.read_clocks(|pid| clock(pid, 4)));
    assert_eq!(story.tree.total, Nanos(39 * MILLISECOND));
    assert!(
        !story
            .tree
            .read_clocks(|pid| clock(pid, 6).filter(|_| pid == 2))
    );
    story.ends(3);
    story.reads(2, 10, 31);
    assert_eq!(story.total(), 41);
}

#[test]
fn a_parent_that_reaped_before_its_clock_was_read_is_read_again() {
    // Method: a parent reaps its child, which had worked on; its clock is read first, then
    // the child's, which is gone, and then all that had run since the last look in full.
    let mut story = Story::new(&[(2, 1), (3, 2)]);
    story.reads(2, 10, 0);
    story.reads(3, 20, 0);
    assert_eq!(story.total(), 30);
    story.ends(3);
    story.reads(2, 11, 31);
    let clock = |pid| (pid == 2).then_some(Nanos(11 * MILLISECOND));
    assert!(!story.tree.read_clocks(clock));
    let readings = &story.readings;
    let used = story.tree.account(|process, last| {
        let now = readings.get(&process.pid).copied();
        let has_run = |now: &CpuReading| last.is_none_or(|last| last.own != now.own);
        Ok(now.map(|now| {
            if has_run(&now) {
                now
            } else {
                last.unwrap_or(now)
            }
        }))
    });
    assert_eq!(used.unwrap(), Nanos(42 * MILLISECOND));
}

#[test]
fn a_child_that_is_never_reaped_still_counts() {
    // Method: two children end under a parent that ignores SIGCHLD, and the
    // parent works on; a mere "never falls" would hide its work.
    let mut story = Story::new(&[(2, 1), (3, 2), (4, 2)]);
    story.reads(2, 50, 0);
    story.reads(3, 100, 0);
    story.reads(4, 200, 0);
    assert_eq!(story.total(), 350);
    story.ends(3);
    story.ends(4);
    story.reads(2, 60, 0);
    assert_eq!(story.total(), 360);
}

#[test]
fn short_lived_children_count_in_addition_to_seen_ones() {
    // Method: the parent reaps 500 ms of children that no scan ever saw, then one that was seen.
    let mut story = Story::new(&[(2, 1), (3, 2)]);
    story.reads(2, 0, 500);
    story.reads(3, 100, 0);
    assert_eq!(story.total(), 600);
    story.ends(3);
    story.reads(2, 0, 600);
    assert_eq!(story.total(), 600);
}

#[test]
fn a_whole_branch_that_ends_is_booked_at_the_root() {
    // Method: parent and grandchildren end together; the root has reaped them in ticks of 10 ms.
    let mut story = Story::new(&[(2, 1), (3, 2), (4, 3)]);
    story.reads(2, 11, 40);
    story.reads(3, 22, 0);
    story.reads(4, 33, 0);
    assert_eq!(story.total(), 106);
    story.ends(2);
    story.ends(3);
    story.ends(4);
    story.reads(1, 0, 100);
    assert_eq!(story.total(), 106);
    story.reads(1, 0, 120);
    assert_eq!(story.total(), 120);
}

#[test]
fn a_member_that_a_scan_misses_keeps_its_time() {
    // Method: the scan lists another child of the same parent instead; an orphan moves to the root.
    let mut story = Story::new(&[(2, 1), (3, 2), (5, 2)]);
    story.reads(2, 0, 0);
    story.reads(3, 70, 0);
    story.reads(4, 0, 0);
    story.reads(5, 9, 0);
    assert_eq!(story.total(), 79);
    story.scans(&[(5, 1), (2, 1), (4, 2)]);
    assert_eq!(story.total(), 79);
    story.reads(4, 30, 0);
    assert_eq!(story.total(), 109);
}

#[test]
fn the_busiest_thread_is_found_between_two_looks() {
    // Method: one steady thread, one new, one whose number was given again.
    let times = |pairs: &[(u32, u64)]| {
        ThreadTimes(pairs.iter().map(|(id, time)| (*id, Nanos(*time))).collect())
    };
    let earlier = times(&[(1, 1000), (2, 50)]);
    assert_eq!(
        times(&[(1, 1010), (2, 20), (3, 15)]).busiest_since(&earlier),
        Nanos(20)
    );
    assert_eq!(times(&[]).busiest_since(&earlier), Nanos(0));
}

/// A shell script, killed and waited for when dropped.
struct Script(Child);

impl Script {
    fn start(text: &str) -> Script {
        let mut command = Command::new("sh");
        command.args(["-c", text]).stdin(Stdio::piped());
        Script(command.spawn().unwrap())
    }

    /// A process that holds this listener as its standard input and does nothing.
    fn holding(listener: TcpListener) -> Script {
        let mut command = Command::new("sleep");
        command.arg("60");
        command.stdin(Stdio::from(std::os::fd::OwnedFd::from(listener)));
        Script(command.spawn().unwrap())
    }

    fn tree(&self) -> ProcTree {
        ProcTree::new(self.0.id()).unwrap()
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        // Children first, because no process adopts them in this test.
        for relative in descendants(self.0.id()).unwrap() {
            let _ = relative.process.signal(crate::process::Signal::Kill);
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn within_a_minute(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_burning_grandchild_uses_the_tree_s_time() {
    // Method: a loop two forks below the root, read until it has used 50 ms;
    // its memory and its thread must be seen too.
    let script = Script::start("sh -c 'sh -c \"while :; do :; done\" & wait' & wait");
    let mut tree = script.tree();
    let mut last = Nanos(0);
    within_a_minute("50 ms of CPU in a grandchild", || {
        let now = tree.cpu().unwrap();
        assert!(now >= last);
        last = now;
        now.0 > 50 * MILLISECOND && tree.members().count() == 2
    });
    assert!(tree.rss_bytes().unwrap() > 0);
    let first = tree.thread_times().unwrap();
    within_a_minute("20 ms of CPU in a thread", || {
        tree.thread_times().unwrap().busiest_since(&first).0 > 20 * MILLISECOND
    });
}

#[test]
fn new_processes_are_found_by_number() {
    // Method: a shell starts a child, which starts another, after the first look; only the
    // numbers given since are looked at, and then those alone that a scan finds.
    let mut script = Script::start("read line; sh -c 'sleep 60; exit 0' & wait");
    let mut tree = script.tree();
    assert_eq!(tree.members().count(), 0);
    let before = births::last_number().unwrap();
    std::io::Write::write_all(script.0.stdin.as_mut().unwrap(), b"go\n").unwrap();
    let root = script.0.id();
    within_a_minute("both are there", || descendants(root).unwrap().len() == 2);
    tree.look_at(before + 1..=births::last_number().unwrap())
        .unwrap();
    let processes: Vec<Process> = tree.members().collect();
    let scanned = descendants(root).unwrap();
    let scanned: Vec<Process> = scanned.iter().map(|relative| relative.process).collect();
    assert_eq!(processes, scanned);
    // And the usual way finds no process twice.
    tree.refresh().unwrap();
    assert_eq!(tree.members().count(), 2);
}

#[test]
fn a_thread_is_not_a_member() {
    // Method: this process is a child of a tree's root; a thread of it has a number of its
    // own, and the same parent.
    let mut tree = ProcTree::of(std::os::unix::process::parent_id(), &[], true).unwrap();
    let is_member = |tree: &ProcTree, pid| tree.members().any(|member| member.pid == pid);
    assert!(is_member(&tree, std::process::id()));
    let (sender, number) = std::sync::mpsc::channel();
    let (end, waits) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        let number = rustix::thread::gettid().as_raw_nonzero().get();
        sender.send(number.unsigned_abs()).unwrap();
        let _ = waits.recv();
    });
    let number = number.recv().unwrap();
    tree.look_at(number..=number).unwrap();
    assert!(!is_member(&tree, number));
    drop(end);
    thread.join().unwrap();
}

#[test]
fn a_process_that_has_not_run_is_not_read_again() {
    // Method: the last look's clock, and an earlier one.
    let this = Process::find(std::process::id()).unwrap().unwrap();
    let child = Script::start("read line");
    let asleep = Process::find(child.0.id()).unwrap().unwrap();
    let made_up = |time| CpuReading {
        own: time,
        reaped: Nanos(7),
    };
    within_a_minute("the child sleeps", || {
        let time = process_cpu(asleep.pid).unwrap();
        let cpu_reading = read_cpu(asleep, Some(made_up(time))).unwrap();
        cpu_reading.is_some_and(|reading| reading.reaped == Nanos(7))
    });
    let cpu_reading = read_cpu(this, Some(made_up(Nanos(0)))).unwrap().unwrap();
    assert_ne!(cpu_reading.reaped, Nanos(7));
}

#[test]
fn a_reaped_child_keeps_the_tree_s_time() {
    // Method: a child burns and ends, its parent reaps it and then waits for input.
    let script = Script::start(
        "sh -c 'i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done'; read line; exit 0",
    );
    let mut tree = script.tree();
    within_a_minute("the child burns", || {
        tree.cpu().unwrap().0 > 20 * MILLISECOND
    });
    within_a_minute("the child is gone", || {
        tree.cpu().unwrap();
        tree.members().count() == 0
    });
    assert!(tree.cpu().unwrap().0 > 20 * MILLISECOND);
}

#[test]
fn a_listener_in_a_child_is_the_tree_s_own() {
    // Method: a listener handed down as standard input to a shell's child, then
    // the same port under a tree that does not hold it.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "sleep 60; exit 0"]);
    command.stdin(Stdio::from(std::os::fd::OwnedFd::from(listener)));
    let holder = Script(command.spawn().unwrap());
    drop(command);
    let other = Script::start("sleep 60; exit 0");
    let (mut holder_tree, mut other_tree) = (holder.tree(), other.tree());
    within_a_minute("the listener is seen", || {
        holder_tree.listens_at(address.into()).unwrap()
    });
    within_a_minute("the other child runs", || {
        other_tree.refresh().unwrap();
        other_tree.members().count() == 1
    });
    assert!(!other_tree.listens_at(address.into()).unwrap());
}

#[test]
fn the_listener_on_a_port_is_found_and_counts_itself() {
    // Method: this very process listens and burns; a port without a listener finds no process.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut tree = ProcTree::of_listener(address.into()).unwrap().unwrap();
    assert_eq!(tree.root().pid, std::process::id());
    let before = tree.cpu().unwrap();
    while tree.cpu().unwrap() == before {
        std::hint::spin_loop();
    }
    drop(listener);
    assert!(ProcTree::of_listener(address.into()).unwrap().is_none());
}

#[test]
fn the_listener_on_a_unix_socket_is_found() {
    // Method: this very process listens, then a child that it was handed to; a path without
    // a listener finds no process.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.sock");
    let address: ServerAddress = format!("unix:{}", path.display()).parse().unwrap();
    let root = || {
        let tree = ProcTree::of_listener(address).unwrap();
        tree.map(|tree| tree.root().pid)
    };
    assert_eq!(root(), None);
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    assert_eq!(root(), Some(std::process::id()));
    let mut command = Command::new("sleep");
    command.arg("60");
    command.stdin(Stdio::from(std::os::fd::OwnedFd::from(listener)));
    let holder = Script(command.spawn().unwrap());
    drop(command);
    within_a_minute("the child holds the listener", || {
        root() == Some(holder.0.id())
    });
}

#[test]
fn a_container_counts_its_first_process() {
    // Method: this very process as one that shares a control group with the one that looks:
    // it listens and burns, and its clock is what counts.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut tree = ProcTree::of_container(std::process::id()).unwrap();
    let port = listener.local_addr().unwrap().port();
    assert!(tree.listening_ports().unwrap().contains(&port));
    let before = tree.cpu().unwrap();
    while tree.cpu().unwrap() == before {
        std::hint::spin_loop();
    }
    drop(listener);
    assert!(!tree.listening_ports().unwrap().contains(&port));
}

#[test]
fn one_port_on_two_addresses_is_two_servers_and_a_shared_port_is_one() {
    // Method: listeners on 127.0.0.1 and 127.0.0.2 with one port, held by two processes; a
    // third on all addresses, which only takes what no other does; then two processes
    // that share one address by SO_REUSEPORT.
    let here = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = here.local_addr().unwrap().port();
    let at = |ip: [u8; 4]| SocketAddr::from((ip, port));
    let holder = Script::holding(TcpListener::bind(at([127, 0, 0, 2])).unwrap());
    let root = |ip| {
        let tree = ProcTree::of_listener(at(ip).into()).unwrap();
        tree.map(|tree| tree.root().pid)
    };
    within_a_minute("the child holds its listener", || {
        root([127, 0, 0, 2]) == Some(holder.0.id())
    });
    assert_eq!(root([127, 0, 0, 1]), Some(std::process::id()));
    assert_eq!(root([127, 0, 0, 3]), None);

    let sharing = || {
        let socket = rustix::net::socket(
            rustix::net::AddressFamily::INET,
            rustix::net::SocketType::STREAM,
            None,
        );
        let socket = socket.unwrap();
        rustix::net::sockopt::set_socket_reuseport(&socket, true).unwrap();
        socket
    };
    let first = sharing();
    rustix::net::bind(&first, &SocketAddr::from(([127, 0, 0, 4], 0))).unwrap();
    rustix::net::listen(&first, 1).unwrap();
    let first = TcpListener::from(first);
    let shared = first.local_addr().unwrap();
    let second = sharing();
    rustix::net::bind(&second, &shared).unwrap();
    rustix::net::listen(&second, 1).unwrap();
    let (script, other) = (Script::holding(first), Script::holding(second.into()));
    within_a_minute("both children hold a listener", || {
        let tree = ProcTree::of_listener(shared.into()).unwrap();
        let mut roots: Vec<u32> = tree
            .iter()
            .flat_map(ProcTree::roots)
            .map(|root| root.pid)
            .collect();
        roots.sort_unstable();
        let mut wanted = [script.0.id(), other.0.id()];
        wanted.sort_unstable();
        roots == wanted
    });
}

#[test]
fn memory_descriptors_and_switches_of_a_real_tree_are_read() {
    // Method: a child that sleeps beside this process; what a sleeping shell has
    // is known to be more than nothing, and its count of switches to continue.
    let script = Script::start("ulimit -n 100; while true; do sleep 0.01; done");
    let mut tree = ProcTree::of(script.0.id(), &[], true).unwrap();
    within_a_minute("the limit is set", || {
        tree.descriptors().is_ok_and(|use_of| use_of.limit == 100)
    });
    let use_of = tree.descriptors().unwrap();
    assert!((3..100).contains(&use_of.in_use), "{use_of:?}");
    let memory = tree.proportional_memory().unwrap();
    assert!(memory.all_bytes >= memory.anonymous_bytes && memory.anonymous_bytes > 0);
    let first = tree.switches(100).unwrap().unwrap();
    within_a_minute("it was switched to", || {
        let next = tree.switches(100).unwrap().unwrap();
        next.since(&first).is_none_or(|more| more > 0)
    });
    assert_eq!(tree.switches(0).unwrap(), None);
}
