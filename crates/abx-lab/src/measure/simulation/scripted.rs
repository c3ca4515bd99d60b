//! A load generator that follows a script, and subjects that exist only in this script.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use abx_engine::schedule::Arrivals;
use abx_engine::{
    AwaitedConnections, EngineError, LoadGenerator, LoadPlan, OpenReport, Pacing, PoolId, SliceEnd,
    SliceEvent, SlicePlan, Stopper,
};
use abx_evidence::record::{Interleave, Machine, Settings, StudyEnd, SubjectRecord};
use abx_evidence::{Measured, Outcome, Sample, Shape, SliceTally, TimelineTally};
use abx_model::LoadOptions;
use abx_stats::Margin;
use abx_sys::Nanos;
use abx_sys::cpus::CpuSplit;
use abx_sys::limits::DescriptorLimit;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::measure::meter::Meter;
use crate::measure::running_subjects::RunningSubjects;
use crate::process::pending::unwatched;
use crate::process::server_process::{ServerProcess, StartContext};
use abx_study::load_records::load_records;
use abx_study::subject::{Source, Target};
use abx_study::{Load, PilotEffort, Pin, Study, WaitChoice};

/// Connections of each plan.
pub const CONNECTIONS: u32 = 50;

/// How a scripted subject behaves.
#[derive(Debug, Clone, Copy)]
pub struct Behaviour {
    /// Its highest throughput, per second.
    pub capacity_per_s: f64,
    /// How long under load its throughput is half of that.
    pub cold_ns: u64,
    /// Whether a slice continues for two response times until all clocks are closed.
    pub has_edges: bool,
    /// The largest random deviation of its slices: 0.1 is 10 %.
    pub spread: f64,
    /// The number of slices after which it no longer responds.
    pub silent_after: usize,
    /// The number of slices after which it leaves requests without a response, and on how many
    /// connections.
    pub mute: (usize, u64),
    /// The number of slices after which all of its responses are wrong.
    pub wrong_after: usize,
}

impl Behaviour {
    /// Sends this many responses per second from the first slice to the last.
    pub const fn steady(capacity_per_s: f64) -> Behaviour {
        Behaviour {
            capacity_per_s,
            cold_ns: 0,
            has_edges: false,
            spread: 0.0,
            silent_after: usize::MAX,
            mute: (usize::MAX, 0),
            wrong_after: usize::MAX,
        }
    }
}

/// Responds according to the script. It distinguishes subjects by their ports, which count from 1.
pub struct ScriptedGenerator {
    behaviours: Vec<Behaviour>,
    pools: BTreeMap<u64, LoadPlan>,
    opened: u64,
    /// The subject and the length of each slice.
    pub slices: Vec<(usize, u64)>,
    /// The time of all slices.
    pub now: Nanos,
    stopper: Stopper,
    random: ChaCha8Rng,
}

impl ScriptedGenerator {
    pub fn new(behaviours: &[Behaviour]) -> ScriptedGenerator {
        ScriptedGenerator {
            behaviours: behaviours.to_vec(),
            pools: BTreeMap::new(),
            opened: 0,
            slices: Vec::new(),
            now: Nanos(0),
            stopper: Stopper::default(),
            random: ChaCha8Rng::seed_from_u64(1),
        }
    }

    /// Pools that were opened and not closed.
    pub fn open_pools(&self) -> usize {
        self.pools.len()
    }

    /// The subjects, up and named `a`, `b` and so on.
    pub fn running(&mut self) -> RunningSubjects<'_> {
        let count = self.behaviours.len();
        let names: Vec<String> = (b'a'..)
            .take(count)
            .map(|byte| char::from(byte).into())
            .collect();
        let processes = (1..).zip(&names).map(|(port, name)| process(name, port));
        let nowhere = CpuSplit {
            subjects: Vec::new(),
            generator: Vec::new(),
        };
        let meter = Meter::new((0..count).map(|_| None).collect(), &nowhere);
        let processes = processes.collect();
        RunningSubjects::new(self, meter, processes, names)
    }

    /// The same load for each subject.
    pub fn plans(&self) -> Vec<LoadPlan> {
        (1..)
            .zip(&self.behaviours)
            .map(|(port, _)| plan(port))
            .collect()
    }

    /// The tally of one slice according to the script.
    fn tally(&mut self, pool: PoolId, plan: &SlicePlan) -> SliceTally {
        let SliceEnd::AfterNs(wall_ns) = plan.end else {
            panic!("slices of the lab end after a time");
        };
        let load = &self.pools[&pool.number()];
        let subject = usize::from(load.address.port()) - 1;
        let earlier = self.slices.iter().filter(|(loaded, _)| *loaded == subject);
        let (before, before_ns) =
            earlier.fold((0, 0), |(count, sum_ns), (_, ns)| (count + 1, sum_ns + ns));
        self.slices.push((subject, wall_ns));
        let behaviour = self.behaviours[subject];
        let measured_ns = wall_ns - plan.discard_ns;
        let mut slice = SliceTally {
            wall_ns,
            measured_ns,
            ..SliceTally::default()
        };
        slice.tally.timeline = load
            .timeline
            .map(|plan| Box::new(TimelineTally::new(plan, self.now.0, wall_ns)));
        slice.tally.clocks = load.connections.into();
        slice.tally.connection_ns = slice.tally.clocks * measured_ns;
        if before >= behaviour.silent_after {
            slice.stopped_responding = true;
            slice.tally.outcomes.add(Outcome::Timeout);
            slice.wall_ns += load.timeout_ns();
            return slice;
        }
        let noise = self.random.random_range(-1.0..=1.0);
        // While cold, it gives half as many responses; the discarded part comes first.
        let cold_ns = behaviour
            .cold_ns
            .saturating_sub(before_ns + plan.discard_ns);
        let cold_ns = cold_ns.min(measured_ns);
        let warmth = 1.0 - 0.5 * cold_ns as f64 / measured_ns.max(1) as f64;
        let steady_per_s = behaviour.capacity_per_s * (1.0 + noise * behaviour.spread);
        let capacity_per_s = steady_per_s * warmth;
        let offered_per_s = match load.pacing.arrivals {
            Arrivals::Constant { per_s } | Arrivals::Poisson { per_s } => per_s.amount().into(),
            Arrivals::Closed | Arrivals::Stages(_) | Arrivals::Replay(_) => capacity_per_s,
        };
        let within = |per_s: f64| (per_s * measured_ns as f64 / 1e9).round() as u64;
        let responded = within(capacity_per_s.min(offered_per_s));
        // Requests to an overloaded server wait ever longer.
        let response_ns = if offered_per_s > capacity_per_s {
            1_000_000_000
        } else {
            1_000_000
        };
        let is_wrong = before >= behaviour.wrong_after;
        let outcome = [Outcome::Ok, Outcome::WrongStatus][usize::from(is_wrong)];
        // Responses come in the counted part, twice as far apart while the subject is cold.
        let first_ns = self.now.0 + plan.discard_ns;
        let apart_ns = measured_ns as f64 * warmth / responded.max(1) as f64;
        for number in 0..responded {
            let loaded_ns = (number as f64 + 0.5) * apart_ns;
            let late_ns = loaded_ns.min(cold_ns as f64 / 2.0);
            let done_ns = first_ns + (loaded_ns + late_ns) as u64;
            slice.tally.record(&sample(done_ns, response_ns, outcome));
        }
        if behaviour.has_edges {
            let in_flight = f64::from(load.connections * load.pipeline);
            slice.wall_ns += (2e9 * in_flight / capacity_per_s) as u64;
        }
        slice.tally.clocked = if is_wrong { 0 } else { responded };
        let (mute_after, connections) = behaviour.mute;
        if before >= mute_after {
            (0..connections).for_each(|_| slice.tally.outcomes.add(Outcome::Timeout));
            slice.wall_ns += load.timeout_ns();
        }
        slice.tally.unsent = within(offered_per_s) - responded;
        slice
    }
}

impl LoadGenerator for ScriptedGenerator {
    fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    fn threads(&self) -> usize {
        1
    }

    fn now(&self) -> Nanos {
        self.now
    }

    fn open(
        &mut self,
        plan: &LoadPlan,
        _: &mut dyn FnMut(AwaitedConnections),
    ) -> Result<(PoolId, OpenReport), EngineError> {
        self.opened += 1;
        self.pools.insert(self.opened, plan.clone());
        let connections = plan.connections as usize;
        let report = OpenReport {
            standing: connections,
            opened: connections,
            ..OpenReport::default()
        };
        let pool = PoolId::new(self.opened, plan.connections.into(), 1);
        Ok((pool, report))
    }

    fn refresh(
        &mut self,
        _: PoolId,
        _: &mut dyn FnMut(AwaitedConnections),
    ) -> Result<OpenReport, EngineError> {
        Ok(OpenReport::default())
    }

    fn slice(
        &mut self,
        pool: PoolId,
        plan: &SlicePlan,
        _: &mut dyn FnMut(SliceEvent),
    ) -> Result<SliceTally, EngineError> {
        let slice = self.tally(pool, plan);
        self.now = self.now.plus(Nanos(slice.wall_ns));
        Ok(slice)
    }

    fn close(&mut self, pool: PoolId) {
        self.pools.remove(&pool.number()).expect("it is open");
    }
}

/// A request that was sent as soon as it was due.
fn sample(done_ns: u64, response_ns: u64, outcome: Outcome) -> Sample {
    let sent_ns = done_ns.saturating_sub(response_ns);
    Sample {
        intended_ns: sent_ns,
        possible_ns: sent_ns,
        sent_ns: Some(sent_ns),
        done_ns,
        outcome,
    }
}

/// A subject that counts as running already; it receives no request.
fn process(name: &str, port: u16) -> ServerProcess {
    let target = Target::parse(&format!("http://127.0.0.1:{port}/"));
    let source = Source::Address(target.expect("a URL"));
    let mut start = StartContext {
        program: Path::new("/nowhere"),
        keeper_arguments: &[],
        cpus: &[],
        descriptors: DescriptorLimit { soft: 0, hard: 0 },
        files: &[],
        seed: 0,
        services: &[],
        outlives_main: false,
        stopper: Stopper::default(),
        draw: &mut |_| 0,
        on_pending: &unwatched,
    };
    ServerProcess::start(name, &source, &mut start).expect("nothing is started")
}

/// A study without subjects or loads.
pub fn study(slice: Option<Duration>) -> Study {
    Study {
        subjects: Vec::new(),
        contrasts: Vec::new(),
        loads: Vec::new(),
        faults: Vec::new(),
        aa: false,
        margin: Margin::DEFAULT,
        budget: None,
        blocks: None,
        ordered_time: None,
        slice,
        cold: None,
        rounds: None,
        ceiling: None,
        interleave: Interleave::Slices,
        files: Vec::new(),
        local_addresses: Vec::new(),
        threads: None,
        pin: Pin::Split,
        wait: WaitChoice::Asleep,
        seed: 1,
        command: Vec::new(),
        name: None,
        label: None,
        services: Vec::new(),
        skipped: Vec::new(),
        pilot: PilotEffort::Usual,
        why: false,
    }
}

/// A record of the subjects `a` and `b` without a block.
pub fn nothing_measured(loads: &[Load]) -> Measured {
    let subject = |name: &str| SubjectRecord {
        name: name.to_owned(),
        command: Vec::new(),
        address: None,
        connected_to: None,
        version: None,
        stand_in_for: None,
        http2: false,
        revision: None,
    };
    Measured {
        abx_version: String::new(),
        command: Vec::new(),
        study: None,
        label: None,
        started_unix_ms: 0,
        elapsed_s: 0.0,
        seed: 1,
        settings: Settings {
            baseline: "a".to_owned(),
            contrasts: Vec::new(),
            aa: false,
            margin: 0.03,
            budget_s: 0.0,
            blocks: None,
            threads: 1,
            subject_cpus: Vec::new(),
            generator_cpus: Vec::new(),
            waiting: abx_evidence::Waiting::default(),
        },
        machine: Machine::default(),
        subjects: ["a", "b"].map(subject).into(),
        services: Vec::new(),
        skipped: Vec::new(),
        loads: load_records(&[], loads),
        faults: Vec::new(),
        fleet: None,
        identity: None,
        continuations: Vec::new(),
        end: StudyEnd::Running,
        blocks: Vec::new(),
    }
}

fn plan(port: u16) -> LoadPlan {
    LoadPlan {
        options: LoadOptions {
            connections: CONNECTIONS,
            verify_every: 0,
            ..LoadOptions::default()
        },
        address: SocketAddr::from(([127, 0, 0, 1], port)).into(),
        tls: None,
        buffer_bytes: None,
        sources: Vec::new(),
        pipeline: 1,
        requests: Vec::new(),
        opening_limit: None,
        open_within_ns: None,
        timeline: None,
        log: None,
        seed: 1,
        pacing: Pacing::default(),
        shape: Shape::Request,
        scenario: None,
    }
}
