//! A scenario as it is written, key by key, as `raw` has the keys of study files.

use std::collections::BTreeMap;

use abx_model::TimeText;
use schemars::JsonSchema;
use serde::Deserialize;

use super::raw_request::RawStatus;

/// A scenario for abx: the requests of each user, step by step.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawScenario {
    /// Whether a session sends back the cookies that it received. Default: false.
    #[schemars(extend("examples" = [true]))]
    pub cookies: Option<bool>,
    /// How long a step may take, including opening its connection. Default: 10s.
    pub timeout: Option<TimeText>,
    /// The largest body that values are taken from, in bytes. Default: 1048576.
    #[schemars(range(min = 1, max = 1_073_741_824), extend("examples" = [65536]))]
    pub body_bytes_max: Option<u64>,
    /// Values that every session starts with, by name.
    #[serde(default)]
    #[schemars(extend("examples" = [{"password": "secret"}]))]
    pub values: BTreeMap<String, String>,
    /// Headers of every step.
    #[serde(default)]
    #[schemars(extend("examples" = [{"Accept": "application/json"}]))]
    pub headers: BTreeMap<String, String>,
    /// The requests of a session, in order.
    #[schemars(length(min = 1), extend("examples" = [[{"path": "/login"}]]))]
    pub step: Vec<RawStep>,
}

/// One request of a session.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawStep {
    /// Its name in reports. Default: step-1 and so on.
    #[schemars(extend("examples" = ["login"]))]
    pub name: Option<String>,
    /// Path and query; `{name}` in it stands for a value.
    #[schemars(extend("examples" = ["/orders/{order}"]))]
    pub path: String,
    /// The method. Default: GET, and POST with a body.
    #[schemars(extend("examples" = ["PUT"]))]
    pub method: Option<String>,
    /// Additional headers, before those of every step; `{name}` stands for a value.
    #[serde(default)]
    #[schemars(extend("examples" = [{"Authorization": "Bearer {token}"}]))]
    pub headers: BTreeMap<String, String>,
    /// The body; `{name}` stands for a value, and `@FILE` is the content of a file next to the scenario. Default: none.
    #[schemars(extend("examples" = ["{\"name\": \"user-{user}\"}"]))]
    pub body: Option<String>,
    /// The correct status, or a class of statuses. Default: 200.
    pub expect_status: Option<RawStatus>,
    /// The pause before the step: one time, or two for a random time between them. Default: none.
    #[schemars(extend("examples" = ["200ms", "100ms..300ms"]))]
    pub think: Option<String>,
    /// Values that later steps need from the response, by name.
    #[serde(default)]
    #[schemars(extend("examples" = [{"token": {"json": "/data/token"}}]))]
    pub extract: BTreeMap<String, RawExtract>,
}

/// The place of a value in a response.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawExtract {
    /// A JSON pointer (RFC 6901) to it, in a body that is JSON.
    #[schemars(extend("examples" = ["/data/token"]))]
    pub json: Option<String>,
    /// The header that contains it.
    #[schemars(extend("examples" = ["Location"]))]
    pub header: Option<String>,
    /// The value starts after this text. Without `json` and `header`, the text is in the body.
    #[schemars(extend("examples" = ["name=\"csrf\" value=\""]))]
    pub after: Option<String>,
    /// The value ends before this text. Default: at the end.
    #[schemars(extend("examples" = ["\""]))]
    pub before: Option<String>,
}
