//! Records with fixed figures, to be changed by each test where it matters.

use std::collections::BTreeMap;

use abx_evidence::record::{
    BlockLoad, BlockRecord, Interleave, LoadRecord, LoadSettings, Machine, PilotRecord,
    PilotSubject, RequestSettings, ResponseRecord, Settings, StudyEnd, SubjectRecord,
};
use abx_evidence::{
    ArrivalKind, ArrivalSettings, Exchange, Figure, Finding, FindingId, Level, LoadOptions,
    Measured, Offered, Outcomes, PhaseTime, PhaseTimes, Times,
};
use abx_verdict::{
    Comparison, Conclusions, GeneratorSide, Metric, RUN_SCHEMA, Requests, Role, RunRecord,
    RunSettings, Scope, ServerSide, StudyRecord, Summary, Verdict, new_finding,
};

/// lighttpd beside nginx, 1.12 times as fast in 6 blocks.
pub fn study() -> StudyRecord {
    let measured = Measured {
        abx_version: "0.1.0".to_owned(),
        command: vec!["abx".to_owned(), "compare".to_owned()],
        started_unix_ms: 1_750_000_000_000,
        elapsed_s: 38.2,
        seed: 42,
        settings: Settings {
            baseline: "nginx".to_owned(),
            contrasts: Vec::new(),
            aa: false,
            margin: 0.03,
            budget_s: 120.0,
            blocks: Some(6),
            threads: 1,
            subject_cpus: vec![0],
            generator_cpus: vec![1],
            waiting: abx_evidence::Waiting::default(),
        },
        machine: Machine::default(),
        subjects: ["nginx", "lighttpd"].map(subject).into(),
        services: Vec::new(),
        skipped: Vec::new(),
        loads: vec![load("c100", 100)],
        faults: Vec::new(),
        fleet: None,
        end: StudyEnd::Precision,
        past_baseline: None,
        blocks: Vec::new(),
    };
    let conclusions = Conclusions {
        comparisons: vec![comparison(
            "lighttpd",
            Some([1.12, 1.08, 1.16]),
            Verdict::Faster,
        )],
        summaries: vec![
            summary("nginx", "c100", 36_817.2),
            summary("lighttpd", "c100", 41_234.5),
        ],
        scope: Scope::of(&measured),
        ..Conclusions::default()
    };
    let mut record = StudyRecord {
        measured,
        conclusions,
    };
    set_blocks(&mut record, 6);
    record
}

/// Gives the record this many complete blocks, for each of its loads.
pub fn set_blocks(record: &mut StudyRecord, count: u32) {
    let loads: Vec<BlockLoad> = record
        .measured
        .loads
        .iter()
        .map(|load| BlockLoad {
            load: load.name.clone(),
            rounds: Vec::new(),
            histograms: BTreeMap::new(),
            courses: BTreeMap::new(),
            sides: BTreeMap::new(),
        })
        .collect();
    record.measured.blocks = (0..count)
        .map(|index| BlockRecord {
            index,
            seed: 7,
            complete: true,
            order: Vec::new(),
            subjects: BTreeMap::new(),
            services: BTreeMap::new(),
            loads: loads.clone(),
            faults: Vec::new(),
            missing_agents: Vec::new(),
            canaries: Vec::new(),
            other_programs: Vec::new(),
        })
        .collect();
}

pub fn subject(name: &str) -> SubjectRecord {
    SubjectRecord {
        name: name.to_owned(),
        command: vec![name.to_owned()],
        address: None,
        connected_to: None,
        version: Some("nginx/1.22.1".to_owned()),
        stand_in_for: None,
        http2: false,
    }
}

pub fn load(name: &str, connections: u32) -> LoadRecord {
    let pilot = PilotSubject {
        throughput_per_s: 40_000.0,
        warm_up_ns: 200_000_000,
        settled: true,
        background_cpu: Some(0.0),
        ..PilotSubject::default()
    };
    LoadRecord {
        name: name.to_owned(),
        settings: LoadSettings {
            options: LoadOptions {
                connections,
                verify_every: 64,
                ..LoadOptions::default()
            },
            requests: vec![RequestSettings {
                method: "GET".to_owned(),
                path: "/small.bin".to_owned(),
                weight: 1,
                body: None,
                status: None,
            }],
            status: 200_u16.into(),
            bodies_compared: true,
            ..LoadSettings::default()
        },
        responses: BTreeMap::new(),
        pilot: Some(PilotRecord {
            interleave: Interleave::Slices,
            interleave_reason: None,
            slice_ns: 100_000_000,
            slice_requests: None,
            discard_ns: 10_000_000,
            slice_reason: None,
            shortened: false,
            rounds: 20,
            warm_up_ns: 300_000_000,
            subjects: BTreeMap::from([("nginx".to_owned(), pilot)]),
        }),
    }
}

/// A comparison with nginx under `c100`; ratio, low and high.
pub fn comparison(subject: &str, ratio: Option<[f64; 3]>, verdict: Verdict) -> Comparison {
    Comparison {
        metric: Metric::Throughput,
        step: None,
        role: Role::Primary,
        load: "c100".to_owned(),
        subject: subject.to_owned(),
        baseline: "nginx".to_owned(),
        ratio: ratio.map(|[ratio, _, _]| ratio),
        low: ratio.map(|[_, low, _]| low),
        high: ratio.map(|[_, _, high]| high),
        confidence: 0.95,
        blocks: 6,
        per_block: vec![ratio.map(|[ratio, _, _]| ratio); 6],
        together: 1,
        p_adjusted: ratio.map(|_| 0.001),
        verdict,
        at_least: false,
        fragile: false,
        blocks_more: None,
        too_few_blocks: false,
        detectable: Some(0.014),
        hodges_lehmann: None,
        undisturbed: None,
        findings: Vec::new(),
        own_findings: Vec::new(),
    }
}

pub fn times(median: u64) -> Times {
    Times {
        p50: Some(median),
        p90: Some(median * 2),
        p95: Some(median * 3),
        p99: Some(median * 5),
        p99_9: Some(median * 12),
        max: Some(median * 200),
        mean: Some(median as f64),
        standard_deviation: Some(median as f64 * 1.5),
        at_least: Vec::new(),
    }
}

/// Phases of these means in µs; one that took no time is one that none had.
pub fn phases(means: [f64; 4]) -> PhaseTimes {
    let [waiting, connect, first_byte, body] = means.map(|mean_us| {
        let known = Some(mean_us as u64).filter(|mean_us| *mean_us > 0);
        PhaseTime {
            mean_us,
            p50_us: known,
            p99_us: known.map(|mean_us| mean_us * 3),
        }
    });
    PhaseTimes {
        requests: 6_443,
        waiting,
        connect,
        first_byte,
        body,
    }
}

pub fn outcomes(text: &str) -> Outcomes {
    serde_json::from_str(text).expect("the tests name outcomes that exist")
}

pub fn summary(subject: &str, load: &str, rate: f64) -> Summary {
    Summary {
        subject: subject.to_owned(),
        load: load.to_owned(),
        throughput_per_s: Some(rate),
        response_time_us: times(2_431),
        service_time_us: times(2_431),
        steps: Vec::new(),
        phases: Some(phases([2.5, 0.0, 2_390.0, 38.5])),
        handshake_us: None,
        handshakes_resumed: None,
        server_cpu_us_per_request: Some(21.34),
        server_switches_per_request: Some(0.14),
        server_busy: Some(0.981),
        services: Vec::new(),
        generator_busy: Some(0.44),
        rss_bytes: Some(14_200_000),
        pss_bytes: Some(9_100_000),
        ready_s: Some(0.12),
        loaded_s: 24.04,
        sent: 989_628,
        offered: None,
        lateness_us: times(4),
        loop_lag_us: Times::default(),
        ok: 989_628,
        outcomes: outcomes(r#"{"ok":989628}"#),
        wrong_statuses: Default::default(),
        bytes: 1_300_000_000,
        bytes_per_request: Some(1_313.6),
        broadcasts: None,
        held: None,
    }
}

/// A finding with texts of usual length.
pub fn finding(level: Level) -> Finding {
    match level {
        Level::Note => new_finding(
            FindingId::NotSaturated,
            "neither lighttpd (62 % busy) nor the generator (44 %) was at its limit: throughput \
             is connections over response time here",
        ),
        Level::Bound => new_finding(
            FindingId::GeneratorBound,
            "the generator used 97 % of its processor and lighttpd had time to spare: lighttpd \
             could have answered more",
        )
        .at(level)
        .with_remedy("add a thread (`-t`) on a processor of its own"),
        Level::Void => new_finding(
            FindingId::FailedRequests,
            "1200 of 989628 requests to lighttpd failed: reset 1200",
        )
        .at(level)
        .with_remedy("mend the server, or offer less load"),
    }
}

/// What [`run`] was asked for.
fn run_settings() -> RunSettings {
    RunSettings {
        tls: None,
        url: "http://127.0.0.1:8080/small.bin".to_owned(),
        connected_to: Some("127.0.0.1:8080".to_owned()),
        method: "GET".to_owned(),
        options: LoadOptions {
            connections: 50,
            verify_every: 64,
            ..LoadOptions::default()
        },
        exchange: Exchange::default(),
        arrivals: ArrivalSettings::default(),
        threads: 1,
        waiting: abx_evidence::Waiting::default(),
        duration_s: Some(10.0),
        requests: None,
        warm_up_s: None,
    }
}

/// 10 s of a server that answers everything.
pub fn run() -> RunRecord {
    RunRecord {
        schema: RUN_SCHEMA.to_owned(),
        abx_version: "0.1.0".to_owned(),
        started_unix_ms: 1_750_000_000_000,
        settings: run_settings(),
        machine: Machine::default(),
        response: ResponseRecord {
            tls: None,
            status: 200,
            body_bytes: 1320,
            sha256: Some("00".to_owned()),
        },
        elapsed_s: 10.002,
        interrupted: false,
        requests: Requests {
            sent: 412_352,
            completed: 412_352,
            ok: 412_352,
            hashed: 6_443,
            outcomes: outcomes(r#"{"ok":412352}"#),
            wrong_statuses: Default::default(),
        },
        offered: None,
        throughput_per_s: Some(41_234.5),
        response_time_us: times(843),
        service_time_us: times(801),
        phases: Some(phases([3.25, 0.0, 790.0, 49.75])),
        handshake_us: None,
        handshakes_resumed: None,
        server_times: Vec::new(),
        bytes: 610_280_960,
        body_bytes: 544_304_640,
        connects: 0,
        silent: 0,
        broadcasts: None,
        held: None,
        generator: GeneratorSide {
            cpu_s: 4.5,
            waiting_awake_s: 0.0,
            cpu_us_per_request: Some(10.91),
            busy: 0.45,
            wait_s: Some(0.02),
            lateness_us: times(4),
            loop_lag_us: Times::default(),
        },
        server: Some(ServerSide {
            process_id: 1234,
            name: "nginx".to_owned(),
            cpu_s: 9.8,
            cpu_us_per_request: Some(23.77),
            rss_bytes: Some(14_200_000),
            busy: 0.98,
            busiest_thread: Some(0.98),
        }),
        findings: Vec::new(),
        scope: Scope::of(&abx_fixtures::run()),
        measured: abx_fixtures::run(),
    }
}

/// The same at 20,000/s for 10 s, all of which was sent in time.
pub fn open_run() -> RunRecord {
    let mut record = run();
    record.settings.arrivals = ArrivalSettings {
        kind: ArrivalKind::Constant,
        rate_per_s: Some(20_000.0),
        connections_rest: false,
        text: String::new(),
    };
    record.requests.sent = 200_000;
    record.requests.completed = 200_000;
    record.requests.ok = 200_000;
    record.requests.hashed = 3_125;
    record.requests.outcomes = outcomes(r#"{"ok":200000}"#);
    record.offered = Some(Offered {
        planned: 200_000,
        sent: 200_000,
        unsent: 0,
        queued: 0,
        unfinished: 0,
    });
    record.throughput_per_s = Some(19_998.2);
    record.generator.loop_lag_us = times(9);
    record
}

/// The same on a server that answers 15,200 in each second.
pub fn overloaded_run() -> RunRecord {
    let mut record = open_run();
    record.requests.sent = 152_050;
    record.requests.completed = 152_000;
    record.requests.ok = 152_000;
    record.requests.outcomes = outcomes(r#"{"ok":152000,"unfinished":50}"#);
    record.offered = Some(Offered {
        planned: 200_000,
        sent: 152_050,
        unsent: 47_950,
        queued: 151_900,
        unfinished: 50,
    });
    record.throughput_per_s = Some(15_200.4);
    record.response_time_us = Times {
        p50: Some(1_240_000),
        p90: Some(2_150_000),
        p95: Some(2_270_000),
        p99: Some(2_380_000),
        p99_9: Some(2_399_000),
        max: Some(2_400_000),
        mean: Some(1_180_000.0),
        standard_deviation: None,
        at_least: vec![
            Figure::P90,
            Figure::P95,
            Figure::P99,
            Figure::P999,
            Figure::Max,
            Figure::Mean,
        ],
    };
    record.service_time_us.at_least = vec![Figure::Max, Figure::Mean];
    record.phases = Some(phases([1_179_200.0, 0.0, 790.0, 49.75]));
    record.generator.lateness_us = Times {
        p50: Some(1_236_000),
        p90: Some(2_143_000),
        p95: Some(2_264_000),
        p99: Some(2_372_000),
        p99_9: Some(2_391_000),
        max: Some(2_396_000),
        ..Times::default()
    };
    record.findings = vec![
        new_finding(
            FindingId::TimesAtLeast,
            "p90, p95, p99, p99.9 of the response times of http://127.0.0.1:8080/small.bin are at \
             least what is shown, and nobody knows how long: 48000 requests had no answer",
        )
        .of_times(),
    ];
    record
}
