use crate::findings::network::readings::ConnectionReadings;
use crate::findings::prelude::*;

rule! {
    in Connections |subject| loss(&ConnectionReadings::of(subject.view));
    LostPackets [Note]
        "TCP took packets for lost on this machine; one that is lost may cost 0.2 s or more",
        "end other programs that use the network; else raise the subject's backlog, and look at \
         `nstat -az` for what drops them";
}

fn loss(readings: &ConnectionReadings) -> Option<Finding> {
    let kinds = [
        (
            "packets sent again",
            readings.sum(|side| side.strain?.retransmits),
        ),
        (
            "of them to open a connection",
            readings.sum(|side| side.strain?.syn_retransmits),
        ),
        (
            "timers that ran out",
            readings.sum(|side| side.strain?.timeouts),
        ),
        (
            "packets dropped at full receive buffers",
            readings.sum(|side| side.strain?.receive_queue_drops),
        ),
        (
            "packets dropped at busy sockets",
            readings.sum(|side| side.strain?.backlog_drops),
        ),
    ];
    let seen: Vec<String> = kinds
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(what, count)| format!("{what}: {count}"))
        .collect();
    (!seen.is_empty()).then(|| {
        finding(format!(
            "TCP took packets for lost on this machine while {} was loaded ({}), this \
                 load's or another program's; one that is lost may cost 0.2 s or more",
            readings.subject,
            seen.join(", ")
        ))
    })
}
