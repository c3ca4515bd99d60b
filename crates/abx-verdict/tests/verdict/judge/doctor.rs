//! The doctor's conclusions from its readings and measurements.

use abx_evidence::OutputKind;
use abx_verdict::doctor::{
    Check, CheckStatus, DoctorRecord, ForeignCpu, GeneratorCeiling, Noise, Pressure, Quota,
    Readings, Sampling, SamplingReach, examine,
};

use abx_fixtures::{OK, assert_close, study};

/// A machine without any weakness.
fn good() -> DoctorRecord {
    let readings = Readings {
        cpus_online: Some(4),
        cpus: vec![0, 1, 2, 3],
        cores: vec![vec![0, 2], vec![1, 3]],
        subject_cpus: vec![0, 2],
        generator_cpus: vec![1, 3],
        quota: Some(Quota::Unlimited),
        memory_bytes: Some(8_000_000_000),
        memory_available_bytes: Some(6_000_000_000),
        is_virtual: Some(false),
        clocksource: Some("tsc".to_owned()),
        clocksources: Some(vec!["tsc".to_owned(), "hpet".to_owned()]),
        clock_reading_ns: 20.0,
        governors: Some(vec!["performance".to_owned()]),
        descriptors_soft: 65_536,
        descriptors_hard: 65_536,
        local_ports: Some((32_768, 60_999)),
        somaxconn: Some(4_096),
        tcp_max_syn_backlog: Some(2_048),
        pressure: Some(Pressure {
            cpu: 0.01,
            memory: 0.0,
            io: 0.02,
        }),
        sampling: Some(Sampling {
            reach: SamplingReach::All,
            limit: None,
            calls_limit: None,
            has_kernel_names: true,
            perf_event_paranoid: Some(0),
            kptr_restrict: Some(0),
        }),
        ..Readings::default()
    };
    let ceiling = |keep_alive| GeneratorCeiling {
        keep_alive,
        connections: 50,
        throughput_per_s: Some(100_000.0),
        generator_busy: Some(0.97),
        server_busy: Some(0.6),
        ok: 200_000,
        failed: 0,
        measured_s: 2.0,
    };
    DoctorRecord {
        head: OutputKind::Doctor.into(),
        abx_version: "0.1.0".to_owned(),
        started_unix_ms: 1_750_000_000_000,
        elapsed_s: 30.0,
        interrupted: false,
        readings,
        other_programs: Vec::new(),
        elsewhere: Some(ForeignCpu {
            span_s: 29.0,
            steal: Some(0.0),
            foreign: Some(0.01),
        }),
        noise: Some(Noise {
            blocks: 12,
            detectable: Some(0.02),
            spread: Some(0.015),
            blocks_for_margin: Some(7),
            generator_wait: Some(0.001),
            ..Noise::default()
        }),
        ceilings: vec![ceiling(true), ceiling(false)],
        refusal: None,
        checks: Vec::new(),
    }
}

fn examined(mut record: DoctorRecord) -> Vec<Check> {
    examine(&mut record);
    record.checks
}

/// The check of this name on a good machine that `change` has changed.
fn check(id: &str, change: impl FnOnce(&mut DoctorRecord)) -> Check {
    let mut record = good();
    change(&mut record);
    let checks = examined(record);
    let check = checks.into_iter().find(|check| check.id == id);
    check.unwrap_or_else(|| panic!("there is no check {id}"))
}

fn status(id: &str, change: impl FnOnce(&mut Readings)) -> CheckStatus {
    check(id, |record| change(&mut record.readings)).status
}

fn noise(change: impl FnOnce(&mut Noise)) -> Check {
    check("noise", |record| {
        change(record.noise.as_mut().expect("a good machine was measured"));
    })
}

#[test]
fn nothing_limits_a_good_machine() {
    // Method: every check of a record without any weakness.
    let checks = examined(good());
    assert_eq!(checks.len(), 17);
    for check in checks {
        assert_eq!(check.status, CheckStatus::Ok, "{check:?}");
    }
}

#[test]
fn the_most_serious_check_comes_first() {
    // Method: one change for each status, each far down in the usual order.
    let mut record = good();
    record.readings.local_ports = None;
    record.readings.governors = Some(vec!["powersave".to_owned()]);
    record.readings.memory_available_bytes = Some(1_000);
    let checks = examined(record);
    let first: Vec<_> = checks
        .iter()
        .take(4)
        .map(|check| check.id.as_str())
        .collect();
    assert_eq!(first, ["memory", "governor", "ports", "noise"]);
}

type Change = fn(&mut Readings);

/// A bad reading for each check, its status, and what changes it.
const WEAKNESSES: &[(&str, CheckStatus, &str, Change)] = &[
    (
        "processors",
        CheckStatus::Limits,
        "taskset -c 0-3",
        |readings| (readings.cpus, readings.cores) = (vec![2], vec![vec![2]]),
    ),
    (
        "processors",
        CheckStatus::Limits,
        "taskset -c 0-3",
        |readings| (readings.cpus, readings.cores) = (vec![0, 2], vec![vec![0, 2]]),
    ),
    ("quota", CheckStatus::Limits, "cpuset", |readings| {
        readings.quota = Some(Quota::Cpus(1.5))
    }),
    (
        "descriptors",
        CheckStatus::Limits,
        "ulimit -n 65536",
        |readings| readings.descriptors_hard = 4_096,
    ),
    (
        "descriptors",
        CheckStatus::Stops,
        "ulimit -n 65536",
        |readings| readings.descriptors_hard = 64,
    ),
    (
        "descriptors",
        CheckStatus::Ok,
        "ulimit -n 65536",
        |readings| readings.descriptors_soft = 1_024,
    ),
    (
        "ports",
        CheckStatus::Limits,
        "ip_local_port_range=\"16384 65535\"",
        |readings| readings.local_ports = Some((50_000, 60_000)),
    ),
    (
        "ports",
        CheckStatus::Stops,
        "ip_local_port_range=\"16384 65535\"",
        |readings| readings.subject_ports_refused = Some("too low".to_owned()),
    ),
    (
        "queues",
        CheckStatus::Limits,
        "net.core.somaxconn=4096",
        |readings| readings.somaxconn = Some(128),
    ),
    (
        "queues",
        CheckStatus::Limits,
        "net.ipv4.tcp_max_syn_backlog=4096",
        |readings| readings.tcp_max_syn_backlog = Some(128),
    ),
    ("memory", CheckStatus::Limits, "rss", |readings| {
        readings.memory_available_bytes = Some(500_000_000)
    }),
    (
        "governor",
        CheckStatus::Limits,
        "-g performance",
        |readings| readings.governors = Some(vec!["powersave".to_owned()]),
    ),
    ("clock", CheckStatus::Limits, "echo tsc", |readings| {
        (readings.clocksource, readings.clock_reading_ns) = (Some("hpet".to_owned()), 900.0);
    }),
    ("pressure", CheckStatus::Limits, "ps -eo", |readings| {
        readings.pressure.as_mut().expect("it is read").io = 0.5
    }),
];

#[test]
fn each_weakness_limits_and_has_a_remedy() {
    // Method: each reading of the table alone on a good machine.
    for (id, expected, command, change) in WEAKNESSES {
        let check = check(id, |record| change(&mut record.readings));
        assert_eq!(check.status, *expected, "{check:?}");
        assert!(check.remedy.is_some(), "{check:?}");
        let suggested = check.command.as_deref().unwrap_or_default();
        assert!(suggested.contains(command), "{check:?}");
    }
}

#[test]
fn every_command_fits_on_a_line_of_the_report() {
    // Method: all commands for a machine with every weakness; the status leaves 66 columns.
    let mut record = good();
    let readings = &mut record.readings;
    (readings.cpus, readings.cores) = (vec![2], vec![vec![2]]);
    readings.quota = Some(Quota::Cpus(0.5));
    (readings.clocksource, readings.clock_reading_ns) = (Some("hpet".to_owned()), 900.0);
    readings.descriptors_hard = 64;
    readings.subject_ports_refused = Some("too low".to_owned());
    readings.somaxconn = Some(1);
    readings.memory_available_bytes = Some(1);
    readings.governors = Some(vec!["powersave".to_owned()]);
    readings.sampling = Some(Sampling {
        reach: SamplingReach::OwnCode,
        limit: None,
        calls_limit: None,
        has_kernel_names: false,
        perf_event_paranoid: Some(2),
        kptr_restrict: Some(1),
    });
    record.noise.as_mut().expect("it was measured").detectable = Some(0.1);
    let checks = examined(record);
    let commands: Vec<String> = checks
        .into_iter()
        .filter_map(|check| check.command)
        .collect();
    assert_eq!(commands.len(), 10);
    for command in commands {
        assert!(command.len() <= 66, "{command}");
    }
}

#[test]
fn unread_checks_are_neither_checked_nor_ok() {
    // Method: a record of a machine without readings.
    let mut record = good();
    record.readings = Readings {
        descriptors_hard: 65_536,
        cpus: vec![0, 1],
        cores: vec![vec![0], vec![1]],
        ..Readings::default()
    };
    record.noise = None;
    record.elsewhere = None;
    record.ceilings.clear();
    let checks = examined(record);
    let of = |status| {
        let these = checks.iter().filter(move |check| check.status == status);
        these.map(|check| check.id.as_str()).collect::<Vec<_>>()
    };
    let unread = [
        "noise",
        "ceiling",
        "foreign_cpu",
        "steal",
        "quota",
        "pressure",
        "ports",
        "queues",
        "memory",
        "governor",
        "virtual",
        "why",
    ];
    assert_eq!(of(CheckStatus::NotChecked), unread);
    assert_eq!(of(CheckStatus::Stops), [""; 0]);
}

#[test]
fn a_virtual_machine_that_gives_idle_processors_away_at_once_is_limited() {
    // Method: the check of waiting awake, on a virtual machine and on another one.
    for (is_virtual, halt_poll_ns, expected) in [
        (true, Some(0), CheckStatus::Limits),
        (true, Some(200_000), CheckStatus::Ok),
        (true, None, CheckStatus::Ok),
        (false, Some(0), CheckStatus::Ok),
    ] {
        let check_status = status("virtual", |readings| {
            (readings.is_virtual, readings.halt_poll_ns) = (Some(is_virtual), halt_poll_ns);
        });
        assert_eq!(check_status, expected, "{is_virtual} {halt_poll_ns:?}");
    }
}

#[test]
fn a_quota_beyond_all_processors_limits_nothing() {
    // Method: four processors and a quota of four.
    let check_status = status("quota", |readings| readings.quota = Some(Quota::Cpus(4.0)));
    assert_eq!(check_status, CheckStatus::Ok);
}

#[test]
fn noise_is_judged_by_the_default_margin() {
    // Method: a difference on each side of 3 % and of 25 %, and blocks that are too few.
    let at = |share, blocks| {
        noise(|noise| (noise.detectable, noise.blocks) = (Some(share), blocks)).status
    };
    assert_eq!(at(0.03, 7), CheckStatus::Ok);
    assert_eq!(at(0.03, 6), CheckStatus::NotChecked);
    assert_eq!(at(0.031, 7), CheckStatus::Limits);
    assert_eq!(at(0.031, 2), CheckStatus::Limits);
    assert_eq!(at(0.26, 7), CheckStatus::Stops);
    assert_eq!(
        noise(|noise| noise.spread = None).status,
        CheckStatus::NotChecked
    );
}

#[test]
fn noise_states_how_many_blocks_show_the_margin() {
    // Method: a machine on which 40 blocks do, and one on which no number does.
    let check = noise(|noise| (noise.detectable, noise.blocks_for_margin) = (Some(0.1), Some(40)));
    assert!(check.remedy.unwrap().contains("(`--blocks 40`)"));
    let check = noise(|noise| (noise.detectable, noise.blocks_for_margin) = (Some(0.1), None));
    assert!(check.remedy.unwrap().contains("another machine"));
}

#[test]
fn a_server_that_appears_to_differ_from_itself_is_reported() {
    // Method: an interval that excludes 1, and one that does not.
    let with = |low, high| noise(|noise| (noise.low, noise.high) = (Some(low), Some(high))).message;
    assert!(with(1.01, 1.03).contains("appeared to differ"));
    assert!(with(0.97, 0.99).contains("appeared to differ"));
    assert!(!with(0.99, 1.01).contains("appeared to differ"));
}

#[test]
fn noise_is_the_spread_of_the_blocks_log_ratios() {
    // Method: a study of two subjects by hand: ±1 % alternately in six blocks has
    // the spread 1 % · √(6/5), and 10 blocks show (2.5738 + 0.8834) / √10 of it.
    let again = [9_090, 8_911, 9_090, 8_911, 9_090, 8_911];
    let record = study(&[("null", &[OK; 6]), ("null-again", &again)]);
    let noise = Noise::of(&record);
    let spread = noise.spread.unwrap();
    assert!(
        (spread - 0.01_f64 * (6.0_f64 / 5.0).sqrt()).abs() < 1e-4,
        "{spread}"
    );
    let detectable = noise.detectable.unwrap();
    let by_hand = ((2.5738 + 0.8834) * spread / 10.0_f64.sqrt()).exp_m1();
    assert!((detectable / by_hand - 1.0).abs() < 1e-3, "{detectable}");
    assert_eq!(noise.blocks, 6);
    let [low, high] = [noise.low, noise.high].map(Option::unwrap);
    assert!(low < 1.0 && high > 1.0);
}

#[test]
fn one_block_has_no_noise() {
    // Method: a study that ended after its first block, and one that ended before it.
    let noise = Noise::of(&study(&[("null", &[OK]), ("null-again", &[OK])]));
    assert_eq!(
        (noise.blocks, noise.spread, noise.detectable),
        (1, None, None)
    );
    let noise = Noise::of(&study(&[("null", &[]), ("null-again", &[])]));
    assert_eq!((noise.blocks, noise.ratio), (0, None));
}

#[test]
fn a_ceiling_is_the_throughput_of_one_slice() {
    // Method: a slice of the made-up study, whose figures are known.
    let record = study(&[("null", &[OK])]);
    let slice = &record.blocks[0].loads[0].rounds[0].slices[0];
    let generator_ceiling = GeneratorCeiling::of(&record.loads[0].settings, slice);
    assert_close(generator_ceiling.throughput_per_s.unwrap(), 100_000.0);
    assert_eq!((generator_ceiling.ok, generator_ceiling.failed), (OK, 0));
    let busy = slice.busiest_worker_ns as f64 / slice.wall_ns as f64;
    assert_close(generator_ceiling.generator_busy.unwrap(), busy);
}

#[test]
fn a_ceiling_names_its_limit_and_causes_near_it() {
    // Method: each way in which either side was busy, and failures.
    let with = |generator, server, failed| {
        check("ceiling", |record| {
            let generator_ceiling = &mut record.ceilings[0];
            (
                generator_ceiling.generator_busy,
                generator_ceiling.server_busy,
            ) = (Some(generator), Some(server));
            generator_ceiling.failed = failed;
        })
    };
    let busy = with(0.95, 0.5, 0);
    assert!(busy.message.contains("the thread was the limit"));
    assert!(busy.remedy.unwrap().contains("above 70000/s"));
    assert!(
        with(0.95, 0.96, 0)
            .message
            .contains("the server was the limit")
    );
    assert_eq!(with(0.5, 0.5, 0).status, CheckStatus::NotChecked);
    assert_eq!(with(0.95, 0.5, 3).status, CheckStatus::Limits);
    let silent = check("ceiling", |record| {
        record.ceilings[0].throughput_per_s = None;
    });
    assert_eq!(silent.status, CheckStatus::Stops);
}

#[test]
fn a_refused_comparison_stops() {
    // Method: the refusal of the system is reported first.
    let mut record = good();
    record.refusal = Some("no port".to_owned());
    let first = &examined(record)[0];
    assert_eq!(
        (first.id.as_str(), first.status),
        ("refused", CheckStatus::Stops)
    );
    assert!(first.message.contains("no port"));
}

#[test]
fn other_programs_on_the_processors_limit() {
    // Method: each share on both sides of the limit that also applies in a study.
    let at = |id: &str, share: f64| {
        let check = check(id, |record| {
            let foreign_cpu = record.elsewhere.as_mut().expect("it was measured");
            (foreign_cpu.steal, foreign_cpu.foreign) = (Some(share), Some(share));
            record
                .noise
                .as_mut()
                .expect("it was measured")
                .generator_wait = Some(share);
        });
        check.status
    };
    let table = [
        ("steal", 0.01),
        ("foreign_cpu", 0.03),
        ("generator_wait", 0.05),
    ];
    for (id, most) in table {
        assert_eq!(at(id, most), CheckStatus::Ok, "{id}");
        assert_eq!(at(id, most + 0.001), CheckStatus::Limits, "{id}");
    }
}

#[test]
fn a_record_survives_json() {
    // Method: a round trip with checks.
    let mut record = good();
    examine(&mut record);
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<DoctorRecord>(&text).unwrap(), record);
}

#[test]
fn restricted_sampling_has_the_command_that_allows_more() {
    // Method: the rights of a user, of a user on a stricter machine, of root without access to
    // kernel symbols, and of a container that forbids the system call.
    use SamplingReach::{All, Nothing, OwnCode};
    let limit = "kernel.perf_event_paranoid is 2";
    let both = "sysctl -w kernel.perf_event_paranoid=0 kernel.kptr_restrict=0";
    let cases: [(_, _, [i32; 2], _, &str); 5] = [
        (
            OwnCode,
            false,
            [2, 1],
            Some(both),
            "sample only the code of servers",
        ),
        (
            OwnCode,
            false,
            [2, 0],
            Some("sysctl -w kernel.perf_event_paranoid=0"),
            limit,
        ),
        (Nothing, false, [4, 1], Some(both), "can sample nothing"),
        (
            All,
            false,
            [2, 2],
            Some("sysctl -w kernel.kptr_restrict=0"),
            "hides the names",
        ),
        (Nothing, false, [-1, 0], None, limit),
    ];
    for (reach, has_kernel_names, [paranoid, kptr], command, message) in cases {
        let check = check("why", |record| {
            record.readings.sampling = Some(Sampling {
                reach,
                limit: (reach != All).then(|| limit.to_owned()),
                calls_limit: None,
                has_kernel_names,
                perf_event_paranoid: Some(paranoid),
                kptr_restrict: Some(kptr),
            });
        });
        assert_eq!(check.status, CheckStatus::Limits, "{check:?}");
        assert_eq!(check.command.as_deref(), command, "{check:?}");
        assert!(check.message.contains(message), "{check:?}");
        assert!(check.remedy.is_some(), "{check:?}");
    }
}

#[test]
fn a_missing_right_to_count_calls_is_shown_with_its_remedy() {
    // Method: a user who may sample everything but may not load a program.
    let check = check("why", |record| {
        let sampling = record.readings.sampling.as_mut().unwrap();
        sampling.calls_limit = Some("abx has no CAP_BPF".to_owned());
    });
    assert_eq!(check.status, CheckStatus::Limits, "{check:?}");
    let message = "cannot count system calls: abx has no CAP_BPF";
    assert!(check.message.contains(message), "{check:?}");
    assert!(check.command.unwrap().contains("cap_bpf"));
}
