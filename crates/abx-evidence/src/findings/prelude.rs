//! What most findings need.

pub(super) use crate::findings::rule::{
    Condition, FindingRule, OfferContext, SubjectContext, rule,
};
pub(super) use crate::measure::outcome::{Outcome, Outcomes};
pub(super) use crate::measure::share::share;
pub(super) use crate::measure::sum::{sum, sum_known};
pub(super) use crate::record::finding::{Finding, Level};
pub(super) use crate::record::finding_id::FindingId;
pub(super) use crate::record::{
    HostCounters, InUse, LoadRecord, Measured, SubjectReadings, SubjectRecord,
};
pub(super) use crate::view::{OfferView, SubjectView};
pub(super) use abx_model::LoadShape;
