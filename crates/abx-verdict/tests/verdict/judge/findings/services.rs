//! Services that subjects need, as a limit and as a cause of failure.

use abx_evidence::{FindingId, Level, Limits, Measured};
use abx_verdict::{Metric, Verdict};

use abx_fixtures::{
    Compared, MS, ROUNDS, compared, each_slice, find, ids, judged, pair, serve, sides,
};

/// Sets how busy a subject and the service `db` were in the subject's slices, in percent of
/// their one processor, and how busy the service's busiest thread was.
fn busy(record: &mut Measured, subject: &str, [server, service, thread]: [u64; 3]) {
    each_slice(record, subject, |slice| {
        slice.server_cpu_ns = Some(server * MS);
        slice.services_cpu_ns = vec![Some(service * MS)];
        slice.services_thread_ns = vec![Some(thread * MS)];
        slice.busy_ns = Some((server + service + 50) * MS);
    });
    sides(record, subject)
        .for_each(|side| side.busiest_thread_ns = Some(server * MS * ROUNDS as u64));
}

/// `new` (10 % faster) and `old`, each with this busyness of the subject and the service.
fn with_busy(cpus: &[usize], new: [u64; 3], old: [u64; 3]) -> Measured {
    let mut record = serve(pair(), "db");
    record.settings.subject_cpus = cpus.to_vec();
    busy(&mut record, "new", new);
    busy(&mut record, "old", old);
    record
}

fn bound(compared: &Compared) -> (Level, Option<&str>) {
    let bound = find(&compared.findings, FindingId::ServiceBound).expect("a limit");
    (bound.level, bound.subject.as_deref())
}

#[test]
fn a_service_at_its_limit_bounds_or_voids_like_a_generator() {
    // Method: two processors, one of which a single thread of the service fills, at 95 % and at
    // 94 %; under the faster subject, under the slower subject, and under both.
    let (full, free) = ([30, 96, 95], [150, 20, 20]);
    let faster = compared(with_busy(&[0, 2], full, free));
    assert_eq!((faster.verdict, faster.at_least), (Verdict::Faster, true));
    assert_eq!(bound(&faster), (Level::Bound, Some("new")));
    let slower = compared(with_busy(&[0, 2], [195, 4, 4], full));
    assert_eq!((slower.verdict, slower.at_least), (Verdict::Faster, false));
    assert_eq!(bound(&slower), (Level::Note, Some("old")));
    let both = compared(with_busy(&[0, 2], full, full));
    assert_eq!(both.metric, Metric::ServerCpu);
    let instead = find(&both.findings, FindingId::ServiceBound).unwrap();
    assert_eq!(
        (instead.level, instead.limits),
        (Level::Bound, Limits::Throughput)
    );
    for part in ["service db (95 % busy)", "CPU per response is compared"] {
        assert!(instead.message.contains(part), "{}", instead.message);
    }
    let below = compared(with_busy(&[0, 2], [30, 95, 94], [150, 20, 20]));
    assert!(find(&below.findings, FindingId::ServiceBound).is_none());
}

#[test]
fn processors_that_a_service_and_its_subject_fill_are_full() {
    // Method: one processor, of which the subject uses 38 % and the service 60 %, then the
    // reverse; then 10 % are left.
    let record = with_busy(&[0], [38, 60, 60], [60, 38, 38]);
    let result = compared(record.clone());
    assert_eq!((result.verdict, result.at_least), (Verdict::Faster, false));
    assert_eq!(
        ids(&result.findings),
        [(FindingId::ServiceBound, Level::Note)],
        "neither is idle, nobody else ran, and only one met more of the service than of itself"
    );
    assert_eq!(bound(&result), (Level::Note, Some("new")));
    let idle = compared(with_busy(&[0], [38, 52, 52], [60, 38, 38]));
    let spare = find(&idle.findings, FindingId::NotSaturated).unwrap();
    assert!(
        spare
            .message
            .contains("new, with its services, (90 % busy)")
    );
    let summaries = judged(record).summaries;
    let new = summaries
        .iter()
        .find(|summary| summary.subject == "new")
        .unwrap();
    assert_eq!(new.services[0].busy, Some(0.6));
    let cpu_us = new.services[0].cpu_us_per_request.unwrap();
    assert!((cpu_us - 60_000.0 / 9_900.0).abs() < 0.01, "{cpu_us}");
}

#[test]
fn an_unread_service_is_reported() {
    // Method: one slice without its reading.
    let mut record = with_busy(&[0], [90, 8, 8], [90, 8, 8]);
    record.blocks[0].loads[0].rounds[0].slices[0].services_cpu_ns = vec![None];
    let result = compared(record);
    let unread = find(&result.findings, FindingId::NotChecked).unwrap();
    assert!(
        unread.message.contains("at least one service"),
        "{unread:?}"
    );
}

#[test]
fn a_service_that_died_is_named_with_its_blocks() {
    // Method: one additional block, which the service spoilt, so that it does not count.
    let mut record = with_busy(&[0], [90, 8, 8], [90, 8, 8]);
    let mut spoilt = record.blocks[0].clone();
    spoilt.complete = false;
    let life = spoilt.services.get_mut("db").unwrap();
    life.died = Some("signal 9".to_owned());
    record.blocks.push(spoilt);
    let result = compared(record);
    let died = find(&result.findings, FindingId::ServiceFailed).unwrap();
    assert_eq!(died.level, Level::Note);
    for part in ["service db", "(signal 9)", "one block"] {
        assert!(died.message.contains(part), "{}", died.message);
    }
    assert_eq!(result.blocks, 6);
}
