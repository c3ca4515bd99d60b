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

/// What held the throughput back, for each subject of one load.
#[derive(Debug, Default)]
pub(crate) struct Bottleneck {
    pub(in crate::findings) subjects: BTreeMap<String, Busy>,
    /// The names of the services.
    pub(in crate::findings) services: Vec<String>,
    /// What the load is counted in.
    pub(in crate::findings) shape: LoadShape,
    /// What the generator gets from a server that does nothing, per second, if that is its limit.
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
    /// Whether the server's side was the limit: the subject, or what it needs.
    pub(in crate::findings) fn is_subject_bound(self) -> bool {
        let has_no_more = |busy: f64| busy >= SUBJECT_BUSY;
        self.server_side().is_some_and(has_no_more) || self.bound_service().is_some()
    }

    /// How busy the subject was, or all of the processors that it shares with services.
    pub(in crate::findings) fn server_side(self) -> Option<f64> {
        let both = self.subject.into_iter().chain(self.services.with_subject);
        both.reduce(f64::max)
    }

    /// The service that was the limit, by its place, and how busy it was.
    pub(in crate::findings) fn bound_service(self) -> Option<(usize, f64)> {
        let is_own = self.subject.is_some_and(|busy| busy >= SUBJECT_BUSY);
        let busiest = self.services.busiest.filter(|_| !is_own);
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
            let given = Given::of(settings, sums);
            let of_given = |cpu: u64| share(cpu, given.subject_ns).map(|part| part.min(1.0));
            let total = sums.server_cpu_ns.and_then(|cpu| of_given(cpu / cpus));
            let blocks = subject.blocks.iter();
            let thread_ns = sum_known(blocks.map(|block| block.readings()?.busiest_thread_ns));
            let thread = thread_ns.and_then(of_given);
            let busy = Busy {
                subject: total.into_iter().chain(thread).reduce(f64::max),
                generator: share(generator_ns(sums, settings.threads), given.generator_ns)
                    .map(|part| part.min(1.0)),
                services: ServicesBusy::of(sums, given.subject_ns, cpus),
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

    /// What a subject's throughput would be with all of its time, if that grew with it.
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
    /// The busiest of them by its place, and how busy it or its busiest thread was.
    pub(in crate::findings) busiest: Option<(usize, f64)>,
    /// The share of the servers' processors that all of them used.
    pub(in crate::findings) all: Option<f64>,
    /// The same with the subject.
    pub(in crate::findings) with_subject: Option<f64>,
}

impl ServicesBusy {
    fn of(sums: &Sums, given_ns: u64, cpus: u64) -> ServicesBusy {
        let of_one = |ns: u64| share(ns, given_ns).map(|part| part.min(1.0));
        let of_all = |ns: u64| of_one(ns / cpus);
        let threads = sums.services_thread_ns.iter();
        let each = sums.services_cpu_ns.iter().zip(threads).enumerate();
        let busy = each.filter_map(|(place, (cpu, thread))| {
            let total = cpu.and_then(of_all);
            let thread = thread.and_then(of_one);
            Some((place, total.into_iter().chain(thread).reduce(f64::max)?))
        });
        let services = sums.all_services_cpu_ns();
        let services = services.filter(|_| !sums.services_cpu_ns.is_empty());
        let both = services.zip(sums.server_cpu_ns);
        ServicesBusy {
            busiest: busy.reduce(|pair, other| if other.1 > pair.1 { other } else { pair }),
            all: services.and_then(of_all),
            with_subject: both
                .and_then(|(services, own_count)| of_all(services.saturating_add(own_count))),
        }
    }

    /// How busy the processors were and the services' part of that, where they were full,
    /// and not by the subject alone, and the services used more than it.
    pub(in crate::findings) fn most_of_full(self, subject: Option<f64>) -> Option<[f64; 2]> {
        let (total, part) = (self.with_subject?, self.all?);
        let is_own = subject.is_some_and(|busy| busy >= SUBJECT_BUSY);
        (total >= SUBJECT_BUSY && !is_own && 2.0 * part > total).then_some([total, part])
    }
}

/// For how long the generator used its processor or waited for it: one that
/// others keep from its processor is a limit too.
fn generator_ns(sums: &Sums, threads: usize) -> u64 {
    let waited = sums.generator_wait_ns.unwrap_or_default() / threads.max(1) as u64;
    sums.busiest_worker_ns.saturating_add(waited)
}

/// For how long each of their processors was there for both sides: time that the
/// hypervisor took from it could be neither used nor waited for here.
struct Given {
    subject_ns: u64,
    generator_ns: u64,
}

impl Given {
    /// All of the time where it was not read whose processors were stolen.
    fn of(settings: &Settings, sums: &Sums) -> Given {
        let stolen = sums.steal_ns.zip(sums.generator_steal_ns);
        let (total, generator) = stolen.unwrap_or_default();
        let subject = if settings.shares_cpus() {
            total
        } else {
            total.saturating_sub(generator)
        };
        let left = |stolen_ns: u64, cpus: &[usize]| {
            let each = stolen_ns / cpus.len().max(1) as u64;
            sums.wall_ns.saturating_sub(each)
        };
        Given {
            subject_ns: left(subject, &settings.subject_cpus),
            generator_ns: left(generator, &settings.generator_cpus),
        }
    }
}

/// Whether a ceiling shows nothing of the generator: if that had time to spare, the limit was
/// something else, such as a server that encrypts, or the way there and back of one request.
pub(in crate::findings) fn is_of_its_server(load: &LoadRecord, ceiling: &Ceiling) -> bool {
    let is_encrypted = load.settings.tls.is_some();
    ceiling
        .generator_busy
        .map_or(is_encrypted, |busy| busy < GENERATOR_BUSY)
}
