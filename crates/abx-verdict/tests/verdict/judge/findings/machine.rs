//! Findings about the measurement itself: Little's law, the length of slices, connections,
//! and other programs on the machine. Each is tried just at its limit and just beyond.

use std::borrow::Borrow;

use abx_evidence::record::{
    Disturbance, Interleave, Measured, OtherProgram, SliceRecord, SubjectReadings,
};
use abx_evidence::{ConnectionOpening, Finding, FindingId, Level, Outcome, Outcomes};
use abx_verdict::Verdict;

use abx_fixtures::{
    COUNTED_NS, MS, all_slices, compared, each_slice, find, ids, pair, pilot, response, sides,
};

/// The level of one finding, after a change to every slice.
fn level(id: impl Borrow<FindingId>, change: impl FnMut(&mut SliceRecord)) -> Option<Level> {
    let mut record = pair();
    all_slices(&mut record).for_each(change);
    let judged = compared(record);
    let is_void = judged
        .findings
        .iter()
        .any(|finding| finding.level == Level::Void);
    assert_eq!(judged.verdict == Verdict::Invalid, is_void, "{judged:?}");
    find(&judged.findings, id).map(|finding| finding.level)
}

#[test]
fn little_s_law_is_noted_above_3_percent_and_voids_20_percent_below() {
    // Method: mean requests in flight, by rate and response times, in thousandths of the ten
    // requested. A higher number is an effect of edges; a lower number means another load.
    let table = [
        (790, Some(Level::Void)),
        (810, Some(Level::Note)),
        (960, Some(Level::Note)),
        (980, None),
        (1_020, None),
        (1_040, Some(Level::Note)),
        (1_190, Some(Level::Note)),
        (1_210, Some(Level::Note)),
    ];
    for (per_mille, expected) in table {
        let actual = level(FindingId::LittleLaw, |slice| {
            slice.response_ns_sum = COUNTED_NS * per_mille / 100;
        });
        assert_eq!(actual, expected, "{per_mille}");
    }
}

#[test]
fn a_pipeline_that_is_refilled_by_halves_is_at_least_half_full() {
    // Method: windows of 4, so that 40 requests were requested and a refill waits for 20; the
    // cases are the requests in flight in thousandths of ten.
    let table = [
        (4_000, None),
        (2_500, None),
        (1_900, Some(Level::Note)),
        (1_500, Some(Level::Void)),
    ];
    for (per_mille, expected) in table {
        let mut record = pair();
        record.loads[0].settings.exchange.pipeline = 4;
        all_slices(&mut record).for_each(|slice| {
            response(slice, &[(Outcome::Ok, 400)]);
            slice.response_ns_sum = COUNTED_NS * per_mille / 100;
        });
        let level =
            find(&compared(record).findings, FindingId::LittleLaw).map(|finding| finding.level);
        assert_eq!(level, expected, "{per_mille}");
    }
}

#[test]
fn two_counts_that_differ_by_a_tenth_between_blocks_are_noted() {
    // Method: the connections' own time changes by these thousandths for `new` in three blocks,
    // and by the inverse in the others, so that the mean stays; in a slice that ends by a number
    // of requests, where only the former counts; and in slices with nine responses per
    // connection, where chance does as much.
    let noted = |per_mille: f64, by_number: bool, responses: u64| {
        let mut record = pair();
        all_slices(&mut record).for_each(|slice| response(slice, &[(Outcome::Ok, responses)]));
        let pilot = record.loads[0].pilot.as_mut().unwrap();
        pilot.slice_requests = by_number.then_some(1_000);
        for (index, block) in record.blocks.iter_mut().enumerate() {
            let factor = (per_mille / 1_000.0).powi(if index % 2 == 0 { 1 } else { -1 });
            let slices = block.loads[0].rounds.iter_mut();
            for slice in slices.flat_map(|round| &mut round.slices) {
                if slice.subject == "new" {
                    slice.connection_ns = (slice.connection_ns as f64 * factor) as u64;
                }
            }
        }
        let findings = compared(record).findings;
        let finding = find(&findings, FindingId::UnevenService).cloned();
        finding.map(|finding| (finding.level, finding.subject, finding.message))
    };
    let (level, subject, message) = noted(1_120.0, false, 100).unwrap();
    assert_eq!((level, subject.as_deref()), (Level::Note, Some("new")));
    assert!(
        message.contains("requests/s came in the counted time"),
        "{message}"
    );
    assert_eq!(noted(1_100.0, false, 100), None);
    assert_eq!(noted(1_120.0, true, 100), None);
    assert_eq!(noted(1_120.0, false, 90), None);
}

#[test]
fn a_subject_loaded_in_trials_is_not_advised_to_use_them() {
    // Method: the connections' own time doubled, in slices and in trials.
    for (interleave, remedy) in [
        (Interleave::Slices, "or trials (`--interleave trials`)"),
        (Interleave::Trials, "use longer trials (`--slice`)"),
    ] {
        let mut record = pair();
        all_slices(&mut record).for_each(|slice| slice.connection_ns *= 2);
        pilot(&mut record).interleave = interleave;
        let findings = compared(record).findings;
        let finding = find(&findings, FindingId::UnevenService).unwrap();
        assert!(finding.remedy.contains(remedy), "{finding:?}");
    }
}

#[test]
fn little_s_law_is_not_checked_where_it_does_not_apply() {
    // Method: far off in each case. Slices of 9 responses per connection are too short for it,
    // and so are those of 10 if one request had no response.
    let table = [
        (vec![(Outcome::Ok, 100)], Some(Level::Void)),
        (vec![(Outcome::Ok, 90)], None),
        (vec![(Outcome::Ok, 100), (Outcome::Reset, 1)], None),
    ];
    for (counts, expected) in table {
        let actual = level(FindingId::LittleLaw, |slice| {
            response(slice, &counts);
            slice.response_ns_sum /= 2;
        });
        assert_eq!(actual, expected, "{counts:?}");
    }
    let mut record = pair();
    all_slices(&mut record).for_each(|slice| slice.response_ns_sum /= 2);
    record.loads[0].pilot = None;
    assert_eq!(find(&compared(record).findings, FindingId::LittleLaw), None);
}

#[test]
fn connections_without_a_response_are_left_out_or_had_too_little_time() {
    // Method: 120 chances (12 slices of 10 connections) for each subject; the other connections
    // have hundreds of responses each, or one.
    for (silent, expected) in [
        (0, None),
        (1, None),
        (2, Some(Level::Note)),
        (12, Some(Level::Note)),
        (13, Some(Level::Void)),
    ] {
        for (responses, id, other) in [
            (
                None,
                FindingId::ConnectionsWithoutResponse,
                FindingId::SlicesTooShort,
            ),
            (
                Some(10),
                FindingId::SlicesTooShort,
                FindingId::ConnectionsWithoutResponse,
            ),
        ] {
            let result = |id| {
                let mut left = silent;
                level(id, |slice| {
                    slice.silent = left;
                    left = 0;
                    if let Some(responses) = responses {
                        slice.outcomes = Outcomes::default();
                        (0..responses).for_each(|_| slice.outcomes.add(Outcome::Ok));
                    }
                })
            };
            assert_eq!(result(id), expected, "{silent} of 120");
            assert_eq!(result(other), None);
        }
    }
}

#[test]
fn work_of_other_programs_is_noted_beyond_its_limit() {
    // Method: parts of a slice of 100 ms on two processors, in tenths of ms. The limits are 1 %
    // of both for steal, 3 % of both for foreign work, 5 % of one for waits and 1 % of one for
    // the work of idle subjects. None is mistaken for another at ten times its limit, where
    // foreign work bounds the ratio.
    type Change = fn(&mut SliceRecord, u64);
    let table: [(FindingId, u64, Change); 4] = [
        (FindingId::Steal, 20, |slice, ns| slice.steal_ns = Some(ns)),
        (FindingId::ForeignCpu, 60, |slice, ns| {
            slice.busy_ns = slice.busy_ns.map(|busy| busy + ns);
        }),
        (FindingId::GeneratorWait, 50, |slice, ns| {
            slice.generator_wait_ns = Some(ns);
        }),
        (FindingId::BackgroundWork, 10, |slice, ns| {
            slice.others_cpu_ns = Some(ns);
            slice.busy_ns = slice.busy_ns.map(|busy| busy + ns);
        }),
    ];
    for (id, limit, change) in table {
        for (tenths, expected) in [(limit, None), (limit + 1, Some(Level::Note))] {
            let actual = level(&id, |slice| change(slice, tenths * MS / 10));
            assert_eq!(actual, expected, "{id} at {tenths}");
        }
        let mut record = pair();
        all_slices(&mut record).for_each(|slice| change(slice, limit * MS));
        let judged = compared(record);
        let level = match id {
            FindingId::ForeignCpu => Level::Bound,
            _ => Level::Note,
        };
        assert_eq!(ids(&judged.findings), [(id, level)]);
        assert_eq!(judged.at_least, level == Level::Bound);
        assert!(judged.findings[0].message.contains(" %"), "{judged:?}");
    }
}

#[test]
fn the_wait_of_several_generator_threads_is_shared_among_them() {
    // Method: 8 ms in slices of 100 ms are 8 % of one thread and 4 % of two threads.
    let mut record = pair();
    all_slices(&mut record).for_each(|slice| slice.generator_wait_ns = Some(8 * MS));
    assert!(find(&compared(record.clone()).findings, FindingId::GeneratorWait).is_some());
    record.settings.threads = 2;
    assert_eq!(
        find(&compared(record).findings, FindingId::GeneratorWait),
        None
    );
}

#[test]
fn shared_processors_are_counted_once() {
    // Method: subjects and generator on the same two processors: 1.1 % of two is beyond the limit
    // of 1 %, and would be below it of four.
    let mut record = pair();
    record.settings.subject_cpus = vec![0, 1];
    record.settings.generator_cpus = vec![0, 1];
    all_slices(&mut record).for_each(|slice| slice.steal_ns = Some(22 * MS / 10));
    assert!(find(&compared(record).findings, FindingId::Steal).is_some());
}

#[test]
fn unread_values_are_reported_and_do_not_count_as_zero() {
    // Method: each reading is missing in one slice only, and beyond every limit in all others.
    type Change = fn(&mut SliceRecord);
    let table: [(&str, &[FindingId], Change); 5] = [
        ("/proc/stat", &[FindingId::Steal], |slice| {
            slice.steal_ns = None
        }),
        ("/proc/stat", &[FindingId::ForeignCpu], |slice| {
            slice.busy_ns = None
        }),
        ("subject", &[FindingId::ForeignCpu], |slice| {
            slice.server_cpu_ns = None
        }),
        (
            "subject",
            &[FindingId::ForeignCpu, FindingId::BackgroundWork],
            |slice| {
                slice.others_cpu_ns = None;
            },
        ),
        ("schedstat", &[FindingId::GeneratorWait], |slice| {
            slice.generator_wait_ns = None;
        }),
    ];
    let mut noisy = pair();
    for slice in all_slices(&mut noisy) {
        slice.steal_ns = Some(10 * MS);
        slice.busy_ns = Some(180 * MS);
        slice.others_cpu_ns = Some(10 * MS);
        slice.generator_wait_ns = Some(10 * MS);
    }
    let finding_ids = [
        FindingId::Steal,
        FindingId::ForeignCpu,
        FindingId::GeneratorWait,
        FindingId::BackgroundWork,
    ];
    for (text, absent, change) in table {
        let mut record = noisy.clone();
        change(all_slices(&mut record).next().unwrap());
        let findings = compared(record).findings;
        for id in &finding_ids {
            let is_found = find(&findings, id).is_some();
            assert_eq!(is_found, !absent.contains(id), "{text}: {id}");
        }
        let unread = find(&findings, FindingId::NotChecked).unwrap();
        assert_eq!(unread.level, Level::Note);
        assert!(unread.message.contains(text), "{unread:?}");
    }
}

/// A study with a change to the readings of `new` in the first block.
fn with_side(change: fn(&mut SubjectReadings)) -> Measured {
    let mut record = pair();
    sides(&mut record, "new").take(1).for_each(change);
    record
}

/// An opening of 1,000 connections with these failures.
fn opening(failures: &[(Outcome, usize)]) -> Option<ConnectionOpening> {
    let mut outcomes = Outcomes::default();
    for (outcome, count) in failures {
        (0..*count).for_each(|_| outcomes.add(*outcome));
    }
    Some(ConnectionOpening {
        asked: 1_000,
        standing: 1_000 - outcomes.sent(),
        open_ns: 1,
        failures: outcomes,
    })
}

#[test]
fn a_server_that_stops_accepting_is_blamed_for_the_attempted_connections() {
    // Method: 128 of 1,000 connections time out and 572 are never tried; then an opening that
    // was only cut short, and an opening with no kind of trouble.
    let judged = compared(with_side(|side| {
        side.not_connected = 700;
        side.opening = opening(&[(Outcome::Timeout, 128), (Outcome::Unopened, 572)]);
    }));
    assert_eq!(
        ids(&judged.findings),
        [(FindingId::NotConnected, Level::Note)]
    );
    let message = &judged.findings[0].message;
    for part in ["128 of 1000", "timeout 128", "572 more not tried"] {
        assert!(message.contains(part), "{message}");
    }
    for side in [
        opening(&[(Outcome::Unfinished, 128), (Outcome::Unopened, 572)]),
        opening(&[]),
    ] {
        let mut record = pair();
        sides(&mut record, "new")
            .take(1)
            .for_each(|subject_readings| subject_readings.opening = side.clone());
        assert_eq!(compared(record).findings, []);
    }
}

#[test]
fn a_machine_without_resources_for_connections_blames_no_subject() {
    // Method: ports, descriptors and memory run out after 300 connections, and 699 more are not
    // tried. The finding voids, reports how many were opened, and names limit and remedy.
    let kinds = [
        (Outcome::NoPort, "ip_local_port_range", "--local-address"),
        (Outcome::NoDescriptor, "ulimit -n", "-t"),
        (Outcome::NoMemory, "kernel memory", "tcp_mem"),
    ];
    for (outcome, what, remedy) in kinds {
        let mut record = pair();
        record.machine.local_ports = Some((32_768, 60_999));
        record.machine.descriptors_max = Some(20_000);
        sides(&mut record, "new").take(1).for_each(|side| {
            side.not_connected = 700;
            side.opening = opening(&[(outcome, 1), (Outcome::Unopened, 699)]);
        });
        let judged = compared(record);
        assert_eq!(
            ids(&judged.findings),
            [(FindingId::GeneratorExhausted, Level::Void)]
        );
        let Finding {
            message,
            remedy: reported_message,
            ..
        } = &judged.findings[0];
        for part in ["300 of 1000", what, "699 were not tried"] {
            assert!(message.contains(part), "{message}");
        }
        assert!(reported_message.contains(remedy), "{reported_message}");
    }
}

#[test]
fn full_listen_queues_and_missing_connections_are_noted() {
    // Method: three of each in one block; then an unread count.
    let overflows = with_side(|side| side.listen_overflows = Some(3));
    let missing = with_side(|side| side.not_connected = 3);
    for (record, id) in [
        (overflows, FindingId::ListenOverflows),
        (missing, FindingId::NotConnected),
    ] {
        let judged = compared(record);
        assert_eq!(ids(&judged.findings), [(id, Level::Note)]);
        assert_eq!(judged.findings[0].subject.as_deref(), Some("new"));
        assert!(judged.findings[0].message.contains("3 connections"));
        assert_eq!(judged.verdict, Verdict::Faster);
    }
    let judged = compared(with_side(|side| side.listen_overflows = None));
    assert_eq!(
        ids(&judged.findings),
        [(FindingId::NotChecked, Level::Note)]
    );
    assert!(judged.findings[0].message.contains("listen queues"));
}

#[test]
fn readings_of_one_subject_do_not_hide_those_of_the_other() {
    // Method: Little's law off for `new` only.
    let mut record = pair();
    each_slice(&mut record, "new", |slice| slice.response_ns_sum /= 2);
    let judged = compared(record);
    let finding = find(&judged.findings, FindingId::LittleLaw).unwrap();
    assert_eq!(finding.subject.as_deref(), Some("new"));
    assert!(finding.message.contains("5.0 requests"), "{finding:?}");
}

#[test]
fn users_who_think_are_not_held_to_little_s_law() {
    // Method: a load with far fewer requests in flight than connections, as thinking leads to;
    // without thinking, the same load is void.
    let verdict = |think: bool| {
        let mut record = pair();
        record.loads[0].settings.arrivals.connections_rest = think;
        all_slices(&mut record).for_each(|slice| slice.response_ns_sum /= 10);
        compared(record).verdict
    };
    assert_ne!(verdict(true), Verdict::Invalid);
    assert_eq!(verdict(false), Verdict::Invalid);
}

#[test]
fn a_pause_of_abx_is_its_own_finding_and_not_the_subject_s() {
    // Method: abx stood still for 2.8 s within one slice of `new`, so that the connections' own
    // time triples in that block; without a pause, the subject is the cause.
    let stood = |paused_ns: u64| {
        let mut record = pair();
        let rounds = &mut record.blocks[0].loads[0].rounds;
        for round in rounds.iter_mut().take(1) {
            if paused_ns > 0 {
                round.disturbed = vec![Disturbance::Paused];
            }
        }
        let mut is_first = true;
        each_slice(&mut record, "new", |slice| {
            if std::mem::take(&mut is_first) {
                slice.paused_ns = paused_ns;
            }
        });
        let slices = record.blocks[0].loads[0].rounds.iter_mut();
        let slices = slices.flat_map(|round| &mut round.slices);
        for slice in slices.filter(|slice| slice.subject == "new") {
            slice.connection_ns *= 20;
        }
        compared(record).findings
    };
    let findings = stood(2_800 * MS);
    let pause = find(&findings, FindingId::GeneratorPaused).expect("it is found");
    assert!(pause.message.contains("paused for 2.8 s"), "{pause:?}");
    let disturbed = find(&findings, FindingId::DisturbedRounds).expect("a round is marked");
    assert!(
        disturbed.message.contains("by a pause of abx itself;"),
        "{disturbed:?}"
    );
    assert_eq!(find(&findings, FindingId::UnevenService), None);
    let findings = stood(0);
    assert_eq!(find(&findings, FindingId::GeneratorPaused), None);
    assert!(find(&findings, FindingId::UnevenService).is_some());
}

#[test]
fn other_programs_never_have_more_time_than_there_is_and_more_than_ticks_must_show() {
    // Method: all slices with ten times the available time; then slices so short that a tick of
    // each processor is a multiple of them.
    let message = |window_ns: u64, busy_ns: u64| {
        let mut record = pair();
        all_slices(&mut record).for_each(|slice| {
            slice.window_ns = window_ns;
            slice.busy_ns = slice.busy_ns.map(|_| {
                let server_ns = slice.server_cpu_ns.unwrap_or_default();
                server_ns + slice.generator_cpu_ns + busy_ns
            });
        });
        let findings = compared(record).findings;
        find(&findings, FindingId::ForeignCpu).map(|finding| finding.message.clone())
    };
    let most = message(100 * MS, 2_000 * MS).expect("it is found");
    assert!(most.contains("100.0 % of the time"), "{most}");
    assert_eq!(message(MS / 10, MS / 10), None);
}

#[test]
fn the_busiest_other_programs_are_named() {
    // Method: four programs in each block, one with two entries and one with too little time to
    // be named.
    let mut record = pair();
    let blocks = record.blocks.len() as f64;
    for block in &mut record.blocks {
        let programs = [("cc1", 1.5), ("sh", 0.25), ("cc1", 0.5), ("idle", 0.0001)];
        block.other_programs = programs
            .map(|(name, cpu_s)| OtherProgram {
                name: name.to_owned(),
                cpu_s,
            })
            .to_vec();
    }
    all_slices(&mut record).for_each(|slice| {
        slice.busy_ns = slice.busy_ns.map(|busy| busy + 50 * MS);
    });
    let findings = compared(record).findings;
    let foreign = find(&findings, FindingId::ForeignCpu).expect("it is found");
    let expected = format!(
        "most active were cc1 ({:.2} s of CPU time) and sh ({:.2} s of CPU time)",
        2.0 * blocks,
        0.25 * blocks
    );
    assert!(foreign.message.ends_with(&expected), "{foreign:?}");
}
