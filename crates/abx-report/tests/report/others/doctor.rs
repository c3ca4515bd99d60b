//! Reports about machines, from records with fixed readings and the checks that follow from them.

use abx_evidence::OutputKind;
use abx_report::{Style, doctor_text};
use abx_verdict::doctor::{
    DoctorRecord, ForeignCpu, GeneratorCeiling, Noise, Pressure, Quota, Readings, Sampling,
    SamplingReach, examine,
};
use insta::assert_snapshot;
use proptest::prelude::*;

/// A physical machine with four cores and no other programs.
fn good() -> DoctorRecord {
    let readings = Readings {
        cpu_model: Some("A CPU @ 3.00GHz".to_owned()),
        kernel: Some("6.12.1".to_owned()),
        cpus_online: Some(8),
        cpus: (0..8).collect(),
        cores: (0..4).map(|core| vec![core, core + 4]).collect(),
        subject_cpus: vec![0, 4, 1, 5],
        generator_cpus: vec![2, 6, 3, 7],
        quota: Some(Quota::Unlimited),
        memory_bytes: Some(16_000_000_000),
        memory_available_bytes: Some(14_000_000_000),
        is_virtual: Some(false),
        clocksource: Some("tsc".to_owned()),
        clocksources: Some(vec!["tsc".to_owned(), "hpet".to_owned()]),
        clock_reading_ns: 18.2,
        governors: Some(vec!["performance".to_owned()]),
        descriptors_soft: 1_024,
        descriptors_hard: 1_048_576,
        local_ports: Some((32_768, 60_999)),
        somaxconn: Some(4_096),
        tcp_max_syn_backlog: Some(4_096),
        pressure: Some(Pressure {
            cpu: 0.01,
            memory: 0.0,
            io: 0.0,
        }),
        sampling: Some(sampling(SamplingReach::All, None)),
        ..Readings::default()
    };
    let ceiling = |keep_alive, rate| GeneratorCeiling {
        keep_alive,
        connections: 50,
        throughput_per_s: Some(rate),
        generator_busy: Some(0.98),
        server_busy: Some(0.84),
        ok: 500_000,
        failed: 0,
        measured_s: 2.0,
    };
    let mut record = DoctorRecord {
        head: OutputKind::Doctor.into(),
        abx_version: "0.1.0".to_owned(),
        started_unix_ms: 1_750_000_000_000,
        elapsed_s: 29.4,
        interrupted: false,
        readings,
        other_programs: Vec::new(),
        elsewhere: Some(ForeignCpu {
            span_s: 29.1,
            steal: Some(0.0),
            foreign: Some(0.004),
        }),
        noise: Some(Noise {
            blocks: 14,
            connections: 50,
            block_load_s: Some(0.4),
            ratio: Some(1.001),
            low: Some(0.996),
            high: Some(1.006),
            spread: Some(0.0086),
            detectable: Some(0.0094),
            blocks_for_margin: Some(3),
            generator_wait: Some(0.0004),
        }),
        ceilings: vec![ceiling(true, 251_234.0), ceiling(false, 41_234.0)],
        refusal: None,
        checks: Vec::new(),
    };
    examine(&mut record);
    record
}

/// Sampling with this reach and its limit.
fn sampling(reach: SamplingReach, limit: Option<&str>) -> Sampling {
    Sampling {
        reach,
        limit: limit.map(str::to_owned),
        calls_limit: None,
        has_kernel_names: limit.is_none(),
        perf_event_paranoid: Some(2),
        kptr_restrict: Some(1),
    }
}

/// A small container on a busy host.
fn poor() -> DoctorRecord {
    let mut record = good();
    let readings = &mut record.readings;
    readings.cpus_online = Some(2);
    readings.cpus = vec![1];
    readings.cores = vec![vec![1]];
    readings.subject_cpus = vec![1];
    readings.generator_cpus = vec![1];
    readings.quota = Some(Quota::Cpus(0.5));
    readings.memory_available_bytes = Some(300_000_000);
    readings.is_virtual = Some(true);
    readings.clocksource = Some("hpet".to_owned());
    readings.clock_reading_ns = 1_234.0;
    readings.governors = None;
    readings.descriptors_hard = 4_096;
    readings.local_ports = Some((1_024, 65_535));
    readings.subject_ports_refused = Some("too low".to_owned());
    readings.somaxconn = Some(128);
    readings.pressure = Some(Pressure {
        cpu: 0.41,
        memory: 0.0,
        io: 0.12,
    });
    let limit = "kernel.perf_event_paranoid is 2, and this process has no CAP_PERFMON";
    readings.sampling = Some(sampling(SamplingReach::OwnCode, Some(limit)));
    record.elsewhere = Some(ForeignCpu {
        span_s: 30.0,
        steal: Some(0.123),
        foreign: None,
    });
    record.noise = Some(Noise {
        blocks: 9,
        spread: Some(0.061),
        detectable: Some(0.069),
        blocks_for_margin: Some(49),
        low: Some(1.004),
        high: Some(1.09),
        generator_wait: Some(0.21),
        ..Noise::default()
    });
    record.ceilings[1].failed = 12;
    examine(&mut record);
    record
}

#[test]
fn a_good_machine() {
    // Method: a machine without a weakness.
    assert_snapshot!(doctor_text(&good(), &Style::plain()));
}

#[test]
fn a_poor_machine() {
    // Method: a machine with a weakness of nearly every kind.
    assert_snapshot!(doctor_text(&poor(), &Style::plain()));
}

#[test]
fn a_poor_machine_in_ascii() {
    // Method: the poor machine in ASCII.
    let style = Style {
        unicode: false,
        ..Style::plain()
    };
    let text = doctor_text(&poor(), &style);
    assert!(text.is_ascii(), "{text}");
    assert!(text.contains("\n            > "), "{text}");
}

#[test]
fn stopped_before_any_measurement() {
    // Method: an immediate interruption. The report invents no figure.
    let mut record = good();
    record.interrupted = true;
    record.noise = None;
    record.ceilings.clear();
    examine(&mut record);
    let text = doctor_text(&record, &Style::plain());
    let top: Vec<&str> = text.lines().take(6).collect();
    assert_snapshot!(top.join("\n"));
}

#[test]
fn colours_only_repeat_statuses() {
    // Method: the coloured text without its colours, compared with the plain text.
    let style = Style {
        color: true,
        ..Style::plain()
    };
    let colored = doctor_text(&poor(), &style);
    assert!(colored.contains("\x1b[1;31mstops\x1b[0m "), "{colored}");
    let codes = [
        "\x1b[1;31m",
        "\x1b[1;32m",
        "\x1b[1;33m",
        "\x1b[1m",
        "\x1b[0m",
    ];
    let bare = codes
        .iter()
        .fold(colored, |text, code| text.replace(code, ""));
    assert_eq!(bare, doctor_text(&poor(), &Style::plain()));
}

proptest! {
    #[test]
    fn a_doctor_report_fits(
        unicode in any::<bool>(),
        width in 60_usize..200,
        words in any::<[String; 3]>(),
        numbers in prop::collection::vec(any::<f64>(), 5),
        counts in any::<[u64; 4]>(),
    ) {
        // Method: any words and figures, in Unicode and ASCII and many widths.
        let mut record = poor();
        let [kernel, source, refusal] = words;
        record.refusal = Some(refusal);
        record.readings.kernel = Some(kernel);
        record.readings.clocksource = Some(source);
        record.readings.clock_reading_ns = numbers[0];
        record.readings.descriptors_hard = counts[0];
        record.readings.memory_bytes = Some(counts[1]);
        record.elapsed_s = numbers[1];
        let noise = record.noise.as_mut().expect("it was measured");
        (noise.spread, noise.detectable) = (Some(numbers[2]), Some(numbers[3]));
        record.ceilings[0].throughput_per_s = Some(numbers[4]);
        record.ceilings[0].failed = counts[2];
        examine(&mut record);
        let style = Style { color: false, unicode, width };
        for line in doctor_text(&record, &style).lines() {
            prop_assert!(line.chars().count() <= width, "{width}: {line}");
            prop_assert!(!line.contains(char::is_control), "{line:?}");
        }
    }
}
