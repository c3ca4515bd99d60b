//! The figures of sessions, and their part of the report.

use super::moments::{RunningMoments, per_second};

/// The result of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttperfSessionEnd {
    /// The time since the session began, in ns.
    pub lasted_ns: u64,
    /// Connections that the session began.
    pub connections: u64,
    pub replies: u64,
    /// Whether all calls got responses, and nothing failed the session.
    pub is_whole: bool,
}

/// Counts of sessions, as by httperf.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SessionFigures {
    whole: u64,
    failed: u64,
    connections: u64,
    /// The summed durations of complete and of failed sessions.
    whole_ns: u64,
    failed_ns: u64,
    /// The number of sessions, by number of replies.
    lengths: Vec<u64>,
    /// Samples of complete sessions per second, and the number of these at the last sample.
    rates: RunningMoments,
    sampled: u64,
}

impl SessionFigures {
    pub(super) fn ends(&mut self, end: HttperfSessionEnd) {
        if end.is_whole {
            self.whole += 1;
            self.connections += end.connections;
            self.whole_ns += end.lasted_ns;
        } else {
            self.failed += 1;
            self.failed_ns += end.lasted_ns;
        }
        let length = usize::try_from(end.replies).unwrap_or(usize::MAX);
        if self.lengths.len() <= length {
            self.lengths.resize(length + 1, 0);
        }
        self.lengths[length] += 1;
    }

    /// Takes a sample, with the time since the previous one.
    pub(super) fn samples(&mut self, span_ns: u64) -> f64 {
        let rate = per_second((self.whole - self.sampled) as f64, span_ns);
        self.rates.add(rate);
        self.sampled = self.whole;
        rate
    }

    /// The note on failed sessions, if there are any.
    pub(super) fn failed(&self) -> Option<String> {
        let total = self.whole + self.failed;
        (self.failed > 0).then(|| {
            format!(
                "sessions that failed: {} of {total}; their responses are in rates and times \
                 of replies, and their own length is in no session lifetime",
                self.failed
            )
        })
    }

    /// The part of the report about sessions, for a load of this duration.
    pub(super) fn report(&self, duration_ns: u64) -> String {
        let mean = |sum: f64, count: u64| match count {
            0 => 0.0,
            count => sum / count as f64,
        };
        let rates = &self.rates;
        let lengths: String = match self.lengths[..] {
            [] => " 0".to_owned(),
            _ => self
                .lengths
                .iter()
                .map(|count| format!(" {count}"))
                .collect(),
        };
        format!(
            "Session rate [sess/s]: min {:.2} avg {:.2} max {:.2} stddev {:.2} ({}/{})\n\
             Session: avg {:.2} connections/session\n\
             Session lifetime [s]: {:.1}\n\
             Session failtime [s]: {:.1}\n\
             Session length histogram:{lengths}\n",
            rates.min,
            per_second(self.whole as f64, duration_ns),
            rates.max,
            rates.deviation(),
            self.whole,
            self.whole + self.failed,
            mean(self.connections as f64, self.whole),
            mean(self.whole_ns as f64 / 1e9, self.whole),
            mean(self.failed_ns as f64 / 1e9, self.failed),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::HttperfFigures;
    use super::*;

    #[test]
    fn sessions_are_reported_as_by_httperf() {
        // Method: the output of httperf 0.9.0 for a session of one reply and two that failed after
        // their second reply, with a sample in between; and for no sessions.
        let mut figures = HttperfFigures::of_sessions();
        let end = |is_whole: bool, replies, lasted_ms: u64| HttperfSessionEnd {
            lasted_ns: lasted_ms * 1_000_000,
            connections: 1 + u64::from(!is_whole),
            replies,
            is_whole,
        };
        figures.session_ends(end(false, 2, 140));
        figures.session_ends(end(true, 1, 20));
        let sample = figures.samples(5_000_000_000);
        assert_eq!(sample.sessions, Some(0.2));
        figures.session_ends(end(false, 2, 150));
        figures.finish(10_000_000_000, super::super::HttperfCpu::default());
        let report = figures.report();
        let (_, message) = report.split_once("other 0\n\n").unwrap();
        let expected = "\
Session rate [sess/s]: min 0.20 avg 0.10 max 0.20 stddev 0.00 (1/3)
Session: avg 1.00 connections/session
Session lifetime [s]: 0.0
Session failtime [s]: 0.1
Session length histogram: 0 1 2
";
        assert_eq!(message, expected);
        let failed = figures.sessions.unwrap().failed().unwrap();
        assert!(failed.starts_with("sessions that failed: 2 of 3;"));

        let none = HttperfFigures::of_sessions().report();
        assert!(none.contains("stddev 0.00 (0/0)\n"));
        assert!(none.ends_with("Session length histogram: 0\n"));
    }
}
