//! CPU ledgers in reports.

use abx_evidence::LoadShape;
use abx_fixtures::pair;
use abx_report::{ReportExtent, Style, study_text};
use abx_verdict::{
    Confounder, ConfounderKind, CostDifference, Count, CountDifference, CpuDifference, CpuLedger,
    CpuSharing, LedgerLine, LineDifference, MeanInterval, Purpose, PurposeDifference,
    ServiceDifference, StudyRecord,
};

use crate::support::study_html;

/// Two subjects: `new` uses 3 µs more than `old`, all of it for one purpose.
fn sampled(purpose: Purpose, line: &str) -> StudyRecord {
    let mut record = StudyRecord::judged(pair());
    let cost = CostDifference {
        us_per_response: [8.0, 5.0],
        difference_us: MeanInterval {
            mean: 3.0,
            low: Some(2.5),
            high: Some(3.5),
        },
        share: Some(1.0),
    };
    let ledger = |subject: &str, us_per_response| CpuLedger {
        load: "small".to_owned(),
        subject: subject.to_owned(),
        blocks: 6,
        samples: 1_000,
        lost: 0,
        throttled: 0,
        threads_left_out: 0,
        is_kernel_split: true,
        without_symbols: None,
        us_per_response,
        lines: vec![LedgerLine {
            name: line.to_owned(),
            us_per_response,
            functions: Vec::new(),
        }],
        work: Vec::new(),
        system_calls: Vec::new(),
        blocks_with_calls: 0,
        calls_failure: None,
        waits: Vec::new(),
        threads: Vec::new(),
    };
    record.conclusions.cpu_ledgers = vec![ledger("old", 5.0), ledger("new", 8.0)];
    record.conclusions.cpu_differences = vec![CpuDifference {
        load: "small".to_owned(),
        subject: "new".to_owned(),
        baseline: "old".to_owned(),
        starts: None,
        blocks: 6,
        us_per_response: cost.us_per_response,
        difference_us: cost.difference_us,
        purposes: vec![PurposeDifference {
            purpose,
            lines: vec![line.to_owned()],
            cost,
        }],
        lines: vec![LineDifference {
            name: line.to_owned(),
            purpose,
            cost,
        }],
        work: Vec::new(),
        system_calls: Vec::new(),
        waits: Vec::new(),
        threads: Vec::new(),
        confounders: Vec::new(),
        services: None,
    }];
    record
}

/// A report on one line, without line breaks.
fn text(record: &StudyRecord, extent: ReportExtent) -> String {
    let text = study_text(record, extent, &Style::plain()).replace('\u{a0}', " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_note_explains_a_kernel_that_is_not_split() {
    // Method: the kernel as one line, in both extents; then a machine that splits it.
    let mut record = sampled(Purpose::WholeKernel, "kernel, not split");
    for ledger in &mut record.conclusions.cpu_ledgers {
        ledger.is_kernel_split = false;
    }
    for extent in [ReportExtent::Brief, ReportExtent::Full] {
        let text = text(&record, extent);
        assert!(
            text.contains("Of the difference, 100 % is the kernel, not split."),
            "{text}"
        );
        assert!(
            text.contains("The kernel's work is one line, because"),
            "{text}"
        );
        assert!(text.contains("`abx doctor`"), "{text}");
    }
    let split = sampled(Purpose::Files, "system call openat");
    assert!(!text(&split, ReportExtent::Full).contains("one line"));
}

#[test]
fn full_reports_name_gaps_of_samples() {
    // Method: lost samples, suspended sampling and threads without samples of one subject.
    let mut record = sampled(Purpose::Files, "system call openat");
    let ledger = &mut record.conclusions.cpu_ledgers[1];
    (ledger.lost, ledger.throttled, ledger.threads_left_out) = (12, 3, 4_000);
    let full = text(&record, ReportExtent::Full);
    let note = "new: up to 12 samples were lost. The kernel suspended sampling 3 times, because it \
                took too much CPU time. 4,000 threads with the least CPU time were not sampled.";
    assert!(full.contains(note), "{full}");
    assert_eq!(full.matches("samples were lost").count(), 1, "{full}");
}

#[test]
fn groups_of_starts_are_named_by_their_size() {
    // Method: a difference between 2 and 22 starts of one subject, in both extents.
    let mut record = sampled(Purpose::Locks, "system call futex");
    let mut difference = record.conclusions.cpu_differences[0].clone();
    difference.baseline = "new".to_owned();
    difference.starts = Some([2, 22]);
    record.conclusions.start_differences = vec![difference];
    let brief = text(&record, ReportExtent::Brief);
    let words = "Why: starts of new that differ The group of 2 starts uses 3.00 µs more CPU per \
                response than the group of the other 22 starts (8.00 and 5.00). Of the difference, 100 % is \
                locks (futex).";
    assert!(brief.contains(words), "{brief}");
    let full = text(&record, ReportExtent::Full);
    let header = "CPU µs per response 22 others 2 starts difference";
    assert!(full.contains(header), "{full}");
}

/// A count that is 101 for `new` and 1 for `old`.
fn a_hundred_more(name: &str) -> CountDifference {
    CountDifference {
        name: name.to_owned(),
        values: [101.0, 1.0],
        difference: MeanInterval {
            mean: 100.0,
            low: Some(99.5),
            high: Some(100.5),
        },
    }
}

#[test]
fn calls_are_next_to_the_cpu_time_that_they_use() {
    // Method: a full report with the calls of a line, and other work and waits below; a ledger
    // without a comparison; a machine that forbids counting calls.
    let mut record = sampled(Purpose::Others, "system call getppid");
    let difference = &mut record.conclusions.cpu_differences[0];
    difference.system_calls = vec![a_hundred_more("getppid")];
    difference.work = vec![a_hundred_more("segments received")];
    difference.waits = vec![a_hundred_more("system call futex")];
    let full = study_text(&record, ReportExtent::Full, &Style::plain());
    insta::assert_snapshot!(
        full.split_once("Why:")
            .unwrap()
            .1
            .split("Scope:")
            .next()
            .unwrap()
    );
    let brief = text(&record, ReportExtent::Brief);
    assert!(
        brief.contains("segments received 1.00 101.00 +100.00"),
        "{brief}"
    );
    assert!(!brief.contains("futex"), "{brief}");
    record.conclusions.cpu_differences.clear();
    let ledger = &mut record.conclusions.cpu_ledgers[0];
    ledger.system_calls = vec![Count {
        name: "getppid".to_owned(),
        value: 1.5,
    }];
    let alone = text(&record, ReportExtent::Full);
    assert!(
        alone.contains("share calls mostly in getppid 5.00 100 % 1.50"),
        "{alone}"
    );
    record.conclusions.cpu_ledgers[0].calls_failure = Some("abx has no CAP_BPF".to_owned());
    let failed = text(&record, ReportExtent::Brief);
    let note = "System calls were not counted: abx has no CAP_BPF. `abx doctor` shows";
    assert!(failed.contains(note), "{failed}");
}

#[test]
fn a_difference_that_rounds_to_nothing_has_no_side() {
    // Method: 0.004 µs of 5, then the same with parts that cancel each other out; and parts that
    // exceed their sum by less than a digit shows.
    let mut record = sampled(Purpose::Files, "system call openat");
    let difference = &mut record.conclusions.cpu_differences[0];
    difference.us_per_response = [5.004, 5.0];
    difference.difference_us.mean = 0.004;
    difference.purposes[0].cost.share = None;
    let equal = "new and old use the same CPU per response (5.00 and 5.00 µs). No single part of \
                 the difference is certain.";
    let brief = text(&record, ReportExtent::Brief);
    assert!(brief.contains(equal), "{brief}");
    record.conclusions.cpu_differences[0].purposes[0].cost.share = Some(750.0);
    let brief = text(&record, ReportExtent::Brief);
    let parts = "new uses 3.00 µs more for files (openat), and 3.00 µs less for all the rest";
    assert!(brief.contains(parts), "{brief}");
    let difference = &mut record.conclusions.cpu_differences[0];
    difference.difference_us.mean = 2.999;
    difference.purposes[0].cost.share = Some(3.0 / 2.999);
    let brief = text(&record, ReportExtent::Brief);
    assert!(
        brief.contains("Of the difference, 100 % is files"),
        "{brief}"
    );
}

#[test]
fn groups_of_starts_of_the_same_size_have_two_names() {
    // Method: a difference between 3 and 3 starts of one subject.
    let mut record = sampled(Purpose::Locks, "system call futex");
    let mut difference = record.conclusions.cpu_differences[0].clone();
    difference.baseline = "new".to_owned();
    difference.starts = Some([3, 3]);
    record.conclusions.start_differences = vec![difference];
    let full = text(&record, ReportExtent::Full);
    for words in [
        "The group of 3 starts uses 3.00 µs more CPU per response than the group of the other 3 \
         starts (8.00 and 5.00).",
        "CPU µs per response 3 others 3 starts difference",
    ] {
        assert!(full.contains(words), "{full}");
    }
}

#[test]
fn the_cpu_time_of_a_session_is_named_so() {
    // Method: a load of sessions, with work, on a terminal and on a page; the page names the pair and
    // the load above the sentence.
    let mut record = sampled(Purpose::Files, "system call openat");
    record.measured.loads[0].settings.exchange.shape = LoadShape::Scenario;
    let difference = &mut record.conclusions.cpu_differences[0];
    difference.work = vec![a_hundred_more("segments received")];
    let full = text(&record, ReportExtent::Full);
    for words in [
        "3.00 µs more CPU per session",
        "CPU µs per session",
        "per session old new",
    ] {
        assert!(full.contains(words), "{full}");
    }
    let why = full.split_once("Why:").unwrap().1;
    assert!(
        !why.split("A cost is").next().unwrap().contains("response"),
        "{why}"
    );
    let page = study_html(&record, &[]);
    assert!(page.contains("<h3>Why: new compared with old"), "{page}");
    assert!(
        page.contains("<caption>CPU time by line</caption>"),
        "{page}"
    );
}

#[test]
fn differences_beyond_the_servers_follow_the_reason() {
    // Method: failures, headers, connections and the CPU time of services, of `new` and of `old`; then with
    // the costlier side as baseline.
    let mut record = sampled(Purpose::Files, "system call openat");
    let difference = &mut record.conclusions.cpu_differences[0];
    let confounder = |what, per_response| Confounder { what, per_response };
    difference.confounders = vec![
        confounder(ConfounderKind::Failures, [0.4, 0.0]),
        confounder(ConfounderKind::HeaderBytes, [180.0, 150.0]),
        confounder(ConfounderKind::Connections, [0.1, 0.0]),
        confounder(ConfounderKind::ServiceCpu, [2834.4, 356.43]),
    ];
    let brief = text(&record, ReportExtent::Brief);
    let sentences = "40 % and 0 % of the responses failed a check. The headers differ: 180 and 150 bytes per response. The connections differ: \
                     100 and 0 per 1,000 responses. In addition, services use 2,834 and 356 µs of \
                     CPU per response.";
    assert!(brief.contains(sentences), "{brief}");
    record.conclusions.cpu_differences[0].difference_us.mean *= -1.0;
    let reversed = text(&record, ReportExtent::Brief);
    let services = "services use 356 and 2,834 µs";
    assert!(reversed.contains(services), "{reversed}");
}

/// The CPU time of two threads, in µs per response of `new` and of `old`: what is left of
/// [40.0, 10.0] is that of a pool.
fn threads(main: [f64; 2]) -> Vec<CountDifference> {
    let pool = [40.0 - main[0], 10.0 - main[1]];
    let thread = |name: &str, values: [f64; 2]| CountDifference {
        name: name.to_owned(),
        values,
        difference: MeanInterval {
            mean: values[0] - values[1],
            low: None,
            high: None,
        },
    };
    vec![thread("main", main), thread("GC Thread#*", pool)]
}

#[test]
fn threads_are_shown_if_a_side_has_several() {
    // Method: a pool that costs one side 4 of 40 µs, then nothing; ledgers without a comparison.
    let mut record = sampled(Purpose::Files, "system call openat");
    let header = "CPU µs by thread";
    for (main, is_shown) in [([36.0, 10.0], true), ([40.0, 10.0], false)] {
        let difference = &mut record.conclusions.cpu_differences[0];
        difference.us_per_response = [40.0, 10.0];
        difference.threads = threads(main);
        let full = text(&record, ReportExtent::Full);
        assert_eq!(full.contains(header), is_shown, "{full}");
        assert_eq!(
            full.contains("GC Thread#* 0.00 4.00 +4.00"),
            is_shown,
            "{full}"
        );
        assert!(!text(&record, ReportExtent::Brief).contains(header));
    }
    record.conclusions.cpu_differences.clear();
    record.conclusions.cpu_ledgers.truncate(1);
    let thread = |name: &str, value| Count {
        name: name.to_owned(),
        value,
    };
    record.conclusions.cpu_ledgers[0].threads = vec![thread("main", 4.0), thread("GC", 1.0)];
    let alone = text(&record, ReportExtent::Full);
    let table = "CPU µs by thread µs share main 4.00 80 % GC 1.00 20 %";
    assert!(alone.contains(table), "{alone}");
}

#[test]
fn parts_of_what_services_cost_follow_their_cpu_time() {
    // Method: a service that spends 40 and 10 µs, of which 30 and 5 are certainly in one line, and
    // the rest in a line that is not certain; without a confounder, the sentence has neither.
    let mut record = sampled(Purpose::Files, "system call openat");
    let difference = &mut record.conclusions.cpu_differences[0];
    let line = |name: &str, us_per_response: [f64; 2], low: f64| LineDifference {
        name: name.to_owned(),
        purpose: Purpose::Locks,
        cost: CostDifference {
            us_per_response,
            difference_us: MeanInterval {
                mean: us_per_response[0] - us_per_response[1],
                low: Some(low),
                high: Some(50.0),
            },
            share: Some((us_per_response[0] - us_per_response[1]) / 30.0),
        },
    };
    difference.services = Some(ServiceDifference {
        us_per_response: [40.0, 10.0],
        difference_us: difference.difference_us,
        lines: vec![
            line("system call futex", [30.0, 5.0], 1.0),
            line("user java", [10.0, 5.0], -1.0),
        ],
        threads: threads([36.0, 8.0]),
    });
    let sentence = "In addition, services use 40.00 and 10.00 µs of CPU per response";
    let without = text(&record, ReportExtent::Brief);
    assert!(!without.contains(sentence), "{without}");
    record.conclusions.cpu_differences[0].confounders = vec![Confounder {
        what: ConfounderKind::ServiceCpu,
        per_response: [40.0, 10.0],
    }];
    let brief = text(&record, ReportExtent::Brief);
    let parts = format!("{sentence}: futex 30.00 and 5.00.");
    assert!(brief.contains(&parts), "{brief}");
    let full = text(&record, ReportExtent::Full);
    for row in [
        "µs of services per response",
        "java 5.00 10.00",
        "µs of services by thread",
        "GC Thread#* 2.00 4.00",
    ] {
        assert!(full.contains(row), "{full}");
    }
}

#[test]
fn libraries_are_named_with_subjects_that_lack_them() {
    // Method: a library that both sides use; one that only the costlier side uses.
    let library = "user libssl.so.3";
    let mut record = sampled(Purpose::Libraries, library);
    let both = text(&record, ReportExtent::Brief);
    let sentence = "Of the difference, 100 % is libraries (libssl.so.3).";
    assert!(both.contains(sentence), "{both}");
    let line = &mut record.conclusions.cpu_differences[0].lines[0];
    line.cost.us_per_response = [3.0, 0.0];
    let costlier = text(&record, ReportExtent::Brief);
    let part = "libraries (libssl.so.3, of which old has no sample).";
    assert!(costlier.contains(part), "{costlier}");
}

#[test]
fn a_call_is_absent_only_if_calls_were_counted() {
    // Method: one side has no sample of a call; its calls were not counted, were 0, and were 1.
    let report = |calls: Option<f64>| {
        let mut record = sampled(Purpose::Files, "system call openat");
        let difference = &mut record.conclusions.cpu_differences[0];
        difference.lines[0].cost.us_per_response = [3.0, 0.0];
        let counted = calls.map(|calls| CountDifference {
            values: [101.0, calls],
            ..a_hundred_more("openat")
        });
        difference.system_calls = counted.into_iter().collect();
        text(&record, ReportExtent::Brief)
    };
    for (calls, part) in [
        (None, "files (openat, of which old has no sample)."),
        (Some(0.0), "files (openat, which old does not call)."),
        (Some(1.0), "files (openat)."),
    ] {
        let report = report(calls);
        assert!(report.contains(part), "{report}");
    }
}

#[test]
fn notes_about_samples_name_the_subjects_that_are_shown() {
    // Method: a subject and a load that the report does not show, with functions without names and
    // lost samples, next to ones that it shows.
    let mut record = sampled(Purpose::Files, "system call openat");
    let ledgers = &mut record.conclusions.cpu_ledgers;
    ledgers[1].without_symbols = Some(0.3);
    let mut other = ledgers[0].clone();
    (other.without_symbols, other.lost, other.is_kernel_split) = (Some(0.9), 5, false);
    let elsewhere = CpuLedger {
        load: "large".to_owned(),
        ..other.clone()
    };
    other.subject = "third".to_owned();
    ledgers.extend([other, elsewhere]);
    let third = crate::support::subject("third");
    record.measured.subjects.push(third);
    let full = text(&record, ReportExtent::Full);
    assert!(full.contains("up to 30 % of new ("), "{full}");
    for absent in ["% of third", "% of old", "samples were lost", "is one line"] {
        assert!(!full.contains(absent), "{absent}: {full}");
    }
}

#[test]
fn a_note_marks_interrupts_on_shared_cpus() {
    // Method: interrupts on CPUs that servers and generator share, and on separate CPUs; another
    // purpose on shared CPUs.
    let mut record = sampled(Purpose::Interruptions, "interrupts");
    let note = "The servers share their CPUs with the generator, so their interrupts and";
    for extent in [ReportExtent::Brief, ReportExtent::Full] {
        record.conclusions.scope.cpu_sharing = Some(CpuSharing::Shared);
        let shared = text(&record, extent);
        assert!(shared.contains(note), "{shared}");
        record.conclusions.scope.cpu_sharing = Some(CpuSharing::Apart);
        let apart = text(&record, extent);
        assert!(!apart.contains("share their CPUs"), "{apart}");
    }
    let mut files = sampled(Purpose::Files, "system call openat");
    files.conclusions.scope.cpu_sharing = Some(CpuSharing::Shared);
    let files = text(&files, ReportExtent::Full);
    assert!(!files.contains("share their CPUs"), "{files}");
}

#[test]
fn uncertain_starts_are_only_in_full_reports() {
    // Method: starts that differ, but the interval of every purpose includes 0.
    let mut record = sampled(Purpose::Locks, "system call futex");
    let mut difference = record.conclusions.cpu_differences[0].clone();
    difference.starts = Some([2, 22]);
    difference.purposes[0].cost.difference_us.low = Some(-1.0);
    record.conclusions.start_differences = vec![difference];
    let heading = "Why: starts of new that differ";
    let brief = text(&record, ReportExtent::Brief);
    assert!(!brief.contains(heading), "{brief}");
    assert!(text(&record, ReportExtent::Full).contains(heading));
}

#[test]
fn a_terminal_explains_fewer_pairs_of_a_study_that_compares_many() {
    // Method: six pairs, and five.
    let mut record = sampled(Purpose::Files, "system call openat");
    let first = record.conclusions.cpu_differences[0].clone();
    let pairs = (0..6).map(|number| CpuDifference {
        subject: format!("new-{number}"),
        ..first.clone()
    });
    record.conclusions.cpu_differences = pairs.collect();
    let six = text(&record, ReportExtent::Brief);
    assert_eq!(six.matches("Why: ").count(), 1, "{six}");
    let full = text(&record, ReportExtent::Full);
    assert!(full.contains("and explains 5 more pairs."), "{full}");
    record.conclusions.cpu_differences.pop();
    let five = text(&record, ReportExtent::Brief);
    assert_eq!(five.matches("Why: ").count(), 3, "{five}");
    let note = "`--html FILE` explains 2 more pairs.";
    assert!(five.contains(note), "{five}");
}
