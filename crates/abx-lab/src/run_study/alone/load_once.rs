//! One load on one server that receives no other request, before or after it: for commands of other
//! tools, whose every request counts and which make no record.

use std::net::IpAddr;
use std::path::PathBuf;

use abx_engine::{LoadPlan, SliceEnd, SlicePlan, Stopper};
use abx_evidence::SliceTally;
use abx_model::LoadOptions;

use crate::run_study::alone::run::RunError;
use crate::run_study::context::{PrepareError, StudyContext};
use abx_study::subject::{Source, Subject, Target, local_ports, sources};
use abx_study::{Load, Study};

/// A load that is offered to a server once.
#[derive(Debug, Clone)]
pub struct OncePlan {
    pub target: Target,
    /// The load. Its address and its sources come from here.
    pub plan: LoadPlan,
    pub end: SliceEnd,
    /// Worker threads; `None` for one on each of the generator's processors.
    pub threads: Option<usize>,
    /// Local addresses that connections come from; empty for the usual ones.
    pub local_addresses: Vec<IpAddr>,
}

/// The result.
#[derive(Debug, Clone, PartialEq)]
pub struct OnceResult {
    pub slice: SliceTally,
    pub is_stopped: bool,
}

/// Loads a server once. Connections are opened by the requests
/// that need them.
///
/// # Errors
/// [`RunError::Prepare`] when nothing was sent. The server's behaviour is in the tally.
pub fn load_once(
    load: OncePlan,
    on_stopper: &mut dyn FnMut(Stopper),
) -> Result<OnceResult, RunError> {
    let OncePlan {
        target,
        plan,
        end,
        threads,
        local_addresses,
    } = load;
    let plan = LoadPlan {
        address: target.address,
        sources: sources(
            target.address,
            plan.connections,
            plan.keep_alive,
            &local_addresses,
            local_ports(),
        ),
        open_within_ns: Some(0),
        ..plan
    };
    let subject = Subject::new(target.url.clone(), Source::Address(target));
    let shares = Load {
        options: LoadOptions {
            connections: plan.connections,
            ..LoadOptions::default()
        },
        ..Load::default()
    };
    let study = Study {
        threads,
        local_addresses,
        ..Study::of_one(subject, vec![shares], plan.seed, Vec::new())
    };
    // Nothing is started, so nothing needs a keeper.
    let mut context = StudyContext::prepare(&study, PathBuf::new(), &[])?;
    on_stopper(context.generator.stopper());
    let generator = &mut context.generator;
    let (pool, _) = generator
        .open(&plan, &mut |_| {})
        .map_err(PrepareError::Engine)?;
    let slice = SlicePlan {
        end,
        discard_ns: 0,
        course: None,
    };
    let slice = generator.slice(pool, &slice, &mut |_| {});
    Ok(OnceResult {
        slice: slice.map_err(PrepareError::Engine)?,
        is_stopped: generator.stopper().is_stopped(),
    })
}
