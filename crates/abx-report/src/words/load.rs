//! Loads in words: arrivals, connections, requests.

use abx_evidence::record::{LoadRecord, LoadSettings, ScenarioSettings};
use abx_evidence::{
    ArrivalKind, ArrivalSettings, Exchange, LoadOptions, LoadShape, MessageKind, Offered,
};
use abx_verdict::StudyRecord;

use crate::words::prose::prose;
use crate::words::units::{count, figure, plural, share};
use crate::words::verdict::name;
use crate::words::wrap::clean_name;

/// The share of bodies that are hashed: one of this many.
pub(crate) fn hashed(options: &LoadOptions) -> String {
    format!("1 of {}", count(options.hashed_one_in()))
}

/// The requested arrivals; `None` for a plain closed loop.
pub(crate) fn arrivals(arrivals: &ArrivalSettings) -> Option<String> {
    let rate = rate(arrivals).unwrap_or_default();
    let kind = match arrivals.kind {
        ArrivalKind::Closed => String::new(),
        ArrivalKind::Constant => format!("{rate} constant"),
        ArrivalKind::Poisson => format!("{rate} Poisson"),
        ArrivalKind::Stages => "stages".to_owned(),
        ArrivalKind::Replay => "replay".to_owned(),
    };
    let between = match arrivals.kind {
        ArrivalKind::Stages | ArrivalKind::Replay => " ",
        _ if kind.is_empty() || arrivals.text.is_empty() => "",
        _ => ", ",
    };
    let text = format!("{kind}{between}{}", prose(&clean_name(&arrivals.text), &[]));
    (!text.is_empty()).then_some(text)
}

pub(crate) fn exchange(exchange: &Exchange) -> impl Iterator<Item = String> {
    let usual = Exchange::default();
    let protocol = (exchange.protocol != usual.protocol).then(|| clean_name(&exchange.protocol));
    let pipeline = exchange.pipeline;
    let pipeline = (pipeline > 1).then(|| match exchange.protocol.as_str() {
        "http/2" => format!("{pipeline} streams each"),
        _ => format!("pipelines of {pipeline}"),
    });
    // A load of users has a scenario, which implies its shape.
    let is_implied = [usual.shape, LoadShape::Scenario].contains(&exchange.shape);
    let shape = (!is_implied).then(|| exchange.shape.id().to_owned());
    let message = exchange.message.map(|message| {
        let kind = match message.kind {
            MessageKind::Text => "text",
            MessageKind::Binary => "binary",
        };
        format!(
            "{kind} messages of {}",
            plural(message.bytes.into(), "byte")
        )
    });
    let parts = [protocol, shape, message, pipeline];
    parts.into_iter().flatten()
}

pub(crate) fn keep_alive(is_on: bool) -> String {
    format!("keep-alive {}", if is_on { "on" } else { "off" })
}

/// The requested rate, if there is one.
pub(crate) fn rate(arrivals: &ArrivalSettings) -> Option<String> {
    let rate = arrivals.rate_per_s.filter(|_| arrivals.is_open())?;
    Some(format!("{}/s", figure(rate)))
}

pub(crate) fn offered(offered: &Offered) -> String {
    let mut text = format!("Of {} due, ", plural(offered.planned, "request"));
    if offered.unsent == 0 {
        text.push_str("all were sent");
    } else {
        text.push_str(&format!(
            "{} were sent and {} ({}) were not",
            count(offered.sent),
            count(offered.unsent),
            share(offered.unsent, offered.planned)
        ));
    }
    if offered.queued > 0 {
        text.push_str(&format!(
            "; {} had to wait for a connection",
            count(offered.queued)
        ));
    }
    if offered.unfinished > 0 {
        text.push_str(&format!(
            "; {} were unfinished at the end",
            count(offered.unfinished)
        ));
    }
    text + "."
}

/// The loads that are not rates of a search for a capacity, whose rates are reported together.
pub(crate) fn alone(record: &StudyRecord) -> impl Iterator<Item = &LoadRecord> {
    let loads = record.measured.loads.iter();
    loads.filter(|load| load.settings.objective.is_none())
}

pub(crate) fn offer(record: &StudyRecord, load: &LoadRecord) -> String {
    let settings = &load.settings;
    let who = match settings.scenario {
        Some(_) => "user",
        None => "connection",
    };
    let mut parts = vec![plural(settings.connections.into(), who)];
    parts.extend(arrivals(&settings.arrivals));
    parts.push(requests(settings));
    let is_request = settings.exchange.shape == LoadShape::Request;
    parts.extend(is_request.then(|| keep_alive(settings.keep_alive)));
    parts.extend(exchange(&settings.exchange));
    let is_resumed = settings.tls.as_ref().is_some_and(|tls| tls.resumption);
    parts.extend(is_resumed.then(|| "TLS sessions resumed".to_owned()));
    parts.extend(
        settings
            .cold_cache
            .then(|| "files not in memory".to_owned()),
    );
    let several = record.measured.loads.len() > 1;
    let name = several.then(|| format!("{}: ", name(&load.name)));
    format!("{}{}:", name.unwrap_or_default(), parts.join(", "))
}

/// The requests, with weights if there are several; of many the first ones.
pub(crate) fn requests(settings: &LoadSettings) -> String {
    if let Some(scenario) = &settings.scenario {
        return sessions(scenario);
    }
    let shown = match settings.requests.len() {
        few @ ..=REQUESTS_SHOWN => few,
        _ => REQUESTS_SHOWN - 1,
    };
    let texts = settings.requests[..shown].iter().map(|request| {
        let path = clean_name(&request.path);
        let text = match settings.exchange.shape {
            LoadShape::Request => format!("{} {path}", clean_name(&request.method)),
            _ => path,
        };
        match settings.requests.len() {
            1 => text,
            _ => format!("{}× {text}", request.weight),
        }
    });
    let more = settings.requests.len() - shown;
    let more = (more > 0).then(|| format!("and {more} more"));
    let text = texts.chain(more).collect::<Vec<_>>().join(", ");
    match settings.requests.len() {
        1 => text,
        _ => format!("requests {} ({text})", chosen(settings)),
    }
}

fn sessions(scenario: &ScenarioSettings) -> String {
    let names = scenario.steps.iter().map(|step| clean_name(step));
    let names: Vec<String> = names.collect();
    format!(
        "sessions of {} ({})",
        clean_name(&scenario.file),
        names.join(", ")
    )
}

/// The order of different requests.
fn chosen(settings: &LoadSettings) -> &'static str {
    match settings.arrivals.kind {
        ArrivalKind::Replay => "as logged",
        _ => "drawn at random",
    }
}

/// The requests of a load if they are few, or else their number.
pub(crate) fn requests_briefly(settings: &LoadSettings) -> String {
    match settings.requests.len() {
        ..=REQUESTS_SHOWN_BRIEFLY => requests(settings),
        many => format!(
            "{} different requests {}",
            count(many as u64),
            chosen(settings)
        ),
    }
}

/// Requests that a brief text lists, at most.
const REQUESTS_SHOWN_BRIEFLY: usize = 3;
const REQUESTS_SHOWN: usize = 10;
