//! Checks of a machine's settings.

use abx_model::OWN_DESCRIPTORS;

use super::record::{Check, CheckStatus, Pressure, Quota, Readings};

/// The number of descriptors of a thread or server that is enough for usual loads.
const DESCRIPTORS_USUAL: u64 = 16_384;
/// With fewer descriptors, not even small loads and their servers' files are possible.
const DESCRIPTORS_MIN: u64 = 256;
/// Ports of one address: the kernel's default range has 28,232.
const PORTS_USUAL: u64 = 16_384;
/// Connections that are opened at once when a load begins.
const QUEUE_USUAL: u32 = 1_024;
/// Reading a clock takes longer only if it needs a system call.
const CLOCK_READING_MAX_NS: f64 = 150.0;
/// The memory that servers and connections usually need, and the least.
const MEMORY_USUAL: u64 = 1_000_000_000;
const MEMORY_MIN: u64 = 100_000_000;
/// Above this share of waiting, other programs disturb measurements.
const PRESSURE_MAX: f64 = 0.1;

/// The checks of the readings, in their usual order of importance.
pub(super) fn checks(readings: &Readings) -> Vec<Check> {
    vec![
        processors(readings),
        quota(readings),
        pressure(readings.pressure),
        descriptors(readings),
        ports(readings),
        queues(readings),
        memory(readings),
        governor(readings),
        clock(readings),
        machine(readings),
    ]
}

pub(super) fn ok(id: &str, message: impl Into<String>) -> Check {
    Check::new(id, CheckStatus::Ok, message)
}

pub(super) fn limits(id: &str, message: impl Into<String>) -> Check {
    Check::new(id, CheckStatus::Limits, message)
}

fn stops(id: &str, message: impl Into<String>) -> Check {
    Check::new(id, CheckStatus::Stops, message)
}

pub(super) fn not_checked(id: &str, message: &str) -> Check {
    Check::new(id, CheckStatus::NotChecked, message)
}

/// The CPUs that subjects and generator would get.
fn processors(readings: &Readings) -> Check {
    let id = "processors";
    let (cpus, cores) = (&readings.cpus, &readings.cores);
    let siblings = cores.iter().any(|core| core.len() > 1);
    let message = format!(
        "servers get {}, the generator {}{}",
        list(&readings.subject_cpus),
        list(&readings.generator_cpus),
        if siblings {
            "; SMT siblings of one core stay together"
        } else {
            ""
        }
    );
    let online = readings.cpus_online.unwrap_or_default() as usize;
    match (cpus.len(), cores.len()) {
        (0 | 1, _) => {
            let check = limits(
                id,
                "servers and generator share the only CPU: each takes time from the other",
            );
            more(check, online, cpus.len())
        }
        (_, 1) => {
            let message = format!("{message}: both share the only core");
            more(limits(id, message), online, cpus.len())
        }
        (count, _) if online > count => ok(
            id,
            format!("{message}; {count} of {online} CPUs may be used"),
        ),
        _ => ok(id, message),
    }
}

/// Adds the remedy for too few CPUs.
fn more(check: Check, online: usize, allowed: usize) -> Check {
    if online > allowed {
        check
            .remedy(format!(
                "abx may use {allowed} of {online} CPUs: allow it more"
            ))
            .command(format!("taskset -c 0-{} abx compare ...", online - 1))
    } else {
        check.remedy("run on a machine with two cores or more")
    }
}

/// CPUs as text: `processors 0-3,8`.
fn list(cpus: &[usize]) -> String {
    let mut sorted = cpus.to_vec();
    sorted.sort_unstable();
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for cpu in sorted {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => runs.push((cpu, cpu)),
        }
    }
    let runs: Vec<String> = runs
        .into_iter()
        .map(|(first, last)| {
            if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            }
        })
        .collect();
    let noun = match cpus.len() {
        1 => "processor",
        _ => "processors",
    };
    format!("{noun} {}", runs.join(","))
}

fn quota(readings: &Readings) -> Check {
    let id = "quota";
    match readings.quota {
        None => not_checked(
            id,
            "abx cannot read whether a control group limits CPU time",
        ),
        Some(Quota::Unlimited) => ok(id, "no control group limits CPU time"),
        Some(Quota::Cpus(cpus)) if cpus >= readings.cpus.len() as f64 => ok(
            id,
            format!("the control group may use {cpus:.1} CPUs, which is all"),
        ),
        Some(Quota::Cpus(cpus)) => limits(
            id,
            format!(
                "the control group may use {cpus:.1} CPUs, and the kernel throttles it beyond \
                 that: servers and generator then stall alike"
            ),
        )
        .remedy("give the container whole CPUs instead of a share")
        .command("docker run --cpuset-cpus 0-3 ... # and no --cpus"),
    }
}

fn pressure(pressure: Option<Pressure>) -> Check {
    let id = "pressure";
    let Some(Pressure { cpu, memory, io }) = pressure else {
        return not_checked(
            id,
            "abx cannot read the pressure on CPUs, memory and disks: there is no /proc/pressure",
        )
        .remedy("start the kernel with `psi=1`");
    };
    let shares = [cpu, memory, io];
    let [cpu, memory, io] = shares.map(|share| format!("{:.0} %", 100.0 * share));
    let message = format!(
        "in the 10 s before `abx doctor` began, some program waited for a CPU {cpu} of the time, \
         for memory {memory}, for a disk {io}"
    );
    if shares.iter().all(|share| *share <= PRESSURE_MAX) {
        ok(id, message)
    } else {
        limits(id, message)
            .remedy("wait until other programs are done, or close them; the busiest come first:")
            .command("ps -eo pid,pcpu,stat,comm --sort=-pcpu | head")
    }
}

fn descriptors(readings: &Readings) -> Check {
    let id = "descriptors";
    let (soft, hard) = (readings.descriptors_soft, readings.descriptors_hard);
    let connections = match hard {
        u64::MAX => "as many connections as ports allow".to_owned(),
        hard => format!("{} connections", hard.saturating_sub(OWN_DESCRIPTORS)),
    };
    let limit = |value: u64| match value {
        u64::MAX => "no limit".to_owned(),
        value => value.to_string(),
    };
    let message = format!(
        "file descriptors: {} (soft), {} (hard); abx raises its own and its servers' to the hard \
         limit: {connections} per generator thread, and about as many for a server of one process",
        limit(soft),
        limit(hard)
    );
    let raise = |check: Check| {
        check
            .remedy("raise it in this shell (as root), and start abx from there")
            .command("ulimit -n 65536")
    };
    match hard {
        hard if hard < DESCRIPTORS_MIN => raise(stops(id, message)),
        hard if hard < DESCRIPTORS_USUAL => raise(limits(id, message)),
        _ if soft < DESCRIPTORS_USUAL.min(hard) => ok(id, message)
            .remedy("servers that you start yourself get the soft limit; raise it first")
            .command(format!("ulimit -n {}", limit(hard.min(65_536)))),
        _ => ok(id, message),
    }
}

fn ports(readings: &Readings) -> Check {
    let id = "ports";
    let Some((first, last)) = readings.local_ports else {
        return not_checked(
            id,
            "the range of local ports cannot be read: is /proc mounted?",
        );
    };
    let count = u64::from(last.saturating_sub(first)) + 1;
    let message = format!(
        "local ports {first} to {last}: {count} connections from one local address to one \
         server; on this machine abx spreads them over 127.0.0.x"
    );
    // Servers under test get ports below the range, so it must not begin too low.
    let widen = |check: Check| {
        check
            .remedy("set a wide range that leaves ports above 10000 to servers (as root)")
            .command("sysctl -w net.ipv4.ip_local_port_range=\"16384 65535\"")
    };
    match &readings.subject_ports_refused {
        Some(_) => widen(stops(
            id,
            format!("{message}; the range begins so low that too few are left for servers"),
        )),
        None if count < PORTS_USUAL => widen(limits(id, message)),
        None => ok(id, message),
    }
}

fn queues(readings: &Readings) -> Check {
    let id = "queues";
    let (Some(accept), Some(half_open)) = (readings.somaxconn, readings.tcp_max_syn_backlog) else {
        return not_checked(
            id,
            "the lengths of listen queues cannot be read: is /proc mounted?",
        );
    };
    let message = format!(
        "listen queues: {accept} connections to be accepted (somaxconn), {half_open} half open \
         (tcp_max_syn_backlog)"
    );
    if accept >= QUEUE_USUAL && half_open >= QUEUE_USUAL {
        return ok(id, message);
    }
    let message =
        format!("{message}; when more connections come at once, some wait for a second or more");
    let key = if accept < QUEUE_USUAL {
        "net.core.somaxconn"
    } else {
        "net.ipv4.tcp_max_syn_backlog"
    };
    limits(id, message)
        .remedy("lengthen them (as root); a server must request a long queue too")
        .command(format!("sysctl -w {key}=4096"))
}

fn memory(readings: &Readings) -> Check {
    let id = "memory";
    let (Some(total), Some(available)) = (readings.memory_bytes, readings.memory_available_bytes)
    else {
        return not_checked(id, "memory cannot be read: is /proc mounted?");
    };
    let giga = |bytes: u64| bytes as f64 / 1e9;
    let message = format!(
        "{:.1} GB of memory, {:.1} GB available",
        giga(total),
        giga(available)
    );
    let remedy = "close the programs that use most of it; the largest come first:";
    let largest = "ps -eo pid,rss,comm --sort=-rss | head";
    match available {
        available if available < MEMORY_MIN => stops(id, message).remedy(remedy).command(largest),
        available if available < MEMORY_USUAL => {
            limits(id, message).remedy(remedy).command(largest)
        }
        _ => ok(id, message),
    }
}

fn governor(readings: &Readings) -> Check {
    let id = "governor";
    let Some(governors) = &readings.governors else {
        return not_checked(
            id,
            "the frequency governor cannot be read, as is usual in virtual \
             machines, where the host chooses",
        );
    };
    let message = format!("the frequency governor is {}", governors.join(", "));
    if governors.iter().all(|governor| governor == "performance") {
        ok(id, message)
    } else {
        limits(
            id,
            format!("{message}; frequencies then follow the load, and differ from slice to slice"),
        )
        .remedy("keep frequencies at their highest (as root)")
        .command("cpupower frequency-set -g performance")
    }
}

fn clock(readings: &Readings) -> Check {
    let id = "clock";
    let source = readings.clocksource.as_deref();
    let cost = readings.clock_reading_ns;
    let message = match source {
        Some(source) => format!("the clock source is {source}; one reading takes {cost:.0} ns"),
        None => format!("one reading of the clock takes {cost:.0} ns; its source cannot be read"),
    };
    if cost <= CLOCK_READING_MAX_NS {
        return ok(id, message);
    }
    let check = limits(
        id,
        format!("{message}: several per request slow the generator down"),
    );
    let others = readings.clocksources.as_deref().unwrap_or_default();
    let better = others
        .iter()
        .find(|other| other.as_str() == "tsc" && source != Some("tsc"));
    match better {
        Some(_) => check
            .remedy("use the CPU's own clock (as root)")
            .command("echo tsc | tee /sys/bus/clocksource/devices/*/current_clocksource"),
        None => check.remedy(
            "the kernel offers no faster source here: use another machine, or load with fewer \
             requests per second",
        ),
    }
}

fn machine(readings: &Readings) -> Check {
    let id = "virtual";
    match readings.is_virtual {
        Some(true) if readings.halt_poll_ns == Some(0) => limits(
            id,
            "a virtual machine that returns each idle CPU to its host at once: server and \
             generator wait for each other all the time, and each wait ends late",
        )
        .remedy(
            "let idle CPUs poll for some milliseconds first (as root; until the next boot), and \
             keep that only if `abx doctor` then shows less noise: polling takes CPU time",
        )
        .command(
            "for f in guest_halt_poll_ns guest_halt_poll_grow_start; do echo 10000000 | tee \
             /sys/module/haltpoll/parameters/$f; done",
        ),
        Some(true) => ok(
            id,
            "a virtual machine: its host decides when CPUs run (see steal)",
        ),
        Some(false) => ok(id, "not a virtual machine"),
        None => not_checked(id, "whether this is a virtual machine cannot be read"),
    }
}
