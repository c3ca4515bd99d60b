//! How often values appear to be two groups: seldom if they are one, and almost always if they
//! are two that lie far apart.

use abx_stats::series::two_groups::TwoGroups;

use super::draws::{Draws, Spread};
use super::extent::{drawn, most};

/// Studies per number of blocks and shape.
const STUDIES: usize = 20_000;

/// The share of lists found to be two groups after `change`.
fn share_of_two(count: usize, spread: Spread, change: impl Fn(&mut [f64])) -> f64 {
    let studies = drawn(STUDIES);
    let mut draws = Draws::new(spread, count);
    let split = (0..studies).filter(|_| {
        let mut values = draws.values(count);
        change(&mut values);
        TwoGroups::of(&values).is_some()
    });
    split.count() as f64 / studies as f64
}

#[test]
fn one_group_seldom_appears_to_be_two() {
    // Method: blocks of one level, normal and with heavy tails, without an outlier and with one
    // at 20 spreads. At most 1 % of the lists appear to be two groups.
    println!("| blocks | spread | one group | with an outlier |");
    println!("|---|---|---|---|");
    for count in [6, 7, 8, 10, 12, 16, 24, 40] {
        for spread in [Spread::Normal, Spread::HeavyTails] {
            let alone = share_of_two(count, spread, |_| {});
            let with_outlier = share_of_two(count, spread, |values| values[0] -= 20.0);
            println!(
                "| {count} | {spread:?} | {:.2} % | {:.2} % |",
                alone * 100.0,
                with_outlier * 100.0
            );
            let bound = most(0.01, drawn(STUDIES));
            let what = format!("{count} {spread:?}");
            assert!(alone <= bound && with_outlier <= bound, "{what}");
        }
    }
}

#[test]
fn two_groups_that_lie_far_apart_are_found() {
    // Method: 2 blocks of 6, 12 and 24, 4 of 40, and half of 24 lie below the others, by 1, 12
    // and 20 spreads. With 12 blocks or more, 12 spreads are enough in over 90 % of normal
    // lists, and 20 in over 94 % of all lists. One spread is too little.
    println!("| blocks | low | spread | 1 apart | 12 apart | 20 apart |");
    println!("|---|---|---|---|---|---|");
    for (count, low) in [(6, 2), (12, 2), (24, 2), (24, 12), (40, 4)] {
        for spread in [Spread::Normal, Spread::HeavyTails] {
            let shares = [1.0, 12.0, 20.0].map(|apart| {
                share_of_two(count, spread, |values| {
                    values[..low].iter_mut().for_each(|value| *value -= apart);
                })
            });
            let texts = shares.map(|share| format!("{:.0} %", share * 100.0));
            println!("| {count} | {low} | {spread:?} | {} |", texts.join(" | "));
            let what = format!("{low} of {count} {spread:?}: {shares:?}");
            let [little, far, farthest] = shares;
            assert!(little < 0.02, "{what}");
            if count > 6 {
                let is_normal = matches!(spread, Spread::Normal);
                assert!(far > 0.9 || !is_normal, "{what}");
                assert!(farthest > 0.94, "{what}");
            }
        }
    }
}
