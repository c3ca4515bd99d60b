//! WebSocket loads: held connections and waiting echoes.

use abx_evidence::record::Round;
use abx_evidence::{FindingId, Held, Histogram, Level, LoadShape, Measured, Outcome};
use abx_verdict::{Comparison, Conclusions, Metric, Place, Role, Verdict};

use crate::judge::loads::runs::server_busy;
use abx_fixtures::{
    CONNECTIONS, COUNTED_NS, OK, ROUNDS, URL, all_slices, each_slice, find, histogram, judged,
    pair, primary, response, rounds, run, sides, study, times,
};

/// `new` beside `old` in six blocks: 1,000 connections each, of which each takes about 20 kB of
/// `old` and about 10 kB of `new`.
fn held() -> Measured {
    let mut record = study(&[("old", &[OK; 6]), ("new", &[OK; 6])]);
    record.loads[0].settings.exchange.shape = LoadShape::Connections;
    for block in &mut record.blocks {
        block.loads[0].rounds = Vec::<Round>::new();
    }
    for (subject, bytes) in [("old", 20_000), ("new", 10_000)] {
        for (index, side) in (0..).zip(sides(&mut record, subject)) {
            side.held = Some(Held {
                asked: 1_000,
                standing: 1_000,
                lost: 0,
                open_ns: 100_000_000 + index * 100_000,
                memory_before_bytes: Some(5_000_000),
                memory_after_bytes: Some(5_000_000 + 1_000 * (bytes + 10 * index)),
            });
        }
    }
    record
}

fn only(record: &Conclusions, role: Role) -> Comparison {
    let mut result = record
        .comparisons
        .iter()
        .filter(|comparison| comparison.role == role);
    let first = result.next().cloned().expect("one");
    assert!(
        result.all(|comparison| comparison.metric == Metric::ReadyTime),
        "{role:?}: {:?}",
        record.comparisons
    );
    first
}

#[test]
fn held_connections_are_compared_by_their_memory() {
    // Method: half of the memory, opened as quickly. There is no throughput.
    let record = judged(held());
    let comparison = only(&record, Role::Primary);
    assert_eq!(comparison.metric, Metric::MemoryPerConnection);
    assert_eq!(comparison.verdict, Verdict::Less);
    assert!(
        (comparison.ratio.unwrap() - 0.5).abs() < 0.001,
        "{comparison:?}"
    );
    let rate = only(&record, Role::Exploratory);
    assert_eq!(rate.metric, Metric::ConnectRate);
    assert_eq!(rate.verdict, Verdict::Equivalent);
    assert_eq!(record.validity.findings, []);
    let held = record.summaries[0].held.expect("figures");
    assert_eq!((held.asked, held.standing, held.lost), (6_000, 6_000, 0));
    assert_eq!(held.memory_per_connection, Some(20_025.0));
}

#[test]
fn missing_connections_void_their_subject() {
    // Method: 11 of 1,000 are missing in one block of `new`, 4 of them lost.
    let mut record = held();
    let side = sides(&mut record, "new").nth(2).expect("a third block");
    let held = side.held.as_mut().expect("held");
    (held.standing, held.lost) = (989, 4);
    let record = judged(record);
    assert_eq!(only(&record, Role::Primary).verdict, Verdict::Invalid);
    let finding = find(&record.validity.findings, FindingId::ConnectionsNotHeld).expect("it");
    assert_eq!(
        (finding.level, finding.subject.as_deref()),
        (Level::Void, Some("new"))
    );
    assert!(
        finding.message.contains("11 of 1000"),
        "{}",
        finding.message
    );
    assert!(
        finding.message.contains("4 of them lost"),
        "{}",
        finding.message
    );
}

#[test]
fn connections_of_a_failed_subject_are_void_by_their_memory() {
    // Method: `new` fails at the start of the third block and has no connections from then on.
    let mut record = held();
    for block in &mut record.blocks[2..] {
        block.loads[0].sides.remove("new");
    }
    let life = record.blocks[2].subjects.get_mut("new");
    life.expect("it was started").failed_start = Some("it exited with 1".to_owned());
    let comparison = only(&judged(record), Role::Primary);
    assert_eq!(comparison.metric, Metric::MemoryPerConnection);
    assert_eq!(comparison.verdict, Verdict::Invalid);
}

#[test]
fn unreadable_memory_leaves_the_rate_of_opening() {
    // Method: the memory of `new` is unread in one block.
    let mut record = held();
    let side = sides(&mut record, "new").next().expect("a block");
    side.held.as_mut().expect("held").memory_after_bytes = None;
    let record = judged(record);
    assert_eq!(only(&record, Role::Primary).metric, Metric::ConnectRate);
    assert!(find(&record.validity.findings, FindingId::MemoryUnknown).is_some());
}

#[test]
fn several_subjects_are_ranked_by_the_memory_of_a_connection() {
    // Method: a third subject takes as much as `old`; less memory is certainly better.
    let mut record = study(&[("old", &[OK; 6]), ("new", &[OK; 6]), ("more", &[OK; 6])]);
    record.loads[0].settings.exchange.shape = LoadShape::Connections;
    let two = held();
    for (block, like) in record.blocks.iter_mut().zip(&two.blocks) {
        let (part, like) = (&mut block.loads[0], &like.loads[0]);
        part.rounds = Vec::new();
        for (subject, from) in [("old", "old"), ("new", "new"), ("more", "old")] {
            part.sides
                .insert(subject.to_owned(), like.sides[from].clone());
        }
    }
    let record = judged(record);
    let ranking = &record.rankings[0];
    assert_eq!(ranking.metric, Metric::MemoryPerConnection);
    assert_eq!(ranking.places[0].subject, "new");
    let texts: Vec<String> = ranking.places.iter().map(Place::text).collect();
    assert_eq!(texts, ["1", "2-3", "2-3"]);
    assert!(!ranking.places[1].tied_for_first);
}

/// [`pair`] with echoes that take 41 ms each, on a server with nothing to do.
fn waiting() -> Measured {
    let mut record = pair();
    record.loads[0].settings.exchange.shape = LoadShape::Echo;
    for round in rounds(&mut record) {
        for slice in &mut round.slices {
            slice.server_cpu_ns = Some(1_000_000);
        }
    }
    for block in &mut record.blocks {
        for subject in ["old", "new"] {
            let mut service = Histogram::new();
            (0..10).for_each(|_| service.record_ns(41_000_000));
            let entry = block.loads[0].histograms.entry(subject.to_owned());
            entry.or_default().service = service;
        }
    }
    record
}

#[test]
fn echoes_that_wait_for_an_acknowledgement_are_noted() {
    // Method: both subjects of a study wait, but with plain requests neither does.
    let findings = judged(waiting()).validity.findings;
    let noted = findings
        .iter()
        .filter(|finding| finding.id == FindingId::DelayedAcknowledgements);
    let subjects: Vec<_> = noted
        .filter_map(|finding| finding.subject.as_deref())
        .collect();
    assert_eq!(subjects, ["new", "old"]);
    let mut asked = waiting();
    asked.loads[0].settings.exchange.shape = LoadShape::Request;
    let findings = judged(asked).validity.findings;
    assert!(find(&findings, FindingId::DelayedAcknowledgements).is_none());
}

#[test]
fn a_run_notes_waiting_echoes_and_missing_connections() {
    // Method: 41 ms on an idle server; then 900 of 1,000 connections.
    let mut record = run();
    record.loads[0].settings.exchange.shape = LoadShape::Echo;
    times(&mut record, URL).service = histogram(&[(10, 41_000)]);
    server_busy(&mut record, 0.02);
    let findings = judged(record).validity.findings;
    assert!(find(&findings, FindingId::DelayedAcknowledgements).is_some());

    let mut record = run();
    record.loads[0].settings.exchange.shape = LoadShape::Connections;
    sides(&mut record, URL).for_each(|side| {
        side.held = Some(Held {
            asked: 1_000,
            standing: 900,
            ..Held::default()
        });
    });
    let findings = judged(record).validity.findings;
    assert!(
        find(&findings, FindingId::ConnectionsNotHeld)
            .is_some_and(|finding| finding.level == Level::Void)
    );
}

#[test]
fn messages_are_called_messages() {
    // Method: failed echoes, in the words of the finding.
    let mut record = pair();
    record.loads[0].settings.exchange.shape = LoadShape::Echo;
    each_slice(&mut record, "new", |slice| {
        response(slice, &[(Outcome::Ok, 9_000), (Outcome::EarlyClose, 100)]);
    });
    let record = judged(record);
    let finding = find(&record.validity.findings, FindingId::FailedRequests).expect("it");
    assert!(
        finding.message.contains("messages to new failed"),
        "{}",
        finding.message
    );
    assert_eq!(primary(&record)[0].verdict, Verdict::Invalid);
}

#[test]
fn broadcasts_count_their_speaker_and_show_the_times_of_their_listeners() {
    // Method: the study of ten connections, of which one sends all the time. The first and the
    // median listener of `new` receive each message in half of the time.
    let mut record = pair();
    record.loads[0].settings.exchange.shape = LoadShape::Broadcast;
    for slice in all_slices(&mut record) {
        slice.connection_ns = COUNTED_NS;
        slice.silent = u64::from(CONNECTIONS) - 1;
    }
    for block in &mut record.blocks {
        for (subject, us) in [("old", 200), ("new", 100)] {
            let entry = block.loads[0].histograms.entry(subject.to_owned());
            let times = entry.or_default();
            for _ in 0..200 {
                times
                    .first_listener
                    .record_ns((us + u64::from(block.index)) * 1_000);
                times
                    .median_listener
                    .record_ns((2 * us + u64::from(block.index)) * 1_000);
            }
        }
    }
    each_slice(&mut record, "new", |slice| slice.lost = 3);
    let record = judged(record);
    assert_eq!(record.summaries[0].throughput_per_s, Some(100_000.0));
    let broadcasts = record.summaries[1].broadcasts.clone().expect("broadcasts");
    assert_eq!(broadcasts.lost, 3 * 6 * ROUNDS as u64);
    assert!(broadcasts.first_listener_us.p50 < broadcasts.median_listener_us.p50);
    for metric in [Metric::BroadcastFirstP50, Metric::BroadcastMedianP50] {
        let mut result = record
            .comparisons
            .iter()
            .filter(|comparison| comparison.metric == metric);
        let comparison = result.next().expect("it is compared");
        assert_eq!(
            (comparison.role, comparison.verdict),
            (Role::Exploratory, Verdict::Faster)
        );
    }
    let missed = find(&record.validity.findings, FindingId::ListenersMissed).expect("it");
    assert_eq!(missed.subject.as_deref(), Some("new"));
    assert!(
        find(
            &record.validity.findings,
            FindingId::ConnectionsWithoutResponse
        )
        .is_none()
    );
}
