use std::cell::Cell;

use super::*;

/// Kernel functions of 16 bytes each, from address 4096.
const FUNCTIONS: [&str; 5] = [
    "vfs_read",
    "ksys_read",
    "do_syscall_64",
    "asm_exc_page_fault",
    "exc_page_fault",
];

fn kallsyms() -> Arc<Kallsyms> {
    let lines = FUNCTIONS.iter().enumerate();
    let list: Vec<String> = lines
        .map(|(number, name)| format!("{:x} T {name}\n", 0x1000 + 16 * number))
        .collect();
    Arc::new(Kallsyms::parse(list.concat().as_bytes()).unwrap())
}

/// The addresses of a chain of these functions, innermost first. Addresses of callers are after
/// the last byte of their function's call.
fn kernel(functions: &[&str]) -> Vec<u64> {
    let address = |(depth, name): (usize, &&str)| {
        let number = FUNCTIONS.iter().position(|known| known == name).unwrap() as u64;
        0x1000 + 16 * number + if depth == 0 { 0 } else { 16 }
    };
    functions.iter().enumerate().map(address).collect()
}

fn code(start: u64, path: &str) -> CodeMapping<'_> {
    CodeMapping {
        start,
        len: 0x1000,
        offset: 0,
        inode: 1,
        path: path.as_bytes(),
    }
}

fn text(ledger: &Ledger) -> String {
    ledger.stacks.to_text(&[])
}

/// A process that does not exist, so that its memory is only known from events.
const PID: u32 = u32::MAX - 1;

#[test]
fn each_sample_is_charged_to_one_line() {
    // Method: samples of each kind, of a process whose memory is known from events; and of another
    // that is not a member.
    let mut collector = Collector::new(kallsyms(), |pid| pid == PID);
    collector.sample([PID; 2], &[], &[]);
    collector.mapping(PID, &code(0x10_0000, "/none/server"));
    collector.mapping(PID, &code(0x20_0000, ""));
    collector.mapping(PID, &code(0x30_0000, "[vdso]"));
    let read = kernel(&["vfs_read", "ksys_read", "do_syscall_64"]);
    let fault = kernel(&["exc_page_fault", "asm_exc_page_fault"]);
    for (kernel, user) in [
        (&read[..], &[0x10_0010, 0x10_0100, 0x77_0000, 0x10_0200][..]),
        (&fault, &[0x10_0020]),
        (&[], &[0x10_0030, 0x20_0010]),
        (&[], &[0x20_0030, 0x10_0100]),
        (&[], &[0x30_0030]),
        (&[], &[0x77_0000]),
        (&kernel(&["do_syscall_64"]), &[0x10_0010]),
        (&kernel(&["do_syscall_64"]), &[0x10_0050]),
    ] {
        collector.sample([PID; 2], kernel, user);
        collector.sample([1; 2], kernel, user);
    }
    let ledger = collector.finish(&Symbols::new(), 100);
    assert_eq!(ledger.by_thread.values().sum::<u64>(), ledger.samples);
    let lines: Vec<String> = ledger
        .lines
        .iter()
        .map(|(line, samples)| format!("{line} {samples}"))
        .collect();
    assert_eq!(
        lines,
        [
            "system call read 2",
            "entry and exit of system calls 1",
            "user JIT code 1",
            "user [vdso] 1",
            "user server 1",
            "page faults 1",
            "unattributed 2",
        ]
    );
    assert_eq!((ledger.samples, ledger.stacks.samples()), (9, 9));
    assert_eq!(ledger.without_symbols, 2);
    let stacks = text(&ledger);
    for stack in [
        "[server];do_syscall_64;ksys_read;vfs_read 1",
        "[server];asm_exc_page_fault;exc_page_fault 1",
        "[JIT code];[server] 1",
        "[server];[JIT code] 1",
        "[vdso] 1",
        "[unknown] 2",
    ] {
        assert!(
            stacks.lines().any(|line| line == stack),
            "{stack} in\n{stacks}"
        );
    }
}

#[test]
fn functions_of_a_running_program_have_names() {
    // Method: the address of a function of this very test, whose memory is looked up.
    #[inline(never)]
    fn a_function_of_the_test() -> u64 {
        std::hint::black_box(7)
    }
    let address = a_function_of_the_test as fn() -> u64 as usize as u64;
    assert_eq!(a_function_of_the_test(), 7);
    let own_pid = std::process::id();
    let mut collector = Collector::new(kallsyms(), |pid| pid == own_pid);
    collector.sample([own_pid; 2], &[], &[address]);
    let ledger = collector.finish(&Symbols::new(), 100);
    let stacks = text(&ledger);
    assert!(stacks.contains("a_function_of_the_test"), "{stacks}");
    let lines: Vec<&Line> = ledger.lines.keys().collect();
    assert!(
        matches!(&lines[..], [Line::User(name)] if name.starts_with("abx_ledger")),
        "{lines:?}"
    );
    assert_eq!(ledger.without_symbols, 0);
}

#[test]
fn the_life_of_a_process_is_followed() {
    // Method: a member starts a process that runs another program and ends; its number is
    // used again by a process that does not count.
    let lookups = Cell::new(0);
    let child = PID - 1;
    let mut collector = Collector::new(kallsyms(), |pid| {
        lookups.set(lookups.get() + 1);
        pid == PID
    });
    collector.sample([PID; 2], &[], &[]);
    collector.mapping(PID, &code(0x10_0000, "/none/parent"));
    collector.fork(PID, child);
    collector.sample([child; 2], &[], &[0x10_0010]);
    collector.exec(child);
    collector.mapping(child, &code(0x10_0000, "/none/child"));
    collector.sample([child; 2], &[], &[0x10_0010]);
    collector.sample([PID; 2], &[], &[0x10_0010]);
    collector.exit(child);
    collector.sample([child; 2], &[], &[0x10_0010]);
    assert_eq!(lookups.get(), 1);
    collector.fork(1, child);
    collector.sample([child; 2], &[], &[0x10_0010]);
    let ledger = collector.finish(&Symbols::new(), 100);
    let lines = [
        (Line::user("child"), 2),
        (Line::user("parent"), 2),
        (Line::Unattributed, 1),
    ];
    assert_eq!(ledger.lines, lines.into());
}

#[test]
fn a_kernel_that_hides_its_symbols_is_one_line() {
    // Method: a system call's chain without a list of symbols.
    let mut collector = Collector::new(Arc::default(), |_| true);
    collector.sample([PID; 2], &kernel(&["vfs_read", "do_syscall_64"]), &[]);
    let ledger = collector.finish(&Symbols::new(), 100);
    assert_eq!(ledger.lines, [(Line::WholeKernel, 1)].into());
    assert_eq!(text(&ledger), "[kernel] 1\n");
}

#[test]
fn functions_that_a_program_compiled_have_names() {
    // Method: a list of compiled functions of this very process, anonymous code, and an address
    // that the list does not have.
    let own_pid = std::process::id();
    let list = format!("/tmp/perf-{own_pid}.map");
    std::fs::write(&list, "100010 20 JS:*onRequest /srv/a.js\n").unwrap();
    let mut collector = Collector::new(kallsyms(), |pid| pid == own_pid);
    collector.sample([own_pid; 2], &[], &[]);
    collector.mapping(own_pid, &code(0x10_0000, ""));
    for address in [0x10_0010, 0x10_002f, 0x10_0030] {
        collector.sample([own_pid; 2], &[], &[address]);
    }
    let ledger = collector.finish(&Symbols::new(), 100);
    std::fs::remove_file(&list).unwrap();
    assert_eq!(ledger.lines[&Line::user(Line::JIT_CODE)], 3);
    let stacks = text(&ledger);
    assert!(stacks.contains("JS:*onRequest /srv/a.js 2\n"), "{stacks}");
    assert!(stacks.contains("[JIT code] 1\n"), "{stacks}");
    // The sample without an address does not count as code without a name.
    assert_eq!(ledger.without_symbols, 1);
}

#[test]
fn a_collector_may_be_sent_to_another_thread() {
    // Method: the compiler checks the bound; an empty ledger.
    fn sent<T: Send>(value: T) -> T {
        value
    }
    let collector = sent(Collector::new(kallsyms(), |_| true));
    assert_eq!(collector.finish(&Symbols::new(), 1), Ledger::default());
}
