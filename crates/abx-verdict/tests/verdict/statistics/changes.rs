//! How often the level of a series appears to change: seldom if it is constant, and mostly if
//! it changes by more than the spread of a few values.

use std::thread;

use abx_stats::series::changes::changes;

use super::draws::{Draws, Spread};
use super::extent::{drawn, is_full, most};

/// Series per length and shape.
const SERIES: usize = 2_000;

/// The spread of the log of a value.
const SPREAD: f64 = 0.02;

/// Every shape of the noise, with or without an outlier of 20 spreads.
const SHAPES: [(Spread, bool, &str); 4] = [
    (Spread::Normal, false, "normal"),
    (Spread::HeavyTails, false, "t with 4 df"),
    (Spread::Normal, true, "normal, one outlier"),
    (Spread::HeavyTails, true, "t with 4 df, one outlier"),
];

/// Whether series of this length are drawn in this run: long series are slow.
fn is_drawn(count: usize) -> bool {
    is_full() || count < 60
}

/// One series around 0, with an outlier at a place that depends on its index.
fn values(draws: &mut Draws, count: usize, has_outlier: bool, series_index: usize) -> Vec<f64> {
    let mut values = draws.values(count);
    if has_outlier {
        values[series_index * 7 % count] -= 20.0;
    }
    values.iter().map(|value| SPREAD * value).collect()
}

/// Runs a simulation for every shape, each in its own thread.
fn each_shape<T: Send>(run: impl Fn(Spread, bool) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let run = &run;
        let threads =
            SHAPES.map(|(spread, has_outlier, _)| scope.spawn(move || run(spread, has_outlier)));
        threads
            .map(|thread| thread.join().expect("no series panics"))
            .into()
    })
}

#[test]
fn a_constant_series_seldom_appears_to_change() {
    // Method: series of one level, normal and with heavy tails, with and without one outlier.
    // Changes are found in at most 5 % of them.
    println!("| records | normal | t with 4 df | normal, one outlier | t with 4 df, one outlier |");
    println!("|---|---|---|---|---|");
    let lengths = [8, 10, 12, 20, 50, 100, 200];
    for count in lengths.into_iter().filter(|count| is_drawn(*count)) {
        let series = drawn(SERIES);
        let shares = each_shape(|spread, has_outlier| {
            let mut draws = Draws::new(spread, count);
            let false_alarms = (0..series).filter(|index| {
                let values = values(&mut draws, count, has_outlier, *index);
                !changes(&values).expect("finite values").is_empty()
            });
            false_alarms.count() as f64 / series as f64
        });
        println!("| {count} | {} |", row(&shares));
        for (share, (_, _, name)) in shares.iter().zip(SHAPES) {
            assert!(*share <= most(0.05, series), "{count} {name}: {share}");
        }
    }
}

/// Shares of series with one true change.
#[derive(Default)]
struct FoundShares {
    /// A change was found at most one value away from its true place.
    found: f64,
    /// A second, nonexistent change was found.
    second: f64,
    /// Of the series in which one change was found: its interval holds the truth.
    holds: f64,
}

#[test]
fn a_change_of_five_percent_is_found() {
    // Method: a step down by 5 % at a spread of 2 %, with various numbers of values before and
    // after it. With 20 or more before and 5 or more after, more than 80 % are found. A second
    // change is found in at most 7 % of the series.
    println!(
        "| before | after | found | a second one | interval holds | found, t with 4 df | found, one outlier |"
    );
    println!("|---|---|---|---|---|---|---|");
    let places = [
        (5, 3),
        (4, 4),
        (6, 6),
        (10, 5),
        (10, 10),
        (20, 3),
        (20, 5),
        (20, 10),
        (50, 5),
        (50, 50),
        (190, 10),
    ];
    for (before, after) in { places.into_iter() }.filter(|(before, after)| is_drawn(before + after))
    {
        let series = drawn(SERIES);
        let shares = each_shape(|spread, has_outlier| {
            let mut draws = Draws::new(spread, before + after);
            let (mut shares, mut single) = (FoundShares::default(), 0.0);
            for index in 0..series {
                let mut values = values(&mut draws, before + after, has_outlier, index);
                let step = 0.95_f64.ln();
                values[before..].iter_mut().for_each(|value| *value += step);
                let changes = changes(&values).expect("finite values");
                let is_found = changes.iter().any(|change| change.at.abs_diff(before) <= 1);
                shares.found += f64::from(u8::from(is_found)) / series as f64;
                shares.second += f64::from(u8::from(changes.len() > 1)) / series as f64;
                if let [change] = &changes[..] {
                    let interval = change.difference;
                    single += 1.0;
                    shares.holds +=
                        f64::from(u8::from((interval.low..=interval.high).contains(&step)));
                }
            }
            shares.holds /= f64::max(single, 1.0);
            shares
        });
        let [normal, heavy, outlier, _] = &shares[..] else {
            panic!("four shapes");
        };
        let cells = [
            normal.found,
            normal.second,
            normal.holds,
            heavy.found,
            outlier.found,
        ];
        println!("| {before} | {after} | {} |", row(&cells));
        let what = format!("{before} before, {after} after: {cells:?}");
        assert!(normal.second <= most(0.07, series), "{what}");
        if before >= 20 && after >= 5 {
            assert!(normal.found > 0.8, "{what}");
        }
    }
}

fn row(shares: &[f64]) -> String {
    let cells = shares.iter().map(|share| format!("{:.1} %", share * 100.0));
    cells.collect::<Vec<_>>().join(" | ")
}
