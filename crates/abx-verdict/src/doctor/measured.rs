//! What noise, ceilings and their surroundings mean.

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

/// A machine that shows no smaller difference shows none of practical interest.
const DETECTABLE_MAX: f64 = 0.25;
/// A server that gives more than this share of the ceiling is near the generator's limit.
const CEILING_SHARE: f64 = 0.7;

/// The checks of what was measured.
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
        [] => checks.push(not_measured("ceiling", "what one generator thread reaches")),
        generator_ceilings => checks.extend(
            generator_ceilings
                .iter()
                .map(|generator_ceiling| ceiling(generator_ceiling, &others)),
        ),
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

    /// A check whose remedy is to close them: by name, or with a command that lists programs.
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
        // A few blocks lie close together by chance as well.
        share if share <= margin && is_rough => CheckStatus::NotChecked,
        share if share <= margin => CheckStatus::Ok,
        share if share <= DETECTABLE_MAX => CheckStatus::Limits,
        _ => CheckStatus::Stops,
    };
    let mut message = format!(
        "{BLOCKS_USUAL} blocks show a difference of {} or more in 4 of 5 studies; the same server \
         twice had a spread of {} from block to block ({}",
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
            "; the two appeared to differ ({low:.3} to {high:.3}), which happens by chance once in 30 \
             times: look again"
        ));
    }
    let check = Check::new(id, status, message);
    match (status, noise.blocks_for_margin) {
        (CheckStatus::Ok, _) => check,
        (CheckStatus::NotChecked, _) => check.remedy(LONGER[0]).command(LONGER[1]),
        (_, Some(needed)) => {
            let rest = format!(
                "; else {} % takes about {needed} blocks (`--blocks {needed}`)",
                100.0 * margin
            );
            others.closed(check, &rest)
        }
        (_, None) => others.closed(check, "; or use another machine"),
    }
}

/// For how long the generator was kept from its processor.
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

/// Processors that other programs had.
fn foreign(elsewhere: Option<ForeignCpu>, others: &Others) -> Check {
    let id = "foreign_cpu";
    let Some(foreign) = elsewhere.and_then(|foreign_cpu| foreign_cpu.foreign) else {
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

/// Processors that other machines had.
fn steal(elsewhere: Option<ForeignCpu>) -> Check {
    let id = "steal";
    let Some(steal) = elsewhere.and_then(|foreign_cpu| foreign_cpu.steal) else {
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
fn ceiling(generator_ceiling: &GeneratorCeiling, others: &Others) -> Check {
    let id = if generator_ceiling.keep_alive {
        "ceiling"
    } else {
        "ceiling_without_keep_alive"
    };
    let how = if generator_ceiling.keep_alive {
        "kept alive"
    } else {
        "for one request each"
    };
    let Some(rate) = generator_ceiling.throughput_per_s else {
        let message = format!("no request over connections {how} had a response");
        return Check::new(id, CheckStatus::Stops, message)
            .remedy("find out why: start `abx serve --model null` and load it with `abx run`");
    };
    let used = |share: Option<f64>| share.map_or("not checked".to_owned(), percent);
    let reaches = |share: Option<f64>, most: f64| share.is_some_and(|share| share >= most);
    let limit = match () {
        () if reaches(generator_ceiling.server_busy, SUBJECT_BUSY) => ": the server was the limit",
        () if reaches(generator_ceiling.generator_busy, GENERATOR_BUSY) => {
            ": the thread was the limit"
        }
        () => ": neither was at its limit, so it may reach more",
    };
    let message = format!(
        "one generator thread reaches {rate:.0} requests/s over {} connections {how}; it used {} \
         of its CPU, the server {}{limit}",
        generator_ceiling.connections,
        used(generator_ceiling.generator_busy),
        used(generator_ceiling.server_busy),
    );
    if generator_ceiling.failed > 0 {
        let message = format!("{message}; {} requests failed", generator_ceiling.failed);
        return Check::new(id, CheckStatus::Limits, message)
            .remedy("find out why: start `abx serve --model null` and load it with `abx run`");
    }
    let is_reached = reaches(generator_ceiling.server_busy, SUBJECT_BUSY)
        || reaches(generator_ceiling.generator_busy, GENERATOR_BUSY);
    if !is_reached {
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

/// A share to two digits, and never 0 for what is not.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent.abs() {
        0.0 => "0 %".to_owned(),
        size if size < 0.05 => "under 0.1 %".to_owned(),
        size if size < 9.95 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}

/// What gives more blocks, and the command for it.
const LONGER: [&str; 2] = ["measure for longer", "abx doctor --noise-for 60s"];

/// Lists the programs that use most processor time.
const BUSIEST: &str = "ps -eo pid,pcpu,comm --sort=-pcpu | head";
