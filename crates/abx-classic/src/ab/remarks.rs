//! Where ab's report misleads, and what to use instead.

use super::figures::AbFigures;
use super::options::AbOptions;
use super::spread::{Spread, ms};

impl AbFigures {
    /// One line for each fact that the report hides or misstates.
    #[must_use]
    pub fn remarks(&self, options: &AbOptions) -> Vec<String> {
        let url = options.url.text();
        let (failed, complete) = (self.failures.all(), self.complete);
        let mut remarks = Vec::new();
        if options.time_replaced_requests {
            remarks.push(
                "-t after -n replaces it by 50000, as in ab: give -t first, or use `abx run` with \
                 one of -n and -d"
                    .to_owned(),
            );
        }
        if failed > 0 {
            remarks.push(format!(
                "{failed} of {complete} requests failed, and the rates and times above include \
                 them: `abx run {url}` counts correct responses alone"
            ));
        }
        if self.non_2xx > 0 {
            remarks.push(format!(
                "{} of {complete} responses were not 2xx, which ab does not count as failures: \
                 `abx run {url}` counts them as failed",
                self.non_2xx
            ));
        }
        if !options.hides_confidence && options.markup.is_none() && self.misses_median() {
            remarks.push(format!(
                "the medians in the table are computed as ab does and are not true medians (for \
                 Total, the median is {:.3} ms): `abx run {url}` has p50",
                self.rows.total.median_us as f64 / 1_000.0
            ));
        }
        remarks
    }

    /// Whether a row does not show its median.
    fn misses_median(&self) -> bool {
        let rows = &self.rows;
        let spreads = [rows.connect, rows.processing, rows.waiting, rows.total];
        let differs = |spread: &Spread| ms(spread.middle_us) != ms(spread.median_us);
        spreads.iter().any(differs)
    }
}

#[cfg(test)]
mod tests {
    use abx_evidence::Outcome;

    use super::super::figures::AbFigures;
    use super::super::figures::tests::{options, run};

    const OK: (u16, u64, Outcome) = (200, 12, Outcome::Ok);

    fn remarks(words: &str, requests: &[(u16, u64, Outcome)]) -> Vec<&'static str> {
        let options = options(words);
        let remarks = AbFigures::of(&options, &run(requests)).remarks(&options);
        assert!(
            remarks
                .iter()
                .all(|remark| remark.contains("abx run") && !remark.contains('\n'))
        );
        let words = ["-t after -n", "requests failed", "not 2xx", "medians"];
        let kind = |remark: &String| words.into_iter().find(|word| remark.contains(word));
        remarks
            .iter()
            .map(|remark| kind(remark).expect("a known remark"))
            .collect()
    }

    #[test]
    fn each_misleading_figure_has_its_remark() {
        // Method: each cause alone, and none. For one request, ab's median is correct; for
        // requests of 10, 11 and 12 ms it prints 12 instead of 11.
        let failed = (0, 0, Outcome::Reset);
        let wrong = (404, 12, Outcome::Ok);
        assert_eq!(remarks("a/", &[OK]), [""; 0]);
        assert_eq!(remarks("-S a/", &[OK, failed]), ["requests failed"]);
        assert_eq!(remarks("-S a/", &[OK, wrong]), ["not 2xx"]);
        assert_eq!(remarks("a/", &[OK; 3]), ["medians"]);
        assert_eq!(remarks("-w a/", &[OK; 3]), [""; 0]);
        assert_eq!(remarks("-n 5 -t 1 -S a/", &[OK]), ["-t after -n"]);
    }
}
