//! The record of a study: its data before the first block, and the responses of subjects.

use std::time::{SystemTime, UNIX_EPOCH};

use abx_evidence::Measured;
use abx_evidence::record::{
    Machine, MachineRole, ResponseRecord, Restarted, ServiceRecord, Settings, StudyEnd,
    SubjectRecord, image_of,
};
use abx_study::Study;
use abx_study::fault::Fault;
use abx_study::load_records::load_records;
use abx_study::service::{ServiceRestart, StudyService};
use abx_study::subject::{Source, Subject};

use crate::measure::machine;
use crate::measure::planned_load::SubjectPlans;
use crate::process::container::image_digest;
use crate::process::verify::Verified;
use crate::run_study::context::StudyContext;

/// Notes the responses of these subjects. A body that differs from that of an earlier block varies
/// from start to start, and loses its hash.
pub(super) fn note_responses(record: &mut Measured, names: &[String], loads: &[SubjectPlans]) {
    for (load, started) in record.loads.iter_mut().zip(loads) {
        for (name, verified) in names.iter().zip(&started.verified) {
            let mut subjects = record.subjects.iter_mut();
            let Some(subject) = subjects.find(|subject| subject.name == *name) else {
                continue;
            };
            // The digest of an image shows more than a server's name for itself.
            if image_of(&subject.command).is_none() {
                let server = verified.iter().find_map(Verified::server);
                subject.version = server.map(str::to_owned);
            }
            let responses: Vec<ResponseRecord> = verified.iter().map(Verified::record).collect();
            let known = load
                .responses
                .entry(subject.name.clone())
                .or_insert_with(|| responses.clone());
            for (known, response) in known.iter_mut().zip(responses) {
                if known.sha256 != response.sha256 {
                    known.sha256 = None;
                }
            }
        }
    }
}

/// The record of a study that has not measured anything yet.
pub(super) fn new_record(study: &Study, version: &str, context: &StudyContext) -> Measured {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ms = now.unwrap_or_default().as_millis();
    Measured {
        abx_version: version.to_owned(),
        command: study.command.clone(),
        study: study.name.clone(),
        label: study.label.clone(),
        started_unix_ms: u64::try_from(now_ms).unwrap_or(u64::MAX),
        elapsed_s: 0.0,
        seed: study.seed,
        settings: Settings {
            baseline: study.baseline().to_owned(),
            contrasts: study.contrasts.clone(),
            aa: study.aa,
            margin: study.margin.share(),
            budget_s: study.budget().as_secs_f64(),
            blocks: study.blocks,
            threads: context.generator.threads(),
            subject_cpus: context.split.subjects.clone(),
            generator_cpus: context.split.generator.clone(),
            waiting: context.waiting.clone(),
        },
        machine: machine_of(study, context),
        subjects: study.subjects.iter().map(subject_record).collect(),
        services: study.services.iter().map(service_record).collect(),
        skipped: study.skipped.clone(),
        loads: load_records(&study.subjects, &study.loads),
        faults: study.faults.iter().map(Fault::record).collect(),
        fleet: context.generator.fleet(),
        identity: None,
        continuations: Vec::new(),
        end: StudyEnd::Running,
        blocks: Vec::new(),
    }
}

/// This machine, without the role of the generator if other machines generate the load.
fn machine_of(study: &Study, context: &StudyContext) -> Machine {
    let subjects = study.subjects.iter().map(|subject| &subject.source);
    let mut machine = machine::describe(&context.cpus, context.descriptors, subjects);
    if context.generator.fleet().is_some() {
        machine.roles.retain(|role| *role != MachineRole::Generator);
    }
    machine
}

fn subject_record(subject: &Subject) -> SubjectRecord {
    let (command, target) = match &subject.source {
        Source::Command(launch) => (launch.words(), None),
        Source::Address(target) => (Vec::new(), Some(target)),
    };
    let version = image_of(&command).and_then(image_digest);
    SubjectRecord {
        name: subject.name.clone(),
        command,
        address: target.map(|target| target.url.clone()),
        connected_to: target.map(|target| target.address.to_string()),
        version,
        stand_in_for: subject.stand_in_for.clone(),
        http2: subject.http2,
        revision: subject.revision.clone(),
    }
}

fn service_record(service: &StudyService) -> ServiceRecord {
    ServiceRecord {
        name: service.name.clone(),
        command: service.launch().words(),
        restart: match service.restart {
            ServiceRestart::Study => Restarted::Study,
            ServiceRestart::Block => Restarted::Block,
        },
    }
}
