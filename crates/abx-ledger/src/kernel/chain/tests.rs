use super::*;

/// Checks lines of chains, which are written outermost first, as in a profile: lines of
/// `LINE: CHAIN`, in which `X86_64`, `INTERRUPT` and `ARM64` stand for the outer frames.
fn check(cases: &str) {
    for case in cases.lines() {
        let (line, chain) = case.split_once(": ").unwrap();
        let chain = chain
            .replace("X86_64", "entry_SYSCALL_64_after_hwframe do_syscall_64")
            .replace(
                "INTERRUPT",
                "asm_sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt",
            )
            .replace(
                "ARM64",
                "el0t_64_sync el0t_64_sync_handler el0_svc do_el0_svc el0_svc_common.constprop.0",
            );
        let charged = line_of_kernel_chain(chain.split(' ').rev());
        assert_eq!(charged.to_string(), line, "{chain}");
    }
}

#[test]
fn system_calls_of_x86_are_known_by_the_called_function() {
    // Method: chains as perf recorded them under Linux 6.18 on x86_64, with nginx under load
    // next to compilers.
    check(
        "\
system call openat: X86_64 __x64_sys_openat do_sys_openat2
system call close: X86_64 x64_sys_call __x64_sys_close srso_alias_return_thunk
entry and exit of system calls: X86_64 srso_alias_return_thunk srso_alias_safe_ret
system call close: X86_64 x64_sys_call __x64_sys_close
system call writev: X86_64 do_writev vfs_writev tcp_sendmsg
system call read: X86_64 ksys_read vfs_read
system call epoll_wait: X86_64 __x64_sys_epoll_wait ep_poll schedule finish_task_switch.isra.0
system call writev: X86_64 do_writev __local_bh_enable_ip do_softirq handle_softirqs tcp_v4_rcv
entry and exit of system calls: X86_64
entry and exit of system calls: X86_64 x64_sys_call
entry and exit of system calls: X86_64 exit_to_user_mode_loop
entry and exit of system calls: X86_64 syscall_trace_enter __secure_computing __seccomp_filter
entry and exit of system calls: entry_SYSCALL_64_safe_stack
scheduling: X86_64 exit_to_user_mode_loop schedule __schedule
system call close: X86_64 exit_to_user_mode_loop task_work_run ____fput __fput
other kernel: X86_64 exit_to_user_mode_loop task_work_run task_numa_work
other kernel: X86_64 a_function_that_is_no_call",
    );
}

#[test]
fn the_innermost_entry_of_x86_counts() {
    // Method: as above, with interrupts and faults of user code and of the kernel.
    check(
        "\
interrupts: INTERRUPT __irq_exit_rcu handle_softirqs run_timer_softirq tcp_write_timer
interrupts: X86_64 do_writev tcp_sendmsg INTERRUPT __irq_exit_rcu handle_softirqs tcp_v4_rcv
interrupts: asm_common_interrupt common_interrupt
page faults: asm_exc_page_fault exc_page_fault lock_vma_under_rcu
page faults: X86_64 ksys_read copy_page_to_iter asm_exc_page_fault exc_page_fault
scheduling: INTERRUPT irqentry_exit preempt_schedule_irq __schedule
scheduling: asm_sysvec_apic_timer_interrupt irqentry_exit_to_user_mode schedule __schedule
scheduling: asm_exc_page_fault irqentry_exit_to_user_mode schedule
scheduling: ret_from_fork_asm ret_from_fork schedule_tail
other kernel: ret_from_fork_asm ret_from_fork kthread kswapd
other kernel: asm_exc_nmi exc_nmi",
    );
}

#[test]
fn chains_of_arm64_are_charged_to_the_reason_of_their_entry() {
    // Method: chains after `arch/arm64/kernel/entry-common.c` and `syscall.c` of Linux 6.
    check(
        "\
system call openat: ARM64 invoke_syscall.constprop.0 __arm64_sys_openat do_sys_openat2
system call write: ARM64 invoke_syscall ksys_write vfs_write
entry and exit of system calls: ARM64
entry and exit of system calls: el0t_64_sync
interrupts: ARM64 invoke_syscall ksys_write el1h_64_irq el1h_64_irq_handler el1_interrupt
interrupts: el0t_64_irq el0t_64_irq_handler __el0_irq_handler_common el0_interrupt
scheduling: ARM64 invoke_syscall ksys_write el1h_64_irq el1_interrupt arm64_preempt_schedule_irq
scheduling: el0t_64_sync el0t_64_sync_handler el0_svc exit_to_user_mode_loop schedule
page faults: el0t_64_sync el0t_64_sync_handler el0_da do_mem_abort do_page_fault",
    );
}

#[test]
fn a_chain_without_an_entry_is_other_kernel() {
    // Method: functions without names, and a chain that was cut.
    check("other kernel: \nother kernel: vfs_read ext4_file_read_iter");
}
