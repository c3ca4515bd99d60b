//! The records of one study over time.

use abx_evidence::OutputKind;
use abx_report::{Style, trend_html, trend_markdown, trend_text};
use abx_verdict::trend::{Trend, TrendChange, TrendMachine, TrendPoint, TrendSeries};
use abx_verdict::{Bounds, Metric, Verdict};
use insta::assert_snapshot;

/// A series of this metric on a machine with this CPU. The level changes after the twelfth record.
fn series(subject: &str, metric: Metric, cpu_model: &str, levels: [f64; 2]) -> TrendSeries {
    let point = |number: u64| TrendPoint {
        record: format!("{number:02}aa00"),
        started_unix_ms: 1_750_000_000_000 + 86_400_000 * number,
        label: number.is_multiple_of(2).then(|| format!("night {number}")),
        commit: (number > 11).then(|| format!("{number:02}f3a1c2d")),
        value: levels[usize::from(number > 11)] * (1.0 + 0.002 * (number * 7 % 11) as f64),
    };
    TrendSeries {
        subject: subject.to_owned(),
        load: "c50".to_owned(),
        metric,
        machine: TrendMachine {
            cpu_model: Some(cpu_model.to_owned()),
            cpus: 2,
        },
        points: (0..20).map(point).collect(),
        changes: Vec::new(),
    }
}

fn change(ratio: f64, verdict: Verdict) -> TrendChange {
    TrendChange {
        at: 12,
        records: ["11aa00", "12aa00"].map(str::to_owned),
        bounds: Bounds {
            ratio,
            low: ratio * 0.99,
            high: ratio * 1.01,
        },
        verdict,
    }
}

fn trend(series: Vec<TrendSeries>) -> Trend {
    Trend {
        head: OutputKind::Trend.into(),
        study: "nightly".to_owned(),
        records: 20,
        left_out: 0,
        series,
    }
}

/// The throughput of two servers, one of which became slower; the memory of one on another machine;
/// and a series that is too short.
pub fn mixed() -> Trend {
    let slower = TrendSeries {
        changes: vec![change(0.95, Verdict::Slower)],
        ..series("nginx", Metric::Throughput, "A", [41_000.0, 39_000.0])
    };
    let more = TrendSeries {
        changes: vec![change(1.2, Verdict::More)],
        ..series("nginx", Metric::Memory, "B", [3e6, 3.6e6])
    };
    let mut short = series("caddy", Metric::ResponseP99, "A", [843.0, 843.0]);
    short.points.truncate(5);
    let same = series("lighttpd", Metric::Throughput, "A", [50_000.0; 2]);
    Trend {
        left_out: 7,
        ..trend(vec![slower, same, more, short])
    }
}

#[test]
fn a_trend_of_several_series() {
    // Method: a lower throughput, a higher cost, no change, two machines, a short series, and
    // records that the trend leaves out.
    assert_snapshot!(trend_text(&mixed(), &Style::plain()));
}

#[test]
fn a_trend_in_markdown() {
    // Method: a series whose label has control characters of Markdown and of a terminal.
    let mut series = series("nginx", Metric::Throughput, "A", [41_000.0; 2]);
    series.points.truncate(3);
    series.points[0].label = Some("a|b `c` <img src=x> *f* @team\n\u{1b}[31m".to_owned());
    assert_snapshot!(trend_markdown(&trend(vec![series])));
}

#[test]
fn a_trend_in_ascii_is_as_wide_as_the_terminal() {
    // Method: a trend in ASCII on a small terminal; and a trend without series.
    let style = Style {
        unicode: false,
        width: 60,
        ..Style::plain()
    };
    let text = trend_text(&mixed(), &style);
    assert!(text.is_ascii(), "{text}");
    assert!(text.lines().all(|line| line.len() <= 60), "{text}");
    let none = trend_text(&trend(Vec::new()), &style);
    assert!(none.contains("none has a valid value"), "{none}");
}

#[test]
fn a_page_draws_each_series() {
    // Method: one plot for each series with at least two records.
    let html = trend_html(&mixed());
    assert_eq!(html.matches("<figure").count(), 4, "{html}");
    assert!(html.contains("Every record"), "{html}");
}

#[test]
fn many_series_are_cut_to_those_with_a_change() {
    // Method: forty series, one of which changes. The text has one row, and Markdown has all rows.
    let mut all_series = vec![series("nginx", Metric::Throughput, "A", [41_000.0; 2]); 40];
    all_series[7].subject = "caddy".to_owned();
    all_series[7].changes = vec![change(0.95, Verdict::Slower)];
    let trend = trend(all_series);
    let text = trend_text(&trend, &Style::plain());
    assert!(
        text.contains("caddy, c50") && !text.contains("nginx, c50"),
        "{text}"
    );
    assert!(
        text.contains("39 series without a change are left out"),
        "{text}"
    );
    assert_eq!(trend_markdown(&trend).matches("| nginx, c50 |").count(), 39);
}
