//! The report of httperf, to the character.

use std::fmt::Write as _;

use super::figures::{HttperfFailure, HttperfFigures};
use super::moments::per_second;

impl HttperfFigures {
    /// The text that httperf prints after all connections have ended.
    #[must_use]
    pub fn report(&self) -> String {
        let parts = [
            format!("Maximum connect burst length: {}\n", self.burst_max),
            self.total(),
            self.of_connections(),
            self.of_requests(),
            self.of_replies(),
            self.of_client(),
            self.of_errors(),
        ];
        let sessions = self.sessions.as_ref();
        let sessions = sessions.map(|sessions| sessions.report(self.duration_ns));
        let parts: Vec<String> = parts.into_iter().chain(sessions).collect();
        parts.join("\n")
    }

    fn total(&self) -> String {
        format!(
            "Total: connections {} requests {} replies {} test-duration {:.3} s\n",
            self.connections,
            self.requests,
            self.replies,
            self.duration_ns as f64 / 1e9
        )
    }

    fn of_connections(&self) -> String {
        let (rate, period_ms) = self.rate(self.connections);
        let times = &self.lifetimes;
        let mut text = format!(
            "Connection rate: {rate:.1} conn/s ({period_ms:.1} ms/conn, <={} concurrent \
             connections)\n",
            self.open_max
        );
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "Connection time [ms]: min {:.1} avg {:.1} max {:.1} median {:.1} stddev {:.1}",
            times.min,
            times.mean,
            times.max,
            self.median_lifetime_ms(),
            times.deviation()
        );
        let connect_ms = mean(self.connect_ns, self.opened) / 1e6;
        let length = mean(self.replies_of_connections, times.count);
        let _ = writeln!(text, "Connection time [ms]: connect {connect_ms:.1}");
        let _ = writeln!(text, "Connection length [replies/conn]: {length:.3}");
        text
    }

    fn of_requests(&self) -> String {
        let (rate, period_ms) = self.rate(self.requests);
        let size = mean(self.request_bytes, self.requests);
        format!(
            "Request rate: {rate:.1} req/s ({period_ms:.1} ms/req)\n\
             Request size [B]: {size:.1}\n"
        )
    }

    fn of_replies(&self) -> String {
        let rates = &self.rates;
        let mut text = format!(
            "Reply rate [replies/s]: min {:.1} avg {:.1} max {:.1} stddev {:.1} ({} samples)\n",
            rates.min,
            rates.mean,
            rates.max,
            rates.deviation(),
            rates.count
        );
        let _ = writeln!(
            text,
            "Reply time [ms]: response {:.1} transfer {:.1}",
            mean(self.response_ns, self.replies) / 1e6,
            mean(self.transfer_ns, self.replies) / 1e6
        );
        let parts = [self.header_bytes, self.content_bytes, self.footer_bytes];
        let [header, content, footer] = parts.map(|bytes| mean(bytes, self.replies));
        let total = mean(parts.iter().sum(), self.replies);
        let _ = writeln!(
            text,
            "Reply size [B]: header {header:.1} content {content:.1} footer {footer:.1} (total \
             {total:.1})"
        );
        let [s1, s2, s3, s4, s5] = self.statuses;
        let _ = writeln!(
            text,
            "Reply status: 1xx={s1} 2xx={s2} 3xx={s3} 4xx={s4} 5xx={s5}"
        );
        text
    }

    fn of_client(&self) -> String {
        let (user, system) = (self.cpu.user_ns, self.cpu.system_ns);
        let percent = |ns: u64| match self.duration_ns {
            0 => 0.0,
            total => 100.0 * ns as f64 / total as f64,
        };
        // Without the framing and the footers of chunked bodies.
        let bytes = self.request_bytes + self.header_bytes + self.content_bytes;
        let rate = per_second(bytes as f64, self.duration_ns);
        format!(
            "CPU time [s]: user {:.2} system {:.2} (user {:.1}% system {:.1}% total {:.1}%)\n\
             Net I/O: {:.1} KB/s ({:.1}*10^6 bps)\n",
            user as f64 / 1e9,
            system as f64 / 1e9,
            percent(user),
            percent(system),
            percent(user + system),
            rate / 1024.0,
            rate * 8.0 / 1e6
        )
    }

    fn of_errors(&self) -> String {
        let of = |failure| self.count_of(failure);
        format!(
            "Errors: total {} client-timo {} socket-timo {} connrefused {} connreset {}\n\
             Errors: fd-unavail {} addrunavail {} ftab-full {} other {}\n",
            self.errors(),
            of(HttperfFailure::ClientTimeout),
            of(HttperfFailure::SocketTimeout),
            of(HttperfFailure::ConnectionRefused),
            of(HttperfFailure::ConnectionReset),
            of(HttperfFailure::DescriptorUnavailable),
            of(HttperfFailure::AddressUnavailable),
            of(HttperfFailure::FileTableFull),
            of(HttperfFailure::Other)
        )
    }

    /// The rate per second, and the mean distance in ms.
    fn rate(&self, count: u64) -> (f64, f64) {
        let rate = per_second(count as f64, self.duration_ns);
        (rate, mean(self.duration_ns, count) / 1e6)
    }
}

/// The mean; zero without values.
fn mean(sum: u64, count: u64) -> f64 {
    match count {
        0 => 0.0,
        count => sum as f64 / count as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{HttperfCpu, HttperfReply};
    use super::*;

    #[test]
    fn the_report_is_that_of_httperf_to_the_character() {
        // Method: two connections with two calls each and two that failed. The expected report was
        // computed by hand, in the form that httperf 0.9.0 printed for such a load.
        let mut figures = HttperfFigures::default();
        for (connection, open) in [(0, 1), (1, 2)] {
            figures.begins(connection * 10_000_000, open, open);
            figures.opened(800_000);
            for _ in 0..2 {
                figures.sent(62);
                figures.responded(&HttperfReply {
                    status: 200,
                    header_bytes: 83,
                    content_bytes: 87,
                    footer_bytes: 2 * connection,
                    response_ns: 400_000,
                    transfer_ns: 100_000,
                    is_cut: false,
                });
            }
            figures.ends(1_800_000 + connection * 1_000_000, 2);
        }
        figures.begins(20_000_000, 1, 1);
        figures.fails(HttperfFailure::ConnectionRefused);
        figures.ends(1, 0);
        figures.fails(HttperfFailure::DescriptorUnavailable);
        let cpu = HttperfCpu {
            user_ns: 10_000_000,
            system_ns: 20_000_000,
        };
        figures.finish(100_000_000, cpu);
        let expected = "\
Maximum connect burst length: 2

Total: connections 3 requests 4 replies 4 test-duration 0.100 s

Connection rate: 30.0 conn/s (33.3 ms/conn, <=2 concurrent connections)
Connection time [ms]: min 1.8 avg 2.3 max 2.8 median 1.5 stddev 0.7
Connection time [ms]: connect 0.8
Connection length [replies/conn]: 2.000

Request rate: 40.0 req/s (25.0 ms/req)
Request size [B]: 62.0

Reply rate [replies/s]: min 0.0 avg 0.0 max 0.0 stddev 0.0 (0 samples)
Reply time [ms]: response 0.4 transfer 0.1
Reply size [B]: header 83.0 content 87.0 footer 1.0 (total 171.0)
Reply status: 1xx=0 2xx=4 3xx=0 4xx=0 5xx=0

CPU time [s]: user 0.01 system 0.02 (user 10.0% system 20.0% total 30.0%)
Net I/O: 9.1 KB/s (0.1*10^6 bps)

Errors: total 2 client-timo 0 socket-timo 0 connrefused 1 connreset 0
Errors: fd-unavail 1 addrunavail 0 ftab-full 0 other 0
";
        assert_eq!(figures.report(), expected);
    }

    #[test]
    fn an_empty_load_has_a_report() {
        // Method: no events; every figure is zero, and none is missing.
        let report = HttperfFigures::default().report();
        assert_eq!(report.lines().count(), 22);
        assert!(
            !report.contains("NaN") && !report.contains("inf"),
            "{report}"
        );
    }
}
