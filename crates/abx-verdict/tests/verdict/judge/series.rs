//! The figures of single slices and blocks that plots show.

use abx_evidence::record::{CEILING, Disturbance, Histograms};
use abx_evidence::{Histogram, Outcome};
use abx_verdict::{SubjectView, judge, slice_figures};

use abx_fixtures::{OK, SLICE_NS, pair, response, two_loads};

#[test]
fn slices_stand_in_the_order_in_which_they_ran() {
    // Method: two loads, of which one is requested, with two rounds of two slices in each of
    // six blocks. Time runs on within a block and begins again in the next.
    let record = two_loads();
    let all_slice_figures = slice_figures(&record, &record.loads[1]);
    assert_eq!(all_slice_figures.len(), 24);
    let places: Vec<_> = (all_slice_figures[..5].iter())
        .map(|slice| {
            (
                slice.block,
                slice.round,
                slice.subject,
                slice.before_ns / SLICE_NS,
            )
        })
        .collect();
    let expected = [
        (0, 0, "old", 0),
        (0, 0, "new", 1),
        (0, 1, "old", 2),
        (0, 1, "new", 3),
        (1, 0, "old", 0),
    ];
    assert_eq!(places, expected);
    let rate = all_slice_figures[0].throughput_per_s.unwrap();
    assert!((rate - 100_000.0).abs() < 1e-6, "{rate}");
}

#[test]
fn slices_show_failures_and_disturbances() {
    // Method: one slice with a reset, in the second round of the third block, which was
    // disturbed. Incomplete blocks are left out, and so is the server that does nothing, though
    // it takes time.
    let mut record = pair();
    let round = &mut record.blocks[2].loads[0].rounds[1];
    round.disturbed = vec![Disturbance::Steal];
    response(
        &mut round.slices[1],
        &[(Outcome::Ok, OK), (Outcome::Reset, 3)],
    );
    record.blocks[5].complete = false;
    let first = &mut record.blocks[0].loads[0].rounds[0].slices;
    let mut ceiling = first[0].clone();
    ceiling.subject = CEILING.to_owned();
    first.insert(1, ceiling);
    let all_slice_figures = slice_figures(&record, &record.loads[0]);
    assert_eq!(all_slice_figures.len(), 20);
    assert_eq!(
        (all_slice_figures[1].subject, all_slice_figures[1].before_ns),
        ("new", 2 * SLICE_NS)
    );
    let failed: Vec<_> = all_slice_figures
        .iter()
        .filter(|slice| slice.failed > 0)
        .collect();
    assert_eq!(failed.len(), 1);
    let slice_figures = failed[0];
    assert_eq!(
        (
            slice_figures.block,
            slice_figures.round,
            slice_figures.subject,
            slice_figures.failed
        ),
        (2, 1, "new", 3)
    );
    let disturbed = all_slice_figures
        .iter()
        .filter(|slice| slice.is_disturbed)
        .count();
    assert_eq!(disturbed, 2);
}

#[test]
fn blocks_agree_with_the_summary_of_all_of_them() {
    // Method: the baseline has the same figures in every block, so those of each block equal
    // the summary; a missing reading stays missing.
    let mut record = pair();
    let conclusions = judge(&record);
    let summary = conclusions
        .summaries
        .iter()
        .find(|summary| summary.subject == "old")
        .unwrap();
    let blocks = SubjectView::of(&record, &record.loads[0], "old").block_figures();
    assert_eq!(blocks.len(), 6);
    for (index, block) in blocks.iter().enumerate() {
        assert_eq!(block.block as usize, index);
        assert_eq!(block.throughput_per_s, summary.throughput_per_s);
        assert_eq!(
            block.server_cpu_us_per_request,
            summary.server_cpu_us_per_request
        );
        assert_eq!(block.server_busy, summary.server_busy);
        assert_eq!(block.rss_bytes_max, summary.rss_bytes);
    }
    record.blocks[0].loads[0].rounds[0].slices[0].server_cpu_ns = None;
    let blocks = SubjectView::of(&record, &record.loads[0], "old").block_figures();
    assert_eq!(blocks[0].server_busy, None);
    assert!(blocks[1].server_busy.is_some());
}

#[test]
fn times_of_all_blocks_are_one_distribution() {
    // Method: a block of short and a block of long times, some of which are bounds; and a
    // subject without times.
    let mut record = pair();
    let times = |us: &[u64]| {
        let mut histogram = Histogram::new();
        us.iter().for_each(|us| histogram.record_ns(us * 1_000));
        histogram
    };
    let mut give = |block: usize, response: Histogram, response_at_least: Histogram| {
        let histograms = Histograms {
            response,
            response_at_least,
            ..Histograms::default()
        };
        let part = &mut record.blocks[block].loads[0];
        part.histograms.insert("old".to_owned(), histograms);
    };
    give(0, times(&[100, 100, 100]), Histogram::new());
    give(1, times(&[900]), times(&[900]));
    let response_times = SubjectView::of(&record, &record.loads[0], "old")
        .response_times()
        .unwrap();
    assert_eq!(response_times.count(), 4);
    let quantile = |share| {
        response_times
            .quantile(share)
            .map(|quantile| (quantile.us, quantile.at_least))
    };
    assert_eq!(quantile(0.5), Some((100, false)));
    assert_eq!(quantile(1.0), Some((900, true)));
    assert_eq!(
        SubjectView::of(&record, &record.loads[0], "new").response_times(),
        None
    );
}
