use crate::findings::prelude::*;
use abx_evidence::Broadcasts;

rule! {
    in Subject |subject| missed(subject.view.subject, subject.summary.broadcasts.as_ref());
    ListenersMissed [Note]
        "listeners missed a broadcast, or received one out of order or twice",
        "check whether the server drops messages for slow readers; allow more time (`--timeout`), \
         or offer less load";
}

fn missed(who: &str, broadcasts: Option<&Broadcasts>) -> Option<Finding> {
    let Broadcasts {
        lost, out_of_order, ..
    } = broadcasts?;
    let message = format!(
        "listeners of {who} missed a broadcast {}, and received one out of order or twice {}",
        counted(*lost, "time"),
        counted(*out_of_order, "time")
    );
    (*lost.max(out_of_order) > 0).then(|| finding(message))
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
