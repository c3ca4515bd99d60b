//! The imports of most findings.

pub(super) use crate::findings::rule::{
    Condition, FindingRule, OfferContext, SubjectContext, new_finding, rule,
};
pub(super) use crate::view::{OfferView, SubjectView};
pub(super) use abx_evidence::FindingId;
pub(super) use abx_evidence::record::{
    HostCounters, InUse, LoadRecord, Measured, SubjectReadings, SubjectRecord,
};
pub(super) use abx_evidence::share;
pub(super) use abx_evidence::{Finding, Level};
pub(super) use abx_evidence::{Outcome, Outcomes};
pub(super) use abx_evidence::{sum, sum_known};
pub(super) use abx_model::{LoadShape, counted};
