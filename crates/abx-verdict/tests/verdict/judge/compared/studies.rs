//! Complete studies: several loads and subjects, how they end, and that judging is a pure
//! function.

use abx_evidence::record::{Interleave, Measured, SkippedSubject, StudyEnd};
use abx_evidence::{FindingId, Level, Outcome};
use abx_stats::stop::{Decision, Reason};
use abx_verdict::{
    Comparison, Status, StudyRecord, Verdict, blocks_until_precise, is_hopeless, may_stop,
};

use abx_fixtures::{
    Compared, MS, OK, all_slices, compared, each_slice, find, ids, judged, longer, pair, pilot,
    primary, responded, response, sides, study, two_loads,
};

use crate::judge::compared::scope::fleet;

/// Three subjects in six blocks: `old`, `new` (10 % faster) and `other` (20 %).
fn three() -> Measured {
    study(&[
        ("old", &[OK; 6]),
        ("new", &[9_900, 9_910, 9_890, 9_900, 9_905, 9_895]),
        ("other", &[10_800, 10_810, 10_790, 10_800, 10_805, 10_795]),
    ])
}

/// The name and level of a finding, and a change to a study that leads to it.
type Case = (FindingId, Level, fn(&mut Measured));

/// Findings about subjects and the study, except those from slices.
const CASES: [Case; 17] = [
    (FindingId::NotRestarted, Level::Note, |record| {
        record.subjects[1].address = Some("http://127.0.0.1:80".to_owned());
    }),
    (FindingId::UnkeptContainer, Level::Note, |record| {
        let words = ["docker", "run", "--rm", "-p", "{port}:80", "nginx"];
        record.subjects[1].command = words.map(str::to_owned).to_vec();
    }),
    (FindingId::StandIn, Level::Note, |record| {
        record.subjects[1].stand_in_for = Some("another server".to_owned());
    }),
    (FindingId::Skipped, Level::Note, |record| {
        record.skipped.push(SkippedSubject {
            name: "absent".to_owned(),
            needs: "the program absent".to_owned(),
            how: "bring it".to_owned(),
        });
    }),
    (FindingId::BodyVaries, Level::Note, |record| {
        responded(record, "new").sha256 = None;
    }),
    (FindingId::UnequalResponses, Level::Note, |record| {
        let response = responded(record, "new");
        response.sha256 = Some("01".to_owned());
        response.body_bytes = 1_400;
    }),
    (FindingId::SharedCpus, Level::Bound, |record| {
        record.settings.subject_cpus = vec![0, 1];
        // With two processors, the subject is as busy as before.
        for subject in ["old", "new"] {
            each_slice(record, subject, |slice| {
                slice.server_cpu_ns = Some(196 * MS);
                slice.busy_ns = Some(246 * MS);
            });
        }
    }),
    (FindingId::NotSettled, Level::Note, |record| {
        for (name, pilot_subject) in &mut pilot(record).subjects {
            pilot_subject.settled = name != "new";
        }
    }),
    (FindingId::RanAsTrials, Level::Note, |record| {
        let pilot = pilot(record);
        pilot.interleave = Interleave::Trials;
        pilot.interleave_reason = Some("a slice would have to take 12 s".to_owned());
    }),
    (FindingId::Interrupted, Level::Note, |record| {
        record.end = StudyEnd::Interrupted;
    }),
    (FindingId::StudyFailed, Level::Note, |record| {
        record.end = StudyEnd::Failed {
            why: "no space left".to_owned(),
        };
    }),
    (FindingId::AgentLost, Level::Void, |record| {
        let mut fleet = fleet(&[true, true, true]);
        fleet.agents[1].lost = Some("nothing was heard of it for 10.0 s".to_owned());
        record.fleet = Some(fleet);
    }),
    (FindingId::AgentLate, Level::Note, |record| {
        let mut fleet = fleet(&[true, true, true]);
        fleet.agents[2].late_slices = 4;
        record.fleet = Some(fleet);
    }),
    (FindingId::AgentLate, Level::Void, |record| {
        let mut fleet = fleet(&[true, true, true]);
        fleet.agents[2].late_slices = 5;
        record.fleet = Some(fleet);
    }),
    (FindingId::SubjectFailed, Level::Void, |record| {
        record.end = StudyEnd::SubjectFailed {
            subject: "new".to_owned(),
            how: "it exited with 1".to_owned(),
        };
    }),
    (FindingId::ServiceFailed, Level::Note, |record| {
        record.end = StudyEnd::ServiceFailed {
            service: "db".to_owned(),
            how: "service db was not ready".to_owned(),
        };
    }),
    (FindingId::FewBlocks, Level::Note, |record| {
        record.blocks.truncate(5);
    }),
];

#[test]
fn each_circumstance_has_its_finding() {
    // Method: one change to a study without findings leads to one finding, in the comparison
    // and in the validity of the study.
    for (id, level, change) in CASES {
        let mut record = pair();
        change(&mut record);
        let record = judged(record);
        let compared = Compared::of(&record, &record.comparisons[0]);
        assert_eq!(ids(&compared.findings), [(id.clone(), level)]);
        assert_eq!(record.validity.findings, compared.findings, "{id}");
        assert!(!compared.findings[0].remedy.is_empty(), "{id}");
        let status = match level {
            Level::Note => Status::Valid,
            Level::Bound => Status::Bound,
            Level::Void => Status::Invalid,
        };
        assert_eq!(record.validity.status, status, "{id}");
        assert_eq!(
            compared.verdict == Verdict::Invalid,
            level == Level::Void,
            "{id}"
        );
        assert_eq!(compared.at_least, level == Level::Bound, "{id}");
    }
}

#[test]
fn findings_quote_the_recorded_causes() {
    // Method: the reasons and figures of the same changes.
    let texts = [
        (
            FindingId::UnequalResponses,
            &["1320 bytes", "1400 bytes"][..],
        ),
        (FindingId::RanAsTrials, &["12 s"]),
        (FindingId::StudyFailed, &["no space left"]),
        (FindingId::AgentLost, &["agent agent-2 (2 of 3)", "10.0 s"]),
        (
            FindingId::AgentLate,
            &["agent agent-3 (3 of 3)", "4 of 40 slices"],
        ),
        (FindingId::SubjectFailed, &["new", "it exited with 1"]),
        (FindingId::ServiceFailed, &["service db was not ready"]),
        (FindingId::FewBlocks, &["5 blocks", "needs 6"]),
    ];
    for (id, parts) in texts {
        let (.., change) = CASES.into_iter().find(|case| case.0 == id).unwrap();
        let mut record = pair();
        change(&mut record);
        let message = &compared(record).findings[0].message;
        for part in parts {
            assert!(message.contains(part), "{message}");
        }
    }
}

#[test]
fn shared_processors_forbid_equivalent_but_not_faster() {
    // Method: subjects and generator on one processor.
    let mut record = pair();
    record.settings.generator_cpus = vec![0];
    let result = compared(record);
    assert_eq!((result.verdict, result.at_least), (Verdict::Faster, true));
    let mut same = study(&[("old", &[OK; 6]), ("new", &[OK; 6])]);
    same.settings.generator_cpus = vec![0];
    assert_eq!(compared(same).verdict, Verdict::Inconclusive);
}

#[test]
fn requested_trials_have_no_finding() {
    // Method: requested trials, which have no reason, and slices with a reason.
    let mut record = pair();
    pilot(&mut record).interleave = Interleave::Trials;
    assert_eq!(ids(&compared(record.clone()).findings), []);
    pilot(&mut record).interleave = Interleave::Slices;
    pilot(&mut record).interleave_reason = Some("all pools fit".to_owned());
    assert_eq!(ids(&compared(record).findings), []);
}

#[test]
fn every_subject_is_compared_with_the_baseline_under_every_load() {
    // Method: three subjects, two loads, and the middle one as the baseline.
    let mut record = three();
    let mut more = record.loads[0].clone();
    more.name = "large".to_owned();
    record.loads.push(more);
    record.settings.baseline = "new".to_owned();
    for block in &mut record.blocks {
        let mut more = block.loads[0].clone();
        more.load = "large".to_owned();
        block.loads.push(more);
    }
    let record = judged(record);
    let name = |comparison: &Comparison| {
        [&comparison.load, &comparison.subject, &comparison.baseline].map(String::clone)
    };
    let names: Vec<_> = record.primary().map(name).collect();
    let expected = [
        ["small", "old", "new"],
        ["small", "other", "new"],
        ["large", "old", "new"],
        ["large", "other", "new"],
    ];
    assert_eq!(names, expected);
    let verdicts: Vec<_> = record
        .primary()
        .map(|comparison| comparison.verdict)
        .collect();
    assert_eq!(verdicts, [Verdict::Slower, Verdict::Faster].repeat(2));
    assert_eq!(record.summaries.len(), 6);
}

#[test]
fn a_finding_about_one_subject_affects_only_its_comparison() {
    // Method: `other` fails, gives other bytes, and is silent in block 2.
    let mut record = three();
    responded(&mut record, "other").sha256 = Some("01".to_owned());
    each_slice(&mut record, "other", |slice| {
        response(slice, &[(Outcome::Ok, 9_000), (Outcome::Reset, 90)]);
    });
    for round in &mut record.blocks[2].loads[0].rounds {
        response(&mut round.slices[2], &[(Outcome::Reset, 90)]);
    }
    let record = judged(record);
    assert!(record.comparisons[0].findings.is_empty());
    assert_eq!(record.comparisons[0].verdict, Verdict::Faster);
    let compared = Compared::of(&record, &record.comparisons[1]);
    assert_eq!(
        ids(&compared.findings),
        [
            (FindingId::FailedRequests, Level::Void),
            (FindingId::UnequalResponses, Level::Note),
            (FindingId::NoResponses, Level::Void),
        ]
    );
    assert_eq!(compared.verdict, Verdict::Invalid);
    // The validity of the study holds all three, the worst first.
    let levels = record.validity.findings.iter().map(|finding| finding.level);
    assert_eq!(
        levels.collect::<Vec<_>>(),
        [Level::Void, Level::Void, Level::Note]
    );
    assert_eq!(record.validity.status, Status::Invalid);
}

#[test]
fn a_finding_about_the_baseline_affects_every_comparison_and_is_listed_once() {
    // Method: the baseline gives no response in block 2.
    let mut record = three();
    for round in &mut record.blocks[2].loads[0].rounds {
        response(&mut round.slices[0], &[]);
    }
    let record = judged(record);
    for compared in primary(&record) {
        assert_eq!(compared.verdict, Verdict::Invalid);
        assert_eq!(
            ids(&compared.findings),
            [(FindingId::NoResponses, Level::Void)]
        );
    }
    assert_eq!(record.validity.findings.len(), 1);
}

#[test]
fn a_finding_under_one_load_does_not_affect_the_other() {
    // Method: under `large` only, `new` is silent in a block, its generator is at its limit, or
    // the machine is noisy.
    let changes: [fn(&mut Measured); 3] = [
        |record| {
            for round in &mut record.blocks[2].loads[1].rounds {
                response(&mut round.slices[1], &[]);
            }
        },
        |record| {
            for block in &mut record.blocks {
                let part = &mut block.loads[1];
                part.sides.get_mut("new").unwrap().busiest_thread_ns = Some(0);
                for round in &mut part.rounds {
                    let slice = &mut round.slices[1];
                    slice.server_cpu_ns = Some(60 * MS);
                    slice.busiest_worker_ns = 97 * MS;
                    slice.generator_cpu_ns = 97 * MS;
                    slice.busy_ns = Some(157 * MS);
                }
            }
        },
        |record| {
            let rounds = record
                .blocks
                .iter_mut()
                .flat_map(|block| &mut block.loads[1].rounds);
            for slice in rounds.flat_map(|round| &mut round.slices) {
                slice.steal_ns = Some(50 * MS);
            }
        },
    ];
    for change in changes {
        let mut record = two_loads();
        change(&mut record);
        let record = judged(record);
        assert!(record.comparisons[0].findings.is_empty());
        assert_eq!(record.comparisons[1].findings, [0]);
        let [finding] = &record.validity.findings[..] else {
            panic!("{:?}", record.validity.findings);
        };
        assert_eq!(finding.load.as_deref(), Some("large"));
    }
}

#[test]
fn judging_again_changes_nothing() {
    // Method: a record with findings of every level, judged twice.
    let mut record = three();
    all_slices(&mut record).for_each(|slice| slice.steal_ns = Some(50 * MS));
    record.settings.generator_cpus = vec![0];
    record.subjects[2].address = Some("http://127.0.0.1:80".to_owned());
    each_slice(&mut record, "other", |slice| {
        slice.stopped_responding = true
    });
    let once = judged(record.clone());
    assert!(find(&once.validity.findings, FindingId::StoppedResponding).is_some());
    assert_eq!(judged(record), once);
}

#[test]
fn a_judged_record_survives_json_and_is_judged_the_same() {
    // Method: a round trip through JSON, with times in the histograms.
    let mut record = pair();
    for block in &mut record.blocks {
        let times = block.loads[0]
            .histograms
            .entry("new".to_owned())
            .or_default();
        for micros in 1..2_000 {
            times.response.record_ns(micros * 1_537);
            times.service.record_ns(micros * 1_311);
        }
    }
    let record = StudyRecord::judged(record);
    let text = serde_json::to_string(&record).unwrap();
    let back: StudyRecord = serde_json::from_str(&text).unwrap();
    assert_eq!(back, record);
    let again = StudyRecord::judged(back.measured);
    assert_eq!(again.conclusions, record.conclusions);
    assert_eq!(serde_json::to_string(&again).unwrap(), text);
}

#[test]
fn missing_blocks_to_precision_are_stated_even_if_the_direction_is_known() {
    // Method: six precise blocks of the seven that a verdict needs; and six blocks at twice the
    // throughput whose logarithms are alternately 0.05 above and below their mean:
    // 6 · (3.0029 · 0.0548 ÷ √6 ÷ 0.01478)² − 6 blocks by hand, since h ÷ w is 4.55.
    let mut open = pair();
    open.settings.blocks = None;
    assert_eq!(blocks_until_precise(&open), Some(1));
    assert_eq!(blocks_until_precise(&longer(open)), Some(0));
    let scattered = [19_025, 17_214, 19_025, 17_214, 19_025, 17_214];
    let record = study(&[("old", &[OK; 6]), ("new", &scattered)]);
    let more = blocks_until_precise(&record).expect("a spread");
    assert!((117..=119).contains(&more), "{more}");
    let alone = study(&[("old", &[OK; 6])]);
    assert_eq!(blocks_until_precise(&alone), None);
}

#[test]
fn a_study_stops_when_every_comparison_would() {
    // Method: seven blocks. `new` is precise; `other` scatters by 5 %, at first around the
    // throughput of `old`, then around twice as much, which is certain.
    let steady = [9_900, 9_910, 9_890, 9_900, 9_905, 9_895];
    let scattered = |by: u64| [9_450, 8_550, 9_450, 8_550, 9_450, 8_550].map(|ok| ok * by);
    let stop = |other: &[u64]| {
        may_stop(&longer(study(&[
            ("old", &[OK; 6]),
            ("new", &steady),
            ("other", other),
        ])))
    };
    assert_eq!(may_stop(&longer(pair())), Decision::Stop(Reason::Precise));
    assert_eq!(stop(&scattered(1)), Decision::Continue);
    assert_eq!(stop(&scattered(2)), Decision::Stop(Reason::Certain));
}

#[test]
fn a_study_continues_while_results_are_missing() {
    // Method: six blocks; seven of which one is incomplete; one of two loads without
    // responses in a block; no subject beside the baseline.
    let few = pair();
    let mut cut = longer(pair());
    cut.blocks[6].complete = false;
    let mut silent = longer(two_loads());
    for round in &mut silent.blocks[0].loads[1].rounds {
        response(&mut round.slices[1], &[]);
    }
    let alone = study(&[("old", &[OK; 7])]);
    for record in [few, cut, silent, alone] {
        assert_eq!(may_stop(&record), Decision::Continue);
    }
    assert_eq!(
        may_stop(&longer(two_loads())),
        Decision::Stop(Reason::Precise)
    );
}

#[test]
fn a_study_without_a_block_is_judged_without_a_claim() {
    // Method: no block at all, as after a failure at the first start.
    let record = judged(study(&[("old", &[]), ("new", &[])]));
    let compared = Compared::of(&record, &record.comparisons[0]);
    assert_eq!(compared.verdict, Verdict::Inconclusive);
    assert_eq!((compared.ratio, compared.blocks), (None, 0));
    assert_eq!(
        ids(&compared.findings),
        [(FindingId::FewBlocks, Level::Note)]
    );
    assert!(
        record
            .summaries
            .iter()
            .all(|summary| summary.throughput_per_s.is_none())
    );
    assert!(
        record
            .summaries
            .iter()
            .all(|summary| summary.server_busy.is_none())
    );
}

#[test]
fn the_side_of_an_unknown_subject_is_ignored() {
    // Method: readings without a subject of that name, as a later version may have.
    let mut record = pair();
    let side = sides(&mut record, "new").next().unwrap().clone();
    record.blocks[0].loads[0]
        .sides
        .insert("nobody".to_owned(), side);
    assert_eq!(ids(&compared(record).findings), []);
}

/// Marks a subject as failed in the pilot of a study, so that it has no slices.
fn fail_in_pilot(record: &mut Measured, subject: &str) {
    let subjects = &mut pilot(record).subjects;
    let mut pilot_subject = subjects.values().next().expect("somebody").clone();
    pilot_subject.failed = Some("responded on 40 of 50 connections".to_owned());
    subjects.insert(subject.to_owned(), pilot_subject);
    for block in &mut record.blocks {
        for part in &mut block.loads {
            part.histograms.remove(subject);
            part.sides.remove(subject);
            for round in &mut part.rounds {
                round.slices.retain(|slice| slice.subject != subject);
            }
        }
    }
}

#[test]
fn a_subject_that_failed_in_the_pilot_is_void_and_the_others_are_judged() {
    // Method: one of three failed; the others settle the study, and two subjects have no
    // ranking.
    let mut record = three();
    fail_in_pilot(&mut record, "other");
    assert_eq!(
        may_stop(&longer(record.clone())),
        Decision::Stop(Reason::Precise)
    );
    let judged = judged(record);
    let verdicts: Vec<_> = judged
        .primary()
        .map(|comparison| (comparison.subject.as_str(), comparison.verdict))
        .collect();
    assert_eq!(
        verdicts,
        [("new", Verdict::Faster), ("other", Verdict::Invalid)]
    );
    let about: Vec<_> = judged
        .validity
        .findings
        .iter()
        .filter(|finding| finding.subject.as_deref() == Some("other"))
        .collect();
    assert_eq!(about.len(), 1, "{about:?}");
    assert_eq!(about[0].id, FindingId::StoppedResponding);
    assert!(about[0].message.contains("40 of 50 connections"));
    assert!(judged.rankings.is_empty());
    assert!(!is_hopeless(&judged));
}

#[test]
fn a_study_is_hopeless_when_failures_leave_nothing_to_compare() {
    // Method: a pair in which neither fails, one fails in the pilot or in a block, or one fails
    // one request of ten; and three subjects of which one, or the baseline, failed.
    assert!(!is_hopeless(&judged(pair())));
    let mut record = pair();
    fail_in_pilot(&mut record, "new");
    assert!(is_hopeless(&judged(record)));
    let mut record = pair();
    each_slice(&mut record, "old", |slice| slice.stopped_responding = true);
    assert!(is_hopeless(&judged(record)));
    let mut record = pair();
    each_slice(&mut record, "new", |slice| {
        (0..slice.ok / 10).for_each(|_| slice.outcomes.add(Outcome::WrongStatus));
    });
    assert!(is_hopeless(&judged(record)));
    for (failed, hopeless) in [("other", false), ("old", true)] {
        let mut record = three();
        fail_in_pilot(&mut record, failed);
        assert_eq!(is_hopeless(&judged(record)), hopeless, "{failed}");
    }
}

#[test]
fn only_failures_make_a_study_hopeless() {
    // Method: a comparison that is void because the generator was the limit may improve in the
    // next block; failures that only bound leave a claim; and if nothing is compared because
    // both kept up, nothing has failed.
    let mut limited = pair();
    for slice in all_slices(&mut limited) {
        slice.busiest_worker_ns = slice.wall_ns;
        slice.server_cpu_ns = None;
    }
    for name in ["old", "new"] {
        sides(&mut limited, name).for_each(|side| side.busiest_thread_ns = Some(0));
    }
    let limited = judged(limited);
    assert_eq!(primary(&limited)[0].verdict, Verdict::Invalid);
    assert!(!is_hopeless(&limited));

    let mut kept_up = pair();
    kept_up.loads[0].settings.arrivals.rate_per_s = Some(100_000.0);
    kept_up.loads[0].settings.arrivals.kind = abx_evidence::ArrivalKind::Constant;
    let kept_up = judged(kept_up);
    assert_eq!(primary(&kept_up), []);
    assert!(!is_hopeless(&kept_up));
}

#[test]
fn too_few_blocks_are_not_an_inconclusive_interval() {
    // Method: differences that are clear in every block, over 1 to 7 blocks, with their number
    // fixed or not; and enough blocks that show nothing.
    for (is_ordered, fewest) in [(true, 6), (false, 7)] {
        for blocks in 1..=7_usize {
            let mut record = study(&[("old", &vec![9_000; blocks]), ("new", &vec![4_500; blocks])]);
            record.settings.blocks = is_ordered.then_some(blocks as u32);
            let judged = judged(record);
            let comparison = judged.primary().next().unwrap();
            assert_eq!(
                comparison.too_few_blocks,
                blocks < fewest,
                "{blocks} {is_ordered}"
            );
            assert_eq!(comparison.verdict == Verdict::Inconclusive, blocks < fewest);
        }
    }
    let wild = [3_000, 12_000, 8_000, 4_000, 10_000, 7_000];
    let open = judged(study(&[("old", &[9_000; 6]), ("new", &wild)]));
    let comparison = open.primary().next().unwrap();
    assert_eq!(
        (comparison.verdict, comparison.too_few_blocks),
        (Verdict::Inconclusive, false)
    );
}
