//! The differences that a planned study would find.

use abx_report::{Style, plan_text};
use abx_stats::Margin;
use abx_verdict::Fingerprint;
use abx_verdict::plan::{KnownSpread, PlannedStudy, SpreadSource, StudyPlan};
use insta::assert_snapshot;

fn plan(known: Option<KnownSpread>, blocks: Option<u32>, together: usize) -> StudyPlan {
    StudyPlan {
        study: PlannedStudy {
            subjects: Vec::new(),
            loads: 1,
            together,
            budget_s: 150.0,
            blocks,
            margin: Margin::DEFAULT,
            why_share: 0.0,
            has_limits: false,
            machine: Fingerprint::default(),
        },
        known,
        blocks_most: blocks.map_or(9, |blocks| blocks as usize),
    }
}

fn with_limits(mut plan: StudyPlan) -> StudyPlan {
    plan.study.has_limits = true;
    plan
}

#[test]
fn a_plan_names_the_smallest_difference_that_it_would_find() {
    // Method: each source of a spread; several comparisons; a fixed number of blocks, and too few
    // of them; an unknown machine; and limits, with which a study may take the whole budget.
    let known = |source, studies| {
        Some(KnownSpread {
            spread: 0.021,
            source,
            studies,
            seconds: 3.0,
        })
    };
    let same = known(SpreadSource::SameSubjects, 3);
    let plans = [
        plan(same, None, 1),
        plan(known(SpreadSource::OtherSubjects, 1), None, 5),
        plan(known(SpreadSource::Doctor, 1), Some(30), 1),
        plan(same, Some(3), 1),
        plan(None, None, 1),
        with_limits(plan(same, None, 1)),
    ];
    let texts = plans.map(|plan| plan_text(&plan, &Style::plain()));
    assert_snapshot!(texts.join("\n"));
}

#[test]
fn a_plan_of_several_loads_explains_their_stop_rules() {
    // Method: one load, several loads, and several with a fixed number of blocks.
    let has_rule = |loads: usize, blocks: Option<u32>| {
        let mut plan = plan(None, blocks, 1);
        plan.study.loads = loads;
        plan_text(&plan, &Style::plain()).contains("Each load ends by its own rule.")
    };
    assert!(!has_rule(1, None));
    assert!(has_rule(3, None));
    assert!(!has_rule(3, Some(6)));
}
