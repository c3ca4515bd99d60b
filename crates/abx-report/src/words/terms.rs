//! What the words of a report mean, those that stand in it. docs/terms.md has all of them.

use abx_evidence::LoadShape;
use abx_verdict::{Comparison, Metric, Role, RunRecord, StudyRecord, Verdict};

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
            "ratio (low to high): subject over baseline, with its interval: of 100 such \
             intervals, 95 hold the true ratio if the study were repeated on this machine as it \
             was",
        ),
        (
            any(|comparison| comparison.verdict.is_directed()),
            "faster, slower: the interval excludes 1; less, more: the same of a cost",
        ),
        (
            any(|comparison| comparison.verdict == Verdict::Equivalent),
            "equivalent: the interval lies inside the margin",
        ),
        (
            any(is_open),
            "inconclusive: neither; it never means that there is no difference",
        ),
        (
            any(|comparison| comparison.too_few_blocks),
            "too few blocks: fewer than a verdict needs, whatever they show",
        ),
        (
            any(|comparison| comparison.verdict == Verdict::Invalid),
            "invalid: a finding rules out any claim",
        ),
        (
            any(|comparison| comparison.fragile),
            "fragile: another sound way to read the same blocks gives another verdict",
        ),
        (
            any(|comparison| comparison.at_least && comparison.ratio.is_some()),
            "at least, at most: a bound: the true ratio lies further from 1; \"or beyond\": the \
             true ratio may lie outside the interval, on either side",
        ),
        (
            any(|comparison| comparison.role == Role::Exploratory),
            "also compared: what the study was not made for: with so many intervals, one may miss \
             by chance",
        ),
        (
            any(|comparison| comparison.metric == Metric::ColdStart),
            "cold-start throughput: that of the warm-up after a fresh start, as a share of what \
             followed",
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
            "block: every subject started afresh, loaded and stopped: the unit of evidence",
        ),
        (
            true,
            "p50, p99: response time, from the intended send to the last byte, of half and of 99 \
             % of the requests",
        ),
        (
            true,
            "CPU: the server's CPU time per response; busy: the share of its CPUs in use",
        ),
        (true, "memory: peak of all its processes together"),
        (
            !record.conclusions.ceilings.is_empty(),
            "ceiling: what the generator gets from a server that does nothing: near it, the \
             generator is measured and not the server",
        ),
        (
            true,
            "scope: what was not varied; intervals hold for repeats of this study in it",
        ),
    ])
}

pub(crate) fn run_terms(record: &RunRecord) -> Vec<String> {
    let is_request = record.settings.exchange.shape == LoadShape::Request;
    let parts = [
        (
            true,
            "throughput: verified responses per second: one that fails or is wrong never counts",
        ),
        (
            record.held.is_none(),
            "response time: from the intended send to the last byte; p99: 99 % of the requests \
             took no longer",
        ),
        (
            record.handshake_us.is_some(),
            "TLS handshake: from the connected socket to the end of the handshake, for each \
             connection opened after the start",
        ),
        (
            is_request,
            "status: complete responses by the class of their status",
        ),
        (
            true,
            "errors: requests without a right response, by what became of them (docs/terms.md)",
        ),
        (
            record.server.is_some(),
            "server: its process tree: the share of a CPU that it used, and CPU time per response",
        ),
    ];
    let mut terms = chosen(&parts);
    terms.extend(levels(!record.findings.is_empty()));
    terms
}

fn chosen(parts: &[(bool, &str)]) -> Vec<String> {
    let there = parts.iter().filter(|(is_there, _)| *is_there);
    there.map(|(_, text)| (*text).to_owned()).collect()
}

fn levels(are_there: bool) -> Option<String> {
    let text = "NOTE: worth knowing; BOUND: the figure is only an \"at least\"; VOID: no claim can \
                be made";
    are_there.then(|| text.to_owned())
}

/// A heading, and each term with its meaning.
pub(crate) fn definitions(terms: &[String]) -> impl Iterator<Item = String> {
    let each = terms.iter().map(|text| format!("{text}."));
    std::iter::once("What the words mean:".to_owned()).chain(each)
}
