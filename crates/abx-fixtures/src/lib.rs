//! Studies with made-up figures, for the tests of other crates. [`study`] returns one without
//! faults; each test changes the part that it checks.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::ops::Deref;

use abx_evidence::record::{
    BlockLoad, BlockRecord, BlockService, BlockSubject, CEILING, Calibration, Histograms,
    HostCounters, InUse, Interleave, ListenerRecord, LoadRecord, LoadSettings, Machine,
    PilotRecord, PilotSubject, RequestSettings, ResponseRecord, Restarted, Round, ServiceRecord,
    Settings, Settled, SettledReason, SliceRecord, StudyEnd, SubjectReadings, SubjectRecord,
};
use abx_evidence::{
    Finding, FindingId, Histogram, Level, LoadOptions, Measured, Outcome, Outcomes, SliceTally,
    Waiting,
};
use abx_verdict::{Comparison, Conclusions, judge};

/// A millisecond, in nanoseconds.
pub const MS: u64 = 1_000_000;
/// The connections of each load.
pub const CONNECTIONS: u32 = 10;
/// The length of a slice; [`COUNTED_NS`] of it count.
pub const SLICE_NS: u64 = 100 * MS;
/// The counted part of a slice.
pub const COUNTED_NS: u64 = 90 * MS;
/// The rounds of a block.
pub const ROUNDS: usize = 2;
/// Verified responses in each slice of the baseline in [`pair`]: 100,000 per second.
pub const OK: u64 = 9_000;

/// A study under the load `small`. Each subject has a name and, for each block, the verified
/// responses of a slice. The first subject is the baseline.
pub fn study(subjects: &[(&str, &[u64])]) -> Measured {
    let blocks = subjects[0].1.len();
    Measured {
        abx_version: "0.1.0".to_owned(),
        command: vec!["abx".to_owned(), "compare".to_owned()],
        study: None,
        label: None,
        started_unix_ms: 1_750_000_000_000,
        elapsed_s: 38.2,
        seed: 42,
        settings: Settings {
            baseline: subjects[0].0.to_owned(),
            contrasts: Vec::new(),
            aa: false,
            margin: 0.03,
            budget_s: 120.0,
            blocks: Some(blocks as u32),
            threads: 1,
            subject_cpus: vec![0],
            generator_cpus: vec![1],
            waiting: Waiting::default(),
        },
        machine: Machine::default(),
        subjects: subjects.iter().map(|(name, _)| subject(name)).collect(),
        services: Vec::new(),
        skipped: Vec::new(),
        loads: vec![load("small", subjects)],
        faults: Vec::new(),
        fleet: None,
        identity: None,
        continuations: Vec::new(),
        end: StudyEnd::Precision,
        blocks: (0..blocks).map(|index| block(index, subjects)).collect(),
    }
}

/// `new` compared with `old` in six blocks, 1.1 times as fast: a study without findings. The
/// number of blocks was set in advance, as in all of these studies.
pub fn pair() -> Measured {
    let tenth_more = [9_900, 9_910, 9_890, 9_900, 9_905, 9_895];
    study(&[("old", &[OK; 6]), ("new", &tenth_more)])
}

/// Adds a ceiling to one round of each block: `factor` times twice the usual responses.
#[must_use]
pub fn with_ceiling(mut record: Measured, factor: f64) -> Measured {
    let ok = (2.0 * factor * OK as f64).round() as u64;
    for part in record.blocks.iter_mut().flat_map(|block| &mut block.loads) {
        let slices = &mut part.rounds[0].slices;
        let mut ceiling = slices[0].clone();
        ceiling.subject = CEILING.to_owned();
        response(&mut ceiling, &[(Outcome::Ok, ok)]);
        slices.push(ceiling);
    }
    record
}

/// Adds a service of this name that did no work.
#[must_use]
pub fn serve(mut record: Measured, service: &str) -> Measured {
    record.services.push(ServiceRecord {
        name: service.to_owned(),
        command: vec![service.to_owned()],
        restart: Restarted::Study,
    });
    for block in &mut record.blocks {
        let life = BlockService {
            port: 20_001,
            started: false,
            ready_s: Some(0.5),
            seed_s: None,
            cpu_s: Some(0.2),
            rss_bytes_max: Some(50_000_000),
            died: None,
        };
        block.services.insert(service.to_owned(), life);
    }
    for slice in all_slices(&mut record) {
        slice.services_cpu_ns.push(Some(0));
        slice.services_thread_ns.push(Some(0));
    }
    record
}

/// Repeats the last block: six blocks become the seven that the stop rule looks at first.
pub fn longer(mut record: Measured) -> Measured {
    let mut last = record.blocks.last().expect("a block").clone();
    last.index += 1;
    record.blocks.push(last);
    record
}

/// Settles a subject under the first load after `blocks` blocks; later blocks lack it.
pub fn leave_after(record: &mut Measured, subject: &str, blocks: u32) {
    record.loads[0].settled.push(Settled {
        subject: Some(subject.to_owned()),
        blocks,
        reason: SettledReason::Precision,
    });
    for block in &mut record.blocks[blocks as usize..] {
        block.subjects.remove(subject);
        let part = &mut block.loads[0];
        for round in &mut part.rounds {
            round.slices.retain(|slice| slice.subject != subject);
        }
        part.histograms.remove(subject);
        part.sides.remove(subject);
    }
}

/// [`pair`] with a second load, `large`, that equals the first.
pub fn two_loads() -> Measured {
    let mut record = pair();
    let mut large = record.loads[0].clone();
    large.name = "large".to_owned();
    record.loads.push(large);
    for block in &mut record.blocks {
        let mut large = block.loads[0].clone();
        large.load = "large".to_owned();
        block.loads.push(large);
    }
    record
}

/// The server of [`run`].
pub const URL: &str = "http://127.0.0.1:8080/small.bin";
/// The duration of [`run`].
pub const RUN_NS: u64 = 10_000 * MS;

/// A run of 10 s against one server, which was the limit and responded to every request.
pub fn run() -> Measured {
    let mut record = study(&[(URL, &[10_000])]);
    record.command = ["abx", "run", URL].map(str::to_owned).to_vec();
    record.settings.blocks = Some(1);
    record.end = StudyEnd::Blocks;
    record.subjects[0].command.clear();
    record.subjects[0].address = Some(URL.to_owned());
    *pilot(&mut record) = PilotRecord {
        interleave: Interleave::Trials,
        slice_ns: RUN_NS,
        discard_ns: 0,
        rounds: 1,
        warm_up_ns: 0,
        subjects: BTreeMap::new(),
        ..pilot(&mut record).clone()
    };
    parts(&mut record).for_each(|part| part.rounds.truncate(1));
    each_slice(&mut record, URL, |slice| {
        slice.hashed = 157;
        slice.wall_ns = RUN_NS;
        slice.window_ns = RUN_NS;
        slice.measured_ns = RUN_NS;
        slice.connection_ns = u64::from(CONNECTIONS) * RUN_NS;
        slice.response_ns_sum = slice.connection_ns;
        slice.server_cpu_ns = Some(RUN_NS / 100 * 98);
        slice.generator_cpu_ns = RUN_NS / 2;
        slice.busiest_worker_ns = RUN_NS / 2;
        slice.busy_ns = Some(RUN_NS / 100 * 148);
    });
    for side in sides(&mut record, URL) {
        side.busiest_thread_ns = Some(RUN_NS / 100 * 98);
        side.strain = Some(HostCounters {
            over_us: RUN_NS / 1_000,
            ..HostCounters::none()
        });
    }
    for life in record.blocks[0].subjects.values_mut() {
        life.ready_s = None;
        life.end = "left running".to_owned();
        life.listener = Some(ListenerRecord {
            process_id: 1,
            name: "nginx".to_owned(),
        });
    }
    record
}

/// The histograms of one subject in the first block.
pub fn times<'a>(record: &'a mut Measured, subject: &str) -> &'a mut Histograms {
    let histograms = &mut record.blocks[0].loads[0].histograms;
    histograms.entry(subject.to_owned()).or_default()
}

/// A histogram from pairs of a number of requests and their time in µs.
pub fn histogram(counts: &[(u64, u64)]) -> Histogram {
    let mut histogram = Histogram::new();
    for (count, us) in counts {
        (0..*count).for_each(|_| histogram.record_ns(us * 1_000));
    }
    histogram
}

fn subject(name: &str) -> SubjectRecord {
    SubjectRecord {
        name: name.to_owned(),
        command: vec![name.to_owned()],
        address: None,
        connected_to: None,
        version: None,
        stand_in_for: None,
        http2: false,
        revision: None,
    }
}

fn load(name: &str, subjects: &[(&str, &[u64])]) -> LoadRecord {
    let pilot_subject = PilotSubject {
        throughput_per_s: 100_000.0,
        warm_up_ns: 200 * MS,
        settled: true,
        background_cpu: Some(0.0),
        ..PilotSubject::default()
    };
    let response = ResponseRecord {
        status: 200,
        body_bytes: 1_320,
        sha256: Some("00".to_owned()),
        tls: None,
    };
    let names = subjects.iter().map(|(name, _)| (*name).to_owned());
    let responses = names.clone().map(|name| (name, vec![response.clone()]));
    LoadRecord {
        name: name.to_owned(),
        settings: LoadSettings {
            options: LoadOptions {
                connections: CONNECTIONS,
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
        responses: responses.collect(),
        settled: Vec::new(),
        pilot: Some(PilotRecord {
            interleave: Interleave::Slices,
            interleave_reason: None,
            slice_ns: SLICE_NS,
            slice_requests: None,
            discard_ns: SLICE_NS - COUNTED_NS,
            slice_reason: None,
            shortened: false,
            rounds: ROUNDS as u32,
            warm_up_ns: 300 * MS,
            subjects: names.map(|name| (name, pilot_subject.clone())).collect(),
        }),
    }
}

fn block(index: usize, subjects: &[(&str, &[u64])]) -> BlockRecord {
    let names = || subjects.iter().map(|(name, _)| (*name).to_owned());
    let life = BlockSubject {
        port: 20_000,
        ready_s: Some(0.12),
        cpu_s: Some(0.3),
        rss_bytes_max: Some(14_200_000),
        end: "stopped".to_owned(),
        died: false,
        failed_start: None,
        listener: None,
    };
    let readings = SubjectReadings {
        warm_up: None,
        busiest_thread_ns: Some(98 * MS * ROUNDS as u64),
        listen_overflows: Some(0),
        own_listen_drops: None,
        not_connected: 0,
        opening: None,
        strain: Some(HostCounters {
            over_us: ROUNDS as u64 * SLICE_NS / 1_000,
            ..HostCounters::none()
        }),
        pss_bytes: Some(3_000_000),
        pss_anon_bytes: Some(1_000_000),
        descriptors: Some(of_limit(20, 1_024)),
        generator_descriptors: Some(of_limit(30, 20_000)),
        time_wait: Some(of_limit(0, 28_232)),
        held: None,
        resident_pages: None,
    };
    let calibration = |cpu| Calibration {
        cpu,
        before_ns: Some(MS),
        after_ns: Some(MS),
        heat_throttles: Some(0),
    };
    let round = Round {
        disturbed: Vec::new(),
        slices: subjects
            .iter()
            .map(|(name, responses)| slice(name, responses[index]))
            .collect(),
    };
    BlockRecord {
        index: index as u32,
        seed: 7,
        complete: true,
        order: names().collect(),
        subjects: names().map(|name| (name, life.clone())).collect(),
        services: BTreeMap::new(),
        loads: vec![BlockLoad {
            load: "small".to_owned(),
            rounds: vec![round; ROUNDS],
            histograms: BTreeMap::new(),
            courses: BTreeMap::new(),
            ledgers: BTreeMap::new(),
            sides: names().map(|name| (name, readings.clone())).collect(),
        }],
        faults: Vec::new(),
        missing_agents: Vec::new(),
        canaries: vec![calibration(0), calibration(1)],
        other_programs: Vec::new(),
    }
}

/// `count` in use, of a limit.
pub fn of_limit(count: u64, limit: u64) -> InUse {
    InUse {
        count,
        limit: Some(limit),
    }
}

/// A slice in which the subject was the limit and nothing else ran.
fn slice(subject: &str, ok: u64) -> SliceRecord {
    let mut slice = SliceRecord::of(subject, &SliceTally::default());
    response(&mut slice, &[(Outcome::Ok, ok)]);
    slice.wall_ns = SLICE_NS;
    slice.window_ns = SLICE_NS;
    slice.measured_ns = COUNTED_NS;
    slice.connection_ns = u64::from(CONNECTIONS) * COUNTED_NS;
    slice.response_ns_sum = u64::from(CONNECTIONS) * COUNTED_NS;
    slice.hashed = 100;
    slice.server_cpu_ns = Some(98 * MS);
    slice.server_switches = Some(2 * ok);
    slice.others_cpu_ns = Some(0);
    slice.generator_cpu_ns = 50 * MS;
    slice.busiest_worker_ns = 50 * MS;
    slice.generator_wait_ns = Some(0);
    slice.steal_ns = Some(0);
    slice.busy_ns = Some(148 * MS);
    slice
}

/// Sets the outcomes of a slice, and the counts that follow from them.
pub fn response(slice: &mut SliceRecord, counts: &[(Outcome, u64)]) {
    slice.outcomes = outcomes(counts);
    slice.sent = slice.outcomes.sent();
    slice.completed = slice.outcomes.completed();
    slice.ok = slice.outcomes.ok();
    slice.clocked = slice.ok;
}

/// The counters of these outcomes.
pub fn outcomes(counts: &[(Outcome, u64)]) -> Outcomes {
    let by_name: BTreeMap<&str, u64> = counts
        .iter()
        .map(|(outcome, count)| (outcome.name(), *count))
        .collect();
    let json = serde_json::to_string(&by_name).expect("names and numbers are JSON");
    serde_json::from_str(&json).expect("the names are those of outcomes")
}

/// Changes every slice of one subject.
pub fn each_slice(record: &mut Measured, subject: &str, mut change: impl FnMut(&mut SliceRecord)) {
    all_slices(record)
        .filter(|slice| slice.subject == subject)
        .for_each(&mut change);
}

/// Every slice of every subject.
pub fn all_slices(record: &mut Measured) -> impl Iterator<Item = &mut SliceRecord> {
    rounds(record).flat_map(|round| &mut round.slices)
}

/// Every round of every load and block.
pub fn rounds(record: &mut Measured) -> impl Iterator<Item = &mut Round> {
    parts(record).flat_map(|part| &mut part.rounds)
}

/// The readings of one subject for every load and block.
pub fn sides<'a>(
    record: &'a mut Measured,
    subject: &'a str,
) -> impl Iterator<Item = &'a mut SubjectReadings> {
    parts(record).filter_map(move |part| part.sides.get_mut(subject))
}

fn parts(record: &mut Measured) -> impl Iterator<Item = &mut BlockLoad> {
    record.blocks.iter_mut().flat_map(|block| &mut block.loads)
}

/// The checked response of one subject before the first load.
pub fn responded<'a>(record: &'a mut Measured, subject: &str) -> &'a mut ResponseRecord {
    let responses = record.loads[0].responses.get_mut(subject);
    &mut responses.expect("every subject has a response")[0]
}

/// The pilot of the first load.
pub fn pilot(record: &mut Measured) -> &mut PilotRecord {
    let pilot = &mut record.loads[0].pilot;
    pilot.as_mut().expect("every load has a pilot")
}

/// The conclusions of a study.
pub fn judged(study: Measured) -> Conclusions {
    judge(&study)
}

/// A comparison with the findings that limit it.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    pub comparison: Comparison,
    pub findings: Vec<Finding>,
}

impl Deref for Compared {
    type Target = Comparison;

    fn deref(&self) -> &Comparison {
        &self.comparison
    }
}

impl Compared {
    /// A comparison with its findings in this record.
    pub fn of(record: &Conclusions, comparison: &Comparison) -> Compared {
        Compared {
            comparison: comparison.clone(),
            findings: comparison.limits(&record.validity).cloned().collect(),
        }
    }
}

/// The findings with these numbers.
pub fn limits(record: &Conclusions, numbers: &[usize]) -> Vec<Finding> {
    record.validity.numbered(numbers).cloned().collect()
}

/// The only primary comparison of a study.
pub fn compared(record: Measured) -> Compared {
    let mut comparisons = primary(&judged(record));
    assert_eq!(comparisons.len(), 1);
    comparisons.remove(0)
}

/// The primary comparisons of a study.
pub fn primary(record: &Conclusions) -> Vec<Compared> {
    record
        .primary()
        .map(|comparison| Compared::of(record, comparison))
        .collect()
}

/// The ids and levels of findings, in their order.
pub fn ids(findings: &[Finding]) -> Vec<(FindingId, Level)> {
    findings
        .iter()
        .map(|finding| (finding.id.clone(), finding.level))
        .collect()
}

/// The first finding with this id.
pub fn find(findings: &[Finding], id: impl Borrow<FindingId>) -> Option<&Finding> {
    findings.iter().find(|finding| finding.id == *id.borrow())
}

/// Fails if the values differ by more than a billionth.
pub fn assert_close(result: f64, expected: f64) {
    assert!(
        (result - expected).abs() <= 1e-9 * expected.abs(),
        "{result} is not {expected}"
    );
}
