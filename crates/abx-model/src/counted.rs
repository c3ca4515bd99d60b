//! Counts with their noun, for messages.

/// A count with its noun, which takes an `s` unless there is one.
#[must_use]
pub fn counted(count: u64, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_count_of_one_has_no_ending() {
        // Method: none, one and more.
        let texts = [0, 1, 1_000].map(|count| counted(count, "request"));
        assert_eq!(texts, ["0 requests", "1 request", "1000 requests"]);
    }
}
