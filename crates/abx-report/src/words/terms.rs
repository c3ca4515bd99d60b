//! The meanings of the words in a report. docs/terms.md has all of them.

use abx_evidence::LoadShape;
use abx_verdict::{Comparison, Metric, Role, RunView, StudyRecord, Verdict};

use crate::words::units::percent;
use crate::words::verdict::is_open;

pub(crate) fn study_terms(record: &StudyRecord) -> Vec<String> {
    let mut terms = verdict_terms(record);
    terms.extend(figure_terms(record));
    terms.extend(levels(!record.conclusions.validity.findings.is_empty()));
    terms
}

fn verdict_terms(record: &StudyRecord) -> Vec<String> {
    let any = |is: fn(&Comparison) -> bool| record.conclusions.comparisons.iter().any(is);
    let mut terms = chosen(&[
        (
            true,
            "ratio (low to high): subject ÷ baseline, with its interval: of 100 such intervals, \
             95 hold the true ratio if you repeat the study on this machine as it was",
        ),
        (
            any(|comparison| comparison.verdict.is_directed()),
            "faster, slower: the interval excludes 1; less, more: the same for a cost",
        ),
        (
            any(|comparison| comparison.verdict == Verdict::Equivalent),
            "same: the interval lies inside the margin",
        ),
        (
            any(is_open),
            "undecided: neither; it never means that there is no difference",
        ),
        (
            any(|comparison| comparison.too_few_blocks),
            "too few blocks: fewer than a verdict needs, so it is undecided",
        ),
        (
            any(|comparison| comparison.verdict == Verdict::Invalid),
            "no result: a finding rules out any verdict",
        ),
        (
            any(|comparison| comparison.fragile),
            "fragile: another sound method gives another verdict from the same blocks",
        ),
        (
            any(|comparison| comparison.at_least && comparison.ratio.is_some()),
            "at least, at most: a bound: the true ratio may lie further from 1; \"or beyond\": \
             the true ratio may lie outside the interval, on either side",
        ),
        (
            any(|comparison| comparison.role == Role::Exploratory),
            "also compared: metrics for which the study was not made; about 1 in 20 of these \
             intervals misses the true ratio by chance",
        ),
        (
            any(|comparison| comparison.metric == Metric::ColdStart),
            "cold-start throughput: throughput during the warm-up after a new start, as a share \
             of the throughput later",
        ),
    ]);
    let margin = percent(record.measured.settings.margin);
    terms.insert(
        1,
        format!("margin: differences up to it do not matter: {margin}"),
    );
    terms
}

fn figure_terms(record: &StudyRecord) -> Vec<String> {
    chosen(&[
        (
            true,
            "block: every subject is started, loaded and stopped once; the unit of evidence",
        ),
        (
            true,
            "p50, p99: the response time, from the intended send to the last byte, that half and \
             99 % of the requests do not exceed",
        ),
        (
            true,
            "CPU: the server's CPU time per response; busy: the share of its CPUs in use",
        ),
        (true, "memory: peak of all its processes together"),
        (
            !record.conclusions.ceilings.is_empty(),
            "ceiling: the most that abx can generate, measured with a server that does \
             nothing; near it, abx measures itself and not the server",
        ),
        (
            true,
            "scope: the conditions that did not vary; intervals hold for repeats under them",
        ),
    ])
}

pub(crate) fn run_terms(run: &RunView) -> Vec<String> {
    let is_request = run.load.settings.exchange.shape == LoadShape::Request;
    let parts = [
        (
            true,
            "throughput: verified responses per second; failed or wrong ones never count",
        ),
        (
            run.readings.held.is_none(),
            "response time: from the intended send to the last byte; p99: 99 % of the requests \
             took no longer",
        ),
        (
            run.summary.handshake_us.is_some(),
            "TLS handshake: from the connected socket to the end of the handshake, per \
             connection opened after the start",
        ),
        (
            is_request,
            "status: complete responses by the class of their status",
        ),
        (
            true,
            "errors: requests without a correct response, by outcome (`abx explain OUTCOME`)",
        ),
        (
            run.life.listener.is_some(),
            "server: its process tree: the share of a CPU that it used, and CPU time per response",
        ),
    ];
    let mut terms = chosen(&parts);
    terms.extend(levels(!run.conclusions.validity.findings.is_empty()));
    terms
}

fn chosen(parts: &[(bool, &str)]) -> Vec<String> {
    let chosen = parts.iter().filter(|(is_chosen, _)| *is_chosen);
    chosen.map(|(_, text)| (*text).to_owned()).collect()
}

fn levels(has_findings: bool) -> Option<String> {
    let text = "note: worth knowing; limit: the figure is only an \"at least\"; no result: no \
                verdict is possible";
    has_findings.then(|| text.to_owned())
}

/// A heading, and each term with its meaning.
pub(crate) fn definitions(terms: &[String]) -> impl Iterator<Item = String> {
    let terms = terms.iter().map(|text| format!("{text}."));
    std::iter::once("Terms:".to_owned()).chain(terms)
}
