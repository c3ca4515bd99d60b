//! Scenario files: the actions of each user, step by step. They are read like study files, and
//! docs/guides/scenarios.md lists every key. Start at [`read`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use abx_engine::{
    Extraction, OWN_VALUES, ScenarioScript, ScenarioStep, TextTemplate, ThinkTime, ValueSource,
    is_value_name,
};
use abx_sys::Nanos;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::name::TakenNames;
use crate::loads::user_scenario::UserScenario;
use crate::study_file::document::TomlDocument;
use crate::study_file::input::{Templates, file_text, on_large_stack, read_bounded, read_within};
use crate::study_file::key_position::KeyPosition;
use crate::study_file::mistake::{Diagnostic, StudyFileError, short};
use crate::study_file::nearest::meant;
use crate::study_file::raw_scenario::{RawExtract, RawScenario, RawStep};
use crate::study_file::{conform, unit};
use crate::units;

/// How many bytes of a body are kept by default.
const BODY_BYTES_MAX: u64 = 1 << 20;
/// How long a step may take by default.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The content of a scenario file.
#[derive(Debug, Clone)]
pub struct ScenarioFile {
    /// The values that a session begins with; `None` for a value that comes from a response.
    pub values: Vec<Option<String>>,
    pub steps: Vec<ScenarioStep>,
    /// The path of each step as it is written.
    pub paths: Vec<String>,
    /// Whether a session keeps its cookies.
    pub keeps_cookies: bool,
    /// How much is kept of a body that values are taken from, in bytes.
    pub body_max: usize,
    /// How long a step may take.
    pub timeout: Duration,
    /// The SHA-256 of the file, in hexadecimal.
    pub sha256: String,
}

impl ScenarioFile {
    /// Users of this scenario, whose name is `file`. Their sessions are numbered from 0.
    #[must_use]
    pub fn users(self, file: String) -> UserScenario {
        let script = ScenarioScript {
            values: self.values,
            steps: self.steps,
            keeps_cookies: self.keeps_cookies,
            body_max: self.body_max,
            next_session: Arc::new(AtomicU64::new(0)),
        };
        UserScenario::new(file, self.sha256, self.paths, self.timeout, script)
    }
}

/// Why a scenario is refused. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioFileError {
    #[error(
        "{}: cannot be read ({source}): name a TOML file with a [[step]] per request, such as \
         [[step]] path = \"/login\"",
        path.display()
    )]
    Read {
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    #[error("{0}")]
    Content(StudyFileError),
}

/// The JSON Schema of scenario files; [`crate::study_file::schema`] is that of study files.
#[must_use]
pub fn schema() -> Value {
    conform::schema_of::<RawScenario>()
}

/// Reads a scenario file, and the bodies in files next to it.
pub fn read(path: &Path) -> Result<ScenarioFile, ScenarioFileError> {
    let unreadable = |source| ScenarioFileError::Read {
        path: path.to_owned(),
        source,
    };
    let bytes = read_bounded(path).map_err(unreadable)?;
    let text = file_text(path, bytes).map_err(ScenarioFileError::Content)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    // The folder of a bare name is the current one.
    let folder = Path::new(".").join(folder);
    parse(&text, path, &|file| read_within(&folder, file))
}

/// Reads a text. `file` is only for messages; `files` returns the text of a file next to it.
pub fn parse(text: &str, file: &Path, files: Templates) -> Result<ScenarioFile, ScenarioFileError> {
    let parsed = on_large_stack(|| parse_tree(text, file, files));
    let parsed = parsed.map_err(|source| ScenarioFileError::Read {
        path: file.to_owned(),
        source,
    })?;
    parsed.map_err(ScenarioFileError::Content)
}

fn parse_tree(text: &str, file: &Path, files: Templates) -> Result<ScenarioFile, StudyFileError> {
    let document = TomlDocument::parse(file, text)?;
    let faults = conform::conform_to(&document, &schema());
    if !faults.is_empty() {
        return Err(StudyFileError::Content(faults));
    }
    let raw: RawScenario = document.read()?;
    let top = KeyPosition::top(&document);
    let checked = check(raw, &top, files);
    let mut checked = checked.map_err(|fault| StudyFileError::Content(vec![fault]))?;
    checked.sha256 = abx_model::hex(&Sha256::digest(text));
    Ok(checked)
}

/// The values that are known so far, by name.
struct KnownValues {
    names: Vec<String>,
    values: Vec<Option<String>>,
}

impl KnownValues {
    fn index(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// Adds a value unless its name is known, and returns its index.
    fn add(&mut self, name: &str, value: Option<String>) -> usize {
        self.index(name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.values.push(value);
            self.names.len() - 1
        })
    }

    fn template(&self, text: &str, here: &KeyPosition) -> Result<TextTemplate, Diagnostic> {
        TextTemplate::parse(text, |name| self.index(name)).map_err(|name| {
            let known: Vec<&str> = self.names.iter().map(String::as_str).collect();
            let (key, meant, name) = (here.name(), meant(name, &known), short(name));
            here.fault(format!(
                "`{key}` has {{{name}}}, and no step before this one extracts it; {meant} (for the \
                 text {{{name}}} itself, give it a name in [values])"
            ))
        })
    }
}

fn check(
    raw: RawScenario,
    top: &KeyPosition,
    files: Templates,
) -> Result<ScenarioFile, Diagnostic> {
    let mut known = KnownValues {
        names: OWN_VALUES.map(str::to_owned).to_vec(),
        values: vec![None; OWN_VALUES.len()],
    };
    for (name, value) in raw.values {
        check_value_name(&name, &top.key("values").key(&name))?;
        known.add(&name, Some(value));
    }
    let timeout = top.key("timeout").time(raw.timeout.as_ref())?;
    let list = top.key("step");
    let mut names = TakenNames::none(&list);
    let (mut steps, mut paths) = (Vec::new(), Vec::new());
    for (index, step) in raw.step.into_iter().enumerate() {
        let here = list.item(index);
        let name = step.name.clone();
        let name = name.unwrap_or_else(|| format!("step-{}", index + 1));
        names.take_name(index, &name)?;
        paths.push(step.path.clone());
        let shared = headers(&raw.headers, &top.key("headers"), &known)?;
        let mut step = self::step(step, name, &here, &mut known, files)?;
        let present: BTreeSet<String> = step
            .headers
            .iter()
            .map(|(name, _)| name.to_ascii_lowercase())
            .collect();
        let is_missing = |(name, _): &(String, _)| !present.contains(&name.to_ascii_lowercase());
        step.headers.extend(shared.into_iter().filter(is_missing));
        steps.push(step);
    }
    let body_max = raw.body_bytes_max.unwrap_or(BODY_BYTES_MAX);
    Ok(ScenarioFile {
        values: known.values,
        steps,
        paths,
        keeps_cookies: raw.cookies.unwrap_or(false),
        body_max: usize::try_from(body_max).unwrap_or(usize::MAX),
        timeout: timeout.unwrap_or(TIMEOUT),
        sha256: String::new(),
    })
}

fn step(
    raw: RawStep,
    name: String,
    here: &KeyPosition,
    known: &mut KnownValues,
    files: Templates,
) -> Result<ScenarioStep, Diagnostic> {
    let at = here.key("path");
    let begins = raw.path.starts_with('/') || raw.path.starts_with('{');
    if !begins || raw.path.contains(char::is_control) {
        return Err(at.fault(format!(
            "`path` is `{}`: begin it with `/` or with a value such as {{location}}, on one line",
            short(&raw.path)
        )));
    }
    let path = known.template(&raw.path, &at)?;
    let headers = headers(&raw.headers, &here.key("headers"), known)?;
    let at = here.key("body");
    let body = raw.body.map(|text| super::request::body(text, &at, files));
    let body = body.transpose()?;
    let method = raw.method;
    let method = here
        .key("method")
        .read(|_| unit::method(method, body.is_some()))?;
    let body = known.template(&body.unwrap_or_default(), &at)?;
    let status = raw.expect_status.as_ref();
    let status = status.map(|status| {
        here.key("expect_status")
            .read(|key| unit::status(key, status))
    });
    let think = raw.think.map(|text| think(&text, &here.key("think")));
    let think = think.transpose()?;
    let mut extract = Vec::new();
    for (name, raw) in raw.extract {
        let at = here.key("extract").key(&name);
        check_value_name(&name, &at)?;
        let source = source(&raw, &at)?;
        extract.push(Extraction {
            value: known.add(&name, None),
            name,
            source,
            after: raw.after.unwrap_or_default(),
            before: raw.before.unwrap_or_default(),
        });
    }
    Ok(ScenarioStep {
        name,
        method,
        path,
        headers,
        body,
        status: status.transpose()?.unwrap_or_default(),
        think,
        extract,
    })
}

fn headers(
    raw: &BTreeMap<String, String>,
    table: &KeyPosition,
    known: &KnownValues,
) -> Result<Vec<(String, TextTemplate)>, Diagnostic> {
    let checked = super::request::headers(raw.clone(), table)?.into_iter();
    let templates = checked.map(|(name, text)| {
        let template = known.template(&text, &table.key(&name))?;
        Ok((name, template))
    });
    templates.collect()
}

fn check_value_name(name: &str, here: &KeyPosition) -> Result<(), Diagnostic> {
    if !is_value_name(name) {
        return Err(here.fault(format!(
            "`{}` is not the name of a value: use letters, digits and `_`, and no digit first",
            short(name)
        )));
    }
    if OWN_VALUES.contains(&name) {
        return Err(here.fault(format!(
            "`{name}` is a value that every session has: take another name"
        )));
    }
    Ok(())
}

fn source(raw: &RawExtract, here: &KeyPosition) -> Result<ValueSource, Diagnostic> {
    match (&raw.json, &raw.header) {
        (Some(_), Some(_)) => Err(here.fault(format!(
            "`{}` has both `json` and `header`: leave one of them out",
            here.name()
        ))),
        (Some(pointer), None) if pointer.starts_with('/') => Ok(ValueSource::Json(pointer.clone())),
        (Some(pointer), None) => {
            let here = here.key("json");
            Err(here.fault(format!(
                "`{}` is `{}`: a JSON pointer begins with `/`, such as /data/token",
                here.name(),
                short(pointer)
            )))
        }
        (None, Some(header)) => {
            let at = here.key("header");
            at.read(|_| unit::check_header_name(header))?;
            Ok(ValueSource::Header(header.clone()))
        }
        (None, None) if raw.after.is_some() || raw.before.is_some() => Ok(ValueSource::Body),
        (None, None) => Err(here.fault(format!(
            "`{}` needs the place of its value: write {{ json = \"/token\" }}, {{ header = \
             \"Location\" }}, or {{ after = \"value='\", before = \"'\" }} for a part of the body",
            here.name()
        ))),
    }
}

/// Reads `200ms`, or `100ms..300ms`.
fn think(text: &str, here: &KeyPosition) -> Result<ThinkTime, Diagnostic> {
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let read = |text: &str| units::time(text.trim()).map(Nanos::from);
    match (read(least), read(most)) {
        (Some(least), Some(most)) if least <= most => Ok(ThinkTime { least, most }),
        _ => Err(here.fault(format!(
            "`think` is `{}`: write a time such as 200ms, or two for any time between them, the \
             shorter one first: \"100ms..300ms\"",
            short(text)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<ScenarioFile, String> {
        let files = |path: &Path| match path.to_str() {
            Some("body.json") => Ok("{\"a\": {user}}".to_owned()),
            _ => Err(std::io::Error::other("not there")),
        };
        parse(text, Path::new("s.toml"), &files).map_err(|error| error.to_string())
    }

    #[test]
    fn a_scenario_has_the_steps_of_each_user() {
        // Method: a file with every key, and its meaning step by step.
        let text = r#"
            cookies = true
            timeout = "2s"
            body_bytes_max = 4096
            values = { password = "secret" }
            headers = { Accept = "application/json", X-User = "{user}" }
            [[step]]
            name = "login"
            path = "/login"
            body = "@body.json"
            extract.token = { json = "/data/token" }
            extract.next = { header = "Location", after = "id=", before = "&" }
            [[step]]
            path = "{next}?p={password}"
            method = "PUT"
            headers = { Authorization = "Bearer {token}", accept = "text/html" }
            expect_status = "2xx"
            think = "100ms..300ms"
            extract.csrf = { after = "csrf='", before = "'" }
        "#;
        let file = parsed(text).unwrap();
        assert!(file.keeps_cookies);
        assert_eq!(
            (file.timeout, file.body_max),
            (Duration::from_secs(2), 4096)
        );
        assert_eq!(file.values.len(), 6);
        assert_eq!(file.values[2].as_deref(), Some("secret"));
        assert_eq!(file.paths, ["/login", "{next}?p={password}"]);
        let [login, next] = &file.steps[..] else {
            panic!("{file:?}");
        };
        assert_eq!(
            (login.name.as_str(), login.method.as_str()),
            ("login", "POST")
        );
        assert_eq!(
            (next.name.as_str(), next.method.as_str()),
            ("step-2", "PUT")
        );
        let extractions: Vec<_> = login
            .extract
            .iter()
            .map(|extraction| {
                (
                    extraction.name.as_str(),
                    extraction.value,
                    extraction.source.clone(),
                )
            })
            .collect();
        let pointer = ValueSource::Json("/data/token".to_owned());
        let header = ValueSource::Header("Location".to_owned());
        assert_eq!(extractions, [("next", 3, header), ("token", 4, pointer)]);
        assert_eq!(
            (next.extract[0].value, &next.extract[0].source),
            (5, &ValueSource::Body)
        );
        let names = |step: &ScenarioStep| -> Vec<String> {
            step.headers.iter().map(|(name, _)| name.clone()).collect()
        };
        assert_eq!(names(login), ["Accept", "X-User"]);
        assert_eq!(names(next), ["Authorization", "accept", "X-User"]);
        let think = ThinkTime {
            least: Nanos(100_000_000),
            most: Nanos(300_000_000),
        };
        assert_eq!((login.think, next.think), (None, Some(think)));
        assert!(next.status.accepts(204) && !login.status.accepts(204));
    }

    /// Lines of a step that are wrong, and the messages for them.
    const WRONG_LINES: &[(&str, &str)] = &[
        (
            "pth = \"/\"",
            "s.toml:6: step 2: unknown key `pth`; did you mean `path`?",
        ),
        (
            "path = \"/{tokn}\"",
            "s.toml:6: step \"/{tokn}\": `path` has {tokn}, and no step before this \
              one extracts it; did you mean `token`?",
        ),
        ("path = \"x\"", "`path` is `x`: begin it with `/`"),
        (
            "path = \"/\"\nthink = \"3s..2s\"",
            "s.toml:7: step \"/\": `think` is `3s..2s`: write",
        ),
        ("path = \"/\"\nthink = \"3\"", "write a time such as 200ms"),
        (
            "path = \"/\"\nexpect_status = \"ok\"",
            "write a number such as 200",
        ),
        (
            "path = \"/\"\nname = \"a\"",
            "the name `a` is taken by the step in line 1",
        ),
        ("path = \"/\"\nmethod = \"G T\"", "is not a method"),
        (
            "path = \"/\"\nbody = \"@no.json\"",
            "the body file `no.json` cannot be read",
        ),
        (
            "path = \"/\"\nbody = \"{later}\"\nextract.later = { header = \"X\" }",
            "`body` has {later}, and no step before this one extracts it",
        ),
        (
            "path = \"/\"\nextract.a = { json = \"data\" }",
            "`extract.a.json` is `data`: a JSON \
              pointer begins with `/`",
        ),
        (
            "path = \"/\"\nextract.a = { }",
            "`extract.a` needs the place of its value",
        ),
        (
            "path = \"/\"\nextract.a = { json = \"/a\", header = \"b\" }",
            "has both",
        ),
        (
            "path = \"/\"\nextract.a = { header = \"b c\" }",
            "is not a header name",
        ),
        (
            "path = \"/\"\nextract.user = { json = \"/a\" }",
            "`user` is a value that every \
              session has",
        ),
        (
            "path = \"/\"\nextract.a-b = { json = \"/a\" }",
            "`a-b` is not the name of a value",
        ),
    ];

    #[test]
    fn faults_are_named_with_their_line_and_remedy() {
        // Method: a valid file whose second step has one wrong line at a time.
        for (line, expected) in WRONG_LINES {
            let text = format!(
                "[[step]]\nname = \"a\"\npath = \"/\"\nextract.token = {{ json = \"/t\" }}\n\
                 [[step]]\n{line}\n"
            );
            let error = parsed(&text).unwrap_err();
            assert!(error.starts_with("s.toml:"), "{error}");
            assert!(error.contains(expected), "{line}: {error}");
        }
        let empty = parsed("").unwrap_err();
        assert!(empty.contains("`[[step]]` is missing: add it"), "{empty}");
        let value = parsed("values.session = \"1\"\n[[step]]\npath = \"/\"").unwrap_err();
        assert!(
            value.contains("`session` is a value that every session has"),
            "{value}"
        );
    }
}
