use crate::findings::prelude::*;
use abx_evidence::{ConnectionOpening, Held};

rule! {
    in Connections |subject| of_subject(subject.view);
    ConnectionsNotHeld [Note, Void]
        "idle connections did not last; above one in a hundred there is no verdict",
        "raise the server's limits on descriptors (`ulimit -n`), connections and listen backlog, \
         or hold fewer connections";
}

/// Above this share of connections that did not stand, the figures are those of
/// another load.
const MISSING_MAX: f64 = 0.01;

fn of_subject(subject: &SubjectView) -> Option<Finding> {
    let held = subject.readings().filter_map(|side| {
        let opening = side.opening.as_ref();
        Some((side.held?, opening.map_or(0, ConnectionOpening::lacked)))
    });
    not_held(subject.subject, held)
}

/// Connections to `who` that did not stand when they had been held, and how
/// many of them had stood before; beside each block's figures those that this machine
/// could not make. The block with the most of them counts.
fn not_held(who: &str, held: impl Iterator<Item = (Held, u64)>) -> Option<Finding> {
    let missing = |(this_held, lacked): &(Held, u64)| {
        this_held
            .asked
            .saturating_sub(this_held.standing)
            .saturating_sub(*lacked)
    };
    let worst = held.max_by_key(missing)?;
    let count = missing(&worst);
    let (worst, _) = worst;
    let is_over = share(count, worst.asked)? > MISSING_MAX;
    let lost = match worst.lost {
        0 => String::new(),
        lost => format!(", {lost} of them lost after they had been established"),
    };
    let message = format!(
        "{count} of {} connections to {who} were not open at the end{lost}",
        worst.asked
    );
    (count > 0).then(|| finding(message).at_if(is_over, Level::Void))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(standing: u64, lacked: u64) -> Option<Level> {
        let held = Held {
            asked: 1_000,
            standing,
            ..Held::default()
        };
        let whole = Held {
            asked: 1_000,
            standing: 1_000,
            ..Held::default()
        };
        not_held("a", [(held, lacked), (whole, 0)].into_iter()).map(|finding| finding.level)
    }

    #[test]
    fn more_than_one_in_a_hundred_that_do_not_stand_void() {
        // Method: none, ten and eleven missing of 1,000 in one of two blocks; those that
        // could not be made on this machine are not charged to the server.
        assert_eq!(level(1_000, 0), None);
        assert_eq!(level(990, 0), Some(Level::Note));
        assert_eq!(level(989, 0), Some(Level::Void));
        assert_eq!(level(689, 300), Some(Level::Void));
        assert_eq!(level(690, 310), None);
    }
}
