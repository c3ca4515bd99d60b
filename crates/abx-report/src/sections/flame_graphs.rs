//! Flame graphs of the servers' CPU time, for each pair and each subject under each load.

use abx_evidence::Measured;
use abx_evidence::record::LoadRecord;
use abx_verdict::{
    Conclusions, FLAME_DEPTH_MAX, FlameFunction, FlameGraph, Purpose, flame_graph,
    flame_graph_of_pair,
};

use crate::document::{CaptionedFigure, Document};
use crate::html::charts::{
    FlameSides, PlotCaption, draw_flame_graph, legend, purpose_class, share_in_words,
};
use crate::html::markup::{Element, element};
use crate::sections::cost_tables::{Decimals, purpose_name};
use crate::words::metrics::cost_unit;
use crate::words::units::count;
use crate::words::verdict::name;

/// Graphs of one page, at most.
const GRAPHS_MAX: usize = 8;
/// Bytes of one graph, and of all graphs of a page, at most.
const GRAPH_BYTES_MAX: usize = 150_000;
const BYTES_MAX: usize = 250_000;

/// A graph with its load and subjects.
struct Flame<'a> {
    load: &'a LoadRecord,
    /// Subject and baseline; the graph of a single subject has no baseline.
    who: [Option<&'a str>; 2],
    graph: FlameGraph,
}

/// A graph for each pair and each subject that was sampled, and how to read them; nothing unless
/// any was.
pub(crate) fn flame_graphs(measured: &Measured, conclusions: &Conclusions) -> Document {
    // Each graph merges the stacks of all blocks, so only those that are drawn are made.
    let loads = measured.loads.iter();
    let flames = loads.flat_map(|load| flames_under(measured, conclusions, load));
    let shown: Vec<Flame> = flames.take(GRAPHS_MAX).collect();
    let sampled = conclusions.cpu_differences.len() + conclusions.cpu_ledgers.len();
    let bytes = GRAPH_BYTES_MAX.min(BYTES_MAX / shown.len().max(1));
    let mut out = Document::default();
    for (number, flame) in shown.iter().enumerate() {
        out.figures(vec![flame.figure(measured, number, bytes)]);
    }
    if sampled > shown.len() && shown.len() == GRAPHS_MAX {
        out.note(format!(
            "{} of {} flame graphs are drawn. `--folded FILE` has the call chains of all subjects \
             under all loads.",
            count(shown.len() as u64),
            count(sampled as u64)
        ));
    }
    out.explained(HOW_TO_READ)
}

/// The graphs of one load, pairs first.
fn flames_under<'a>(
    measured: &'a Measured,
    conclusions: &'a Conclusions,
    load: &'a LoadRecord,
) -> impl Iterator<Item = Flame<'a>> {
    let pairs = conclusions.cpu_differences.iter();
    let pairs = pairs.filter(move |difference| difference.load == load.name);
    let pairs = pairs.filter_map(move |difference| {
        let pair = [difference.subject.as_str(), difference.baseline.as_str()];
        Some(Flame {
            load,
            who: pair.map(Some),
            graph: flame_graph_of_pair(measured, load, pair)?,
        })
    });
    let subjects = conclusions.cpu_ledgers.iter();
    let subjects = subjects.filter(move |ledger| ledger.load == load.name);
    let subjects = subjects.filter_map(move |ledger| {
        Some(Flame {
            load,
            who: [Some(&ledger.subject), None],
            graph: flame_graph(measured, load, &ledger.subject)?,
        })
    });
    pairs.chain(subjects)
}

impl Flame<'_> {
    fn figure(&self, measured: &Measured, number: usize, bytes: usize) -> CaptionedFigure {
        let under = match measured.loads.len() {
            0 | 1 => String::new(),
            _ => format!(" under {}", name(&self.load.name)),
        };
        let unit = cost_unit(self.load.settings.exchange.shape);
        let decimals = Decimals::of_sides(self.graph.us_per_response);
        let [ours, theirs] = self.graph.us_per_response.map(|us| decimals.micro(us));
        let [subject, baseline] = self.who.map(|who| who.map(name));
        let subject = subject.unwrap_or_default();
        let (sides, title, description) = match &baseline {
            None => (
                FlameSides::One,
                format!("{subject}{under}: {ours} of CPU per {unit}"),
                "Functions by call chain, callers above what they call, as wide as their CPU time."
                    .to_owned(),
            ),
            Some(baseline) => (
                FlameSides::Both,
                format!(
                    "{subject} compared with {baseline}{under}: {ours} and {theirs} of CPU per \
                     {unit}"
                ),
                format!(
                    "Functions by call chain, callers above what they call. The width is the \
                     larger CPU time of {subject} and {baseline}, with the widths of all callees."
                ),
            ),
        };
        let caption = PlotCaption {
            id: format!("flame-{number}"),
            title: title.clone(),
            description,
        };
        let drawing = draw_flame_graph(&caption, &self.graph, sides, bytes);
        let keys = match &baseline {
            None => self.purposes(),
            Some(baseline) => directions(&subject, baseline),
        };
        CaptionedFigure {
            title: Some(title),
            legend: legend(keys.into_iter()),
            body: element("div")
                .class("flames")
                .with(
                    "data-who",
                    baseline.map_or_else(String::new, |baseline| format!("{subject}\n{baseline}")),
                )
                .add(drawing.svg)
                .into(),
            note: format!(
                "Functions below {} of the time, and those deeper than {FLAME_DEPTH_MAX} levels, \
                 are merged as ….",
                share_in_words(drawing.share_min)
            ),
            table: None,
        }
    }

    /// The legend of one subject's graph: the purposes that occur in it.
    fn purposes(&self) -> Vec<Element> {
        let mut shown: Vec<Purpose> = Vec::new();
        let mut rest: Vec<&FlameFunction> = self.graph.functions.iter().collect();
        while let Some(function) = rest.pop() {
            let class = purpose_class(function.purpose);
            if !shown.iter().any(|purpose| purpose_class(*purpose) == class) {
                shown.push(function.purpose);
            }
            rest.extend(&function.callees);
        }
        shown.sort_unstable();
        let keys = shown.into_iter().map(|purpose| {
            let text = match purpose {
                Purpose::Locks | Purpose::Memory | Purpose::Interruptions | Purpose::Others => {
                    "locks, memory, interrupts, others"
                }
                purpose => purpose_name(purpose),
            };
            key(purpose_class(purpose), text)
        });
        keys.collect()
    }
}

/// The legend of a pair's graph.
fn directions(subject: &str, baseline: &str) -> Vec<Element> {
    vec![
        key("f more2", &format!("more in {subject}")),
        key("f less2", &format!("more in {baseline}")),
        key("f", "about the same"),
    ]
}

fn key(class: &str, text: &str) -> Element {
    let colour = element("rect").class(class);
    let colour = colour.with("width", 14).with("height", 14);
    let sign = element("svg").class("key").add(colour);
    element("li").add(sign).isolated(text)
}

const HOW_TO_READ: &str = "CPU time per response by call chain, of the same samples as the tables \
     above. The width of a box is the time of its function and all that it calls. Select a box to \
     enlarge it (click, Enter), and the top box or Escape to go back. Arrow keys move along boxes.";
