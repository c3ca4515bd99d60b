use crate::findings::network::readings::ConnectionReadings;
use crate::findings::prelude::*;

rule! {
    in Connections |subject| loss(&ConnectionReadings::of(subject.view));
    LostPackets [Note]
        "TCP retransmitted or dropped packets on this machine; one retransmission may cost 0.2 s \
         or more",
        "stop other programs that use the network; otherwise raise the subject's backlog, and \
         check `nstat -az` for drops";
}

fn loss(readings: &ConnectionReadings) -> Option<Finding> {
    let kinds = [
        (
            "retransmitted packets",
            readings.sum(|side| side.strain?.retransmits),
        ),
        (
            "of them SYN packets",
            readings.sum(|side| side.strain?.syn_retransmits),
        ),
        (
            "retransmission timeouts",
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
            "TCP retransmitted or dropped packets on this machine while {} was loaded ({}), of \
             this load or another program; one retransmission may cost 0.2 s or more",
            readings.subject,
            seen.join(", ")
        ))
    })
}
