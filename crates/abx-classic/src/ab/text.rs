//! The report as text.

use std::fmt::Write;

use super::figures::AbFigures;
use super::options::AbOptions;
use super::spread::{Spread, ms};

/// The percentages of the table.
const PERCENTAGES: [usize; 9] = [50, 66, 75, 80, 90, 95, 98, 99, 100];

impl AbFigures {
    /// The report from "Server Software" on, as ab prints it.
    #[must_use]
    pub fn text(&self, options: &AbOptions) -> String {
        let mut text = "\n\n".to_owned();
        self.write_server(&mut text);
        self.write_counts(&mut text);
        self.write_rates(&mut text);
        if self.complete > 0 {
            if options.hides_confidence {
                self.write_short_times(&mut text)
            } else {
                self.write_times(&mut text)
            }
        }
        if !options.hides_percentages && self.complete > 1 {
            self.write_percentages(&mut text);
        }
        text
    }

    fn write_server(&self, text: &mut String) {
        line(text, "Server Software:", &self.software);
        line(text, "Server Hostname:", &self.host);
        line(text, "Server Port:", self.port);
        if let Some(tls) = &self.tls {
            line(text, "SSL/TLS Protocol:", &tls.protocol);
            if let Some(key) = &tls.temporary_key {
                line(text, "Server Temp Key:", key);
            }
            if let Some(name) = &tls.server_name {
                line(text, "TLS Server Name:", name);
            }
        }
        text.push('\n');
        line(text, "Document Path:", &self.path);
        line(text, "Document Length:", self.document_length());
        text.push('\n');
    }

    /// The length of the first document.
    pub(super) fn document_length(&self) -> String {
        match self.document_bytes {
            Some(bytes) => format!("{bytes} bytes"),
            None => "Variable".to_owned(),
        }
    }

    fn write_counts(&self, text: &mut String) {
        line(text, "Concurrency Level:", self.concurrency);
        line(
            text,
            "Time taken for tests:",
            format!("{:.3} seconds", self.seconds),
        );
        line(text, "Complete requests:", self.complete);
        line(text, "Failed requests:", self.failures.all());
        if self.failures.all() > 0 {
            text.push_str(&format!("   ({})\n", self.causes()));
        }
        if self.non_2xx > 0 {
            line(text, "Non-2xx responses:", self.non_2xx);
        }
        if let Some(kept) = self.kept {
            line(text, "Keep-Alive requests:", kept);
        }
        line(
            text,
            "Total transferred:",
            format!("{} bytes", self.received_bytes),
        );
        if let Some(bytes) = self.sent_bytes {
            line(text, "Total body sent:", bytes);
        }
        line(
            text,
            "HTML transferred:",
            format!("{} bytes", self.body_bytes),
        );
    }

    fn causes(&self) -> String {
        let failures = self.failures;
        format!(
            "Connect: {}, Receive: {}, Length: {}, Exceptions: {}",
            failures.connect, failures.receive, failures.length, failures.exceptions
        )
    }

    fn write_rates(&self, text: &mut String) {
        if self.seconds <= 0.0 {
            return;
        }
        let per_s = self.complete as f64 / self.seconds;
        let per_request_ms = self.seconds * 1_000.0 / self.complete as f64;
        let mean_ms = f64::from(self.concurrency) * per_request_ms;
        line(
            text,
            "Requests per second:",
            format!("{per_s:.2} [#/sec] (mean)"),
        );
        line(
            text,
            "Time per request:",
            format!("{mean_ms:.3} [ms] (mean)"),
        );
        let across = format!("{per_request_ms:.3} [ms] (mean, across all concurrent requests)");
        line(text, "Time per request:", across);
        let received = self.kib_per_s(self.received_bytes);
        line(
            text,
            "Transfer rate:",
            format!("{received:.2} [Kbytes/sec] received"),
        );
        if let Some(sent_bytes) = self.sent_bytes {
            let sent = self.kib_per_s(sent_bytes);
            let total = self.kib_per_s(sent_bytes + self.received_bytes);
            line(text, "", format!("{sent:.2} kb/s sent"));
            line(text, "", format!("{total:.2} kb/s total"));
        }
    }

    /// The rate of these bytes in KiB/s.
    pub(super) fn kib_per_s(&self, bytes: u64) -> f64 {
        bytes as f64 / 1_024.0 / self.seconds
    }

    fn write_times(&self, text: &mut String) {
        text.push_str("\nConnection Times (ms)\n");
        text.push_str("              min  mean[+/-sd] median   max\n");
        let mut warnings = String::new();
        for (label, name, spread) in self.named_rows() {
            let Spread {
                min_us,
                mean_us,
                deviation_us,
                middle_us,
                max_us,
                ..
            } = spread;
            let (mean, deviation, middle) = (ms(mean_us), deviation_us / 1_000.0, ms(middle_us));
            let _ = writeln!(
                text,
                "{label:<12}{:5} {mean:4} {deviation:5.1} {middle:6} {:7}",
                ms(min_us),
                ms(max_us)
            );
            let apart = mean.abs_diff(middle) as f64;
            if apart > 2.0 * deviation {
                warnings.push_str(&format!(
                    "ERROR: The median and mean for {name} are more than twice the standard\n       \
                     deviation apart. These results are NOT reliable.\n"
                ));
            } else if apart > deviation {
                warnings.push_str(&format!(
                    "WARNING: The median and mean for {name} are not within a normal deviation\n        \
                     These results are probably not that reliable.\n"
                ));
            }
        }
        text.push_str(&warnings);
    }

    fn write_short_times(&self, text: &mut String) {
        text.push_str("\nConnection Times (ms)\n              min   avg   max\n");
        for (label, _, spread) in self.named_rows() {
            let [min, mean, max] = [spread.min_us, spread.mean_us, spread.max_us].map(ms);
            let _ = writeln!(text, "{label:<12}{min:5} {mean:5}{max:5}");
        }
    }

    /// The label, the name in warnings, and the times of each row.
    fn named_rows(&self) -> [(&'static str, &'static str, Spread); 4] {
        let rows = &self.rows;
        [
            ("Connect:", "the initial connection time", rows.connect),
            ("Processing:", "the processing time", rows.processing),
            ("Waiting:", "the waiting time", rows.waiting),
            ("Total:", "the total time", rows.total),
        ]
    }

    fn write_percentages(&self, text: &mut String) {
        text.push_str("\nPercentage of the requests served within a certain time (ms)\n");
        for percentage in PERCENTAGES {
            let count = self.times.len();
            let index = (count * percentage / 100).min(count - 1);
            let remark = if percentage == 100 {
                " (longest request)"
            } else {
                ""
            };
            let time = ms(self.times[index].total_us);
            let _ = writeln!(text, "{percentage:4}%  {time:5}{remark}");
        }
    }
}

fn line(text: &mut String, label: &str, value: impl std::fmt::Display) {
    text.push_str(&format!("{label:<24}{value}\n"));
}

#[cfg(test)]
mod tests {
    use abx_evidence::Outcome;

    use super::super::figures::tests::{options, run};
    use super::super::figures::{AbFigures, AbRun};
    use super::super::spread::Spread;

    fn report(words: &str, run: &AbRun) -> String {
        let options = options(words);
        AbFigures::of(&options, run).text(&options)
    }

    const OK: (u16, u64, Outcome) = (200, 12, Outcome::Ok);

    #[test]
    fn the_report_is_that_of_ab_to_the_character() {
        // Method: three requests with known times, computed by hand, and all lines that flags add.
        let parts = [OK, (404, 12, Outcome::Ok), (0, 0, Outcome::Reset)];
        let text = report("-n 3 -c 2 -k -r -p f http://127.0.0.1:8977/a", &run(&parts));
        let expected = "

Server Software:        nginx/1.22
Server Hostname:        127.0.0.1
Server Port:            8977

Document Path:          /a
Document Length:        12 bytes

Concurrency Level:      2
Time taken for tests:   2.000 seconds
Complete requests:      3
Failed requests:        1
   (Connect: 0, Receive: 1, Length: 0, Exceptions: 0)
Non-2xx responses:      1
Keep-Alive requests:    1
Total transferred:      4096 bytes
Total body sent:        300
HTML transferred:       1024 bytes
Requests per second:    1.50 [#/sec] (mean)
Time per request:       1333.333 [ms] (mean)
Time per request:       666.667 [ms] (mean, across all concurrent requests)
Transfer rate:          2.00 [Kbytes/sec] received
                        0.15 kb/s sent
                        2.15 kb/s total

Connection Times (ms)
              min  mean[+/-sd] median   max
Connect:        0    1   1.2      2       2
Processing:     8   10   2.1     11      12
Waiting:        0    2   1.7      3       3
Total:         10   11   1.0     12      12

Percentage of the requests served within a certain time (ms)
  50%     11
  66%     11
  75%     12
  80%     12
  90%     12
  95%     12
  98%     12
  99%     12
 100%     12 (longest request)
";
        assert_eq!(text, expected);
    }

    #[test]
    fn flags_leave_out_parts() {
        // Method: one request, and four with -d, -S and -l.
        let text = report("a/", &run(&[OK]));
        assert!(text.contains("Connection Times") && !text.contains("Percentage"));
        let short = report("-n 4 -S -d -l a/", &run(&[OK; 4]));
        let rows = "\nConnection Times (ms)\n              min   avg   max\nConnect:        2     2    2\n\
                    Processing:     8    10   11\nWaiting:        3     3    3\nTotal:         10    12   13\n";
        assert!(short.ends_with(rows), "{short}");
        assert!(short.contains("Document Length:        Variable\n"));
        let empty = report("a/", &run(&[]));
        assert!(empty.contains("Complete requests:      0\n") && !empty.contains("Connection"));
    }

    #[test]
    fn a_mean_far_from_the_median_causes_a_warning() {
        // Method: a mean of 10 ms and a median of 12 ms, with deviations on both sides of the
        // limits for a warning and for an error.
        let options = options("-n 2 a/");
        let mut figures = AbFigures::of(&options, &run(&[OK, OK]));
        let mut message = |deviation_us: f64| {
            figures.rows.total = Spread {
                mean_us: 10_400,
                middle_us: 11_500,
                deviation_us,
                ..Spread::default()
            };
            let text = figures.text(&options);
            let lines = text.lines().skip_while(|line| !line.starts_with("Total: "));
            let lines: Vec<String> = lines.skip(1).take(2).map(str::to_owned).collect();
            lines.join("\n")
        };
        assert!(message(2_000.0).starts_with("\nPercentage"));
        assert_eq!(
            message(1_999.0),
            "WARNING: The median and mean for the total time are not within a normal deviation\n        \
             These results are probably not that reliable."
        );
        assert!(message(1_000.0).starts_with("WARNING"));
        assert_eq!(
            message(999.0),
            "ERROR: The median and mean for the total time are more than twice the standard\n       \
             deviation apart. These results are NOT reliable."
        );
    }
}
