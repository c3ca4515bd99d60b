//! Programs that spend their time in known ways.

use std::fs::File;
use std::io::{self, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use abx_ledger::{CodeMapping, Collector, Kallsyms, Ledger, Line, Symbols};
use abx_sys::cpus;
use abx_sys::perf::{CpuSampler, SamplerEvent, SamplingRights};

const HZ: u32 = 1999;
const BUFFER_BYTES: usize = 1 << 20;

/// A program that is ended with its process group.
struct Program(Child);

impl Program {
    fn start(program: &str, arguments: &[&str]) -> Program {
        let mut command = Command::new(program);
        command.args(arguments).process_group(0);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Program(command.spawn().unwrap())
    }

    /// CPU time in seconds, of the program and of the children that it waited for.
    fn cpu_s(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        let fields: Vec<&str> = stat
            .rsplit_once(')')
            .unwrap()
            .1
            .split_whitespace()
            .collect();
        let ticks: u64 = fields[11..15]
            .iter()
            .map(|field| field.parse::<u64>().unwrap())
            .sum();
        // The kernel's USER_HZ, on every 64-bit machine.
        ticks as f64 / 100.0
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.0.wait();
    }
}

/// Samples a program until it has had this much CPU time. `None` if this machine forbids it.
fn sampled(program: &Program, cpu_s: f64) -> Option<(Ledger, f64)> {
    let cpus = cpus::allowed().unwrap();
    let mut sampler = match CpuSampler::open(&cpus, HZ, BUFFER_BYTES) {
        Ok(sampler) => sampler,
        Err(error) => {
            // Opening may only fail if the machine forbids it.
            assert_ne!(
                SamplingRights::of_this_process(),
                SamplingRights::All,
                "{error}"
            );
            assert!(
                matches!(
                    error.kind(),
                    io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported
                ),
                "{error}"
            );
            println!("this machine allows no samples of whole processors: {error}");
            return None;
        }
    };
    let kallsyms = Kallsyms::parse(BufReader::new(File::open("/proc/kallsyms").unwrap())).unwrap();
    let pid = program.0.id();
    let mut collector = Collector::new(Arc::new(kallsyms), |candidate| candidate == pid);
    let before = program.cpu_s();
    sampler.enable().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while program.cpu_s() - before < cpu_s {
        assert!(
            Instant::now() < deadline,
            "the program gets too little CPU time"
        );
        std::thread::sleep(Duration::from_millis(20));
        sampler.drain(|event| collect(&mut collector, event));
    }
    sampler.disable().unwrap();
    let used_s = program.cpu_s() - before;
    sampler.drain(|event| collect(&mut collector, event));
    assert_eq!((sampler.lost(), sampler.throttled()), (0, 0));
    let ledger = collector.finish(&Symbols::new(), 1000);
    assert_eq!(ledger.samples, ledger.lines.values().sum::<u64>());
    assert_eq!(ledger.samples, ledger.stacks.samples());
    println!("{:?}", ledger.lines);
    Some((ledger, used_s))
}

fn collect<F: Fn(u32) -> bool>(collector: &mut Collector<F>, event: SamplerEvent<'_>) {
    match event {
        SamplerEvent::Sample(sample) => {
            collector.sample([sample.pid, sample.tid], sample.kernel, sample.user);
        }
        SamplerEvent::Mapping(file) => {
            let mapping = CodeMapping {
                start: file.start,
                len: file.len,
                offset: file.offset,
                inode: file.inode,
                path: file.path,
            };
            collector.mapping(file.pid, &mapping);
        }
        SamplerEvent::Fork { parent, child } => collector.fork(parent, child),
        SamplerEvent::Exec { pid } => collector.exec(pid),
        SamplerEvent::Exit { pid } => collector.exit(pid),
        SamplerEvent::Switch(_) => {}
    }
}

/// The share of all samples that a line has.
fn share(ledger: &Ledger, line: &Line) -> f64 {
    ledger.lines.get(line).copied().unwrap_or(0) as f64 / ledger.samples as f64
}

/// The line with the most samples.
fn largest_line(ledger: &Ledger) -> &Line {
    let line = ledger.lines.iter().max_by_key(|(_, samples)| **samples);
    line.unwrap().0
}

/// Checks that the samples add up to the CPU time that the kernel counts.
fn check_sum(ledger: &Ledger, cpu_s: f64) {
    let sampled_s = ledger.samples as f64 / f64::from(HZ);
    let difference = sampled_s / cpu_s - 1.0;
    assert!(difference.abs() < 0.15, "{sampled_s} s of {cpu_s} s");
}

#[test]
fn system_calls_of_single_bytes_take_most_of_the_time() {
    // Method: dd copies single bytes. Samples outside its code are in read and write, by name.
    let program = Program::start("dd", &["if=/dev/zero", "of=/dev/null", "bs=1"]);
    let Some((ledger, cpu_s)) = sampled(&program, 2.0) else {
        return;
    };
    check_sum(&ledger, cpu_s);
    let calls = ["read", "write"].map(Line::system_call);
    let call_shares = calls.map(|call| share(&ledger, &call));
    assert!(call_shares.iter().all(|share| *share > 0.1), "{ledger:?}");
    let user_share: f64 = ledger
        .lines
        .keys()
        .filter(|line| matches!(line, Line::User(_)))
        .map(|line| share(&ledger, line))
        .sum();
    let rest = 1.0 - user_share - call_shares.iter().sum::<f64>();
    assert!(rest < 0.1, "{ledger:?}");
}

#[test]
fn a_loop_of_user_code_is_charged_to_its_program() {
    // Method: a shell with an endless empty loop.
    let shell = std::fs::canonicalize("/bin/sh").unwrap();
    let shell = shell.file_name().unwrap().to_str().unwrap();
    let program = Program::start("/bin/sh", &["-c", "while :; do :; done"]);
    let Some((ledger, cpu_s)) = sampled(&program, 1.0) else {
        return;
    };
    check_sum(&ledger, cpu_s);
    assert_eq!(largest_line(&ledger), &Line::user(shell));
}

#[test]
fn programs_that_start_and_end_during_sampling_count() {
    // Method: a shell starts programs that end at once, in an endless loop; they spend their time
    // on starting and ending.
    let script = "while :; do /bin/true; done";
    let program = Program::start("/bin/sh", &["-c", script]);
    let Some((ledger, cpu_s)) = sampled(&program, 2.0) else {
        return;
    };
    check_sum(&ledger, cpu_s);
    for call in ["execve", "mmap", "exit_group"] {
        assert!(
            share(&ledger, &Line::system_call(call)) > 0.0,
            "{call} is not in {:?}",
            ledger.lines
        );
    }
    // A hypervisor that maps memory late makes the instructions slow that touch it first.
    assert!(
        share(&ledger, &Line::PageFaults) > 0.02,
        "{:?}",
        ledger.lines
    );
    assert!(
        share(&ledger, &Line::Unattributed) < 0.02,
        "{:?}",
        ledger.lines
    );
}
