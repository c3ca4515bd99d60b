//! A single run: its findings, which are those of a study, and the keys read from its
//! measurements.

use abx_evidence::record::{STUDY_SCHEMA, SliceRecord, StudyEnd};
use abx_evidence::{ArrivalKind, Course, Finding, FindingId, Level, Measured, Outcome};
use abx_fixtures::{
    CONNECTIONS, RUN_NS, URL, all_slices, find, histogram, ids, pair, pilot, responded, response,
    run, sides, times,
};
use abx_verdict::{RUN_SCHEMA, StudyRecord};
use serde_json::{Value, json};

/// The only slice.
pub fn slice(record: &mut Measured) -> &mut SliceRecord {
    all_slices(record).next().expect("a run has a slice")
}

/// Gives the server's processes this share of one processor, all by one thread.
pub fn server_busy(record: &mut Measured, share: f64) {
    let used_ns = (share * RUN_NS as f64) as u64;
    slice(record).server_cpu_ns = Some(used_ns);
    sides(record, URL).for_each(|side| side.busiest_thread_ns = Some(used_ns));
    nothing_else_ran(record);
}

/// Gives the generator's busiest worker this share of its processor.
pub fn generator_busy(record: &mut Measured, share: f64) {
    slice(record).busiest_worker_ns = (share * RUN_NS as f64) as u64;
    slice(record).generator_cpu_ns = slice(record).busiest_worker_ns;
    nothing_else_ran(record);
}

fn nothing_else_ran(record: &mut Measured) {
    let slice = slice(record);
    let server_ns = slice.server_cpu_ns.unwrap_or_default();
    slice.busy_ns = Some(server_ns + slice.generator_cpu_ns);
}

/// Makes everything about the server unreadable, as if it were on another machine.
fn unseen(record: &mut Measured) {
    slice(record).server_cpu_ns = None;
    slice(record).server_switches = None;
    for side in sides(record, URL) {
        side.busiest_thread_ns = None;
        side.descriptors = None;
        side.pss_bytes = None;
        side.pss_anon_bytes = None;
    }
    for life in record.blocks[0].subjects.values_mut() {
        life.cpu_s = None;
        life.rss_bytes_max = None;
        life.listener = None;
    }
}

fn judged(record: Measured) -> StudyRecord {
    let record = StudyRecord::judged(record);
    assert!(record.run().is_some(), "it is a run");
    record
}

fn findings_after(change: impl FnOnce(&mut Measured)) -> Vec<Finding> {
    let mut record = run();
    change(&mut record);
    judged(record).conclusions.validity.findings
}

#[test]
fn a_sound_run_has_no_findings() {
    // Method: the record that all other tests change.
    assert_eq!(findings_after(|_| ()), []);
}

#[test]
fn failed_requests_are_noted_and_void_above_one_in_a_thousand() {
    // Method: 10 and 11 resets in 10,000, and one wrong body of 157 hashed bodies.
    let table = [
        (Outcome::Reset, 10, Level::Note),
        (Outcome::Reset, 11, Level::Void),
        (Outcome::WrongBody, 1, Level::Void),
    ];
    for (kind, count, level) in table {
        let counts = [(Outcome::Ok, 10_000 - count), (kind, count)];
        let findings = findings_after(|record| response(slice(record), &counts));
        assert_eq!(ids(&findings), [(FindingId::FailedRequests, level)]);
        let figures = format!("{count} of 10000 requests to http://127.0.0.1:8080/small.bin");
        assert!(findings[0].message.contains(&figures), "{findings:?}");
    }
}

#[test]
fn each_circumstance_of_a_run_has_its_finding() {
    // Method: one change to a run without findings leads to one finding.
    type Case = (FindingId, Level, fn(&mut Measured));
    let cases: [Case; 6] = [
        (FindingId::GeneratorExhausted, Level::Void, |record| {
            response(
                slice(record),
                &[(Outcome::Ok, 10_000), (Outcome::NoPort, 2)],
            );
        }),
        (FindingId::GeneratorBound, Level::Bound, |record| {
            generator_busy(record, 0.90);
            server_busy(record, 0.94);
        }),
        (FindingId::BodyVaries, Level::Note, |record| {
            responded(record, URL).sha256 = None;
        }),
        (FindingId::NotChecked, Level::Note, unseen),
        (FindingId::Interrupted, Level::Note, |record| {
            record.end = StudyEnd::Interrupted;
        }),
        (FindingId::StoppedResponding, Level::Void, |record| {
            slice(record).stopped_responding = true;
        }),
    ];
    for (id, level, change) in cases {
        let findings = findings_after(change);
        assert_eq!(ids(&findings), [(id.clone(), level)]);
        assert!(!findings[0].remedy.is_empty(), "{id}");
    }
}

#[test]
fn a_busy_generator_limits_only_a_server_with_time_to_spare() {
    // Method: generator at 89 % and at 90 %, server at 94 %, at 95 % and unseen.
    let message = |generator: f64, server: Option<f64>| {
        let findings = findings_after(|record| {
            generator_busy(record, generator);
            match server {
                Some(busy) => server_busy(record, busy),
                None => unseen(record),
            }
        });
        find(&findings, FindingId::GeneratorBound).map(|finding| finding.message.clone())
    };
    assert_eq!(message(0.89, Some(0.94)), None);
    let bound = message(0.90, Some(0.94)).expect("the generator was the limit");
    for part in ["90 %", "at 1000 requests/s: ", "could have done more"] {
        assert!(bound.contains(part), "{part}: {bound}");
    }
    assert!(!bound.contains("lead"), "{bound}");
    assert_eq!(message(1.00, Some(0.95)), None);
    // It is unknown whether an unreadable server had time to spare.
    let unknown = message(0.90, None).expect("the generator was the limit");
    assert!(unknown.contains("is not known"), "{unknown}");
}

#[test]
fn a_busy_thread_of_a_server_on_many_processors_is_its_limit() {
    // Method: eight processors, of which the server uses one, by one thread or by several.
    let is_bound = |busiest_thread: f64| {
        let findings = findings_after(|record| {
            record.settings.subject_cpus = (0..8).collect();
            record.settings.generator_cpus = vec![8];
            generator_busy(record, 0.95);
            let busiest_ns = (busiest_thread * RUN_NS as f64) as u64;
            sides(record, URL).for_each(|side| side.busiest_thread_ns = Some(busiest_ns));
        });
        find(&findings, FindingId::GeneratorBound).is_some()
    };
    assert!(!is_bound(0.96));
    assert!(is_bound(0.50));
}

#[test]
fn a_generator_that_waits_for_its_processor_is_busy() {
    // Method: 80 % work and 9 or 10 % waiting of each second of one thread.
    let is_bound = |waited_ns: u64| {
        let findings = findings_after(|record| {
            generator_busy(record, 0.8);
            server_busy(record, 0.5);
            slice(record).generator_wait_ns = Some(waited_ns);
        });
        find(&findings, FindingId::GeneratorBound).is_some()
    };
    assert!(!is_bound(RUN_NS / 100 * 9));
    assert!(is_bound(RUN_NS / 10));
}

#[test]
fn the_worst_finding_of_a_run_comes_first() {
    // Method: a note that is found before a bound, and a note after it.
    let findings = findings_after(|record| {
        record.end = StudyEnd::Interrupted;
        generator_busy(record, 1.0);
        server_busy(record, 0.5);
        response(slice(record), &[(Outcome::Ok, 10_000), (Outcome::Reset, 1)]);
    });
    let levels: Vec<Level> = findings.iter().map(|finding| finding.level).collect();
    assert_eq!(levels, [Level::Bound, Level::Note, Level::Note]);
}

#[test]
fn findings_that_only_affect_comparisons_do_not_apply_to_a_run() {
    // Method: its only block, a server that was already running, one disturbed round, and a
    // generator on the server's processor lead to no finding.
    let quiet = findings_after(|record| {
        record.settings.subject_cpus = vec![1];
        let round = &mut record.blocks[0].loads[0].rounds[0];
        round.disturbed = vec![abx_evidence::record::Disturbance::Steal];
    });
    assert_eq!(quiet, []);
}

#[test]
fn remedies_of_a_run_name_its_own_flags() {
    // Method: half of the response time is missing, where a comparison should use longer slices.
    let findings = findings_after(|record| slice(record).response_ns_sum /= 2);
    let finding = find(&findings, FindingId::LittleLaw).unwrap();
    assert!(finding.remedy.contains("for longer (`-d`)"), "{finding:?}");
}

#[test]
fn a_run_with_a_number_of_requests_has_no_silent_connections() {
    // Method: most connections had nothing to send; then the same in a run with a duration.
    let mut asked = run();
    slice(&mut asked).silent = 9;
    assert!(
        find(
            &judged(asked.clone()).conclusions.validity.findings,
            FindingId::ConnectionsWithoutResponse
        )
        .is_some()
    );
    pilot(&mut asked).slice_ns = 0;
    pilot(&mut asked).slice_requests = Some(10_000);
    slice(&mut asked).clocks = Some(1);
    let record = judged(asked);
    assert_eq!(record.conclusions.validity.findings, []);
    let run = record.run().unwrap();
    assert_eq!(run.pilot.slice_ns, 0);
    assert_eq!(run.pilot.slice_requests, Some(10_000));
    // The time is that of connections that had requests to send.
    let throughput_per_s = Some(1_000.0 / f64::from(CONNECTIONS));
    assert_eq!(run.summary.throughput_per_s, throughput_per_s);
}

#[test]
fn the_figures_of_a_run_are_read_from_its_measurements() {
    // Method: set figures and read them.
    let mut record = run();
    times(&mut record, URL).response = histogram(&[(99, 100), (1, 900)]);
    let record = judged(record);
    let run = record.run().unwrap();
    assert_eq!(run.url(), URL);
    assert_eq!(run.pilot.slice_ns, RUN_NS);
    assert_eq!(run.summary.throughput_per_s, Some(1_000.0));
    assert_eq!(run.slice.ok, 10_000);
    assert_eq!(run.elapsed_s(), 10.0);
    assert_eq!(run.summary.response_time_us.p50, Some(100));
    assert_eq!(run.summary.response_time_us.max, Some(900));
    assert_eq!(run.generator_busy(), 0.5);
    assert_eq!(run.generator_cpu_us(), Some(500.0));
    let listener = run.life.listener.as_ref().expect("its process is known");
    assert_eq!((listener.process_id, run.server_busy()), (1, Some(0.98)));
    assert_eq!(run.summary.server_cpu_us_per_request, Some(980.0));
    assert_eq!(run.life.rss_bytes_max, Some(14_200_000));
}

#[test]
fn a_saved_run_is_judged_again_from_its_measurements() {
    // Method: change a figure in the file, first in the measurements and then in the conclusions.
    let saved = serde_json::to_value(judged(run())).unwrap();
    assert_eq!(saved["schema"], RUN_SCHEMA);
    assert_eq!(saved["throughput_per_s"], 1_000.0);
    let read = |saved: Value| serde_json::from_value::<StudyRecord>(saved).unwrap();
    assert_eq!(read(saved.clone()), judged(run()));

    let mut failing = saved.clone();
    let slices = &mut failing["blocks"][0]["loads"][0]["slices"];
    slices["outcomes"] = json!({ "ok": [9_000], "reset": [1_000] });
    slices["clocked"] = json!([9_000]);
    let findings = read(failing).conclusions.validity.findings;
    assert_eq!(ids(&findings), [(FindingId::FailedRequests, Level::Void)]);

    let mut painted = saved;
    painted["throughput_per_s"] = json!(1e6);
    painted["validity"]["findings"] = json!([]);
    assert_eq!(read(painted), judged(run()));
}

#[test]
fn a_record_that_is_no_run_is_a_study() {
    // Method: a study of two subjects, of one in many slices, and without a block; and each key
    // of a run removed from its file.
    let mut planned = run();
    pilot(&mut planned).subjects = pilot(&mut pair()).subjects.clone();
    let mut unmeasured = run();
    unmeasured.blocks.clear();
    for record in [pair(), planned, unmeasured] {
        let record = StudyRecord::judged(record);
        assert_eq!(record.run().map(|run| run.url().to_owned()), None);
        assert_eq!(
            serde_json::to_value(record).unwrap()["schema"],
            STUDY_SCHEMA
        );
    }
    let run = serde_json::to_value(judged(run())).unwrap();
    for key in ["settings", "loads", "subjects", "blocks", "machine"] {
        let mut json = run.clone();
        assert!(json.as_object_mut().unwrap().remove(key).is_some(), "{key}");
        let error = serde_json::from_value::<StudyRecord>(json).unwrap_err();
        assert!(error.to_string().contains(key), "{error}");
    }
}

/// Gives a run this course of verified responses and median response times, in intervals of
/// 100 ms.
fn with_course(record: &mut Measured, ok: Vec<u64>, p50_us: Vec<Option<u64>>) {
    let part = &mut record.blocks[0].loads[0];
    let course = Course {
        interval_ns: 100_000_000,
        until_ns: 100_000_000 * ok.len() as u64,
        failed: vec![0; ok.len()],
        ok,
        p50_us,
        ..Course::default()
    };
    part.courses.insert(URL.to_owned(), course);
}

#[test]
fn a_counted_start_that_is_slower_than_the_rest_is_noted() {
    // Method: the first 2 s of 10 s at three quarters of the rest's rate; a faster start; a level
    // course with a ripple; a start too short to change the result by 1 %; and a start of a run
    // that was paused.
    let rates = |start: u64, bins: usize| -> Vec<u64> {
        let level = |bin: usize| if bin < bins { start } else { 2_000 };
        (0..100)
            .map(|bin| level(bin) + bin as u64 * 7 % 11)
            .collect()
    };
    let message = |ok: Vec<u64>, paused_ns: u64| {
        let findings = findings_after(|record| {
            with_course(record, ok, vec![Some(100); 100]);
            slice(record).paused_ns = paused_ns;
        });
        let note = find(&findings, FindingId::WarmUpCounted)?;
        assert!(note.remedy.contains("--warmup 2s"), "{note:?}");
        Some(note.message.clone())
    };
    let slow = message(rates(1_500, 20), 0).expect("it is found");
    let expected = "in the first 2.00 s the throughput was 25 % lower than in the rest, and this \
                    part was counted: without it the throughput is 5.3 % higher";
    assert_eq!(slow, expected);
    assert_eq!(message(rates(2_500, 20), 0), None);
    assert_eq!(message(rates(2_000, 0), 0), None);
    assert_eq!(message(rates(1_900, 5), 0), None);
    assert_eq!(message(rates(1_500, 20), 1_000_000_000), None);
}

#[test]
fn at_a_rate_response_times_show_a_warm_up() {
    // Method: 100 responses in each interval, with a median of 3 ms for 1 s and 1 ms after it;
    // then stages, which change by design.
    let warm_up = |kind: ArrivalKind, rate_per_s: Option<f64>| {
        let findings = findings_after(|record| {
            let median = |bin: u64| Some(if bin < 10 { 3_000 } else { 1_000 + bin % 7 });
            with_course(record, vec![100; 100], (0..100).map(median).collect());
            let arrivals = &mut record.loads[0].settings.arrivals;
            (arrivals.kind, arrivals.rate_per_s) = (kind, rate_per_s);
        });
        find(&findings, FindingId::WarmUpCounted).map(|finding| finding.message.clone())
    };
    let message = warm_up(ArrivalKind::Constant, Some(1_000.0)).expect("it is found");
    assert!(
        message.starts_with("in the first 1.00 s the median response time was 19"),
        "{message}"
    );
    assert_eq!(warm_up(ArrivalKind::Stages, None), None);
}

#[test]
fn quantiles_of_a_few_requests_carry_a_note() {
    // Method: various numbers of requests, and the quantiles that rest on the slowest of them.
    let noted = |requests: u64| {
        let findings = findings_after(|record| {
            response(slice(record), &[(Outcome::Ok, requests)]);
            times(record, URL).response = histogram(&[(requests, 100)]);
        });
        find(&findings, FindingId::FewTimes).map(|finding| finding.message.clone())
    };
    let four = noted(4).expect("it is noted");
    let expected = "the response times from p90 upwards are the slowest of only 4 requests";
    assert_eq!(four, expected);
    for (requests, lowest) in [(99, "from p99 upwards"), (500, "from p99.9 upwards")] {
        let more = noted(requests).expect("it is noted");
        assert!(more.contains(lowest), "{more}");
    }
    assert_eq!(noted(1_000), None);
}
