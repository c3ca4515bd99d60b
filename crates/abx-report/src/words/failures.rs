//! How requests failed, in words.

use std::collections::BTreeMap;

use abx_evidence::{Outcomes, Statuses};

use super::units::count;

/// Each outcome that speaks against the server, with its number; empty where none came.
pub(crate) fn named_failures(outcomes: &Outcomes) -> String {
    let failures = outcomes.iter().filter(|(outcome, _)| outcome.is_failure());
    let each = failures
        .map(|(outcome, times)| format!("{} {}", outcome.name().replace('_', " "), count(times)));
    each.collect::<Vec<_>>().join(", ")
}

/// Statuses by their class, with its number.
pub(crate) fn by_class(classes: BTreeMap<u16, u64>) -> String {
    let each = classes.into_iter();
    let each = each.map(|(class, times)| format!("{class}xx {}", count(times)));
    each.collect::<Vec<_>>().join(", ")
}

/// Each status that came where another one was expected, with its number; the classes first
/// where there are several statuses. Empty where none came.
pub(crate) fn wrong_statuses(statuses: &Statuses) -> String {
    let each = statuses.iter();
    let each = each.map(|(status, times)| format!("{status} {}", count(times)));
    let each: Vec<String> = each.collect();
    match each.len() {
        0 | 1 => each.concat(),
        _ => format!("{} ({})", by_class(statuses.classes()), each.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_told_one_by_one_and_by_class() {
        // Method: none, one, and three of two classes.
        let said = |all: &[(u16, usize)]| {
            let mut statuses = Statuses::default();
            let each = all.iter();
            let each = each.flat_map(|(status, times)| std::iter::repeat_n(*status, *times));
            each.for_each(|status| statuses.add(status));
            wrong_statuses(&statuses)
        };
        assert_eq!(said(&[]), "");
        assert_eq!(said(&[(404, 1_200)]), "404 1,200");
        assert_eq!(
            said(&[(404, 118), (429, 2), (503, 3)]),
            "4xx 120, 5xx 3 (404 118, 429 2, 503 3)"
        );
    }
}
