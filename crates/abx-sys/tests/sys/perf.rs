//! Samples of this process and of its children.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]
#![allow(clippy::disallowed_macros, reason = "skipped tests say why")]

use std::collections::BTreeSet;
use std::fs;
use std::hint::black_box;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};
use std::thread;

use abx_sys::perf::{CpuSampler, SamplerEvent, SamplingRights, SwitchDirection};
use abx_sys::{Nanos, cpus, thread_cpu};

const HZ: u32 = 1000;
const BUFFER_BYTES: usize = 1 << 20;
const EVENTS_MAX: usize = 1000;
const THREADS: usize = 5000;

/// Held by each test, because tests count the perf events that this process has open.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sampler; `None` if this machine forbids it, which its rights must report too.
fn allowed(sampler: io::Result<CpuSampler>) -> Option<CpuSampler> {
    let rights = SamplingRights::of_this_process();
    match sampler {
        Ok(sampler) => Some(sampler),
        Err(error) => {
            assert_ne!(rights, SamplingRights::All, "{error}");
            let kinds = [io::ErrorKind::PermissionDenied, io::ErrorKind::Unsupported];
            assert!(kinds.contains(&error.kind()), "{error}");
            println!("not sampled: {rights:?}");
            None
        }
    }
}

/// The samples of this thread.
#[derive(Default)]
struct Seen {
    samples: u64,
    with_kernel: u64,
    with_user: u64,
    last_ns: u64,
}

impl Seen {
    fn take(&mut self, sampler: &mut CpuSampler) {
        let thread = thread_id();
        sampler.drain(|event| {
            let SamplerEvent::Sample(sample) = event else {
                return;
            };
            if (sample.pid, sample.tid) == (std::process::id(), thread) {
                self.samples += 1;
                self.with_kernel += u64::from(!sample.kernel.is_empty());
                self.with_user += u64::from(!sample.user.is_empty());
                self.last_ns = sample.time_ns;
            }
        });
    }
}

/// The ID of this thread in the kernel.
fn thread_id() -> u32 {
    let link = fs::read_link("/proc/thread-self").unwrap();
    link.file_name().unwrap().to_str().unwrap().parse().unwrap()
}

/// The numbers of descriptors and buffers of perf events in this process.
fn open_events() -> (usize, usize) {
    let links = fs::read_dir("/proc/self/fd").unwrap();
    let links = links.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    let is_event = |link: &PathBuf| link.to_string_lossy().contains("[perf_event]");
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let rings = maps.lines().filter(|line| line.contains("[perf_event]"));
    (links.filter(is_event).count(), rings.count())
}

/// Spends this much CPU time of this thread, part of it in system calls.
fn spend(cpu: Nanos, mut between: impl FnMut()) {
    let until = thread_cpu().plus(cpu);
    while thread_cpu() < until {
        for _ in 0..100 {
            fs::metadata("/proc/self").unwrap();
        }
        between();
    }
}

#[test]
fn samples_stand_for_cpu_time() {
    // Method: this thread spends half a second of CPU time, mostly in system calls, sampled by
    // processor, and again by process.
    let _alone = alone();
    let cpus = cpus::allowed().unwrap();
    let pids = [std::process::id()];
    let by_cpu = allowed(CpuSampler::open(&cpus, HZ, BUFFER_BYTES));
    let by_process = allowed(CpuSampler::of_processes(
        &pids,
        &cpus,
        HZ,
        BUFFER_BYTES,
        EVENTS_MAX,
    ));
    for (sampler, sees_kernel) in [(by_cpu, true), (by_process, false)] {
        let Some(mut sampler) = sampler else {
            continue;
        };
        let mut seen = Seen::default();
        let start = Nanos::now();
        sampler.enable().unwrap();
        let before = thread_cpu();
        spend(Nanos(500_000_000), || seen.take(&mut sampler));
        let spent_s = (thread_cpu().0 - before.0) as f64 / 1e9;
        sampler.disable().unwrap();
        seen.take(&mut sampler);
        assert_eq!((sampler.lost(), sampler.throttled()), (0, 0));
        assert!(
            (start.0..Nanos::now().0).contains(&seen.last_ns),
            "{}",
            seen.last_ns
        );
        assert_eq!(seen.with_kernel > 0, sees_kernel);
        assert!(seen.with_user > 0);
        let sampled_s = seen.samples as f64 / f64::from(HZ);
        // User code is the smaller part, and there are no more samples than CPU time.
        let shares = if sees_kernel { 0.85..1.15 } else { 0.0..0.85 };
        let share = sampled_s / spent_s;
        assert!(shares.contains(&share), "{sampled_s} s of {spent_s} s");
    }
}

#[test]
fn nothing_is_sampled_before_enabling_and_after_disabling() {
    // Method: CPU time is spent before the sampler is enabled, and after it is disabled.
    let _alone = alone();
    let Some(mut sampler) = allowed(CpuSampler::open(
        &cpus::allowed().unwrap(),
        HZ,
        BUFFER_BYTES,
    )) else {
        return;
    };
    let mut seen = Seen::default();
    spend(Nanos(50_000_000), || seen.take(&mut sampler));
    assert_eq!(seen.samples, 0);
    sampler.enable().unwrap();
    sampler.disable().unwrap();
    seen.take(&mut sampler);
    seen.samples = 0;
    spend(Nanos(50_000_000), || seen.take(&mut sampler));
    assert_eq!(seen.samples, 0);
}

#[test]
fn samples_lost_to_a_full_buffer_are_counted() {
    // Method: a buffer of one page, which is not drained during half a second of CPU time.
    let _alone = alone();
    let Some(mut sampler) = allowed(CpuSampler::open(&cpus::allowed().unwrap(), HZ, 1)) else {
        return;
    };
    sampler.enable().unwrap();
    spend(Nanos(500_000_000), || {});
    let mut seen = Seen::default();
    seen.take(&mut sampler);
    // The kernel reports lost samples with the next one that finds room.
    spend(Nanos(20_000_000), || {});
    seen.take(&mut sampler);
    assert!(sampler.lost() > 100, "{}", sampler.lost());
}

#[test]
fn the_life_of_a_process_is_reported() {
    // Method: a shell that starts a program and ends, while all processors are sampled.
    let _alone = alone();
    let Some(mut sampler) = allowed(CpuSampler::open(
        &cpus::allowed().unwrap(),
        HZ,
        BUFFER_BYTES,
    )) else {
        return;
    };
    sampler.enable().unwrap();
    let mut shell = Command::new("/bin/sh")
        .args(["-c", "/bin/true; exit 0"])
        .spawn()
        .unwrap();
    let shell_pid = shell.id();
    assert!(shell.wait().unwrap().success());
    sampler.disable().unwrap();
    let mut events = BTreeSet::new();
    let mut child_pid = 0;
    sampler.drain(|event| {
        events.insert(match event {
            SamplerEvent::Fork { parent, child } if parent == shell_pid => {
                child_pid = child;
                "starts"
            }
            SamplerEvent::Exec { pid } if pid == shell_pid => "is the shell",
            SamplerEvent::Exec { pid } if pid == child_pid => "is the program",
            SamplerEvent::Mapping(file)
                if file.pid == child_pid && file.path.ends_with(b"/true") =>
            {
                assert!(file.len > 0 && file.inode > 0, "{file:?}");
                "maps the program"
            }
            SamplerEvent::Exit { pid } if pid == child_pid => "program ends",
            SamplerEvent::Exit { pid } if pid == shell_pid => "shell ends",
            _ => "other",
        });
    });
    for event in [
        "starts",
        "is the shell",
        "is the program",
        "maps the program",
        "program ends",
        "shell ends",
    ] {
        assert!(events.contains(event), "{event} is not in {events:?}");
    }
}

#[test]
fn a_dropped_sampler_leaves_nothing_open() {
    // Method: descriptors and buffers of perf events during the life of both kinds of sampler
    // and of one that may open no event, and after they are dropped.
    let _alone = alone();
    let cpus = cpus::allowed().unwrap();
    let pids = [std::process::id()];
    let Some(by_cpu) = allowed(CpuSampler::open(&cpus, HZ, BUFFER_BYTES)) else {
        return;
    };
    let by_process = CpuSampler::of_processes(&pids, &cpus, HZ, BUFFER_BYTES, EVENTS_MAX).unwrap();
    let added = 2 * cpus.len();
    let (events, rings) = open_events();
    assert!(events >= added && rings == added, "{events} {rings}");
    let empty = CpuSampler::of_processes(&pids, &cpus, HZ, BUFFER_BYTES, 0).unwrap();
    assert!(empty.threads_left_out() >= 1);
    assert_eq!(open_events(), (events, rings));
    drop((by_cpu, by_process, empty));
    assert_eq!(open_events(), (0, 0));
}

/// A sampler of these processes' user code that opens at most `events_max` events.
fn of_processes(pids: &[u32], events_max: usize) -> Option<CpuSampler> {
    let cpus = cpus::allowed().unwrap();
    allowed(CpuSampler::of_processes(
        pids,
        &cpus,
        HZ,
        BUFFER_BYTES,
        events_max,
    ))
}

#[test]
fn a_thread_that_starts_later_is_sampled() {
    // Method: a thread that spends CPU time in user code, started after the sampler was opened.
    let _alone = alone();
    let Some(mut sampler) = of_processes(&[std::process::id()], EVENTS_MAX) else {
        return;
    };
    sampler.enable().unwrap();
    let later = thread::spawn(|| {
        let until = thread_cpu().plus(Nanos(200_000_000));
        let mut sum = 0_u64;
        while thread_cpu() < until {
            sum = (0..100_000).fold(sum, |sum, n| black_box(sum ^ n));
        }
        thread_id()
    });
    let tid = later.join().unwrap();
    sampler.disable().unwrap();
    let mut samples = 0;
    sampler.drain(|event| {
        samples += u64::from(matches!(event, SamplerEvent::Sample(sample) if sample.tid == tid));
    });
    assert!(samples > 50, "{samples}");
}

#[test]
fn the_busiest_of_too_many_threads_are_sampled() {
    // Method: 5,000 waiting threads, and descriptors for 100; this thread has used more CPU time
    // than any of them.
    let _alone = alone();
    let cpus = cpus::allowed().unwrap().len();
    spend(Nanos(50_000_000), || {});
    let gate = Barrier::new(THREADS + 1);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            let builder = thread::Builder::new().stack_size(64 << 10);
            builder.spawn_scoped(scope, || gate.wait()).unwrap();
        }
        if let Some(mut sampler) = of_processes(&[std::process::id()], 100 * cpus) {
            let left_out = sampler.threads_left_out();
            assert!(
                (THREADS - 100..THREADS + 100).contains(&left_out),
                "{left_out}"
            );
            assert!(open_events().0 <= 100 * cpus);
            let mut seen = Seen::default();
            sampler.enable().unwrap();
            spend(Nanos(200_000_000), || seen.take(&mut sampler));
            assert!(seen.samples > 0);
        }
        gate.wait();
    });
    assert_eq!(open_events(), (0, 0));
}

#[test]
fn a_process_that_forks_and_dies_while_sampled_leaves_no_events_open() {
    // Method: a shell that starts one program after another, killed once some of them were
    // seen; then a sampler of a process that no longer exists.
    let _alone = alone();
    let mut shell = Command::new("/bin/sh")
        .args(["-c", "while :; do /bin/true; done"])
        .spawn()
        .unwrap();
    let pids = [shell.id()];
    let mut programs = 0;
    if let Some(mut sampler) = of_processes(&pids, EVENTS_MAX) {
        sampler.enable().unwrap();
        while programs < 20 {
            sampler
                .drain(|event| programs += u64::from(matches!(event, SamplerEvent::Exec { .. })));
        }
        shell.kill().unwrap();
        shell.wait().unwrap();
        sampler.disable().unwrap();
        let mut has_ended = false;
        sampler.drain(|event| has_ended |= event == SamplerEvent::Exit { pid: pids[0] });
        assert!(has_ended);
        let gone = of_processes(&pids, EVENTS_MAX).unwrap();
        assert_eq!((gone.threads_left_out(), gone.lost()), (0, 0));
    } else {
        shell.kill().unwrap();
        shell.wait().unwrap();
    }
    assert_eq!(open_events(), (0, 0));
}

#[test]
fn a_waiting_thread_is_seen_to_leave_its_processor_and_return() {
    // Method: a thread of this process sleeps 20 times for a millisecond. Each time it leaves its
    // processor with kernel frames on its stack, and comes back later.
    let _alone = alone();
    let cpus = cpus::allowed().unwrap();
    let sampler = CpuSampler::of_switches(&cpus, BUFFER_BYTES);
    let Some(mut sampler) = allowed(sampler) else {
        return;
    };
    sampler.enable().unwrap();
    let sleeper = thread::spawn(|| {
        (0..20).for_each(|_| thread::sleep(std::time::Duration::from_millis(1)));
        thread_id()
    });
    let sleeper = sleeper.join().unwrap();
    sampler.disable().unwrap();
    let (mut samples, mut waits, mut left_ns) = (0, 0, None);
    sampler.drain(|event| match event {
        SamplerEvent::Sample(sample) if sample.tid == sleeper => {
            assert!(!sample.kernel.is_empty() && sample.user.is_empty());
            samples += 1;
        }
        SamplerEvent::Switch(switch) if switch.tid == sleeper => match switch.direction {
            SwitchDirection::Out => left_ns = Some(switch.time_ns),
            SwitchDirection::Preempted => left_ns = None,
            SwitchDirection::In => {
                let waited_ns = left_ns.take().map(|left_ns| switch.time_ns - left_ns);
                waits += u32::from(waited_ns >= Some(1_000_000));
            }
        },
        _ => {}
    });
    assert_eq!(sampler.lost(), 0);
    assert!(samples >= 20 && waits == 20, "{samples} {waits}");
}
