//! Intervals as bars on one scale: the ratio, its interval, 1.00 and the margin.

use abx_evidence::{Comparison, Metric, StudyRecord};

use crate::words::labels::{label_lines, label_width};
use crate::words::metrics::{capitalized, metric_under};
use crate::words::style::Style;
use crate::words::units::{drawable, percent, ratios};
use crate::words::verdict::who;
use crate::words::wrap::{clean_name, columns, shorten};

/// One bar for each primary comparison that has a ratio, with axis and legend
/// for each metric; empty when none has.
pub(crate) fn bars(record: &StudyRecord, style: &Style) -> String {
    let each = { Metric::ALL.into_iter() }.map(|metric| bars_of(record, metric, style));
    each.filter(|bars| !bars.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

fn bars_of(record: &StudyRecord, metric: Metric, style: &Style) -> String {
    let found: Vec<(&Comparison, [f64; 3])> = { record.conclusions.primary() }
        .filter(|one| one.metric == metric)
        .filter_map(|one| Some((one, drawable(one)?)))
        .collect();
    let Some((first, _)) = found.first() else {
        return String::new();
    };
    let labels: Vec<String> = found.iter().map(|(one, _)| label(record, one)).collect();
    // Pairs of contrasts stand below their load, so they may take more.
    let is_grouped = is_grouped(record);
    let share = if is_grouped { 2 } else { 3 };
    let most = style.columns() / share;
    let label_width = label_width(labels.iter().map(String::as_str), most);
    let scale = RatioScale::of(
        found.iter().map(|(_, values)| *values),
        record.measured.settings.margin,
        style.columns() - label_width - 4,
    );
    let baseline = record.measured.only_baseline();
    let baseline = baseline.map(|name| shorten(&clean_name(name), 30));
    let baseline = baseline.unwrap_or_else(|| "the baseline of each".to_owned());
    let what = capitalized(metric_under(record, &first.load, metric));
    let heading = format!("{what} relative to {baseline}:");
    let mut out = style.paragraph(&heading);
    let mut load = "";
    for ((one, values), label) in found.iter().zip(&labels) {
        if is_grouped && load != one.load {
            load = &one.load;
            out.push_str(&format!("  {}:\n", clean_name(load)));
        }
        let lines = label_lines(label, label_width);
        let bar = scale.bar(*values, one.at_least);
        out.push_str(format!("  {:label_width$}  {bar}", lines[0]).trim_end());
        out.push('\n');
        for line in &lines[1..] {
            out.push_str(&format!("  {line}\n"));
        }
    }
    out.push_str(&format!("  {:label_width$}  {}\n", "", scale.axis()));
    let is_bound = found.iter().any(|(one, _)| one.at_least);
    let legend = format!(
        "● ratio, ┣━┫ interval ({} confidence), │ 1.00, ░ margin ({}){}; log scale",
        percent(first.confidence),
        percent(record.measured.settings.margin),
        if is_bound { ", ◀ ▶ or further" } else { "" },
    );
    out + &style.note(&legend)
}

/// Whether bars stand below the name of their load: those of pairs, under several loads.
fn is_grouped(record: &StudyRecord) -> bool {
    record.measured.loads.len() > 1 && record.measured.only_baseline().is_none()
}

fn label(record: &StudyRecord, one: &Comparison) -> String {
    let subject = who(record, one);
    match record.measured.loads.len() {
        2.. if !is_grouped(record) => format!("{subject}, {}", clean_name(&one.load)),
        _ => subject,
    }
}

/// A log scale with 1 in the middle.
struct RatioScale {
    /// The logarithm at the right end; its negative is at the left.
    end: f64,
    margin: f64,
    /// Columns on each side of 1.
    half: usize,
}

impl RatioScale {
    fn of(all: impl Iterator<Item = [f64; 3]>, margin: f64, width: usize) -> RatioScale {
        let margin = margin.max(0.0).ln_1p();
        let furthest = all.flatten().map(|value| value.ln().abs());
        RatioScale {
            end: ROOM * furthest.fold(margin.max(f64::MIN_POSITIVE), f64::max),
            margin,
            half: (width - 1) / 2,
        }
    }

    fn bar(&self, [ratio, low, high]: [f64; 3], at_least: bool) -> String {
        let mut cells = vec![' '; 2 * self.half + 1];
        cells[self.place(-self.margin)..=self.place(self.margin)].fill('░');
        let [ratio_at, low_at, high_at] = [ratio, low, high].map(|value| self.place(value.ln()));
        if low_at <= high_at {
            cells[low_at..=high_at].fill('━');
        }
        cells[low_at] = if at_least && ratio < 1.0 {
            '◀'
        } else {
            '┣'
        };
        cells[high_at] = if at_least && ratio >= 1.0 {
            '▶'
        } else {
            '┫'
        };
        cells[self.half] = '│';
        cells[ratio_at] = '●';
        cells.into_iter().collect()
    }

    fn axis(&self) -> String {
        let [one, left, right] = ratios([1.0, (-self.end).exp(), self.end.exp()]);
        let half = self.half;
        let before = half.saturating_sub(columns(&one) / 2);
        let after = (2 * half + 1).saturating_sub(before + columns(&one));
        format!("{left:before$}{one}{right:>after$}")
    }

    /// The column of a logarithm.
    fn place(&self, log: f64) -> usize {
        let half = self.half as f64;
        let column = half + (log / self.end * half).round();
        column.clamp(0.0, 2.0 * half) as usize
    }
}

/// The furthest end does not touch the edge.
const ROOM: f64 = 1.1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_marks_ratio_ends_margin_and_one() {
        // Method: a scale that ends at ln 1.1 · 1.1, read by the places of the signs.
        let scale = RatioScale::of([[1.05, 1.02, 1.1]].into_iter(), 0.03, 41);
        let bar: Vec<char> = scale.bar([1.05, 1.02, 1.1], false).chars().collect();
        let at = |sign| bar.iter().position(|cell| *cell == sign);
        assert_eq!(bar.len(), 41);
        assert_eq!(at('│'), Some(20));
        assert_eq!(at('┣'), Some(24));
        assert_eq!(at('●'), Some(29));
        assert_eq!(at('┫'), Some(38));
        assert_eq!(at('░'), Some(14));
    }

    #[test]
    fn a_bound_ratio_points_away_from_one() {
        // Method: one above and one below 1.
        let scale = RatioScale::of([[0.9, 0.8, 0.95]].into_iter(), 0.03, 41);
        assert!(scale.bar([0.9, 0.8, 0.95], true).contains('◀'));
        assert!(scale.bar([1.1, 1.05, 1.2], true).contains('▶'));
    }
}
