//! Findings about machines that generate the load together.

use abx_evidence::record::{AgentRecord, FleetRecord, Measured, OnLoss};
use abx_evidence::{FindingId, Level};
use abx_fixtures::{Compared, find, ids, judged, pair};

use crate::judge::compared::scope::fleet;

/// A comparison with three agents after a change to them.
fn with(change: impl FnOnce(&mut FleetRecord)) -> Measured {
    let mut record = pair();
    let mut three = fleet(&[true, true, true]);
    change(&mut three);
    record.fleet = Some(three);
    record
}

fn finding_levels(record: Measured) -> Vec<(FindingId, Level)> {
    let record = judged(record);
    ids(&Compared::of(&record, &record.comparisons[0]).findings)
}

fn is_lost(agent: &mut AgentRecord) {
    agent.lost = Some("it was stopped there".to_owned());
}

#[test]
fn blocks_with_different_loads_are_not_judged_together() {
    // Method: an agent is lost in one of six blocks, after which the remaining agents apply less
    // load. The larger group of complete blocks with an equal load is judged.
    for (cut_at, judged_blocks, others, has_all_agents) in [
        (6, 6, 0, true),
        (4, 4, 1, true),
        (2, 3, 2, false),
        (0, 5, 0, false),
    ] {
        let mut record = with(|fleet| {
            fleet.on_loss = OnLoss::Continue;
            is_lost(&mut fleet.agents[1]);
        });
        for (index, block) in record.blocks.iter_mut().enumerate() {
            block.complete = index != cut_at;
            block.missing_agents = if index > cut_at { vec![2] } else { Vec::new() };
        }
        assert_eq!(record.complete_blocks().count(), judged_blocks, "{cut_at}");
        assert_eq!(record.blocks_of_another_load(), others, "{cut_at}");
        assert_eq!(
            record.judged_without().is_empty(),
            has_all_agents,
            "{cut_at}"
        );
        let record = judged(record);
        let findings = Compared::of(&record, &record.comparisons[0]).findings;
        let lost = find(&findings, FindingId::AgentLost).expect("it is told");
        assert_eq!(lost.level, Level::Note, "{cut_at}");
        let is_smaller = lost.message.contains("smaller load");
        assert_eq!(is_smaller, !has_all_agents, "{}", lost.message);
    }
}

#[test]
fn the_pace_of_each_agent_is_reported_by_its_name() {
    // Method: just below and just above each limit; the times that workers waited are sums over
    // all of them.
    let of_pace = |wall_ns, busy_ns, wait_ns, late_us, lag_us| {
        with(|fleet| {
            let pace = &mut fleet.agents[1].pace;
            (pace.wall_ns, pace.busiest_worker_ns) = (wall_ns, busy_ns);
            pace.wait_ns = wait_ns;
            (pace.lateness_us_p99, pace.loop_lag_us_p99) = (late_us, lag_us);
        })
    };
    let late = (FindingId::AgentLateSends, Level::Note);
    let busy = (FindingId::AgentBusy, Level::Note);
    for (record, expected) in [
        (of_pace(1_000, 899, None, Some(1_000), Some(1_000)), vec![]),
        (of_pace(1_000, 900, None, None, None), vec![busy.clone()]),
        (
            of_pace(1_000, 890, Some(20), None, None),
            vec![busy.clone()],
        ),
        (of_pace(1_000, 890, Some(18), None, None), vec![]),
        (
            of_pace(1_000, 0, None, Some(1_001), Some(5_000)),
            vec![late.clone()],
        ),
        (
            of_pace(1_000, 0, None, None, Some(1_001)),
            vec![late.clone()],
        ),
        (
            of_pace(1_000, 950, None, Some(2_000), None),
            vec![busy, late],
        ),
    ] {
        assert_eq!(finding_levels(record.clone()), expected);
        for finding in judged(record).validity.findings {
            assert!(
                finding.message.contains("agent agent-2 (2 of 3)"),
                "{}",
                finding.message
            );
        }
    }
}

#[test]
fn collected_agents_are_marked_and_a_missing_part_is_a_bound() {
    // Method: the saved parts of all agents, and of two.
    let collected = (FindingId::Collected, Level::Note);
    let measured = with(|fleet| fleet.collected = true);
    assert_eq!(finding_levels(measured), std::slice::from_ref(&collected));
    let two = with(|fleet| {
        fleet.collected = true;
        is_lost(&mut fleet.agents[1]);
    });
    let lost = (FindingId::AgentLost, Level::Bound);
    assert_eq!(finding_levels(two), [lost, collected]);
}
