//! Figures as a sparkline: a line of small columns.

/// One column for each figure, from zero to the highest of them.
pub(crate) fn sparkline(figures: &[f64]) -> String {
    let most = figures.iter().copied().fold(0.0, f64::max);
    columns(figures, [0.0, most])
}

/// One column for each figure, from the lowest to the highest of them. A range below `share` of the
/// highest is widened around its middle, so that noise stays small.
pub(crate) fn sparkline_within(figures: &[f64], share: f64) -> String {
    let most = figures.iter().copied().fold(f64::MIN, f64::max);
    let least = figures.iter().copied().fold(f64::MAX, f64::min);
    let widened = (share * most - (most - least)).max(0.0) / 2.0;
    columns(figures, [least - widened, most + widened])
}

fn columns(figures: &[f64], [low, high]: [f64; 2]) -> String {
    let range = (high - low).max(f64::MIN_POSITIVE);
    let column = |figure: &f64| {
        let level = ((figure - low) / range * COLUMNS.len() as f64).ceil();
        COLUMNS[(level as usize).clamp(1, COLUMNS.len()) - 1]
    };
    figures.iter().map(column).collect()
}

const COLUMNS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_stays_small_and_steps_are_visible() {
        // Method: figures within 1 %, a step by half, no figures, and zeros.
        assert_eq!(sparkline_within(&[100.0, 100.5, 99.5], 0.1), "▄▅▄");
        assert_eq!(sparkline_within(&[100.0, 50.0], 0.1), "█▁");
        assert_eq!(sparkline_within(&[], 0.1), "");
        assert_eq!(sparkline(&[0.0, 0.0]), "▁▁");
    }
}
