//! The finding about listeners who miss broadcasts.

use crate::measure::broadcasts::Broadcasts;
use crate::record::finding::Finding;
use crate::record::finding_id::FindingId;

/// Listeners of `who` that never got a broadcast, or got some out of order. The
/// broadcasts themselves count as failed, which is a finding of its own.
pub(crate) fn missed(who: &str, broadcasts: Option<&Broadcasts>) -> Option<Finding> {
    let Broadcasts {
        lost, out_of_order, ..
    } = broadcasts?;
    let message = format!(
        "{lost} times a listener of {who} never got a broadcast, and {out_of_order} times one got \
         it out of order or twice"
    );
    (*lost.max(out_of_order) > 0).then(|| Finding::new(FindingId::ListenersMissed, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_who_miss_something_are_noted() {
        // Method: none, one lost, one out of order.
        let with = |lost, out_of_order| {
            let broadcasts = Broadcasts {
                lost,
                out_of_order,
                ..Broadcasts::default()
            };
            missed("a", Some(&broadcasts)).is_some()
        };
        assert!(!with(0, 0) && with(1, 0) && with(0, 1));
        assert!(missed("a", None).is_none());
    }
}
