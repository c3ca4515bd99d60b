//! The parts of CPU ledgers that make one subject costlier than another.

use std::collections::BTreeMap;

use abx_evidence::record::{CallRecord, LedgerRecord, SegmentRecord};
use abx_evidence::{FindingId, Measured, Outcome};
use abx_fixtures::{OK, each_slice, find, pair, serve, study};
use abx_ledger::{Ledger, Line, WaitTime, Waits};
use abx_verdict::{
    Confounder, ConfounderKind, CountDifference, CpuDifference, DEEPER, FLAME_DEPTH_MAX,
    FlameFunction, FlameGraph, LedgerLine, Purpose, flame_graph, flame_graph_of_pair, judge,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The samples of a block, with all samples of a line in one function.
fn ledger(lines: &[(&str, u64)]) -> LedgerRecord {
    let mut ledger = Ledger::default();
    for (line, samples) in lines {
        let line: Line = line.parse().expect("a line of a ledger");
        ledger.add(&line, ["main", "work"], *samples);
    }
    LedgerRecord {
        sampled_ns: 200_000_000,
        samples_per_s: 3_989,
        completed: 1_000,
        server_cpu_ns: Some(100_000_000),
        server_user_ns: Some(60_000_000),
        server_system_ns: Some(40_000_000),
        ledger,
        ..LedgerRecord::default()
    }
}

/// Gives a subject these samples in each block, and `us` of CPU time per response.
fn give(record: &mut Measured, subject: &str, us: u64, lines: &[(&str, u64)]) {
    for block in &mut record.blocks {
        let ledgers = &mut block.loads[0].ledgers;
        ledgers.insert(subject.to_owned(), ledger(lines));
    }
    each_slice(record, subject, |slice| {
        let responses = slice.outcomes.completed() + slice.discarded.completed();
        slice.server_cpu_ns = Some(us * 1_000 * responses);
    });
}

fn difference(record: &Measured) -> CpuDifference {
    let mut differences = judge(record).cpu_differences;
    assert_eq!(differences.len(), 1);
    differences.remove(0)
}

#[test]
fn lines_add_up_to_the_cpu_time_that_slices_counted() {
    // Method: 10 µs and 4 µs per response; a quarter, a half and a quarter of the samples
    // compared with two halves. By hand: of new, 5 µs are in openat, 2.5 in its own code and
    // 2.5 in libc; of old, 2 µs are in its own code and 2 in writev.
    let mut record = pair();
    let lines = [
        ("user new-server", 100),
        ("system call openat", 200),
        ("user libc.so.6", 100),
    ];
    give(&mut record, "new", 10, &lines);
    let lines = [("user old-server", 500), ("system call writev", 500)];
    give(&mut record, "old", 4, &lines);
    let judged = judge(&record);
    for ledger in &judged.cpu_ledgers {
        let sum: f64 = ledger.lines.iter().map(|line| line.us_per_response).sum();
        assert!((sum - ledger.us_per_response).abs() < 1e-9, "{ledger:?}");
        assert!(
            ledger
                .lines
                .iter()
                .all(|line| line.functions[0].name == "work")
        );
    }
    let difference = difference(&record);
    assert_eq!((difference.subject.as_str(), difference.blocks), ("new", 6));
    assert!((difference.difference_us.mean - 6.0).abs() < 1e-9);
    let of = |name: &str| {
        let mut lines = difference.lines.iter();
        let line = lines.find(|line| line.name == name).unwrap();
        (line.cost.us_per_response, line.cost.is_certain())
    };
    assert_eq!(of("system call openat"), ([5.0, 0.0], true));
    assert_eq!(of("own code"), ([2.5, 2.0], true));
    assert_eq!(of("system call writev"), ([0.0, 2.0], true));
    let sums = [
        difference
            .lines
            .iter()
            .map(|line| line.cost.difference_us.mean)
            .sum::<f64>(),
        difference
            .purposes
            .iter()
            .map(|part| part.cost.difference_us.mean)
            .sum(),
    ];
    assert!(sums.iter().all(|sum| (sum - 6.0).abs() < 1e-9), "{sums:?}");
    let first = &difference.purposes[0];
    assert_eq!(
        (first.purpose, &first.lines[..]),
        (Purpose::Files, &["system call openat".to_owned()][..])
    );
}

#[test]
fn equal_servers_have_hardly_any_certain_line() {
    // Method: 200 studies of two servers whose samples are drawn from the same ten shares, in
    // six blocks; at most one line of a hundred may appear to differ.
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let names: Vec<String> = (0..10).map(|n| format!("system call call{n}")).collect();
    let (mut certain, mut total) = (0, 0);
    for _ in 0..200 {
        let mut record = pair();
        for subject in ["old", "new"] {
            give(&mut record, subject, 8, &[("user server", 1)]);
        }
        for block in &mut record.blocks {
            for ledger_record in block.loads[0].ledgers.values_mut() {
                let mut counts = [0; 10];
                for _ in 0..500 {
                    counts[random.random_range(0..10)] += 1;
                }
                let lines: Vec<(&str, u64)> =
                    names.iter().map(String::as_str).zip(counts).collect();
                *ledger_record = ledger(&lines);
            }
        }
        let difference = difference(&record);
        total += difference.lines.len();
        certain += difference
            .lines
            .iter()
            .filter(|line| line.cost.is_certain())
            .count();
    }
    assert_eq!(total, 2_000);
    assert!(
        certain * 100 <= total,
        "{certain} of {total} lines seem to differ"
    );
}

#[test]
fn differences_of_responses_are_reported_before_their_cost() {
    // Method: 30 bytes more of headers and a connection for every tenth response, then
    // differences too small to matter, with connections that were opened between slices. At last,
    // half of the responses of one side fail.
    let mut record = pair();
    for subject in ["old", "new"] {
        give(&mut record, subject, 8, &[("user server", 100)]);
    }
    let bytes = |record: &mut Measured, subject: &str, header: u64, every: u64| {
        each_slice(record, subject, |slice| {
            let responses = slice.outcomes.completed();
            slice.body_bytes = 87 * responses;
            slice.bytes = (87 + header) * responses;
            slice.connects = responses / every;
        });
    };
    bytes(&mut record, "old", 150, 100_000);
    bytes(&mut record, "new", 180, 10);
    let kinds: Vec<ConfounderKind> = difference(&record)
        .confounders
        .iter()
        .map(|confounder| confounder.what)
        .collect();
    assert_eq!(
        kinds,
        [ConfounderKind::HeaderBytes, ConfounderKind::Connections]
    );
    bytes(&mut record, "new", 154, 100_000);
    each_slice(&mut record, "new", |slice| slice.reopened = 50);
    assert!(difference(&record).confounders.is_empty());
    each_slice(&mut record, "new", |slice| {
        let ok = slice.outcomes.ok();
        (0..ok).for_each(|_| slice.outcomes.add(Outcome::WrongStatus));
    });
    let confounders = difference(&record).confounders;
    let failures = Confounder {
        what: ConfounderKind::Failures,
        per_response: [0.5, 0.0],
    };
    assert_eq!(confounders[0], failures);
}

#[test]
fn services_that_paid_for_a_difference_are_named() {
    // Method: 8 and 10 µs of the subjects' own; a service that spends 50 and 20 µs per response,
    // then amounts that differ by less than a tenth of the larger or of the 2 µs.
    let mut record = serve(pair(), "db");
    give(&mut record, "old", 8, &[("user server", 100)]);
    give(&mut record, "new", 10, &[("user server", 100)]);
    let mut confounders = |new_ns: u64, old_ns: u64| {
        for (subject, ns) in [("new", new_ns), ("old", old_ns)] {
            each_slice(&mut record, subject, |slice| {
                let responses = slice.outcomes.completed() + slice.discarded.completed();
                slice.services_cpu_ns = vec![Some(ns * responses)];
            });
        }
        difference(&record).confounders
    };
    let services = Confounder {
        what: ConfounderKind::ServiceCpu,
        per_response: [50.0, 20.0],
    };
    assert_eq!(confounders(50_000, 20_000), [services]);
    for (new_ns, old_ns) in [(50_000, 46_000), (400, 250), (0, 0)] {
        let small = confounders(new_ns, old_ns);
        assert!(small.is_empty(), "{new_ns} and {old_ns} ns: {small:?}");
    }
}

#[test]
fn the_cpu_time_of_services_is_split_into_lines() {
    // Method: services that spend 40 and 10 µs per response, with three quarters and half of their
    // samples in a system call. By hand: 30 and 5 µs there, 10 and 5 in Java.
    let mut record = serve(pair(), "db");
    for (subject, service_us, [in_futex, in_java]) in [("new", 40, [75, 25]), ("old", 10, [50, 50])]
    {
        give(&mut record, subject, 8, &[("user server", 100)]);
        each_slice(&mut record, subject, |slice| {
            let responses = slice.outcomes.completed() + slice.discarded.completed();
            slice.services_cpu_ns = vec![Some(service_us * 1_000 * responses)];
        });
        let mut services = Ledger::default();
        services.add(&Line::system_call("futex"), ["clone", "wait"], in_futex);
        services.add(&Line::user("java"), ["clone", "run"], in_java);
        for block in &mut record.blocks {
            let ledgers = &mut block.loads[0].ledgers;
            ledgers.get_mut(subject).unwrap().services = Some(services.clone());
        }
    }
    let services = difference(&record).services.unwrap();
    assert_eq!(services.us_per_response, [40.0, 10.0]);
    assert!((services.difference_us.mean - 30.0).abs() < 1e-9);
    let lines = services.lines.iter();
    let lines: Vec<_> = lines
        .map(|line| (line.name.as_str(), line.cost.us_per_response))
        .collect();
    let by_hand = [
        ("system call futex", [30.0, 5.0]),
        ("user java", [10.0, 5.0]),
    ];
    assert_eq!(lines, by_hand);
    // An interval without a sample of theirs splits nothing.
    let mut idle = record.clone();
    for block in &mut idle.blocks {
        let ledgers = &mut block.loads[0].ledgers;
        ledgers.get_mut("old").unwrap().services = Some(Ledger::default());
    }
    let lines = difference(&idle).services.unwrap().lines;
    let lines = lines.iter();
    let lines: Vec<_> = lines
        .map(|line| (line.name.as_str(), line.cost.us_per_response))
        .collect();
    let by_hand = [
        ("system call futex", [30.0, 0.0]),
        ("unattributed", [0.0, 10.0]),
        ("user java", [10.0, 0.0]),
    ];
    assert_eq!(lines, by_hand);
    // Their CPU time is not split if only user code was sampled, or only on one side.
    let mut user_code_only = record.clone();
    for block in &mut user_code_only.blocks {
        let ledgers = block.loads[0].ledgers.values_mut();
        for services in ledgers.filter_map(|ledger| ledger.services.as_mut()) {
            services.without_kernel = true;
        }
    }
    let mut one_side = record;
    for block in &mut one_side.blocks {
        let ledgers = &mut block.loads[0].ledgers;
        ledgers.get_mut("old").unwrap().services = None;
    }
    for record in [user_code_only, one_side] {
        assert_eq!(difference(&record).services, None);
    }
}

#[test]
fn blocks_without_samples_or_cpu_time_are_left_out() {
    // Method: a block without samples, one with an empty ledger, and a study of neither.
    let mut record = pair();
    for subject in ["old", "new"] {
        give(&mut record, subject, 8, &[("user server", 100)]);
    }
    record.blocks[0].loads[0].ledgers.clear();
    record.blocks[1].loads[0]
        .ledgers
        .insert("old".to_owned(), ledger(&[]));
    let judged = judge(&record);
    assert_eq!(difference(&record).blocks, 4);
    let blocks: Vec<usize> = judged
        .cpu_ledgers
        .iter()
        .map(|ledger| ledger.blocks)
        .collect();
    assert_eq!(blocks.iter().sum::<usize>(), 4 + 5);
    let judged = judge(&pair());
    assert!(judged.cpu_ledgers.is_empty() && judged.cpu_differences.is_empty());
}

#[test]
fn a_kernel_that_was_not_sampled_is_one_line() {
    // Method: 8 µs per response, and samples of two programs for a quarter of the CPU time of
    // the sampled interval. Then a lost sample, so that the clocks of the counted slices decide,
    // half and half; slices that report nothing, so that those of the sampled interval decide,
    // 60 to 40; and an interval that reports nothing either.
    let mut record = pair();
    for subject in ["old", "new"] {
        give(
            &mut record,
            subject,
            8,
            &[("user a", 50), ("user libc.so.6", 50)],
        );
    }
    each_record(&mut record, |sampled| {
        sampled.samples_per_s = 4_000;
        sampled.ledger.without_kernel = true;
    });
    let set_clocks = |record: &mut Measured, ns: Option<u64>| {
        for subject in ["old", "new"] {
            each_slice(record, subject, |slice| {
                (slice.server_user_ns, slice.server_system_ns) = (ns, ns);
            });
        }
    };
    let lines = |record: &Measured| {
        let ledgers = judge(record).cpu_ledgers;
        assert!(ledgers.iter().all(|ledger| !ledger.is_kernel_split));
        let line = |line: &LedgerLine| (line.name.clone(), (line.us_per_response * 1e6).round());
        let ledger = ledgers.first();
        ledger.map(|ledger| ledger.lines.iter().map(line).collect::<Vec<_>>())
    };
    let expected = |kernel_us: f64, user_us: f64| {
        let line = |name: &str, us: f64| (name.to_owned(), (us * 1e6_f64).round());
        let user = ["user a", "user libc.so.6"].map(|name| line(name, user_us));
        Some([&[line("kernel, not split", kernel_us)], &user[..]].concat())
    };
    set_clocks(&mut record, Some(1_000));
    assert_eq!(lines(&record), expected(6.0, 1.0));
    let difference = difference(&record);
    let line = difference
        .lines
        .iter()
        .find(|line| line.name == "kernel, not split");
    assert_eq!(line.unwrap().cost.us_per_response, [6.0, 6.0]);
    let load = &record.loads[0];
    let flames = flame_graph_of_pair(&record, load, ["new", "old"]).unwrap();
    for us in flames.us_per_response {
        assert!((us - 8.0).abs() < 1e-9, "{flames:?}");
    }
    let kernel = &flames.functions[0];
    assert_eq!(kernel.name, "[kernel, not split]");
    assert_eq!(kernel.us_per_response, [6.0, 6.0]);
    let purposes = difference.purposes.iter();
    assert_eq!(
        purposes
            .filter(|part| part.purpose == Purpose::WholeKernel)
            .count(),
        1
    );
    each_record(&mut record, |sampled| sampled.ledger.lost = 1);
    assert_eq!(lines(&record), expected(4.0, 2.0));
    set_clocks(&mut record, None);
    assert_eq!(lines(&record), expected(3.2, 2.4));
    each_record(&mut record, |sampled| sampled.server_user_ns = None);
    assert_eq!(lines(&record), None);
}

/// Samples by thread, of a main thread and a pool.
fn by_thread(main: u64, pool: u64) -> BTreeMap<String, u64> {
    let threads = [("main", main), ("pool-*", pool)];
    threads
        .map(|(name, samples)| (name.to_owned(), samples))
        .into()
}

#[test]
fn the_cpu_time_of_threads_adds_up_to_the_whole() {
    // Method: 10 and 4 µs per response, of which a pool has a quarter and a half. By hand: 7.5 and 2
    // µs in the main thread, 2.5 and 2 in the pool. The samples of services have the same threads.
    let mut record = serve(pair(), "db");
    for (subject, us, pool) in [("new", 10, 100), ("old", 4, 200)] {
        give(&mut record, subject, us, &[("user server", 400)]);
        each_slice(&mut record, subject, |slice| {
            slice.services_cpu_ns = vec![slice.server_cpu_ns];
        });
        for block in &mut record.blocks {
            let sampled = block.loads[0].ledgers.get_mut(subject).unwrap();
            sampled.ledger.by_thread = by_thread(400 - pool, pool);
            sampled.services = Some(sampled.ledger.clone());
        }
    }
    let judged = difference(&record);
    let services = judged.services.unwrap();
    for threads in [&judged.threads, &services.threads] {
        let threads = threads.iter();
        let threads: Vec<_> = threads
            .map(|thread| (&*thread.name, thread.values))
            .collect();
        assert_eq!(threads, [("main", [7.5, 2.0]), ("pool-*", [2.5, 2.0])]);
    }
    let ledgers = judge(&record).cpu_ledgers;
    let ledger = ledgers.iter().find(|ledger| ledger.subject == "new");
    let threads = ledger.unwrap().threads.iter();
    let threads: Vec<_> = threads
        .map(|thread| (&*thread.name, thread.value))
        .collect();
    assert_eq!(threads, [("main", 7.5), ("pool-*", 2.5)]);

    // They are not known in a block of an older record, or without samples of the kernel.
    let mut older = record.clone();
    let ledgers = &mut older.blocks[3].loads[0].ledgers;
    ledgers.get_mut("old").unwrap().ledger.by_thread.clear();
    each_record(&mut record, |sampled| sampled.ledger.without_kernel = true);
    for record in [older, record] {
        assert_eq!(difference(&record).threads, []);
    }
}

fn each_record(record: &mut Measured, change: impl Fn(&mut LedgerRecord)) {
    let blocks = record.blocks.iter_mut();
    let records = blocks.flat_map(|block| block.loads[0].ledgers.values_mut());
    records.for_each(change);
}

#[test]
fn incomplete_samples_are_reported() {
    // Method: lost samples and suspensions add up over blocks; left-out threads do not.
    let mut record = pair();
    for subject in ["old", "new"] {
        give(&mut record, subject, 8, &[("user a", 50)]);
    }
    each_record(&mut record, |sampled| {
        sampled.ledger.lost = 2;
        sampled.ledger.throttled = 3;
        sampled.ledger.threads_left_out = 4;
    });
    let judged = judge(&record);
    let ledger = &judged.cpu_ledgers[0];
    let lacks = [ledger.lost, ledger.throttled, ledger.threads_left_out];
    assert_eq!((lacks, ledger.is_kernel_split), ([12, 18, 4], true));
}

#[test]
fn a_subject_that_could_not_be_sampled_is_named_with_the_reason() {
    // Method: a failure in two of six blocks, which have no samples.
    let mut record = pair();
    for subject in ["old", "new"] {
        give(&mut record, subject, 8, &[("user a", 50)]);
    }
    for block in [1, 4] {
        let ledgers = &mut record.blocks[block].loads[0].ledgers;
        let sampled = ledgers.get_mut("new").unwrap();
        (sampled.failure, sampled.ledger) = (Some("forbidden".to_owned()), Ledger::default());
    }
    let judged = judge(&record);
    let finding = find(&judged.validity.findings, FindingId::NotSampled).unwrap();
    assert_eq!(
        finding.message,
        "new could not be sampled in 2 of 6 blocks: forbidden"
    );
    assert_eq!(difference(&record).blocks, 4);
}

#[test]
fn starts_of_one_subject_are_compared_by_their_ledgers() {
    // Method: 2 of 8 starts have a quarter of the throughput and spend 95 of 100 µs in futex;
    // the others spend 5 of 10. Then the slow starts have no samples.
    let responses = [OK / 4, OK, OK, OK / 4, OK, OK, OK, OK];
    let mut record = study(&[("old", &[OK; 8]), ("new", &responses)]);
    for block in &mut record.blocks {
        let is_slow = [0, 3].contains(&block.index);
        let (us, futex) = if is_slow { (100, 950) } else { (10, 500) };
        let lines = [("user server", 1_000 - futex), ("system call futex", futex)];
        let load = &mut block.loads[0];
        load.ledgers.insert("new".to_owned(), ledger(&lines));
        let slices = load.rounds.iter_mut().flat_map(|round| &mut round.slices);
        for slice in slices.filter(|slice| slice.subject == "new") {
            let responses = slice.outcomes.completed() + slice.discarded.completed();
            slice.server_cpu_ns = Some(us * 1_000 * responses);
        }
    }
    let judged = judge(&record);
    let [difference] = &judged.start_differences[..] else {
        panic!("{:?}", judged.start_differences);
    };
    assert_eq!((difference.starts, difference.blocks), (Some([2, 6]), 8));
    assert_eq!(
        (&difference.subject, &difference.baseline),
        (&"new".to_owned(), &"new".to_owned())
    );
    assert!((difference.difference_us.mean - 90.0).abs() < 1e-9);
    let first = &difference.lines[0];
    assert_eq!(
        (&first.name[..], first.cost.us_per_response),
        ("system call futex", [95.0, 5.0])
    );
    assert!(first.cost.is_certain());
    let sum: f64 = difference
        .lines
        .iter()
        .map(|line| line.cost.difference_us.mean)
        .sum();
    assert!((sum - 90.0).abs() < 1e-9, "{sum}");
    for block in [0, 3] {
        record.blocks[block].loads[0].ledgers.clear();
    }
    assert!(judge(&record).start_differences.is_empty());
}

/// The graph of a subject under the first load of a record.
fn graph(record: &Measured, subject: &str) -> FlameGraph {
    flame_graph(record, &record.loads[0], subject).expect("it was sampled")
}

/// The cost of each function of a graph, with its depth and name.
fn costs(functions: &[FlameFunction], depth: usize) -> Vec<(usize, String, [f64; 2])> {
    let rows = functions.iter().flat_map(|function| {
        let row = (depth, function.name.clone(), function.us_per_response);
        [row].into_iter().chain(costs(&function.callees, depth + 1))
    });
    rows.collect()
}

#[test]
fn a_flame_graph_adds_up_to_the_cpu_time_that_slices_counted() {
    // Method: 10 µs and 4 µs per response; a quarter of the samples of the first subject is in
    // another chain, and a fifth in chains that were not kept.
    let mut record = pair();
    give(&mut record, "new", 10, &[("user new-server", 55)]);
    give(&mut record, "old", 4, &[("user old-server", 10)]);
    for block in &mut record.blocks {
        let ledgers = &mut block.loads[0].ledgers;
        let ledger = &mut ledgers.get_mut("new").expect("it was sampled").ledger;
        ledger.add(&Line::system_call("read"), ["main", "read"], 25);
        ledger.add_others(&Line::Kernel, 20);
    }
    let near = |us: f64, expected: f64| (us - expected).abs() < 1e-9;
    let alone = graph(&record, "new");
    assert!(near(alone.us_per_response[0], 10.0), "{alone:?}");
    let expected = [
        (0, "[other stacks]", 2.0),
        (1, "[other kernel]", 2.0),
        (0, "main", 8.0),
        (1, "read", 2.5),
        (1, "work", 5.5),
    ];
    let rows = costs(&alone.functions, 0);
    assert_eq!(rows.len(), expected.len(), "{rows:?}");
    for ((depth, name, us), expected) in rows.iter().zip(expected) {
        assert_eq!((*depth, name.as_str()), (expected.0, expected.1));
        assert!(near(us[0], expected.2) && us[1] == 0.0, "{name}: {us:?}");
    }
    let load = &record.loads[0];
    let both = flame_graph_of_pair(&record, load, ["new", "old"]).expect("both were sampled");
    let [new, old] = both.us_per_response;
    assert!(near(new, 10.0) && near(old, 4.0), "{both:?}");
    let work = costs(&both.functions, 0).pop().expect("it has functions");
    let [new, old] = work.2;
    assert!(near(new, 5.5) && near(old, 4.0), "{work:?}");
    assert_eq!(flame_graph(&record, load, "another"), None);
}

#[test]
fn deep_chains_end_in_one_function_for_all_deeper_functions() {
    // Method: a chain of the largest depth shown, and one with two more functions.
    let mut record = pair();
    give(&mut record, "new", 10, &[]);
    let names: Vec<String> = (0..FLAME_DEPTH_MAX + 2)
        .map(|depth| format!("f{depth}"))
        .collect();
    for block in &mut record.blocks {
        let ledgers = &mut block.loads[0].ledgers;
        let ledger = &mut ledgers.get_mut("new").expect("it was sampled").ledger;
        for depth in [FLAME_DEPTH_MAX, FLAME_DEPTH_MAX + 2] {
            ledger.add(&Line::Kernel, names[..depth].iter().map(String::as_str), 1);
        }
    }
    let rows = costs(&graph(&record, "new").functions, 0);
    let deepest: Vec<&str> = rows
        .iter()
        .filter(|(depth, ..)| *depth == FLAME_DEPTH_MAX - 1)
        .map(|(_, name, _)| name.as_str())
        .collect();
    assert_eq!(deepest, ["f47", DEEPER]);
    assert!(rows.iter().all(|(depth, ..)| *depth < FLAME_DEPTH_MAX));
}

/// Gives a subject these counts in each block.
fn give_calls(record: &mut Measured, subject: &str, calls: &CallRecord) {
    for block in &mut record.blocks {
        let ledgers = &mut block.loads[0].ledgers;
        if let Some(ledger) = ledgers.get_mut(subject) {
            ledger.calls = Some(calls.clone());
        }
    }
}

fn counted(calls: &[(&str, u64)]) -> CallRecord {
    let by_name = calls
        .iter()
        .map(|(name, count)| ((*name).to_owned(), *count));
    CallRecord {
        counted_ns: 50_000_000,
        completed: 100,
        by_name: by_name.collect(),
        ..CallRecord::default()
    }
}

fn of<'a>(counts: &'a [CountDifference], name: &str) -> Option<&'a CountDifference> {
    counts.iter().find(|count| count.name == name)
}

#[test]
fn calls_and_segments_are_compared_per_response() {
    // Method: by hand, 100 responses with 100 and 10,100 calls of `getppid`, one `writev` each,
    // and a call of only one side; 1,000 responses with 1 and 4 segments each. Of the 4,000
    // segments, connections opened later hide half, with half of the bytes.
    let mut record = pair();
    for (subject, calls, segments) in [("old", 100, 1_000), ("new", 10_100, 4_000)] {
        give(&mut record, subject, 8, &[("user server", 100)]);
        let mut counts = counted(&[("getppid", calls), ("writev", 100)]);
        if subject == "new" {
            counts.by_name.insert("openat".to_owned(), 50);
        }
        give_calls(&mut record, subject, &counts);
        each_slice(&mut record, subject, |slice| {
            slice.bytes = 200 * slice.outcomes.completed();
        });
        for block in &mut record.blocks {
            let ledger = block.loads[0].ledgers.get_mut(subject).unwrap();
            let is_partly_known = subject == "new";
            let part = 1 + u64::from(is_partly_known);
            ledger.threads = Some(3);
            ledger.segments = Some(SegmentRecord {
                received: segments / part,
                bytes: 200_000 / part,
                opened: u64::from(is_partly_known),
            });
        }
    }
    let pair = difference(&record);
    let calls = &pair.system_calls;
    assert_eq!(calls[0].name, "getppid");
    assert_eq!(
        (calls[0].values, calls[0].difference.mean),
        ([101.0, 1.0], 100.0)
    );
    assert_eq!(of(calls, "openat").unwrap().values, [0.5, 0.0]);
    assert_eq!(of(calls, "writev").unwrap().difference.mean, 0.0);
    let work = &pair.work;
    assert_eq!(of(work, "system calls").unwrap().values, [102.5, 2.0]);
    assert_eq!(of(work, "segments received").unwrap().values, [4.0, 1.0]);
    assert_eq!(of(work, "threads that ran").unwrap().values, [3.0, 3.0]);
    let ledgers = judge(&record).cpu_ledgers;
    let names: Vec<&str> = ledgers
        .iter()
        .map(|ledger| ledger.system_calls[0].name.as_str())
        .collect();
    assert!(names.contains(&"getppid"), "{names:?}");
}

#[test]
fn incompletely_counted_calls_are_not_compared() {
    // Method: a table that was full, and a machine that forbids the program, for one of two
    // subjects.
    for spoil in [(|calls| calls.missed = 7) as fn(&mut CallRecord), |calls| {
        calls.failure = Some("forbidden".to_owned())
    }] {
        let mut record = pair();
        let mut calls = counted(&[("writev", 100)]);
        for subject in ["old", "new"] {
            give(&mut record, subject, 8, &[("user server", 100)]);
            give_calls(&mut record, subject, &calls);
            spoil(&mut calls);
        }
        let pair = difference(&record);
        assert!(pair.system_calls.is_empty(), "{:?}", pair.system_calls);
        assert!(of(&pair.work, "system calls").is_none());
        // The reason counts only if no block has calls.
        let ledgers = |record: &Measured| judge(record).cpu_ledgers;
        let reasons = ledgers(&record)
            .into_iter()
            .map(|ledger| ledger.calls_failure);
        assert_eq!(reasons.filter(Option::is_some).count(), 1);
        for block in &mut record.blocks[1..] {
            for sampled in block.loads[0].ledgers.values_mut() {
                sampled.calls = Some(counted(&[("writev", 100)]));
            }
        }
        let mut with_calls: Vec<usize> = Vec::new();
        for ledger in ledgers(&record) {
            assert_eq!(ledger.calls_failure, None);
            with_calls.push(ledger.blocks_with_calls);
        }
        with_calls.sort_unstable();
        assert_eq!(with_calls, [5, 6]);
    }
}

#[test]
fn waits_of_subjects_with_time_to_spare_are_shown() {
    // Method: 20 and 10 µs in futex per response; then a subject that uses all of its CPU time.
    let mut record = pair();
    for (subject, ns) in [("old", 1_000_000), ("new", 2_000_000)] {
        give(&mut record, subject, 8, &[("user server", 100)]);
        let wait = WaitTime { count: 100, ns };
        let mut calls = counted(&[]);
        calls.waits = Some(Waits {
            lost: 0,
            lines: [(Line::system_call("futex"), wait)].into(),
        });
        give_calls(&mut record, subject, &calls);
        each_slice(&mut record, subject, |slice| {
            slice.server_cpu_ns = Some(slice.window_ns / 4);
        });
    }
    for block in &mut record.blocks {
        let sides = block.loads[0].sides.values_mut();
        sides.for_each(|side| side.busiest_thread_ns = None);
    }
    let pair = difference(&record);
    let futex = of(&pair.waits, "system call futex").unwrap();
    assert_eq!((futex.values, futex.difference.mean), ([20.0, 10.0], 10.0));
    each_slice(&mut record, "new", |slice| {
        slice.server_cpu_ns = Some(2 * slice.window_ns);
    });
    assert!(difference(&record).waits.is_empty());
}
