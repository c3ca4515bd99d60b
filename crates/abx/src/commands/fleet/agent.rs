//! `abx agent`: makes a part of the load of `abx run` or `abx compare` on another machine.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use abx_engine::schedule::PerSecond;
use abx_engine::{EnginePlan, Stopper};
use abx_evidence::Wait;
use abx_fleet::{
    AgentEvent, AgentLimits, AgentPlan, AllowedTarget, Bus, BusError, FleetTiming, random_id,
    run_agent,
};
use clap::Args;

use crate::flags::fleet;
use crate::flags::units;
use crate::ui::end::{End, Failure, notify};
use crate::ui::signals::Interruption;

/// Generate a part of the load of another machine's `abx run` or `abx compare`.
///
/// It connects to a NATS server, waits for a part of a load, generates it, and waits for the next
/// one. It loads only the networks and addresses of --allow-target.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx agent --bus nats://10.0.0.1:4222 --allow-target 10.0.0.0/8\n  \
    abx agent --bus nats://10.0.0.1:4222 --allow-target 10.0.0.7 --max-rate 20000\n\n\
    On the machine where you want the result, with three agents:\n  \
    abx run http://10.0.0.7/ -c 300 --bus nats://10.0.0.1:4222 --agents 3")]
pub struct Agent {
    /// The NATS server: nats://HOST:4222 or nats://USER:PASSWORD@HOST:4222, or tls:// for an
    /// encrypted connection.
    #[arg(long, value_name = "URL")]
    bus: String,
    /// Trust the CA certificates in this PEM file, for a bus at tls://.
    #[arg(long, value_name = "FILE")]
    bus_ca: Option<PathBuf>,
    /// Credentials file for the bus (USER:PASSWORD), such as the agent-1.creds of `abx bus init`.
    #[arg(long, value_name = "FILE")]
    bus_creds: Option<PathBuf>,
    /// Network or address that may be loaded, such as 10.0.0.0/8; may be repeated, or a list with
    /// commas.
    #[arg(long, value_name = "NETWORK", required = true, value_delimiter = ',')]
    allow_target: Vec<AllowedTarget>,
    /// Most requests per second that this machine sends. The agent then refuses loads without a
    /// rate.
    #[arg(long, value_name = "N")]
    max_rate: Option<PerSecond>,
    /// Name of the agent in messages and records [default: a random name].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The only slot that the agent accepts, from 1 [default: any].
    #[arg(long, value_name = "N", value_parser = units::whole_number::<u16>(1.., 2))]
    slot: Option<u16>,
    /// Worker threads [default: one per CPU].
    #[arg(short, long, value_parser = units::threads)]
    threads: Option<u16>,
    /// Folder for its counts of each run, which `abx collect` reads if the controller is gone; the
    /// last 32 are kept [default: $XDG_STATE_HOME/abx/finals].
    #[arg(long, value_name = "DIR")]
    finals: Option<PathBuf>,
    /// End after the first load.
    #[arg(long)]
    once: bool,
}

/// How often the agent tries to connect to a bus that is not there yet.
const TRY_EVERY: Duration = Duration::from_secs(1);
/// How often a wait checks whether the agent must stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Letters of a random name.
const NAME_LETTERS: usize = 8;

/// Waits for loads, and makes this agent's part of each.
pub fn agent(agent: &Agent) -> Result<End, Failure> {
    let plan = plan(agent)?;
    let stopper = Stopper::default();
    let interruption = Interruption::by_signals();
    interruption.stops(&stopper);
    let Some(bus) = connect(agent, &stopper)? else {
        return Ok(End::Done);
    };
    notify(&format!("Agent {} waits for a controller", plan.name));
    let mut on_event = |event| print_event(&event);
    match run_agent(&*bus, &plan, &stopper.flag(), &mut on_event) {
        Ok(()) => Ok(End::Done),
        Err(error) => Err(Failure::no_claim(error)),
    }
}

fn plan(agent: &Agent) -> Result<AgentPlan, Failure> {
    let system = |what| move |error| Failure::usage(format!("cannot read {what}: {error}"));
    let descriptors = abx_sys::limits::raise_descriptor_limit()
        .map_err(system("the limit of file descriptors"))?;
    let cpus = abx_sys::cpus::allowed().map_err(system("the list of CPUs"))?;
    let id = random_id().map_err(system("a random number"))?;
    let random_name = || id.chars().take(NAME_LETTERS).collect();
    Ok(AgentPlan {
        name: agent.name.clone().unwrap_or_else(random_name),
        slot: agent.slot.map(|slot| usize::from(slot) - 1),
        build: fleet::build()?,
        engine: EnginePlan {
            threads: agent.threads.map_or(cpus.len(), usize::from),
            cpus,
            // Over a network no server pays for waking a client.
            wait: Wait::Asleep,
        },
        limits: AgentLimits {
            targets: agent.allow_target.clone(),
            rate_max: agent.max_rate,
            descriptors: descriptors.soft,
        },
        timing: FleetTiming::default(),
        once: agent.once,
        finals: Some(finals(agent)?),
        skew_ns: 0,
        id,
    })
}

/// The folder in which the agent saves its counts.
fn finals(agent: &Agent) -> Result<PathBuf, Failure> {
    match &agent.finals {
        Some(folder) => std::path::absolute(folder).map_err(Failure::usage),
        None => Ok(abx_lab::state_folder().join("finals")),
    }
}

/// Connects as soon as the bus is there; `None` if the agent must stop before that.
///
/// # Errors
/// A failure if waiting would not help: the bus refuses the agent, no bus can be at this address,
/// or this build has no bus.
fn connect(agent: &Agent, stopper: &Stopper) -> Result<Option<Arc<dyn Bus>>, Failure> {
    let mut is_reported = false;
    while !stopper.is_stopped() {
        let (authorities, credentials) = (agent.bus_ca.as_deref(), agent.bus_creds.as_deref());
        match fleet::connect(&agent.bus, authorities, credentials) {
            Ok(bus) => return Ok(Some(bus)),
            Err(error @ (BusError::Address(_) | BusError::Refused(_) | BusError::NotBuilt)) => {
                return Err(Failure::usage(error));
            }
            Err(error) if !is_reported => {
                notify(&format!(
                    "abx: {error}. The agent waits, trying again every second"
                ));
                is_reported = true;
            }
            Err(_) => {}
        }
        let mut left = TRY_EVERY;
        while !(left.is_zero() || stopper.is_stopped()) {
            thread::sleep(LOOK_EVERY);
            left = left.saturating_sub(LOOK_EVERY);
        }
    }
    Ok(None)
}

fn print_event(event: &AgentEvent) {
    notify(&match event {
        AgentEvent::Joined { slot, slots } => format!("Joined as agent {} of {slots}", slot + 1),
        AgentEvent::Rejected { why } => format!("abx: a controller rejected this agent: {why}"),
        AgentEvent::Refuses { why } => format!("abx: refused: {why}"),
        AgentEvent::RunEnded => "The load is over".to_owned(),
        AgentEvent::ControllerLost => {
            "abx: the controller is silent, so this agent ended its load".to_owned()
        }
        AgentEvent::GivenUp => {
            "abx: the controller gave up on this agent, so it ended its load".to_owned()
        }
        AgentEvent::NotSaved { why } => {
            format!("abx: cannot save the counts here ({why}); the load continues")
        }
        AgentEvent::Saved { file } => format!(
            "Saved the counts: abx collect {}, with the files of the other agents",
            file.display()
        ),
        AgentEvent::Overdue => "abx: ended a slice that ran long past its time".to_owned(),
    });
}
