//! Findings from readings beside the slices: queues, loss, ports, descriptors, pressure,
//! limits and the speed of processors. Each is tried just at its limit and just beyond.

use abx_evidence::record::{
    CEILING, Calibration, HostCounters, Measured, SliceRecord, SubjectReadings, TlsSettings,
    TlsTrustKind,
};
use abx_evidence::{Finding, FindingId, Level};
use abx_verdict::Verdict;

use abx_fixtures::{
    MS, OK, ROUNDS, SLICE_NS, all_slices, compared, each_slice, find, ids, judged, of_limit, pair,
    sides, study, with_ceiling,
};

/// The duration of a block's load, in microseconds.
const BLOCK_US: u64 = ROUNDS as u64 * SLICE_NS / 1_000;

/// The findings after a change to the readings of `new` in every block, and to its slices.
fn found(side: impl Fn(&mut SubjectReadings), slice: impl FnMut(&mut SliceRecord)) -> Vec<Finding> {
    let mut record = pair();
    sides(&mut record, "new").for_each(side);
    each_slice(&mut record, "new", slice);
    let compared = compared(record);
    let has_bound = compared
        .findings
        .iter()
        .any(|finding| finding.level == Level::Bound);
    assert_eq!(compared.at_least, has_bound, "{compared:?}");
    assert_eq!(compared.verdict, Verdict::Faster);
    compared.findings
}

/// The findings after a change to the machine's counters in each block.
fn strained(change: impl Fn(&mut HostCounters)) -> Vec<Finding> {
    found(|side| change(strain(side)), |_| {})
}

/// The counters of the machine.
fn strain(side: &mut SubjectReadings) -> &mut HostCounters {
    side.strain
        .as_mut()
        .expect("a study without findings has it")
}

/// The only finding; none if there is none.
#[track_caller]
fn only(findings: &[Finding]) -> Option<(FindingId, Level, &str)> {
    assert!(findings.len() < 2, "{findings:?}");
    let finding = findings.first()?;
    assert_eq!(finding.subject.as_deref(), Some("new"));
    Some((finding.id.clone(), finding.level, &finding.message))
}

#[test]
fn connections_turned_away_under_load_bound_from_one_in_a_thousand() {
    // Method: 12 slices of 1,000 connects each, and 12 or 18 turned away in six blocks, by each
    // of the counters. Without connects in slices, they were turned away before the load.
    type Change = fn(&mut SubjectReadings, u64);
    let kinds: [Change; 3] = [
        |side, count| side.listen_overflows = Some(count),
        |side, count| strain(side).listen_drops = Some(count),
        |side, count| strain(side).half_open_drops = Some(count),
    ];
    for change in kinds {
        for (count, connects, level) in [
            (2, 1_000, Level::Note),
            (3, 1_000, Level::Bound),
            (3, 0, Level::Note),
        ] {
            let findings = found(
                |side| change(side, count),
                |slice| slice.connects = connects,
            );
            let (id, actual, message) = only(&findings).unwrap();
            assert_eq!((id, actual), (FindingId::ListenOverflows, level));
            assert!(message.contains(&format!("{} connections", 6 * count)));
        }
    }
}

#[test]
fn the_remedy_of_a_full_queue_names_the_limits() {
    // Method: a machine whose longest queue is shorter than the load's ten connections, and a
    // machine whose queue is long enough, where only the subject is the limit.
    for (somaxconn, expected) in [(4, Some("now 4,")), (128, None)] {
        let mut record = pair();
        record.machine.somaxconn = Some(somaxconn);
        sides(&mut record, "new").for_each(|side| side.listen_overflows = Some(1));
        let findings = compared(record).findings;
        let remedy = &find(&findings, FindingId::ListenOverflows).unwrap().remedy;
        assert!(remedy.contains("at least 10"), "{remedy}");
        assert_eq!(remedy.contains("somaxconn"), expected.is_some(), "{remedy}");
        assert!(remedy.contains(expected.unwrap_or_default()), "{remedy}");
    }
}

#[test]
fn a_full_queue_is_a_subjects_own_or_unattributed() {
    // Method: the counts of the machine beside those of the subject's own listeners. If the
    // latter are unread, up to 100 per block, which ten connections can cause with ten attempts
    // each, and one more.
    let message_of = |own_drops, total| {
        let findings = found(
            |side| {
                side.own_listen_drops = own_drops;
                side.listen_overflows = Some(total);
            },
            |slice| slice.connects = 0,
        );
        let pair = only(&findings).map(|(id, _, message)| (id, message.to_owned()));
        pair.map(|(id, message)| {
            assert_eq!(id, FindingId::ListenOverflows);
            message
        })
    };
    assert_eq!(message_of(Some(0), 957), None);
    let message = message_of(Some(3), 957).unwrap();
    assert!(message.contains("18 connections") && message.contains("its listen queue"));
    assert!(message_of(None, 100).unwrap().contains("600 connections"));
    assert_eq!(message_of(None, 101), None);
}

#[test]
fn late_packets_of_closed_connections_turn_nobody_away() {
    // Method: a listener's socket that counts 5,000 drops in each block, while the machine counts
    // none, some or more connections turned away.
    let message_of = |machine: u64| {
        let findings = found(
            |side| {
                side.own_listen_drops = Some(5_000);
                strain(side).listen_drops = Some(machine);
            },
            |slice| slice.connects = 1_000,
        );
        only(&findings).map(|(_, _, message)| message.to_owned())
    };
    assert_eq!(message_of(0), None);
    assert!(message_of(2).unwrap().contains("12 connections"));
    assert!(message_of(9_000).unwrap().contains("30000 connections"));
}

#[test]
fn any_lost_packet_is_noted_with_its_kind() {
    // Method: one event in each block, of each kind alone.
    type Change = fn(&mut HostCounters);
    let kinds: [(FindingId, &str, Change); 6] = [
        (
            FindingId::LostPackets,
            "retransmitted packets: 6",
            |host_counters| host_counters.retransmits = Some(1),
        ),
        (FindingId::LostPackets, "SYN packets: 6", |host_counters| {
            host_counters.syn_retransmits = Some(1)
        }),
        (FindingId::LostPackets, "timeouts: 6", |host_counters| {
            host_counters.timeouts = Some(1)
        }),
        (
            FindingId::LostPackets,
            "receive buffers: 6",
            |host_counters| host_counters.receive_queue_drops = Some(1),
        ),
        (FindingId::LostPackets, "busy sockets: 6", |host_counters| {
            host_counters.backlog_drops = Some(1)
        }),
        (FindingId::PacketsDropped, "6 packets", |host_counters| {
            host_counters.packets_dropped = Some(1)
        }),
    ];
    for (expected, text, change) in kinds {
        let findings = strained(change);
        let (id, level, message) = only(&findings).unwrap();
        assert_eq!((id, level), (expected, Level::Note));
        assert!(message.contains(text), "{message}");
    }
    assert_eq!(
        only(&strained(|host_counters| host_counters.squeezes = Some(9))),
        None
    );
}

#[test]
fn held_ports_are_noted_if_new_connections_need_them() {
    // Method: at 70 % and above it, with a new connection for each tenth request or for fewer.
    let enough = OK * 11 / 100;
    for (held, connects, is_noted) in [(70, enough, false), (71, enough, true), (100, 9, false)] {
        let findings = found(
            |side| side.time_wait = Some(of_limit(held, 100)),
            |slice| slice.connects = connects,
        );
        let ports = only(&findings).map(|(id, level, _)| (id, level));
        assert_eq!(
            ports,
            is_noted.then_some((FindingId::PortsLow, Level::Note)),
            "{held}"
        );
        for finding in findings {
            let figures = format!("had {held} closed connections in TIME_WAIT");
            assert!(finding.message.contains(&figures), "{finding:?}");
            assert!(
                finding.message.contains("tcp_max_tw_buckets"),
                "{finding:?}"
            );
        }
    }
}

#[test]
fn a_cold_load_that_was_warm_is_noted() {
    // Method: a load that should be cold, with pages of the files in memory at the limit and
    // above it in one block of several, or not counted; and as many pages under a load that
    // need not be cold.
    let result = |is_cold, pages: Option<u64>| {
        let mut record = pair();
        record.loads[0].settings.cold_cache = is_cold;
        for subject in ["old", "new"] {
            sides(&mut record, subject).for_each(|side| {
                side.resident_pages = Some(of_limit(0, 200));
            });
        }
        let first = sides(&mut record, "new").next().unwrap();
        first.resident_pages = pages.map(|pages| of_limit(pages, 200));
        if pages.is_none() {
            sides(&mut record, "new").for_each(|side| side.resident_pages = None);
        }
        let findings = compared(record).findings;
        only(&findings).map(|(id, level, message)| (id.to_owned(), level, message.to_owned()))
    };
    assert_eq!(result(true, Some(10)), None);
    let (id, level, message) = result(true, Some(11)).unwrap();
    assert_eq!((id, level), (FindingId::NotCold, Level::Note));
    assert!(message.contains("up to 6 %"), "{message}");
    assert!(result(true, None).unwrap().2.contains("not checked"));
    assert_eq!(result(false, Some(200)), None);
}

#[test]
fn descriptors_are_noted_near_the_limit_and_bound_at_it() {
    // Method: at 90 % of 200, above it, and all of them, of each side; the remedy names a number
    // above the limit.
    type Change = fn(&mut SubjectReadings, u64);
    let both: [(FindingId, Change); 2] = [
        (FindingId::DescriptorsLow, |side, count| {
            side.descriptors = Some(of_limit(count, 200));
        }),
        (FindingId::GeneratorDescriptorsLow, |side, count| {
            side.generator_descriptors = Some(of_limit(count, 200));
        }),
    ];
    for (id, change) in both {
        for (count, level) in [
            (180, None),
            (181, Some(Level::Note)),
            (200, Some(Level::Bound)),
        ] {
            let findings = found(|side| change(side, count), |_| {});
            let met = only(&findings).map(|(id, level, _)| (id, level));
            assert_eq!(met, level.map(|level| (id.clone(), level)), "{count}");
        }
        let findings = found(|side| change(side, 200), |_| {});
        let needed = findings[0].remedy.split_ascii_whitespace();
        let needed = needed.filter_map(|word| word.trim_end_matches(',').parse::<u64>().ok());
        assert!(needed.max() > Some(200), "{findings:?}");
    }
}

#[test]
fn waits_for_processors_memory_and_disks_are_noted_by_their_share() {
    // Method: 10 % and 0.1 % of each block's time, and one microsecond more. A subject that uses
    // all of its processors makes its own threads wait.
    let idle = |slice: &mut SliceRecord| slice.server_cpu_ns = Some(60 * MS);
    let cpu = |time_us| {
        let mut record = pair();
        sides(&mut record, "new").for_each(|side| {
            strain(side).cpu_pressure_us = Some(time_us);
            side.busiest_thread_ns = Some(60 * MS * ROUNDS as u64);
        });
        each_slice(&mut record, "new", idle);
        find(&compared(record).findings, FindingId::CpuPressure).map(|finding| finding.level)
    };
    assert_eq!(cpu(BLOCK_US / 10), None);
    assert_eq!(cpu(BLOCK_US / 10 + 1), Some(Level::Note));
    assert_eq!(
        only(&strained(
            |host_counters| host_counters.cpu_pressure_us = Some(BLOCK_US)
        )),
        None
    );
    type Change = fn(&mut HostCounters, u64);
    let kinds: [(FindingId, Change); 2] = [
        (FindingId::MemoryPressure, |host_counters, time_us| {
            host_counters.memory_pressure_us = Some(time_us);
        }),
        (FindingId::IoPressure, |host_counters, time_us| {
            host_counters.io_pressure_us = Some(time_us)
        }),
    ];
    for (id, change) in kinds {
        let at = |time_us| strained(|host_counters| change(host_counters, time_us));
        assert_eq!(only(&at(BLOCK_US / 1_000)), None);
        let findings = at(BLOCK_US / 1_000 + 1);
        assert_eq!(ids(&findings), [(id, Level::Note)]);
    }
}

#[test]
fn the_cause_of_waiting_for_a_cpu_is_one_finding_per_load() {
    // Method: threads waited half of the time while either subject was loaded. Subjects have
    // several threads or one, and other programs ran for 0, 20 % or 30 % of one processor: less
    // and more than half of the waiting.
    let findings = |busiest_ms: [u64; 2], others_ms: u64| {
        let mut record = pair();
        for (subject, busiest_ms) in ["new", "old"].into_iter().zip(busiest_ms) {
            sides(&mut record, subject).for_each(|side| {
                strain(side).cpu_pressure_us = Some(BLOCK_US / 2);
                side.busiest_thread_ns = Some(busiest_ms * MS * ROUNDS as u64);
            });
            each_slice(&mut record, subject, |slice| {
                slice.server_cpu_ns = Some(60 * MS);
                slice.busy_ns = Some((60 + 50 + others_ms) * MS);
            });
        }
        let mut findings = compared(record).findings;
        findings.retain(|finding| finding.id == FindingId::CpuPressure);
        findings
    };
    let cases = [
        ([20, 20], 0, "their own threads", "fewer threads"),
        ([20, 20], 20, "their own threads", "fewer threads"),
        ([20, 20], 30, "other programs used", "close other programs"),
        ([60, 60], 0, "does not know", "fewer threads"),
    ];
    for (busiest_ms, others_ms, cause, remedy) in cases {
        let findings = findings(busiest_ms, others_ms);
        let [both] = &findings[..] else {
            panic!("{findings:?}")
        };
        assert_eq!(both.subject, None);
        let whom = "while new (50 % of the time) and old (50 %) were loaded";
        assert!(both.message.contains(whom), "{both:?}");
        assert!(both.message.contains(cause), "{cause}: {both:?}");
        assert!(both.remedy.contains(remedy), "{remedy}: {both:?}");
    }
    let mixed = findings([20, 60], 0);
    let [several, single] = &mixed[..] else {
        panic!("{mixed:?}")
    };
    assert_eq!(several.subject.as_deref(), Some("new"));
    assert!(several.message.contains("its own threads"), "{several:?}");
    assert_eq!(single.subject.as_deref(), Some("old"));
    assert!(single.message.contains("does not know"), "{single:?}");
}

#[test]
fn a_limit_of_processor_time_bounds_above_one_percent() {
    // Method: reached once in each block, for 1 % of its time and for slightly more.
    for (time_us, level) in [
        (BLOCK_US / 100, Level::Note),
        (BLOCK_US / 100 + 1, Level::Bound),
    ] {
        let findings = strained(|host_counters| {
            host_counters.throttled = Some(1);
            host_counters.throttled_us = Some(time_us);
        });
        let (id, actual, message) = only(&findings).unwrap();
        assert_eq!((id, actual), (FindingId::Throttled, level));
        assert!(message.contains("6 times"), "{message}");
    }
}

/// A study with a change to the check of processor 1 in every block.
fn with_canaries(change: impl Fn(usize, &mut Calibration)) -> Measured {
    let mut record = pair();
    for (index, block) in record.blocks.iter_mut().enumerate() {
        let canaries = block.canaries.iter_mut();
        canaries
            .filter(|calibration| calibration.cpu == 1)
            .for_each(|calibration| change(index, calibration));
    }
    record
}

#[test]
fn a_processor_whose_speed_changes_is_named() {
    // Method: the same work takes 3 % and 4 % longer, in one check of one block.
    let slower = |percent: u64| {
        let record = with_canaries(|index, calibration| {
            if index == 3 {
                calibration.after_ns = Some(MS + MS / 100 * percent);
            }
        });
        compared(record).findings
    };
    assert_eq!(ids(&slower(3)), []);
    let findings = slower(4);
    assert_eq!(ids(&findings), [(FindingId::SpeedChanged, Level::Note)]);
    assert!(
        findings[0]
            .message
            .contains("on CPU 1 the same work took 1.00 to 1.04 ms")
    );
    let hot = compared(with_canaries(|_, calibration| {
        calibration.heat_throttles = Some(2)
    }))
    .findings;
    assert_eq!(ids(&hot), [(FindingId::HeatThrottled, Level::Note)]);
    assert!(hot[0].message.contains("12 times"), "{hot:?}");
}

#[test]
fn processors_of_different_kinds_are_not_compared_with_each_other() {
    // Method: one processor always takes twice as long as the other.
    let record = with_canaries(|_, calibration| {
        calibration.before_ns = Some(2 * MS);
        calibration.after_ns = Some(2 * MS);
    });
    assert_eq!(ids(&compared(record).findings), []);
}

#[test]
fn one_finding_lists_all_unread_values() {
    // Method: each reading is removed in one block alone, then all together.
    type Change = fn(&mut SubjectReadings);
    let kinds: [(&str, Change); 8] = [
        ("listen queues", |side| strain(side).listen_drops = None),
        ("lost packets", |side| strain(side).timeouts = None),
        ("softnet_stat", |side| strain(side).packets_dropped = None),
        ("/proc/pressure", |side| strain(side).io_pressure_us = None),
        ("cpu.stat", |side| strain(side).throttled = None),
        ("/proc/PID/fd", |side| side.descriptors = None),
        ("/proc/self/task", |side| side.generator_descriptors = None),
        ("sockstat", |side| side.time_wait = None),
    ];
    for (text, change) in kinds {
        let mut record = pair();
        sides(&mut record, "new").take(1).for_each(change);
        let findings = compared(record).findings;
        assert_eq!(
            ids(&findings),
            [(FindingId::NotChecked, Level::Note)],
            "{text}"
        );
        assert!(findings[0].message.contains(text), "{findings:?}");
        assert!(!findings[0].message.contains("; "), "{findings:?}");
    }
    let mut record = pair();
    sides(&mut record, "new").for_each(|side| *side = SubjectReadings::default());
    record.blocks[2].canaries[0].before_ns = None;
    let findings = compared(record).findings;
    assert_eq!(ids(&findings), [(FindingId::NotChecked, Level::Note)]);
    let listed = findings[0].message.split("; ").count();
    assert_eq!(listed, kinds.len() + 1, "{findings:?}");
    assert!(
        findings[0].message.contains("changed their speed"),
        "{findings:?}"
    );
}

#[test]
fn a_throughput_near_the_ceiling_is_reported_if_the_generator_was_the_limit() {
    // Method: 71 % and 69 % of the ceiling without TLS, and 71 % with TLS; the generator was just
    // busy enough at the ceiling, or it was not.
    let near = |times: f64, is_encrypted: bool, busy: f64| {
        let mut record = with_ceiling(study(&[("old", &[OK; 6]), ("new", &[OK; 6])]), times);
        record.loads[0].settings.tls = is_encrypted.then_some(TlsSettings {
            trust: TlsTrustKind::Anyone,
            version: None,
            resumption: false,
            shows_certificate: false,
        });
        each_slice(&mut record, CEILING, |slice| {
            slice.busiest_worker_ns = (slice.wall_ns as f64 * busy).round() as u64;
        });
        find(&judged(record).validity.findings, FindingId::NearCeiling).is_some()
    };
    let cases = [
        (0.5 / 0.71, false, 0.91, true),
        (0.5 / 0.71, false, 0.89, false),
        (0.5 / 0.69, false, 0.91, false),
        (0.5 / 0.71, true, 0.91, true),
        (0.5 / 0.71, true, 0.89, false),
    ];
    for (times, is_encrypted, busy, expected) in cases {
        let near = near(times, is_encrypted, busy);
        assert_eq!(near, expected, "{times} {is_encrypted} {busy}");
    }
}

#[test]
fn a_summary_holds_switches_memory_and_bytes() {
    // Method: two switches and 170 bytes per response, with switches for discarded responses too;
    // memory differs between blocks, by one byte each from 1,000 on, and the median counts.
    let mut record = pair();
    all_slices(&mut record).for_each(|slice| {
        slice.bytes = 170 * slice.completed;
        slice.discarded = slice.outcomes.clone();
        slice.server_switches = Some(4 * slice.completed);
    });
    for (index, side) in (0..).zip(sides(&mut record, "new")) {
        side.pss_bytes = Some(1_000 + index);
    }
    let summary = |record: &Measured| judged(record.clone()).summaries[1].clone();
    let described = summary(&record);
    assert_eq!(described.subject, "new");
    assert_eq!(described.server_switches_per_request, Some(2.0));
    assert_eq!(described.bytes_per_request, Some(170.0));
    assert_eq!(described.pss_bytes, Some(1_003));
    all_slices(&mut record).nth(1).unwrap().server_switches = None;
    assert_eq!(summary(&record).server_switches_per_request, None);
}
