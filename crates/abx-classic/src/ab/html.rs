//! The report as an HTML table.

use std::fmt::{Display, Write};

use super::figures::AbFigures;
use super::options::AbMarkup;
use super::spread::ms;

impl AbFigures {
    /// The report from `<table>` on, as ab prints it.
    #[must_use]
    pub fn html(&self, markup: &AbMarkup) -> String {
        let mut rows = HtmlRows {
            text: format!("\n\n<table {}>\n", markup.table),
            markup,
        };
        rows.add("Server Software:", &self.software);
        rows.add("Server Hostname:", &self.host);
        rows.add("Server Port:", self.port);
        rows.add("Document Path:", &self.path);
        rows.add("Document Length:", self.document_length());
        rows.add("Concurrency Level:", self.concurrency);
        rows.add(
            "Time taken for tests:",
            format!("{:.3} seconds", self.seconds),
        );
        rows.add("Complete requests:", self.complete);
        rows.add("Failed requests:", self.failures.all());
        if self.failures.all() > 0 {
            rows.add_causes(self);
        }
        if self.non_2xx > 0 {
            rows.add("Non-2xx responses:", self.non_2xx);
        }
        if let Some(kept) = self.kept {
            rows.add("Keep-Alive requests:", kept);
        }
        rows.add(
            "Total transferred:",
            format!("{} bytes", self.received_bytes),
        );
        if let Some(bytes) = self.sent_bytes {
            rows.add("Total body sent:", bytes);
        }
        rows.add("HTML transferred:", format!("{} bytes", self.body_bytes));
        if self.seconds > 0.0 {
            rows.add_rates(self);
        }
        if self.complete > 0 {
            rows.add_times(self);
        }
        rows.text.push_str("</table>\n");
        rows.text
    }
}

/// A table under construction.
struct HtmlRows<'a> {
    text: String,
    markup: &'a AbMarkup,
}

impl HtmlRows<'_> {
    fn add(&mut self, label: &str, value: impl Display) {
        let AbMarkup { row, cell, .. } = self.markup;
        let value = escaped(&value.to_string());
        let _ = writeln!(
            self.text,
            "<tr {row}><th colspan=2 {cell}>{label}</th><td colspan=2 {cell}>{value}</td></tr>"
        );
    }

    fn add_causes(&mut self, figures: &AbFigures) {
        let AbMarkup { row, cell, .. } = self.markup;
        let causes = figures.failures;
        let _ = writeln!(
            self.text,
            "<tr {row}><td colspan=4 {cell} >   (Connect: {}, Length: {}, Exceptions: {})</td></tr>",
            causes.connect,
            causes.length,
            causes.receive + causes.exceptions
        );
    }

    fn add_rates(&mut self, figures: &AbFigures) {
        let per_s = figures.complete as f64 / figures.seconds;
        self.add("Requests per second:", format!("{per_s:.2}"));
        let received = figures.kib_per_s(figures.received_bytes);
        self.add("Transfer rate:", format!("{received:.2} kb/s received"));
        let Some(sent_bytes) = figures.sent_bytes else {
            return;
        };
        let sent = figures.kib_per_s(sent_bytes);
        let total = figures.kib_per_s(sent_bytes + figures.received_bytes);
        let AbMarkup { row, cell, .. } = self.markup;
        for (rate, label) in [(sent, "sent"), (total, "total")] {
            let _ = writeln!(
                self.text,
                "<tr {row}><td colspan=2 {cell}>&nbsp;</td><td colspan=2 {cell}>{rate:.2} kb/s \
                 {label}</td></tr>"
            );
        }
    }

    fn add_times(&mut self, figures: &AbFigures) {
        let AbMarkup { row, cell, .. } = self.markup;
        let _ = writeln!(
            self.text,
            "<tr {row}><th {cell} colspan=4>Connection Times (ms)</th></tr>"
        );
        let _ = writeln!(
            self.text,
            "<tr {row}><th {cell}>&nbsp;</th> <th {cell}>min</th>   <th {cell}>avg</th>   \
             <th {cell}>max</th></tr>"
        );
        let rows = &figures.rows;
        for (label, spread) in [
            ("Connect:", rows.connect),
            ("Processing:", rows.processing),
            ("Total:", rows.total),
        ] {
            let [min, mean, max] = [spread.min_us, spread.mean_us, spread.max_us].map(ms);
            let _ = writeln!(
                self.text,
                "<tr {row}><th {cell}>{label}</th><td {cell}>{min:5}</td><td {cell}>{mean:5}</td>\
                 <td {cell}>{max:5}</td></tr>"
            );
        }
    }
}

/// Escapes text from servers and command lines, so that it cannot add markup.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use abx_evidence::Outcome;

    use super::super::figures::AbFigures;
    use super::super::figures::tests::{options, run};

    #[test]
    fn the_table_is_that_of_ab_to_the_character() {
        // Method: the output of ab 2.4.71, with these figures.
        let parts = [(200, 12, Outcome::Ok), (0, 0, Outcome::Reset)];
        let options = options("-n 2 -c 2 -k -p f -y class=r -w http://127.0.0.1:8977/a?<b>&c");
        let text = AbFigures::of(&options, &run(&parts)).html(options.markup.as_ref().unwrap());
        let row = |label: &str, value: &str| {
            format!(
                "<tr class=r><th colspan=2 bgcolor=white>{label}:</th><td colspan=2 \
                 bgcolor=white>{value}</td></tr>\n"
            )
        };
        let more = |value: &str| {
            format!(
                "<tr class=r><td colspan=2 bgcolor=white>&nbsp;</td><td colspan=2 \
                 bgcolor=white>{value}</td></tr>\n"
            )
        };
        let times = |label: &str, values: [&str; 3]| {
            let values = values.map(|value| format!("<td bgcolor=white>{value:>5}</td>"));
            let values = values.concat();
            format!("<tr class=r><th bgcolor=white>{label}:</th>{values}</tr>\n")
        };
        let expected = [
            "\n\n<table >\n".to_owned(),
            row("Server Software", "nginx/1.22"),
            row("Server Hostname", "127.0.0.1"),
            row("Server Port", "8977"),
            row("Document Path", "/a?&lt;b&gt;&amp;c"),
            row("Document Length", "12 bytes"),
            row("Concurrency Level", "2"),
            row("Time taken for tests", "2.000 seconds"),
            row("Complete requests", "2"),
            row("Failed requests", "1"),
            "<tr class=r><td colspan=4 bgcolor=white >   (Connect: 0, Length: 0, Exceptions: 1)\
             </td></tr>\n"
                .to_owned(),
            row("Keep-Alive requests", "1"),
            row("Total transferred", "4096 bytes"),
            row("Total body sent", "200"),
            row("HTML transferred", "1024 bytes"),
            row("Requests per second", "1.00"),
            row("Transfer rate", "2.00 kb/s received"),
            more("0.10 kb/s sent"),
            more("2.10 kb/s total"),
            "<tr class=r><th bgcolor=white colspan=4>Connection Times (ms)</th></tr>\n".to_owned(),
            "<tr class=r><th bgcolor=white>&nbsp;</th> <th bgcolor=white>min</th>   \
             <th bgcolor=white>avg</th>   <th bgcolor=white>max</th></tr>\n"
                .to_owned(),
            times("Connect", ["0", "1", "2"]),
            times("Processing", ["8", "10", "11"]),
            times("Total", ["10", "11", "11"]),
            "</table>\n".to_owned(),
        ];
        assert_eq!(text, expected.concat());
    }
}
