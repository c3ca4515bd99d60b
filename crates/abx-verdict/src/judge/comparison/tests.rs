use super::*;

fn comparison_of(ratio: [f64; 3]) -> Comparison {
    let [ratio, low, high] = ratio;
    let json = serde_json::json!({
        "metric": "throughput", "role": "primary", "load": "c50", "subject": "new",
        "baseline": "old", "ratio": ratio, "low": low, "high": high, "confidence": 0.95,
        "blocks": 2, "per_block": [2.0, 8.0], "together": 1, "verdict": "inconclusive",
        "at_least": false, "fragile": false, "findings": [],
    });
    serde_json::from_value(json).unwrap()
}

#[test]
fn blocks_too_few_for_an_interval_have_a_ratio() {
    // Method: 2 and 8 have the geometric mean 4. Then with an interval, with a block without a
    // ratio, without any block, and with an invalid verdict.
    let comparison = comparison_of([1.5, 1.2, 1.8]);
    assert_eq!(comparison.plain_ratio(), Some(1.5));
    let without = Comparison {
        ratio: None,
        ..comparison
    };
    assert!((without.plain_ratio().unwrap() - 4.0).abs() < 1e-12);
    for per_block in [vec![], vec![Some(2.0), None]] {
        let comparison = Comparison {
            per_block,
            ..without.clone()
        };
        assert_eq!(comparison.plain_ratio(), None);
    }
    let void = Comparison {
        verdict: Verdict::Invalid,
        ..without
    };
    assert_eq!(void.plain_ratio(), None);
}

#[test]
fn a_result_without_disturbed_rounds_is_shifted_if_its_ratio_lies_outside_the_interval() {
    // Method: below and above 0.74 to 0.77, at the upper end, and inside.
    let table = [(0.83, true), (0.73, true), (0.77, false), (0.76, false)];
    for (ratio, expected) in table {
        let undisturbed = Undisturbed {
            bounds: Bounds {
                ratio,
                low: 0.7,
                high: 0.9,
            },
            verdict: Verdict::Slower,
            rounds_left_out: 4,
        };
        let comparison = Comparison {
            undisturbed: Some(undisturbed),
            ..comparison_of([0.76, 0.74, 0.77])
        };
        assert_eq!(comparison.shifted().is_some(), expected, "{ratio}");
    }
}
