use crate::findings::network::readings::ConnectionReadings;
use crate::findings::prelude::*;

rule! {
    in Connections |subject| listen_overflows(&ConnectionReadings::of(subject.view));
    ListenOverflows [Note, Bound]
        "the kernel turned connections away because a listen queue was full; above one in a \
         thousand, the ratio is a bound",
        "raise the subject's backlog and `net.core.somaxconn`, or offer fewer connections";
}

/// From this share of new connections on, the connections that were turned away bound a ratio.
const TURNED_AWAY_BOUND: f64 = 0.001;

fn listen_overflows(readings: &ConnectionReadings) -> Option<Finding> {
    let (turned_away, why) = readings.turned_away();
    // A connection that is turned away tries again after a second. Before the
    // load this only takes time; under load the connection is missing.
    let level = match share(turned_away, readings.sums.connects) {
        Some(part) if part > TURNED_AWAY_BOUND => Level::Bound,
        _ => Level::Note,
    };
    let connections = u64::from(readings.load.settings.connections);
    let kernel = match readings.machine.somaxconn.map(u64::from) {
        Some(enough) if enough >= connections => String::new(),
        Some(somaxconn) => format!(" and `net.core.somaxconn`, now {somaxconn},"),
        None => " and `net.core.somaxconn`".to_owned(),
    };
    (turned_away > 0).then(|| {
        finding(format!(
            "the kernel turned {} away while {} was loaded, \
                 because {why}",
            counted(turned_away, "connection"),
            readings.subject
        ))
        .at(level)
        .with_remedy(format!(
            "raise the subject's backlog{kernel} to at least {connections}, or offer fewer \
             connections"
        ))
    })
}
