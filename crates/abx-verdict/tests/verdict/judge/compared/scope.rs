//! The scope of a record: what it did not vary, and the error over all of its families.

use abx_evidence::Measured;
use abx_evidence::record::{AgentPace, AgentRecord, FleetRecord, MachineRole, OnLoss};
use abx_verdict::{CpuSharing, Route, Scope, StudyRecord, judge};

use abx_fixtures::{pair, run, two_loads};

fn scope(record: &Measured) -> Scope {
    judge(record).scope
}

#[test]
fn a_study_of_servers_that_abx_started_is_on_loopback_with_processors_of_its_own() {
    // Method: the usual pair on CPUs 0 and 1, whose cores the record describes in three ways
    // or not at all; then both sides on one CPU.
    let mut record = pair();
    let loopback = scope(&record);
    assert_eq!(loopback.routes, [Route::Loopback]);
    assert_eq!(
        (loopback.subject_cpus, loopback.generator_cpus),
        (Some(1), 1)
    );
    assert_eq!((loopback.started, loopback.left_running), (2, 0));
    assert_eq!(loopback.cpu_sharing, None);
    assert!(
        serde_json::to_value(&loopback)
            .unwrap()
            .get("agents")
            .is_none()
    );
    for (cores, expected) in [
        (vec![vec![0], vec![1]], CpuSharing::Apart),
        (vec![vec![0, 1]], CpuSharing::Siblings),
        (vec![vec![0, 2], vec![1, 3]], CpuSharing::Apart),
    ] {
        record.machine.cores = Some(cores);
        assert_eq!(scope(&record).cpu_sharing, Some(expected));
    }
    record.settings.generator_cpus = vec![0];
    assert_eq!(scope(&record).cpu_sharing, Some(CpuSharing::Shared));
}

#[test]
fn a_route_is_as_the_record_states() {
    // Method: the server of a run at addresses of every kind, with the record's statement of
    // its location, which old records do not have.
    let here = [MachineRole::Subjects, MachineRole::Generator];
    let elsewhere = [MachineRole::Generator];
    for (url, connected_to, roles, expected) in [
        (
            "http://a/",
            Some("127.0.0.2:80"),
            &here[..],
            Route::Loopback,
        ),
        ("http://a/", Some("[::1]:80"), &here, Route::Loopback),
        ("http://a/", Some("192.0.2.1:80"), &here, Route::OwnAddress),
        (
            "http://a/",
            Some("192.0.2.1:80"),
            &elsewhere,
            Route::Network,
        ),
        ("http://a/", Some("192.0.2.1:80"), &[], Route::NotRecorded),
        ("http://127.0.0.1:8080/x", None, &[], Route::Loopback),
        ("http://127.0.0.1", None, &[], Route::Loopback),
        ("http://a/", None, &here, Route::NotRecorded),
        (
            "http://a/",
            Some("unix:/run/x.sock"),
            &here,
            Route::UnixSocket,
        ),
    ] {
        let mut record = run();
        record.subjects[0].address = Some(url.to_owned());
        record.subjects[0].connected_to = connected_to.map(str::to_owned);
        record.machine.roles = roles.into();
        let scope = judge(&record).scope;
        assert_eq!(scope.routes, [expected], "{url} {connected_to:?} {roles:?}");
        assert_eq!((scope.started, scope.left_running), (0, 1));
        assert_eq!(scope.subject_cpus, None);
    }
    // The record does not say which of two servers at addresses is on this machine.
    let mut record = pair();
    for (subject, there) in record
        .subjects
        .iter_mut()
        .zip(["192.0.2.1:80", "127.0.0.1:80"])
    {
        subject.address = Some("http://a/".to_owned());
        subject.connected_to = Some(there.to_owned());
    }
    record.machine.roles = here.into();
    let scope = scope(&record);
    assert_eq!(scope.routes, [Route::NotRecorded, Route::Loopback]);
}

#[test]
fn files_are_warm_or_cold_as_the_loads_state() {
    // Method: two loads, of which none, one and both drop files from memory.
    let mut record = two_loads();
    let files = |record: &Measured| {
        let scope = scope(record);
        (scope.warm_caches, scope.cold_files)
    };
    assert_eq!(files(&record), (true, false));
    record.loads[0].settings.cold_cache = true;
    assert_eq!(files(&record), (true, true));
    record.loads[1].settings.cold_cache = true;
    assert_eq!(files(&record), (false, true));
}

#[test]
fn each_load_with_a_claim_is_a_family() {
    // Method: one load, two, and two of which one has no claim; by hand 1 − 0.95² and
    // 2 · 5 %.
    let families = |record: &Measured| judge(record).families;
    assert_eq!(families(&pair()).count, 1);
    let two = families(&two_loads());
    assert_eq!(two.count, 2);
    assert!((two.false_if_independent - 0.0975).abs() < 1e-12);
    assert!((two.false_at_most - 0.1).abs() < 1e-12);
    let mut record = two_loads();
    for part in record
        .blocks
        .iter_mut()
        .flat_map(|block| &mut block.loads[..1])
    {
        let slices = part.rounds.iter_mut().flat_map(|round| &mut round.slices);
        slices.for_each(|slice| abx_fixtures::response(slice, &[]));
    }
    assert_eq!(families(&record).count, 1);
}

/// An agent that was present throughout.
pub(crate) fn agent(slot: u32, is_here: bool) -> AgentRecord {
    AgentRecord {
        slot,
        name: format!("agent-{slot}"),
        build: "0123456789abcdef".to_owned(),
        kernel: None,
        cpu_model: None,
        is_here,
        threads: 2,
        clock_offset_ns: -3_000_000_000,
        clock_bound_ns: 27_000,
        slices: 40,
        late_ns_max: 100_000,
        late_slices: 0,
        pace: AgentPace::default(),
        lost: None,
        lost_unix_ms: None,
    }
}

/// Which agents were on this machine, by slot.
pub(crate) fn fleet(are_here: &[bool]) -> FleetRecord {
    FleetRecord {
        bus: "nats".to_owned(),
        bus_version: Some("2.9.10".to_owned()),
        on_loss: OnLoss::Abort,
        partial: false,
        collected: false,
        agents: (1..)
            .zip(are_here)
            .map(|(slot, is_here)| agent(slot, *is_here))
            .collect(),
    }
}

#[test]
fn load_from_agents_comes_over_the_network_unless_all_are_on_this_machine() {
    // Method: the server of a run on the record's machine and elsewhere, loaded by agents on
    // that machine and on others.
    for (url, roles, are_here, expected) in [
        (
            "http://192.0.2.1/",
            &[MachineRole::Subjects][..],
            &[true, true][..],
            Route::OwnAddress,
        ),
        (
            "http://192.0.2.1/",
            &[MachineRole::Subjects],
            &[true, false],
            Route::Network,
        ),
        ("http://192.0.2.1/", &[], &[true, true], Route::Network),
        (
            "http://127.0.0.1/",
            &[MachineRole::Subjects],
            &[true, true],
            Route::Loopback,
        ),
    ] {
        let mut record = run();
        record.subjects[0].address = Some(url.to_owned());
        record.subjects[0].connected_to = None;
        record.machine.roles = roles.to_vec();
        record.fleet = Some(fleet(are_here));
        let file = serde_json::to_string(&StudyRecord::judged(record.clone())).unwrap();
        let again: StudyRecord = serde_json::from_str(&file).unwrap();
        assert_eq!(again.measured.fleet, record.fleet);
        let written: serde_json::Value = serde_json::from_str(&file).unwrap();
        let scope_written = &written["conclusions"]["scope"];
        assert_eq!(scope_written["agents"], are_here.len(), "{scope_written}");
        let scope = scope(&record);
        assert_eq!(
            (scope.routes, scope.agents),
            (vec![expected], are_here.len()),
            "{url}"
        );
    }
}
