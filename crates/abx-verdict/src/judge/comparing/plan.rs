//! Which pairs of subjects are compared, by which metrics, and under which load. The primary
//! metric follows from the load alone, before anything is measured, except in two cases, in which
//! throughput is not compared. If both subjects kept up with an open loop, it is the load's rate.
//! If the generator was the limit, it is the generator's throughput.

use crate::findings::open_loop::kept_up::both_kept_up;
use crate::findings::open_loop::too_few_requests::too_few_requests;
use crate::findings::study::memory_unknown::memory_unknown;
use crate::judge::capacities::grids;
use crate::judge::comparing::cpu_fallback::CpuFallback;
use crate::judge::comparing::family::ComparedUnder;
use crate::judge::comparison::Role;
use crate::judge::faults::{recoveries, seen};
use crate::judge::metric::Metric;
use crate::judge::values::{Rounds, Values};
use crate::judge::verdict::ClaimFamily;
use crate::view::faults::FaultView;
use crate::view::{OfferView, StudyView};
use abx_evidence::record::LoadRecord;
use abx_evidence::{Finding, Level};
use abx_model::LoadShape;
use abx_stats::stop::blocks_for_verdict;

/// Pairs that are judged together by one metric.
pub(crate) struct Question<'a> {
    pub(crate) compared_under: ComparedUnder<'a>,
    pub(crate) metric: Metric,
    /// The step of a scenario to which the metric belongs, if any.
    pub(crate) step: Option<&'a str>,
    pub(crate) values: Values<'a>,
    /// Subject and baseline, with the role of their comparison.
    pub(crate) pairs: Vec<([&'a str; 2], Role)>,
    /// The share of its load's primary pairs that are among these. If a load is
    /// compared by several metrics, the error is divided among them by it.
    pub(crate) share: f64,
}

impl Question<'_> {
    /// How its pairs are judged together. The primary pairs of a load are judged before all other
    /// pairs under it.
    pub(crate) fn family(&self, study: &StudyView) -> ClaimFamily {
        let study = study.study;
        let pairs = match &self.compared_under {
            ComparedUnder::Load(view) => study.pairs_under(view.load),
            ComparedUnder::Grid(grid) => grid.pairs(study),
            ComparedUnder::Starts => study.pairs(),
            ComparedUnder::Fault(view) => study.pairs_of_fault(&view.fault.name),
        };
        let equivalences = pairs.len().min(study.subjects.len().saturating_sub(1));
        let is_primary = self.pairs.iter().any(|(_, role)| *role == Role::Primary);
        let family = match self.compared_under {
            ComparedUnder::Load(_) if is_primary => {
                ClaimFamily::gate(equivalences).part(self.share)
            }
            _ => ClaimFamily::alone(equivalences),
        };
        family.ordered(study.is_ordered())
    }
}

/// Primary comparisons that are judged together.
pub(crate) struct PrimaryFamily<'a> {
    pub(crate) compared_under: &'a ComparedUnder<'a>,
    pub(crate) pairs: Vec<[&'a str; 2]>,
    /// One per block of each pair.
    pub(crate) log_ratios: Vec<Vec<f64>>,
    pub(crate) claims: ClaimFamily,
}

/// The questions of a study, and findings about those that cannot be asked.
pub(crate) struct ComparisonPlan<'a> {
    pub(crate) questions: Vec<Question<'a>>,
    pub(crate) findings: Vec<Finding>,
    /// Why pairs are compared by CPU time and not by throughput.
    pub(crate) fallbacks: Vec<Finding>,
}

impl<'a> ComparisonPlan<'a> {
    /// The requested pairs, by the primary metric of each load. `findings` show which of them are
    /// void: a void comparison states why, and is not left out.
    pub(crate) fn of(study: &'a StudyView<'a>, findings: &[Finding]) -> ComparisonPlan<'a> {
        let measured = study.study;
        let mut plan = ComparisonPlan {
            questions: Vec::new(),
            findings: Vec::new(),
            fallbacks: Vec::new(),
        };
        // The rates of a grid are compared together, below.
        let single = study
            .loads
            .iter()
            .filter(|view| view.load.settings.objective.is_none());
        for view in single {
            let pairs = measured.pairs_under(view.load);
            match view.load.settings.exchange.shape {
                LoadShape::Connections => plan.compare_connections(view, &pairs, findings),
                _ => plan.compare_under(view, &pairs, findings),
            }
        }
        for grid in grids(study) {
            let values = grid.values();
            let pairs = primary(complete(&values, &grid.pairs(measured)));
            plan.add(ComparedUnder::Grid(grid), Metric::Capacity, (values, pairs));
        }
        for view in FaultView::all(measured) {
            let values = recoveries(&view);
            let pairs = complete(&values, &measured.pairs_of_fault(&view.fault.name));
            let pairs = primary(seen(&values, pairs));
            plan.add(
                ComparedUnder::Fault(view),
                Metric::Recovery,
                (values, pairs),
            );
        }
        plan.explore(
            ComparedUnder::Starts,
            Metric::ReadyTime,
            Values::of_starts(measured),
            &measured.pairs(),
        );
        plan
    }

    fn compare_under(
        &mut self,
        view: &'a OfferView<'a>,
        pairs: &[[&'a str; 2]],
        findings: &[Finding],
    ) {
        let load = view.load;
        let under = |metric| Values::under(view, metric, Rounds::All);
        let speed = under(Metric::Throughput);
        let fallback = CpuFallback::of(view);
        let first = self.questions.len();
        let Sorted {
            by_speed,
            by_time,
            by_cpu,
            void,
        } = self.sort(view, pairs, findings, (&speed, &fallback));
        // A subject without a response in a block has no costs per response either.
        let responding = complete(&speed, pairs);
        self.add(
            ComparedUnder::Load(view),
            Metric::Throughput,
            (speed, by_speed),
        );
        let is_scenario = load.settings.exchange.shape == LoadShape::Scenario;
        if load.settings.arrivals.is_open() || is_scenario {
            let primary = primary_time(load);
            for metric in Metric::RESPONSE {
                let values = under(metric);
                let pairs = complete(&values, &responding);
                if metric == primary && pairs.is_empty() && !by_time.is_empty() {
                    self.findings
                        .push(too_few_requests(load, metric.requests_min()));
                }
                let role = |pair| {
                    if metric == primary && by_time.contains(&pair) {
                        Role::Primary
                    } else {
                        Role::Exploratory
                    }
                };
                let pairs = pairs.into_iter().map(|pair| (pair, role(pair))).collect();
                self.add(ComparedUnder::Load(view), metric, (values, pairs));
            }
        }
        self.compare_steps(view, &responding);
        if load.settings.exchange.shape == LoadShape::Broadcast {
            for metric in [Metric::BroadcastFirstP50, Metric::BroadcastMedianP50] {
                self.explore(
                    ComparedUnder::Load(view),
                    metric,
                    under(metric),
                    &responding,
                );
            }
        }
        if load.settings.tls.is_some() {
            // Has values only for subjects with TLS, and if connections were opened within slices.
            let metric = Metric::HandshakeP50;
            self.explore(
                ComparedUnder::Load(view),
                metric,
                under(metric),
                &responding,
            );
        }
        self.compare_costs(view, &responding, &by_cpu);
        let cpu = (fallback.values(), primary(by_cpu));
        self.add(ComparedUnder::Load(view), Metric::ServerCpu, cpu);
        share_among(&mut self.questions[first..], &void);
    }

    /// Compares the costs of the `responding` pairs, except the CPU time of the pairs for which it
    /// is the primary metric.
    fn compare_costs(
        &mut self,
        view: &'a OfferView<'a>,
        responding: &[[&'a str; 2]],
        by_cpu: &[[&'a str; 2]],
    ) {
        let fewest = blocks_for_verdict(view.study.is_ordered());
        for metric in COSTS {
            let values = Values::under(view, metric, Rounds::All);
            if metric == Metric::ColdStart && values.blocks() < fewest {
                // If there are several loads, each is the first of few blocks.
                continue;
            }
            let is_primary = |pair| metric == Metric::ServerCpu && by_cpu.contains(pair);
            let pairs = responding.iter().filter(|pair| !is_primary(pair)).copied();
            let pairs: Vec<[&str; 2]> = pairs.collect();
            self.explore(ComparedUnder::Load(view), metric, values, &pairs);
        }
    }

    /// Sorts the requested pairs by their primary metrics.
    fn sort(
        &mut self,
        view: &'a OfferView<'a>,
        pairs: &[[&'a str; 2]],
        findings: &[Finding],
        (speed, fallback): (&Values<'a>, &CpuFallback<'a>),
    ) -> Sorted<'a> {
        let load = view.load;
        let is_timed = |pair| {
            let times = Values::under(view, primary_time(load), Rounds::All);
            speed.are_complete(pair) && times.are_complete(pair)
        };
        let mut sorted = Sorted::default();
        for pair in pairs {
            let sound = (!is_void(findings, load, *pair)).then_some(*pair);
            // A void pair has the metric by which it would have been judged, if that is known.
            let timed = sound.or_else(|| Some(*pair).filter(|pair| is_timed(*pair)));
            if sound.is_none() {
                sorted.void.push(*pair);
            }
            if timed.is_some() && is_by_session_time(load) {
                sorted.by_time.push(*pair);
                sorted.by_speed.push((*pair, Role::Exploratory));
            } else if let Some(finding) = timed.and_then(|pair| both_kept_up(view, pair)) {
                self.findings.extend(sound.map(|_| finding));
                sorted.by_time.push(*pair);
            } else if let Some(reason) = sound.and_then(|pair| fallback.reason(pair, speed)) {
                self.fallbacks.push(reason);
                sorted.by_cpu.push(*pair);
            } else {
                if sound.is_some() && fallback.is_void(*pair, speed) {
                    sorted.void.push(*pair);
                }
                sorted.by_speed.push((*pair, Role::Primary));
            }
        }
        sorted
    }

    /// Compares the time of each step of a scenario.
    fn compare_steps(&mut self, view: &'a OfferView<'a>, pairs: &[[&'a str; 2]]) {
        let Some(scenario) = &view.load.settings.scenario else {
            return;
        };
        for (index, step) in scenario.steps.iter().enumerate() {
            for metric in Metric::STEP {
                let values = Values::of_step(view, metric, index);
                let first = self.questions.len();
                self.explore(ComparedUnder::Load(view), metric, values, pairs);
                for question in &mut self.questions[first..] {
                    question.step = Some(step);
                }
            }
        }
    }

    /// Compares idle connections by the memory that they take and the rate at which they open.
    fn compare_connections(
        &mut self,
        view: &'a OfferView<'a>,
        pairs: &[[&'a str; 2]],
        findings: &[Finding],
    ) {
        let memory = Values::under(view, Metric::MemoryPerConnection, Rounds::All);
        let rate = Values::under(view, Metric::ConnectRate, Rounds::All);
        let known = complete(&memory, pairs);
        let void: Vec<[&str; 2]> = pairs
            .iter()
            .filter(|pair| is_void(findings, view.load, **pair))
            .copied()
            .collect();
        if known.len() < pairs.len() {
            self.findings.push(memory_unknown(view.load));
        }
        // A void pair states why, even if neither of its metrics is known.
        let is_by_memory = |pair: &&[&'a str; 2]| {
            known.contains(pair) || (void.contains(pair) && !rate.are_complete(**pair))
        };
        let by_memory = primary(pairs.iter().filter(is_by_memory).copied().collect());
        let first = self.questions.len();
        self.add(
            ComparedUnder::Load(view),
            Metric::MemoryPerConnection,
            (memory, by_memory),
        );
        let role = |pair: &[&'a str; 2]| {
            if known.contains(pair) {
                Role::Exploratory
            } else {
                Role::Primary
            }
        };
        let pairs = complete(&rate, pairs);
        let pairs = pairs.into_iter().map(|pair| (pair, role(&pair))).collect();
        self.add(
            ComparedUnder::Load(view),
            Metric::ConnectRate,
            (rate, pairs),
        );
        share_among(&mut self.questions[first..], &void);
    }

    fn add(
        &mut self,
        compared_under: ComparedUnder<'a>,
        metric: Metric,
        (values, pairs): MetricPairs<'a>,
    ) {
        if !pairs.is_empty() {
            self.questions.push(Question {
                compared_under,
                metric,
                step: None,
                values,
                pairs,
                share: 1.0,
            });
        }
    }

    fn explore(
        &mut self,
        compared_under: ComparedUnder<'a>,
        metric: Metric,
        values: Values<'a>,
        pairs: &[[&'a str; 2]],
    ) {
        let pairs = complete(&values, pairs).into_iter();
        let pairs = pairs.map(|pair| (pair, Role::Exploratory)).collect();
        self.add(compared_under, metric, (values, pairs));
    }

    /// The primary comparisons by family, except those of failed subjects, which nothing settles.
    pub(crate) fn primary(&self, study: &StudyView) -> Vec<PrimaryFamily<'_>> {
        let families = self.questions.iter().map(|question| {
            let has_failed = |subject: &&str| match question.compared_under {
                ComparedUnder::Load(view) => view.has_failed(subject),
                ComparedUnder::Grid(_) | ComparedUnder::Starts | ComparedUnder::Fault(_) => false,
            };
            let pairs = question.pairs.iter();
            let primary =
                pairs.filter(|(pair, role)| *role == Role::Primary && !pair.iter().any(has_failed));
            let pairs: Vec<[&str; 2]> = primary.map(|(pair, _)| *pair).collect();
            let logs = pairs.iter().map(|pair| question.values.log_ratios(*pair));
            PrimaryFamily {
                compared_under: &question.compared_under,
                log_ratios: logs.collect(),
                pairs,
                claims: question.family(study),
            }
        });
        families
            .filter(|family| !family.log_ratios.is_empty())
            .collect()
    }
}

/// The pairs of a load by their primary metrics.
#[derive(Default)]
struct Sorted<'a> {
    by_speed: Vec<([&'a str; 2], Role)>,
    by_time: Vec<[&'a str; 2]>,
    by_cpu: Vec<[&'a str; 2]>,
    /// Pairs about which no claim is made. They are also in one of the other lists.
    void: Vec<[&'a str; 2]>,
}

type MetricPairs<'a> = (Values<'a>, Vec<([&'a str; 2], Role)>);

/// The metrics that are compared in addition to throughput and response times.
const COSTS: [Metric; 8] = [
    Metric::ServerCpu,
    Metric::ServerUserCpu,
    Metric::ServerSystemCpu,
    Metric::PageFaults,
    Metric::Memory,
    Metric::ContextSwitches,
    Metric::WireBytes,
    Metric::ColdStart,
];

/// Whether a finding rules out every verdict about a pair under a load.
fn is_void(findings: &[Finding], load: &LoadRecord, pair: [&str; 2]) -> bool {
    let mut touching = findings
        .iter()
        .filter(|finding| finding.touches(&load.name, pair));
    touching.any(|finding| finding.level == Level::Void)
}

/// Gives each question of a load its share of the load's primary pairs. Void pairs claim nothing,
/// so they have no share of the error.
fn share_among(questions: &mut [Question], void: &[[&str; 2]]) {
    let claims = |question: &Question| {
        let pairs = question.pairs.iter();
        pairs
            .filter(|(pair, role)| *role == Role::Primary && !void.contains(pair))
            .count()
    };
    let total: usize = questions.iter().map(claims).sum();
    for question in questions {
        question.share = claims(question) as f64 / total.max(1) as f64;
    }
}

/// The pairs that have a value in every block.
fn complete<'a>(values: &Values, pairs: &[[&'a str; 2]]) -> Vec<[&'a str; 2]> {
    pairs
        .iter()
        .filter(|pair| values.are_complete(**pair))
        .copied()
        .collect()
}

fn primary(pairs: Vec<[&str; 2]>) -> Vec<([&str; 2], Role)> {
    pairs
        .into_iter()
        .map(|pair| (pair, Role::Primary))
        .collect()
}

/// Whether users pause. Then the number of sessions depends on the pauses more than on the
/// subject, so a scenario is judged by the time of its sessions without pauses.
pub(crate) fn is_by_session_time(load: &LoadRecord) -> bool {
    let settings = &load.settings;
    settings.exchange.shape == LoadShape::Scenario && settings.arrivals.connections_rest
}

/// The quantile by which an open loop is judged: the highest, up to 99 %, for which a block has
/// enough requests as planned.
pub(crate) fn primary_time(load: &LoadRecord) -> Metric {
    let planned = planned_requests(load).unwrap_or_default();
    let upwards = [
        Metric::ResponseP50,
        Metric::ResponseP90,
        Metric::ResponseP99,
    ];
    let enough = upwards
        .into_iter()
        .rfind(|metric| planned >= PLAN_ROOM * metric.requests_min() as f64);
    enough.unwrap_or(Metric::ResponseP50)
}

/// Random arrivals can be slightly fewer than planned.
const PLAN_ROOM: f64 = 1.05;

/// The number of requests in a block's slices of one subject; `None` if no rate was set, or if no
/// pilot has set the length of slices.
fn planned_requests(load: &LoadRecord) -> Option<f64> {
    let pilot = load.pilot.as_ref()?;
    let counted_s = pilot.slice_ns.saturating_sub(pilot.discard_ns) as f64 / 1e9;
    Some(load.settings.arrivals.rate_per_s? * counted_s * f64::from(pilot.rounds))
}
