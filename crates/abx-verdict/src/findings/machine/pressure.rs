use crate::findings::machine::foreign_cpu::foreign_ns;
use crate::findings::machine::other_programs::{busiest, listed};
use crate::findings::prelude::*;

rule! {
    in Load |load| pressure(load);
    CpuPressure [Note]
        "threads were ready to run and had no CPU, although the subject did not use all of its \
         own: other programs had the CPUs, or the subject's own threads waited for each other",
        "close other programs, or run on a dedicated machine; if the subject's own threads wait, \
         give it more CPUs or fewer threads";
    MemoryPressure [Note]
        "all runnable work was waiting for memory",
        "free memory, or make the subjects use less";
    IoPressure [Note]
        "all runnable work was waiting for a disk",
        "stop other programs that use disks, and make the subjects log less";
}

/// The share of the time in which some thread had to wait for a CPU.
const CPU_PRESSURE_MAX: f64 = 0.10;
/// The share of the time in which nothing ran because everything waited for memory or a disk.
const FULL_PRESSURE_MAX: f64 = 0.001;
/// Other programs explain the waiting if they ran for at least this share of it: while they did
/// not run, no thread waited for them.
const OTHERS_MIN: f64 = 0.5;
/// If the busiest thread has at least this share of a subject's CPU time, the subject counts as
/// having one thread.
const ONE_THREAD: f64 = 0.9;
/// The most subjects of a load that are named.
const NAMED: usize = 3;
const FEWER_PROGRAMS: &str = "close other programs, or run on a dedicated machine";
const FEWER_THREADS: &str = "give the subject more CPUs or fewer threads, or accept the waiting";

/// The machine's counters while one subject was loaded.
pub(super) fn host_counters(view: &SubjectView) -> Option<HostCounters> {
    let counters = view.readings().filter_map(|readings| readings.strain);
    counters.reduce(HostCounters::plus)
}

fn pressure(load: &OfferContext) -> Vec<Finding> {
    let subjects = load.view.by_name().into_iter();
    let loaded: Vec<&SubjectView> = subjects.filter(|view| view.sums.slices > 0).collect();
    let waits = loaded.iter().filter_map(|view| CpuWait::of(view, load));
    let waits: Vec<CpuWait> = waits.collect();
    let holders = CpuHolder::ALL.into_iter();
    let of_cpus = holders.filter_map(|holder| holder.finding(&waits, load.view.study));
    let others = loaded.iter().flat_map(|view| of_memory_and_disks(view));
    of_cpus.chain(others).collect()
}

/// The threads that had the CPUs for which others waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CpuHolder {
    OtherPrograms,
    OwnThreads,
    Unknown,
}

/// A subject under whose load threads waited for a CPU.
struct CpuWait<'a> {
    subject: &'a str,
    /// The share of the time.
    part: f64,
    holder: CpuHolder,
}

impl<'a> CpuWait<'a> {
    fn of(view: &SubjectView<'a>, load: &OfferContext) -> Option<CpuWait<'a>> {
        // If a subject uses all its CPU time, its threads wait for that reason.
        if load.limit.busy(view.subject).is_subject_bound() {
            return None;
        }
        let counters = host_counters(view)?;
        let part = share(counters.cpu_pressure_us?, counters.over_us);
        let part = part.filter(|part| *part > CPU_PRESSURE_MAX)?;
        Some(CpuWait {
            subject: view.subject,
            part,
            holder: CpuHolder::of(view, part),
        })
    }
}

impl CpuHolder {
    const ALL: [CpuHolder; 3] = [
        CpuHolder::OtherPrograms,
        CpuHolder::OwnThreads,
        CpuHolder::Unknown,
    ];

    /// The holder of the CPUs while threads waited for this part of a subject's time.
    fn of(view: &SubjectView, part: f64) -> CpuHolder {
        let foreign = foreign_ns(view.study, &view.sums);
        match foreign.and_then(|ns| share(ns, view.sums.window_ns)) {
            Some(foreign) if foreign >= OTHERS_MIN * part => CpuHolder::OtherPrograms,
            Some(_) if has_several_threads(view) => CpuHolder::OwnThreads,
            _ => CpuHolder::Unknown,
        }
    }

    /// One finding for all subjects of a load with this holder.
    fn finding(self, waits: &[CpuWait], study: &Measured) -> Option<Finding> {
        let waits = waits.iter().filter(|wait| wait.holder == self);
        let mut waits: Vec<&CpuWait> = waits.collect();
        waits.sort_by(|wait, other| other.part.total_cmp(&wait.part));
        let (was, its) = match waits[..] {
            [] => return None,
            [_] => ("was", "its"),
            _ => ("were", "their"),
        };
        let programs = busiest(study);
        let why = match self {
            CpuHolder::OtherPrograms => format!("other programs used these CPUs{programs}"),
            CpuHolder::OwnThreads => format!(
                "{its} own threads probably waited for each other, because other programs used \
                 too little CPU time"
            ),
            CpuHolder::Unknown => "abx does not know which threads had the CPUs".to_owned(),
        };
        let finding = new_finding(
            FindingId::CpuPressure,
            format!(
                "threads waited for a CPU while {} {was} loaded: {why}",
                longest(&waits)
            ),
        );
        let finding = match self {
            CpuHolder::OtherPrograms => finding.with_remedy(FEWER_PROGRAMS),
            CpuHolder::OwnThreads => finding.with_remedy(FEWER_THREADS),
            CpuHolder::Unknown => finding,
        };
        Some(match waits[..] {
            [only] => finding.about(only.subject),
            _ => finding,
        })
    }
}

/// The subjects with the longest waits, each with its share, and the number of further subjects.
fn longest(waits: &[&CpuWait]) -> String {
    let units = [" of the time"].into_iter().chain(std::iter::repeat(""));
    let named = waits.iter().take(NAMED).zip(units);
    let named =
        named.map(|(wait, unit)| format!("{} ({:.0} %{unit})", wait.subject, 100.0 * wait.part));
    let mut names: Vec<String> = named.collect();
    if waits.len() > NAMED {
        names.push(format!("{} more", waits.len() - NAMED));
    }
    listed(&names)
}

/// Whether only threads of the subject can have waited for each other, and not for a service or
/// the generator.
fn has_several_threads(view: &SubjectView) -> bool {
    let busiest_ns = sum_known(view.readings().map(|readings| readings.busiest_thread_ns));
    let both = busiest_ns.zip(view.sums.server_cpu_ns);
    let part = both.and_then(|(busiest_ns, total_ns)| share(busiest_ns, total_ns));
    let study = view.study;
    let is_alone = study.services.is_empty() && !study.settings.shares_cpus();
    is_alone && part.is_some_and(|part| part < ONE_THREAD)
}

fn of_memory_and_disks(view: &SubjectView) -> Vec<Finding> {
    let Some(counters) = host_counters(view) else {
        return Vec::new();
    };
    let kinds = [
        (
            FindingId::MemoryPressure,
            counters.memory_pressure_us,
            "memory",
        ),
        (FindingId::IoPressure, counters.io_pressure_us, "a disk"),
    ];
    let subject = view.subject;
    let findings = kinds.into_iter().filter_map(|(id, time_us, what)| {
        let part = share(time_us?, counters.over_us);
        let part = part.filter(|part| *part > FULL_PRESSURE_MAX)?;
        let message = format!(
            "all runnable work waited for {what} {:.1} % of the time while {subject} was loaded",
            100.0 * part
        );
        Some(new_finding(id, message).about(subject))
    });
    findings.collect()
}
