//! Requests as they are written, and which responses are correct.

use std::collections::BTreeMap;

use abx_model::load_keys::REQUESTS;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::access_log::ReplayedMethods;

/// One request.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawRequest {
    /// Path and query; with `count`, `{n}` in it stands for the number.
    #[schemars(extend("examples" = ["/small.bin"]))]
    pub path: Option<String>,
    /// Instead of `path`, a file next to the study file with a path or URL per line.
    #[schemars(extend("x-shapes" = REQUESTS, "examples" = ["paths.txt"]))]
    pub urls: Option<String>,
    /// Instead of these, a file of requests next to the study file: a JSON object per line.
    #[schemars(extend("x-shapes" = REQUESTS, "examples" = ["requests.jsonl"]))]
    pub file: Option<String>,
    /// Instead of these, an access log next to the study file, in the common or combined format. Its requests are sent at the times in it.
    #[schemars(extend("x-shapes" = REQUESTS, "examples" = ["access.log"]))]
    pub replay: Option<String>,
    /// How many times as fast as it was recorded the log is replayed. Default: 1.
    #[schemars(extend("x-shapes" = REQUESTS, "examples" = [2, 0.5]))]
    pub speed: Option<f64>,
    /// Which requests of the log are replayed: GET and HEAD, or all, without bodies. Default: safe.
    #[schemars(extend("x-shapes" = REQUESTS, "examples" = ["all"]))]
    pub replay_methods: Option<ReplayedMethods>,
    /// How many requests there are, numbered from 0, each with this weight: `{n}` in path, headers and body stands for the number. Default: one, without a number.
    #[schemars(range(min = 1, max = 10_000), extend("x-shapes" = REQUESTS, "examples" = [250]))]
    pub count: Option<u32>,
    /// Its share among the load's requests. Default: 1.
    #[schemars(range(min = 1, max = 10_000), extend("x-shapes" = REQUESTS, "examples" = [1]))]
    pub weight: Option<u32>,
    /// The method. Default: GET, and POST with a body.
    #[schemars(extend("x-shapes" = REQUESTS, "examples" = ["GET"]))]
    pub method: Option<String>,
    /// Additional headers.
    #[serde(default)]
    #[schemars(extend("examples" = [{"Accept": "text/html"}]))]
    pub headers: BTreeMap<String, String>,
    /// The body; `@FILE` is the content of a file next to the study file. Default: none.
    #[schemars(extend("x-shapes" = REQUESTS, "examples" = ["a=1", "@body.json"]))]
    pub body: Option<String>,
    /// Instead of a body, the fields of a form: NAME=VALUE, or NAME=@FILE for a file next to the study file. Default: none.
    #[schemars(extend("x-shapes" = REQUESTS, "examples" = [["name=value", "file=@picture.svg"]]))]
    pub form: Option<Vec<String>>,
    /// Whether placeholders are filled in inside the files of `body` and `form`, too. Otherwise the files are sent byte for byte. Default: false.
    #[schemars(extend("examples" = [true]))]
    pub template: Option<bool>,
    /// Credentials for basic authentication: NAME:PASSWORD. Default: none.
    #[schemars(extend("examples" = ["user:password"]))]
    pub user: Option<String>,
    /// A bearer token, or `@FILE` for one in a file next to the study file. Default: none.
    #[schemars(extend("examples" = ["@token"]))]
    pub bearer: Option<String>,
    /// Cookies, such as A=1; B=2. Default: none.
    #[schemars(extend("examples" = ["session=1; theme=dark"]))]
    pub cookie: Option<String>,
}

/// Which responses are correct.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields)]
pub struct RawExpect {
    /// The correct status, or a class of statuses. Default: 200.
    pub status: Option<RawStatus>,
    /// The correct body: `same` from all subjects, `any`, or the one of this SHA-256. Default: same.
    #[schemars(extend("examples" = ["same"]))]
    pub body: Option<String>,
}

/// A status, or a class of them.
#[derive(Deserialize, JsonSchema, Clone)]
#[serde(untagged)]
#[schemars(extend("examples" = [200, "2xx"]))]
pub enum RawStatus {
    One(#[schemars(range(min = 100, max = 599))] u16),
    Class(String),
}
