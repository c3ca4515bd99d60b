//! The reason for which the kernel was entered, by the functions of a call chain.
//!
//! The innermost entry counts: an interrupt inside a system call is an interrupt. Softirq work
//! that a system call starts itself is part of that call rather than an entry.
//! The names are those of Linux 6: `arch/x86/entry/`, `arch/arm64/kernel/entry-common.c` and
//! `arch/arm64/kernel/entry.S`.

use super::system_call::system_call;
use crate::Line;

/// The line of a chain of the kernel's functions, innermost first. Functions without a name are
/// empty.
#[must_use]
pub fn line_of_kernel_chain<'a>(functions: impl IntoIterator<Item = &'a str>) -> Line {
    line_of_chain(functions, Switches::AreWork)
}

/// The line of a chain in which a thread leaves its CPU: what it waits in.
pub(super) fn line_of_wait<'a>(functions: impl IntoIterator<Item = &'a str>) -> Line {
    line_of_chain(functions, Switches::AreWaits)
}

/// The meaning of a change of threads in a page fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Switches {
    /// The change itself takes CPU time.
    AreWork,
    /// The fault waits, such as for a disk.
    AreWaits,
}

fn line_of_chain<'a>(functions: impl IntoIterator<Item = &'a str>, switches: Switches) -> Line {
    let mut inner: Vec<&str> = Vec::new();
    for function in functions {
        // The compiler's copies and parts of a function: `finish_task_switch.isra.0`.
        let function = function.split('.').next().unwrap_or(function);
        match kind(function) {
            EntryKind::SystemCall => return line_of_system_call(&inner),
            EntryKind::Fault if switches == Switches::AreWork && is_switch(&inner) => {
                return Line::Scheduling;
            }
            EntryKind::Fault => return Line::PageFaults,
            EntryKind::Interrupt if is_switch(&inner) => return Line::Scheduling,
            EntryKind::Interrupt => return Line::Interrupts,
            EntryKind::Thread if is_of_kernel_thread(&inner) => return Line::Kernel,
            EntryKind::Thread => return Line::Scheduling,
            EntryKind::Stub => return Line::SystemCallEntry,
            EntryKind::None => inner.push(function),
        }
    }
    Line::Kernel
}

/// The kind of entry that a function shows.
#[derive(Debug, Clone, Copy)]
enum EntryKind {
    /// It calls the function of a system call.
    SystemCall,
    Fault,
    Interrupt,
    /// A thread begins.
    Thread,
    /// The first instructions of all entries from user code.
    Stub,
    None,
}

fn kind(function: &str) -> EntryKind {
    if DISPATCHERS.contains(&function) {
        EntryKind::SystemCall
    } else if FAULTS.contains(&function) {
        EntryKind::Fault
    } else if INTERRUPTS.contains(&function)
        || INTERRUPT_PREFIXES
            .iter()
            .any(|prefix| function.starts_with(prefix))
    {
        EntryKind::Interrupt
    } else if function.starts_with("ret_from_fork") {
        EntryKind::Thread
    } else if STUBS.iter().any(|prefix| function.starts_with(prefix)) {
        EntryKind::Stub
    } else {
        EntryKind::None
    }
}

/// `inner` are the functions that the dispatcher called, innermost first.
fn line_of_system_call(inner: &[&str]) -> Line {
    let is_between = |name: &str| TABLES.contains(&name) || is_thunk(name);
    let mut from_outside = inner.iter().rev().filter(|name| !is_between(name));
    match from_outside.next() {
        None => Line::SystemCallEntry,
        Some(name) if EXITS.contains(name) => line_of_exit(inner),
        Some(name) if ENTRIES.iter().any(|prefix| name.starts_with(prefix)) => {
            Line::SystemCallEntry
        }
        Some(name) => system_call(name).map_or(Line::Kernel, Line::system_call),
    }
}

/// Whether a function only jumps or returns, in a way that the processor does not speculate on.
fn is_thunk(name: &str) -> bool {
    name.contains("_thunk") || name.ends_with("_safe_ret")
}

/// The line of the work that the kernel does before it returns to user code.
fn line_of_exit(inner: &[&str]) -> Line {
    if is_switch(inner) {
        return Line::Scheduling;
    }
    if inner.contains(&"__fput") || inner.contains(&"____fput") {
        // The last close of a file does its work here, before Linux 6.6 always.
        return Line::system_call("close");
    }
    if inner.contains(&"task_work_run") || inner.contains(&"arch_do_signal_or_restart") {
        return Line::Kernel;
    }
    Line::SystemCallEntry
}

/// Whether these functions switch to another thread.
fn is_switch(inner: &[&str]) -> bool {
    inner.iter().any(|name| SWITCHES.contains(name))
}

fn is_of_kernel_thread(inner: &[&str]) -> bool {
    inner.iter().any(|name| KERNEL_THREADS.contains(name))
}

/// Functions that look the system call up.
const DISPATCHERS: [&str; 12] = [
    "do_syscall_64",
    "do_int80_syscall_32",
    "do_int80_emulation",
    "int80_emulation",
    "do_fast_syscall_32",
    "__do_fast_syscall_32",
    "do_SYSENTER_32",
    "do_el0_svc",
    "do_el0_svc_compat",
    "el0_svc_common",
    "el0_svc",
    "el0_svc_compat",
];

/// Functions between a dispatcher and the system call's function.
const TABLES: [&str; 4] = [
    "x64_sys_call",
    "x32_sys_call",
    "ia32_sys_call",
    "invoke_syscall",
];

/// Prefixes of functions that run before the system call: tracing and filters.
const ENTRIES: [&str; 6] = [
    "syscall_enter_from_user_mode",
    "syscall_trace_enter",
    "trace_syscall_enter",
    "__secure_computing",
    "enter_from_user_mode",
    "__seccomp_filter",
];

/// Functions that run after the system call.
const EXITS: [&str; 9] = [
    "syscall_exit_to_user_mode",
    "__syscall_exit_to_user_mode_work",
    "syscall_exit_to_user_mode_prepare",
    "syscall_exit_work",
    "exit_to_user_mode_loop",
    "exit_to_user_mode_prepare",
    "exit_to_user_mode",
    "do_notify_resume",
    "__rseq_handle_notify_resume",
];

const FAULTS: [&str; 14] = [
    "asm_exc_page_fault",
    "exc_page_fault",
    "do_user_addr_fault",
    "do_kern_addr_fault",
    "el0_da",
    "el0_ia",
    "el0t_64_sync_da",
    "el1_abort",
    "do_mem_abort",
    "do_page_fault",
    "do_translation_fault",
    "el0_sp",
    "el0_pc",
    "el0_mops",
];

const INTERRUPTS: [&str; 10] = [
    "common_interrupt",
    "asm_common_interrupt",
    "spurious_interrupt",
    "asm_spurious_interrupt",
    "fred_extint",
    "el0_interrupt",
    "el1_interrupt",
    "__el0_irq_handler_common",
    "handle_arch_irq",
    "gic_handle_irq",
];

const INTERRUPT_PREFIXES: [&str; 11] = [
    "asm_sysvec_",
    "sysvec_",
    "fred_sysvec_",
    "el0t_64_irq",
    "el0t_64_fiq",
    "el0t_32_irq",
    "el0t_32_fiq",
    "el1h_64_irq",
    "el1h_64_fiq",
    "el1t_64_irq",
    "el1t_64_fiq",
];

/// Prefixes of entry code.
const STUBS: [&str; 9] = [
    "asm_fred_entrypoint_",
    "fred_entry_from_user",
    "entry_SYSCALL_",
    "entry_SYSRETQ_",
    "entry_SYSENTER_",
    "entry_INT80_",
    "syscall_return_via_sysret",
    "el0t_64_sync",
    "el0t_32_sync",
];

/// Functions that choose the next thread, or that a chosen thread runs first.
const SWITCHES: [&str; 7] = [
    "schedule",
    "__schedule",
    "preempt_schedule_irq",
    "arm64_preempt_schedule_irq",
    "raw_irqentry_exit_cond_resched",
    "__rseq_handle_notify_resume",
    "schedule_tail",
];

/// The main functions of kernel threads.
const KERNEL_THREADS: [&str; 6] = [
    "kthread",
    "io_wq_worker",
    "io_sq_thread",
    "vhost_task_fn",
    "call_usermodehelper_exec_async",
    "kernel_init",
];

#[cfg(test)]
mod tests;
