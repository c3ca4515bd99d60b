//! Who held a throughput back: the subject, the generator or neither.

use std::collections::BTreeMap;

use crate::measure::share::share;
use crate::record::finding::{Finding, Level};
use crate::record::finding_id::FindingId;
use crate::record::{LoadRecord, Settings};
use crate::view::LoadView;
use crate::view::sums::Sums;

/// A subject this busy is the limit, whatever the generator does.
pub(crate) const SUBJECT_BUSY: f64 = 0.95;
/// A generator this busy is the limit, unless the subject is.
pub(crate) const GENERATOR_BUSY: f64 = 0.90;

/// Who held the throughput back, for each subject of one load.
#[derive(Debug, Default)]
pub(crate) struct Bottleneck(BTreeMap<String, Busy>);

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Busy {
    subject: Option<f64>,
    generator: Option<f64>,
}

impl Busy {
    pub(super) fn is_subject_bound(self) -> bool {
        self.subject.is_some_and(|busy| busy >= SUBJECT_BUSY)
    }

    fn is_generator_bound(self) -> bool {
        !self.is_subject_bound() && self.generator.is_some_and(|busy| busy >= GENERATOR_BUSY)
    }

    /// That the generator limited the throughput of `who`, which may be more.
    fn bound(self, who: &str) -> Finding {
        let spare = match self.subject {
            Some(_) => format!("{who} had time to spare: {who} could have done more"),
            None => format!("whether {who} had time to spare is not known: it may do more"),
        };
        let percent = 100.0 * self.generator.unwrap_or_default();
        let message = format!("the generator used {percent:.0} % of its CPU and {spare}");
        Finding::new(FindingId::GeneratorBound, message)
            .at(Level::Bound)
            .about(who)
    }
}

impl Bottleneck {
    pub(crate) fn of(view: &LoadView) -> Bottleneck {
        let settings = &view.study.settings;
        let cpus = settings.subject_cpus.len().max(1) as u64;
        let busy = view.subjects.iter().map(|own| {
            let sums = &own.sums;
            let given = Given::of(settings, sums);
            let of_given = |cpu: u64| share(cpu, given.subject_ns).map(|part| part.min(1.0));
            let all = sums.server_cpu_ns.and_then(|cpu| of_given(cpu / cpus));
            let blocks = own.blocks.iter();
            let thread_ns: Option<u64> = blocks
                .map(|block| block.readings()?.busiest_thread_ns)
                .sum();
            let thread = thread_ns.and_then(of_given);
            let busy = Busy {
                subject: all.into_iter().chain(thread).reduce(f64::max),
                generator: share(generator_ns(sums, settings.threads), given.generator_ns),
            };
            (own.subject.to_owned(), busy)
        });
        Bottleneck(busy.collect())
    }

    /// What the generator's limit means for one comparison, given its ratio.
    pub(crate) fn finding(
        &self,
        [subject, baseline]: [&str; 2],
        ratio: Option<f64>,
    ) -> Option<Finding> {
        let (faster, slower) = if ratio? >= 1.0 {
            (subject, baseline)
        } else {
            (baseline, subject)
        };
        let busy = |name: &str| self.busy(name);
        let percent = |name: &str| 100.0 * busy(name).generator.unwrap_or_default();
        let bound = [faster, slower].map(|name| busy(name).is_generator_bound());
        match bound {
            [false, false] => None,
            [true, false] => Some(busy(faster).bound(faster)),
            [true, true] => Some(
                Finding::new(
                    FindingId::GeneratorBound,
                    format!(
                        "the generator was the limit for both {faster} and {slower} (it used \
                         {:.0} % and {:.0} % of its CPU): their throughput is the generator's",
                        percent(faster),
                        percent(slower)
                    ),
                )
                .at(Level::Void),
            ),
            [false, true] => Some(
                Finding::new(
                    FindingId::GeneratorBound,
                    format!(
                        "the generator was the limit for {slower}, the slower of the two (it used \
                         {:.0} % of its CPU), so {slower} may be the faster one",
                        percent(slower)
                    ),
                )
                .at(Level::Void)
                .about(slower),
            ),
        }
    }

    /// What the generator's limit means for subjects that nothing is compared with.
    pub(super) fn alone(&self, load: &LoadRecord) -> impl Iterator<Item = Finding> {
        let bound = { self.0.iter() }.filter(|(_, busy)| busy.is_generator_bound());
        bound.map(|(subject, busy)| busy.bound(subject).under(&load.name))
    }

    /// Whether the generator was this subject's limit.
    pub(crate) fn is_generator_bound(&self, subject: &str) -> bool {
        self.busy(subject).is_generator_bound()
    }

    /// What a subject's throughput would be with all of its time, if that grew with it.
    pub(crate) fn at_all_its_time(&self, subject: &str, throughput: f64) -> Option<f64> {
        let busy = self.busy(subject).subject.filter(|busy| *busy > 0.0)?;
        Some(throughput / busy)
    }

    /// How busy both sides were while this subject was loaded.
    pub(super) fn busy(&self, subject: &str) -> Busy {
        self.0.get(subject).copied().unwrap_or_default()
    }

    pub(super) fn notes(&self, load: &LoadRecord) -> impl Iterator<Item = Finding> {
        self.0.iter().filter_map(|(subject, busy)| {
            let idle = busy.subject.is_some() && !busy.is_subject_bound();
            (idle && !busy.is_generator_bound()).then(|| {
                Finding::new(
                    FindingId::NotSaturated,
                    format!(
                        "neither {subject} ({:.0} % busy) nor the generator ({:.0} %) was at its \
                         limit: throughput is connections divided by response time here",
                        100.0 * busy.subject.unwrap_or_default(),
                        100.0 * busy.generator.unwrap_or_default()
                    ),
                )
                .about(subject)
                .under(&load.name)
            })
        })
    }
}

/// For how long the generator used its processor or waited for it: one that
/// others keep from its processor is a limit too.
fn generator_ns(sums: &Sums, threads: usize) -> u64 {
    let waited = sums.generator_wait_ns.unwrap_or_default() / threads.max(1) as u64;
    sums.busiest_worker_ns + waited
}

/// For how long each of their processors was there for both sides: what the
/// hypervisor took from it, nobody here could use or wait for.
struct Given {
    subject_ns: u64,
    generator_ns: u64,
}

impl Given {
    /// All of the time where it was not read whose processors were stolen.
    fn of(settings: &Settings, sums: &Sums) -> Given {
        let stolen = sums.steal_ns.zip(sums.generator_steal_ns);
        let (all, generator) = stolen.unwrap_or_default();
        let are_shared =
            { settings.subject_cpus.iter() }.any(|cpu| settings.generator_cpus.contains(cpu));
        let subject = match are_shared {
            true => all,
            false => all.saturating_sub(generator),
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
