//! Loads one server once and sends it no other request, before or after: for the commands of other
//! tools, in which every request counts and which write no record.

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
    /// The load. [`load_once`] sets its address and its sources.
    pub plan: LoadPlan,
    pub end: SliceEnd,
    /// Worker threads; `None` for one per CPU of the generator.
    pub threads: Option<usize>,
    /// Local addresses that connections come from; empty for the default ones.
    pub local_addresses: Vec<IpAddr>,
}

/// The result of a load.
#[derive(Debug, Clone, PartialEq)]
pub struct OnceResult {
    pub slice: SliceTally,
    pub is_stopped: bool,
}

/// Loads a server once. A connection is opened when a request needs it.
///
/// # Errors
/// [`RunError::Prepare`] if nothing was sent. Failures of the server are in the tally.
pub fn load_once(
    once: OncePlan,
    on_stopper: &mut dyn FnMut(Stopper),
) -> Result<OnceResult, RunError> {
    let OncePlan {
        target,
        plan,
        end,
        threads,
        local_addresses,
    } = once;
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
    let load = Load {
        options: LoadOptions {
            connections: plan.connections,
            ..LoadOptions::default()
        },
        ..Load::default()
    };
    let study = Study {
        threads,
        local_addresses,
        ..Study::of_one(subject, vec![load], plan.seed, Vec::new())
    };
    // Nothing is started, so nothing needs a keeper.
    let mut context = StudyContext::prepare(&study, PathBuf::new(), &[])?;
    on_stopper(context.generator.stopper());
    let generator = &mut context.generator;
    let (pool, _) = generator
        .open(&plan, &mut |_| {})
        .map_err(PrepareError::Engine)?;
    let slice_plan = SlicePlan {
        end,
        discard_ns: 0,
        course: None,
    };
    let slice = generator.slice(pool, &slice_plan, &mut |_| {});
    Ok(OnceResult {
        slice: slice.map_err(PrepareError::Engine)?,
        is_stopped: generator.stopper().is_stopped(),
    })
}
