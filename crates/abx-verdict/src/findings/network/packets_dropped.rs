use crate::findings::network::readings::ConnectionReadings;
use crate::findings::prelude::*;

rule! {
    in Connections |subject| packets_dropped(&ConnectionReadings::of(subject.view));
    PacketsDropped [Note]
        "packets were dropped because a CPU's queue of received packets was full",
        "raise `net.core.netdev_max_backlog`, or offer fewer connections";
}

fn packets_dropped(readings: &ConnectionReadings) -> Option<Finding> {
    let dropped = readings.sum(|side| side.strain?.packets_dropped);
    (dropped > 0).then(|| {
        finding(format!(
            "the kernel dropped {} while {} was loaded, this load's or another \
                 program's, because a CPU's queue of received packets was full",
            counted(dropped, "packet"),
            readings.subject
        ))
    })
}
