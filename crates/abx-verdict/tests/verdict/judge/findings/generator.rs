//! Whether the subject, the generator or neither was the limit.

use abx_evidence::record::CEILING;
use abx_evidence::{FindingId, Level, Measured};
use abx_verdict::{Metric, Verdict};

use abx_fixtures::{
    Compared, MS, OK, ROUNDS, SLICE_NS, compared, each_slice, find, ids, judged, pair, sides,
    study, with_ceiling,
};

/// Sets how busy a subject and the generator were in the subject's slices, in percent of one
/// processor.
pub(crate) fn busy(record: &mut Measured, subject: &str, server: u64, generator: u64) {
    each_slice(record, subject, |slice| {
        slice.server_cpu_ns = Some(server * MS);
        slice.generator_cpu_ns = generator * MS;
        slice.busiest_worker_ns = generator * MS;
        slice.busy_ns = Some((server + generator) * MS);
    });
    sides(record, subject)
        .for_each(|side| side.busiest_thread_ns = Some(server * MS * ROUNDS as u64));
}

/// `new` (10 % faster) and `old`, each with this busyness of the subject and the generator.
fn with_busy(new: [u64; 2], old: [u64; 2]) -> Compared {
    let mut record = pair();
    busy(&mut record, "new", new[0], new[1]);
    busy(&mut record, "old", old[0], old[1]);
    compared(record)
}

#[test]
fn a_busy_subject_is_the_limit_however_busy_the_generator_is() {
    // Method: subjects at 95 % and the generator at 100 %; then subjects one percent lower, so
    // that the generator limits the throughput.
    let compared = with_busy([95, 100], [95, 100]);
    assert_eq!(
        (compared.verdict, compared.at_least),
        (Verdict::Faster, false)
    );
    assert_eq!(ids(&compared.findings), []);
    let limited = with_busy([94, 100], [94, 100]);
    assert_eq!(limited.metric, Metric::ServerCpu);
}

#[test]
fn a_generator_that_limits_the_faster_only_bounds_the_ratio() {
    // Method: 90 % is a limit, 89 % is not; the direction remains.
    let compared = with_busy([60, 90], [98, 50]);
    assert_eq!(
        (compared.verdict, compared.at_least),
        (Verdict::Faster, true)
    );
    assert!(compared.ratio.unwrap() > 1.09);
    let bound = find(&compared.findings, FindingId::GeneratorBound).unwrap();
    assert_eq!(bound.level, Level::Bound);
    assert_eq!(bound.subject.as_deref(), Some("new"));
    assert_eq!(bound.load.as_deref(), Some("small"));
    assert!(bound.message.contains("90 %"), "{bound:?}");
    let below = with_busy([60, 89], [98, 50]);
    assert!(!below.at_least);
    assert_eq!(
        ids(&below.findings),
        [(FindingId::NotSaturated, Level::Note)]
    );
}

#[test]
fn a_bound_names_the_rates_and_the_direction_of_its_error() {
    // Method: 110,000 responses/s of the limited subject, with a ceiling of 200,000 that the
    // generator sets, and with a ceiling that left the generator time to spare.
    let message = |busiest_ns: u64| {
        let mut record = with_ceiling(pair(), 1.0);
        busy(&mut record, "new", 60, 97);
        each_slice(&mut record, CEILING, |slice| {
            slice.busiest_worker_ns = busiest_ns;
        });
        let result = compared(record);
        let bound = find(&result.findings, FindingId::GeneratorBound).unwrap();
        bound.message.clone()
    };
    let limited = message(95 * MS);
    for part in [
        "at 110000 requests/s",
        "200000 requests/s with a server that does nothing",
        "its true lead may be larger",
    ] {
        assert!(limited.contains(part), "{part}: {limited}");
    }
    let idle = message(50 * MS);
    assert!(!idle.contains("200000"), "{idle}");
}

#[test]
fn a_bound_ratio_keeps_its_direction_when_the_baseline_is_faster() {
    // Method: the same study with the other subject as the baseline.
    let mut record = pair();
    busy(&mut record, "new", 60, 97);
    record.settings.baseline = "new".to_owned();
    let result = compared(record);
    assert_eq!((result.verdict, result.at_least), (Verdict::Slower, true));
    let bound = find(&result.findings, FindingId::GeneratorBound).unwrap();
    assert_eq!(bound.subject.as_deref(), Some("new"));
}

#[test]
fn a_bound_ratio_is_never_equivalent() {
    // Method: 1 % faster, within the margin, with the generator as the limit.
    let one_more = [9_090, 9_091, 9_089, 9_090, 9_091, 9_089];
    let mut record = study(&[("old", &[OK; 6]), ("new", &one_more)]);
    assert_eq!(compared(record.clone()).verdict, Verdict::Equivalent);
    busy(&mut record, "new", 60, 97);
    let result = compared(record);
    assert_eq!(result.verdict, Verdict::Inconclusive);
    assert!(result.at_least);
    // More blocks would not help, so no number is stated.
    assert_eq!(result.blocks_more, None);
    assert!(result.ratio.is_some());
}

#[test]
fn only_a_direction_settles_a_bound() {
    // Method: blocks with so much spread that the precision of the margin takes fewer blocks than
    // a direction; then as a bound, and as a bound without any direction.
    let more_blocks = |blocks: [u64; 6], is_bound: bool| {
        let mut record = study(&[("old", &[OK; 6]), ("new", &blocks)]);
        if is_bound {
            busy(&mut record, "new", 60, 97);
        }
        let result = compared(record);
        assert_eq!(
            (result.verdict, result.at_least),
            (Verdict::Inconclusive, is_bound)
        );
        result.blocks_more
    };
    let wide = [9_300, 8_700, 9_250, 8_760, 9_280, 8_800];
    let [plain, bound] = [false, true].map(|is_bound| more_blocks(wide, is_bound).unwrap());
    assert!(plain < bound, "{plain} {bound}");
    let level = [9_300, 8_710, 9_300, 8_710, 9_300, 8_710];
    assert!(more_blocks(level, false).is_some());
    assert_eq!(more_blocks(level, true), None);
}

#[test]
fn a_generator_that_limits_both_or_the_slower_voids() {
    // Method: both at 97 %, then only the slower subject. The processor time of `old` is unread
    // in one slice, so it cannot stand in for throughput.
    let with_busy = |new: [u64; 2], old: [u64; 2]| {
        let mut record = pair();
        busy(&mut record, "new", new[0], new[1]);
        busy(&mut record, "old", old[0], old[1]);
        let mut slices = abx_fixtures::all_slices(&mut record);
        let unread = slices.find(|slice| slice.subject == "old");
        unread.expect("a slice").server_cpu_ns = None;
        drop(slices);
        compared(record)
    };
    let both = with_busy([60, 97], [60, 98]);
    assert_eq!((both.verdict, both.ratio), (Verdict::Invalid, None));
    let void = find(&both.findings, FindingId::GeneratorBound).unwrap();
    assert_eq!((void.level, &void.subject), (Level::Void, &None));
    for part in ["new", "old", "97 %", "98 %"] {
        assert!(void.message.contains(part), "{void:?}");
    }
    let slower = with_busy([98, 97], [60, 97]);
    assert_eq!((slower.verdict, slower.ratio), (Verdict::Invalid, None));
    let void = find(&slower.findings, FindingId::GeneratorBound).unwrap();
    assert_eq!(void.level, Level::Void);
    assert_eq!(void.subject.as_deref(), Some("old"));
}

#[test]
fn a_generator_that_waits_for_its_processor_is_busy() {
    // Method: 50 % used and 40 % waited in the slices of `new`. With two threads the wait is per
    // thread, so half of the sum has the same effect.
    let mut record = pair();
    busy(&mut record, "new", 60, 50);
    each_slice(&mut record, "new", |slice| {
        slice.generator_wait_ns = Some(40 * MS)
    });
    let result = compared(record.clone());
    assert!(result.at_least);
    assert!(find(&result.findings, FindingId::GeneratorBound).is_some());
    record.settings.threads = 2;
    assert!(!compared(record).at_least);
}

#[test]
fn time_that_the_hypervisor_took_was_available_to_nobody() {
    // Method: 75 % used, and a fifth of each of two processors stolen: more than 90 % of the
    // remaining time. The generator is no limit without steal, nor if all stolen time was the
    // subject's.
    let mut record = pair();
    record.settings.subject_cpus = vec![0];
    record.settings.generator_cpus = vec![1];
    busy(&mut record, "new", 60, 75);
    assert!(!compared(record.clone()).at_least);
    let stolen = |record: &mut Measured, generator_ns| {
        each_slice(record, "new", |slice| {
            slice.steal_ns = Some(2 * SLICE_NS / 5);
            slice.generator_steal_ns = generator_ns;
        });
    };
    for others in [None, Some(0)] {
        stolen(&mut record, others);
        assert!(!compared(record.clone()).at_least);
    }
    stolen(&mut record, Some(SLICE_NS / 5));
    let result = compared(record.clone());
    assert!(result.at_least);
    let bound = find(&result.findings, FindingId::GeneratorBound).unwrap();
    assert!(bound.message.contains("94 %"), "{bound:?}");
    // A subject that uses all remaining time is the limit itself.
    busy(&mut record, "new", 77, 75);
    assert!(!compared(record).at_least);
}

#[test]
fn the_busiest_thread_of_a_subject_with_many_processors_counts() {
    // Method: four processors, of which one thread uses 96 % of one and the others are idle;
    // then a thread at 90 %.
    for (thread, at_least) in [(96, false), (90, true)] {
        let mut record = pair();
        record.settings.subject_cpus = vec![0, 2, 3, 4];
        busy(&mut record, "old", 98, 50);
        busy(&mut record, "new", thread, 97);
        assert_eq!(compared(record).at_least, at_least, "{thread} %");
    }
}

#[test]
fn a_subject_that_uses_all_its_processors_is_busy_without_a_busy_thread() {
    // Method: two processors at 95 % in eight threads; then at 94 %.
    for (percent, at_least) in [(190, false), (188, true)] {
        let mut record = pair();
        record.settings.subject_cpus = vec![0, 2];
        busy(&mut record, "new", percent, 97);
        sides(&mut record, "new").for_each(|side| side.busiest_thread_ns = Some(24 * MS));
        assert_eq!(compared(record).at_least, at_least, "{percent} %");
    }
}

#[test]
fn an_unread_subject_is_reported_and_its_generator_still_judged() {
    // Method: the processor time of `new` is unknown and its generator is at 97 %, then at 50 %.
    // An unknown subject does not count as idle.
    for (generator, at_least) in [(97, true), (50, false)] {
        let mut record = pair();
        busy(&mut record, "new", 60, generator);
        each_slice(&mut record, "new", |slice| slice.server_cpu_ns = None);
        each_slice(&mut record, "old", |slice| slice.others_cpu_ns = None);
        sides(&mut record, "new").for_each(|side| side.busiest_thread_ns = None);
        let result = compared(record);
        assert_eq!(
            (result.verdict, result.at_least),
            (Verdict::Faster, at_least)
        );
        let unread = find(&result.findings, FindingId::NotChecked).unwrap();
        assert!(unread.message.contains("CPU time"), "{unread:?}");
        assert_eq!(find(&result.findings, FindingId::NotSaturated), None);
    }
}

#[test]
fn an_unread_thread_time_does_not_count_as_zero() {
    // Method: the time of the busiest thread (96 %) is unread in one block of six; the processor
    // time of the whole subject decides then.
    let mut record = pair();
    record.settings.subject_cpus = vec![0, 2];
    busy(&mut record, "new", 96, 97);
    assert!(!compared(record.clone()).at_least);
    sides(&mut record, "new").next().unwrap().busiest_thread_ns = None;
    let record = judged(record);
    assert!(record.comparisons[0].at_least);
    assert_eq!(record.summaries[1].server_busy, Some(0.48));
}

#[test]
fn a_load_with_few_requests_in_flight_is_unfit_for_throughput() {
    // Method: neither side at its limit with one connection, with two, with three, and with one
    // connection that has three requests in flight.
    let note = |connections, pipeline| {
        let mut record = pair();
        busy(&mut record, "new", 62, 44);
        record.loads[0].settings.connections = connections;
        record.loads[0].settings.exchange.pipeline = pipeline;
        let result = compared(record);
        let note = find(&result.findings, FindingId::NotSaturated).unwrap();
        note.clone()
    };
    for (connections, few) in [(1, "at most 1 request in"), (2, "at most 2 requests in")] {
        let of_few = note(connections, 1);
        assert!(of_few.message.contains(few), "{of_few:?}");
        assert!(of_few.remedy.contains("response times"), "{of_few:?}");
    }
    for more in [note(3, 1), note(1, 3)] {
        assert!(more.message.contains("connections divided by"), "{more:?}");
        assert!(more.remedy.starts_with("raise `-c`"), "{more:?}");
    }
}

#[test]
fn neither_side_at_its_limit_is_a_note_without_disturbances() {
    // Method: 62 % and 44 %; then while other programs had the processors, where a subject that
    // was kept from running would look idle.
    let mut record = pair();
    busy(&mut record, "new", 62, 44);
    let result = compared(record.clone());
    assert_eq!(result.verdict, Verdict::Faster);
    let note = find(&result.findings, FindingId::NotSaturated).unwrap();
    assert_eq!(note.subject.as_deref(), Some("new"));
    assert!(note.message.contains("62 %") && note.message.contains("44 %"));

    each_slice(&mut record, "new", |slice| {
        slice.steal_ns = Some(SLICE_NS / 10)
    });
    let result = compared(record);
    assert_eq!(ids(&result.findings), [(FindingId::Steal, Level::Note)]);
}
