//! The tables that `-e` and `-g` write.

use std::fmt::Write;

use super::figures::AbFigures;
use super::spread::ms;

impl AbFigures {
    /// The percentages of requests, and the times in ms within which these were served.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut text = "Percentage served,Time in ms\n".to_owned();
        let Some(last) = self.times.len().checked_sub(1) else {
            return text;
        };
        for percentage in 0..=100 {
            // Halves are rounded up. ab reads past the last time at 100 %.
            let index = (self.times.len() * percentage + 50) / 100;
            let time_us = self.times[index.min(last)].total_us;
            let _ = writeln!(text, "{percentage},{:.3}", time_us as f64 / 1_000.0);
        }
        text
    }

    /// All requests by duration, with times in ms. `calendar` formats seconds since 1970 as a date.
    #[must_use]
    pub fn gnuplot(&self, calendar: impl Fn(u64) -> String) -> String {
        let mut text = "starttime\tseconds\tctime\tdtime\tttime\twait\n".to_owned();
        let mut last = (u64::MAX, String::new());
        for time in &self.times {
            let second = time.began_us / 1_000_000;
            if last.0 != second {
                last = (second, calendar(second));
            }
            let times = [
                time.connect_us,
                time.processing_us(),
                time.total_us,
                time.wait_us,
            ];
            let [connect, processing, total, wait] = times.map(ms);
            let date = &last.1;
            let _ = writeln!(
                text,
                "{date}\t{second}\t{connect}\t{processing}\t{total}\t{wait}"
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use abx_evidence::Outcome;

    use super::super::figures::AbFigures;
    use super::super::figures::tests::{options, run};

    fn figures(count: usize) -> AbFigures {
        AbFigures::of(&options("a/"), &run(&vec![(200, 12, Outcome::Ok); count]))
    }

    #[test]
    fn every_percentage_has_its_time() {
        // Method: four requests of 10, 11, 12 and 13 ms; the time changes at 12.5 %.
        let text = figures(4).csv();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 102);
        assert_eq!(lines[0], "Percentage served,Time in ms");
        for (index, expected) in [
            (1, "0,10.000"),
            (13, "12,10.000"),
            (14, "13,11.000"),
            (63, "62,12.000"),
            (64, "63,13.000"),
            (101, "100,13.000"),
        ] {
            assert_eq!(lines[index], expected);
        }
        assert_eq!(figures(0).csv().lines().count(), 1);
    }

    #[test]
    fn every_request_has_a_row_in_order_of_duration() {
        // Method: 51 requests, of which the last begins one second after the first.
        let text = figures(51).gnuplot(|second| format!("date {second}"));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 52);
        assert_eq!(lines[0], "starttime\tseconds\tctime\tdtime\tttime\twait");
        assert_eq!(lines[1], "date 1700000000\t1700000000\t2\t8\t10\t3");
        assert_eq!(lines[51], "date 1700000001\t1700000001\t2\t58\t60\t3");
    }
}
