//! Times in tables: which of them are only known as "at least".

use abx_evidence::{Figure, Times};

use crate::words::style::Style;
use crate::words::units::{GLUE, TimeUnit, UNKNOWN};

/// A figure of these times, with the sign for "at least" where that is all that is known.
pub(crate) fn time(times: &Times, figure: Figure, unit: TimeUnit, style: &Style) -> String {
    let time_us = times.figure(figure);
    let text = unit.show(time_us.map(|us| us.round() as u64));
    if times.is_at_least(figure) && text != UNKNOWN {
        format!("{} {text}", style.at_least())
    } else {
        text
    }
}

/// The same with a unit of its own, for times that are of different sizes.
pub(crate) fn time_with_unit(times: &Times, figure: Figure, style: &Style) -> String {
    let Some(us) = times.figure(figure) else {
        return UNKNOWN.to_owned();
    };
    let unit = TimeUnit::of([Some(us.round() as u64)]);
    let text = time(times, figure, unit, style);
    format!("{text}{GLUE}{}", unit.sign())
}

/// The same within a sentence. `None` without such a time.
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

/// What the sign means, where one of these figures has it; empty where none has.
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
