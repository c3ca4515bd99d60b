use std::ops::RangeInclusive;

use crate::findings::prelude::*;
use abx_evidence::{ArrivalSettings, PhaseTimes};
use abx_model::Exchange;

rule! {
    in Subject |subject| delayed(subject);
    DelayedAcknowledgements [Note]
        "an idle server takes about 40 ms per message, or for the rest of each response; Nagle's \
         algorithm probably waits for a delayed acknowledgement",
        "set TCP_NODELAY on the server's connections, or write each frame, and the head and body \
         of each response, in one call";
}

/// The range of round trips that wait for a delayed acknowledgement. Linux delays
/// one by at least 40 ms (`TCP_DELACK_MIN`), and the round trip itself comes on top.
const DELAYED_US: RangeInclusive<u64> = 38_000..=50_000;
/// If a subject is less busy than this, a lack of CPU time does not explain late responses.
const IDLE_MAX: f64 = 0.20;
/// The fewest sampled responses for a finding.
const SAMPLED_MIN: u64 = 10;

fn delayed(subject: &SubjectContext) -> Option<Finding> {
    let (summary, settings) = (subject.summary, &subject.view.load.settings);
    let echoes = Echoes {
        who: &summary.subject,
        exchange: &settings.exchange,
        arrivals: &settings.arrivals,
        service_p50_us: summary.service_time_us.p50,
        server_busy: summary.server_busy,
    };
    let parts = ResponseParts {
        who: &summary.subject,
        shape: settings.exchange.shape,
        phases: summary.phases.as_ref(),
        server_busy: summary.server_busy,
    };
    echoes.delayed().or_else(|| parts.delayed())
}

/// Echoes that may have waited.
struct Echoes<'a> {
    who: &'a str,
    exchange: &'a Exchange,
    arrivals: &'a ArrivalSettings,
    service_p50_us: Option<u64>,
    /// The share of its CPUs that the server used; `None` if not readable.
    server_busy: Option<f64>,
}

impl Echoes<'_> {
    /// Reports that a server writes a frame in two parts and waits between them.
    /// Nagle's algorithm (RFC 896) holds the second part back until the first is
    /// acknowledged, and abx, with nothing to send, acknowledges late (RFC 1122,
    /// section 4.2.3.2).
    fn delayed(&self) -> Option<Finding> {
        let is_eligible = self.exchange.shape == LoadShape::Echo && !self.arrivals.is_open();
        let time_us = self.service_p50_us.filter(|us| DELAYED_US.contains(us))?;
        let is_idle = self.server_busy.is_none_or(|busy| busy < IDLE_MAX);
        let message = format!(
            "half of the messages to {} take {:.0} ms or more while its CPU is idle: this looks \
             like Nagle's algorithm waiting for a delayed acknowledgement",
            self.who,
            time_us as f64 / 1e3
        );
        (is_eligible && is_idle).then(|| finding(message))
    }
}

/// Responses that may have waited between their first byte and their last.
struct ResponseParts<'a> {
    who: &'a str,
    shape: LoadShape,
    /// The phases of a sample of them.
    phases: Option<&'a PhaseTimes>,
    /// The share of its CPUs that the server used; `None` if not readable.
    server_busy: Option<f64>,
}

impl ResponseParts<'_> {
    /// Reports that a server writes a response in several parts and waits between them, as with
    /// the frames of [`Echoes::delayed`]: the first part comes at once, and the rest late.
    fn delayed(&self) -> Option<Finding> {
        let phases = self.phases.filter(|_| self.shape == LoadShape::Request)?;
        let body_us = phases.body.p50_us.filter(|us| DELAYED_US.contains(us))?;
        let is_idle = self.server_busy.is_none_or(|busy| busy < IDLE_MAX);
        let message = format!(
            "half of the responses of {} take {:.0} ms or more from their first byte to their last \
             while its CPU is idle: this looks like Nagle's algorithm waiting for a delayed \
             acknowledgement between two writes",
            self.who,
            body_us as f64 / 1e3
        );
        (is_idle && phases.requests >= SAMPLED_MIN).then(|| finding(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abx_evidence::ArrivalKind;
    use abx_evidence::PhaseTime;

    #[test]
    fn only_idle_echoes_of_forty_milliseconds_look_delayed() {
        // Method: an echo that waits; then each condition changed alone.
        let exchange = Exchange {
            shape: LoadShape::Echo,
            ..Exchange::default()
        };
        let arrivals = ArrivalSettings::default();
        let echoes = |us, busy| Echoes {
            who: "a",
            exchange: &exchange,
            arrivals: &arrivals,
            service_p50_us: Some(us),
            server_busy: busy,
        };
        assert!(echoes(41_000, Some(0.01)).delayed().is_some());
        assert!(echoes(41_000, None).delayed().is_some());
        assert!(echoes(37_000, Some(0.01)).delayed().is_none());
        assert!(echoes(51_000, Some(0.01)).delayed().is_none());
        assert!(echoes(41_000, Some(0.2)).delayed().is_none());
        let open = ArrivalSettings {
            kind: ArrivalKind::Constant,
            ..ArrivalSettings::default()
        };
        let paced = Echoes {
            arrivals: &open,
            ..echoes(41_000, None)
        };
        assert!(paced.delayed().is_none());
        let exchange = Exchange::default();
        let requests = Echoes {
            exchange: &exchange,
            ..echoes(41_000, None)
        };
        assert!(requests.delayed().is_none());
    }

    #[test]
    fn only_late_bodies_of_idle_servers_look_delayed() {
        // Method: a body of 44 ms after a first byte at 0.1 ms; then each condition
        // changed alone.
        let time = |us| PhaseTime {
            mean_us: us as f64,
            p50_us: Some(us),
            p99_us: None,
        };
        let sample = |requests, body_us| PhaseTimes {
            requests,
            waiting: time(0),
            connect: time(0),
            first_byte: time(100),
            body: time(body_us),
        };
        let is_delayed = |phases: Option<&PhaseTimes>, busy, shape| {
            let parts = ResponseParts {
                who: "a",
                shape,
                phases,
                server_busy: busy,
            };
            parts.delayed().is_some()
        };
        let (late, request) = (sample(10, 44_460), LoadShape::Request);
        assert!(is_delayed(Some(&late), Some(0.02), request));
        assert!(is_delayed(Some(&late), None, request));
        assert!(!is_delayed(Some(&late), Some(0.2), request));
        assert!(!is_delayed(Some(&late), None, LoadShape::Echo));
        assert!(!is_delayed(Some(&sample(10, 37_000)), None, request));
        assert!(!is_delayed(Some(&sample(10, 51_000)), None, request));
        assert!(!is_delayed(Some(&sample(9, 44_460)), None, request));
        assert!(!is_delayed(None, None, request));
    }
}
