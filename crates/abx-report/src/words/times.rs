//! Times in tables and sentences, with a sign if they are only known as "at least".

use abx_evidence::{Figure, Times};

use crate::words::style::Style;
use crate::words::units::{GLUE, TimeUnit, UNKNOWN};

/// A figure of these times, with a sign if it is only known as "at least".
pub(crate) fn time(times: &Times, figure: Figure, unit: TimeUnit, style: &Style) -> String {
    let time_us = times.figure(figure);
    let text = unit.show(time_us.map(|us| us.round() as u64));
    if times.is_at_least(figure) && text != UNKNOWN {
        format!("{} {text}", style.at_least())
    } else {
        text
    }
}

/// A figure of these times with a unit of its own, for times of different sizes.
pub(crate) fn time_with_unit(times: &Times, figure: Figure, style: &Style) -> String {
    let Some(us) = times.figure(figure) else {
        return UNKNOWN.to_owned();
    };
    let unit = TimeUnit::of([Some(us.round() as u64)]);
    let text = time(times, figure, unit, style);
    format!("{text}{GLUE}{}", unit.sign())
}

/// A figure of these times within a sentence. `None` without such a time.
pub(crate) fn time_in_words(times: &Times, figure: Figure) -> Option<String> {
    let us = times.figure(figure)?.round() as u64;
    let unit = TimeUnit::of([Some(us)]);
    let limit = if times.is_at_least(figure) {
        "at least "
    } else {
        ""
    };
    Some(format!(
        "{limit}{}{GLUE}{}",
        unit.show(Some(us)),
        unit.sign()
    ))
}

/// The meaning of the sign if one of these figures has it; empty otherwise.
pub(crate) fn at_least_legend<'a>(
    mut times: impl Iterator<Item = &'a Times>,
    figures: &[Figure],
    style: &Style,
) -> String {
    let has_sign = |times: &Times| figures.iter().any(|figure| times.is_at_least(*figure));
    if !times.any(has_sign) {
        return String::new();
    }
    format!(
        " {}: at least. Requests without a response count with the time they waited.",
        style.at_least()
    )
}
