//! Checks of noise, ceilings and disturbances.

use super::record::{
    BLOCKS_USUAL, Check, CheckStatus, DoctorRecord, ForeignCpu, GeneratorCeiling, Noise,
};
use crate::findings::bottleneck::{GENERATOR_BUSY, SUBJECT_BUSY};
use crate::findings::machine::foreign_cpu::FOREIGN_MAX;
use crate::findings::machine::generator_wait::WAIT_MAX;
use crate::findings::machine::other_programs::named as programs_named;
use crate::findings::machine::steal::STEAL_MAX;
use abx_stats::Margin;
use abx_stats::stop::BLOCKS_FOR_VERDICT;

/// Differences that are larger than this are too large to be of practical interest.
const DETECTABLE_MAX: f64 = 0.25;
/// Above this share of the ceiling, a server is near the generator's limit.
const CEILING_SHARE: f64 = 0.7;

/// The checks of the measurements.
pub(super) fn checks(record: &DoctorRecord) -> Vec<Check> {
    let mut checks: Vec<Check> = record.refusal.as_deref().map(refused).into_iter().collect();
    let others = Others::of(record);
    match &record.noise {
        Some(noise) => checks.extend([spread(noise, &others), wait(noise, &others)]),
        None => checks.push(not_measured(
            "noise",
            "the smallest difference this machine can detect",
        )),
    }
    match &record.ceilings[..] {
        [] => checks.push(not_measured(
            "ceiling",
            "the throughput of one generator thread",
        )),
        ceilings => checks.extend(ceilings.iter().map(|ceiling| reached(ceiling, &others))),
    }
    checks.extend([foreign(record.elsewhere, &others), steal(record.elsewhere)]);
    checks
}

/// The programs that would have to be closed, if their names are known.
struct Others(Option<String>);

impl Others {
    fn of(record: &DoctorRecord) -> Others {
        Others(programs_named(record.other_programs.iter()))
    }

    /// A check whose remedy is to close other programs: by name, or with a command that lists them.
    fn closed(&self, check: Check, rest: &str) -> Check {
        match &self.0 {
            Some(names) => check.remedy(format!(
                "close other programs: most of their CPU time went to {names}{rest}"
            )),
            None => check
                .remedy(format!("close other programs (listed busiest first){rest}"))
                .command(BUSIEST),
        }
    }
}

fn refused(why: &str) -> Check {
    let message = format!("a comparison could not be made: {why}");
    Check::new("refused", CheckStatus::Stops, message)
}

fn not_measured(id: &str, what: &str) -> Check {
    Check::new(
        id,
        CheckStatus::NotChecked,
        format!("{what} was not measured"),
    )
}

/// The differences that the machine can show.
fn spread(noise: &Noise, others: &Others) -> Check {
    let id = "noise";
    let (Some(spread), Some(detectable)) = (noise.spread, noise.detectable) else {
        let message = format!(
            "the smallest difference this machine can detect is not known: abx measured {} of a \
             server against itself, and a spread needs two",
            blocks(noise.blocks)
        );
        return Check::new(id, CheckStatus::NotChecked, message)
            .remedy(LONGER[0])
            .command(LONGER[1]);
    };
    let margin = Margin::DEFAULT.share();
    let is_rough = noise.blocks < BLOCKS_FOR_VERDICT;
    let status = match detectable {
        // A few blocks may also lie close together by chance.
        share if share <= margin && is_rough => CheckStatus::NotChecked,
        share if share <= margin => CheckStatus::Ok,
        share if share <= DETECTABLE_MAX => CheckStatus::Limits,
        _ => CheckStatus::Stops,
    };
    let mut message = format!(
        "{BLOCKS_USUAL} blocks show a difference of {} or more in 4 of 5 studies; the same \
         server, compared with itself, had a spread of {} from block to block ({}",
        percent(detectable),
        percent(spread),
        blocks(noise.blocks),
    );
    if let Some(span) = noise.block_load_s {
        message.push_str(&format!(", {span:.1} s of load each"));
    }
    message.push(')');
    if is_rough {
        message.push_str("; with so few blocks this is a rough figure");
    }
    if let (Some(low), Some(high)) = (noise.low, noise.high)
        && (low > 1.0 || high < 1.0)
    {
        message.push_str(&format!(
            "; the two appeared to differ ({low:.3} to {high:.3}), which happens by chance once \
             in 30 times: run `abx doctor` again"
        ));
    }
    let check = Check::new(id, status, message);
    match (status, noise.blocks_for_margin) {
        (CheckStatus::Ok, _) => check,
        (CheckStatus::NotChecked, _) => check.remedy(LONGER[0]).command(LONGER[1]),
        (_, Some(needed)) => {
            let rest = format!(
                "; otherwise, {} % takes about {needed} blocks (`--blocks {needed}`)",
                100.0 * margin
            );
            others.closed(check, &rest)
        }
        (_, None) => others.closed(check, "; or use another machine"),
    }
}

/// The time for which the generator waited for its CPU.
fn wait(noise: &Noise, others: &Others) -> Check {
    let id = "generator_wait";
    let Some(wait) = noise.generator_wait else {
        let message = "abx cannot read whether the generator waited for its CPU";
        return Check::new(id, CheckStatus::NotChecked, message)
            .remedy("run on a kernel with scheduler statistics");
    };
    let message = format!(
        "the generator waited for its CPU {} of the time",
        percent(wait)
    );
    at_most(id, wait <= WAIT_MAX, message, others)
}

/// The CPU time of other programs.
fn foreign(elsewhere: Option<ForeignCpu>, others: &Others) -> Check {
    let id = "foreign_cpu";
    let Some(foreign) = elsewhere.and_then(|elsewhere| elsewhere.foreign) else {
        let message = "abx cannot read the CPU time of other programs";
        return Check::new(id, CheckStatus::NotChecked, message)
            .remedy("run where /proc is mounted");
    };
    let message = format!(
        "other programs used {} of the time of the CPUs that abx may use",
        percent(foreign)
    );
    at_most(id, foreign <= FOREIGN_MAX, message, others)
}

fn at_most(id: &str, is_little: bool, message: String, others: &Others) -> Check {
    if is_little {
        return Check::new(id, CheckStatus::Ok, message);
    }
    others.closed(Check::new(id, CheckStatus::Limits, message), "")
}

/// The CPU time of other machines on the same host.
fn steal(elsewhere: Option<ForeignCpu>) -> Check {
    let id = "steal";
    let Some(steal) = elsewhere.and_then(|elsewhere| elsewhere.steal) else {
        let message = "the CPU time that this machine's host took (steal) cannot be read";
        return Check::new(id, CheckStatus::NotChecked, message)
            .remedy("run where /proc/stat can be read");
    };
    let message = format!(
        "the host took {} of the time of the CPUs that abx may use (steal)",
        percent(steal)
    );
    if steal <= STEAL_MAX {
        return Check::new(id, CheckStatus::Ok, message);
    }
    Check::new(id, CheckStatus::Limits, message)
        .remedy("run at a quieter time, or on a machine with dedicated CPUs")
}

/// The rate that one generator thread reaches, and what limited it.
fn reached(ceiling: &GeneratorCeiling, others: &Others) -> Check {
    let (id, how) = if ceiling.keep_alive {
        ("ceiling", "kept alive")
    } else {
        ("ceiling_without_keep_alive", "for one request each")
    };
    let Some(rate) = ceiling.throughput_per_s else {
        let message = format!("no request over connections {how} had a response");
        return Check::new(id, CheckStatus::Stops, message)
            .remedy("find out why: start `abx serve --model null` and load it with `abx run`");
    };
    let used = |share: Option<f64>| share.map_or("not checked".to_owned(), percent);
    let reaches = |share: Option<f64>, limit: f64| share.is_some_and(|share| share >= limit);
    let is_server_bound = reaches(ceiling.server_busy, SUBJECT_BUSY);
    let is_generator_bound = reaches(ceiling.generator_busy, GENERATOR_BUSY);
    let limit = if is_server_bound {
        ": the server was the limit"
    } else if is_generator_bound {
        ": the thread was the limit"
    } else {
        ": neither was at its limit, so it may reach more"
    };
    let message = format!(
        "one generator thread reaches {rate:.0} requests/s over {} connections {how}; it used {} \
         of its CPU, the server {}{limit}",
        ceiling.connections,
        used(ceiling.generator_busy),
        used(ceiling.server_busy),
    );
    if ceiling.failed > 0 {
        let message = format!("{message}; {} requests failed", ceiling.failed);
        return Check::new(id, CheckStatus::Limits, message)
            .remedy("find out why: start `abx serve --model null` and load it with `abx run`");
    }
    if !is_server_bound && !is_generator_bound {
        let check = Check::new(id, CheckStatus::NotChecked, message);
        return others.closed(check, ", and try again");
    }
    Check::new(id, CheckStatus::Ok, message).remedy(format!(
        "above {:.0}/s per thread (`-t`), {:.0} % of that, abx may be the limit, and a server's \
         throughput may only be \"at least\"",
        CEILING_SHARE * rate,
        100.0 * CEILING_SHARE
    ))
}

fn blocks(count: usize) -> String {
    match count {
        1 => "1 block".to_owned(),
        count => format!("{count} blocks"),
    }
}

/// A share with two digits; 0 only for exactly 0.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent.abs() {
        0.0 => "0 %".to_owned(),
        size if size < 0.05 => "under 0.1 %".to_owned(),
        size if size < 9.95 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}

/// The remedy for too few blocks, and its command.
const LONGER: [&str; 2] = ["measure for longer", "abx doctor --noise-for 60s"];

/// Lists the programs that use most CPU time.
const BUSIEST: &str = "ps -eo pid,pcpu,comm --sort=-pcpu | head";
