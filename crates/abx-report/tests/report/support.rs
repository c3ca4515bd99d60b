//! Records with fixed figures. Each test changes the part that it checks.

use std::collections::BTreeMap;

use abx_evidence::record::{
    BlockLoad, BlockRecord, BlockSubject, Interleave, LoadRecord, LoadSettings, Machine,
    PilotRecord, PilotSubject, RequestSettings, Settings, SliceRecord, StudyEnd, SubjectRecord,
};
use abx_evidence::{
    ArrivalKind, ArrivalSettings, Figure, Finding, FindingId, Level, LoadOptions, Measured,
    Offered, Outcomes, PhaseTime, PhaseTimes, Times,
};
use abx_fixtures::URL;
use abx_report::RecordPlace;
use abx_verdict::{
    Comparison, Conclusions, ExpectationResult, Metric, Role, Scope, StudyRecord, Summary,
    Validity, Verdict, new_finding,
};

/// The page of a record without a known place.
pub fn study_html(record: &StudyRecord, results: &[ExpectationResult]) -> String {
    abx_report::study_html(record, results, RecordPlace::default())
}

/// lighttpd compared with nginx, 1.12 times as fast in 6 blocks.
pub fn study() -> StudyRecord {
    let measured = Measured {
        abx_version: "0.1.0".to_owned(),
        command: vec!["abx".to_owned(), "compare".to_owned()],
        study: None,
        label: None,
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
        identity: None,
        continuations: Vec::new(),
        end: StudyEnd::Precision,
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
            ledgers: BTreeMap::new(),
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
        revision: None,
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
        settled: Vec::new(),
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

/// A comparison with nginx under `c100`, with this ratio, lower and upper bound.
pub fn comparison(subject: &str, bounds: Option<[f64; 3]>, verdict: Verdict) -> Comparison {
    let ratio = bounds.map(|[ratio, _, _]| ratio);
    Comparison {
        metric: Metric::Throughput,
        step: None,
        role: Role::Primary,
        load: "c100".to_owned(),
        subject: subject.to_owned(),
        baseline: "nginx".to_owned(),
        ratio,
        low: bounds.map(|[_, low, _]| low),
        high: bounds.map(|[_, _, high]| high),
        confidence: 0.95,
        blocks: 6,
        per_block: vec![ratio; 6],
        together: 1,
        p_adjusted: ratio.map(|_| 0.001),
        verdict,
        at_least: false,
        fragile: false,
        second_verdict: None,
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

/// Phases with these means in µs. A phase with a mean of 0 did not occur.
pub fn phases(means_us: [f64; 4]) -> PhaseTimes {
    let [waiting, connect, first_byte, body] = means_us.map(|mean_us| {
        let p50_us = Some(mean_us as u64).filter(|us| *us > 0);
        PhaseTime {
            mean_us,
            p50_us,
            p99_us: p50_us.map(|us| us * 3),
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

/// A run of 10 s against a server that responds to every request.
pub fn run() -> StudyRecord {
    let mut record = StudyRecord::judged(abx_fixtures::run());
    let measured = &mut record.measured;
    measured.abx_version = "0.1.0".to_owned();
    measured.started_unix_ms = 1_750_000_000_000;
    measured.machine = Machine::default();
    measured.subjects[0].connected_to = Some("127.0.0.1:8080".to_owned());
    let settings = &mut measured.loads[0].settings;
    (settings.connections, settings.verify_every) = (50, 64);
    let response = measured.loads[0]
        .responses
        .get_mut(URL)
        .expect("a run has a response");
    response[0].body_bytes = 1320;
    let listener = life(&mut record)
        .listener
        .as_mut()
        .expect("its server is seen");
    (listener.process_id, listener.name) = (1234, "nginx".to_owned());
    life(&mut record).rss_bytes_max = Some(14_200_000);
    let slice = slice(&mut record);
    slice.wall_ns = 10_002_000_000;
    (slice.sent, slice.completed, slice.ok) = (412_352, 412_352, 412_352);
    slice.hashed = 6_443;
    slice.outcomes = outcomes(r#"{"ok":412352}"#);
    (slice.bytes, slice.body_bytes, slice.connects) = (610_280_960, 544_304_640, 0);
    (slice.generator_cpu_ns, slice.generator_wait_ns) = (4_500_000_000, Some(20_000_000));
    slice.server_cpu_ns = Some(9_800_000_000);
    *figures(&mut record) = Summary {
        throughput_per_s: Some(41_234.5),
        response_time_us: times(843),
        service_time_us: times(801),
        phases: Some(phases([3.25, 0.0, 790.0, 49.75])),
        outcomes: outcomes(r#"{"ok":412352}"#),
        server_cpu_us_per_request: Some(23.77),
        rss_bytes: Some(14_200_000),
        generator_busy: Some(0.45),
        lateness_us: times(4),
        loop_lag_us: Times::default(),
        ..figures(&mut record).clone()
    };
    record.conclusions.validity = Validity::default();
    record
}

/// The only slice of a run.
pub fn slice(run: &mut StudyRecord) -> &mut SliceRecord {
    &mut run.measured.blocks[0].loads[0].rounds[0].slices[0]
}

/// The only summary of a run.
pub fn figures(run: &mut StudyRecord) -> &mut Summary {
    &mut run.conclusions.summaries[0]
}

/// The record of a run's server process.
pub fn life(run: &mut StudyRecord) -> &mut BlockSubject {
    let mut lives = run.measured.blocks[0].subjects.values_mut();
    lives.next().expect("a run has a server")
}

/// [`run`] at 20,000 requests/s, all of which were sent on time.
pub fn open_run() -> StudyRecord {
    let mut record = run();
    record.measured.loads[0].settings.arrivals = ArrivalSettings {
        kind: ArrivalKind::Constant,
        rate_per_s: Some(20_000.0),
        connections_rest: false,
        text: String::new(),
    };
    slice(&mut record).generator_cpu_ns = 2_182_000_000;
    slice(&mut record).sent = 200_000;
    slice(&mut record).completed = 200_000;
    slice(&mut record).ok = 200_000;
    slice(&mut record).hashed = 3_125;
    slice(&mut record).outcomes = outcomes(r#"{"ok":200000}"#);
    figures(&mut record).offered = Some(Offered {
        planned: 200_000,
        sent: 200_000,
        unsent: 0,
        queued: 0,
        unfinished: 0,
    });
    figures(&mut record).throughput_per_s = Some(19_998.2);
    figures(&mut record).loop_lag_us = times(9);
    record
}

/// [`open_run`] against a server that gives only 15,200 responses per second.
pub fn overloaded_run() -> StudyRecord {
    let mut record = open_run();
    slice(&mut record).generator_cpu_ns = 1_658_320_000;
    slice(&mut record).sent = 152_050;
    slice(&mut record).completed = 152_000;
    slice(&mut record).ok = 152_000;
    slice(&mut record).outcomes = outcomes(r#"{"ok":152000,"unfinished":50}"#);
    figures(&mut record).offered = Some(Offered {
        planned: 200_000,
        sent: 152_050,
        unsent: 47_950,
        queued: 151_900,
        unfinished: 50,
    });
    figures(&mut record).throughput_per_s = Some(15_200.4);
    figures(&mut record).response_time_us = Times {
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
    figures(&mut record).service_time_us.at_least = vec![Figure::Max, Figure::Mean];
    figures(&mut record).phases = Some(phases([1_179_200.0, 0.0, 790.0, 49.75]));
    figures(&mut record).lateness_us = Times {
        p50: Some(1_236_000),
        p90: Some(2_143_000),
        p95: Some(2_264_000),
        p99: Some(2_372_000),
        p99_9: Some(2_391_000),
        max: Some(2_396_000),
        ..Times::default()
    };
    record.conclusions.validity.findings = vec![
        new_finding(
            FindingId::TimesAtLeast,
            "p90, p95, p99, p99.9 of the response times of http://127.0.0.1:8080/small.bin are at \
             least what is shown, and nobody knows how long: 48000 requests had no answer",
        )
        .of_times(),
    ];
    record
}
