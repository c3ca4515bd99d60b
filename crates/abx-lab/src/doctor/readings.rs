//! Properties that the machine reports, as far as they bear on a comparison.

use abx_ledger::Kallsyms;
use abx_sys::Nanos;
use abx_sys::bpf::CallCounter;
use abx_sys::conditions::{self, Conditions};
use abx_sys::cpus::CpuSplit;
use abx_sys::machine::Machine;
use abx_sys::perf::{self, SamplingRights};
use abx_verdict::doctor::{Pressure, Quota, Readings, Sampling, SamplingReach};

/// Readings of the clock per batch. The quickest batch counts, since slower ones were interrupted.
const READINGS: u64 = 1_000;
const BATCHES: usize = 20;

pub(super) fn read() -> Readings {
    let machine = Machine::read();
    let cpus = abx_sys::cpus::allowed().unwrap_or_default();
    let conditions = Conditions::read(&cpus);
    let cores = abx_sys::cpus::cores(&cpus);
    let split = CpuSplit::of(&cores);
    let descriptors = abx_sys::limits::descriptor_limit();
    let ports = abx_sys::ports::candidates();
    Readings {
        cpu_model: machine.cpu_model,
        kernel: machine.kernel,
        cpus_online: machine.cpus,
        cpus,
        cores,
        subject_cpus: split.subjects,
        generator_cpus: split.generator,
        quota: conditions.quota.map(|quota| match quota {
            conditions::Quota::Unlimited => Quota::Unlimited,
            conditions::Quota::Cpus(cpus) => Quota::Cpus(cpus),
        }),
        memory_bytes: machine.memory_bytes,
        memory_available_bytes: conditions.memory_available_bytes,
        is_virtual: machine.virtualised,
        halt_poll_ns: conditions.halt_poll_ns,
        clocksource: machine.clocksource,
        clocksources: conditions.clocksources,
        clock_reading_ns: clock_reading_ns(),
        governors: conditions.governors,
        descriptors_soft: descriptors.soft,
        descriptors_hard: descriptors.hard,
        local_ports: machine.ip_local_port_range,
        subject_ports_refused: ports.err().map(|error| error.to_string()),
        somaxconn: machine.somaxconn,
        tcp_max_syn_backlog: machine.tcp_max_syn_backlog,
        pressure: conditions.pressure.map(|pressure| Pressure {
            cpu: pressure.cpu,
            memory: pressure.memory,
            io: pressure.io,
        }),
        sampling: Some(sampling()),
    }
}

/// The rights of `--why` to sample.
fn sampling() -> Sampling {
    let (reach, limit) = match SamplingRights::of_this_process() {
        SamplingRights::All => (SamplingReach::All, None),
        SamplingRights::OwnUserOnly(limit) => (SamplingReach::OwnCode, Some(limit)),
        SamplingRights::None(limit) => (SamplingReach::Nothing, Some(limit)),
    };
    let kallsyms = Kallsyms::of_this_machine();
    Sampling {
        reach,
        limit: limit.map(|limit| limit.to_string()),
        calls_limit: CallCounter::open().err().map(|limit| limit.to_string()),
        has_kernel_names: kallsyms.is_ok_and(|kallsyms| !kallsyms.is_hidden()),
        perf_event_paranoid: perf::paranoid(),
        kptr_restrict: perf::kptr_restrict(),
    }
}

/// The cost of one reading of the clock, in ns.
fn clock_reading_ns() -> f64 {
    let batches = (0..BATCHES).map(|_| {
        let began = Nanos::now();
        for _ in 1..READINGS {
            std::hint::black_box(Nanos::now());
        }
        Nanos::now().since(began).0
    });
    batches.min().unwrap_or_default() as f64 / READINGS as f64
}
