//! Whole numbers as a user writes them.

use std::ops::{Bound, RangeBounds};
use std::str::FromStr;

/// Reads whole numbers within these bounds, which have two ends or begin at 0 or 1. The message
/// for other text states what is accepted, and names an example.
pub fn whole_number<T: FromStr + 'static>(
    bounds: impl RangeBounds<u64> + Clone + Send + Sync + 'static,
    such_as: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text: &str| {
        let number = text.parse::<u64>().ok();
        let is_within = number.is_some_and(|number| bounds.contains(&number));
        // A number within the bounds may be too large for the type.
        let value = is_within.then(|| text.parse::<T>().ok()).flatten();
        value.ok_or_else(|| refusal(text, &bounds, such_as))
    }
}

fn refusal(text: &str, bounds: &impl RangeBounds<u64>, such_as: u64) -> String {
    let digits = text.trim_start_matches('0');
    let is_above_zero = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match (bounds.start_bound(), bounds.end_bound()) {
        (Bound::Included(least), Bound::Included(most)) => format!(
            "`{text}` is not a whole number from {least} to {most}: give one such as {such_as}"
        ),
        _ if is_above_zero => format!("`{text}` is too large: give a number such as {such_as}"),
        (Bound::Included(0), _) => {
            format!("`{text}` is not a whole number: give one such as {such_as}")
        }
        _ => format!("`{text}` is not a whole number above zero: give one such as {such_as}"),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn numbers_within_bounds_are_read() {
        // Method: the ends of each kind of bounds.
        assert_eq!(whole_number::<u32>(1.., 6)("4294967295"), Ok(u32::MAX));
        assert_eq!(whole_number::<u64>(0.., 42)("0"), Ok(0));
        assert_eq!(whole_number::<u32>(1..=1_024, 16)("1"), Ok(1));
        assert_eq!(whole_number::<u32>(1..=1_024, 16)("1024"), Ok(1_024));
        assert_eq!(
            whole_number::<NonZeroU32>(1.., 2)("3"),
            Ok(NonZeroU32::new(3).unwrap())
        );
    }

    #[test]
    fn a_refusal_states_what_is_accepted() {
        // Method: texts without a number, zero, numbers beyond each end, and a number that is only
        // too large for the type.
        for wrong in ["1k", "0", "-1", "1.5", "", " 1", "ten"] {
            let expected =
                format!("`{wrong}` is not a whole number above zero: give one such as 6");
            assert_eq!(whole_number::<u32>(1.., 6)(wrong), Err(expected));
        }
        for wrong in ["0", "1025", "1k"] {
            let expected =
                format!("`{wrong}` is not a whole number from 1 to 1024: give one such as 16");
            assert_eq!(whole_number::<u32>(1..=1_024, 16)(wrong), Err(expected));
        }
        let read = whole_number::<u16>(0.., 8);
        for (wrong, expected) in [
            ("70000", "`70000` is too large: give a number such as 8"),
            ("x", "`x` is not a whole number: give one such as 8"),
        ] {
            assert_eq!(read(wrong), Err(expected.to_owned()));
        }
    }
}
