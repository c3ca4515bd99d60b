//! Resources that this machine lacked when connections were opened before a load, as a finding
//! of `generator_exhausted`.

use crate::findings::prelude::*;
use crate::findings::responses::not_connected::opening;
use abx_evidence::ConnectionOpening;

pub(in crate::findings) const RULE: FindingRule = FindingRule {
    definitions: &[],
    condition: Condition::Connections(|subject| Vec::from_iter(lacked(subject.view))),
};

fn lacked(subject: &SubjectView) -> Option<Finding> {
    let opening = opening(subject)?;
    let kinds = [Outcome::NoPort, Outcome::NoDescriptor, Outcome::NoMemory];
    let kind = kinds
        .into_iter()
        .find(|kind| opening.failures.count(*kind) > 0)?;
    let (what, remedy) = match kind {
        Outcome::NoPort => (
            match subject.study.machine.local_ports {
                Some((first, last)) => format!(
                    "local ports (`net.ipv4.ip_local_port_range` has {} per local address)",
                    u32::from(last).saturating_sub(first.into()) + 1
                ),
                None => "local ports".to_owned(),
            },
            "widen `net.ipv4.ip_local_port_range`, connect from more addresses \
             (`--local-address`), or use fewer connections",
        ),
        Outcome::NoDescriptor => (
            match subject.study.machine.descriptors_max {
                Some(most) => {
                    format!("file descriptors (`ulimit -n` is {most} per worker thread)")
                }
                None => "file descriptors".to_owned(),
            },
            "raise `ulimit -n`, add worker threads (`-t`), or use fewer connections",
        ),
        _ => (
            "kernel memory for sockets".to_owned(),
            "raise `net.ipv4.tcp_mem` and `fs.epoll.max_user_watches`, or use fewer connections",
        ),
    };
    let ConnectionOpening {
        asked, standing, ..
    } = opening;
    let untried = match opening.failures.count(Outcome::Unopened) {
        0 => String::new(),
        untried => format!("; {untried} were not tried"),
    };
    let message = format!(
        "opened {standing} of {} to {}: this machine ran out of {what}{untried}",
        counted(asked, "connection"),
        subject.subject
    );
    let finding = new_finding(FindingId::GeneratorExhausted, message);
    Some(finding.with_remedy(remedy))
}
