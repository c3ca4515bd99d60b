//! What was measured beside the two sides in their own blocks, then and now: it feels most
//! of what happened to the machine in between, so each side is read over it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::view::{OfferView, SubjectView};
use abx_evidence::record::{PastBaseline, PastMeasurement, PastReference, SubjectRecord};
use abx_stats::paired::PairedMean;

/// How differently two servers feel a change of the machine: the standard deviation of
/// what one feels more or less, as a share of what the other does. Between blocks of saved
/// studies, servers of one kind differed by a tenth from each other (`scripts/felt-alike`).
/// Source: docs/explain/statistics/older-records.md.
const FELT_BY_A_SUBJECT: f64 = 0.1;

/// The same of a server that does nothing: it spends its time in the kernel and is held by
/// the generator, and in most loads it moved by 0.2 to 1.5 times what servers did. So
/// it tells whether the machine has changed, and little of how much: all of it is open.
const FELT_BY_THE_CEILING: f64 = 1.0;

/// What both sides of a comparison with an older record are read over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionReference {
    /// A subject that ran in both studies; `None` for the server that does nothing.
    pub subject: Option<String>,
    /// Its throughput now over that of then: how the machine has changed, as it felt that.
    pub moved: f64,
    /// The standard error, as a logarithm, of what the two sides felt of that and it did not.
    pub error: f64,
}

/// Its blocks on both sides.
pub(super) struct Reference {
    /// What is told of it.
    pub(super) of: SessionReference,
    /// The logarithm of its throughput in each block now.
    pub(super) now: Vec<f64>,
    pub(super) then: Vec<f64>,
}

/// What of an older study may be measured again beside it, under one load: the other
/// subjects that have a namesake now, and the ceiling.
pub(crate) fn candidates(
    under: &OfferView,
    compared: &str,
    now: &[SubjectRecord],
) -> Vec<PastReference> {
    let again = under.study.subjects.iter().filter(|then| {
        let is_namesake = |now: &SubjectRecord| now.name == then.name;
        then.name != compared && now.iter().any(is_namesake)
    });
    let subjects = again.filter_map(|then| {
        let rates = rates(under.subject(&then.name)?)?;
        Some(PastReference {
            subject: Some(then.clone()),
            throughputs_per_s: rates,
        })
    });
    let ceiling = rates(&under.ceiling).map(|rates| PastReference {
        subject: None,
        throughputs_per_s: rates,
    });
    subjects.chain(ceiling).collect()
}

/// What a subject measured now is read over beside an older one: another subject that ran
/// in both studies, else the ceiling; `None` where neither did, and in an open loop, where
/// throughput is what was asked for.
pub(super) fn reference(
    against: &PastBaseline,
    past: &PastMeasurement,
    load: &OfferView,
    now: &SubjectView,
) -> Option<Reference> {
    if now.offered().is_some() {
        return None;
    }
    let each = past.beside.iter();
    let mut usable = each.filter_map(|then| {
        let view = match &then.subject {
            Some(before) => {
                let subject = now.study.subject(&before.name)?;
                let is_other = before.name != now.subject && is_same(before, subject);
                load.subject(&before.name).filter(|_| is_other)?
            }
            // It is part of abx, so another version of abx has another one.
            None if now.study.abx_version == against.abx_version => &load.ceiling,
            None => return None,
        };
        let rates = rates(view)?;
        let is_beside_all =
            rates.len() == now.blocks.len() && then.throughputs_per_s.len() == past.blocks();
        is_beside_all.then(|| Reference::of(then, &rates))
    });
    usable.next()
}

/// Whether two records are of one program, as far as they say.
fn is_same(then: &SubjectRecord, now: &SubjectRecord) -> bool {
    let report = |subject: &SubjectRecord| {
        let SubjectRecord {
            command,
            address,
            version,
            stand_in_for,
            http2,
            ..
        } = subject.clone();
        (command, address, version, stand_in_for, http2)
    };
    report(then) == report(now)
}

/// What it gave in each block; `None` when it is not above zero in every one.
fn rates(view: &SubjectView) -> Option<Vec<f64>> {
    let rates = view.block_throughputs();
    let is_whole = rates.iter().all(|rate| *rate > 0.0 && rate.is_finite());
    (is_whole && !rates.is_empty()).then_some(rates)
}

impl Reference {
    pub(super) fn of(then: &PastReference, now: &[f64]) -> Reference {
        let logs = |rates: &[f64]| rates.iter().map(|rate| rate.ln()).collect::<Vec<f64>>();
        let (now, past) = (logs(now), logs(&then.throughputs_per_s));
        let mean = |logs: &[f64]| logs.iter().sum::<f64>() / logs.len() as f64;
        let moved = mean(&now) - mean(&past);
        // What its own blocks are scattered is in both sides' spread already.
        let scattered = |logs: &[f64]| {
            PairedMean::of(logs).map_or(0.0, |paired_mean| {
                paired_mean.spread().powi(2) / logs.len() as f64
            })
        };
        let felt = moved.powi(2) - scattered(&now) - scattered(&past);
        let differently = match then.subject {
            Some(_) => FELT_BY_A_SUBJECT,
            None => FELT_BY_THE_CEILING,
        };
        Reference {
            of: SessionReference {
                subject: then.subject.as_ref().map(|subject| subject.name.clone()),
                moved: moved.exp(),
                error: differently * felt.max(0.0).sqrt(),
            },
            now,
            then: past,
        }
    }
}
