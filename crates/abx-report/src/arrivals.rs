//! When requests are due, in words.

use abx_evidence::{ArrivalKind, Arrivals, Exchange, MessageKind, Offered};

use crate::units::{count, figure, plural, share};
use crate::wrap::clean_name;

/// What was asked for; `None` for a plain closed loop.
pub(crate) fn arrivals(arrivals: &Arrivals) -> Option<String> {
    let rate = rate(arrivals).unwrap_or_default();
    let kind = match arrivals.kind {
        ArrivalKind::Closed => String::new(),
        ArrivalKind::Constant => format!("{rate} constant"),
        ArrivalKind::Poisson => format!("{rate} Poisson"),
        ArrivalKind::Stages => "stages".to_owned(),
    };
    let between = match arrivals.kind {
        ArrivalKind::Stages => " ",
        _ if kind.is_empty() || arrivals.text.is_empty() => "",
        _ => ", ",
    };
    let text = format!("{kind}{between}{}", clean_name(&arrivals.text));
    (!text.is_empty()).then_some(text)
}

/// What is unusual about how connections carry requests.
pub(crate) fn exchange(exchange: &Exchange) -> impl Iterator<Item = String> {
    let usual = Exchange::default();
    let protocol = (exchange.protocol != usual.protocol).then(|| clean_name(&exchange.protocol));
    let pipeline = exchange.pipeline;
    let pipeline = (pipeline > 1).then(|| format!("pipelines of {pipeline}"));
    let shape = (exchange.shape != usual.shape).then(|| exchange.shape.id().to_owned());
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

/// Whether a connection serves more than one request.
pub(crate) fn keep_alive(is_on: bool) -> String {
    format!("keep-alive {}", if is_on { "on" } else { "off" })
}

/// The rate that was asked for, where there is one.
pub(crate) fn rate(arrivals: &Arrivals) -> Option<String> {
    let rate = arrivals.rate_per_s.filter(|_| arrivals.is_open())?;
    Some(format!("{}/s", figure(rate)))
}

/// What became of the requests that were due, in a sentence.
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
