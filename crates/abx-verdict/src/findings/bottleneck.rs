//! The limit of a throughput: the subject, a service that it needs, the generator or none.

use std::collections::BTreeMap;

use crate::view::OfferView;
use crate::view::ceilings::Ceiling;
use crate::view::sums::Sums;
use abx_evidence::record::{LoadRecord, Settings};
use abx_evidence::{share, sum_known};
use abx_model::LoadShape;

/// A subject this busy is the limit, whatever the generator does.
pub(crate) const SUBJECT_BUSY: f64 = 0.95;
/// A generator this busy is the limit, unless the subject is.
pub(crate) const GENERATOR_BUSY: f64 = 0.90;

/// What limited the throughput of each subject under one load.
#[derive(Debug, Default)]
pub(crate) struct Bottleneck {
    pub(in crate::findings) subjects: BTreeMap<String, Busy>,
    /// The names of the services.
    pub(in crate::findings) services: Vec<String>,
    pub(in crate::findings) shape: LoadShape,
    /// The throughput that the generator gets from a server that does nothing, if that is the
    /// generator's limit.
    pub(in crate::findings) ceiling_per_s: Option<f64>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(in crate::findings) struct Busy {
    pub(in crate::findings) subject: Option<f64>,
    pub(in crate::findings) generator: Option<f64>,
    pub(in crate::findings) services: ServicesBusy,
    /// Verified responses per second.
    pub(in crate::findings) throughput_per_s: Option<f64>,
}

impl Busy {
    /// Whether the server's side was the limit: the subject, or a service that it needs.
    pub(in crate::findings) fn is_subject_bound(self) -> bool {
        let is_limit = |busy: f64| busy >= SUBJECT_BUSY;
        self.server_side().is_some_and(is_limit) || self.bound_service().is_some()
    }

    /// How busy the subject was, or all CPUs that it shares with services.
    pub(in crate::findings) fn server_side(self) -> Option<f64> {
        let both = self.subject.into_iter().chain(self.services.with_subject);
        both.reduce(f64::max)
    }

    /// The service that was the limit, by its index, and how busy it was.
    pub(in crate::findings) fn bound_service(self) -> Option<(usize, f64)> {
        let is_subject = self.subject.is_some_and(|busy| busy >= SUBJECT_BUSY);
        let busiest = self.services.busiest.filter(|_| !is_subject);
        busiest.filter(|(_, busy)| *busy >= SUBJECT_BUSY)
    }

    pub(in crate::findings) fn is_generator_bound(self) -> bool {
        !self.is_subject_bound() && self.generator.is_some_and(|busy| busy >= GENERATOR_BUSY)
    }
}

impl Bottleneck {
    pub(crate) fn of(view: &OfferView) -> Bottleneck {
        let settings = &view.study.settings;
        let cpus = settings.subject_cpus.len().max(1) as u64;
        let subjects = view.subjects.iter().map(|subject| {
            let sums = &subject.sums;
            let available = Available::of(settings, sums);
            let busy = |cpu: u64| share(cpu, available.subject_ns).map(|part| part.min(1.0));
            let total = sums.server_cpu_ns.and_then(|cpu| busy(cpu / cpus));
            let blocks = subject.blocks.iter();
            let thread_ns = sum_known(blocks.map(|block| block.readings()?.busiest_thread_ns));
            let thread = thread_ns.and_then(busy);
            let busy = Busy {
                subject: total.into_iter().chain(thread).reduce(f64::max),
                generator: share(generator_ns(sums, settings.threads), available.generator_ns)
                    .map(|part| part.min(1.0)),
                services: ServicesBusy::of(sums, available.subject_ns, cpus),
                throughput_per_s: subject.throughput(),
            };
            (subject.subject.to_owned(), busy)
        });
        let services = view.study.services.iter();
        let ceiling = Ceiling::of(view).filter(|ceiling| !is_of_its_server(view.load, ceiling));
        Bottleneck {
            subjects: subjects.collect(),
            services: services.map(|service| service.name.clone()).collect(),
            shape: view.load.settings.exchange.shape,
            ceiling_per_s: ceiling.map(|ceiling| ceiling.throughput_per_s),
        }
    }

    /// A subject's throughput if it used all of its time with as much CPU time per response.
    pub(crate) fn at_all_its_time(&self, subject: &str, throughput: f64) -> Option<f64> {
        let busy = self
            .busy(subject)
            .server_side()
            .filter(|busy| *busy > 0.0)?;
        Some(throughput / busy)
    }

    /// Whether the server's side of this subject was the limit.
    pub(crate) fn is_subject_bound(&self, subject: &str) -> bool {
        self.busy(subject).is_subject_bound()
    }

    /// How busy both sides were while this subject was loaded.
    pub(in crate::findings) fn busy(&self, subject: &str) -> Busy {
        self.subjects.get(subject).copied().unwrap_or_default()
    }
}

/// How busy services were while one subject was loaded.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::findings) struct ServicesBusy {
    /// The busiest service by its index, and how busy it or its busiest thread was.
    pub(in crate::findings) busiest: Option<(usize, f64)>,
    /// The share of the servers' CPUs that all services used.
    pub(in crate::findings) all: Option<f64>,
    /// The share that all services and the subject used.
    pub(in crate::findings) with_subject: Option<f64>,
}

impl ServicesBusy {
    fn of(sums: &Sums, available_ns: u64, cpus: u64) -> ServicesBusy {
        let of_one = |ns: u64| share(ns, available_ns).map(|part| part.min(1.0));
        let of_all = |ns: u64| of_one(ns / cpus);
        let threads = sums.services_thread_ns.iter();
        let services = sums.services_cpu_ns.iter().zip(threads).enumerate();
        let busy = services.filter_map(|(index, (cpu, thread))| {
            let total = cpu.and_then(of_all);
            let thread = thread.and_then(of_one);
            Some((index, total.into_iter().chain(thread).reduce(f64::max)?))
        });
        let cpu_ns = sums.all_services_cpu_ns();
        let cpu_ns = cpu_ns.filter(|_| !sums.services_cpu_ns.is_empty());
        let both = cpu_ns.zip(sums.server_cpu_ns);
        ServicesBusy {
            busiest: busy.reduce(|most, other| if other.1 > most.1 { other } else { most }),
            all: cpu_ns.and_then(of_all),
            with_subject: both
                .and_then(|(services, subject)| of_all(services.saturating_add(subject))),
        }
    }

    /// How busy the CPUs were, and the services' part of that. `None` unless the CPUs were full,
    /// the subject alone did not fill them, and the services used more than the subject.
    pub(in crate::findings) fn most_of_full(self, subject: Option<f64>) -> Option<[f64; 2]> {
        let (total, part) = (self.with_subject?, self.all?);
        let is_subject = subject.is_some_and(|busy| busy >= SUBJECT_BUSY);
        (total >= SUBJECT_BUSY && !is_subject && 2.0 * part > total).then_some([total, part])
    }
}

/// The time for which the generator used its CPU or waited for it: a generator that other
/// programs keep from its CPU is a limit too.
fn generator_ns(sums: &Sums, threads: usize) -> u64 {
    let waited = sums.generator_wait_ns.unwrap_or_default() / threads.max(1) as u64;
    sums.busiest_worker_ns.saturating_add(waited)
}

/// The time for which each CPU of both sides was available: time that the hypervisor took could
/// be neither used nor waited for.
struct Available {
    subject_ns: u64,
    generator_ns: u64,
}

impl Available {
    /// Counts the whole time if the stolen time of either side is not known.
    fn of(settings: &Settings, sums: &Sums) -> Available {
        let stolen = sums.steal_ns.zip(sums.generator_steal_ns);
        let (total, generator) = stolen.unwrap_or_default();
        let subject = if settings.shares_cpus() {
            total
        } else {
            total.saturating_sub(generator)
        };
        let left = |stolen_ns: u64, cpus: &[usize]| {
            let per_cpu_ns = stolen_ns / cpus.len().max(1) as u64;
            sums.wall_ns.saturating_sub(per_cpu_ns)
        };
        Available {
            subject_ns: left(subject, &settings.subject_cpus),
            generator_ns: left(generator, &settings.generator_cpus),
        }
    }
}

/// Whether a ceiling shows nothing about the generator: if that had time to spare, the limit was
/// something else, such as a server that encrypts, or the round trip of a single request.
pub(in crate::findings) fn is_of_its_server(load: &LoadRecord, ceiling: &Ceiling) -> bool {
    let is_encrypted = load.settings.tls.is_some();
    ceiling
        .generator_busy
        .map_or(is_encrypted, |busy| busy < GENERATOR_BUSY)
}
