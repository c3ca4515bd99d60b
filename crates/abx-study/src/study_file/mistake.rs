//! Why a study file is refused: where, what, and what to write instead.

use std::fmt;
use std::path::PathBuf;

use super::scenario_mistake::ScenarioMistake;
use crate::loads::shape::BROADCAST_BYTES_MIN;
use crate::requests::credentials::CredentialError;
use crate::requests::numbered::NumberError;
use crate::requests::request_file::RequestFileError;
use crate::requests::request_placeholder::RequestPlaceholderError;
use crate::requests::url_list::UrlListError;

/// How many faults a message lists; more are counted.
const LISTED: usize = 10;

/// Why a study file is refused. Nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum StudyFileError {
    /// The file is not there or not for us.
    #[error(
        "{}: cannot be read ({source}): name a study.toml, or the folder that holds one",
        path.display()
    )]
    Read {
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// What it says is wrong; at least one fault, in the order of the lines.
    #[error("{}", listed(.0))]
    Content(Vec<Diagnostic>),
}

/// One thing that is wrong in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// The study file, or a template.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The table that it stands in, such as `subject "nginx"`; `None` outside of lists of tables.
    pub place: Option<String>,
    pub wrong: Box<Mistake>,
}

/// What is wrong, and what to write instead.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "`key` and `text` are those of the file")]
pub enum Mistake {
    /// Not TOML.
    #[error("this is not TOML ({}): strings need quotes, and each key may appear only once in its table", short(.0))]
    Syntax(String),
    /// Nothing but space and comments.
    #[error(
        "the file is empty: it needs a [[subject]] and a [[load]]; `abx study show NAME` prints an example"
    )]
    Empty,
    /// Far too long to be what it should.
    #[error("the file is longer than {limit_bytes} bytes: is it the right one?")]
    TooLong { limit_bytes: u64 },
    /// Bytes that are no text.
    #[error("the file is not UTF-8 text: is it the right one?")]
    NoText,
    /// A key that nobody knows.
    #[error("unknown key `{}`; {meant}", short(.key))]
    UnknownKey {
        key: String,
        /// The known word that was meant, or all of them.
        meant: String,
    },
    /// A key or value that will mean something one day.
    #[error("`{0}` is reserved for later: leave it out")]
    NotYet(String),
    /// A value of another type.
    #[error("`{key}` is {is}, and {wanted} is wanted{}", such_as(.example))]
    Type {
        key: String,
        is: &'static str,
        wanted: String,
        /// How it may be written.
        example: Option<String>,
    },
    /// A key that must be there.
    #[error("`{key}` is missing: add it{}", such_as(.example))]
    Missing {
        key: String,
        /// How it may be written.
        example: Option<String>,
    },
    /// A number too small or too large.
    #[error("`{key}` is {value}: write a number from {low} to {high}")]
    Range {
        key: String,
        value: String,
        low: u64,
        high: u64,
    },
    /// A list or a text without anything in it.
    #[error("`{key}` is empty: fill it{}", such_as(.example))]
    Nothing {
        key: String,
        /// How it may be written.
        example: Option<String>,
    },
    /// A word that is none of the known ones.
    #[error("`{key}` is `{}`, which is unknown; {meant}", short(.text))]
    UnknownWord {
        key: String,
        text: String,
        /// The known word that was meant, or all of them.
        meant: String,
    },
    /// Not a time above zero.
    #[error(
        "`{key}` is `{}`, which is not a time above zero: write a number and its unit, such as 30s, 100ms or 2m",
        short(.text)
    )]
    RawTime { key: String, text: String },
    /// Not a share above zero.
    #[error(
        "`{key}` is `{}`, which is not a percentage above 0% and up to 100%: write a number and %, such as 3%",
        short(.text)
    )]
    Share { key: String, text: String },
    /// Not a name.
    #[error("`{}` is not a valid name: use letters, digits, `-`, `_` and `.`, at most 40", short(.0))]
    Name(String),
    /// A path that could lead out of its folder.
    #[error(
        "`{key}` is `{}`: write a file's path below the folder, without a leading `/` and without `..`",
        short(.text)
    )]
    PathAbove { key: String, text: String },
    /// Not the path of a request.
    #[error(
        "`{key}` is `{}`: begin with `/`, write other than visible ASCII as %XX, and leave out `#`",
        short(.text)
    )]
    UrlPath { key: String, text: String },
    /// Not a class of statuses.
    #[error("`{key}` is `{}`: write a number such as 200, or a class such as \"2xx\"", short(.text))]
    Status { key: String, text: String },
    /// Not an expectation for a body.
    #[error(
        "`expect.body` is `{}`: write `same`, `any`, or a SHA-256 of 64 hexadecimal digits (as `sha256sum` prints it)",
        short(.0)
    )]
    Body(String),
    /// Not a method.
    #[error("`{}` is not a method: write one such as GET", short(.0))]
    Method(String),
    /// Not a header's name.
    #[error("`{}` is not a header name: use letters, digits and `-`", short(.0))]
    HeaderName(String),
    /// A header's value with a line end or the like.
    #[error("the header `{}` has a control character in its value: remove it", short(.0))]
    HeaderValue(String),
    /// Not an address.
    #[error("`address` is `{}`: write http://HOST[:PORT], or https://, ws://, wss://", short(.0))]
    Address(String),
    /// A name that is taken.
    #[error("the name `{name}` is taken by the {kind} in line {first_line}: give each its own")]
    Taken {
        kind: String,
        name: String,
        first_line: usize,
    },
    #[error("`{}` is compared with itself: name two subjects", short(.0))]
    ContrastWithItself(String),
    /// A pair that an earlier contrast has.
    #[error(
        "`{subject}` and `{baseline}` are compared by the contrast in line {first_line} already: \
         keep one of the two, with all of its `loads`"
    )]
    ContrastTwice {
        subject: String,
        baseline: String,
        first_line: usize,
    },
    /// A name that nothing in the file has.
    #[error("`{key}` is `{}`, and no {kind} has that name; {meant}", short(.name))]
    NoSuchName {
        key: String,
        /// What it should be the name of.
        kind: &'static str,
        name: String,
        /// The known word that was meant, or all of them.
        meant: String,
    },
    /// A fault that would be taken for a load.
    #[error("`{}` is the name of a load, and a fault stands beside loads in reports: give it its own", short(.0))]
    FaultNamedAsLoad(String),
    /// A fault behind its own slice.
    #[error("`at` is {at}, and the slice ends `within` {within}: let the fault come before that")]
    FaultBeyondEnd { at: String, within: String },
    /// A fault under a load that offers less when it gets less.
    #[error(
        "the load `{}` has no fixed rate, so it would offer less while a subject fails: add one to it, such as rate = 500",
        short(.0)
    )]
    FaultWithoutRate(String),
    /// A fault under connections that are not asked one by one.
    #[error("the load `{}` is not of shape `request`: faults are seen in requests, so name a load that is", short(.0))]
    FaultOfShape(String),
    /// Two things at once.
    #[error("`action` stands beside `signal` or `whom`: leave out `action`, or the other two")]
    FaultTwice,
    /// A fault that does nothing.
    #[error(
        "nothing is done: add signal = \"SEGV\" and whom = \"worker\", or action = \"restart\""
    )]
    FaultOfNothing,
    /// A key that says nothing of loads of this shape.
    #[error("`{key}` has no effect on a load of shape `{shape}`: leave it out")]
    NotOfShape { key: String, shape: &'static str },
    /// HTTP for what only WebSocket has.
    #[error(
        "`protocol` is HTTP, and the shape `{0}` speaks WebSocket: write protocol = \"websocket\", or leave `protocol` out"
    )]
    ShapeOfWebSocket(&'static str),
    /// WebSocket without a shape.
    #[error(
        "`protocol` is `websocket`, and nothing says what its connections carry: add shape = \"echo\", \"broadcast\" or \"connections\""
    )]
    NoShape,
    /// Several requests for what is opened by one.
    #[error("`requests` has several, but a WebSocket is opened by one: keep one")]
    OneRequest,
    /// A broadcast without room for its number.
    #[error(
        "`message.bytes` is {0}: a broadcast carries its number, so write at least {BROADCAST_BYTES_MIN}"
    )]
    ShortBroadcast(u32),
    /// A sweep that visits a length twice.
    #[error("`message.bytes` lists {0} twice: each length gives one row, so list it once")]
    MessageTwice(u32),
    /// A sweep that visits a number twice.
    #[error("`connections` lists {0} twice: each number gives one row, so list it once")]
    ConnectionsTwice(u32),
    #[error("`{key}` is `{text}` for each of `count`: write `{{n}}` in it for the number")]
    NoNumber { key: String, text: String },
    /// Requests that cannot be numbered.
    #[error("`{key}`: {wrong}")]
    Number { key: String, wrong: NumberError },
    /// What cannot be filled in.
    #[error("{0}")]
    RequestPlaceholder(RequestPlaceholderError),
    /// A request without a path.
    #[error(
        "`path` is missing: add it, for example path = \"/small.bin\", or a list of paths by `urls`"
    )]
    NoPath,
    /// A path and a list of paths.
    #[error("a request has either `path` or `urls`: leave one of them out")]
    PathAndUrls,
    /// A list of paths that is not there.
    #[error("the list `{}` cannot be read ({why}): put it beside the study file", short(.file))]
    UrlsFile { file: String, why: String },
    /// A list of paths that cannot be asked for.
    #[error("the list `{}`: {wrong}", short(.file))]
    Urls { file: String, wrong: UrlListError },
    /// A body's file that is not there.
    #[error(
        "the file `{}` of a body cannot be read ({why}): put it beside the file that names it, or write `@@` for a body that begins with @",
        short(.file)
    )]
    BodyFile { file: String, why: String },
    /// A file of requests beside what it says itself.
    #[error("a file of requests says `{0}` itself: leave one of them out")]
    InRequestFile(&'static str),
    /// A file of requests that is not there.
    #[error("the file `{}` of requests cannot be read ({why}): put it beside the study file", short(.file))]
    RequestFile { file: String, why: String },
    /// A file of requests that cannot be asked for.
    #[error("the file `{}`: {wrong}", short(.file))]
    Requests {
        file: String,
        wrong: RequestFileError,
    },
    /// Something that a log says itself.
    #[error("a log that is replayed says what is requested and when: leave `{0}` out")]
    BesideReplay(&'static str),
    /// A log and other requests.
    #[error(
        "a log is replayed alone: leave the other requests out, or give them a load of their own"
    )]
    ReplayNotAlone,
    /// How a log is replayed that is not there.
    #[error("`{0}` says how a log is replayed, and none is: add replay = \"access.log\"")]
    WithoutReplay(&'static str),
    /// Not a speed.
    #[error("`speed`: {0}")]
    Speed(String),
    /// A log that cannot be read or replayed.
    #[error("the log `{}`: {why}", short(.file))]
    Log { file: String, why: String },
    /// Not a credential.
    #[error("`{key}`: {wrong}")]
    Credential { key: String, wrong: CredentialError },
    /// A token's file that is not there.
    #[error("the file `{}` of a token cannot be read ({why}): put it beside the study file", short(.file))]
    TokenFile { file: String, why: String },
    /// Two who ask, or two bodies.
    #[error("a request has either `{0}` or `{1}`: leave one of them out")]
    Either(&'static str, &'static str),
    /// Not a form.
    #[error("`{key}`: {why}")]
    Form { key: String, why: String },
    /// Nothing that could leave memory.
    #[error("`cold_cache` is about the files that abx makes, and there are none: add a [[file]]")]
    ColdWithoutFiles,
    /// A server that has no files of ours.
    #[error(
        "`cold_cache` is about the files that abx makes, and a subject at an `address` has none: \
         start it by `command`"
    )]
    ColdAddress,
    /// A key that contradicts another one.
    #[error("{0}")]
    Key(&'static str),
    /// HTTP/2 for a subject where a load is of neither HTTP/1.1 nor HTTP/2.
    #[error("`http2` is for loads of HTTP/1.1, and all subjects use {1} under `{0}`: leave it out")]
    Http2Elsewhere(String, String),
    /// Two responses to whose certificates are believed.
    #[error("`insecure` accepts any certificate, so `ca` has no effect: omit one")]
    TlsTrustTwice,
    /// A PEM file that does not serve.
    #[error("`ca`: {path} cannot be used ({why}): give a PEM file beside the study file")]
    TlsFile {
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// Not a rate.
    #[error("`rate`: {0}")]
    Rate(String),
    /// Not a share.
    #[error(
        "`rate`: `{}` is not a percentage of what the slowest subject can do: write a number and %, such as \"50%\", at most 200%; rates per second are written without quotes",
        short(.0)
    )]
    RateShare(String),
    /// A sweep that visits a rate twice.
    #[error("`rate` lists {0} twice: each rate gives one row, so list it once")]
    RateTwice(String),
    /// Rates are found for an objective.
    #[error("`slo` finds its own rates: leave `rate` out, or write a second [[load]]")]
    RateAndObjective,
    /// Not an objective.
    #[error("`slo`: {0}")]
    Objective(String),
    /// Open arrivals without their rate.
    #[error("these `arrivals` need a rate: add one, such as rate = 2000")]
    NoRate,
    /// A rate for a loop that has none.
    #[error("`rate` is for open loops, and `arrivals` says closed: leave one of the two out")]
    ClosedRate,
    /// Nothing says how it comes to run.
    #[error(
        "neither `command` nor `address`: write how abx starts it, such as command = [\"./server\", \"{{port}}\"], or where it runs"
    )]
    NoWay,
    /// Two ways to run.
    #[error(
        "both `command` and `address`: leave out `address` for a server that abx starts, `command` for one that runs already"
    )]
    TwoWays,
    /// What cannot be the name of an image.
    #[error("`{key}` is `{}`: write the name of an image, such as \"nginx:1.27\"", short(.text))]
    ImageName { key: String, text: String },
    /// Something else that a container would need.
    #[error(
        "`{0}` is not for a container, whose image has all that it needs: leave out one of them"
    )]
    BesideImage(String),
    /// A build, and a revision that is built.
    #[error(
        "both `from.git` and `from.build` build it: leave one of them out, and write each step in \
         `from.git.build`"
    )]
    TwoBuilds,
    /// A key that makes no sense for a server which runs already.
    #[error(
        "`{0}` is only for a subject that abx starts: leave it out, or write `command` instead of `address`"
    )]
    OnlyStarted(String),
    /// A service that makes no difference.
    #[error(
        "no subject uses it: write {{service.{0}.port}} in the command that needs it, \
         or leave it out"
    )]
    ServiceUnused(String),
    /// A key that says nothing of a service.
    #[error("`{0}` is only for subjects: leave it out")]
    OnlyOfSubjects(String),
    /// Two ways to be ready.
    #[error("both `check` and `path`: leave out one of them")]
    TwoChecks,
    /// A status that nobody looks at.
    #[error("`status` is that of a request: add `path`, or leave `status` out")]
    StatusWithoutPath,
    #[error("`seed_within` is for `seed`, and there is none: leave it out, or add `seed`")]
    NoSeed,
    /// An argument list whose program has no name.
    #[error("`{key}` begins with an empty word: begin with the program")]
    NoProgram { key: String },
    /// A list with an empty word in it.
    #[error("`{key}` has an empty word: remove it")]
    EmptyWord { key: String },
    /// No place for the port.
    #[error(
        "no {{port}} in its command, environment or templates: abx chooses the port, so write {{port}} where it is taken (or env = {{ PORT = \"{{port}}\" }})"
    )]
    NoPort,
    /// A NUL, which no program can be given.
    #[error("`{key}` has a NUL character: remove it")]
    Nul { key: String },
    /// Not the name of a variable.
    #[error("`{}` is not a variable name: it is empty, or contains `=`", short(.0))]
    Variable(String),
    /// A placeholder that stands for nothing.
    #[error(
        "unknown placeholder {{{word}}}; {meant} (write {{{{{word}}}}} for the text {{{word}}} itself)"
    )]
    Placeholder {
        word: String,
        /// The known word that was meant, or all of them.
        meant: String,
    },
    /// A load that asks for nothing.
    #[error(
        "`requests` is missing: name what is asked for, such as requests = [{{ path = \"/\" }}], or \
         a `scenario`"
    )]
    NothingAsked,
    /// A scenario that a load cannot have.
    #[error("the scenario `{}` cannot be used: {why}", short(.file))]
    ScenarioFile {
        /// As the study file names it.
        file: String,
        /// Why not.
        why: String,
    },
    #[error("{0}")]
    Scenario(ScenarioMistake),
    /// A template that is not there.
    #[error("the template `{}` cannot be read ({why}): put it beside the study file", short(.source_path))]
    Template {
        /// As the study file names it.
        source_path: String,
        /// Why not.
        why: String,
    },
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: ", self.file.display(), self.line)?;
        if let Some(place) = &self.place {
            write!(formatter, "{place}: ")?;
        }
        write!(formatter, "{}", self.wrong)
    }
}

fn listed(faults: &[Diagnostic]) -> String {
    let mut lines: Vec<String> = faults
        .iter()
        .take(LISTED)
        .map(ToString::to_string)
        .collect();
    if faults.len() > LISTED {
        lines.push(format!("and {} more like these", faults.len() - LISTED));
    }
    lines.join("\n")
}

fn such_as(example: &Option<String>) -> String {
    let example = example.as_ref();
    example.map_or(String::new(), |example| format!(", for example {example}"))
}

/// A text of the file on one line and not too long, whatever it holds.
pub fn short(text: &str) -> String {
    const LETTERS: usize = 60;
    let plain = |letter: char| {
        if letter.is_control() {
            '\u{fffd}'
        } else {
            letter
        }
    };
    let mut short: String = text.chars().take(LETTERS).map(plain).collect();
    if text.chars().nth(LETTERS).is_some() {
        short.push('…');
    }
    short
}
