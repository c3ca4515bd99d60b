use crate::findings::network::readings::ConnectionReadings;
use crate::findings::prelude::*;

rule! {
    in Connections |subject| ports(&ConnectionReadings::of(subject.view));
    PortsLow [Note]
        "this machine has so many closed connections in TIME_WAIT that the load may run out of \
         local ports",
        "keep connections alive on both sides, spread them over more addresses \
         (`--local-address`), or widen `net.ipv4.ip_local_port_range`";
}

/// Closed connections in TIME_WAIT, on any port, as a share of the available ports.
const PORTS_MAX: f64 = 0.70;
/// From this number of new connections per request on, ports may run out.
const CHURN_MIN: f64 = 0.10;

fn ports(readings: &ConnectionReadings) -> Option<Finding> {
    let in_use = readings.sides.iter().filter_map(|side| side.time_wait);
    let worst = in_use.reduce(InUse::nearer)?;
    let limit = worst.limit?;
    worst.share().filter(|part| *part > PORTS_MAX)?;
    // Without new connections nothing needs a port, whatever process holds the ports.
    let churn = share(readings.sums.connects, readings.sums.outcomes.sent());
    (churn >= Some(CHURN_MIN)).then(|| {
        finding(format!(
            "this machine had {} closed connections in TIME_WAIT after a slice of {} (its kernel \
             keeps at most `net.ipv4.tcp_max_tw_buckets`); the load's addresses have {limit} \
             ports per destination",
            worst.count, readings.subject
        ))
    })
}
