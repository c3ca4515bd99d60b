//! Blocks as columns: they read back as written, and wrong columns are refused.

use std::collections::BTreeMap;

use abx_evidence::record::{
    BlockLoad, BlockRecord, CallRecord, Disturbance, Histograms, HostCounters, InUse, LedgerRecord,
    Round, SegmentRecord, SliceRecord, SubjectReadings,
};
use abx_evidence::{
    ConnectionOpening, Course, Held, Outcome, Outcomes, PhaseSplit, PhaseSums, Phases, Tally,
    Timestamps,
};
use abx_ledger::{Ledger, Waits};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::json;

// Strategies are boxed: unboxed, the strategies of so many fields do not fit on a stack.

/// Any counter. Most are zero, so that some columns contain only zeros.
fn counter() -> impl Strategy<Value = u64> {
    prop_oneof![4 => Just(0), 1 => 1_u64..100, 1 => any::<u64>()]
}

fn reading() -> impl Strategy<Value = Option<u64>> {
    option::of(counter())
}

fn outcomes() -> BoxedStrategy<Outcomes> {
    vec(0_usize..Outcome::ALL.len(), 0..6)
        .prop_map(|indices| {
            let mut outcomes = Outcomes::default();
            for index in indices {
                outcomes.add(Outcome::ALL[index]);
            }
            outcomes
        })
        .boxed()
}

fn phase_sums() -> BoxedStrategy<PhaseSums> {
    prop::array::uniform5(counter())
        .prop_map(|counts| PhaseSums {
            requests: counts[0],
            waiting_ns: counts[1],
            connect_ns: counts[2],
            first_byte_ns: counts[3],
            body_ns: counts[4],
        })
        .boxed()
}

fn slice() -> BoxedStrategy<SliceRecord> {
    let numbers = prop::array::uniform23(counter());
    let readings = prop::array::uniform10(reading());
    let named = ("[a-c]", outcomes(), outcomes(), phase_sums(), any::<bool>());
    let services = (vec(reading(), 0..3), vec(reading(), 0..3));
    (numbers, readings, named, services)
        .prop_map(|(numbers, readings, named, services)| {
            let (subject, outcomes, discarded, phases, stopped_responding) = named;
            SliceRecord {
                subject,
                measured_ns: numbers[0],
                wall_ns: numbers[1],
                connection_ns: numbers[2],
                clocks: readings[6],
                clocked: numbers[22],
                sent: numbers[3],
                completed: numbers[4],
                ok: numbers[5],
                outcomes,
                discarded,
                unsent: numbers[6],
                queued: numbers[7],
                lost: numbers[8],
                out_of_order: numbers[9],
                bytes: numbers[10],
                body_bytes: numbers[11],
                connects: numbers[12],
                resumed: readings[2],
                closing: numbers[20],
                reopened: numbers[13],
                hashed: numbers[14],
                silent: numbers[15],
                response_ns_sum: numbers[16],
                phases,
                server_cpu_ns: readings[0],
                server_switches: readings[1],
                server_user_ns: readings[7],
                server_system_ns: readings[8],
                server_page_faults: readings[9],
                others_cpu_ns: readings[2],
                services_cpu_ns: services.0,
                services_thread_ns: services.1,
                generator_cpu_ns: numbers[17],
                waiting_awake_ns: numbers[21],
                busiest_worker_ns: numbers[18],
                generator_wait_ns: readings[3],
                paused_ns: numbers[18],
                steal_ns: readings[4],
                generator_steal_ns: readings[5],
                busy_ns: readings[6],
                window_ns: numbers[19],
                stopped_responding,
            }
        })
        .boxed()
}

fn round() -> BoxedStrategy<Round> {
    let disturbed = prop::sample::subsequence(Disturbance::ALL.to_vec(), 0..=3);
    (disturbed, vec(slice(), 0..4))
        .prop_map(|(disturbed, slices)| Round { disturbed, slices })
        .boxed()
}

fn host_counters() -> BoxedStrategy<HostCounters> {
    (counter(), prop::array::uniform14(reading()))
        .prop_map(|(over_us, counts)| HostCounters {
            over_us,
            listen_drops: counts[0],
            half_open_drops: counts[1],
            backlog_drops: counts[2],
            receive_queue_drops: counts[3],
            timeouts: counts[4],
            syn_retransmits: counts[5],
            retransmits: counts[6],
            packets_dropped: counts[7],
            squeezes: counts[8],
            cpu_pressure_us: counts[9],
            memory_pressure_us: counts[10],
            io_pressure_us: counts[11],
            throttled: counts[12],
            throttled_us: counts[13],
        })
        .boxed()
}

fn in_use() -> BoxedStrategy<Option<InUse>> {
    option::of((counter(), reading()).prop_map(|(count, limit)| InUse { count, limit })).boxed()
}

fn held() -> BoxedStrategy<Held> {
    let numbers = prop::array::uniform4(counter());
    (numbers, reading(), reading())
        .prop_map(|(numbers, before, after)| Held {
            asked: numbers[0],
            standing: numbers[1],
            lost: numbers[2],
            open_ns: numbers[3],
            memory_before_bytes: before,
            memory_after_bytes: after,
        })
        .boxed()
}

fn opening() -> BoxedStrategy<ConnectionOpening> {
    let numbers = prop::array::uniform3(counter());
    (numbers, outcomes())
        .prop_map(|([asked, standing, open_ns], failures)| ConnectionOpening {
            asked,
            standing,
            open_ns,
            failures,
        })
        .boxed()
}

fn readings() -> BoxedStrategy<SubjectReadings> {
    let plain = (counter(), prop::array::uniform5(reading()));
    let rows = (
        option::of(slice()),
        option::of(host_counters()),
        option::of(held()),
        option::of(opening()),
    );
    (plain, rows, prop::array::uniform4(in_use()))
        .prop_map(|(plain, rows, in_use)| {
            let (not_connected, readings) = plain;
            let (warm_up, strain, held, opening) = rows;
            SubjectReadings {
                warm_up,
                busiest_thread_ns: readings[0],
                listen_overflows: readings[1],
                own_listen_drops: readings[4],
                not_connected,
                opening,
                strain,
                pss_bytes: readings[2],
                pss_anon_bytes: readings[3],
                descriptors: in_use[0],
                generator_descriptors: in_use[1],
                time_wait: in_use[2],
                held,
                resident_pages: in_use[3],
            }
        })
        .boxed()
}

/// Histograms of requests with random times of waiting and of their bodies.
fn histograms() -> BoxedStrategy<Histograms> {
    vec((0_u64..1 << 44, 0_u64..1 << 30), 0..5)
        .prop_map(|times| {
            let mut tally = Tally::default();
            let mut phases = Phases::default();
            for (waited_ns, body_ns) in times {
                tally.times.response.record_ns(waited_ns);
                tally.times.first_listener.record_ns(body_ns);
                tally.times.handshake.record_ns(waited_ns / 3);
                phases.record(&PhaseSplit::of(&Timestamps {
                    intended_ns: 0,
                    connect_ns: None,
                    turn_ns: waited_ns,
                    first_byte_ns: waited_ns,
                    done_ns: waited_ns + body_ns,
                }));
            }
            Histograms {
                phases,
                ..tally.times
            }
        })
        .boxed()
}

/// A course of intervals with and without responses.
fn course() -> BoxedStrategy<Course> {
    vec((0_u64..1 << 40, option::of(1_u64..1 << 30)), 0..4)
        .prop_map(|intervals| {
            let (ok, p50_us): (Vec<u64>, Vec<Option<u64>>) = intervals.into_iter().unzip();
            Course {
                interval_ns: 100_000_000,
                until_ns: ok.len() as u64 * 100_000_000,
                failed: ok.iter().map(|count| count / 2).collect(),
                p90_us: p50_us.clone(),
                p99_us: p50_us.clone(),
                max_us: p50_us.clone(),
                ok,
                p50_us,
            }
        })
        .boxed()
}

/// As many calls and waits as the ledger has samples.
fn calls(ledger: &Ledger, completed: u64, ns: u64) -> CallRecord {
    let mut waits = Waits::default();
    let mut by_name = BTreeMap::new();
    for (line, count) in &ledger.lines {
        waits.add(line.clone(), ns);
        by_name.insert(line.to_string(), *count);
    }
    CallRecord {
        counted_ns: ns,
        completed,
        failure: None,
        by_name,
        missed: 1,
        waits: Some(waits),
    }
}

fn ledger() -> BoxedStrategy<LedgerRecord> {
    let line = prop_oneof![
        "system call [a-z]{1,4}",
        "user [a-z]{1,4}",
        Just("page faults".to_owned())
    ];
    let stacks = vec((line, vec("[a-c]{1,2}", 0..3), 1_u64..9), 0..4);
    (stacks, reading(), counter())
        .prop_map(|(stacks, server_cpu_ns, completed)| {
            let mut ledger = Ledger::default();
            for (line, frames, samples) in stacks {
                let line = line.parse().expect("a line of a ledger");
                ledger.add(&line, frames.iter().map(String::as_str), samples);
            }
            LedgerRecord {
                sampled_ns: 7,
                samples_per_s: 9,
                completed,
                server_cpu_ns,
                server_user_ns: server_cpu_ns,
                server_system_ns: None,
                threads: server_cpu_ns,
                segments: server_cpu_ns.map(|received| SegmentRecord {
                    received,
                    bytes: completed,
                    opened: 3,
                }),
                calls: server_cpu_ns.map(|ns| calls(&ledger, completed, ns)),
                failure: server_cpu_ns.map(|_| "forbidden".to_owned()),
                services: server_cpu_ns.map(|_| ledger.clone()),
                ledger,
            }
        })
        .boxed()
}

fn load() -> BoxedStrategy<BlockLoad> {
    let times = btree_map("[a-c]", histograms(), 0..3);
    let sides = btree_map("[a-c]", readings(), 0..3);
    let courses = btree_map("[a-c]", course(), 0..2);
    let ledgers = btree_map("[a-c]", ledger(), 0..2);
    (vec(round(), 0..4), times, courses, ledgers, sides)
        .prop_map(|(rounds, histograms, courses, ledgers, sides)| BlockLoad {
            load: "small".to_owned(),
            rounds,
            histograms,
            courses,
            ledgers,
            sides,
        })
        .boxed()
}

fn block(loads: Vec<BlockLoad>) -> BlockRecord {
    BlockRecord {
        index: 3,
        seed: 7,
        complete: true,
        order: vec!["a".to_owned()],
        subjects: BTreeMap::new(),
        services: BTreeMap::new(),
        loads,
        faults: Vec::new(),
        missing_agents: Vec::new(),
        canaries: Vec::new(),
        other_programs: Vec::new(),
    }
}

/// A block of two rounds of one slice each.
fn two_slices() -> BlockRecord {
    let slice = |measured_ns| SliceRecord {
        measured_ns,
        busy_ns: Some(0),
        ..SliceRecord::of("a", &abx_evidence::SliceTally::default())
    };
    let rounds = [5, 6].map(|measured_ns| Round {
        disturbed: Vec::new(),
        slices: vec![slice(measured_ns)],
    });
    let load = BlockLoad {
        load: "small".to_owned(),
        rounds: rounds.to_vec(),
        histograms: BTreeMap::new(),
        courses: BTreeMap::new(),
        ledgers: BTreeMap::new(),
        sides: BTreeMap::from([("a".to_owned(), SubjectReadings::default())]),
    };
    block(vec![load])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_block_survives_a_round_trip_through_json(loads in vec(load(), 0..3)) {
        // Method: random blocks, written and read.
        let block = block(loads);
        let text = serde_json::to_string(&block).unwrap();
        prop_assert_eq!(serde_json::from_str::<BlockRecord>(&text).unwrap(), block);
    }
}

#[test]
fn empty_columns_are_left_out_and_unknown_ones_ignored() {
    // Method: the columns as written; then read with an additional column.
    let mut json = serde_json::to_value(two_slices()).unwrap();
    let slices = &mut json["loads"][0]["slices"];
    let expected = json!({
        "subject": { "names": ["a"], "rows": [0, 0] },
        "measured_ns": [5, 6],
        // Known to be zero, which is not the same as unknown.
        "busy_ns": [0, 0],
    });
    assert_eq!(*slices, expected);
    slices["from_tomorrow_ns"] = json!([1]);
    let read: BlockRecord = serde_json::from_value(json).unwrap();
    assert_eq!(read, two_slices());
}

#[test]
fn a_column_that_does_not_fit_its_rows_is_refused_by_name() {
    // Method: one wrong column at a time; the message names the column and the reason.
    let cases = [
        (
            "/slices/measured_ns",
            json!([5]),
            "slices.measured_ns`: 1 values for 2 rows",
        ),
        (
            "/slices/outcomes",
            json!({ "ok": [1, 2, 3] }),
            "slices.outcomes.ok`: 3 values for 2 rows",
        ),
        (
            "/slices/outcomes",
            json!({ "fine": [1, 2] }),
            "slices.outcomes`: unknown outcome `fine`",
        ),
        (
            "/slices/subject/rows",
            json!([0, 1]),
            "slices.subject`: name 1 of 1 names",
        ),
        (
            "/rounds/slices",
            json!([1, u64::MAX]),
            "rounds.slices`: it has more than 1000000 slices",
        ),
        (
            "/rounds/slices",
            json!([1, 2]),
            "slices.subject`: 2 values for 3 rows",
        ),
        (
            "/rounds/disturbed",
            json!([["steal"]]),
            "rounds.disturbed`: 1 values for 2 rows",
        ),
        (
            "/sides/readings/held",
            json!({ "rows": [1], "values": {} }),
            "sides.readings.held`: its rows are not rising numbers below 1",
        ),
    ];
    for (path, value, reason) in cases {
        let mut json = serde_json::to_value(two_slices()).unwrap();
        let load = &mut json["loads"][0];
        let (outer, key) = path.rsplit_once('/').unwrap();
        load.pointer_mut(outer).unwrap()[key] = value;
        let error = serde_json::from_value::<BlockRecord>(json).unwrap_err();
        let message = format!("block 3, load `small`, column `{reason}");
        assert!(error.to_string().contains(&message), "{error}\n{message}");
    }
}
