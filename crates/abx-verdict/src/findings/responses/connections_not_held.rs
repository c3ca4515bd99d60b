use crate::findings::prelude::*;
use abx_evidence::{ConnectionOpening, Held};

rule! {
    in Connections |subject| of_subject(subject.view);
    ConnectionsNotHeld [Note, Void]
        "idle connections did not last; above one in a hundred there is no verdict",
        "raise the server's limits on descriptors (`ulimit -n`), connections and listen backlog, \
         or hold fewer connections";
}

/// Above this share of connections that were not open, the figures are those of
/// another load.
const MISSING_MAX: f64 = 0.01;

fn of_subject(subject: &SubjectView) -> Option<Finding> {
    let held = subject.readings().filter_map(|readings| {
        let opening = readings.opening.as_ref();
        Some((readings.held?, opening.map_or(0, ConnectionOpening::lacked)))
    });
    not_held(subject.subject, held)
}

/// Reports the connections to `who` that were not open at the end, and how many of them had been
/// open before. `held` has the figures of each block with the number of connections that this
/// machine could not make. The block with the most missing connections counts.
fn not_held(who: &str, held: impl Iterator<Item = (Held, u64)>) -> Option<Finding> {
    let missing = |(held, lacked): &(Held, u64)| {
        held.asked
            .saturating_sub(held.standing)
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
        let complete = Held {
            asked: 1_000,
            standing: 1_000,
            ..Held::default()
        };
        not_held("a", [(held, lacked), (complete, 0)].into_iter()).map(|finding| finding.level)
    }

    #[test]
    fn more_than_one_missing_connection_in_a_hundred_voids() {
        // Method: none, ten and eleven missing of 1,000 in one of two blocks; then connections
        // that this machine could not make, which do not count against the server.
        assert_eq!(level(1_000, 0), None);
        assert_eq!(level(990, 0), Some(Level::Note));
        assert_eq!(level(989, 0), Some(Level::Void));
        assert_eq!(level(689, 300), Some(Level::Void));
        assert_eq!(level(690, 310), None);
    }
}
