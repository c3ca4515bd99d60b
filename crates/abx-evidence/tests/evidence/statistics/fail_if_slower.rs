//! How often `--fail-if-slower 3%` fails, by how much slower a server truly is.
//! docs/ci.md quotes the table.

use abx_evidence::stats::Margin;
use abx_evidence::stats::stop::{BLOCKS_FOR_VERDICT, Decision};
use abx_evidence::verdict::{ClaimFamily, assess_together, decide_together};

use super::extent::{drawn, most};
use super::noise::{Extent, Noise, World};
use super::simulation::BLOCKS_MAX;

/// Studies of each cell.
const STUDIES: usize = 5_000;
/// How much slower servers truly are, and how far their blocks scatter.
const SLOWER: [f64; 5] = [0.0, 0.03, 0.04, 0.05, 0.06];
const SPREADS: [f64; 3] = [0.01, 0.02, 0.05];

/// The shares of studies that fail and that are not settled.
struct Ends {
    fails: f64,
    unsettled: f64,
}

fn simulate(slower: f64, spread: f64, studies: usize) -> Ends {
    let extent = Extent {
        subjects: 2,
        blocks_max: BLOCKS_MAX,
    };
    let limit = 0.97;
    let family = ClaimFamily::alone(1);
    let mut ends = Ends {
        fails: 0.0,
        unsettled: 0.0,
    };
    for seed in 0..studies {
        let mut world = World::new(Noise::Normal, extent, seed as u64);
        let mut blocks: Vec<f64> = Vec::new();
        while blocks.len() < BLOCKS_MAX
            && decide_together(&[&blocks], Margin::DEFAULT, family) == Decision::Continue
        {
            blocks.push((1.0 - slower).ln() + spread * world.normal());
        }
        assert!(blocks.len() >= BLOCKS_FOR_VERDICT);
        let found = assess_together(&[&blocks], Margin::DEFAULT, family).remove(0);
        let found = found.expect("enough blocks");
        let each = 1.0 / studies as f64;
        match (found.high < limit, found.low >= limit) {
            (true, _) => ends.fails += each,
            (_, true) => {}
            _ => ends.unsettled += each,
        }
    }
    ends
}

#[test]
fn a_version_that_is_as_fast_seldom_fails_and_one_that_is_slower_does() {
    // Method: a margin of 3 %, the real stop rule and at most 24 blocks. As fast, or slower
    // by just the limit, at most one of a hundred and one of twenty-five fail; at a spread of
    // 1 %, nine of ten that are 5 % slower do.
    let studies = drawn(STUDIES);
    println!("| truly slower by | spread 1 % | spread 2 % | spread 5 % |");
    println!("|---|---|---|---|");
    for slower in SLOWER {
        let ends = SPREADS.map(|spread| simulate(slower, spread, studies));
        let cells = ends.each_ref().map(|one| {
            format!(
                "{:.1} % (unsettled {:.0} %)",
                100.0 * one.fails,
                100.0 * one.unsettled
            )
        });
        println!("| {:.0} % | {} |", 100.0 * slower, cells.join(" | "));
        let fails = ends.each_ref().map(|one| one.fails);
        let allowed = if slower < 0.01 { 0.01 } else { 0.04 };
        let are_few = fails.iter().all(|share| *share <= most(allowed, studies));
        assert!(slower > 0.035 || are_few, "{slower}: {fails:?}");
        assert!(slower < 0.05 || fails[0] > 0.8, "{slower}: {fails:?}");
    }
}
