//! Properties of the statistics that hold for any blocks.

use abx_stats::Margin;
use abx_stats::series::warm_up::warm_up;
use abx_stats::signed_rank::WalshAverages;
use abx_stats::stop::decide;
use abx_stats::student::Confidence;
use abx_verdict::verdict::{Assessment, assess};
use proptest::prelude::*;

/// Log ratios of 2 to 29 blocks in steps of 0.025 %, so that no verdict depends
/// on the last bit of a sum, except where the test allows for it.
fn log_ratios() -> impl Strategy<Value = Vec<f64>> {
    let block = (-200_i32..200).prop_map(|step| f64::from(step) / 1000.0);
    (-100_i32..100, prop::collection::vec(block, 2..30)).prop_map(|(center, blocks)| {
        let center = f64::from(center) / 1000.0;
        blocks
            .into_iter()
            .map(|block| center + block / 4.0)
            .collect()
    })
}

fn assessed(log_ratios: &[f64]) -> Assessment {
    assess(log_ratios, Margin::DEFAULT).expect("two finite blocks or more")
}

fn is_close(value: f64, other: f64) -> bool {
    (value - other).abs() < 1e-9 * value.abs().max(1.0)
}

proptest! {
    #[test]
    fn swapping_subject_and_baseline_mirrors_everything(blocks in log_ratios()) {
        // Method: negate the log ratio of every block.
        let usual = assessed(&blocks);
        let swapped = assessed(&blocks.iter().map(|block| -block).collect::<Vec<_>>());
        prop_assert!(is_close(usual.ratio * swapped.ratio, 1.0));
        prop_assert!(is_close(usual.low * swapped.high, 1.0));
        prop_assert_eq!(usual.verdict, swapped.verdict.mirrored());
        prop_assert_eq!(usual.is_fragile(), swapped.is_fragile());
        prop_assert_eq!(usual.blocks_more, swapped.blocks_more);
    }

    #[test]
    fn a_constant_factor_moves_the_interval_and_keeps_its_width(
        blocks in log_ratios(),
        shift in -1.0..1.0,
    ) {
        // Method: make the subject faster by the same factor in every block.
        let before = assessed(&blocks);
        let after = assessed(&blocks.iter().map(|block| block + shift).collect::<Vec<_>>());
        let factor = f64::exp(shift);
        prop_assert!(is_close(before.ratio * factor, after.ratio));
        prop_assert!(is_close(before.low * factor, after.low));
        prop_assert!(is_close(before.high * factor, after.high));
    }

    #[test]
    fn a_scaled_spread_scales_the_interval(blocks in log_ratios(), scale in 0.1..10.0) {
        // Method: multiply every log ratio by the same number.
        let before = assessed(&blocks);
        let after = assessed(&blocks.iter().map(|block| block * scale).collect::<Vec<_>>());
        prop_assert!(is_close(before.ratio.ln() * scale, after.ratio.ln()));
        prop_assert!(is_close(before.low.ln() * scale, after.low.ln()));
        prop_assert!(is_close(before.high.ln() * scale, after.high.ln()));
    }

    #[test]
    fn the_order_of_blocks_does_not_matter(
        (blocks, shuffled) in log_ratios()
            .prop_flat_map(|blocks| (Just(blocks.clone()), Just(blocks).prop_shuffle())),
    ) {
        // Method: the same blocks in another order.
        let assessment = assessed(&blocks);
        let other = assessed(&shuffled);
        prop_assert!(is_close(assessment.ratio, other.ratio));
        prop_assert!(is_close(assessment.low, other.low));
        prop_assert!(is_close(assessment.high, other.high));
        prop_assert_eq!(assessment.verdict, other.verdict);
        prop_assert_eq!(assessment.hodges_lehmann, other.hodges_lehmann);
    }

    #[test]
    fn the_signed_rank_interval_holds_its_center(blocks in log_ratios()) {
        // Method: with 6 blocks or more, the interval exists, holds the
        // estimate, lies within the blocks and covers at least 95 %.
        let averages = WalshAverages::of(&blocks).unwrap();
        prop_assert_eq!(averages.is_some(), blocks.len() >= 6);
        if let Some(averages) = averages {
            let rank_interval = averages.interval(Confidence::PRINTED);
            let least = blocks.iter().copied().fold(f64::INFINITY, f64::min);
            let largest = blocks.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(least <= rank_interval.interval.low);
            prop_assert!(rank_interval.interval.low <= rank_interval.interval.center);
            prop_assert!(rank_interval.interval.center <= rank_interval.interval.high);
            prop_assert!(rank_interval.interval.high <= largest);
            prop_assert!((0.95..1.0).contains(&rank_interval.coverage));
        }
    }

    #[test]
    fn any_numbers_get_a_result_or_an_error(
        numbers in prop::collection::vec(prop::num::f64::ANY, 0..40),
    ) {
        // Method: any bit patterns, infinities and NaN among them. No public
        // function panics, and each accepts finite numbers only.
        let is_finite = numbers.iter().all(|number| number.is_finite());
        let has_spread = numbers.len() >= 2;
        prop_assert_eq!(assess(&numbers, Margin::DEFAULT).is_ok(), is_finite && has_spread);
        prop_assert_eq!(decide(&numbers, Margin::DEFAULT).is_ok(), is_finite);
        prop_assert_eq!(warm_up(&numbers).is_ok(), is_finite && numbers.len() >= 20);
    }
}
