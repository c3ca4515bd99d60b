//! Checks of the samples that `--why` may take, and how to allow more.

use super::readings::{limits, not_checked, ok};
use super::record::{Check, Sampling, SamplingReach};

pub(super) fn why(sampling: Option<&Sampling>) -> Check {
    let id = "why";
    let Some(sampling) = sampling else {
        return not_checked(id, "abx cannot read what `--why` may sample");
    };
    let limit = sampling.limit.as_deref().unwrap_or("the cause is unknown");
    let check = match sampling.reach {
        SamplingReach::All if sampling.has_kernel_names => {
            let everything = "`--why` can sample everything: the code of servers, and the kernel \
                              by its functions";
            return match &sampling.calls_limit {
                None => ok(id, everything),
                Some(limit) => limits(
                    id,
                    format!("{everything}; it cannot count system calls: {limit}"),
                )
                .remedy("run abx as root, or give its program the capabilities (as root)")
                .command("setcap cap_bpf,cap_perfmon+ep \"$(command -v abx)\""),
            };
        }
        SamplingReach::All => {
            let setting = sampling.kptr_restrict.map_or_else(String::new, |value| {
                format!(" (kernel.kptr_restrict is {value}, and abx has no CAP_SYSLOG)")
            });
            limits(
                id,
                format!(
                    "`--why` can sample everything, but the kernel hides the names of its \
                     functions{setting}: no system call has a line of its own"
                ),
            )
        }
        SamplingReach::OwnCode => limits(
            id,
            format!(
                "`--why` can sample only the code of servers, so that the kernel's work is one \
                 line: {limit}"
            ),
        ),
        SamplingReach::Nothing => limits(
            id,
            format!("`--why` can sample nothing, and refuses to start: {limit}"),
        ),
    };
    allow_more(check, sampling)
}

/// Adds the remedy: other settings, or no container.
fn allow_more(check: Check, sampling: &Sampling) -> Check {
    let forbids = |value: Option<i32>| value.is_some_and(|value| value > 0);
    let is_limited = sampling.reach != SamplingReach::All;
    // Without CAP_SYSLOG, a process sees the kernel's names only if both settings allow it.
    let is_hidden = !sampling.has_kernel_names && forbids(sampling.kptr_restrict);
    let is_paranoid = forbids(sampling.perf_event_paranoid) && (is_limited || !is_hidden);
    let settings = [
        (is_paranoid, "kernel.perf_event_paranoid=0"),
        (is_hidden, "kernel.kptr_restrict=0"),
    ];
    let settings = settings
        .iter()
        .filter_map(|(is_set, setting)| is_set.then_some(*setting));
    let settings: Vec<&str> = settings.collect();
    let command = format!("sysctl -w {}", settings.join(" "));
    if is_limited && !is_paranoid {
        return check.remedy(
            "run abx outside of the container, or allow `perf_event_open` in its seccomp profile",
        );
    }
    let remedy = if is_limited {
        "run abx as root, or allow every user to sample (as root)"
    } else {
        "show the names to every user (as root)"
    };
    check.remedy(remedy).command(command)
}
