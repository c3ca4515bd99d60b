//! Values that could not be read are reported and never count as zero: one finding per load
//! lists them all.

use crate::findings::machine::speed_changed::is_checked;
use crate::findings::prelude::*;

rule! {
    in Load |load| unread(load.view);
    NotChecked [Note]
        "abx could not read something, so it did not check what depends on it",
        "run abx where it may read it, and let abx start the subjects on this machine";
}

const MOUNTED: &str = "run where /proc is mounted";
const KEPT: &str =
    "run abx on the server's machine, as the same user, or let it start the subjects";

/// A check that could not be made.
struct Unread {
    /// The check, and the file that could not be read.
    what: &'static str,
    remedy: &'static str,
}

fn unread(view: &OfferView) -> Option<Finding> {
    let unread: Vec<Unread> = [of_slices(view), of_readings(view)]
        .into_iter()
        .flatten()
        .collect();
    let texts: Vec<&str> = unread.iter().map(|unread| unread.what).collect();
    let mut remedies: Vec<&str> = Vec::new();
    for Unread { remedy, .. } in &unread {
        if !remedies.contains(remedy) {
            remedies.push(remedy);
        }
    }
    let message = format!("abx could not check everything: {}", texts.join("; "));
    (!unread.is_empty()).then(|| {
        let finding = finding(message);
        finding.with_remedy(remedies.join("; "))
    })
}

/// Checks by slices and blocks.
fn of_slices(view: &OfferView) -> Vec<Unread> {
    let sums = view.sums();
    let checks = [
        (
            sums.busy_ns.is_none() || sums.steal_ns.is_none(),
            "steal and foreign CPU time (/proc/stat)",
            MOUNTED,
        ),
        (
            sums.server_cpu_ns.is_none() || sums.others_cpu_ns.is_none(),
            "the CPU time of at least one subject, and with it the bottleneck, foreign and \
             background work",
            KEPT,
        ),
        (
            sums.all_services_cpu_ns().is_none(),
            "the CPU time of at least one service, and with it whether it was the limit",
            KEPT,
        ),
        (
            sums.generator_wait_ns.is_none(),
            "whether the generator had to wait for a CPU (/proc/thread-self/schedstat)",
            "run on a kernel with scheduler statistics",
        ),
        (
            !is_checked(view.study),
            "whether CPUs changed their speed (the same work before and after each block)",
            "run where abx may bind threads to its CPUs",
        ),
    ];
    missing(checks)
}

/// Checks by the readings outside the slices.
fn of_readings(view: &OfferView) -> Vec<Unread> {
    let lacks = |is_absent: fn(&SubjectReadings) -> bool| {
        // A subject that has failed was not loaded.
        let loaded = view.subjects.iter().filter(|subject| !subject.has_failed());
        let mut readings = loaded.flat_map(|subject| subject.readings());
        readings.any(is_absent)
    };
    let checks = [
        (
            lacks(|side| {
                let is_unknown = side.listen_overflows.is_none() || lacks_of(side, LISTENERS);
                side.own_listen_drops.is_none() && is_unknown
            }),
            "full listen queues (/proc/net/netstat)",
            MOUNTED,
        ),
        (
            lacks(|side| lacks_of(side, HostCounters::lacks_losses)),
            "lost packets (/proc/net/netstat, snmp)",
            MOUNTED,
        ),
        (
            lacks(|side| lacks_of(side, |strain| strain.packets_dropped.is_none())),
            "dropped packets (/proc/net/softnet_stat)",
            MOUNTED,
        ),
        (
            lacks(|side| lacks_of(side, PRESSURE)),
            "pressure on CPUs, memory and disks (/proc/pressure)",
            "run on a kernel with pressure stall information (`psi=1`)",
        ),
        (
            lacks(|side| lacks_of(side, |strain| strain.throttled.is_none())),
            "CPU time limits (cpu.stat of the control groups)",
            "run where /sys/fs/cgroup is mounted",
        ),
        (
            lacks(|side| side.descriptors.is_none()),
            "descriptors of at least one subject (/proc/PID/fd)",
            KEPT,
        ),
        (
            lacks(|side| side.generator_descriptors.is_none()),
            "descriptors of the generator (/proc/self/task)",
            MOUNTED,
        ),
        (
            lacks(|side| side.time_wait.is_none()),
            "local ports that are held (/proc/net/sockstat)",
            MOUNTED,
        ),
    ];
    missing(checks)
}

const LISTENERS: fn(&HostCounters) -> bool = |strain| strain.listen_drops.is_none();
const PRESSURE: fn(&HostCounters) -> bool = |strain| {
    strain.cpu_pressure_us.is_none()
        || strain.memory_pressure_us.is_none()
        || strain.io_pressure_us.is_none()
};

fn lacks_of(side: &SubjectReadings, is_absent: impl Fn(&HostCounters) -> bool) -> bool {
    side.strain.as_ref().is_none_or(is_absent)
}

fn missing<const N: usize>(checks: [(bool, &'static str, &'static str); N]) -> Vec<Unread> {
    let unread = checks.into_iter().filter(|(is_unread, ..)| *is_unread);
    unread
        .map(|(_, what, remedy)| Unread { what, remedy })
        .collect()
}
