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

/// A study whose subjects are looked at.
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
    /// Where installations and builds are.
    pub cache: &'a Path,
    /// Receives each subject after its check.
    pub watch: &'a mut dyn FnMut(&CheckedSubject),
    /// Given a handle, before anything is started, that ends the check.
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

/// One look at the subjects of one study.
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
    /// Those that do not, and whether they are there.
    absent: BTreeMap<String, SubjectStatus>,
    /// The first subject that was ready, and its response to each request.
    first: Option<(String, Vec<Verified>)>,
}

/// The results of a subject that is ready.
struct Seen {
    ready_s: Option<f64>,
    rss_bytes: Option<u64>,
    responses: Vec<Verified>,
}

/// Starts every subject alone, verifies its response to each request of the study, and stops it.
/// Ends early, with the results until then, when it is stopped.
///
/// # Errors
/// [`CheckError`] when abx itself cannot begin. The problem of a subject is in its
/// [`CheckedSubject`].
pub fn check(
    study: &CheckedStudy,
    around: &mut CheckEnvironment,
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
    (around.on_stopper)(engine.stopper());
    let mut look = SubjectChecks {
        study,
        provisions: provision::survey(&study.file, &study.folder, around.cache),
        program: around.program,
        keeper_arguments: around.keeper_arguments,
        cpus,
        descriptors,
        stopper: engine.stopper(),
        services: Vec::new(),
        absent: BTreeMap::new(),
        first: None,
    };
    let mut checked = Vec::new();
    let mut has_ended = |look: &SubjectChecks, checked_subject: CheckedSubject| {
        let has_ended = look.stopper.is_stopped();
        if !has_ended {
            (around.watch)(&checked_subject);
            checked.push(checked_subject);
        }
        has_ended
    };
    for service in &study.file.services {
        let checked_subject = look.at_service(service);
        if has_ended(&look, checked_subject) {
            break;
        }
    }
    for subject in &study.file.subjects {
        let checked_subject = look.at(subject);
        if has_ended(&look, checked_subject) {
            break;
        }
    }
    // Later ones may need those before them until their end.
    while let Some(service) = look.services.pop() {
        service.stop();
    }
    Ok(checked)
}

impl SubjectChecks<'_> {
    fn at(&mut self, spec: &SubjectSpec) -> CheckedSubject {
        let mut checked = self.unseen(&spec.name);
        let lacks = || self.lacks(spec).or_else(|| unbuilt(spec));
        if let Some((status, why)) = self.missing(&spec.name).or_else(lacks) {
            (checked.status, checked.why) = (status, Some(why));
            return checked;
        }
        match self.see(spec) {
            Ok(seen) => {
                (checked.ready_s, checked.rss_bytes) = (seen.ready_s, seen.rss_bytes);
                self.first
                    .get_or_insert((spec.name.clone(), seen.responses));
            }
            Err(why) => (checked.status, checked.why) = (SubjectStatus::Broken, Some(why)),
        }
        checked
    }

    /// Starts a service, which then runs on.
    fn at_service(&mut self, spec: &ServiceSpec) -> CheckedSubject {
        let mut checked = self.unseen(&spec.name);
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

    fn unseen(&self, name: &str) -> CheckedSubject {
        CheckedSubject {
            study: self.study.file.name.clone(),
            subject: name.to_owned(),
            status: SubjectStatus::Ready,
            ready_s: None,
            rss_bytes: None,
            why: None,
        }
    }

    /// The service that a subject cannot do without and that is not there.
    fn lacks(&self, spec: &SubjectSpec) -> Option<(SubjectStatus, String)> {
        let RunSpec::Launch(launch) = &spec.server.run else {
            return None;
        };
        let mut services = self.study.file.services.iter();
        let service = services.find(|service| {
            let is_absent = self.absent.contains_key(&service.name);
            is_absent && names(launch, &service.name, &service.launch().ports)
        })?;
        let why = format!("needs the service {}, which does not run", service.name);
        Some((self.absent[&service.name], why))
    }

    /// The missing need, if there is one.
    fn missing(&self, name: &str) -> Option<(SubjectStatus, String)> {
        let provision = self
            .provisions
            .iter()
            .find(|provision| provision.subject() == name)?;
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

    /// Starts it, sends it each request, and stops it.
    fn see(&self, spec: &SubjectSpec) -> Result<Seen, String> {
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
        let ended = process.stop();
        let responses = responses.map_err(|error| error.to_string())?;
        self.compare(spec, &responses)?;
        Ok(Seen {
            ready_s: ended.ready_s,
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

    /// Gives a server the results of its installation; its program is there then.
    fn equip(&self, name: &str, source: &mut Source) -> Result<(), String> {
        if let Some(had) = self
            .provisions
            .iter()
            .find(|provision| provision.subject() == name)
        {
            had.equip(source);
        }
        match source {
            Source::Command(launch) => match launch.missing_program() {
                Some(program) => Err(format!(
                    "the program `{program}` is missing or not executable"
                )),
                None => Ok(()),
            },
            Source::Address(_) => Ok(()),
        }
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

    /// Its response to every request of every load, once it is ready.
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

    /// Holds its responses against those of the first subject that was ready.
    fn compare(&self, spec: &SubjectSpec, responses: &[Verified]) -> Result<(), String> {
        let loads = self.study.file.loads.iter();
        let expected = loads.flat_map(|load| load.requests.iter().map(|_| &load.body));
        for (place, (expect, response)) in expected.zip(responses).enumerate() {
            let mut named = vec![(spec.name.as_str(), response)];
            if let Some((name, first)) = &self.first
                && let Some(other) = first.get(place)
            {
                named.insert(0, (name, other));
            }
            agree(&named, expect).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// Why a subject that is a revision is not started: a comparison builds it first.
fn unbuilt(spec: &SubjectSpec) -> Option<(SubjectStatus, String)> {
    let revision = spec.server.revision.as_ref()?;
    let why = format!(
        "is built from the revision {} when `abx compare` runs the study",
        revision.name
    );
    Some((SubjectStatus::Skipped, why))
}
