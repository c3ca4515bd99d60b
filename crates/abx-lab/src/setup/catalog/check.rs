//! Checks which services and subjects of a study start here and respond correctly. Services start
//! first, and run meanwhile. Each subject is started alone, receives each request of its loads
//! once, and is stopped; none is loaded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use abx_engine::{Engine, EngineError, EnginePlan, Patience, Stopper};
use abx_evidence::Wait;
use abx_sys::limits::DescriptorLimit;
use abx_verdict::catalog::{CheckedSubject, SubjectStatus};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::process::pending::unwatched;
use crate::process::probe::Probe;
use crate::process::server_process::{ServerProcess, ServerProcessError, StartContext};
use crate::process::service_process::ServiceProcess;
use crate::process::verify::{Verified, agree, verify};
use crate::setup::provision::{self, Provision};
use abx_study::placeholder::FilledWord;
use abx_study::service::names;
use abx_study::study_file::{RunSpec, ServiceSpec, StudyFile, SubjectSpec};
use abx_study::subject::{Source, Subject};

/// A study whose subjects are checked.
#[derive(Debug)]
pub struct CheckedStudy {
    pub file: StudyFile,
    pub folder: PathBuf,
}

/// The environment of a check.
pub struct CheckEnvironment<'a> {
    /// The program that becomes a keeper when given `keeper_arguments`.
    pub program: &'a Path,
    pub keeper_arguments: &'a [&'a str],
    /// The folder of installations and builds.
    pub cache: &'a Path,
    /// Receives each subject after its check.
    pub watch: &'a mut dyn FnMut(&CheckedSubject),
    /// Receives a handle that ends the check, before anything is started.
    pub on_stopper: &'a mut dyn FnMut(Stopper),
}

/// Why nothing can be checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error("cannot {what}: {source}")]
    System {
        what: &'static str,
        source: std::io::Error,
    },
    #[error("{0}")]
    Engine(#[from] EngineError),
}

/// The checks of the subjects of one study.
struct SubjectChecks<'a> {
    study: &'a CheckedStudy,
    provisions: Vec<Provision>,
    program: &'a Path,
    keeper_arguments: &'a [&'a str],
    cpus: Vec<usize>,
    descriptors: DescriptorLimit,
    stopper: Stopper,
    /// The services that run, in the order of the study.
    services: Vec<ServiceProcess>,
    /// The services that do not run, and why.
    absent: BTreeMap<String, SubjectStatus>,
    /// The first subject that was ready, and its response to each request.
    first: Option<(String, Vec<Verified>)>,
}

/// The results of a subject that is ready.
struct ReadySubject {
    ready_s: Option<f64>,
    rss_bytes: Option<u64>,
    responses: Vec<Verified>,
}

/// Starts every subject alone, verifies its response to each request of the study, and stops it.
/// A stop ends the check early, with the results until then.
///
/// # Errors
/// [`CheckError`] if abx itself cannot begin. The problem of a subject is in its
/// [`CheckedSubject`].
pub fn check(
    study: &CheckedStudy,
    environment: &mut CheckEnvironment,
) -> Result<Vec<CheckedSubject>, CheckError> {
    let prepare = |what| move |source| CheckError::System { what, source };
    let descriptors = abx_sys::limits::raise_descriptor_limit()
        .map_err(prepare("raise the limit of file descriptors"))?;
    let cpus = abx_sys::cpus::allowed().map_err(prepare("list the CPUs"))?;
    let engine = Engine::start(&EnginePlan {
        threads: 1,
        cpus: cpus.clone(),
        wait: Wait::Asleep,
    })?;
    (environment.on_stopper)(engine.stopper());
    let mut checks = SubjectChecks {
        study,
        provisions: provision::survey(&study.file, &study.folder, environment.cache),
        program: environment.program,
        keeper_arguments: environment.keeper_arguments,
        cpus,
        descriptors,
        stopper: engine.stopper(),
        services: Vec::new(),
        absent: BTreeMap::new(),
        first: None,
    };
    let mut results = Vec::new();
    let mut add = |checks: &SubjectChecks, result: CheckedSubject| {
        let is_stopped = checks.stopper.is_stopped();
        if !is_stopped {
            (environment.watch)(&result);
            results.push(result);
        }
        is_stopped
    };
    for service in &study.file.services {
        let result = checks.check_service(service);
        if add(&checks, result) {
            break;
        }
    }
    for subject in &study.file.subjects {
        let result = checks.check_subject(subject);
        if add(&checks, result) {
            break;
        }
    }
    // In reverse order: a service may need earlier ones until its end.
    while let Some(service) = checks.services.pop() {
        service.stop();
    }
    Ok(results)
}

impl SubjectChecks<'_> {
    fn check_subject(&mut self, spec: &SubjectSpec) -> CheckedSubject {
        let mut checked = self.result(&spec.name);
        let obstacle = self
            .missing(&spec.name)
            .or_else(|| self.lacks(spec))
            .or_else(|| unbuilt(spec));
        if let Some((status, why)) = obstacle {
            (checked.status, checked.why) = (status, Some(why));
            return checked;
        }
        match self.run_subject(spec) {
            Ok(ready) => {
                (checked.ready_s, checked.rss_bytes) = (ready.ready_s, ready.rss_bytes);
                self.first
                    .get_or_insert((spec.name.clone(), ready.responses));
            }
            Err(why) => (checked.status, checked.why) = (SubjectStatus::Broken, Some(why)),
        }
        checked
    }

    /// Starts a service, which continues to run.
    fn check_service(&mut self, spec: &ServiceSpec) -> CheckedSubject {
        let mut checked = self.result(&spec.name);
        let started = match self.missing(&spec.name) {
            Some(missing) => Err(missing),
            None => self
                .start_service(spec)
                .map_err(|why| (SubjectStatus::Broken, why)),
        };
        match started {
            Ok(service) => {
                checked.ready_s = service.ready_s();
                checked.rss_bytes = service.tree().and_then(|mut tree| tree.rss_bytes().ok());
                self.services.push(service);
            }
            Err((status, why)) => {
                (checked.status, checked.why) = (status, Some(why));
                self.absent.insert(spec.name.clone(), status);
            }
        }
        checked
    }

    /// The result of a subject or service without a problem, to be completed.
    fn result(&self, name: &str) -> CheckedSubject {
        CheckedSubject {
            study: self.study.file.name.clone(),
            subject: name.to_owned(),
            status: SubjectStatus::Ready,
            ready_s: None,
            rss_bytes: None,
            why: None,
        }
    }

    /// The service that a subject needs and that does not run, if there is one.
    fn lacks(&self, spec: &SubjectSpec) -> Option<(SubjectStatus, String)> {
        let RunSpec::Launch(launch) = &spec.server.run else {
            return None;
        };
        let mut services = self.study.file.services.iter();
        let service = services.find(|service| {
            let is_absent = self.absent.contains_key(&service.name);
            is_absent && names(launch, &service.name, &service.launch().ports)
        })?;
        let why = format!("needs the service {}, which is not running", service.name);
        Some((self.absent[&service.name], why))
    }

    /// The missing needs of a subject or service, if there are any.
    fn missing(&self, name: &str) -> Option<(SubjectStatus, String)> {
        let provision = self.provision(name)?;
        if provision.missing().is_empty() {
            return None;
        }
        let lines: Vec<String> = provision
            .missing()
            .iter()
            .map(|missing| format!("{}: {}", missing.what, missing.remedy))
            .collect();
        let status = match provision.brought() {
            Some(_) => SubjectStatus::Skipped,
            None => SubjectStatus::Missing,
        };
        Some((status, format!("needs {}", lines.join("; "))))
    }

    /// Starts a subject, sends it each request, and stops it.
    fn run_subject(&self, spec: &SubjectSpec) -> Result<ReadySubject, String> {
        let subject = spec.subject(&self.study.folder);
        let mut subject = subject.map_err(|error| error.to_string())?;
        self.equip(&spec.name, &mut subject.source)?;
        let mut random = ChaCha8Rng::seed_from_u64(self.seed());
        let mut draw = |below: u32| random.random_range(0..below.max(1));
        let services = self.leads();
        let mut start = self.start_context(&services, &mut draw);
        start.files = &self.study.file.files;
        let mut process = ServerProcess::start(&subject.name, &subject.source, &mut start)
            .map_err(|error| error.to_string())?;
        let responses = self.responses_of(&subject, &mut process);
        let rss_bytes = process.tree().and_then(|mut tree| tree.rss_bytes().ok());
        let end = process.stop();
        let responses = responses.map_err(|error| error.to_string())?;
        self.compare(spec, &responses)?;
        Ok(ReadySubject {
            ready_s: end.ready_s,
            rss_bytes,
            responses,
        })
    }

    fn start_service(&self, spec: &ServiceSpec) -> Result<ServiceProcess, String> {
        let mut service = spec.service(&self.study.folder);
        self.equip(&spec.name, &mut service.source)?;
        let mut random = ChaCha8Rng::seed_from_u64(self.seed());
        let mut draw = |below: u32| random.random_range(0..below.max(1));
        let services = self.leads();
        let mut start = self.start_context(&services, &mut draw);
        ServiceProcess::start(&service, &mut start, None).map_err(|error| error.to_string())
    }

    /// Gives a server the results of its installation, and checks that its program exists then.
    fn equip(&self, name: &str, source: &mut Source) -> Result<(), String> {
        if let Some(provision) = self.provision(name) {
            provision.equip(source);
        }
        if let Source::Command(launch) = source
            && let Some(program) = launch.missing_program()
        {
            return Err(format!(
                "the program `{program}` is missing or not executable"
            ));
        }
        Ok(())
    }

    fn provision(&self, name: &str) -> Option<&Provision> {
        let mut provisions = self.provisions.iter();
        provisions.find(|provision| provision.subject() == name)
    }

    fn seed(&self) -> u64 {
        self.study.file.seed.unwrap_or_default()
    }

    /// The placeholders of the services that run.
    fn leads(&self) -> Vec<FilledWord> {
        self.services
            .iter()
            .flat_map(ServiceProcess::leads)
            .collect()
    }

    fn start_context<'b>(
        &'b self,
        services: &'b [FilledWord],
        draw: &'b mut dyn FnMut(u32) -> u32,
    ) -> StartContext<'b> {
        StartContext {
            program: self.program,
            keeper_arguments: self.keeper_arguments,
            cpus: &self.cpus,
            descriptors: self.descriptors,
            files: &[],
            seed: self.seed(),
            services,
            outlives_main: false,
            stopper: self.stopper.clone(),
            draw,
            on_pending: &unwatched,
        }
    }

    /// The responses of a subject to every request of every load, once it is ready.
    fn responses_of(
        &self,
        subject: &Subject,
        process: &mut ServerProcess,
    ) -> Result<Vec<Verified>, ServerProcessError> {
        let seed = self.seed();
        let mut responses = Vec::new();
        for load in &self.study.file.loads {
            for request in &load.requests {
                let probe = Probe::of_load(load, request, subject, process.address, seed);
                if responses.is_empty() {
                    let first = probe.clone().readiness(subject);
                    let stopper = &self.stopper;
                    process.wait_ready(&subject.source, &first, stopper, None, &unwatched)?;
                }
                if self.stopper.is_stopped() {
                    return Ok(responses);
                }
                let patience = Patience {
                    timeout: load.timeout,
                    stopper: Some(&self.stopper),
                    on_wait: None,
                };
                match verify(&subject.name, process.address, &probe, patience) {
                    Err(error) if error.is_stop() => return Ok(responses),
                    Err(error) => return Err(error.with_output(|| process.output()).into()),
                    Ok(response) => responses.push(response),
                }
            }
        }
        Ok(responses)
    }

    /// Compares the responses of a subject with those of the first subject that was ready.
    fn compare(&self, spec: &SubjectSpec, responses: &[Verified]) -> Result<(), String> {
        let loads = self.study.file.loads.iter();
        let expected = loads.flat_map(|load| load.requests.iter().map(|_| &load.body));
        for (index, (expect, response)) in expected.zip(responses).enumerate() {
            let mut named = vec![(spec.name.as_str(), response)];
            if let Some((name, responses)) = &self.first
                && let Some(first) = responses.get(index)
            {
                named.insert(0, (name, first));
            }
            agree(&named, expect).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// Why a subject that is a revision is not started: only a comparison builds it.
fn unbuilt(spec: &SubjectSpec) -> Option<(SubjectStatus, String)> {
    let revision = spec.server.revision.as_ref()?;
    let why = format!(
        "is built from the revision {} when `abx compare` runs the study",
        revision.name
    );
    Some((SubjectStatus::Skipped, why))
}
