//! Plans for the engine: plain data that could come over a network.

mod extraction;
mod generator;
pub mod input_file;
mod load;
mod pacing;
mod part;
mod placeholders;
mod request;
mod scenario;
mod slice;
mod text_template;
mod tls;

pub use extraction::{Extraction, ValueSource};
pub use generator::EnginePlan;
pub use load::LoadPlan;
pub use pacing::Pacing;
pub use part::LoadPart;
pub(crate) use part::share_before;
pub use placeholders::{
    LineList, PlaceholderKind, PlaceholderPart, RequestPlaceholder, SENT_BEFORE_LOAD,
};
pub(crate) use placeholders::{push_decimal, push_uuid};
pub use request::{BodyIdentity, ExpectedResponse, HttpVersion, RequestPlan, WeightedRequest};
pub use scenario::{OWN_VALUES, ScenarioScript, ScenarioStep, ScenarioUsers, ThinkTime};
pub(crate) use scenario::{SESSION, USER};
pub use slice::{SliceEnd, SlicePlan};
pub use text_template::{TextTemplate, is_value_name};
pub use tls::{TlsFileError, TlsIdentity, TlsPlan, TlsSuite, TlsTrust, TlsVersion};
