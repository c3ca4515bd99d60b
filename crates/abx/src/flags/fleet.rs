//! Flags for load from agents on other machines, and the bus to these agents.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use abx_engine::LoadGenerator;
use abx_evidence::record::OnLoss;
use abx_fleet::{
    Bus, BusError, Fleet, FleetError, FleetEvent, FleetListener, FleetPlan, FleetTiming, own_build,
    random_id,
};
use clap::{Args, ValueEnum};

use crate::flags::units;
use crate::ui::end::{Failure, notify};
use crate::ui::signals::Interruption;

/// Load from several machines.
#[derive(Debug, Clone, Args)]
pub struct FleetFlags {
    /// Let agents on other machines make the load (see `abx agent`), over this NATS server.
    #[arg(long, value_name = "URL", requires = "agents",
          conflicts_with_all = ["threads", "wait", "local_address", "scenario"])]
    bus: Option<String>,
    /// How many agents make the load together.
    #[arg(long, value_name = "N", requires = "bus",
          value_parser = units::whole_number::<u16>(1.., 3))]
    agents: Option<u16>,
    /// How long to wait for the agents [default: 30s].
    #[arg(long, value_name = "TIME", requires = "bus", value_parser = units::duration)]
    agents_within: Option<Duration>,
    /// After the loss of an agent, stop the others, or let them continue with their parts [default:
    /// abort].
    #[arg(long, value_name = "WHAT", requires = "bus", value_enum)]
    on_loss: Option<OnLossName>,
    /// Trust the CA certificates in this PEM file, for a bus at tls://.
    #[arg(long, value_name = "FILE", requires = "bus")]
    bus_ca: Option<PathBuf>,
    /// Credentials file for the bus (USER:PASSWORD), such as the controller.creds of `abx bus
    /// init`.
    #[arg(long, value_name = "FILE", requires = "bus")]
    bus_creds: Option<PathBuf>,
}

/// The reaction to the loss of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnLossName {
    /// The others stop, and there is no verdict.
    Abort,
    /// The others continue with their parts, and the record is partial.
    Continue,
}

impl FleetFlags {
    /// Whether agents make the load.
    pub fn is_used(&self) -> bool {
        self.bus.is_some()
    }

    /// Waits for the agents that make the load, until `interruption` comes; `None` if this process
    /// makes it.
    ///
    /// # Errors
    /// A failure for flags about agents without a bus, or if too few agents join.
    pub fn generator(
        &self,
        is_quiet: bool,
        interruption: &Interruption,
    ) -> Result<Option<Box<dyn LoadGenerator>>, Failure> {
        let (Some(url), Some(agents)) = (&self.bus, self.agents) else {
            return self.check_without_bus().map(|()| None);
        };
        let usual = FleetTiming::default();
        let plan = FleetPlan {
            agents: agents.into(),
            build: build()?,
            timing: FleetTiming {
                join: self.agents_within.unwrap_or(usual.join),
                ..usual
            },
            on_loss: match self.on_loss {
                None | Some(OnLossName::Abort) => OnLoss::Abort,
                Some(OnLossName::Continue) => OnLoss::Continue,
            },
        };
        let bus = connect(url, self.bus_ca.as_deref(), self.bus_creds.as_deref());
        let bus = bus.map_err(Failure::usage)?;
        let run = random_id().map_err(Failure::usage)?;
        let on_event: FleetListener = Arc::new(move |event| print_event(&event, is_quiet));
        let is_stopped = || interruption.has_come();
        match Fleet::assemble(bus, &run, &plan, &is_stopped, &on_event) {
            Ok(fleet) => Ok(Some(Box::new(fleet))),
            Err(FleetError::Interrupted) => Err(Failure::interrupted()),
            Err(error) => Err(Failure::no_claim(error)),
        }
    }

    // clap drops `requires` if a flag that is given excludes the required one.
    /// Refuses flags about agents, which need a bus.
    fn check_without_bus(&self) -> Result<(), Failure> {
        let flags = [
            ("--agents", self.agents.is_some()),
            ("--agents-within", self.agents_within.is_some()),
            ("--on-loss", self.on_loss.is_some()),
            ("--bus-ca", self.bus_ca.is_some()),
            ("--bus-creds", self.bus_creds.is_some()),
        ];
        match flags.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((flag, _)) => Err(Failure::usage(format!(
                "{flag} needs the bus between the machines: add --bus URL, or leave {flag} out"
            ))),
        }
    }
}

/// Prints an event of an agent; if quiet, without agents that join or respond again.
fn print_event(event: &FleetEvent, is_quiet: bool) {
    let line = match event {
        FleetEvent::Joined { .. } | FleetEvent::Back { .. } if is_quiet => return,
        FleetEvent::Joined { agent } => format!("{agent} joined"),
        FleetEvent::Rejected { agent, why } => format!("abx: {agent} was rejected: {why}"),
        FleetEvent::Busy { agent } => {
            format!("abx: {agent} generates load for another controller, and may be free later")
        }
        FleetEvent::NotSaved { bytes } => format!(
            "abx: agents do not save their counts: the record to save with them has {bytes} \
             bytes, more than the bus accepts: raise `max_payload` of NATS"
        ),
        FleetEvent::Silent { agent } => format!("abx: {agent} is silent"),
        FleetEvent::Back { agent } => format!("{agent} responds again"),
        FleetEvent::Lost { agent, how } => format!("abx: {agent} was lost: {how}"),
    };
    notify(&line);
}

/// The build of this program, which agents and controllers compare.
pub fn build() -> Result<String, Failure> {
    own_build()
        .map_err(|error| Failure::usage(format!("cannot read abx's own program file: {error}")))
}

/// Connects to a bus.
#[cfg(feature = "nats")]
pub fn connect(
    url: &str,
    authorities: Option<&Path>,
    credentials: Option<&Path>,
) -> Result<Arc<dyn Bus>, BusError> {
    let bus = abx_fleet::NatsBus::connect(url, authorities, credentials)?;
    Ok(Arc::new(bus))
}

/// This build has no bus.
#[cfg(not(feature = "nats"))]
pub fn connect(_: &str, _: Option<&Path>, _: Option<&Path>) -> Result<Arc<dyn Bus>, BusError> {
    Err(BusError::NotBuilt)
}
